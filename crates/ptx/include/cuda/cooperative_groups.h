// Cooperative groups: blocks, tiles of a warp, coalesced threads, grids.
#ifndef REUSELENS_COOPERATIVE_GROUPS_H
#define REUSELENS_COOPERATIVE_GROUPS_H
// By this name programs ask whether CUDA's header is there.
#define _COOPERATIVE_GROUPS_H_
#include "cuda_runtime.h"

namespace cooperative_groups {
#define REUSELENS_CG __inline__ __attribute__((device, always_inline, nodebug))

// The rank of a place in three dimensions.
REUSELENS_DEVICE unsigned long long reuselens_rank(dim3 at, dim3 size) {
  return ((unsigned long long)at.z * size.y + at.y) * size.x + at.x;
}

struct thread_block {
  REUSELENS_CG static void sync() { __syncthreads(); }
  REUSELENS_CG static unsigned thread_rank() { return (unsigned)reuselens_rank(threadIdx, blockDim); }
  REUSELENS_CG static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  REUSELENS_CG static unsigned size() { return num_threads(); }
  REUSELENS_CG static dim3 group_index() { return blockIdx; }
  REUSELENS_CG static dim3 thread_index() { return threadIdx; }
  REUSELENS_CG static dim3 group_dim() { return blockDim; }
  REUSELENS_CG static dim3 dim_threads() { return blockDim; }
};
REUSELENS_DEVICE thread_block this_thread_block() { return {}; }

// All threads of a launch. Waiting for each other needs a cooperative launch.
struct grid_group {
  REUSELENS_CG static bool is_valid() { return true; }
  REUSELENS_CG static unsigned long long num_blocks() {
    return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
  }
  REUSELENS_CG static unsigned long long block_rank() { return reuselens_rank(blockIdx, gridDim); }
  REUSELENS_CG static dim3 block_index() { return blockIdx; }
  REUSELENS_CG static dim3 dim_blocks() { return gridDim; }
  REUSELENS_CG static dim3 group_dim() { return gridDim; }
  REUSELENS_CG static unsigned long long num_threads() { return num_blocks() * thread_block::size(); }
  REUSELENS_CG static unsigned long long size() { return num_threads(); }
  REUSELENS_CG static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  REUSELENS_CG static void sync() {
    // The runtime keeps a counter for each grid, whose address is in two registers of the launch.
    unsigned high, low;
    asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
    unsigned *workspace = (unsigned *)((unsigned long long)high << 32 | low);
    __syncthreads();
    if (thread_block::thread_rank() == 0) {
      // The first block adds what brings the count to 2^31: the top bit changes when all are there.
      unsigned *arrived = workspace + 1;
      unsigned add = block_rank() == 0 ? 0x80000000u - (unsigned)(num_blocks() - 1) : 1;
      __threadfence();
      unsigned old = atomicAdd(arrived, add);
      while (((*(volatile unsigned *)arrived ^ old) & 0x80000000u) == 0) {}
      __threadfence();
    }
    __syncthreads();
  }
};
REUSELENS_DEVICE grid_group this_grid() { return {}; }

REUSELENS_DEVICE unsigned reuselens_lane() { return __nvvm_read_ptx_sreg_laneid(); }

// Threads of a warp that execute together: those of a mask.
struct coalesced_group {
  unsigned mask;
  REUSELENS_CG void sync() const { __syncwarp(mask); }
  REUSELENS_CG unsigned num_threads() const { return __popc(mask); }
  REUSELENS_CG unsigned size() const { return num_threads(); }
  REUSELENS_CG unsigned thread_rank() const { return __popc(mask & __nvvm_read_ptx_sreg_lanemask_lt()); }
  // The lane of a rank: the position of that bit of the mask.
  REUSELENS_CG unsigned lane_of(unsigned rank) const {
    unsigned left = mask;
    for (unsigned i = 0; i < rank; i++) left &= left - 1;
    return left ? __ffs((int)left) - 1 : reuselens_lane();
  }
  // A mask of lanes, as one of ranks.
  REUSELENS_CG unsigned packed(unsigned lanes) const {
    unsigned result = 0, rank = 0;
    for (unsigned left = mask; left; left &= left - 1, rank++)
      if (lanes & (left & -left)) result |= 1u << rank;
    return result;
  }
  template <class T> REUSELENS_CG T shfl(T v, unsigned rank) const { return __shfl_sync(mask, v, (int)lane_of(rank)); }
  template <class T> REUSELENS_CG T shfl_up(T v, unsigned by) const {
    unsigned rank = thread_rank();
    return __shfl_sync(mask, v, (int)(rank < by ? reuselens_lane() : lane_of(rank - by)));
  }
  template <class T> REUSELENS_CG T shfl_down(T v, unsigned by) const {
    unsigned rank = thread_rank() + by;
    return __shfl_sync(mask, v, (int)(rank >= size() ? reuselens_lane() : lane_of(rank)));
  }
  REUSELENS_CG int any(int p) const { return __any_sync(mask, p); }
  REUSELENS_CG int all(int p) const { return __all_sync(mask, p); }
  REUSELENS_CG unsigned ballot(int p) const { return packed(__ballot_sync(mask, p)); }
  template <class T> REUSELENS_CG unsigned match_any(T v) const { return packed(__match_any_sync(mask, v)); }
};
REUSELENS_DEVICE coalesced_group coalesced_threads() { return {__activemask()}; }

// Neighbouring threads of a warp, a power of two.
template <unsigned Size, class Parent = void> struct thread_block_tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
  thread_block_tile() = default;
  template <class Other> REUSELENS_CG thread_block_tile(const thread_block_tile<Size, Other> &) {}
  REUSELENS_CG static unsigned reuselens_mask() {
    return (Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1) << (reuselens_lane() & ~(Size - 1));
  }
  REUSELENS_CG static void sync() { __syncwarp(reuselens_mask()); }
  REUSELENS_CG static unsigned thread_rank() { return thread_block::thread_rank() & (Size - 1); }
  REUSELENS_CG static constexpr unsigned num_threads() { return Size; }
  REUSELENS_CG static constexpr unsigned size() { return Size; }
  REUSELENS_CG static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  REUSELENS_CG static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  template <class T> REUSELENS_CG T shfl(T v, int rank) const { return __shfl_sync(reuselens_mask(), v, rank, Size); }
  template <class T> REUSELENS_CG T shfl_up(T v, unsigned by) const { return __shfl_up_sync(reuselens_mask(), v, by, Size); }
  template <class T> REUSELENS_CG T shfl_down(T v, unsigned by) const { return __shfl_down_sync(reuselens_mask(), v, by, Size); }
  template <class T> REUSELENS_CG T shfl_xor(T v, unsigned by) const { return __shfl_xor_sync(reuselens_mask(), v, (int)by, Size); }
  REUSELENS_CG int any(int p) const { return __any_sync(reuselens_mask(), p); }
  REUSELENS_CG int all(int p) const { return __all_sync(reuselens_mask(), p); }
  REUSELENS_CG unsigned ballot(int p) const { return __ballot_sync(reuselens_mask(), p) >> (reuselens_lane() & ~(Size - 1)); }
  template <class T> REUSELENS_CG unsigned match_any(T v) const {
    return __match_any_sync(reuselens_mask(), v) >> (reuselens_lane() & ~(Size - 1));
  }
};
template <unsigned Size, class Parent> REUSELENS_DEVICE thread_block_tile<Size, Parent> tiled_partition(const Parent &) { return {}; }

// The one thread of a group of one.
REUSELENS_DEVICE thread_block_tile<1> this_thread() { return {}; }

// A group of either kind, as functions take it.
struct thread_group {
  unsigned mask;
  bool block;
  REUSELENS_CG thread_group(thread_block) : mask(0xffffffff), block(true) {}
  REUSELENS_CG thread_group(coalesced_group group) : mask(group.mask), block(false) {}
  template <unsigned Size, class Parent>
  REUSELENS_CG thread_group(thread_block_tile<Size, Parent> tile) : mask(tile.reuselens_mask()), block(false) {}
  REUSELENS_CG void sync() const { block ? __syncthreads() : __syncwarp(mask); }
  REUSELENS_CG unsigned size() const { return block ? thread_block::size() : __popc(mask); }
  REUSELENS_CG unsigned num_threads() const { return size(); }
  REUSELENS_CG unsigned thread_rank() const {
    return block ? thread_block::thread_rank() : __popc(mask & __nvvm_read_ptx_sreg_lanemask_lt());
  }
};
REUSELENS_DEVICE thread_group tiled_partition(const thread_group &, unsigned size) {
  return coalesced_group{(size >= 32 ? 0xffffffffu : (1u << size) - 1) << (reuselens_lane() & ~(size - 1))};
}
template <class Group> REUSELENS_DEVICE void sync(const Group &group) { group.sync(); }

// Operations of `reduce`.
template <class T> struct plus {
  REUSELENS_CG T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
  REUSELENS_CG T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
  REUSELENS_CG T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
  REUSELENS_CG T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
  REUSELENS_CG T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
  REUSELENS_CG T operator()(T a, T b) const { return a ^ b; }
};
template <unsigned Size, class Parent, class T, class Op>
REUSELENS_DEVICE T reduce(const thread_block_tile<Size, Parent> &tile, T v, Op op) {
  for (unsigned step = Size / 2; step > 0; step /= 2) v = op(v, tile.shfl_xor(v, step));
  return v;
}
template <class T, class Op> REUSELENS_DEVICE T reduce(const coalesced_group &group, T v, Op op) {
  T all = group.shfl(v, 0);
  for (unsigned rank = 1; rank < group.size(); rank++) all = op(all, group.shfl(v, rank));
  return all;
}
} // namespace cooperative_groups
#endif
