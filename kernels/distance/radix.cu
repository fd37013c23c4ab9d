// A stable radix sort of references by item, from the lowest digit: counts per tile and digit, sums
// of them, and a pass that writes each reference to its place (Satish, Harris and Garland 2009,
// "Designing Efficient Sorting Algorithms for Manycore GPUs", section 4). Ranks within a warp are
// found by votes, as Ashkiani, Davidson, Meyer and Owens 2016, "GPU Multisplit", section 5, do.
//
// Items have 32 or 64 bits. Only digits that have bits in which items differ are sorted by.
#include "distance.h"

// Templates are not static: nvcc would put a number made of the path of this file into their names.

template <class Item>
__device__ inline unsigned digit_of(Item item, unsigned shift, unsigned bits) {
  return (unsigned)(item >> shift) & ((1u << bits) - 1);
}

// found[0] gets the bits that are set in any item, found[1] keeps those that are set in all.
template <class Item>
__device__ inline void find_bits(const Item *items, unsigned count, u64 *found) {
  u64 any = 0, all = ~0ull;
  for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
    any |= items[i];
    all &= items[i];
  }
  for (unsigned step = 16; step > 0; step /= 2) {
    any |= __shfl_xor_sync(ALL, any, step);
    all &= __shfl_xor_sync(ALL, all, step);
  }
  if (lane() == 0) {
    atomicOr(&found[0], any);
    atomicAnd(&found[1], all);
  }
}

// table[digit][tile] becomes the number of references of the tile with this digit.
template <class Item>
__device__ inline void count_digits(const Item *items, unsigned count, unsigned shift,
                                    unsigned bits, unsigned *table) {
  __shared__ unsigned counts[DIGITS];
  counts[threadIdx.x] = 0;
  __syncthreads();
  unsigned begin = blockIdx.x * TILE;
  for (unsigned k = threadIdx.x; k < TILE && begin + k < count; k += THREADS) {
    atomicAdd(&counts[digit_of(items[begin + k], shift, bits)], 1u);
  }
  __syncthreads();
  if (threadIdx.x < 1u << bits) table[threadIdx.x * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

// Writes the references of a tile to their places. table[digit][tile] is where those with this
// digit begin. A tile is sorted in shared memory first, so that neighbours are written together.
// Without `numbers` references are numbered here.
template <class Item>
__device__ inline void sort_tile(const Item *items, const unsigned *numbers, unsigned count,
                                 unsigned shift, unsigned bits, const unsigned *table,
                                 Item *to_items, unsigned *to_numbers) {
  __shared__ unsigned counts[WARPS][DIGITS], offsets[DIGITS], sums[WARPS + 1];
  __shared__ Item tile_items[TILE];
  __shared__ unsigned tile_numbers[TILE];
  unsigned digit = threadIdx.x, begin = blockIdx.x * TILE;
  for (unsigned w = 0; w < WARPS; w++) counts[w][digit] = 0;
  __syncthreads();
  // The place of each reference among those of its warp with the same digit.
  unsigned first = begin + warp() * ROUNDS * 32, places[ROUNDS];
#pragma unroll
  for (unsigned r = 0; r < ROUNDS; r++) {
    unsigned i = first + r * 32 + lane();
    if (first + r * 32 >= count) break;
    unsigned own = i < count ? digit_of(items[i], shift, bits) : 0;
    Peers with = peers(own, bits, i < count);
    places[r] = counts[warp()][own] + __popc(with.equal & before());
    __syncwarp();
    if (i < count && (with.equal & before()) == 0) counts[warp()][own] += __popc(with.equal);
    __syncwarp();
  }
  __syncthreads();
  // Thread d has digit d: where each warp's references with that digit go in the tile.
  unsigned total = 0;
  for (unsigned w = 0; w < WARPS; w++) {
    unsigned of_warp = counts[w][digit];
    counts[w][digit] = total;
    total += of_warp;
  }
  unsigned start = sum_before(total, sums);
  for (unsigned w = 0; w < WARPS; w++) counts[w][digit] += start;
  offsets[digit] = digit < 1u << bits ? table[digit * gridDim.x + blockIdx.x] - start : 0;
  __syncthreads();
#pragma unroll
  for (unsigned r = 0; r < ROUNDS; r++) {
    unsigned i = first + r * 32 + lane();
    if (i >= count) break;
    unsigned place = counts[warp()][digit_of(items[i], shift, bits)] + places[r];
    tile_items[place] = items[i];
    tile_numbers[place] = numbers ? numbers[i] : i;
  }
  __syncthreads();
  for (unsigned k = threadIdx.x; k < TILE && begin + k < count; k += THREADS) {
    unsigned to = k + offsets[digit_of(tile_items[k], shift, bits)];
    to_items[to] = tile_items[k];
    to_numbers[to] = tile_numbers[k];
  }
}

// Of references sorted by item: the lower half of links[i] becomes 1 + the reference before i to
// its item, and the upper half 1 + the one after; 0 where there is none. Both are in one word,
// because words are written in a random order, each to a sector of its own.
template <class Item>
__device__ inline void link(const Item *items, const unsigned *numbers, unsigned count,
                            u64 *links) {
  for (unsigned s = blockIdx.x * THREADS + threadIdx.x; s < count; s += gridDim.x * THREADS) {
    unsigned i = numbers[s];
    Item item = items[s];
    unsigned previous = s > 0 && items[s - 1] == item ? numbers[s - 1] + 1 : 0;
    unsigned next = s + 1 < count && items[s + 1] == item ? numbers[s + 1] + 1 : 0;
    links[i] = (u64)next << 32 | previous;
  }
}

#define FOR_ITEMS_OF(bits_of_item, Item)                                                            \
  extern "C" __global__ void radix_bits_##bits_of_item(const Item *items, unsigned count,          \
                                                       u64 *found) {                               \
    find_bits(items, count, found);                                                                 \
  }                                                                                                 \
  extern "C" __global__ void radix_count_##bits_of_item(const Item *items, unsigned count,         \
                                                        unsigned shift, unsigned bits,             \
                                                        unsigned *table) {                         \
    count_digits(items, count, shift, bits, table);                                                 \
  }                                                                                                 \
  extern "C" __global__ void radix_sort_##bits_of_item(                                            \
      const Item *items, const unsigned *numbers, unsigned count, unsigned shift, unsigned bits,   \
      const unsigned *table, Item *to_items, unsigned *to_numbers) {                               \
    sort_tile(items, numbers, count, shift, bits, table, to_items, to_numbers);                     \
  }                                                                                                 \
  extern "C" __global__ void radix_link_##bits_of_item(const Item *items, const unsigned *numbers, \
                                                       unsigned count, u64 *links) {               \
    link(items, numbers, count, links);                                                             \
  }

FOR_ITEMS_OF(32, unsigned)
FOR_ITEMS_OF(64, u64)
