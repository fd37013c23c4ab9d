/* Decomposes a square matrix of doubles into a lower and an upper triangle, in place.
 *
 * Arrays: `matrix`; `diagonal`, `column` and `row`, copies of the block, the column of blocks and
 * the row of blocks that a step works with. Each step reads and writes what is left of `matrix`,
 * and reads `column` and `row` again for each block of it.
 *
 * The algorithm is the decomposition by blocks without pivoting (Golub and Van Loan, "Matrix
 * Computations", chapter 3; Rodinia's lud has its steps: diagonal, perimeter, internal). The
 * diagonal of the generated matrix is larger than the rest of its row together.
 *
 * Check: the decomposition row by row, without blocks, serially; an element is right to 1e-9. */
#include "options.h"

enum { BLOCK = 32 };

/* Decomposes the block on the diagonal at `at`, and keeps a copy. */
static void decompose_diagonal(long n, long at, double *matrix, double *diagonal)
{
    long size = n - at < BLOCK ? n - at : BLOCK;
    for (long k = 0; k < size; k++)
        for (long i = k + 1; i < size; i++) {
            double *target = &matrix[(at + i) * n + at];
            target[k] /= matrix[(at + k) * n + at + k];
            for (long j = k + 1; j < size; j++)
                target[j] -= target[k] * matrix[(at + k) * n + at + j];
        }
    for (long i = 0; i < size; i++)
        for (long j = 0; j < size; j++)
            diagonal[i * BLOCK + j] = matrix[(at + i) * n + at + j];
}

/* Solves the blocks below and right of the diagonal block. `row` has BLOCK rows of n elements,
 * `column` n rows of BLOCK elements. */
static void solve_perimeter(long n, long at, double *matrix, const double *diagonal, double *column,
                            double *row)
{
    PARALLEL_LOOP(, map(to : diagonal[0 : BLOCK * BLOCK])
                        map(tofrom : matrix[0 : n * n], column[0 : n * BLOCK], row[0 : BLOCK * n]))
    for (long other = at + BLOCK; other < n; other++) {
        double *below = &column[other * BLOCK];
        for (long j = 0; j < BLOCK; j++) {
            double right = matrix[(at + j) * n + other], left = matrix[other * n + at + j];
            for (long k = 0; k < j; k++) {
                right -= diagonal[j * BLOCK + k] * row[k * n + other];
                left -= below[k] * diagonal[k * BLOCK + j];
            }
            row[j * n + other] = right;
            below[j] = left / diagonal[j * BLOCK + j];
            matrix[(at + j) * n + other] = right;
            matrix[other * n + at + j] = below[j];
        }
    }
}

/* Takes the product of the column and the row of blocks from all that is right and below. */
static void update_inside(long n, long at, double *matrix, const double *column, const double *row)
{
    PARALLEL_LOOP(, map(to : column[0 : n * BLOCK], row[0 : BLOCK * n])
                        map(tofrom : matrix[0 : n * n]))
    for (long i = at + BLOCK; i < n; i++)
        for (long first = at + BLOCK; first < n; first += BLOCK) {
            long end = first + BLOCK < n ? first + BLOCK : n;
            for (long k = 0; k < BLOCK; k++) {
                double factor = column[i * BLOCK + k];
                for (long j = first; j < end; j++)
                    matrix[i * n + j] -= factor * row[k * n + j];
            }
        }
}

static double element(const struct options *options, long i)
{
    long n = options->size;
    return random_unit(options->seed, (uint64_t)i) + (i / n == i % n ? (double)n : 0);
}

static struct comparison check(const struct options *options, const double *result)
{
    struct comparison comparison = {0};
    long n = options->size;
    double *expected = CHECK_NEW(double, n * n);
    for (long i = 0; i < n * n; i++)
        expected[i] = element(options, i);
    for (long i = 1; i < n; i++)
        for (long k = 0; k < i; k++) {
            double factor = expected[i * n + k] /= expected[k * n + k];
            for (long j = k + 1; j < n; j++)
                expected[i * n + j] -= factor * expected[k * n + j];
        }
    for (long i = 0; i < n * n; i++)
        compare(&comparison, options, result[i], expected[i], 1e-9);
    free(expected);
    return comparison;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"lud", "rows", 96, 384, 2112, 1, 20000};
    struct options options = parse_options(argc, argv, sizes);
    long n = options.size;
    double *matrix = TIER_NEW(double, "matrix", n * n);
    double *diagonal = TIER_NEW(double, "diagonal", BLOCK * BLOCK);
    double *column = TIER_NEW(double, "column", n * BLOCK);
    double *row = TIER_NEW(double, "row", n * BLOCK);
    HOST_LOOP()
    for (long i = 0; i < n * n; i++)
        matrix[i] = element(&options, i);
    for (long at = 0; at < n; at += BLOCK) {
        decompose_diagonal(n, at, matrix, diagonal);
        if (at + BLOCK < n) {
            solve_perimeter(n, at, matrix, diagonal, column, row);
            update_inside(n, at, matrix, column, row);
        }
    }

    double checksum = 0;
    for (long i = 0; i < n * n; i++)
        checksum += matrix[i] * (double)(1 + i % 3);
    struct comparison comparison = {0};
    if (options.check)
        comparison = check(&options, matrix);
    return finish(&options, &comparison, checksum);
}
