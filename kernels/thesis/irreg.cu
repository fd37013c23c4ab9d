// A partial differential equation on an irregular mesh: differences along edges are added to both ends.
#include "thesis.h"

__device__ static inline void irreg_of(unsigned i, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *value, float *change, unsigned n) {
  if (i >= n) return;
  float own = value[i], sum = 0;
  unsigned begin = begins[i], end = ends[i];
#pragma unroll 1
  for (unsigned k = begin; k < end; k++) {
    unsigned j = targets[k];
    float flow = 0.5f * (own - value[j]);
    atomicAdd(&change[j], flow);
    sum += flow;
  }
  atomicAdd(&change[i], -sum);
}

extern "C" __global__ void irreg(const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *value, float *change, unsigned n) { irreg_of(thread(), begins, ends, targets, value, change, n); }
extern "C" __global__ void irreg_mapped(const unsigned *map, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *value, float *change, unsigned n) {
  irreg_of(map[thread()], begins, ends, targets, value, change, n);
}
