/* Fork, before CUDA is used and after.
 *
 * Children that are forked before use CUDA each for itself, and so does the parent. A child that is
 * forked afterwards gets an error from every call, and the parent works on. Handlers of forks that
 * were there before all libraries may allocate and free. */
#include "../check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 3, N = 500 };

__global__ void fill(int *data, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        data[i] = value * i;
}

static void use(int value)
{
    int *data, host[N];
    CHECK(cudaMalloc(&data, sizeof host));
    fill<<<(N + 63) / 64, 64>>>(data, value);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(host[i] == value * i, "process %d: [%d] is %d", value, i, host[i]);
    CHECK(cudaFree(data));
}

static void expect_end(pid_t child, int status)
{
    int got;
    EXPECT(child > 0 && waitpid(child, &got, 0) == child, "no child");
    EXPECT(WIFEXITED(got) && WEXITSTATUS(got) == status, "a child ends with %x, expected status %d",
           got, status);
}

static void *block;
static int handled;

static void allocate()
{
    void *before = block;
    block = malloc(1 << 16);
    free(before);
    handled++;
}

static void register_handlers()
{
    pthread_atfork(allocate, allocate, allocate);
}

__attribute__((section(".preinit_array"), used)) static void (*first)() = register_handlers;

int main()
{
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            use(10 + i);
            _exit(20 + i);
        }
    }
    use(1);
    for (int i = 0; i < CHILDREN; i++)
        expect_end(children[i], 20 + i);

    pid_t late = fork();
    if (late == 0) {
        int *data;
        _exit(cudaMalloc(&data, 4) == cudaErrorInitializationError ? 30 : 31);
    }
    expect_end(late, 30);
    use(2);
    EXPECT(handled == 2 * (CHILDREN + 1), "%d calls of the handlers", handled);
    printf("ok fork\n");
    return 0;
}
