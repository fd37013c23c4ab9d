/* Several host threads launch at once.
 *
 * Each has a stream of its own, or the per-thread default stream, allocates and frees, and sees its
 * own last error only. All add to one counter on the device. */
#include "../check.h"
#include <atomic>
#include <thread>
#include <vector>

enum { THREADS = 6, ROUNDS = 12, N = 1000 };

__global__ void work(int *data, int count, int add, unsigned *counter)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        data[i] += add;
        atomicAdd(counter, 1u);
    }
}

static void host_thread(int number, unsigned *counter, std::atomic<int> *ready)
{
    int device;
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&device));
    cudaStream_t stream = cudaStreamPerThread;
    if (number % 2)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    /* All threads begin together; the errors of some are none of the others'. */
    ++*ready;
    while (*ready < THREADS)
        std::this_thread::yield();
    if (number % 3 == 0)
        (void)cudaSetDevice(1000);
    std::vector<int> host(N);
    int expected = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int *data;
        CHECK(cudaMalloc(&data, N * sizeof *data));
        for (int &value : host)
            value = number;
        expected = number + 10 * round + 1;
        CHECK(cudaMemcpyAsync(data, host.data(), N * sizeof *data, cudaMemcpyHostToDevice,
                              stream));
        work<<<(N + 63) / 64, 64, 0, stream>>>(data, N, 10 * round, counter);
        work<<<(N + 63) / 64, 64, 0, stream>>>(data, N, 1, counter);
        CHECK(cudaMemcpyAsync(host.data(), data, N * sizeof *data, cudaMemcpyDeviceToHost,
                              stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < N; i++)
            EXPECT(host[i] == expected, "thread %d, round %d: [%d] is %d, expected %d", number,
                   round, i, host[i], expected);
        CHECK(cudaFree(data));
    }
    cudaError_t last = cudaGetLastError();
    EXPECT(last == (number % 3 == 0 ? cudaErrorInvalidDevice : cudaSuccess),
           "thread %d has the last error %s", number, cudaGetErrorName(last));
    if (number % 2)
        CHECK(cudaStreamDestroy(stream));
}

int main()
{
    unsigned *counter, count;
    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    CHECK(cudaDeviceSynchronize());
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++)
        threads.emplace_back(host_thread, i, counter, &ready);
    for (std::thread &thread : threads)
        thread.join();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&count, counter, sizeof count, cudaMemcpyDeviceToHost));
    EXPECT(count == 2u * THREADS * ROUNDS * N, "%u threads ran", count);
    CHECK(cudaFree(counter));
    printf("ok threads\n");
    return 0;
}
