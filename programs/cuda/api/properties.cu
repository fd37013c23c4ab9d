/* Devices, their properties and attributes, versions, memory in use, and attributes of kernels. */
#include "../check.h"
#include <cstring>

__global__ void __launch_bounds__(96) kernel(int *data)
{
    __shared__ int staging[50];
    staging[threadIdx.x % 50] = (int)threadIdx.x;
    __syncthreads();
    data[threadIdx.x] = staging[(threadIdx.x + 1) % 50];
}

__global__ void architecture(int *data)
{
#ifdef __CUDA_ARCH__
    *data = __CUDA_ARCH__;
#endif
}

static int attribute(cudaDeviceAttr which)
{
    int value;
    CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

static void equal(const char *name, long property, cudaDeviceAttr which)
{
    EXPECT(property == attribute(which), "%s: property %ld, attribute %d", name, property,
           attribute(which));
}

static void properties()
{
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    EXPECT(p.name[0] && memchr(p.name, 0, sizeof p.name), "the device has no name");
    EXPECT(p.warpSize == 32, "warps of %d", p.warpSize);
    EXPECT(p.maxThreadsPerBlock == 1024 && p.maxThreadsDim[0] == 1024 && p.maxThreadsDim[2] == 64,
           "blocks of %d threads, %d x %d x %d", p.maxThreadsPerBlock, p.maxThreadsDim[0],
           p.maxThreadsDim[1], p.maxThreadsDim[2]);
    EXPECT(p.maxGridSize[0] == 2147483647 && p.maxGridSize[1] == 65535 && p.maxGridSize[2] == 65535,
           "grids of %d x %d x %d", p.maxGridSize[0], p.maxGridSize[1], p.maxGridSize[2]);
    EXPECT(p.totalConstMem == 65536, "%zu bytes of constants", p.totalConstMem);
    EXPECT(p.major >= 5, "compute capability %d.%d", p.major, p.minor);
    EXPECT(p.unifiedAddressing && p.canMapHostMemory && p.managedMemory, "memory is not unified");
    EXPECT(p.regsPerBlock > 0 && p.l2CacheSize > 0 && p.memoryBusWidth > 0,
           "%d registers, L2 of %d bytes, bus of %d bits", p.regsPerBlock, p.l2CacheSize,
           p.memoryBusWidth);
    equal("multiProcessorCount", p.multiProcessorCount, cudaDevAttrMultiProcessorCount);
    equal("warpSize", p.warpSize, cudaDevAttrWarpSize);
    equal("major", p.major, cudaDevAttrComputeCapabilityMajor);
    equal("minor", p.minor, cudaDevAttrComputeCapabilityMinor);
    equal("maxThreadsPerBlock", p.maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock);
    equal("maxThreadsDim[1]", p.maxThreadsDim[1], cudaDevAttrMaxBlockDimY);
    equal("maxGridSize[0]", p.maxGridSize[0], cudaDevAttrMaxGridDimX);
    equal("maxThreadsPerMultiProcessor", p.maxThreadsPerMultiProcessor,
          cudaDevAttrMaxThreadsPerMultiProcessor);
    equal("maxBlocksPerMultiProcessor", p.maxBlocksPerMultiProcessor,
          cudaDevAttrMaxBlocksPerMultiprocessor);
    equal("sharedMemPerBlock", (long)p.sharedMemPerBlock, cudaDevAttrMaxSharedMemoryPerBlock);
    equal("sharedMemPerBlockOptin", (long)p.sharedMemPerBlockOptin,
          cudaDevAttrMaxSharedMemoryPerBlockOptin);
    equal("sharedMemPerMultiprocessor", (long)p.sharedMemPerMultiprocessor,
          cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    equal("regsPerMultiprocessor", p.regsPerMultiprocessor,
          cudaDevAttrMaxRegistersPerMultiprocessor);
    equal("l2CacheSize", p.l2CacheSize, cudaDevAttrL2CacheSize);
    equal("concurrentManagedAccess", p.concurrentManagedAccess,
          cudaDevAttrConcurrentManagedAccess);
    EXPECT(attribute(cudaDevAttrClockRate) > 0, "no clock rate");

    size_t unused, total, later;
    CHECK(cudaMemGetInfo(&unused, &total));
    EXPECT(unused <= total && total <= p.totalGlobalMem, "%zu of %zu bytes free, property %zu",
           unused, total, p.totalGlobalMem);
    void *memory;
    CHECK(cudaMalloc(&memory, 64 << 20));
    CHECK(cudaMemGetInfo(&later, &total));
    EXPECT(later <= unused - (64 << 20), "%zu bytes free before, %zu after", unused, later);
    CHECK(cudaFree(memory));
}

static void devices_and_versions()
{
    int count, device, driver, runtime;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count >= 1, "%d devices", count);
    CHECK(cudaSetDevice(count - 1));
    CHECK(cudaGetDevice(&device));
    EXPECT(device == count - 1, "device %d", device);
    CHECK(cudaSetDevice(0));
    EXPECT_ERROR(cudaSetDevice(count), cudaErrorInvalidDevice);
    cudaDeviceProp p;
    EXPECT_ERROR(cudaGetDeviceProperties(&p, -1), cudaErrorInvalidDevice);
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    EXPECT(runtime / 1000 == CUDART_VERSION / 1000, "runtime %d, built with %d", runtime,
           CUDART_VERSION);
    EXPECT(driver / 1000 >= runtime / 1000, "driver %d, runtime %d", driver, runtime);
    char bus[32];
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    CHECK(cudaDeviceGetByPCIBusId(&device, bus));
    EXPECT(device == 0, "%s is device %d", bus, device);
    size_t stack;
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    CHECK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    EXPECT(stack >= 4096, "a stack of %zu bytes", stack);
}

static void kernels()
{
    cudaFuncAttributes a;
    CHECK(cudaFuncGetAttributes(&a, kernel));
    EXPECT(a.maxThreadsPerBlock == 96, "blocks of up to %d threads", a.maxThreadsPerBlock);
    EXPECT(a.sharedSizeBytes == 200, "%zu bytes of shared memory", a.sharedSizeBytes);
    EXPECT(a.numRegs > 0 && a.ptxVersion >= 50 && a.binaryVersion >= 50,
           "%d registers, PTX %d, binary %d", a.numRegs, a.ptxVersion, a.binaryVersion);
    CHECK(cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferL1));
    EXPECT_ERROR(cudaFuncGetAttributes(&a, (const void *)attribute),
                 cudaErrorInvalidDeviceFunction);
    int *data, host[96];
    CHECK(cudaMalloc(&data, sizeof host));
    kernel<<<1, 50>>>(data);
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[48] == 49 && host[49] == 0, "%d and %d", host[48], host[49]);
    kernel<<<1, 97>>>(data);
    EXPECT(cudaGetLastError() != cudaSuccess, "97 threads run although the bound is 96");
    /* Libraries choose their kernels by this. */
    CHECK(cudaFuncGetAttributes(&a, architecture));
    architecture<<<1, 1>>>(data);
    CHECK(cudaMemcpy(host, data, sizeof *host, cudaMemcpyDeviceToHost));
    EXPECT(a.ptxVersion * 10 == host[0], "PTX %d of code for %d", a.ptxVersion, host[0]);
    CHECK(cudaFree(data));
}

int main()
{
    devices_and_versions();
    properties();
    kernels();
    printf("ok properties\n");
    return 0;
}
