/* Heat in a chip: how warm each part becomes from the power it takes.
 *
 * Arrays of floats, one for each cell of a square grid: `power`, and `even` and `odd`, the
 * temperatures before and after a step in turn. All are walked from end to end in each step.
 *
 * The algorithm solves the differential equation of a network of thermal resistances and
 * capacities step by step (Huang, Ghosh, Velusamy, Sankaranarayanan, Skadron and Stan, "HotSpot: a
 * compact thermal modeling methodology", 2006), as in Rodinia's program of this name: each cell
 * exchanges heat with its four neighbours and with its surroundings.
 *
 * Check: the same steps serially, in a grid with a border; a temperature is right to 1e-5. */
#include "options.h"

enum { STEPS = 20 };

/* What part of a difference flows in a step: between neighbours along an axis, and to the air. */
#define BESIDE 0.12f
#define TO_AIR 0.01f
#define HEATING 0.5f
#define AIR 80.0f

static void advance(long n, const float *power, const float *from, float *to)
{
    PARALLEL_LOOP(, map(to : power[0 : n * n], from[0 : n * n]) map(from : to[0 : n * n]))
    for (long row = 0; row < n; row++) {
        long north = row > 0 ? row - 1 : row, south = row < n - 1 ? row + 1 : row;
        for (long column = 0; column < n; column++) {
            long west = column > 0 ? column - 1 : column;
            long east = column < n - 1 ? column + 1 : column;
            float here = from[row * n + column];
            float along = from[north * n + column] + from[south * n + column] - 2 * here;
            float across = from[row * n + west] + from[row * n + east] - 2 * here;
            to[row * n + column] = here + HEATING * power[row * n + column] +
                                   BESIDE * (along + across) + TO_AIR * (AIR - here);
        }
    }
}

static float first_temperature(const struct options *options, long i)
{
    return 320 + 10 * (float)random_unit(options->seed, (uint64_t)i);
}

static struct comparison check(const struct options *options, const float *power,
                               const float *result)
{
    struct comparison comparison = {0};
    long n = options->size, width = n + 2;
    float *now = CHECK_NEW(float, width * width);
    float *next = CHECK_NEW(float, width * width);
    for (long i = 0; i < n * n; i++)
        now[(i / n + 1) * width + i % n + 1] = first_temperature(options, i);
    for (int step = 0; step < STEPS; step++) {
        for (long i = 1; i <= n; i++) {
            now[i] = now[width + i];
            now[(n + 1) * width + i] = now[n * width + i];
            now[i * width] = now[i * width + 1];
            now[i * width + n + 1] = now[i * width + n];
        }
        for (long row = 1; row <= n; row++)
            for (long column = 1; column <= n; column++) {
                const float *at = &now[row * width + column];
                float flow = (at[-width] - *at) + (at[width] - *at);
                flow += (at[-1] - *at) + (at[1] - *at);
                next[row * width + column] =
                    *at + HEATING * power[(row - 1) * n + column - 1] + BESIDE * flow +
                    TO_AIR * (AIR - *at);
            }
        float *kept = now;
        now = next;
        next = kept;
    }
    for (long i = 0; i < n * n; i++)
        compare(&comparison, options, result[i], now[(i / n + 1) * width + i % n + 1], 1e-5);
    free(now);
    free(next);
    return comparison;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"hotspot", "rows", 128, 512, 1792, 1, 20000};
    struct options options = parse_options(argc, argv, sizes);
    long n = options.size;
    float *power = TIER_NEW(float, "power", n * n);
    float *even = TIER_NEW(float, "even", n * n);
    float *odd = TIER_NEW(float, "odd", n * n);
    HOST_LOOP()
    for (long i = 0; i < n * n; i++) {
        power[i] = (float)random_unit(options.seed + 1, (uint64_t)i);
        even[i] = first_temperature(&options, i);
    }
    DEVICE_DATA(map(to : power[0 : n * n]) map(tofrom : even[0 : n * n])
                    map(alloc : odd[0 : n * n]))
    {
        for (int step = 0; step < STEPS; step += 2) {
            advance(n, power, even, odd);
            advance(n, power, odd, even);
        }
    }

    double checksum = 0;
    for (long i = 0; i < n * n; i++)
        checksum += even[i] * (double)(1 + i % 3);
    struct comparison comparison = {0};
    if (options.check)
        comparison = check(&options, power, even);
    return finish(&options, &comparison, checksum);
}
