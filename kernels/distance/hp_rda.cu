// The highly parallel reuse distance analysis of Cui, Yi, Xue, Wang, Yang and Feng 2012, "A Highly
// Parallel Reuse Distance Analysis Algorithm on GPUs". Its distances are approximate: those across
// chunks count an item in each chunk that has it. The steps of its sections III and IV:
//
//   preprocess    immediate repeats are dropped; the host does it
//   local         hp_local: a thread analyses a chunk
//   thread merge  hp_merge_chunks: a block merges the chunks of its threads
//   block merge   hp_merge_block: all blocks that run merge one block into those before it
//   adjust        (section III-E) the host does it, with the histogram
//
// A chunk has `chunk` references, and a block `chunks` of them. Arrays with a number per reference
// have those of chunk c from c * chunk on. The items of a chunk are numbered in the order of their
// first references; what is known of number k is at c * chunk + k, which is the *entry* of the
// item in the chunk. Entries of a block are counted from its first.
//
// *Places* are sums of items of chunks: a chunk whose predecessors in its block have p items begins
// at place p. The distance between references in two chunks is the place of the later one's first
// reference minus the place of the earlier one's last: `latest` of the one chunk, `first` of the
// other and the counts of all between, as in the paper.
#include "distance.h"

#define COLD (~0ull)

// A mix of all bits of an item with a random key, so that nobody can choose items that collide.
__device__ static inline u64 mixed(u64 item, u64 key) {
  item ^= key;
  item = (item ^ item >> 33) * 0xff51afd7ed558ccdull;
  item = (item ^ item >> 33) * 0xc4ceb9fe1a85ec53ull;
  return item ^ item >> 33;
}

// The flags that are set between two places of a chunk.
__device__ static inline unsigned flags_between(const unsigned *flags, unsigned last, unsigned now) {
  unsigned low = last / 32, high = now / 32;
  // Two shifts, since one by 32 is undefined.
  unsigned after = ~0u << last % 32 << 1, upto = (1u << now % 32) - 1;
  if (low == high) return __popc(flags[low] & after & upto);
  unsigned sum = __popc(flags[low] & after) + __popc(flags[high] & upto);
  for (unsigned word = low + 1; word < high; word++) sum += __popc(flags[word]);
  return sum;
}

// A thread analyses a chunk. `slots` is the size of its hash table, a power of two, and `words`
// that of its flags, of which it has two: a flag per reference, set while that is the last to its
// item, and for each word how many are set after it. All of that is zero. ats[entry] gets the place
// of an item's first reference in the chunk, latests[entry] the items after its last.
extern "C" __global__ void hp_local(const u64 *items, u64 count, unsigned chunk, unsigned slots,
                                    unsigned words, u64 key, unsigned *tables, unsigned *all_flags,
                                    u64 *distances, unsigned *ats, unsigned *latests,
                                    unsigned *counts) {
  unsigned number = blockIdx.x * blockDim.x + threadIdx.x, distinct = 0;
  u64 begin = (u64)number * chunk;
  unsigned length = begin < count ? (unsigned)min((u64)chunk, count - begin) : 0;
  unsigned *table = tables + (u64)number * slots;
  unsigned *flags = all_flags + (u64)number * 2 * words, *later = flags + words;
  for (unsigned now = 0; now < length; now++) {
    u64 item = items[begin + now], distance = COLD;
    unsigned slot = (unsigned)mixed(item, key) & (slots - 1), entry;
    while ((entry = table[slot]) != 0 && items[begin + ats[begin + entry - 1]] != item) {
      slot = (slot + 1) & (slots - 1);
    }
    if (entry == 0) {
      table[slot] = ++distinct;
      entry = distinct;
      ats[begin + entry - 1] = now;
    } else {
      unsigned last = latests[begin + entry - 1];
      distance = flags_between(flags, last, now);
      flags[last / 32] &= ~(1u << last % 32);
    }
    latests[begin + entry - 1] = now;
    flags[now / 32] |= 1u << now % 32;
    distances[begin + now] = distance;
  }
  unsigned sum = 0;
  for (unsigned word = words; word-- > 0;) {
    later[word] = sum;
    sum += __popc(flags[word]);
  }
  for (unsigned entry = 0; entry < distinct; entry++) {
    unsigned last = latests[begin + entry];
    latests[begin + entry] = later[last / 32] + __popc(flags[last / 32] & ~0u << last % 32 << 1);
  }
  counts[number] = distinct;
}

// A block merges its chunks, one after the other: threads share the items of a chunk, which are
// distinct, so that none meets another at an item. The hash table, of `slots` and zero, has entries
// of items in the first chunk with them, plus one. For these entries, which are listed in `heads`,
// firsts[entry] gets the place of the item's first reference in the block, and lasts[entry] that of
// its last. `firsts` is where `latests` was.
extern "C" __global__ void hp_merge_chunks(const u64 *all_items, unsigned chunk, unsigned chunks,
                                           unsigned slots, u64 key, unsigned *tables,
                                           const unsigned *all_ats, unsigned *all_firsts,
                                           unsigned *all_lasts, unsigned *all_heads,
                                           const unsigned *counts, u64 *all_distances,
                                           unsigned *lengths, unsigned *head_counts) {
  __shared__ unsigned found;
  u64 begin = (u64)blockIdx.x * chunks * chunk;
  const u64 *items = all_items + begin;
  const unsigned *ats = all_ats + begin;
  unsigned *firsts = all_firsts + begin, *lasts = all_lasts + begin, *heads = all_heads + begin;
  unsigned *table = tables + (u64)blockIdx.x * slots, place = 0;
  u64 *distances = all_distances + begin;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  for (unsigned c = 0; c < chunks; c++) {
    unsigned distinct = counts[blockIdx.x * chunks + c], end = place + distinct;
    for (unsigned k = threadIdx.x; k < distinct; k += blockDim.x) {
      unsigned entry = c * chunk + k, at = c * chunk + ats[entry];
      unsigned first = place + k, last = end - firsts[entry], other;
      u64 item = items[at];
      unsigned slot = (unsigned)mixed(item, key) & (slots - 1);
      bool is_new;
      while (!(is_new = (other = atomicCAS(&table[slot], 0u, entry + 1)) == 0)) {
        other -= 1;
        if (items[other / chunk * chunk + ats[other]] == item) break;
        slot = (slot + 1) & (slots - 1);
      }
      if (is_new) {
        firsts[entry] = first;
        lasts[entry] = last;
        heads[atomicAdd(&found, 1u)] = entry;
      } else {
        distances[at] = first - lasts[other];
        lasts[other] = last;
      }
    }
    __syncthreads();
    place = end;
  }
  if (threadIdx.x == 0) {
    lengths[blockIdx.x] = place;
    head_counts[blockIdx.x] = found;
  }
}

// A slot of the hash table of all items.
struct Slot {
  u64 item;
  // The place of its last reference among all blocks.
  u64 mark;
  // The number of the block that has it, from 1 on; 0 if the slot is empty.
  u64 block;
};

// Merges a block into those before it. The arrays are those of the block, which has `count` heads
// and places from `begin` on; those of its last references are counted back from `end`, as later
// blocks see them. Heads are distinct items, so whoever finds a slot that this block has written
// knows that it is of another item, and need not read what may not be written yet. `used` gets the
// number of new items.
extern "C" __global__ void hp_merge_block(const u64 *items, unsigned chunk, const unsigned *ats,
                                          const unsigned *firsts, const unsigned *lasts,
                                          const unsigned *heads, unsigned count, u64 begin, u64 end,
                                          unsigned length, u64 key, u64 block, Slot *slots, u64 mask,
                                          u64 *distances, u64 *used) {
  for (unsigned h = blockIdx.x * blockDim.x + threadIdx.x; h < count; h += gridDim.x * blockDim.x) {
    unsigned entry = heads[h], at = entry / chunk * chunk + ats[entry];
    u64 item = items[at], mark = end - (length - lasts[entry]);
    for (u64 slot = mixed(item, key) & mask;; slot = (slot + 1) & mask) {
      u64 by = atomicCAS(&slots[slot].block, 0ull, block);
      if (by == 0) {
        slots[slot].item = item;
        slots[slot].mark = mark;
        atomicAdd(used, 1ull);
        break;
      }
      if (by != block && slots[slot].item == item) {
        distances[at] = begin + firsts[entry] - slots[slot].mark;
        slots[slot].mark = mark;
        // Other threads look at it at the same time.
        atomicExch(&slots[slot].block, block);
        break;
      }
    }
  }
}

// Copies the items of a hash table into a larger one, which is empty.
extern "C" __global__ void hp_grow(const Slot *from, u64 count, u64 key, Slot *to, u64 mask) {
  u64 step = (u64)gridDim.x * blockDim.x;
  for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += step) {
    Slot own = from[k];
    if (own.block == 0) continue;
    u64 slot = mixed(own.item, key) & mask;
    while (atomicCAS(&to[slot].block, 0ull, own.block) != 0) slot = (slot + 1) & mask;
    to[slot].item = own.item;
    to[slot].mark = own.mark;
  }
}
