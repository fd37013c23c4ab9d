/* A kernel that writes out of bounds.
 *
 * The launch itself succeeds. The next call that waits gives cudaErrorIllegalAddress, and so does
 * every later one: the error stays until the process ends. */
#include "../check.h"

__global__ void write_far(int *data, long index)
{
    if (threadIdx.x == 7)
        data[index] = 1;
}

int main()
{
    int *data, *more, host[32];
    CHECK(cudaMalloc(&data, sizeof host));
    write_far<<<1, 32>>>(data, 31);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[31] == 1, "data[31] is %d", host[31]);

    write_far<<<1, 32>>>(data, 1L << 40);
    cudaError_t error = cudaDeviceSynchronize();
    EXPECT(error == cudaErrorIllegalAddress, "the first synchronisation gives %s",
           cudaGetErrorName(error));
    EXPECT(cudaGetLastError() == cudaErrorIllegalAddress, "the last error is another");
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress, "the error went away");
    EXPECT(cudaMalloc(&more, 4) == cudaErrorIllegalAddress, "memory is given after the error");
    EXPECT(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress,
           "copies work after the error");
    write_far<<<1, 32>>>(data, 0);
    EXPECT(cudaGetLastError() == cudaErrorIllegalAddress, "launches work after the error");
    EXPECT(cudaGetLastError() == cudaErrorIllegalAddress, "the error went away");
    printf("ok illegal\n");
    return 0;
}
