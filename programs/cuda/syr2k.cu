/* A symmetric update of rank 2 m: C = alpha (A transposed(B) + B transposed(A)) + beta C.
 *
 * The kernel is that of PolyBench's `syr2k` for GPUs, written anew: a thread of a block of 32 x 8
 * has one element of C. Two of its four loads per step are the same for the warp, and two go to 32
 * rows of A and of B, a line each. Every step writes C. No thread diverges if n is a multiple of
 * 32.
 *
 * Arrays: `a`, `b` (n x m floats), `c` (n x n floats).
 *
 * Arguments: n (160), m (160), seed (7). Published size: 1024 to 2048.
 * Check: on the host in double; within 2e-5 of the greatest. */
#include "options.h"
#include <vector>

constexpr float ALPHA = 1.25f, BETA = 0.5f;

__global__ void update(int n, int m, const float *a, const float *b, float *c)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        c[i * n + j] *= BETA;
        for (int k = 0; k < m; k++)
            c[i * n + j] += ALPHA * (a[i * m + k] * b[j * m + k] + b[i * m + k] * a[j * m + k]);
    }
}

static void on_device(int n, int m, const std::vector<float> &host_a,
                      const std::vector<float> &host_b, std::vector<float> &host_c)
{
    float *a = upload(host_a), *b = upload(host_b), *c = upload(host_c);
    dim3 block(32, 8), grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    update<<<grid, block>>>(n, m, a, b, c);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    download(host_c, c);
    for (float *array : {a, b, c})
        CHECK(cudaFree(array));
}

int main(int argc, char **argv)
{
    int n = (int)argument(argc, argv, 1, "the number of rows", 1, 16384, 160);
    int m = (int)argument(argc, argv, 2, "half of the rank", 1, 16384, 160);
    uint64_t seed = (uint64_t)argument(argc, argv, 3, "the seed", 0, 1L << 40, 7);
    std::vector<float> a((size_t)n * m), b((size_t)n * m);
    std::vector<float> c((size_t)n * n), expected((size_t)n * n);
    for (size_t i = 0; i < a.size(); i++) {
        a[i] = random_unit(seed, i) - 0.25f;
        b[i] = random_unit(seed + 1, i) - 0.5f;
    }
    for (size_t i = 0; i < c.size(); i++)
        c[i] = random_unit(seed + 2, i);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < m; k++)
                sum += (double)a[i * m + k] * b[j * m + k] + (double)b[i * m + k] * a[j * m + k];
            expected[i * n + j] = (float)(ALPHA * sum + BETA * c[i * n + j]);
        }
    on_device(n, m, a, b, c);
    expect_close("c", c.data(), expected.data(), (long)n * n, 2e-5);
    printf("ok syr2k: n %d, m %d, c[0][0] %.4f\n", n, m, c[0]);
    return 0;
}
