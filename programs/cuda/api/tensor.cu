/* Products of matrices: `wmma` of all types, and `mma` with `ldmatrix` in assembly.
 *
 * All numbers are whole and small, so that every sum is exact in any order. What needs compute
 * capability 8.0 is only tried if the kernels were compiled for it (`-arch sm_80`). */
#include "../check.h"
/* The headers of `reuselens nvcc` have no brain floats. */
#ifndef REUSELENS_NVCC_H
#include <cuda_bf16.h>
#endif
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

enum { M = 48, N = 64, K = 32 };

#ifdef __CUDA_ARCH__
enum { COMPILED_FOR = __CUDA_ARCH__ };
#else
enum { COMPILED_FOR = 0 };
#endif

__global__ void architecture(int *out)
{
    *out = COMPILED_FOR;
}

/* Floats whose low 13 bits are not looked at; older devices do not have the type. */
struct Short {};
template <typename T> struct FactorOf {
    using type = T;
};
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <> struct FactorOf<Short> {
    using type = wmma::precision::tf32;
};
#endif

/* Each warp calculates a tile of c = a b + c. Of b, columns are one after the other. */
template <typename T, typename Tag, typename Sum, int m, int n, int k>
__device__ void tile(const T *a, const T *b, Sum *c)
{
    using Factor = typename FactorOf<Tag>::type;
    int row = blockIdx.y * m, column = blockIdx.x * n;
    wmma::fragment<wmma::matrix_a, m, n, k, Factor, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, m, n, k, Factor, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, m, n, k, Sum> sum;
    wmma::load_matrix_sync(sum, c + row * N + column, N, wmma::mem_row_major);
    for (int at = 0; at < K; at += k) {
        wmma::load_matrix_sync(left, a + row * K + at, K);
        wmma::load_matrix_sync(right, b + column * K + at, K);
        for (int i = 0; i < left.num_elements; i++)
            left.x[i] = left.x[i] + left.x[i];
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * N + column, sum, N, wmma::mem_row_major);
}

template <typename T, typename Tag, typename Sum, int m, int n, int k, int needed>
__global__ void tiles(const T *a, const T *b, Sum *c)
{
    if constexpr (COMPILED_FOR >= needed)
        tile<T, Tag, Sum, m, n, k>(a, b, c);
}

/* One warp: c = a b for 16 x 16 and 16 x 8 halves, through shared memory. */
__global__ void assembly(const __half *a, const __half *b, float *c)
{
#if __CUDA_ARCH__ >= 800
    __shared__ __align__(16) __half left[16 * 16], right[16 * 8];
    unsigned lane = threadIdx.x, x[4], y[2];
    for (unsigned i = lane; i < 16 * 16; i += 32)
        left[i] = a[i];
    for (unsigned i = lane; i < 16 * 8; i += 32)
        right[i] = b[i];
    __syncwarp();
    unsigned from = (unsigned)__cvta_generic_to_shared(left + lane % 16 * 16 + lane / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(from));
    from = (unsigned)__cvta_generic_to_shared(right + lane % 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(y[0]), "=r"(y[1])
                 : "r"(from));
    float d[4] = {1, 1, 1, 1};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    for (int i = 0; i < 4; i++)
        c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
#endif
}

template <typename T, typename Tag, typename Sum, int m, int n, int k, int needed>
static void multiply(const char *name, bool is_signed)
{
    static T a[M * K], b[N * K];
    static Sum c[M * N], out[M * N];
    static double left[M * K], right[N * K];
    for (int i = 0; i < M * K; i++)
        a[i] = (T)(float)(left[i] = (int)random_below(1, i, 4) - (is_signed ? 2 : 0));
    for (int i = 0; i < N * K; i++)
        b[i] = (T)(float)(right[i] = (int)random_below(2, i, 4) - (is_signed ? 1 : 0));
    for (int i = 0; i < M * N; i++)
        c[i] = (Sum)(float)(i % 5);
    T *device_a, *device_b;
    Sum *device_c;
    CHECK(cudaMalloc(&device_a, sizeof a));
    CHECK(cudaMalloc(&device_b, sizeof b));
    CHECK(cudaMalloc(&device_c, sizeof c));
    CHECK(cudaMemcpy(device_a, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b, sizeof b, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_c, c, sizeof c, cudaMemcpyHostToDevice));
    tiles<T, Tag, Sum, m, n, k, needed>
        <<<dim3(N / n, M / m), 32>>>(device_a, device_b, device_c);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, device_c, sizeof out, cudaMemcpyDeviceToHost));
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            double sum = (row * N + column) % 5;
            for (int at = 0; at < K; at++)
                sum += 2 * left[row * K + at] * right[column * K + at];
            double got = (double)(float)out[row * N + column];
            EXPECT(got == sum, "%s: row %d, column %d: %g, expected %g", name, row, column, got,
                   sum);
        }
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));
}

static void by_hand()
{
    __half a[256], b[128];
    float c[128];
    void *device;
    for (int i = 0; i < 256; i++)
        a[i] = __float2half((float)random_below(3, i, 9) - 4);
    for (int i = 0; i < 128; i++)
        b[i] = __float2half((float)random_below(4, i, 9) - 4);
    CHECK(cudaMalloc(&device, sizeof a + sizeof b + sizeof c));
    __half *device_a = (__half *)device, *device_b = device_a + 256;
    float *device_c = (float *)(device_b + 128);
    CHECK(cudaMemcpy(device_a, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b, sizeof b, cudaMemcpyHostToDevice));
    assembly<<<1, 32>>>(device_a, device_b, device_c);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c, device_c, sizeof c, cudaMemcpyDeviceToHost));
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 8; column++) {
            float sum = 1;
            for (int at = 0; at < 16; at++)
                sum += __half2float(a[row * 16 + at]) * __half2float(b[at * 8 + column]);
            EXPECT(c[row * 8 + column] == sum, "row %d, column %d: %g, expected %g", row, column,
                   c[row * 8 + column], sum);
        }
    CHECK(cudaFree(device));
}

int main()
{
    int *device, compiled_for;
    CHECK(cudaMalloc(&device, sizeof *device));
    architecture<<<1, 1>>>(device);
    CHECK(cudaMemcpy(&compiled_for, device, sizeof compiled_for, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    multiply<__half, __half, float, 16, 16, 16, 700>("halves", true);
    multiply<__half, __half, __half, 16, 16, 16, 700>("halves, summed as halves", true);
    multiply<__half, __half, float, 8, 32, 16, 700>("halves of 8 rows", true);
    multiply<signed char, signed char, int, 16, 16, 16, 720>("bytes", true);
    multiply<unsigned char, unsigned char, int, 16, 16, 16, 720>("unsigned bytes", false);
    if (compiled_for >= 800) {
#ifndef REUSELENS_NVCC_H
        multiply<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, 800>("brain floats", true);
#endif
        multiply<float, Short, float, 16, 16, 8, 800>("floats of 19 bits", true);
        multiply<double, double, double, 8, 8, 4, 800>("doubles", true);
        by_hand();
    }
    printf("ok tensor\n");
    return 0;
}
