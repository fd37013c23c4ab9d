/* Shared memory: static, dynamic, and dynamic above 48 KiB after an attribute permits it.
 *
 * Each block reverses its part of an array in shared memory of the size that the launch gives. */
#include "../check.h"

extern __shared__ int staging[];

__global__ void reverse(int *data, int count)
{
    int *part = data + (size_t)blockIdx.x * count;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        staging[i] = part[i];
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        part[i] = staging[count - 1 - i];
}

/* The dynamic part begins after the static one; both are there at once. */
__global__ void static_and_dynamic(int *out, int count)
{
    __shared__ int fixed[100];
    for (int i = threadIdx.x; i < 100; i += blockDim.x)
        fixed[i] = -i;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        staging[i] = i;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        out[i] = staging[i] + (i < 100 ? 1000 * fixed[i] : 0);
}

static void reverse_blocks(int bytes)
{
    const int blocks = 3, count = bytes / (int)sizeof(int), all = blocks * count;
    int *device, *host = (int *)malloc(all * sizeof *host);
    CHECK(cudaMalloc(&device, all * sizeof *device));
    for (int i = 0; i < all; i++)
        host[i] = i;
    CHECK(cudaMemcpy(device, host, all * sizeof *host, cudaMemcpyHostToDevice));
    reverse<<<blocks, 256, bytes>>>(device, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, device, all * sizeof *host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < all; i++) {
        int expected = i / count * count + count - 1 - i % count;
        EXPECT(host[i] == expected, "%d bytes: [%d] is %d, expected %d", bytes, i, host[i],
               expected);
    }
    CHECK(cudaFree(device));
    free(host);
}

int main()
{
    int most, ordinary;
    CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(cudaDeviceGetAttribute(&ordinary, cudaDevAttrMaxSharedMemoryPerBlock, 0));
    EXPECT(ordinary == 48 << 10, "%d bytes without an attribute", ordinary);
    EXPECT(most >= 64 << 10, "%d bytes with an attribute", most);
    reverse_blocks(4 << 10);
    reverse_blocks(48 << 10);

    /* More is refused until the attribute permits it. */
    int *device, host[512];
    CHECK(cudaMalloc(&device, 64 << 10));
    reverse<<<1, 256, 64 << 10>>>(device, 16 << 10);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute((const void *)reverse, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               64 << 10));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, (const void *)reverse));
    EXPECT(attributes.maxDynamicSharedSizeBytes == 64 << 10, "%d bytes permitted",
           attributes.maxDynamicSharedSizeBytes);
    CHECK(cudaFuncSetAttribute((const void *)reverse,
                               cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared));
    reverse_blocks(64 << 10);
    EXPECT_ERROR(cudaFuncSetAttribute((const void *)reverse,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1),
                 cudaErrorInvalidValue);

    CHECK(cudaFuncGetAttributes(&attributes, (const void *)static_and_dynamic));
    EXPECT(attributes.sharedSizeBytes == 400, "%zu bytes of static shared memory",
           attributes.sharedSizeBytes);
    static_and_dynamic<<<1, 128, 512 * sizeof(int)>>>(device, 512);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 512; i++)
        EXPECT(host[i] == (i < 100 ? -999 * i : i), "[%d] is %d", i, host[i]);
    CHECK(cudaFree(device));
    printf("ok shared\n");
    return 0;
}
