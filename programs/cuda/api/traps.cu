/* Kernels that fail in other ways, each in a process of its own that is forked before CUDA is used.
 *
 * A misaligned access, an access to address 0, one to memory that was freed, and a trap. */
#include "../check.h"
#include <sys/wait.h>
#include <unistd.h>

enum Way { MISALIGNED, NULL_POINTER, FREED, TRAP, WAYS };
static const char *const names[WAYS] = {"misaligned", "null pointer", "freed", "trap"};

__global__ void fail(char *data, int way)
{
    if (way == MISALIGNED)
        *(int *)(data + 2) = 1;
    else if (way == NULL_POINTER || way == FREED)
        *(volatile int *)data = 1;
    else if (threadIdx.x == 3)
        __trap();
}

static bool fits(int way, cudaError_t error)
{
    if (way == MISALIGNED)
        return error == cudaErrorMisalignedAddress;
    if (way == TRAP)
        return error == cudaErrorLaunchFailure || error == cudaErrorIllegalInstruction;
    return error == cudaErrorIllegalAddress;
}

static int child(int way)
{
    char *data = nullptr;
    if (way != NULL_POINTER)
        CHECK(cudaMalloc(&data, 64 << 20));
    if (way == FREED)
        CHECK(cudaFree(data));
    fail<<<1, 32>>>(data, way);
    cudaError_t launched = cudaGetLastError(); /* A launch that waits may give the error itself. */
    cudaError_t first = cudaDeviceSynchronize(), second = cudaDeviceSynchronize();
    EXPECT(launched == cudaSuccess || launched == first, "%s: the launch gives %s", names[way],
           cudaGetErrorName(launched));
    EXPECT(fits(way, first), "%s gives %s", names[way], cudaGetErrorName(first));
    EXPECT(second == first, "%s gives %s, then %s", names[way], cudaGetErrorName(first),
           cudaGetErrorName(second));
    return 0;
}

int main()
{
    for (int way = 0; way < WAYS; way++) {
        fflush(stdout);
        pid_t id = fork();
        if (id == 0)
            _exit(child(way));
        int status;
        EXPECT(id > 0 && waitpid(id, &status, 0) == id, "no child for %s", names[way]);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child for %s ends with %x",
               names[way], status);
    }
    printf("ok traps\n");
    return 0;
}
