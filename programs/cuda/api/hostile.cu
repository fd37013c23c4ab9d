/* Arguments that no program should pass: null pointers, sizes that overflow, handles of nothing,
 * negative numbers. Each call gives an error, and the device works on. */
#include "../check.h"
#include <cstdint>

enum { N = 64 };

__global__ void add(int *data, int value)
{
    data[threadIdx.x] += value;
}

__device__ int symbol[N];

static int calls;

/* The call must give an error, whichever. */
#define REFUSED(call) \
    do { \
        cudaError_t got = (call); \
        EXPECT(got != cudaSuccess, "%s succeeds", #call); \
        (void)cudaGetLastError(); \
        calls++; \
    } while (0)

static void memory(int *data)
{
    int host[N];
    void *place;
    size_t pitch;
    cudaPitchedPtr pitched;
    REFUSED(cudaMalloc((void **)nullptr, 4));
    REFUSED(cudaMalloc(&place, SIZE_MAX));
    REFUSED(cudaMallocHost((void **)nullptr, 4));
    REFUSED(cudaMallocHost(&place, SIZE_MAX));
    REFUSED(cudaMallocManaged((void **)nullptr, 4));
    REFUSED(cudaMallocManaged(&place, SIZE_MAX));
    REFUSED(cudaMallocPitch((void **)nullptr, &pitch, 4, 4));
    REFUSED(cudaMallocPitch(&place, &pitch, SIZE_MAX, SIZE_MAX));
    REFUSED(cudaMallocPitch(&place, &pitch, (size_t)1 << 40, (size_t)1 << 40));
    REFUSED(cudaMalloc3D(nullptr, make_cudaExtent(4, 4, 4)));
    REFUSED(cudaMalloc3D(&pitched, make_cudaExtent(SIZE_MAX / 2, SIZE_MAX / 2, 3)));
    REFUSED(cudaFree((void *)(uintptr_t)12345));
    REFUSED(cudaFreeHost((void *)(uintptr_t)12345));
    REFUSED(cudaHostRegister(nullptr, 4, 0));
    REFUSED(cudaHostRegister(host, SIZE_MAX, 0));
    REFUSED(cudaHostUnregister(host));
    REFUSED(cudaHostGetDevicePointer(&place, host, 0));
    REFUSED(cudaMemcpy(nullptr, data, sizeof host, cudaMemcpyDeviceToHost));
    REFUSED(cudaMemcpy(data, nullptr, sizeof host, cudaMemcpyHostToDevice));
    REFUSED(cudaMemcpy(data, host, SIZE_MAX, cudaMemcpyHostToDevice));
    REFUSED(cudaMemcpy(host, data, SIZE_MAX, cudaMemcpyDeviceToHost));
    REFUSED(cudaMemcpy(data, data + 1, SIZE_MAX - 8, cudaMemcpyDeviceToDevice));
    REFUSED(cudaMemcpy(host, data, sizeof host, (cudaMemcpyKind)-1));
    REFUSED(cudaMemset(nullptr, 0, 4));
    REFUSED(cudaMemset(data, 0, SIZE_MAX));
    REFUSED(cudaMemset2D(data, 8, 0, 16, 2));
    REFUSED(cudaMemset2D(data, SIZE_MAX / 2, 0, 16, SIZE_MAX / 2));
    REFUSED(cudaMemcpy2D(host, 4, data, 4, 8, 2, cudaMemcpyDeviceToHost));
    REFUSED(cudaMemcpy2D(host, SIZE_MAX / 2, data, SIZE_MAX / 2, 8, SIZE_MAX / 2,
                         cudaMemcpyDeviceToHost));
    REFUSED(cudaMemcpy3D(nullptr));
    REFUSED(cudaPointerGetAttributes(nullptr, data));
}

static void symbols()
{
    int host[N] = {0};
    void *place = host;
    size_t bytes;
    REFUSED(cudaMemcpyToSymbol(symbol, host, sizeof host, 4));
    REFUSED(cudaMemcpyToSymbol(symbol, host, SIZE_MAX, 0));
    REFUSED(cudaMemcpyToSymbol(symbol, host, 8, SIZE_MAX - 3));
    REFUSED(cudaMemcpyFromSymbol(host, symbol, 8, SIZE_MAX - 3));
    REFUSED(cudaMemcpyToSymbol((const void *)nullptr, host, 4));
    REFUSED(cudaMemcpyFromSymbol(host, (const void *)host, 4));
    REFUSED(cudaGetSymbolAddress(nullptr, symbol));
    REFUSED(cudaGetSymbolAddress(&place, (const void *)place));
    REFUSED(cudaGetSymbolSize(nullptr, symbol));
    REFUSED(cudaGetSymbolSize(&bytes, (const void *)nullptr));
}

static void kernels(int *data)
{
    int value = 1, count;
    void *both[] = {&data, &value}, *none[] = {nullptr, nullptr};
    cudaFuncAttributes attributes;
    REFUSED(cudaLaunchKernel((const void *)nullptr, dim3(1), dim3(1), both, 0, 0));
    REFUSED(cudaLaunchKernel((const void *)both, dim3(1), dim3(1), both, 0, 0));
    REFUSED(cudaLaunchKernel((const void *)add, dim3(1), dim3(1), (void **)nullptr, 0, 0));
    REFUSED(cudaLaunchKernel((const void *)add, dim3(1), dim3(1), none, 0, 0));
    REFUSED(cudaLaunchKernel((const void *)add, dim3(~0u, ~0u, ~0u), dim3(~0u, ~0u, ~0u), both, 0,
                             0));
    REFUSED(cudaLaunchKernel((const void *)add, dim3(1), dim3(1), both, SIZE_MAX, 0));
    REFUSED(cudaLaunchKernelExC(nullptr, (const void *)add, both));
    REFUSED(cudaFuncGetAttributes(nullptr, (const void *)add));
    REFUSED(cudaFuncGetAttributes(&attributes, (const void *)nullptr));
    REFUSED(cudaFuncSetAttribute((const void *)add, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 -1));
    REFUSED(cudaFuncSetAttribute((const void *)add, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 INT32_MAX));
    REFUSED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, (const void *)add, 32, 0));
    REFUSED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, (const void *)add, -1, 0));
    REFUSED(cudaLaunchHostFunc(0, nullptr, nullptr));
}

static void others()
{
    int number;
    char text[8];
    cudaEvent_t event;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t runnable;
    float time;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaStreamCreate(&stream));
    REFUSED(cudaGetDevice(nullptr));
    REFUSED(cudaGetDeviceCount(nullptr));
    REFUSED(cudaSetDevice(-1));
    REFUSED(cudaSetDevice(INT32_MAX));
    REFUSED(cudaGetDeviceProperties(nullptr, 0));
    REFUSED(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
    REFUSED(cudaDeviceGetAttribute(&number, (cudaDeviceAttr)-1, 0));
    REFUSED(cudaDeviceGetPCIBusId(text, -1, 0));
    REFUSED(cudaDeviceGetPCIBusId(nullptr, 8, 0));
    REFUSED(cudaDeviceGetByPCIBusId(&number, nullptr));
    REFUSED(cudaDriverGetVersion(nullptr));
    REFUSED(cudaEventCreate((cudaEvent_t *)nullptr));
    REFUSED(cudaEventElapsedTime(nullptr, event, event));
    REFUSED(cudaEventElapsedTime(&time, event, event)); /* It was not recorded. */
    REFUSED(cudaStreamCreate((cudaStream_t *)nullptr));
    REFUSED(cudaStreamGetFlags(stream, nullptr));
    REFUSED(cudaStreamEndCapture(stream, &graph));
    REFUSED(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
    REFUSED(cudaGraphInstantiate(&runnable, (cudaGraph_t)nullptr, 0));
    REFUSED(cudaGraphLaunch((cudaGraphExec_t)nullptr, stream));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    REFUSED(cudaStreamDestroy((cudaStream_t)nullptr));
    REFUSED(cudaEventDestroy((cudaEvent_t)nullptr));
}

int main()
{
    int *data, host[N];
    CHECK(cudaMalloc(&data, sizeof host));
    CHECK(cudaMemset(data, 0, sizeof host));
    memory(data);
    symbols();
    kernels(data);
    others();
    add<<<1, N>>>(data, 3);
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(host[i] == 3, "[%d] is %d", i, host[i]);
    CHECK(cudaFree(data));
    printf("ok hostile: %d calls are refused\n", calls);
    return 0;
}
