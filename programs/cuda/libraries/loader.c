/* A program that loads `loaded.cu`, and calls it. Twice, to be loaded and unloaded more than once.
 * Argument: the path of the library. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    for (int time = 0; time < 2; time++) {
        float values[300];
        for (int i = 0; i < 300; i++)
            values[i] = (float)i;
        void *library = dlopen(argv[1], RTLD_NOW);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 3;
        }
        int (*scaled)(float *, float, int) = (int (*)(float *, float, int))dlsym(library, "scaled");
        if (scaled == NULL || scaled(values, 3, 300) != 0)
            return 4;
        for (int i = 0; i < 300; i++)
            if (values[i] != 3 * (float)i)
                return 5;
        dlclose(library);
    }
    return 0;
}
