/* Errors of calls: which one each misuse gives, that it is the last error once, and that the device
 * works on afterwards. */
#include "../check.h"
#include <cstring>

__global__ void set(int *data)
{
    data[threadIdx.x] = 5;
}

static void launches(int *data)
{
    set<<<1, 1025>>>(data);
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration, "%s",
           cudaGetErrorName(cudaPeekAtLastError()));
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration, "the peek took the error");
    EXPECT(cudaGetLastError() == cudaSuccess, "the error was given twice");
    set<<<0, 32>>>(data);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    set<<<1, 0>>>(data);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    set<<<dim3(1, 65536), 32>>>(data);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    set<<<1, dim3(1, 1, 65)>>>(data);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    set<<<1, 32, 10 << 20>>>(data);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    void *arguments[] = {&data};
    EXPECT_ERROR(cudaLaunchKernel((const void *)launches, dim3(1), dim3(32), arguments, 0, 0),
                 cudaErrorInvalidDeviceFunction);
}

static void memory(int *data)
{
    int host[32], other[32];
    EXPECT_ERROR(cudaMemcpy(host, data, sizeof host, (cudaMemcpyKind)77),
                 cudaErrorInvalidMemcpyDirection);
    EXPECT_ERROR(cudaMemcpy(host, data, sizeof host, cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpy(host, other, sizeof host, cudaMemcpyDeviceToDevice),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpy(host, data, 33 << 20, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    void *huge = host;
    EXPECT_ERROR(cudaMalloc(&huge, (size_t)1 << 50), cudaErrorMemoryAllocation);
    EXPECT_ERROR(cudaMalloc(nullptr, 4), cudaErrorInvalidValue);
    int *freed;
    CHECK(cudaMalloc(&freed, 128));
    CHECK(cudaFree(freed));
    EXPECT_ERROR(cudaFree(freed), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFree(host), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFree(data + 1), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFreeHost(host), cudaErrorInvalidValue);
    CHECK(cudaFree(nullptr));
    CHECK(cudaFreeHost(nullptr));
    CHECK(cudaMemcpy(host, data, 0, cudaMemcpyDeviceToHost));
}

static void names()
{
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"), "%s",
           cudaGetErrorName(cudaErrorInvalidValue));
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"), "%s",
           cudaGetErrorString(cudaErrorMemoryAllocation));
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorIllegalAddress),
                   "an illegal memory access was encountered"),
           "%s", cudaGetErrorString(cudaErrorIllegalAddress));
    EXPECT(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"), "%s",
           cudaGetErrorName((cudaError_t)12345));
}

int main()
{
    int *data, host[32];
    CHECK(cudaMalloc(&data, sizeof host));
    CHECK(cudaMemset(data, 0, sizeof host));
    names();
    launches(data);
    memory(data);

    /* The last error is that of this thread, from any call. */
    (void)cudaFree(host);
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidValue, "%s",
           cudaGetErrorName(cudaPeekAtLastError()));
    CHECK(cudaDeviceSynchronize()); /* A success does not take it. */
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);

    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 0, "a refused launch wrote %d", host[0]);
    set<<<1, 32>>>(data);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[31] == 5, "data[31] is %d", host[31]);
    CHECK(cudaFree(data));
    printf("ok errors\n");
    return 0;
}
