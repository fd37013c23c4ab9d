/* Steps of the power method on a sparse matrix: y = A x, x = y / |y|.
 *
 * usage: spmv [ROWS] [STEPS]      default: 10000 10
 *
 * The matrix is stored by compressed rows: `value` and `column` are read from end to end in each step, `x` at the
 * columns of the entries. Half of these lie near the diagonal, the others anywhere: two hills for one line. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PER_ROW = 8 };

struct matrix {
    int rows;
    int *start; /* row i has the entries from start[i] up to start[i + 1] */
    int *column;
    double *value;
};

/* A small generator of our own: the same numbers with every library. */
static unsigned random_bits(void)
{
    static unsigned long long state = 12345;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33);
}

static void *memory(size_t bytes)
{
    void *block = malloc(bytes);
    if (block == NULL) {
        fprintf(stderr, "spmv: out of memory\n");
        exit(1);
    }
    return block;
}

static struct matrix build(int rows)
{
    struct matrix a = {rows, memory((rows + 1) * sizeof(int)), memory((size_t)rows * PER_ROW * sizeof(int)),
                       memory((size_t)rows * PER_ROW * sizeof(double))};
    for (int i = 0; i < rows; i++) {
        a.start[i] = i * PER_ROW;
        for (int k = 0; k < PER_ROW; k++) {
            int entry = i * PER_ROW + k;
            int near = (i + k) % rows;
            a.column[entry] = k % 2 == 0 ? near : (int)(random_bits() % (unsigned)rows);
            a.value[entry] = 1.0 + random_bits() % 100 / 100.0;
        }
    }
    a.start[rows] = rows * PER_ROW;
    return a;
}

static void multiply(const struct matrix *a, const double *x, double *y)
{
    for (int i = 0; i < a->rows; i++) {
        double sum = 0;
        for (int entry = a->start[i]; entry < a->start[i + 1]; entry++)
            sum += a->value[entry] * x[a->column[entry]];
        y[i] = sum;
    }
}

/* Makes x a multiple of y of length 1. Returns the length that y had. */
static double normalise(const double *y, double *x, int n)
{
    double square = 0;
    for (int i = 0; i < n; i++)
        square += y[i] * y[i];
    double length = sqrt(square);
    for (int i = 0; i < n; i++)
        x[i] = y[i] / length;
    return length;
}

int main(int argc, char **argv)
{
    int rows = argc > 1 ? atoi(argv[1]) : 10000;
    int steps = argc > 2 ? atoi(argv[2]) : 10;
    if (rows < 1 || rows > 10000000 || steps < 1) {
        fprintf(stderr, "usage: spmv [ROWS from 1 to 10000000] [STEPS]\n");
        return 2;
    }
    struct matrix a = build(rows);
    double *x = memory(rows * sizeof(double)), *y = memory(rows * sizeof(double));
    for (int i = 0; i < rows; i++)
        x[i] = 1;
    double length = 0;
    for (int step = 0; step < steps; step++) {
        multiply(&a, x, y);
        length = normalise(y, x, rows);
    }
    printf("spmv %d %d: %.9f\n", rows, steps, length);
    return 0;
}
