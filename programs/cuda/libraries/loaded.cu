/* A library of a program that knows nothing of CUDA: it is loaded while that runs, as Python loads
 * its modules, and has the runtime linked in. */
#include <cuda_runtime.h>

__global__ void scale(float *values, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] *= factor;
}

extern "C" int scaled(float *values, float factor, int n)
{
    float *data;
    if (cudaMalloc(&data, n * sizeof *data) != cudaSuccess)
        return 1;
    cudaMemcpy(data, values, n * sizeof *data, cudaMemcpyHostToDevice);
    scale<<<(n + 127) / 128, 128>>>(data, factor, n);
    cudaError_t ended = cudaMemcpy(values, data, n * sizeof *data, cudaMemcpyDeviceToHost);
    cudaFree(data);
    return ended != cudaSuccess;
}
