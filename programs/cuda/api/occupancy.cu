/* Occupancy functions, against what the device's properties permit. */
#include "../check.h"

__global__ void light(float *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] += 1;
}

__global__ void __launch_bounds__(128) bounded(float *data)
{
    extern __shared__ float staging[];
    staging[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = staging[blockDim.x - 1 - threadIdx.x];
}

static size_t four_bytes_a_thread(int threads)
{
    return 4 * (size_t)threads;
}

int main()
{
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    int by_threads = device.maxThreadsPerMultiProcessor;

    int blocks, fewer;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, 256, 0));
    EXPECT(blocks >= 1 && blocks * 256 <= by_threads, "%d blocks of 256", blocks);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, light, 1024, 0));
    EXPECT(fewer >= 1 && fewer * 1024 <= by_threads && fewer <= blocks, "%d blocks of 1024", fewer);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, light, 1, 0));
    EXPECT(fewer >= blocks && fewer <= device.maxBlocksPerMultiProcessor, "%d blocks of 1", fewer);

    /* Shared memory is a limit of its own. */
    size_t bytes = 24 << 10;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, bounded, 64, bytes));
    EXPECT(fewer >= 1 && fewer * bytes <= device.sharedMemPerMultiprocessor,
           "%d blocks of %zu bytes", fewer, bytes);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, bounded, 64, bytes,
                                                                 cudaOccupancyDefault));
    EXPECT(blocks == fewer, "%d blocks with flags, %d without", blocks, fewer);
    size_t available;
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&available, bounded, fewer, 64));
    EXPECT(available >= bytes && available * fewer <= device.sharedMemPerMultiprocessor,
           "%zu bytes for each of %d blocks", available, fewer);

    int grid, threads;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &threads, light));
    EXPECT(threads >= 32 && threads <= 1024 && threads % 32 == 0, "blocks of %d threads", threads);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, threads, 0));
    EXPECT(grid == blocks * device.multiProcessorCount, "%d blocks fill %d times %d", grid,
           device.multiProcessorCount, blocks);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &threads, bounded, 0, 0));
    EXPECT(threads >= 32 && threads <= 128, "blocks of %d threads, bound is 128", threads);
    CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &threads, bounded,
                                                         four_bytes_a_thread, 64));
    EXPECT(threads >= 32 && threads <= 64, "blocks of %d threads, limit is 64", threads);

    /* The suggested launch works. */
    float *data, first;
    CHECK(cudaMalloc(&data, 128 * sizeof *data));
    CHECK(cudaMemset(data, 0, 128 * sizeof *data));
    light<<<1, 128>>>(data);
    bounded<<<1, threads, four_bytes_a_thread(threads)>>>(data);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost));
    EXPECT(first == 1, "data[0] is %g", first);
    EXPECT_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, 0, 0),
                 cudaErrorInvalidValue);
    CHECK(cudaFree(data));
    printf("ok occupancy\n");
    return 0;
}
