/* A result that is written once evicts a table that is used again and again: streaming. */
#include <stdio.h>

#define COUNT 1000000

long table[3072], output[COUNT];

int main(void)
{
    unsigned at = 1;
    for (int i = 0; i < COUNT; i++) {
        at = at * 1664525u + 1013904223u;
        output[i] = table[(at >> 16) % 3072];
    }
    printf("%ld\n", output[77]);
    return 0;
}
