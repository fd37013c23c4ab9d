/* Takes the speckles out of an ultrasonic image, and leaves its edges.
 *
 * Arrays of floats, one for each pixel: `image`; `north`, `south`, `west` and `east`, the
 * differences to the neighbours; `coefficient`, how much is smoothed. Each step writes the latter
 * five and reads them again after all pixels.
 *
 * The algorithm is speckle reducing anisotropic diffusion (Yu and Acton, 2002), as in Rodinia's
 * program of this name.
 *
 * Check: the same steps serially, with one array of coefficients and differences that are found
 * again where they are used; a pixel is right to 1e-4. */
#include "options.h"

enum { STEPS = 6, QUIET = 32 };

#define RATE 0.5f

/* Mean and variance of the part of the image that is taken to have speckles only: how strong they
 * are. */
static float speckles(long n, const float *image)
{
    long side = n < QUIET ? n : QUIET;
    double sum = 0, squares = 0, count = (double)(side * side);
    for (long i = 0; i < side; i++)
        for (long j = 0; j < side; j++) {
            sum += image[i * n + j];
            squares += (double)image[i * n + j] * image[i * n + j];
        }
    double mean = sum / count;
    return (float)((squares / count - mean * mean) / (mean * mean));
}

DEVICE_FUNCTIONS
/* How much is smoothed at a pixel: 1 where it differs from its neighbours as speckles do, 0 at an
 * edge. */
static float coefficient_of(float here, float north, float south, float west, float east,
                            float strength)
{
    float squares = (north * north + south * south + west * west + east * east) / (here * here);
    float laplace = (north + south + west + east) / here;
    float side = 1 + 0.25f * laplace;
    float local = (0.5f * squares - laplace * laplace / 16) / (side * side);
    float value = 1 / (1 + (local - strength) / (strength * (1 + strength)));
    return value < 0 ? 0 : value > 1 ? 1 : value;
}
DEVICE_FUNCTIONS_END

struct planes {
    float *image, *north, *south, *west, *east, *coefficient;
};

static void find_coefficients(long n, float strength, struct planes planes)
{
    float *image = planes.image, *north = planes.north, *south = planes.south;
    float *west = planes.west, *east = planes.east, *coefficient = planes.coefficient;
    PARALLEL_LOOP(, map(to : image[0 : n * n]) map(from : north[0 : n * n], south[0 : n * n])
                        map(from : west[0 : n * n], east[0 : n * n], coefficient[0 : n * n]))
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            long at = i * n + j;
            float here = image[at];
            north[at] = image[i > 0 ? at - n : at] - here;
            south[at] = image[i < n - 1 ? at + n : at] - here;
            west[at] = image[j > 0 ? at - 1 : at] - here;
            east[at] = image[j < n - 1 ? at + 1 : at] - here;
            coefficient[at] =
                coefficient_of(here, north[at], south[at], west[at], east[at], strength);
        }
}

static void smooth(long n, struct planes planes)
{
    float *image = planes.image, *north = planes.north, *south = planes.south;
    float *west = planes.west, *east = planes.east, *coefficient = planes.coefficient;
    PARALLEL_LOOP(, map(tofrom : image[0 : n * n]) map(to : north[0 : n * n], south[0 : n * n])
                        map(to : west[0 : n * n], east[0 : n * n], coefficient[0 : n * n]))
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            long at = i * n + j;
            float here = coefficient[at];
            float down = coefficient[i < n - 1 ? at + n : at];
            float right = coefficient[j < n - 1 ? at + 1 : at];
            float flow = here * (north[at] + west[at]) + down * south[at] + right * east[at];
            image[at] += 0.25f * RATE * flow;
        }
}

static float first_pixel(const struct options *options, long i)
{
    long n = options->size, row = i / n, column = i % n;
    float tissue = row > n / 3 && column > n / 4 && row < n - n / 5 ? 2 : 1;
    return tissue * expf(0.3f * (float)random_unit(options->seed, (uint64_t)i));
}

/* Differences of a pixel to its neighbours: north, south, west, east. */
static void differences(long n, const float *image, long i, long j, float *four)
{
    float here = image[i * n + j];
    four[0] = i == 0 ? 0 : image[(i - 1) * n + j] - here;
    four[1] = i == n - 1 ? 0 : image[(i + 1) * n + j] - here;
    four[2] = j == 0 ? 0 : image[i * n + j - 1] - here;
    four[3] = j == n - 1 ? 0 : image[i * n + j + 1] - here;
}

static struct comparison check(const struct options *options, const float *result)
{
    struct comparison comparison = {0};
    long n = options->size;
    float four[4];
    float *now = CHECK_NEW(float, n * n);
    float *next = CHECK_NEW(float, n * n);
    float *amounts = CHECK_NEW(float, n * n);
    for (long i = 0; i < n * n; i++)
        now[i] = first_pixel(options, i);
    for (int step = 0; step < STEPS; step++) {
        float strength = speckles(n, now);
        for (long i = 0; i < n * n; i++) {
            differences(n, now, i / n, i % n, four);
            amounts[i] = coefficient_of(now[i], four[0], four[1], four[2], four[3], strength);
        }
        for (long i = 0; i < n * n; i++) {
            differences(n, now, i / n, i % n, four);
            float flow = amounts[i] * four[0] + amounts[i] * four[2];
            flow += i / n < n - 1 ? amounts[i + n] * four[1] : 0;
            flow += i % n < n - 1 ? amounts[i + 1] * four[3] : 0;
            next[i] = now[i] + 0.25f * RATE * flow;
        }
        float *kept = now;
        now = next;
        next = kept;
    }
    for (long i = 0; i < n * n; i++)
        compare(&comparison, options, result[i], now[i], 1e-4);
    free(now);
    free(next);
    free(amounts);
    return comparison;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"srad", "rows", 128, 512, 1280, 2, 20000};
    struct options options = parse_options(argc, argv, sizes);
    long n = options.size;
    float *image = TIER_NEW(float, "image", n * n);
    float *north = TIER_NEW(float, "north", n * n);
    float *south = TIER_NEW(float, "south", n * n);
    float *west = TIER_NEW(float, "west", n * n);
    float *east = TIER_NEW(float, "east", n * n);
    float *coefficient = TIER_NEW(float, "coefficient", n * n);
    struct planes planes = {image, north, south, west, east, coefficient};
    HOST_LOOP()
    for (long i = 0; i < n * n; i++)
        image[i] = first_pixel(&options, i);
    DEVICE_DATA(map(tofrom : image[0 : n * n])
                    map(alloc : north[0 : n * n], south[0 : n * n], west[0 : n * n])
                        map(alloc : east[0 : n * n], coefficient[0 : n * n]))
    {
        for (int step = 0; step < STEPS; step++) {
            DEVICE_UPDATE(from(image[0 : n * n]))
            float strength = speckles(n, image);
            find_coefficients(n, strength, planes);
            smooth(n, planes);
        }
    }

    double checksum = 0;
    for (long i = 0; i < n * n; i++)
        checksum += image[i] * (double)(1 + i % 3);
    struct comparison comparison = {0};
    if (options.check)
        comparison = check(&options, image);
    return finish(&options, &comparison, checksum);
}
