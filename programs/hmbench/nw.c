/* Aligns two sequences: the best score of matches, mismatches and gaps.
 *
 * Arrays of ints: `score`, a row and a column more than the sequences are long; `similarity`, what
 * it is worth to align each pair of letters, as Rodinia's program has it, which is read once.
 *
 * The algorithm is that of Needleman and Wunsch, "A general method applicable to the search for
 * similarities in the amino acid sequence of two proteins" (1970). The blocks of an antidiagonal
 * depend on those of earlier ones only, and are worked on side by side.
 *
 * Check: the scores row by row with two rows, serially; every score is equal. */
#include "options.h"

enum { BLOCK = 32, LETTERS = 24, GAP = 10 };

DEVICE_FUNCTIONS
static int best_of(int diagonal, int up, int left)
{
    int gap = (up > left ? up : left) - GAP;
    return diagonal > gap ? diagonal : gap;
}
DEVICE_FUNCTIONS_END

/* What it is worth to align two letters: from -4 to 11, the same in both orders. */
static int worth(uint64_t seed, int a, int b)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    if (low == high)
        return 4 + (int)random_below(seed + 2, (uint64_t)low, 8);
    return (int)random_below(seed + 3, (uint64_t)(low * LETTERS + high), 8) - 4;
}

/* One block of scores, whose first row and column are `top` and `left`; both begin at 1. */
DEVICE_FUNCTIONS
static void fill_block(long n, long top, long left, const int *similarity, int *score)
{
    long bottom = top + BLOCK < n + 1 ? top + BLOCK : n + 1;
    long right = left + BLOCK < n + 1 ? left + BLOCK : n + 1;
    for (long i = top; i < bottom; i++)
        for (long j = left; j < right; j++) {
            const int *above = &score[(i - 1) * (n + 1) + j];
            score[i * (n + 1) + j] = best_of(above[-1] + similarity[(i - 1) * n + j - 1], above[0],
                                             score[i * (n + 1) + j - 1]);
        }
}
DEVICE_FUNCTIONS_END

static void fill_diagonal(long n, long diagonal, const int *similarity, int *score)
{
    long blocks = (n + BLOCK - 1) / BLOCK;
    long first = diagonal < blocks ? 0 : diagonal - blocks + 1;
    long last = diagonal < blocks ? diagonal : blocks - 1;
    PARALLEL_LOOP(, map(to : similarity[0 : n * n]) map(tofrom : score[0 : (n + 1) * (n + 1)]))
    for (long row = first; row <= last; row++)
        fill_block(n, 1 + row * BLOCK, 1 + (diagonal - row) * BLOCK, similarity, score);
}

static struct comparison check(const struct options *options, const uint8_t *across,
                               const uint8_t *down, const int *score)
{
    struct comparison comparison = {0};
    long n = options->size;
    int table[LETTERS][LETTERS];
    for (int i = 0; i < LETTERS * LETTERS; i++)
        table[i / LETTERS][i % LETTERS] = worth(options->seed, i / LETTERS, i % LETTERS);
    int *now = CHECK_NEW(int, n + 1);
    int *before = CHECK_NEW(int, n + 1);
    for (long j = 0; j <= n; j++)
        now[j] = (int)(-j * GAP);
    for (long i = 1; i <= n; i++) {
        int *kept = before;
        before = now;
        now = kept;
        now[0] = (int)(-i * GAP);
        for (long j = 1; j <= n; j++) {
            int best = before[j - 1] + table[down[i - 1]][across[j - 1]];
            if (before[j] - GAP > best)
                best = before[j] - GAP;
            if (now[j - 1] - GAP > best)
                best = now[j - 1] - GAP;
            now[j] = best;
            compare(&comparison, options, score[i * (n + 1) + j], best, 0);
        }
    }
    free(now);
    free(before);
    return comparison;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"nw", "letters", 192, 1024, 2304, 1, 20000};
    struct options options = parse_options(argc, argv, sizes);
    long n = options.size, blocks = (n + BLOCK - 1) / BLOCK;
    uint8_t *across = TIER_NEW(uint8_t, "across", n);
    uint8_t *down = TIER_NEW(uint8_t, "down", n);
    int *similarity = TIER_NEW(int, "similarity", n * n);
    int *score = TIER_NEW(int, "score", (n + 1) * (n + 1));
    for (long i = 0; i < n; i++) {
        across[i] = (uint8_t)random_below(options.seed, (uint64_t)i, LETTERS);
        down[i] = (uint8_t)random_below(options.seed + 1, (uint64_t)i, LETTERS);
    }
    HOST_LOOP()
    for (long i = 0; i < n * n; i++)
        similarity[i] = worth(options.seed, down[i / n], across[i % n]);
    for (long i = 0; i <= n; i++)
        score[i] = score[i * (n + 1)] = (int)(-i * GAP);
    DEVICE_DATA(map(to : similarity[0 : n * n]) map(tofrom : score[0 : (n + 1) * (n + 1)]))
    {
        for (long diagonal = 0; diagonal < 2 * blocks - 1; diagonal++)
            fill_diagonal(n, diagonal, similarity, score);
    }

    struct comparison comparison = {0};
    if (options.check)
        comparison = check(&options, across, down, score);
    return finish(&options, &comparison, score[(n + 1) * (n + 1) - 1]);
}
