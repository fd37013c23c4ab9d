/* Multiplies two square matrices of floats.
 *
 * Arrays: `left`, of which one element is read for each row of `right`; `right`, all of which is
 * read again for each row of the product; `product`, one row of which is worked on at a time.
 *
 * The algorithm is the triple loop in the order row, inner, column, so that all three matrices are
 * walked along their rows.
 *
 * Check: dot products of rows and columns in double precision; an element is right to 1e-4. */
#include "options.h"

static void multiply(long n, const float *left, const float *right, float *product)
{
    PARALLEL_LOOP(, map(to : left[0 : n * n], right[0 : n * n]) map(from : product[0 : n * n]))
    for (long row = 0; row < n; row++) {
        for (long column = 0; column < n; column++)
            product[row * n + column] = 0;
        for (long inner = 0; inner < n; inner++) {
            float factor = left[row * n + inner];
            for (long column = 0; column < n; column++)
                product[row * n + column] += factor * right[inner * n + column];
        }
    }
}

static struct comparison check(const struct options *options, const float *left,
                               const float *right, const float *product)
{
    struct comparison comparison = {0};
    long n = options->size;
    float *columns = CHECK_NEW(float, n * n);
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
            columns[j * n + i] = right[i * n + j];
    for (long row = 0; row < n; row++)
        for (long column = 0; column < n; column++) {
            double even = 0, odd = 0;
            for (long inner = 0; inner + 1 < n; inner += 2) {
                even += (double)left[row * n + inner] * columns[column * n + inner];
                odd += (double)left[row * n + inner + 1] * columns[column * n + inner + 1];
            }
            if (n % 2 == 1)
                even += (double)left[row * n + n - 1] * columns[column * n + n - 1];
            compare(&comparison, options, product[row * n + column], even + odd, 1e-4);
        }
    free(columns);
    return comparison;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"mmulti", "rows", 96, 320, 1728, 1, 20000};
    struct options options = parse_options(argc, argv, sizes);
    long n = options.size;
    float *left = TIER_NEW(float, "left", n * n);
    float *right = TIER_NEW(float, "right", n * n);
    float *product = TIER_NEW(float, "product", n * n);
    HOST_LOOP()
    for (long i = 0; i < n * n; i++) {
        left[i] = (float)random_unit(options.seed, (uint64_t)i);
        right[i] = (float)random_unit(options.seed + 1, (uint64_t)i);
    }
    multiply(n, left, right, product);

    double checksum = 0;
    for (long i = 0; i < n * n; i++)
        checksum += product[i] * (double)(1 + i % 3);
    struct comparison comparison = {0};
    if (options.check)
        comparison = check(&options, left, right, product);
    return finish(&options, &comparison, checksum);
}
