/* A symmetric update of rank m: C = alpha A transposed(A) + beta C.
 *
 * The kernel is that of PolyBench's `syrk` for GPUs, written anew: a thread of a block of 32 x 8
 * has one element of C. One of its two loads per step is the same for the warp. The other goes to
 * 32 rows of A, a line each, which the next step reuses if the cache still holds them. Every step
 * writes C. No thread diverges if n is a multiple of 32.
 *
 * Arrays: `a` (n x m floats), `c` (n x n floats).
 *
 * Arguments: n (192), m (192), seed (7). Published size: 1024.
 * Check: on the host in double; within 2e-5 of the greatest, and C is as symmetric as it was. */
#include "options.h"
#include <vector>

constexpr float ALPHA = 1.5f, BETA = 0.75f;

__global__ void update(int n, int m, const float *a, float *c)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        c[i * n + j] *= BETA;
        for (int k = 0; k < m; k++)
            c[i * n + j] += ALPHA * a[i * m + k] * a[j * m + k];
    }
}

static void on_device(int n, int m, const std::vector<float> &host_a, std::vector<float> &host_c)
{
    float *a = upload(host_a), *c = upload(host_c);
    dim3 block(32, 8), grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    update<<<grid, block>>>(n, m, a, c);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    download(host_c, c);
    CHECK(cudaFree(a));
    CHECK(cudaFree(c));
}

int main(int argc, char **argv)
{
    int n = (int)argument(argc, argv, 1, "the number of rows", 1, 16384, 192);
    int m = (int)argument(argc, argv, 2, "the rank", 1, 16384, 192);
    uint64_t seed = (uint64_t)argument(argc, argv, 3, "the seed", 0, 1L << 40, 7);
    std::vector<float> a((size_t)n * m), c((size_t)n * n), expected((size_t)n * n);
    for (size_t i = 0; i < a.size(); i++)
        a[i] = random_unit(seed, i) - 0.25f;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            c[i * n + j] = c[j * n + i] = random_unit(seed + 1, (uint64_t)i * n + j);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < m; k++)
                sum += (double)a[i * m + k] * a[j * m + k];
            expected[i * n + j] = (float)(ALPHA * sum + BETA * c[i * n + j]);
        }
    on_device(n, m, a, c);
    expect_close("c", c.data(), expected.data(), (long)n * n, 2e-5);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double apart = std::fabs((double)c[i * n + j] - c[j * n + i]);
            EXPECT(apart <= 1e-4 * m, "c[%d][%d] is %g, c[%d][%d] is %g", i, j, c[i * n + j], j, i,
                   c[j * n + i]);
        }
    printf("ok syrk: n %d, m %d, c[0][0] %.4f\n", n, m, c[0]);
    return 0;
}
