/* The kernel of driver.c. */
extern "C" {
__device__ float offset;
}

extern "C" __global__ void scale(float *data, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = factor * data[i] + offset;
}
