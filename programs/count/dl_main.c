/* A program that opens a library while it runs, closes it, and opens it again.
 *
 * usage: dl_main LIBRARY      (dl_lib.c built with -shared -fPIC)
 *
 * The accesses in the library must be found under its own names, `library_work` and
 * `library_cells`, both times, wherever the system has put it. */

#include <dlfcn.h>
#include <stdio.h>

enum { CELLS = 100, FIRST = 1000, SECOND = 500 };

static volatile unsigned main_cells[CELLS];

static int use(const char *path, int rounds)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "dl_main: %s\n", dlerror());
        return 1;
    }
    void (*work)(int);
    *(void **)&work = dlsym(library, "library_work");
    if (work == NULL) {
        fprintf(stderr, "dl_main: %s\n", dlerror());
        return 1;
    }
    work(rounds);
    return dlclose(library);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: dl_main LIBRARY\n");
        return 2;
    }
    if (use(argv[1], FIRST) != 0)
        return 1;
    for (int i = 0; i < CELLS; i++)
        main_cells[i] = main_cells[i] + 1;
    if (use(argv[1], SECOND) != 0)
        return 1;
    printf("expect library_cells loads %d stores %d\n", (FIRST + SECOND) * CELLS,
           (FIRST + SECOND) * CELLS);
    printf("expect main_cells loads %d stores %d\n", CELLS, CELLS);
    return 0;
}
