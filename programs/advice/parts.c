/* large.c with all passes over one part of the data before the next. */
#include <stdio.h>
#include <stdlib.h>

#define LINE 64
#define PART (1 << 20)

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 49152) << 10;
    char *data = calloc(bytes, 1);
    long sum = 0;
    for (size_t part = 0; part < bytes; part += PART)
        for (int pass = 0; pass < 3; pass++)
            for (size_t at = part; at < part + PART && at < bytes; at += LINE)
                sum += data[at];
    printf("%ld\n", sum);
    free(data);
    return 0;
}
