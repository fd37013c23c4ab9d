/* Transposes a square matrix of doubles, PASSES times.
 *
 * Arrays: `strided`, which is read along its columns: two reads of one cache line have one read of
 * each other row between them; `sequential`, which is written along its rows.
 *
 * The algorithm is the plain double loop, as chapter 2 of Shen, "Exploring Heterogeneous
 * Architectures with Tools and Applications" (2021), takes it for its first example.
 *
 * Check: every element equals the generator's number for its mirrored place; no tolerance. */
#include "options.h"

enum { PASSES = 2 };

static void transpose(long n, const double *strided, double *sequential)
{
    PARALLEL_LOOP(, map(to : strided[0 : n * n]) map(from : sequential[0 : n * n]))
    for (long row = 0; row < n; row++)
        for (long column = 0; column < n; column++)
            sequential[row * n + column] = strided[column * n + row];
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"mtrans", "rows", 192, 1024, 2304, 1, 20000};
    struct options options = parse_options(argc, argv, sizes);
    long n = options.size;
    double *strided = TIER_NEW(double, "strided", n * n);
    double *sequential = TIER_NEW(double, "sequential", n * n);
    HOST_LOOP()
    for (long i = 0; i < n * n; i++)
        strided[i] = random_unit(options.seed, (uint64_t)i);
    DEVICE_DATA(map(to : strided[0 : n * n]) map(from : sequential[0 : n * n]))
    {
        for (int pass = 0; pass < PASSES; pass++)
            transpose(n, strided, sequential);
    }

    double checksum = 0;
    for (long i = 0; i < n * n; i++)
        checksum += sequential[i] * (double)(1 + i % 3);
    struct comparison comparison = {0};
    for (long row = 0; options.check && row < n; row++)
        for (long column = 0; column < n; column++)
            compare(&comparison, &options, sequential[row * n + column],
                    random_unit(options.seed, (uint64_t)(column * n + row)), 0);
    return finish(&options, &comparison, checksum);
}
