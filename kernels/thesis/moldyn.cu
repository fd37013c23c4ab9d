// Molecular dynamics: forces between molecules that are neighbours, in three dimensions.
#include "thesis.h"

__device__ static inline void moldyn_of(unsigned i, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *place, float *force, unsigned n) {
  if (i >= n) return;
  float x = place[3 * i], y = place[3 * i + 1], z = place[3 * i + 2];
  float fx = 0, fy = 0, fz = 0;
  unsigned begin = begins[i], end = ends[i];
#pragma unroll 1
  for (unsigned k = begin; k < end; k++) {
    unsigned j = 3 * targets[k];
    float dx = x - place[j], dy = y - place[j + 1], dz = z - place[j + 2];
    float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
    float s = 1 / (r2 * r2 * r2);
    float f = s * (s - 0.5f) / r2;
    fx += f * dx;
    fy += f * dy;
    fz += f * dz;
  }
  force[3 * i] = fx;
  force[3 * i + 1] = fy;
  force[3 * i + 2] = fz;
}

extern "C" __global__ void moldyn(const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *place, float *force, unsigned n) { moldyn_of(thread(), begins, ends, targets, place, force, n); }
extern "C" __global__ void moldyn_mapped(const unsigned *map, const unsigned *begins, const unsigned *ends, const unsigned *targets, const float *place, float *force, unsigned n) {
  moldyn_of(map[thread()], begins, ends, targets, place, force, n);
}
