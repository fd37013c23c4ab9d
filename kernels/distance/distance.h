// What the kernels of this folder share.
//
// References are numbered from 0 in the order of the trace, 2^31 at most. A block takes a tile of
// TILE neighbours. A warp of it takes ROUNDS times 32 neighbours, 32 in each round, so the order of
// references is: by warp, by round, by lane.
#pragma once

typedef unsigned long long u64;

#define ALL 0xffffffffu
#define THREADS 256
#define WARPS 8
#define ROUNDS 8
#define TILE 2048
// Values of the widest digit.
#define DIGITS 256

__device__ static inline unsigned lane() { return threadIdx.x & 31; }
__device__ static inline unsigned warp() { return threadIdx.x >> 5; }
// The lanes before this one, as a mask.
__device__ static inline unsigned before() { return (1u << lane()) - 1; }

// The sum of `value` over the lanes up to this one.
__device__ static inline unsigned sum_lanes(unsigned value) {
  for (unsigned step = 1; step < 32; step *= 2) {
    unsigned other = __shfl_up_sync(ALL, value, step);
    if (lane() >= step) value += other;
  }
  return value;
}

// The sum of `value` over the threads of the block before this one. `sums` is shared memory of
// WARPS + 1 numbers; the last of them becomes the sum over all threads. All threads of the block
// call this together.
__device__ static inline unsigned sum_before(unsigned value, unsigned *sums) {
  unsigned up_to = sum_lanes(value);
  __syncthreads();
  if (lane() == 31) sums[warp()] = up_to;
  __syncthreads();
  if (warp() == 0) {
    unsigned own = lane() < WARPS ? sums[lane()] : 0, sum = sum_lanes(own);
    __syncwarp();
    if (lane() <= WARPS) sums[lane()] = sum - own;
  }
  __syncthreads();
  return sums[warp()] + up_to - value;
}

// The lanes whose digit equals this lane's, and those whose digit is smaller, as masks. Lanes that
// are not valid are in neither; what they get is of no use.
struct Peers {
  unsigned equal, smaller;
};

// A vote per bit, from the highest: after it `equal` has the lanes whose digits agree so far.
__device__ static inline Peers peers(unsigned digit, unsigned bits, bool valid) {
  unsigned equal = __ballot_sync(ALL, valid), smaller = 0;
  for (unsigned bit = bits; bit-- > 0;) {
    bool is_one = digit >> bit & 1;
    unsigned ones = __ballot_sync(ALL, is_one);
    if (is_one) smaller |= equal & ~ones;
    equal &= is_one ? ones : ~ones;
  }
  Peers found = {equal, smaller};
  return found;
}
