// Gate-level simulation, 32 patterns at a time: a gate's value is what its kind makes of its inputs' values.
#include "thesis.h"

__device__ static inline void gsim_of(unsigned i, const unsigned *begins, const unsigned *ends, const unsigned *targets, const unsigned *kinds, const unsigned *values, unsigned *after, unsigned n) {
  if (i >= n) return;
  // Kinds as the netlist reader numbers them: 0 input, 1 and, 2 nand, 3 or, 4 nor, 5 xor, 6 xnor, 7 not, 8 buffer, 9 flip-flop.
  unsigned kind = kinds[i];
  unsigned begin = begins[i], end = ends[i];
  unsigned conjunction = ~0u, disjunction = 0, parity = 0;
#pragma unroll 1
  for (unsigned k = begin; k < end; k++) {
    unsigned value = values[targets[k]];
    conjunction &= value;
    disjunction |= value;
    parity ^= value;
  }
  unsigned result = kind <= 2 ? conjunction : kind <= 4 ? disjunction : parity;
  bool inverted = kind == 2 || kind == 4 || kind == 6 || kind == 7;
  if (kind != 0) after[i] = inverted ? ~result : result;
}

extern "C" __global__ void gsim(const unsigned *begins, const unsigned *ends, const unsigned *targets, const unsigned *kinds, const unsigned *values, unsigned *after, unsigned n) { gsim_of(thread(), begins, ends, targets, kinds, values, after, n); }
extern "C" __global__ void gsim_mapped(const unsigned *map, const unsigned *begins, const unsigned *ends, const unsigned *targets, const unsigned *kinds, const unsigned *values, unsigned *after, unsigned n) {
  gsim_of(map[thread()], begins, ends, targets, kinds, values, after, n);
}
