/* Sweeps: three passes over arrays that one could be.
 *
 * usage: sweeps [N]      default 1000, at most 100000
 *
 * B = A smoothed, C = B smoothed, D = A + C, each in a loop of its own, as one writes it. An element of B is
 * used by the next loop only when all of B has been written: a distance that grows with N. Nothing but
 * the order of the statements asks for that; `reuselens reorder` finds the order in which loops would be fused.
 *
 * The program names its accesses itself, the element that a statement writes last: build it with
 * `reuselens cc --rl-names`. */

#include <reuselens.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX = 100000 };
static double a[MAX], b[MAX], c[MAX], d[MAX];

/* to[i] = from[i - 1] + from[i] + from[i + 1] */
static void smooth(const double *from, double *to, int n)
{
    for (int i = 1; i < n - 1; i++) {
        RecordAccess(from, &from[i - 1]);
        RecordAccess(from, &from[i]);
        RecordAccess(from, &from[i + 1]);
        RecordAccess(to, &to[i]);
        RecordStatement();
        to[i] = from[i - 1] + from[i] + from[i + 1];
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    if (n < 3 || n > MAX) {
        fprintf(stderr, "usage: sweeps [N from 3 to %d]\n", MAX);
        return 2;
    }
    RecordNamedData("a", a, sizeof(double) * n, sizeof(double));
    RecordNamedData("b", b, sizeof(double) * n, sizeof(double));
    RecordNamedData("c", c, sizeof(double) * n, sizeof(double));
    RecordNamedData("d", d, sizeof(double) * n, sizeof(double));
    for (int i = 0; i < n; i++) {
        RecordAccess(a, &a[i]);
        RecordStatement();
        a[i] = i % 7;
    }
    smooth(a, b, n);
    smooth(b, c, n);
    for (int i = 0; i < n; i++) {
        RecordAccess(a, &a[i]);
        RecordAccess(c, &c[i]);
        RecordAccess(d, &d[i]);
        RecordStatement();
        d[i] = a[i] + c[i];
    }
    printf("sweeps %d %g\n", n, d[n / 2]);
    return 0;
}
