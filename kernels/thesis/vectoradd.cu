// The sum of two vectors.
#include "thesis.h"

__device__ static inline void vectoradd_of(unsigned i, const float *a, const float *b, float *c, unsigned n) {
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void vectoradd(const float *a, const float *b, float *c, unsigned n) { vectoradd_of(thread(), a, b, c, n); }
extern "C" __global__ void vectoradd_mapped(const unsigned *map, const float *a, const float *b, float *c, unsigned n) {
  vectoradd_of(map[thread()], a, b, c, n);
}
