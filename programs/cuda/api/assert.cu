/* `assert` in a kernel.
 *
 * An assertion that holds does nothing. One that fails prints file, line, function, block, thread
 * and condition on standard error. The next call that waits gives cudaErrorAssert, which stays. */
#include "../check.h"
#include "capture.h"
#undef NDEBUG
#include <cassert>
#include <string>

__global__ void divide(const int *left, const int *right, int *quotient)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(right[i] != 0);
    quotient[i] = left[i] / right[i];
}

int main()
{
    enum { N = 64 };
    int *left, *right, *quotient, host[N];
    for (int **array : {&left, &right, &quotient})
        CHECK(cudaMalloc(array, sizeof host));
    for (int i = 0; i < N; i++)
        host[i] = i + 1;
    CHECK(cudaMemcpy(left, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(right, host, sizeof host, cudaMemcpyHostToDevice));
    divide<<<2, 32>>>(left, right, quotient);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, quotient, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 1 && host[N - 1] == 1, "%d and %d", host[0], host[N - 1]);

    CHECK(cudaMemset(right + 37, 0, sizeof *right));
    Captured output(2);
    divide<<<2, 32>>>(left, right, quotient);
    cudaError_t launched = cudaGetLastError(), first = cudaDeviceSynchronize();
    std::string text = output.end();
    /* A launch that waits may give the error itself. */
    EXPECT(launched == cudaSuccess || launched == cudaErrorAssert, "the launch gives %s",
           cudaGetErrorName(launched));
    EXPECT(first == cudaErrorAssert, "the failed assertion gives %s", cudaGetErrorName(first));
    EXPECT(cudaMemset(right, 1, 4) == cudaErrorAssert, "the error went away");
    for (const char *part : {"assert.cu:14: ", "divide", "block: [1,0,0], thread: [5,0,0]",
                             "Assertion `right[i] != 0` failed."})
        EXPECT(text.find(part) != std::string::npos, "no %s in the message: %s", part,
               text.c_str());
    printf("ok assert\n");
    return 0;
}
