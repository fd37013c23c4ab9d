/* stream.c with a sum in place of the array of results. */
#include <stdio.h>

#define COUNT 1000000

long table[3072];

int main(void)
{
    unsigned at = 1;
    long sum = 0;
    for (int i = 0; i < COUNT; i++) {
        at = at * 1664525u + 1013904223u;
        sum += table[(at >> 16) % 3072];
    }
    printf("%ld\n", sum);
    return 0;
}
