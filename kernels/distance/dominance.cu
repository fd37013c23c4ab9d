// Exact reuse distances from the previous reference of each, without trees.
//
// previous[i] is 1 + the reference before i to the same item, 0 if there is none. The items between
// two uses are the references between them that are the first to their item since the earlier use:
//   distance(i) = #{ j < i : previous[j] < previous[i] } - previous[i]
// since the set also has all references up to the earlier use, previous[i] of them. This is
// dominance counting of points (time, previous) in two dimensions (Bentley 1980, "Multidimensional
// Divide-and-Conquer", section 2). That reuse distances are such counts: Bennett and Kruskal 1975,
// "LRU Stack Processing".
//
// The references in the order of `previous` are a permutation of 0 to count - 1. Sorting it by
// digits, the highest first, needs all counts: i and j < i come apart in the pass in which their
// digits differ first. There j has the smaller digit, and is in the same bucket (of references
// that agree in all higher digits). So each pass adds to each reference how many of its bucket that
// are earlier in the order, whose previous is smaller, have a smaller digit: in other tiles by sums
// over the table of digit counts, in the tile by sums over counts in shared memory, in the warp by
// votes. A binary wavelet does the same with digits of one bit, and so takes 26 passes for 2^26
// references where this takes three.
//
// Bucket b, of as many references as all others but the last, begins at b times that many, because
// values are a permutation. The last pass takes buckets of one tile, which fit shared memory.
//
// A reference on its way is its number in the lower half of a word, and in the upper half how many
// were counted so far.
#include "distance.h"

// Bits of the two digits of the last pass: TILE is 2^(TILE_BITS + WARP_BITS).
#define TILE_BITS 6
#define WARP_BITS 5

// Distances below this are counted in shared memory first.
#define NEAR 1024
#define COLD 0xffffffffu

__device__ static inline unsigned value_of(u64 reference) { return (unsigned)reference; }
__device__ static inline unsigned digit_of(u64 reference, unsigned shift, unsigned bits) {
  return value_of(reference) >> shift & ((1u << bits) - 1);
}

// The halves of a link: 1 + the reference before, and 1 + the one after; 0 for none.
__device__ static inline unsigned previous_of(u64 link) { return (unsigned)link; }
__device__ static inline unsigned next_of(u64 link) { return (unsigned)(link >> 32); }

// table[tile] becomes the number of references of the tile that have none before,
// table[tiles + tile] the number of those that have one after.
extern "C" __global__ void order_count(const u64 *links, unsigned count, unsigned *table) {
  __shared__ unsigned sums[WARPS + 1];
  unsigned firsts = 0, followed = 0, begin = blockIdx.x * TILE;
  for (unsigned k = threadIdx.x; k < TILE && begin + k < count; k += THREADS) {
    firsts += previous_of(links[begin + k]) == 0;
    followed += next_of(links[begin + k]) != 0;
  }
  sum_before(firsts, sums);
  if (threadIdx.x == 0) table[blockIdx.x] = sums[WARPS];
  sum_before(followed, sums);
  if (threadIdx.x == 0) table[gridDim.x + blockIdx.x] = sums[WARPS];
}

// `order` gets the references in the order of `previous`: those without one, in the order of time,
// and then for each reference with a next one that. `firsts` gets the references without a previous
// one, `lasts` those without a next one, both in the order of time. The table has sums before each
// number, so in its second half those of all first references too. `previous` gets that half of the
// links.
extern "C" __global__ void order_write(const u64 *links, unsigned count, const unsigned *table,
                                       unsigned *previous, u64 *order, unsigned *firsts,
                                       unsigned *lasts) {
  __shared__ unsigned of_warps[2][WARPS];
  unsigned first = blockIdx.x * TILE + warp() * ROUNDS * 32;
  unsigned cold = 0, followed = 0;
  for (unsigned r = 0; r < ROUNDS && first + r * 32 < count; r++) {
    unsigned i = first + r * 32 + lane();
    u64 link = i < count ? links[i] : 0;
    cold += __popc(__ballot_sync(ALL, i < count && previous_of(link) == 0));
    followed += __popc(__ballot_sync(ALL, next_of(link) != 0));
  }
  of_warps[0][warp()] = cold;
  of_warps[1][warp()] = followed;
  __syncthreads();
  unsigned distinct = table[gridDim.x];
  unsigned cold_place = table[blockIdx.x], next_place = table[gridDim.x + blockIdx.x];
  for (unsigned w = 0; w < warp(); w++) {
    cold_place += of_warps[0][w];
    next_place += of_warps[1][w];
  }
  for (unsigned r = 0; r < ROUNDS && first + r * 32 < count; r++) {
    unsigned i = first + r * 32 + lane();
    u64 link = i < count ? links[i] : 0;
    bool is_first = i < count && previous_of(link) == 0, has_next = next_of(link) != 0;
    unsigned colds = __ballot_sync(ALL, is_first), nexts = __ballot_sync(ALL, has_next);
    if (i < count) previous[i] = previous_of(link);
    if (is_first) {
      unsigned place = cold_place + __popc(colds & before());
      order[place] = i;
      firsts[place] = i;
    }
    unsigned place = next_place + __popc(nexts & before());
    if (has_next) order[place] = next_of(link) - 1;
    // Of the references before i, those without a next one are all but those with one.
    if (i < count && !has_next) lasts[i - (place - distinct)] = i;
    cold_place += __popc(colds);
    next_place += __popc(nexts);
  }
}

// The place of (bucket, digit, tile) in a table; buckets have `width` tiles. Sums over the table in
// this order are places of references.
__device__ static inline unsigned cell_of(unsigned digit, unsigned bits, unsigned width) {
  unsigned bucket = blockIdx.x / width, tile = blockIdx.x % width;
  return ((bucket << bits) + digit) * width + tile;
}

// table[bucket][digit][tile] becomes the number of references of the tile with this digit. Tiles
// beyond the references, up to the end of the last bucket, have none.
extern "C" __global__ void dominance_count(const u64 *order, unsigned count, unsigned shift,
                                           unsigned bits, unsigned width, unsigned *table) {
  __shared__ unsigned counts[DIGITS];
  counts[threadIdx.x] = 0;
  __syncthreads();
  unsigned begin = blockIdx.x * TILE;
  for (unsigned k = threadIdx.x; k < TILE && begin + k < count; k += THREADS) {
    atomicAdd(&counts[digit_of(order[begin + k], shift, bits)], 1u);
  }
  __syncthreads();
  if (threadIdx.x < 1u << bits) table[cell_of(threadIdx.x, bits, width)] = counts[threadIdx.x];
}

// For each digit, the references with it that are earlier in the bucket, and those with a smaller
// one; of each warp.
struct Earlier {
  unsigned equal[WARPS][DIGITS], smaller[WARPS][DIGITS];
};

// Makes counts of the digits in each warp, in `equal`, counts of those in all warps before, from
// `others` on, which has the counts in other tiles and becomes those after this tile.
__device__ static inline void begin_tile(Earlier &earlier, const u64 *order, unsigned count,
                                         unsigned shift, unsigned bits, unsigned others) {
  unsigned digit = threadIdx.x, first = (blockIdx.x * WARPS + warp()) * ROUNDS * 32;
  for (unsigned w = 0; w < WARPS; w++) earlier.equal[w][digit] = 0;
  __syncthreads();
  for (unsigned i = first + lane(); i < first + ROUNDS * 32 && i < count; i += 32) {
    atomicAdd(&earlier.equal[warp()][digit_of(order[i], shift, bits)], 1u);
  }
  __syncthreads();
  for (unsigned w = 0; w < WARPS; w++) {
    unsigned of_warp = earlier.equal[w][digit];
    earlier.equal[w][digit] = others;
    others += of_warp;
  }
  __syncthreads();
}

// Takes the next 32 references of a warp: `reference` gets what this pass counts for it. Returns
// its place among those of the bucket with the same digit.
__device__ static inline unsigned take_round(Earlier &earlier, u64 &reference, bool valid,
                                             unsigned shift, unsigned bits) {
  unsigned *equal = earlier.equal[warp()], *smaller = earlier.smaller[warp()];
  // A lane sums `each` neighbouring digits.
  unsigned digits = 1u << bits, each = (digits + 31) / 32, from = lane() * each, sum = 0;
  for (unsigned d = from; d < from + each && d < digits; d++) sum += equal[d];
  unsigned below = sum_lanes(sum) - sum;
  for (unsigned d = from; d < from + each && d < digits; d++) {
    smaller[d] = below;
    below += equal[d];
  }
  __syncwarp();
  unsigned digit = valid ? digit_of(reference, shift, bits) : 0;
  Peers with = peers(digit, bits, valid);
  unsigned place = equal[digit] + __popc(with.equal & before());
  reference += (u64)(smaller[digit] + __popc(with.smaller & before())) << 32;
  __syncwarp();
  if (valid && (with.equal & before()) == 0) equal[digit] += __popc(with.equal);
  __syncwarp();
  return place;
}

// A pass over buckets of several tiles. The table has sums before each number.
extern "C" __global__ void dominance_pass(const u64 *order, unsigned count, unsigned shift,
                                          unsigned bits, unsigned width, const unsigned *table, u64 *to) {
  __shared__ Earlier earlier;
  unsigned first = (blockIdx.x * WARPS + warp()) * ROUNDS * 32, others = 0;
  if (threadIdx.x < 1u << bits) {
    unsigned bucket = blockIdx.x / width;
    u64 begin = (u64)((bucket << bits) + threadIdx.x) << shift;
    others = table[cell_of(threadIdx.x, bits, width)] - (unsigned)min(begin, (u64)count);
  }
  begin_tile(earlier, order, count, shift, bits, others);
  for (unsigned r = 0; r < ROUNDS && first + r * 32 < count; r++) {
    unsigned i = first + r * 32 + lane();
    u64 reference = i < count ? order[i] : 0;
    unsigned place = take_round(earlier, reference, i < count, shift, bits);
    if (i < count) to[(value_of(reference) >> shift << shift) + place] = reference;
  }
}

// The last pass, over buckets of one tile, and with it the distances.
extern "C" __global__ void dominance_last(const u64 *order, unsigned count, const unsigned *previous,
                                          unsigned *distances) {
  __shared__ Earlier earlier;
  __shared__ u64 tile[TILE];
  unsigned begin = blockIdx.x * TILE, own = warp() * ROUNDS * 32;
  begin_tile(earlier, order, count, WARP_BITS, TILE_BITS, 0);
  for (unsigned r = 0; r < ROUNDS && begin + own + r * 32 < count; r++) {
    unsigned i = begin + own + r * 32 + lane();
    u64 reference = i < count ? order[i] : 0;
    unsigned place = take_round(earlier, reference, i < count, WARP_BITS, TILE_BITS);
    unsigned bucket = (value_of(reference) - begin) >> WARP_BITS << WARP_BITS;
    if (i < count) tile[bucket + place] = reference;
  }
  __syncthreads();
  for (unsigned r = 0; r < ROUNDS && begin + own + r * 32 < count; r++) {
    unsigned k = own + r * 32 + lane();
    bool valid = begin + k < count;
    u64 reference = valid ? tile[k] : 0;
    Peers with = peers(digit_of(reference, 0, WARP_BITS), WARP_BITS, valid);
    if (!valid) continue;
    unsigned i = value_of(reference), used = previous[i];
    unsigned counted = (unsigned)(reference >> 32) + __popc(with.smaller & before());
    distances[i] = used == 0 ? COLD : counted - used;
  }
}

// counts[d] gets the number of references at distance d, which have a previous one.
extern "C" __global__ void distance_histogram(const unsigned *distances, unsigned count,
                                              unsigned *counts) {
  __shared__ unsigned near[NEAR];
  for (unsigned k = threadIdx.x; k < NEAR; k += THREADS) near[k] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
    unsigned distance = distances[i];
    if (distance < NEAR) {
      atomicAdd(&near[distance], 1u);
    } else if (distance != COLD) {
      atomicAdd(&counts[distance], 1u);
    }
  }
  __syncthreads();
  for (unsigned k = threadIdx.x; k < NEAR; k += THREADS) {
    if (near[k] != 0) atomicAdd(&counts[k], near[k]);
  }
}
