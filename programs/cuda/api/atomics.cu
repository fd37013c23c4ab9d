/* Atomics: all operations on whole numbers, floats and doubles, on global and on shared memory, of
 * block and of system scope.
 *
 * Every thread applies every operation once with its own number; results do not depend on the order
 * of the threads, and the old values that `atomicAdd` and `atomicInc` give are each given once. */
#include "../check.h"

enum { BLOCKS = 5, THREADS = 96, ALL = BLOCKS * THREADS };

struct Cells {
    int add, sub, least, most, all_and, any_or, parity;
    unsigned uadd, uleast, umost, uand, uor, uxor, inc, dec, exchanged, scoped, swapped, tickets;
    long long lleast, lmost;
    unsigned long long ladd, ulleast, ulmost, land, lor, lxor, lexchanged, lswapped;
    float fadd, fexchanged;
    double dadd, dsum_by_swap;
    unsigned short locked;
};

static Cells initial()
{
    Cells c = {};
    c.sub = 100000;
    c.least = c.most = 5;
    c.all_and = c.uand = 0xffff;
    c.uleast = 1000;
    c.lleast = c.lmost = -7;
    c.ulleast = 1ull << 60;
    c.land = ~0ull;
    return c;
}

__device__ void apply(Cells *c, int t)
{
    int s = t % 2 ? t : -t;
    unsigned long long wide = (unsigned long long)t << 33;
    atomicAdd(&c->add, s);
    atomicSub(&c->sub, t);
    atomicMin(&c->least, s);
    atomicMax(&c->most, s);
    atomicAnd(&c->all_and, ~(1 << t % 4));
    atomicOr(&c->any_or, 1 << t % 20);
    atomicXor(&c->parity, t);
    atomicAdd(&c->uadd, (unsigned)t);
    atomicMin(&c->uleast, (unsigned)t + 3);
    atomicMax(&c->umost, (unsigned)t);
    atomicAnd(&c->uand, ~(1u << (4 + t % 3)));
    atomicOr(&c->uor, 0x80000000u >> t % 3);
    atomicXor(&c->uxor, 3u * t);
    atomicDec(&c->dec, 1000u);
    atomicMin(&c->lleast, (long long)s << 33);
    atomicMax(&c->lmost, (long long)s << 33);
    atomicAdd(&c->ladd, wide);
    atomicMin(&c->ulleast, wide + 5);
    atomicMax(&c->ulmost, wide);
    atomicAnd(&c->land, ~(1ull << (32 + t % 8)));
    atomicOr(&c->lor, 1ull << t % 64);
    atomicXor(&c->lxor, wide);
    atomicAdd(&c->fadd, 0.5f);
    atomicAdd(&c->dadd, 0.25);
    atomicAdd_system(&c->scoped, 1u);
}

/* Adds a double by compare-and-swap, and guards one element by a lock of 16 bits. */
__device__ void by_swap(Cells *c)
{
    unsigned long long *bits = (unsigned long long *)&c->dsum_by_swap;
    unsigned long long old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed,
                        __double_as_longlong(1.5 + __longlong_as_double((long long)assumed)));
    } while (assumed != old);
    unsigned expected = 0;
    while ((old = atomicCAS(&c->swapped, expected, expected + 2)) != expected)
        expected = (unsigned)old;
    atomicCAS(&c->lswapped, 0ull, 9ull);
}

__global__ void global_cells(Cells *c, unsigned *seen_add, unsigned *seen_inc)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    apply(c, t);
    by_swap(c);
    seen_add[atomicAdd(&c->tickets, 1u)]++;
    seen_inc[t] = atomicInc(&c->inc, 99u);
    atomicExch(&c->exchanged, (unsigned)t + 1);
    atomicExch(&c->lexchanged, ((unsigned long long)t << 40) + 1);
    atomicExch(&c->fexchanged, (float)t + 1);
    atomicCAS(&c->locked, (unsigned short)0, (unsigned short)(t + 1));
}

__global__ void shared_cells(Cells *out, Cells start)
{
    __shared__ Cells cells;
    if (threadIdx.x == 0)
        cells = start;
    __syncthreads();
    apply(&cells, threadIdx.x);
    by_swap(&cells);
    atomicAdd_block(&cells.scoped, 1u);
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = cells;
}

/* The results for threads 0 to n - 1, one after the other. */
static void check(const Cells &c, int n, const char *where)
{
    Cells e = initial();
    for (int t = 0; t < n; t++) {
        int s = t % 2 ? t : -t;
        unsigned long long wide = (unsigned long long)t << 33;
        e.add += s;
        e.sub -= t;
        e.least = s < e.least ? s : e.least;
        e.most = s > e.most ? s : e.most;
        e.all_and &= ~(1 << t % 4);
        e.any_or |= 1 << t % 20;
        e.parity ^= t;
        e.uadd += t;
        e.umost = t;
        e.uand &= ~(1u << (4 + t % 3));
        e.uor |= 0x80000000u >> t % 3;
        e.uxor ^= 3u * t;
        e.dec = e.dec == 0 || e.dec > 1000 ? 1000 : e.dec - 1;
        long long ws = (long long)s * (1ll << 33);
        e.lleast = ws < e.lleast ? ws : e.lleast;
        e.lmost = ws > e.lmost ? ws : e.lmost;
        e.ladd += wide;
        e.ulmost = wide;
        e.land &= ~(1ull << (32 + t % 8));
        e.lor |= 1ull << t % 64;
        e.lxor ^= wide;
    }
#define SAME(field) \
    EXPECT(c.field == e.field, "%s: " #field " is %lld, expected %lld", where, \
           (long long)c.field, (long long)e.field)
    SAME(add); SAME(sub); SAME(least); SAME(most); SAME(all_and); SAME(any_or); SAME(parity);
    SAME(uadd); SAME(umost); SAME(uand); SAME(uor); SAME(uxor); SAME(dec); SAME(lleast);
    SAME(lmost); SAME(ladd); SAME(ulmost); SAME(land); SAME(lor); SAME(lxor);
    EXPECT(c.uleast == 3 && c.ulleast == 5, "%s: %u and %llu", where, c.uleast, c.ulleast);
    EXPECT(c.fadd == 0.5f * n && c.dadd == 0.25 * n, "%s: %g and %g", where, c.fadd, c.dadd);
    EXPECT(c.dsum_by_swap == 1.5 * n && c.swapped == 2u * n && c.lswapped == 9,
           "%s: %g, %u and %llu", where, c.dsum_by_swap, c.swapped, c.lswapped);
}

int main()
{
    Cells start = initial(), host, *device, blocks[BLOCKS];
    unsigned *seen_add, *seen_inc, seen[ALL], times[100] = {};
    CHECK(cudaMalloc(&device, sizeof blocks));
    CHECK(cudaMalloc(&seen_add, sizeof seen));
    CHECK(cudaMalloc(&seen_inc, sizeof seen));
    CHECK(cudaMemset(seen_add, 0, sizeof seen));
    CHECK(cudaMemcpy(device, &start, sizeof start, cudaMemcpyHostToDevice));
    global_cells<<<BLOCKS, THREADS>>>(device, seen_add, seen_inc);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
    check(host, ALL, "global");
    EXPECT(host.scoped == ALL, "system scope: %u", host.scoped);
    EXPECT(host.exchanged >= 1 && host.exchanged <= ALL, "exchanged %u", host.exchanged);
    EXPECT((host.lexchanged & 0xffffffffff) == 1 && host.lexchanged >> 40 < ALL, "exchanged %llx",
           host.lexchanged);
    EXPECT(host.fexchanged >= 1 && host.fexchanged <= ALL, "exchanged %g", host.fexchanged);
    EXPECT(host.locked >= 1 && host.locked <= ALL, "locked by %u", host.locked);
    CHECK(cudaMemcpy(seen, seen_add, sizeof seen, cudaMemcpyDeviceToHost));
    for (int i = 0; i < ALL; i++)
        EXPECT(seen[i] == 1, "ticket %d was given %u times", i, seen[i]);
    CHECK(cudaMemcpy(seen, seen_inc, sizeof seen, cudaMemcpyDeviceToHost));
    for (unsigned value : seen) {
        EXPECT(value < 100, "atomicInc gives %u", value);
        times[value]++;
    }
    for (int i = 0; i < 100; i++)
        EXPECT(times[i] == (i < ALL % 100 ? ALL / 100 + 1 : ALL / 100), "%u times %d", times[i], i);

    shared_cells<<<BLOCKS, THREADS>>>(device, start);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(blocks, device, sizeof blocks, cudaMemcpyDeviceToHost));
    for (const Cells &cells : blocks) {
        check(cells, THREADS, "shared");
        EXPECT(cells.scoped == 2 * THREADS, "block scope: %u", cells.scoped);
    }
    CHECK(cudaFree(device));
    CHECK(cudaFree(seen_add));
    CHECK(cudaFree(seen_inc));
    printf("ok atomics\n");
    return 0;
}
