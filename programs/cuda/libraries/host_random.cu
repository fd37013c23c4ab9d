// Random numbers by cuRAND's functions for the host, whose kernels are machine code: refused, with
// the library and the function that asked.
#include <cstdio>
#include <cuda_runtime.h>
#include <curand.h>

int main()
{
    curandGenerator_t generator;
    curandStatus_t status = curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
    if (status != CURAND_STATUS_SUCCESS) {
        printf("curandCreateGenerator: %d\n", status);
        return 1;
    }
    float *numbers;
    if (cudaMalloc(&numbers, 1024 * sizeof *numbers) != cudaSuccess)
        return 1;
    status = curandGenerateUniform(generator, numbers, 1024);
    printf("curandGenerateUniform: %d\n", status);
    return status != CURAND_STATUS_SUCCESS;
}
