/* Matrix product, three loops, the inner one down a column.
 * usage: matmul [N] [TIMES]      default: 160 1 */

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void multiply(int n, double *restrict a, double *restrict b,
                                               double *restrict c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 160, times = argc > 2 ? atoi(argv[2]) : 1;
    size_t cells = (size_t)n * n;
    double *a = malloc(cells * sizeof *a), *b = malloc(cells * sizeof *b);
    double *c = calloc(cells, sizeof *c), check = 0;
    for (size_t i = 0; i < cells; i++) {
        a[i] = i % 7;
        b[i] = i % 5;
    }
    for (int t = 0; t < times; t++) {
        multiply(n, a, b, c);
        check += c[t * 131 % cells];
    }
    printf("%f %f\n", c[cells - 1], check);
    free(a);
    free(b);
    free(c);
    return 0;
}
