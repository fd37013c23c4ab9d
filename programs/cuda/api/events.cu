/* Events and the times between them.
 *
 * A time is at least zero, adds up over three events within the resolution of the clock (about half
 * a microsecond on a GPU), and is not longer than the host waited. Events without times refuse to
 * be subtracted, and so do events that were never recorded. */
#include "../check.h"
#include <chrono>

__global__ void spin(float *data, int rounds)
{
    float value = data[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        value = value * 0.5f + 1.0f;
    data[threadIdx.x] = value;
}

int main()
{
    float *data;
    CHECK(cudaMalloc(&data, 256 * sizeof *data));
    CHECK(cudaMemset(data, 0, 256 * sizeof *data));
    cudaEvent_t start, middle, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreateWithFlags(&middle, cudaEventBlockingSync));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventQuery(start)); /* Never recorded: nothing to wait for. */
    float none;
    EXPECT_ERROR(cudaEventElapsedTime(&none, start, end), cudaErrorInvalidResourceHandle);

    CHECK(cudaDeviceSynchronize());
    auto before = std::chrono::steady_clock::now();
    CHECK(cudaEventRecord(start));
    spin<<<1, 256>>>(data, 100);
    CHECK(cudaEventRecord(middle, 0));
    spin<<<1, 256>>>(data, 10000);
    CHECK(cudaEventRecordWithFlags(end, 0, cudaEventRecordDefault));
    CHECK(cudaEventSynchronize(end));
    std::chrono::duration<float, std::milli> host = std::chrono::steady_clock::now() - before;
    CHECK(cudaEventQuery(start));
    CHECK(cudaEventQuery(end));

    float first, second, both, back;
    CHECK(cudaEventElapsedTime(&first, start, middle));
    CHECK(cudaEventElapsedTime(&second, middle, end));
    CHECK(cudaEventElapsedTime(&both, start, end));
    CHECK(cudaEventElapsedTime(&back, end, start));
    EXPECT(first >= 0 && second > 0, "%g and %g ms", first, second);
    EXPECT(first + second - both < 0.01f && both - first - second < 0.01f, "%g + %g is not %g ms",
           first, second, both);
    EXPECT(back == -both, "%g ms forward, %g ms back", both, back);
    EXPECT(both <= host.count() + 0.01f, "%g ms on the device, %g ms on the host", both,
           host.count());

    cudaEvent_t untimed;
    CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    CHECK(cudaEventRecord(untimed));
    CHECK(cudaEventSynchronize(untimed));
    EXPECT_ERROR(cudaEventElapsedTime(&none, start, untimed), cudaErrorInvalidResourceHandle);

    /* An event keeps the last of its records. */
    CHECK(cudaEventRecord(start));
    CHECK(cudaEventSynchronize(start));
    CHECK(cudaEventElapsedTime(&none, end, start));
    EXPECT(none >= 0, "%g ms from an earlier event", none);

    for (cudaEvent_t event : {start, middle, end, untimed})
        CHECK(cudaEventDestroy(event));
    CHECK(cudaFree(data));
    printf("ok events\n");
    return 0;
}
