/* Entries with two fields that are used and a text that is not: mixed-fields. */
#include <stdio.h>

#define COUNT 16384

struct Entry {
    long key, value;
    char title[48];
};

struct Entry entries[COUNT];

int main(void)
{
    unsigned at = 1;
    long sum = 0;
    for (int step = 0; step < 400000; step++) {
        at = at * 1664525u + 1013904223u;
        struct Entry *entry = &entries[at >> 18];
        if (entry->key == 0)
            sum += entry->value;
    }
    printf("%ld\n", sum);
    return 0;
}
