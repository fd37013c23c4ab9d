// Static timing analysis: a gate's arrival time is the latest of its inputs' times, and its own delay.
#include "thesis.h"

__device__ static inline void sta_of(unsigned i, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *arrival, float *later, unsigned n) {
  if (i >= n) return;
  unsigned begin = begins[i], end = ends[i];
  float latest = 0;
#pragma unroll 1
  for (unsigned k = begin; k < end; k++) {
    float time = arrival[targets[k]];
    latest = time > latest ? time : latest;
  }
  later[i] = latest + 1;
}

extern "C" __global__ void sta(const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *arrival, float *later, unsigned n) { sta_of(thread(), begins, ends, targets, arrival, later, n); }
extern "C" __global__ void sta_mapped(const unsigned *map, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *arrival, float *later, unsigned n) {
  sta_of(map[thread()], begins, ends, targets, arrival, later, n);
}
