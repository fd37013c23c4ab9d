// Non-bonded forces: what the partners of a molecule do to it, by the difference of their places.
#include "thesis.h"

__device__ static inline void nbf_of(unsigned i, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *place, float *force, unsigned n) {
  if (i >= n) return;
  float own = place[i], sum = 0;
  unsigned begin = begins[i], end = ends[i];
#pragma unroll 1
  for (unsigned k = begin; k < end; k++) {
    float d = own - place[targets[k]];
    sum += d * d > 1e-6f ? 1 / d : 0;
  }
  force[i] = sum;
}

extern "C" __global__ void nbf(const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *place, float *force, unsigned n) { nbf_of(thread(), begins, ends, targets, place, force, n); }
extern "C" __global__ void nbf_mapped(const unsigned *map, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *place, float *force, unsigned n) {
  nbf_of(map[thread()], begins, ends, targets, place, force, n);
}
