/* Numbers of 16 bits: arithmetic, conversions and atomics of `__half` and `__half2`.
 *
 * All values are whole numbers that 11 bits hold, so that every result is exact. */
#include "../check.h"
#include <cuda_fp16.h>

enum { BLOCKS = 4, THREADS = 64, N = BLOCKS * THREADS };

__global__ void arithmetic(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half x = __float2half(in[i]), two = __int2half_rn(2);
    __half2 pair = __halves2half2(x, __hneg(x));
    pair = __hfma2(pair, __half2half2(two), __floats2half2_rn(1, 3));
    bool less = __hlt(__low2half(pair), __high2half(pair));
    out[3 * i] = __low2float(pair);
    out[3 * i + 1] = __high2float(pair);
    out[3 * i + 2] = less ? -1.0f : __half2float(__hsub(__hmul(x, two), x));
}

/* Each warp takes the number of its block from its first lane, and adds it up. */
__global__ void sums(__half2 *pairs, __half *single)
{
    __half block = __float2half((float)blockIdx.x);
    block = __shfl_sync(0xffffffffu, block, 0);
    atomicAdd(pairs, __halves2half2(block, __float2half(1.0f)));
#if __CUDA_ARCH__ >= 700
    if (threadIdx.x < 8)
        atomicAdd(single, __hadd(block, __float2half(1.0f)));
#endif
}

int main()
{
    float in[N], out[3 * N], *device_in, *device_out;
    for (int i = 0; i < N; i++)
        in[i] = (float)(i - N / 2);
    CHECK(cudaMalloc(&device_in, sizeof in));
    CHECK(cudaMalloc(&device_out, sizeof out));
    CHECK(cudaMemcpy(device_in, in, sizeof in, cudaMemcpyHostToDevice));
    arithmetic<<<BLOCKS, THREADS>>>(device_in, device_out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        float low = 2 * in[i] + 1, high = 3 - 2 * in[i], last = low < high ? -1 : in[i];
        EXPECT(out[3 * i] == low && out[3 * i + 1] == high && out[3 * i + 2] == last,
               "%g gives %g, %g, %g", in[i], out[3 * i], out[3 * i + 1], out[3 * i + 2]);
    }

    struct {
        __half2 pairs;
        __half single;
    } *device, host;
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0, sizeof host));
    sums<<<BLOCKS, THREADS>>>(&device->pairs, &device->single);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
    float low = __low2float(host.pairs), high = __high2float(host.pairs);
    EXPECT(low == THREADS * 6 && high == N, "sums %g and %g", low, high);
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    if (properties.major >= 7)
        EXPECT(__half2float(host.single) == 8 * 10, "single sum %g", __half2float(host.single));
    for (void *memory : {(void *)device_in, (void *)device_out, (void *)device})
        CHECK(cudaFree(memory));
    printf("ok halves\n");
    return 0;
}
