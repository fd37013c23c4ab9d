/* Clustering by k-means: points of 34 features in 5 clusters.
 *
 * Arrays: `points` (floats), which are walked from end to end in each round; `membership` (the
 * cluster of each point); `centres` and `sums` (of each cluster, and of each cluster and part of
 * the points), which are small and hot.
 *
 * The algorithm is Lloyd's, "Least squares quantization in PCM" (1982), as in Rodinia's program of
 * this name: each point joins the nearest centre, and each centre moves to the mean of its points,
 * until no point changes or after ROUNDS rounds.
 *
 * Check: the same serially, with the sums of whole clusters. Features are multiples of 1/1024, so
 * sums in double precision are exact in any order: each membership is equal, each centre is right
 * to 1e-12. */
#include "options.h"

enum { FEATURES = 34, CLUSTERS = 5, ROUNDS = 8, PARTS = 64 };

DEVICE_FUNCTIONS
static int nearest(const float *point, const double *centres)
{
    int best = 0;
    double least = INFINITY;
    for (int cluster = 0; cluster < CLUSTERS; cluster++) {
        double distance = 0;
        for (int feature = 0; feature < FEATURES; feature++) {
            double off = point[feature] - centres[cluster * FEATURES + feature];
            distance += off * off;
        }
        if (distance < least) {
            least = distance;
            best = cluster;
        }
    }
    return best;
}
DEVICE_FUNCTIONS_END

/* Each point joins the nearest centre; returns how many changed. */
static long assign(long n, const float *points, const double *centres, int *membership)
{
    long changed = 0;
    PARALLEL_LOOP(reduction(+ : changed),
                  map(to : points[0 : n * FEATURES], centres[0 : CLUSTERS * FEATURES])
                      map(tofrom : membership[0 : n], changed))
    for (long i = 0; i < n; i++) {
        int cluster = nearest(&points[i * FEATURES], centres);
        changed += cluster != membership[i];
        membership[i] = cluster;
    }
    return changed;
}

/* Adds up the points of each cluster, PARTS parts of the points side by side. A row of `sums` has
 * the sums of the features of a cluster, and the number of its points. */
static void add_up(long n, const float *points, const int *membership, double *sums)
{
    enum { ROW = FEATURES + 1, ROWS = CLUSTERS * ROW };
    PARALLEL_LOOP(, map(to : points[0 : n * FEATURES], membership[0 : n])
                        map(from : sums[0 : PARTS * ROWS]))
    for (int part = 0; part < PARTS; part++) {
        double *mine = &sums[part * ROWS];
        for (int i = 0; i < ROWS; i++)
            mine[i] = 0;
        for (long i = n * part / PARTS; i < n * (part + 1) / PARTS; i++) {
            double *row = &mine[membership[i] * ROW];
            for (int feature = 0; feature < FEATURES; feature++)
                row[feature] += points[i * FEATURES + feature];
            row[FEATURES] += 1;
        }
    }
}

/* Moves each centre that has points to their mean. */
static void move_centres(const double *sums, double *centres)
{
    enum { ROW = FEATURES + 1, ROWS = CLUSTERS * ROW };
    for (int cluster = 0; cluster < CLUSTERS; cluster++) {
        double row[ROW] = {0};
        for (int part = 0; part < PARTS; part++)
            for (int i = 0; i < ROW; i++)
                row[i] += sums[part * ROWS + cluster * ROW + i];
        for (int feature = 0; row[FEATURES] > 0 && feature < FEATURES; feature++)
            centres[cluster * FEATURES + feature] = row[feature] / row[FEATURES];
    }
}

static void first_centres(long n, const float *points, double *centres)
{
    for (int cluster = 0; cluster < CLUSTERS; cluster++)
        for (int feature = 0; feature < FEATURES; feature++)
            centres[cluster * FEATURES + feature] =
                points[n * cluster / CLUSTERS * FEATURES + feature];
}

static struct comparison check(const struct options *options, const float *points,
                               const int *membership, const double *centres)
{
    struct comparison comparison = {0};
    long n = options->size, changed = 1;
    double expected[CLUSTERS * FEATURES];
    int *joined = CHECK_NEW(int, n);
    first_centres(n, points, expected);
    for (long i = 0; i < n; i++)
        joined[i] = -1;
    for (int round = 0; round < ROUNDS && changed > 0; round++) {
        double sums[CLUSTERS][FEATURES] = {{0}};
        long counts[CLUSTERS] = {0};
        changed = 0;
        for (long i = 0; i < n; i++) {
            int cluster = nearest(&points[i * FEATURES], expected);
            changed += cluster != joined[i];
            joined[i] = cluster;
            counts[cluster]++;
            for (int feature = 0; feature < FEATURES; feature++)
                sums[cluster][feature] += points[i * FEATURES + feature];
        }
        for (int i = 0; i < CLUSTERS * FEATURES; i++)
            if (counts[i / FEATURES] > 0)
                expected[i] = sums[i / FEATURES][i % FEATURES] / (double)counts[i / FEATURES];
    }
    for (long i = 0; i < n; i++)
        compare(&comparison, options, membership[i], joined[i], 0);
    for (int i = 0; i < CLUSTERS * FEATURES; i++)
        compare(&comparison, options, centres[i], expected[i], 1e-12);
    free(joined);
    return comparison;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"kmeans", "points", 2000, 20000, 262144, CLUSTERS, 50000000};
    struct options options = parse_options(argc, argv, sizes);
    long n = options.size;
    enum { SUMS = PARTS * CLUSTERS * (FEATURES + 1) };
    float *points = TIER_NEW(float, "points", n * FEATURES);
    int *membership = TIER_NEW(int, "membership", n);
    double *centres = TIER_NEW(double, "centres", CLUSTERS * FEATURES);
    double *sums = TIER_NEW(double, "sums", SUMS);
    HOST_LOOP()
    for (long i = 0; i < n; i++) {
        uint64_t kind = random_below(options.seed + 1, (uint64_t)i, CLUSTERS);
        for (int feature = 0; feature < FEATURES; feature++) {
            uint64_t which = kind * FEATURES + (uint64_t)feature;
            uint64_t middle = random_below(options.seed + 2, which, 64);
            uint64_t off = random_below(options.seed, (uint64_t)(i * FEATURES + feature), 256);
            points[i * FEATURES + feature] = (float)(middle + off) / 1024;
        }
        membership[i] = -1;
    }
    first_centres(n, points, centres);
    DEVICE_DATA(map(to : points[0 : n * FEATURES]) map(tofrom : membership[0 : n])
                    map(alloc : centres[0 : CLUSTERS * FEATURES], sums[0 : SUMS]))
    {
        long changed = 1;
        for (int round = 0; round < ROUNDS && changed > 0; round++) {
            DEVICE_UPDATE(to(centres[0 : CLUSTERS * FEATURES]))
            changed = assign(n, points, centres, membership);
            add_up(n, points, membership, sums);
            DEVICE_UPDATE(from(sums[0 : SUMS]))
            move_centres(sums, centres);
        }
    }

    double checksum = 0;
    for (int i = 0; i < CLUSTERS * FEATURES; i++)
        checksum += centres[i] * (double)(1 + i % 3);
    struct comparison comparison = {0};
    if (options.check)
        comparison = check(&options, points, membership, centres);
    return finish(&options, &comparison, checksum);
}
