/* Warp intrinsics: votes, shuffles, matches, reductions, barriers that count, and bit operations.
 *
 * Every lane writes what it got; the host computes the same for all lanes of a warp. */
#include "../check.h"

enum { THREADS = 64 };
constexpr unsigned FULL = 0xffffffff;

struct Lane {
    unsigned ballot, any, all, active, matched, matched_all, lane;
    int agreed, up, down, xored, broadcast, segment, wide_predicate, reduced;
    long long wide;
    double real;
    int counted, every, some;
    unsigned population, first, leading, reversed, permuted, funnel;
};

__global__ void lanes(const int *in, Lane *out)
{
    int value = in[threadIdx.x];
    Lane l;
    asm("mov.u32 %0, %%laneid;" : "=r"(l.lane));
    l.ballot = __ballot_sync(FULL, value % 3 == 0);
    l.any = __any_sync(FULL, value == 17) != 0;
    l.all = __all_sync(FULL, value >= 0) != 0;
    l.up = __shfl_up_sync(FULL, value, 3);
    l.down = __shfl_down_sync(FULL, value, 5);
    l.xored = __shfl_xor_sync(FULL, value, 9);
    l.broadcast = __shfl_sync(FULL, value, 6);
    l.segment = __shfl_sync(FULL, value, 3, 8);
    l.wide = __shfl_xor_sync(FULL, (long long)value << 40, 1);
    l.real = __shfl_down_sync(FULL, value + 0.5, 16, 16);
    l.active = 0;
    l.wide_predicate = -1;
    if (threadIdx.x % 2 == 0) {
        l.active = __activemask();
        l.wide_predicate = __shfl_sync(0x55555555, value, 30);
    }
    __syncwarp();
    l.matched = __match_any_sync(FULL, value % 5);
    int same;
    l.matched_all = __match_all_sync(FULL, value / 1000, &same);
    l.agreed = same != 0;
#if __CUDA_ARCH__ >= 800
    l.reduced = __reduce_add_sync(FULL, value);
#else
    l.reduced = value;
    for (int offset = 16; offset > 0; offset /= 2)
        l.reduced += __shfl_xor_sync(FULL, l.reduced, offset);
#endif
    l.counted = __syncthreads_count(value % 2);
    l.every = __syncthreads_and(value >= 0) != 0;
    l.some = __syncthreads_or(value > 1000) != 0;
    l.population = __popc(value);
    l.first = __ffs(value);
    l.leading = __clz(value);
    l.reversed = __brev(value);
    l.permuted = __byte_perm(0x03020100, 0x07060504, 0x6420 + threadIdx.x % 8);
    l.funnel = __funnelshift_l(0x80000001u, value, threadIdx.x % 32);
    out[threadIdx.x] = l;
}

static unsigned permute(unsigned selector)
{
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= (selector >> 4 * i & 7) << 8 * i;
    return result;
}

static unsigned reverse(unsigned bits)
{
    unsigned result = 0;
    for (int i = 0; i < 32; i++)
        result |= (bits >> i & 1) << (31 - i);
    return result;
}

static void check(const int *in, const Lane *got, int thread, int odd)
{
    const int *warp = in + thread / 32 * 32;
    int lane = thread % 32, sum = 0;
    unsigned ballot = 0, matched = 0, any = 0;
    for (int i = 0; i < 32; i++) {
        ballot |= (unsigned)(warp[i] % 3 == 0) << i;
        matched |= (unsigned)(warp[i] % 5 == warp[lane] % 5) << i;
        any |= warp[i] == 17;
        sum += warp[i];
    }
    const Lane &l = got[thread];
#define SAME(field, value) \
    EXPECT((long long)(l.field) == (long long)(value), \
           "thread %d: " #field " is %lld, expected %lld", thread, \
           (long long)(l.field), (long long)(value))
    SAME(lane, lane);
    SAME(ballot, ballot);
    SAME(any, any);
    SAME(all, 1);
    SAME(up, warp[lane < 3 ? lane : lane - 3]);
    SAME(down, warp[lane + 5 > 31 ? lane : lane + 5]);
    SAME(xored, warp[lane ^ 9]);
    SAME(broadcast, warp[6]);
    SAME(segment, warp[lane / 8 * 8 + 3]);
    SAME(wide, (long long)warp[lane ^ 1] << 40);
    SAME(real * 2, warp[lane] * 2 + 1); /* 16 lanes on is beyond a segment of 16. */
    SAME(active, lane % 2 ? 0 : 0x55555555);
    SAME(wide_predicate, lane % 2 ? -1 : warp[30]);
    SAME(matched, matched);
    SAME(matched_all, FULL);
    SAME(agreed, 1);
    SAME(reduced, sum);
    SAME(counted, odd);
    SAME(every, 1);
    SAME(some, 0);
    unsigned value = (unsigned)warp[lane], shift = thread % 32;
    SAME(population, __builtin_popcount(value));
    SAME(first, __builtin_ffs((int)value));
    SAME(leading, value ? __builtin_clz(value) : 32);
    SAME(reversed, reverse(value));
    SAME(permuted, permute(0x6420 + thread % 8));
    SAME(funnel, shift ? value << shift | 0x80000001u >> (32 - shift) : value);
}

int main()
{
    int in[THREADS], *device_in, odd = 0;
    Lane out[THREADS], *device_out;
    for (int i = 0; i < THREADS; i++) {
        in[i] = i == 40 ? 0 : i == 9 ? 17 : (int)random_below(3, i, 900);
        odd += in[i] % 2;
    }
    CHECK(cudaMalloc(&device_in, sizeof in));
    CHECK(cudaMalloc(&device_out, sizeof out));
    CHECK(cudaMemcpy(device_in, in, sizeof in, cudaMemcpyHostToDevice));
    lanes<<<1, THREADS>>>(device_in, device_out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++)
        check(in, out, i, odd);
    CHECK(cudaFree(device_in));
    CHECK(cudaFree(device_out));
    printf("ok warps\n");
    return 0;
}
