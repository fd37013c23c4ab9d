/* The cheapest path through a grid from its first row to its last.
 *
 * Arrays of ints: `wall`, what each cell costs, which is read once; `even` and `odd`, what the
 * cheapest path to each column costs after a row, in turn.
 *
 * The algorithm is dynamic programming, as in Rodinia's program of this name: a path goes straight
 * ahead or one column aside in each row.
 *
 * Check: one row of costs that is changed in place, serially; every cost is equal. */
#include "options.h"

enum { ROWS = 100, MOST = 10 };

static void advance(long n, const int *row, const int *from, int *to)
{
    PARALLEL_LOOP(, map(to : row[0 : n], from[0 : n]) map(from : to[0 : n]))
    for (long column = 0; column < n; column++) {
        int least = from[column];
        if (column > 0 && from[column - 1] < least)
            least = from[column - 1];
        if (column < n - 1 && from[column + 1] < least)
            least = from[column + 1];
        to[column] = row[column] + least;
    }
}

static struct comparison check(const struct options *options, const int *wall, const int *result)
{
    struct comparison comparison = {0};
    long n = options->size;
    int *costs = CHECK_NEW(int, n);
    for (long column = 0; column < n; column++)
        costs[column] = wall[column];
    for (long row = 1; row < ROWS; row++) {
        int left = costs[0];
        for (long column = 0; column < n; column++) {
            int here = costs[column], right = column < n - 1 ? costs[column + 1] : here;
            int least = left < here ? left : here;
            costs[column] = (least < right ? least : right) + wall[row * n + column];
            left = here;
        }
    }
    for (long column = 0; column < n; column++)
        compare(&comparison, options, result[column], costs[column], 0);
    free(costs);
    return comparison;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"pathfinder", "columns", 4000, 40000, 100000, 1, 20000000};
    struct options options = parse_options(argc, argv, sizes);
    long n = options.size;
    int *wall = TIER_NEW(int, "wall", ROWS * n);
    int *even = TIER_NEW(int, "even", n);
    int *odd = TIER_NEW(int, "odd", n);
    HOST_LOOP()
    for (long i = 0; i < ROWS * n; i++)
        wall[i] = (int)random_below(options.seed, (uint64_t)i, MOST);
    HOST_LOOP()
    for (long column = 0; column < n; column++)
        even[column] = wall[column];
    int *from = even, *to = odd;
    DEVICE_DATA(map(to : wall[0 : ROWS * n]) map(tofrom : even[0 : n], odd[0 : n]))
    {
        for (long row = 1; row < ROWS; row++) {
            advance(n, &wall[row * n], from, to);
            int *kept = from;
            from = to;
            to = kept;
        }
    }

    double checksum = 0;
    for (long column = 0; column < n; column++)
        checksum += from[column] * (double)(1 + column % 3);
    struct comparison comparison = {0};
    if (options.check)
        comparison = check(&options, wall, from);
    return finish(&options, &comparison, checksum);
}
