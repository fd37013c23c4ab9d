/* Launches by `cudaLaunchKernel`, `cudaLaunchKernelExC` and `cudaLaunchKernelEx`.
 *
 * Arguments of several sizes go by pointers or by value; attributes ask for a priority and for a
 * cooperative grid; a block that is too large is refused. */
#include "../check.h"
#include <cooperative_groups.h>

enum { BLOCKS = 4, THREADS = 64 };

__global__ void mix(char a, double b, short c, int *out, float3 d)
{
    out[threadIdx.x] = a + (int)(2 * b) + c + (int)(d.x + d.y + d.z) + (int)threadIdx.x;
}

__global__ void rotate(int *data, int *next)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    data[i] = (int)i;
    cooperative_groups::this_grid().sync();
    next[i] = data[(i + n / 2) % n];
}

__global__ void stage(int *out)
{
    extern __shared__ int staging[];
    staging[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = staging[blockDim.x - 1 - threadIdx.x];
}

static void expect_mix(int *device, int sum)
{
    int host[THREADS];
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++)
        EXPECT(host[i] == sum + i, "[%d] is %d, expected %d", i, host[i], sum + i);
    CHECK(cudaMemset(device, 0, sizeof host));
}

int main()
{
    int *out, *next, host[BLOCKS * THREADS];
    CHECK(cudaMalloc(&out, sizeof host));
    CHECK(cudaMalloc(&next, sizeof host));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    char a = 3;
    double b = 10.5;
    short c = -100;
    float3 d = make_float3(1000, 200, 30);
    const int sum = 3 + 21 - 100 + 1230;
    void *arguments[] = {&a, &b, &c, &out, &d};
    CHECK(cudaLaunchKernel((const void *)mix, dim3(1), dim3(THREADS), arguments, 0, 0));
    expect_mix(out, sum);
    CHECK(cudaLaunchKernel(mix, dim3(1), dim3(THREADS), arguments)); /* Typed, with defaults. */
    expect_mix(out, sum);

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    CHECK(cudaLaunchKernelExC(&config, (const void *)mix, arguments));
    CHECK(cudaStreamSynchronize(stream));
    expect_mix(out, sum);
    CHECK(cudaLaunchKernelEx(&config, mix, (char)4, 0.5, (short)5, out, d));
    CHECK(cudaStreamSynchronize(stream));
    expect_mix(out, 4 + 1 + 5 + 1230);

    config.dynamicSmemBytes = THREADS * sizeof(int);
    CHECK(cudaLaunchKernelEx(&config, stage, out));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, out, THREADS * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++)
        EXPECT(host[i] == THREADS - 1 - i, "[%d] is %d", i, host[i]);

    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeCooperative;
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributePriority;
    attributes[1].val.priority = 0;
    config.gridDim = dim3(BLOCKS);
    config.dynamicSmemBytes = 0;
    config.attrs = attributes;
    config.numAttrs = 2;
    CHECK(cudaLaunchKernelEx(&config, rotate, out, next));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, next, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BLOCKS * THREADS; i++)
        EXPECT(host[i] == (i + BLOCKS * THREADS / 2) % (BLOCKS * THREADS), "[%d] is %d", i,
               host[i]);

    config.numAttrs = 0;
    config.blockDim = dim3(2000);
    EXPECT_ERROR(cudaLaunchKernelExC(&config, (const void *)mix, arguments),
                 cudaErrorInvalidConfiguration);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(out));
    CHECK(cudaFree(next));
    printf("ok extended\n");
    return 0;
}
