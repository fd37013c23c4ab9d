/* Passes over data that is larger than the last cache, of that many KiB: fits-no-cache. */
#include <stdio.h>
#include <stdlib.h>

#define LINE 64

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 49152) << 10;
    char *data = calloc(bytes, 1);
    long sum = 0;
    for (int pass = 0; pass < 3; pass++)
        for (size_t at = 0; at < bytes; at += LINE)
            sum += data[at];
    printf("%ld\n", sum);
    free(data);
    return 0;
}
