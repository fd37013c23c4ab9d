/* Asynchronous copies to shared memory: a pipeline of two stages, copies that are filled with
 * zeros, and groups that wait together (`cooperative_groups::memcpy_async`). */
#include "../check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
namespace groups = cooperative_groups;

enum { THREADS = 64, TILES = 10, N = THREADS * TILES };

/* Sums up tiles; the next one is copied while one is added. */
__global__ void stages(const float4 *in, float4 *out, int tiles)
{
    __shared__ float4 room[2][THREADS];
    unsigned lane = threadIdx.x;
    float4 sum = make_float4(0, 0, 0, 0);
    __pipeline_memcpy_async(&room[0][lane], &in[lane], sizeof(float4));
    __pipeline_commit();
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles)
            __pipeline_memcpy_async(&room[(tile + 1) % 2][lane], &in[(tile + 1) * THREADS + lane],
                                    sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 other = room[tile % 2][THREADS - 1 - lane];
        sum.x += other.x;
        sum.y += other.y;
        sum.z += other.z;
        sum.w += other.w;
        __syncthreads();
    }
    out[lane] = sum;
}

/* Copies words; of those from `count` on there are none, and zeros take their place. */
__global__ void padded(const int *in, int *out, int count)
{
    __shared__ int room[THREADS];
    unsigned lane = threadIdx.x;
    size_t missing = lane < (unsigned)count ? 0 : sizeof(int);
    room[lane] = -1;
    __pipeline_memcpy_async(&room[lane], &in[missing ? 0 : lane], sizeof(int), missing);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[lane] = room[lane];
}

__global__ void together(const int *in, int *out)
{
    __shared__ int room[N];
    groups::thread_block block = groups::this_thread_block();
    groups::memcpy_async(block, room, in, sizeof room);
    groups::wait(block);
    for (unsigned i = threadIdx.x; i < N; i += THREADS)
        out[i] = room[N - 1 - i];
}

int main()
{
    static float4 in[N], out[THREADS];
    for (int i = 0; i < N; i++)
        in[i] = make_float4((float)i, (float)(i % 7), 1, (float)-i);
    float4 *device_in, *device_out;
    CHECK(cudaMalloc(&device_in, sizeof in));
    CHECK(cudaMalloc(&device_out, sizeof out));
    CHECK(cudaMemcpy(device_in, in, sizeof in, cudaMemcpyHostToDevice));
    stages<<<1, THREADS>>>(device_in, device_out, TILES);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++) {
        float4 sum = make_float4(0, 0, 0, 0);
        for (int tile = 0; tile < TILES; tile++) {
            float4 other = in[tile * THREADS + THREADS - 1 - i];
            sum.x += other.x;
            sum.y += other.y;
            sum.z += other.z;
            sum.w += other.w;
        }
        EXPECT(out[i].x == sum.x && out[i].y == sum.y && out[i].z == sum.z && out[i].w == sum.w,
               "thread %d has %g, expected %g", i, out[i].x, sum.x);
    }

    static int words[N], found[N];
    int *device_words, *device_found;
    for (int i = 0; i < N; i++)
        words[i] = 3 * i + 1;
    CHECK(cudaMalloc(&device_words, sizeof words));
    CHECK(cudaMalloc(&device_found, sizeof found));
    CHECK(cudaMemcpy(device_words, words, sizeof words, cudaMemcpyHostToDevice));
    padded<<<1, THREADS>>>(device_words, device_found, 40);
    CHECK(cudaMemcpy(found, device_found, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++)
        EXPECT(found[i] == (i < 40 ? words[i] : 0), "word %d is %d", i, found[i]);
    together<<<1, THREADS>>>(device_words, device_found);
    CHECK(cudaMemcpy(found, device_found, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(found[i] == words[N - 1 - i], "word %d is %d", i, found[i]);
    CHECK(cudaFree(device_in));
    CHECK(cudaFree(device_out));
    CHECK(cudaFree(device_words));
    CHECK(cudaFree(device_found));
    printf("ok pipeline\n");
    return 0;
}
