/* Names and accesses of known numbers; compiled with the calls only, with hooks, and without either. */
#include <stdio.h>
#include <stdlib.h>

#include "reuselens.h"

static double a[10];
static int table[4][8];
static char unnamed[16];

/* The part that begins at `part`: an argument, as structures are passed on. */
static void pass_on(int *part, int n)
{
    int i;
    for (i = 0; i < n; i++) {
        RecordAccess(part, &part[i]);
        part[i] += i;
    }
}

int main(void)
{
    int i;
    short *list = (short *)malloc(6 * sizeof *list);
    if (list == NULL)
        return 1;
    RecordArray(a);
    RecordNamedData("matrix", table, sizeof table, sizeof table[0][0]);
    RecordData(list, 6 * sizeof *list, sizeof *list);
    for (i = 0; i < 10; i++) {
        RecordStatement();
        RecordAccess(a, &a[i]); /* line: read */
        RecordAccess(a, &a[i]); /* line: write */
        a[i] = a[i] * 0.2;
    }
    RecordPartialData(table, table[2]);
    RecordPartialData(table[2], table[3]);
    pass_on(table[2], 3);
    pass_on(table[3], 2);
    RecordAccess(list, &list[5]);
    list[5] = 1;
    for (i = 0; i < 3; i++) {
        RecordAccess(unnamed, &unnamed[i]); /* line: unnamed */
        unnamed[i] = 1;
    }
    printf("%g %d %d %d\n", a[9], table[2][1], list[5], unnamed[2]);
    free(list);
    return 0;
}
