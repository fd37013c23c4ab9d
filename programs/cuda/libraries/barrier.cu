/* Barriers in shared memory (libcu++): arrivals and waiting apart, copies that are awaited by their
 * bytes, and two warps that make and use rows in turns. */
#include "../check.h"
#include <cuda/barrier>
#include <vector>

using barrier = cuda::barrier<cuda::thread_scope_block>;

const int THREADS = 256, TILES = 8, ROWS = 20;

/* The next tile is on its way while one is added up: a bulk copy by one thread where the GPU has
 * that, else one word by each. */
__device__ void fetch(int *to, const int *from, barrier &arrived)
{
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)
        cuda::memcpy_async(to, from, cuda::aligned_size_t<16>(THREADS * sizeof(int)), arrived);
#else
    cuda::memcpy_async(to + threadIdx.x, from + threadIdx.x, sizeof(int), arrived);
#endif
}

__global__ void add_tiles(const int *tiles, int *sums)
{
    __shared__ alignas(16) int room[2][THREADS];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier arrived[2];
    if (threadIdx.x == 0)
        for (barrier &one : arrived)
            init(&one, THREADS);
    __syncthreads();
    int sum = 0;
    fetch(room[0], tiles, arrived[0]);
    for (int tile = 0; tile < TILES; tile++) {
        if (tile + 1 < TILES)
            fetch(room[(tile + 1) % 2], tiles + (tile + 1) * THREADS, arrived[(tile + 1) % 2]);
        arrived[tile % 2].arrive_and_wait();
        sum += room[tile % 2][THREADS - 1 - threadIdx.x];
        __syncthreads();
    }
    sums[threadIdx.x] = sum;
}

/* The first warp makes rows, the second one uses them; the third one drops out at once. */
__global__ void make_and_use(int *sums)
{
    __shared__ int row[32];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier made, used;
    if (threadIdx.x == 0) {
        init(&made, 96);
        init(&used, 64);
    }
    __syncthreads();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp == 2) {
        made.arrive_and_drop();
    } else if (warp == 0) {
        for (int number = 0; number < ROWS; number++) {
            row[lane] = number * 100 + lane;
            (void)made.arrive();
            used.arrive_and_wait();
        }
    } else {
        int sum = 0;
        for (int number = 0; number < ROWS; number++) {
            made.arrive_and_wait();
            sum = sum * 3 + row[31 - lane];
            (void)used.arrive();
        }
        sums[lane] = sum;
    }
}

int main()
{
    std::vector<int> tiles(THREADS * TILES), sums(THREADS);
    for (size_t at = 0; at < tiles.size(); at++)
        tiles[at] = int(at * 7 % 1000);
    int *device, *result;
    CHECK(cudaMalloc(&device, tiles.size() * sizeof(int)));
    CHECK(cudaMalloc(&result, sums.size() * sizeof(int)));
    CHECK(cudaMemcpy(device, tiles.data(), tiles.size() * sizeof(int), cudaMemcpyHostToDevice));
    add_tiles<<<1, THREADS>>>(device, result);
    CHECK(cudaMemcpy(sums.data(), result, sums.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int thread = 0; thread < THREADS; thread++) {
        int sum = 0;
        for (int tile = 0; tile < TILES; tile++)
            sum += tiles[tile * THREADS + THREADS - 1 - thread];
        EXPECT(sums[thread] == sum, "thread %d: %d, not %d", thread, sums[thread], sum);
    }
    make_and_use<<<1, 96>>>(result);
    CHECK(cudaMemcpy(sums.data(), result, 32 * sizeof(int), cudaMemcpyDeviceToHost));
    for (int lane = 0; lane < 32; lane++) {
        unsigned sum = 0;
        for (int number = 0; number < ROWS; number++)
            sum = sum * 3 + unsigned(number * 100 + 31 - lane);
        EXPECT(sums[lane] == int(sum), "lane %d: %d, not %d", lane, sums[lane], int(sum));
    }
    printf("ok barrier\n");
    return 0;
}
