// Breadth-first search over the fan-in: whether any input has been reached.
#include "thesis.h"

__device__ static inline void bfs_of(unsigned i, const unsigned *offsets, const unsigned *targets, const unsigned *reached, unsigned *next, unsigned n) {
  if (i >= n) return;
  unsigned begin = offsets[i], end = offsets[i + 1];
  unsigned any = 0;
#pragma unroll 1
  for (unsigned k = begin; k < end; k++) any |= reached[targets[k]];
  next[i] = any;
}

extern "C" __global__ void bfs(const unsigned *offsets, const unsigned *targets, const unsigned *reached, unsigned *next, unsigned n) { bfs_of(thread(), offsets, targets, reached, next, n); }
extern "C" __global__ void bfs_mapped(const unsigned *map, const unsigned *offsets, const unsigned *targets, const unsigned *reached, unsigned *next, unsigned n) {
  bfs_of(map[thread()], offsets, targets, reached, next, n);
}
