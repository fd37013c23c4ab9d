/* mixed.c with the texts in an array of their own. */
#include <stdio.h>

#define COUNT 16384

struct Entry {
    long key, value;
};

struct Entry entries[COUNT];
char titles[COUNT][48];

int main(void)
{
    unsigned at = 1;
    long sum = titles[0][0];
    for (int step = 0; step < 400000; step++) {
        at = at * 1664525u + 1013904223u;
        struct Entry *entry = &entries[at >> 18];
        if (entry->key == 0)
            sum += entry->value;
    }
    printf("%ld\n", sum);
    return 0;
}
