// Complex numbers as pairs.
#ifndef REUSELENS_CU_COMPLEX_H
#define REUSELENS_CU_COMPLEX_H
// By this name programs ask whether CUDA's header is there.
#define CU_COMPLEX_H_
#include "cuda_runtime.h"
typedef float2 cuFloatComplex;
typedef float2 cuComplex;
typedef double2 cuDoubleComplex;
#define REUSELENS_COMPLEX(type, part, suffix, root)                                                \
  REUSELENS_BOTH part cuCreal##suffix(type a) { return a.x; }                                      \
  REUSELENS_BOTH part cuCimag##suffix(type a) { return a.y; }                                      \
  REUSELENS_BOTH type cuConj##suffix(type a) { return {a.x, -a.y}; }                               \
  REUSELENS_BOTH type cuCadd##suffix(type a, type b) { return {a.x + b.x, a.y + b.y}; }            \
  REUSELENS_BOTH type cuCsub##suffix(type a, type b) { return {a.x - b.x, a.y - b.y}; }            \
  REUSELENS_BOTH type cuCmul##suffix(type a, type b) {                                             \
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                         \
  }                                                                                                \
  REUSELENS_BOTH type cuCdiv##suffix(type a, type b) {                                             \
    part s = (b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y);                                      \
    part ax = a.x / s, ay = a.y / s, bx = b.x / s, by = b.y / s, d = bx * bx + by * by;            \
    return {(ax * bx + ay * by) / d, (ay * bx - ax * by) / d};                                     \
  }                                                                                                \
  REUSELENS_BOTH part cuCabs##suffix(type a) {                                                     \
    part x = a.x < 0 ? -a.x : a.x, y = a.y < 0 ? -a.y : a.y, most = x > y ? x : y;                 \
    part least = x > y ? y : x, ratio = least / most;                                              \
    return most == 0 || most > 1.7e308 || least != least ? x + y : most * root(1 + ratio * ratio); \
  }                                                                                                \
  REUSELENS_BOTH type cuCfma##suffix(type a, type b, type c) {                                     \
    return cuCadd##suffix(cuCmul##suffix(a, b), c);                                                \
  }
REUSELENS_COMPLEX(float2, float, f, __builtin_sqrtf)
REUSELENS_COMPLEX(double2, double, , __builtin_sqrt)
REUSELENS_BOTH cuFloatComplex make_cuFloatComplex(float x, float y) { return {x, y}; }
REUSELENS_BOTH cuDoubleComplex make_cuDoubleComplex(double x, double y) { return {x, y}; }
REUSELENS_BOTH cuComplex make_cuComplex(float x, float y) { return {x, y}; }
#endif
