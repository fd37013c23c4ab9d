/* Random accesses to more pages than the TLB has entries: huge-pages. */
#include <stdio.h>

#define COUNT (4 << 20)

int table[COUNT];

int main(void)
{
    unsigned at = 1;
    long sum = 0;
    for (int step = 0; step < 300000; step++) {
        at = at * 1664525u + 1013904223u;
        sum += table[at >> 10];
    }
    printf("%ld\n", sum);
    return 0;
}
