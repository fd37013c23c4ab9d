// Breadth-first search over the fan-in: whether any input has been reached.
#include "thesis.h"

__device__ static inline void bfs_of(unsigned i, const unsigned *begins, const unsigned *ends, const unsigned *targets, const unsigned *reached, unsigned *next, unsigned n) {
  if (i >= n) return;
  unsigned begin = begins[i], end = ends[i];
  unsigned any = 0;
#pragma unroll 1
  for (unsigned k = begin; k < end; k++) any |= reached[targets[k]];
  next[i] = any;
}

extern "C" __global__ void bfs(const unsigned *begins, const unsigned *ends, const unsigned *targets, const unsigned *reached, unsigned *next, unsigned n) { bfs_of(thread(), begins, ends, targets, reached, next, n); }
extern "C" __global__ void bfs_mapped(const unsigned *map, const unsigned *begins, const unsigned *ends, const unsigned *targets, const unsigned *reached, unsigned *next, unsigned n) {
  bfs_of(map[thread()], begins, ends, targets, reached, next, n);
}
