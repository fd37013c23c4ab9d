/* Cooperative launch: a barrier over all blocks of the grid.
 *
 * Each step of the kernel adds up neighbours of other blocks, so that a block that runs ahead of
 * the barrier reads old values. Also groups within a block: tiles, and the threads of a branch. */
#include "../check.h"
#include <cooperative_groups.h>
namespace groups = cooperative_groups;

enum { BLOCKS = 8, THREADS = 64, N = BLOCKS * THREADS, STEPS = 20 };

__global__ void ring(unsigned *even, unsigned *odd, int steps)
{
    groups::grid_group grid = groups::this_grid();
    unsigned i = (unsigned)grid.thread_rank(), n = (unsigned)grid.size();
    for (int step = 0; step < steps; step++) {
        const unsigned *from = step % 2 ? odd : even;
        unsigned *to = step % 2 ? even : odd;
        to[i] = from[(i + n / 2) % n] + from[(i + n - 1) % n];
        grid.sync();
    }
}

/* Tiles of 8 sum up their threads' numbers; the odd threads of a warp elect the first of them. */
__global__ void small_groups(int *sums, int *leaders)
{
    groups::thread_block block = groups::this_thread_block();
    auto tile = groups::tiled_partition<8>(block);
    int sum = (int)block.thread_rank();
    for (int offset = 4; offset > 0; offset /= 2)
        sum += tile.shfl_xor(sum, offset);
    sums[block.thread_rank()] = sum;
    leaders[block.thread_rank()] = 0;
    block.sync();
    if (threadIdx.x % 2) {
        groups::coalesced_group odd = groups::coalesced_threads();
        if (odd.thread_rank() == 0)
            leaders[threadIdx.x] = (int)odd.size();
    }
}

static void all_blocks()
{
    unsigned *even, *odd, host[N], before[N];
    CHECK(cudaMalloc(&even, sizeof host));
    CHECK(cudaMalloc(&odd, sizeof host));
    for (unsigned i = 0; i < N; i++)
        host[i] = i * i;
    CHECK(cudaMemcpy(even, host, sizeof host, cudaMemcpyHostToDevice));
    int steps = STEPS;
    void *arguments[] = {&even, &odd, &steps};
    CHECK(cudaLaunchCooperativeKernel((const void *)ring, dim3(BLOCKS), dim3(THREADS), arguments, 0,
                                      0));
    CHECK(cudaDeviceSynchronize());
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < N; i++)
            before[i] = host[i];
        for (int i = 0; i < N; i++)
            host[i] = before[(i + N / 2) % N] + before[(i + N - 1) % N];
    }
    CHECK(cudaMemcpy(before, STEPS % 2 ? odd : even, sizeof before, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(before[i] == host[i], "thread %d: %u, expected %u", i, before[i], host[i]);
    CHECK(cudaFree(even));
    CHECK(cudaFree(odd));
}

/* A grid that does not fit the device at once would never end, and is refused. */
static void too_many_blocks()
{
    unsigned *data;
    CHECK(cudaMalloc(&data, sizeof *data));
    int steps = 0;
    void *arguments[] = {&data, &data, &steps};
    EXPECT_ERROR(cudaLaunchCooperativeKernel((const void *)ring, dim3(1 << 20), dim3(THREADS),
                                             arguments, 0, 0),
                 cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaFree(data));
}

int main()
{
    int supported;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    EXPECT(supported, "the device does not launch grids together");
    all_blocks();
    too_many_blocks();
    int *sums, *leaders, host[THREADS];
    CHECK(cudaMalloc(&sums, sizeof host));
    CHECK(cudaMalloc(&leaders, sizeof host));
    small_groups<<<1, THREADS>>>(sums, leaders);
    CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++)
        EXPECT(host[i] == i / 8 * 64 + 28, "the tile of thread %d has the sum %d", i, host[i]);
    CHECK(cudaMemcpy(host, leaders, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++)
        EXPECT(host[i] == (i % 32 == 1 ? 16 : 0), "thread %d leads %d threads", i, host[i]);
    CHECK(cudaFree(sums));
    CHECK(cudaFree(leaders));
    printf("ok cooperative\n");
    return 0;
}
