/* Aligns two sequences (Needleman and Wunsch, 1970): the best score of matches and gaps.
 *
 * The split into blocks is that of Rodinia's `nw`, written anew. A block of 16 threads fills a tile
 * of 16 x 16 scores in shared memory along its antidiagonals, of which only one has work for all
 * threads. The tiles of an antidiagonal of the matrix are one launch: those of the upper left half
 * are of the first kernel, those of the lower right half of the second.
 *
 * Arrays: `similarity` (n + 1 x n + 1 ints, read once: what it is worth to align two letters),
 * `score` (n + 1 x n + 1 ints; row and column 0 are gaps).
 *
 * Arguments: letters, a multiple of 16 (512), penalty of a gap (10), seed (7). Published: 2048.
 * Check: the scores row by row on the host are equal; the letters and gaps on the way back from the
 * last score add up to it. */
#include "options.h"
#include <algorithm>
#include <vector>

enum { TILE = 16, LETTERS = 24 };

/* Fills the tile at these numbers of tiles from the top and from the left. */
__device__ static void fill_tile(int n, int penalty, int top, int left, const int *similarity,
                                 int *score)
{
    __shared__ int best[TILE + 1][TILE + 1], worth[TILE][TILE];
    int stride = n + 1, x = threadIdx.x;
    int corner = top * TILE * stride + left * TILE; /* The score above and left of the tile. */
    if (x == 0)
        best[0][0] = score[corner];
    for (int y = 0; y < TILE; y++)
        worth[y][x] = similarity[corner + (y + 1) * stride + x + 1];
    best[x + 1][0] = score[corner + (x + 1) * stride];
    best[0][x + 1] = score[corner + x + 1];
    __syncthreads();
    for (int diagonal = 0; diagonal < 2 * TILE - 1; diagonal++) {
        int y = diagonal - x;
        if (y >= 0 && y < TILE) {
            int gap = max(best[y][x + 1], best[y + 1][x]) - penalty;
            best[y + 1][x + 1] = max(best[y][x] + worth[y][x], gap);
        }
        __syncthreads();
    }
    for (int y = 0; y < TILE; y++)
        score[corner + (y + 1) * stride + x + 1] = best[y + 1][x + 1];
}

__global__ void upper_left(int n, int penalty, int diagonal, const int *similarity, int *score)
{
    fill_tile(n, penalty, diagonal - blockIdx.x, blockIdx.x, similarity, score);
}

__global__ void lower_right(int n, int penalty, int diagonal, const int *similarity, int *score)
{
    int last = n / TILE - 1;
    fill_tile(n, penalty, last - blockIdx.x, diagonal - last + blockIdx.x, similarity, score);
}

static void align_on_device(int n, int penalty, const std::vector<int> &host_similarity,
                            std::vector<int> &host_score)
{
    int *similarity, *score, tiles = n / TILE;
    size_t bytes = host_score.size() * sizeof(int);
    CHECK(cudaMalloc(&similarity, bytes));
    CHECK(cudaMalloc(&score, bytes));
    CHECK(cudaMemcpy(similarity, host_similarity.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(score, host_score.data(), bytes, cudaMemcpyHostToDevice));
    for (int diagonal = 0; diagonal < tiles; diagonal++)
        upper_left<<<diagonal + 1, TILE>>>(n, penalty, diagonal, similarity, score);
    for (int diagonal = tiles; diagonal < 2 * tiles - 1; diagonal++)
        lower_right<<<2 * tiles - 1 - diagonal, TILE>>>(n, penalty, diagonal, similarity, score);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host_score.data(), score, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(similarity));
    CHECK(cudaFree(score));
}

static void align_on_host(int n, int penalty, const std::vector<int> &similarity,
                          std::vector<int> &score)
{
    int stride = n + 1;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++) {
            int at = i * stride + j, gap = std::max(score[at - stride], score[at - 1]) - penalty;
            score[at] = std::max(score[at - stride - 1] + similarity[at], gap);
        }
}

/* Walks back from the last score to the first. Returns the sum of what the steps are worth. */
static int walk_back(int n, int penalty, const std::vector<int> &similarity,
                     const std::vector<int> &score, int &matches)
{
    int stride = n + 1, i = n, j = n, sum = 0;
    while (i > 0 || j > 0) {
        int at = i * stride + j;
        if (i > 0 && j > 0 && score[at] == score[at - stride - 1] + similarity[at]) {
            sum += similarity[at];
            matches++;
            i--, j--;
        } else {
            sum -= penalty;
            bool up = i > 0 && score[at] == score[at - stride] - penalty;
            up ? i-- : j--;
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    int n = (int)argument(argc, argv, 1, "the number of letters", TILE, 32000, 512);
    int penalty = (int)argument(argc, argv, 2, "the penalty", 0, 1000, 10);
    uint64_t seed = (uint64_t)argument(argc, argv, 3, "the seed", 0, 1L << 40, 7);
    EXPECT(n % TILE == 0, "the number of letters is no multiple of 16: %d", n);
    int stride = n + 1, matches = 0;
    std::vector<int> similarity((size_t)stride * stride), score((size_t)stride * stride);
    for (int i = 1; i <= n; i++) {
        int down = (int)random_below(seed, i, LETTERS);
        for (int j = 1; j <= n; j++) {
            int across = (int)random_below(seed + 1, j, LETTERS);
            int low = std::min(down, across), high = std::max(down, across);
            int pair = (int)random_below(seed + 2, low * LETTERS + high, 8) - 4;
            similarity[i * stride + j] = low == high ? pair + 8 : pair;
        }
    }
    for (int i = 0; i <= n; i++)
        score[i] = score[i * stride] = -i * penalty;
    std::vector<int> expected = score;
    align_on_device(n, penalty, similarity, score);
    align_on_host(n, penalty, similarity, expected);
    for (int i = 0; i < stride * stride; i++)
        EXPECT(score[i] == expected[i], "row %d, column %d: score %d, expected %d", i / stride,
               i % stride, score[i], expected[i]);
    int sum = walk_back(n, penalty, similarity, score, matches);
    EXPECT(sum == score.back(), "the way back is worth %d, the score is %d", sum, score.back());
    printf("ok nw: %d letters, score %d, %d letters aligned\n", n, score.back(), matches);
    return 0;
}
