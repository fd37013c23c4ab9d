// Sums of all numbers before each: the places where radix passes write. In three steps (Sengupta,
// Harris, Zhang and Owens 2007, "Scan Primitives for GPU Computing", section 4): the sum of each
// tile, the sums of all tiles before each, and the sums before each number of a tile.
#include "distance.h"

// Numbers of a thread, which are neighbours.
#define EACH (TILE / THREADS)

// Reads or writes the numbers of a thread at once, which are a sector.
static_assert(EACH == 8, "a thread has a sector of numbers");
__device__ static inline void load(unsigned *own, const unsigned *from) {
  uint4 low = *(const uint4 *)from, high = *(const uint4 *)(from + 4);
  own[0] = low.x, own[1] = low.y, own[2] = low.z, own[3] = low.w;
  own[4] = high.x, own[5] = high.y, own[6] = high.z, own[7] = high.w;
}
__device__ static inline void store(unsigned *to, const unsigned *own) {
  *(uint4 *)to = make_uint4(own[0], own[1], own[2], own[3]);
  *(uint4 *)(to + 4) = make_uint4(own[4], own[5], own[6], own[7]);
}

// Replaces a tile by the sums before each of its numbers, each with `carry` added. Returns the sum
// of the tile.
__device__ static inline unsigned scan_tile(unsigned *values, unsigned count, unsigned begin,
                                            unsigned carry, unsigned *sums) {
  unsigned own[EACH], sum = 0, first = begin + threadIdx.x * EACH;
  bool is_whole = first + EACH <= count;
  if (is_whole) load(own, values + first);
#pragma unroll
  for (unsigned k = 0; k < EACH; k++) {
    if (!is_whole) own[k] = first + k < count ? values[first + k] : 0;
    sum += own[k];
  }
  unsigned place = carry + sum_before(sum, sums);
#pragma unroll
  for (unsigned k = 0; k < EACH; k++) {
    unsigned value = own[k];
    own[k] = place;
    place += value;
    if (!is_whole && first + k < count) values[first + k] = own[k];
  }
  if (is_whole) store(values + first, own);
  return sums[WARPS];
}

// The sum of each tile.
extern "C" __global__ void scan_sums(const unsigned *values, unsigned count, unsigned *tiles) {
  __shared__ unsigned sums[WARPS + 1];
  unsigned sum = 0, begin = blockIdx.x * TILE;
  for (unsigned k = threadIdx.x; k < TILE && begin + k < count; k += THREADS) sum += values[begin + k];
  sum_before(sum, sums);
  if (threadIdx.x == 0) tiles[blockIdx.x] = sums[WARPS];
}

// Replaces all numbers by the sums before each. One block takes tile after tile.
extern "C" __global__ void scan_all(unsigned *values, unsigned count) {
  __shared__ unsigned sums[WARPS + 1];
  unsigned carry = 0;
  for (unsigned begin = 0; begin < count; begin += TILE) {
    carry += scan_tile(values, count, begin, carry, sums);
    __syncthreads();
  }
}

// Replaces the numbers of each tile by the sums before each, from the sum before the tile on.
extern "C" __global__ void scan_tiles(unsigned *values, unsigned count, const unsigned *tiles) {
  __shared__ unsigned sums[WARPS + 1];
  scan_tile(values, count, blockIdx.x * TILE, tiles[blockIdx.x], sums);
}
