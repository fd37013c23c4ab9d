/* Streams: made of every kind, ordered by events, waited for, queried and destroyed.
 *
 * Two streams work on halves of one array, and a third adds the halves after it has waited for an
 * event of each. The legacy default stream comes after all work of blocking streams. */
#include "../check.h"

enum { N = 1 << 14 };

__global__ void fill(int *data, int first, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] = first + i;
}

__global__ void add(const int *left, const int *right, int *sum, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = left[i] + right[i];
}

static void ordered_by_events()
{
    const int half = N / 2;
    int *data, *sum;
    CHECK(cudaMalloc(&data, N * sizeof *data));
    CHECK(cudaMalloc(&sum, half * sizeof *sum));
    cudaStream_t streams[3];
    cudaEvent_t filled[2];
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventCreateWithFlags(&filled[i], cudaEventDisableTiming));
        fill<<<half / 128, 128, 0, streams[i]>>>(data + i * half, 1000 * i, half);
        CHECK(cudaEventRecord(filled[i], streams[i]));
        CHECK(cudaStreamWaitEvent(streams[2], filled[i], 0));
    }
    add<<<half / 128, 128, 0, streams[2]>>>(data, data + half, sum, half);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(streams[2]));
    CHECK(cudaStreamQuery(streams[2]));
    static int result[N / 2];
    CHECK(cudaMemcpy(result, sum, sizeof result, cudaMemcpyDeviceToHost));
    for (int i = 0; i < half; i++)
        EXPECT(result[i] == 1000 + 2 * i, "sum[%d] is %d", i, result[i]);
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));
    for (cudaEvent_t event : filled)
        CHECK(cudaEventDestroy(event));
    CHECK(cudaFree(data));
    CHECK(cudaFree(sum));
}

static void default_stream_is_last()
{
    int *data, result[256];
    CHECK(cudaMalloc(&data, sizeof result));
    cudaStream_t blocking;
    CHECK(cudaStreamCreate(&blocking));
    fill<<<2, 128, 0, blocking>>>(data, 5, 256);
    /* On the default stream: begins when the kernel of the blocking stream has ended. */
    CHECK(cudaMemcpy(result, data, sizeof result, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++)
        EXPECT(result[i] == 5 + i, "data[%d] is %d", i, result[i]);
    fill<<<2, 128, 0, cudaStreamLegacy>>>(data, 6, 256);
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    fill<<<2, 128, 0, cudaStreamPerThread>>>(data, 7, 256);
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaMemcpyAsync(result, data, sizeof result, cudaMemcpyDeviceToHost, blocking));
    CHECK(cudaStreamSynchronize(blocking));
    EXPECT(result[255] == 262, "data[255] is %d", result[255]);
    CHECK(cudaStreamDestroy(blocking));
    CHECK(cudaFree(data));
}

static void flags_and_priorities()
{
    int least, greatest, priority;
    unsigned flags;
    unsigned long long first, second;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(greatest <= least, "priorities from %d to %d", greatest, least);
    cudaStream_t high, low;
    CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamCreateWithPriority(&low, cudaStreamDefault, least));
    CHECK(cudaStreamGetPriority(high, &priority));
    EXPECT(priority == greatest, "priority %d", priority);
    CHECK(cudaStreamGetFlags(high, &flags));
    EXPECT(flags == cudaStreamNonBlocking, "flags %u", flags);
    CHECK(cudaStreamGetFlags(low, &flags));
    EXPECT(flags == cudaStreamDefault, "flags %u", flags);
    CHECK(cudaStreamGetId(high, &first));
    CHECK(cudaStreamGetId(low, &second));
    EXPECT(first != second, "both streams have the id %llu", first);
    CHECK(cudaStreamDestroy(high));
    CHECK(cudaStreamDestroy(low));
}

int main()
{
    ordered_by_events();
    default_stream_is_last();
    flags_and_priorities();
    CHECK(cudaDeviceSynchronize());
    printf("ok streams\n");
    return 0;
}
