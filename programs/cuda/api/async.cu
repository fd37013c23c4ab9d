/* Asynchronous copies on several streams, with host functions between them.
 *
 * Each of four streams takes pieces of an array: copy, kernel, copy back, host function. The host
 * functions of a stream run in its order, after the work before them; a kernel that follows one
 * sees what the host function wrote to pinned memory. */
#include "../check.h"
#include <atomic>

enum { STREAMS = 4, PIECES = 5, COUNT = 1024 };

struct Lane {
    int *host, *device;
    int piece;       /* The next piece that a host function expects. */
    long sum;        /* Over all pieces, by the host functions. */
    bool in_order;
};
static std::atomic<int> host_functions{0}, callbacks{0};

__global__ void triple(int *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] *= 3;
}

/* Sums up the piece that has just been copied back, and writes the input of the next one. */
static void CUDART_CB take_piece(void *argument)
{
    Lane *lane = (Lane *)argument;
    for (int i = 0; i < COUNT; i++) {
        if (lane->host[i] != 3 * (lane->piece + i))
            lane->in_order = false;
        lane->sum += lane->host[i];
        lane->host[i] = lane->piece + 1 + i;
    }
    lane->piece++;
    host_functions++;
}

static void CUDART_CB note_end(cudaStream_t, cudaError_t status, void *argument)
{
    if (status == cudaSuccess && ((Lane *)argument)->piece == PIECES)
        callbacks++;
}

int main()
{
    cudaStream_t streams[STREAMS];
    Lane lanes[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        Lane &lane = lanes[s];
        lane = {nullptr, nullptr, 0, 0, true};
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        CHECK(cudaMallocHost(&lane.host, COUNT * sizeof(int)));
        CHECK(cudaMallocAsync(&lane.device, COUNT * sizeof(int), streams[s]));
        for (int i = 0; i < COUNT; i++)
            lane.host[i] = i;
    }
    for (int piece = 0; piece < PIECES; piece++)
        for (int s = 0; s < STREAMS; s++) {
            Lane &lane = lanes[s];
            size_t bytes = COUNT * sizeof(int);
            CHECK(cudaMemcpyAsync(lane.device, lane.host, bytes, cudaMemcpyHostToDevice,
                                  streams[s]));
            triple<<<COUNT / 128, 128, 0, streams[s]>>>(lane.device);
            CHECK(cudaMemcpyAsync(lane.host, lane.device, bytes, cudaMemcpyDeviceToHost,
                                  streams[s]));
            CHECK(cudaLaunchHostFunc(streams[s], take_piece, &lane));
        }
    for (int s = 0; s < STREAMS; s++)
        CHECK(cudaStreamAddCallback(streams[s], note_end, &lanes[s], 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(host_functions == STREAMS * PIECES, "%d host functions ran", host_functions.load());
    EXPECT(callbacks == STREAMS, "%d callbacks ran after the last piece", callbacks.load());
    long expected = 0;
    for (int piece = 0; piece < PIECES; piece++)
        for (int i = 0; i < COUNT; i++)
            expected += 3 * (piece + i);
    for (int s = 0; s < STREAMS; s++) {
        EXPECT(lanes[s].in_order, "stream %d: a piece came early or late", s);
        EXPECT(lanes[s].sum == expected, "stream %d: sum %ld, expected %ld", s, lanes[s].sum,
               expected);
        CHECK(cudaFreeAsync(lanes[s].device, streams[s]));
        CHECK(cudaStreamDestroy(streams[s]));
        CHECK(cudaFreeHost(lanes[s].host));
    }
    printf("ok async\n");
    return 0;
}
