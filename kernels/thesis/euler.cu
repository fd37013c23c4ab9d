// Finite differences of four quantities on an Eulerian mesh.
#include "thesis.h"

__device__ static inline void euler_of(unsigned i, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *state, float *flux, unsigned n) {
  if (i >= n) return;
  float a = state[4 * i], b = state[4 * i + 1], c = state[4 * i + 2], d = state[4 * i + 3];
  float fa = 0, fb = 0, fc = 0, fd = 0;
  unsigned begin = begins[i], end = ends[i];
#pragma unroll 1
  for (unsigned k = begin; k < end; k++) {
    unsigned j = 4 * targets[k];
    fa += a - state[j];
    fb += b - state[j + 1];
    fc += c - state[j + 2];
    fd += d - state[j + 3];
  }
  flux[4 * i] = fa;
  flux[4 * i + 1] = fb;
  flux[4 * i + 2] = fc;
  flux[4 * i + 3] = fd;
}

extern "C" __global__ void euler(const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *state, float *flux, unsigned n) { euler_of(thread(), begins, ends, targets, state, flux, n); }
extern "C" __global__ void euler_mapped(const unsigned *map, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *state, float *flux, unsigned n) {
  euler_of(map[thread()], begins, ends, targets, state, flux, n);
}
