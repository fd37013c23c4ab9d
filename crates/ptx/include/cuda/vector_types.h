// CUDA's vector types, `dim3`, and the functions that make them.
#ifndef REUSELENS_VECTOR_TYPES_H
#define REUSELENS_VECTOR_TYPES_H
// By this name programs ask whether CUDA's header is there.
#define __VECTOR_TYPES_H__
#include "host_defines.h"

// Vectors of two and four are aligned as one word of their size, up to 16 bytes.
#define REUSELENS_VECTOR(type, name)                                                               \
  struct name##1 { type x; };                                                                      \
  struct __attribute__((aligned(2 * sizeof(type)))) name##2 { type x, y; };                        \
  struct name##3 { type x, y, z; };                                                                \
  struct __attribute__((aligned(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)))) name##4 {         \
    type x, y, z, w;                                                                               \
  };                                                                                               \
  REUSELENS_BOTH name##1 make_##name##1(type x) { return {x}; }                                    \
  REUSELENS_BOTH name##2 make_##name##2(type x, type y) { return {x, y}; }                         \
  REUSELENS_BOTH name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }              \
  REUSELENS_BOTH name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
REUSELENS_VECTOR(signed char, char)
REUSELENS_VECTOR(unsigned char, uchar)
REUSELENS_VECTOR(short, short)
REUSELENS_VECTOR(unsigned short, ushort)
REUSELENS_VECTOR(int, int)
REUSELENS_VECTOR(unsigned, uint)
REUSELENS_VECTOR(long, long)
REUSELENS_VECTOR(unsigned long, ulong)
REUSELENS_VECTOR(long long, longlong)
REUSELENS_VECTOR(unsigned long long, ulonglong)
REUSELENS_VECTOR(float, float)
REUSELENS_VECTOR(double, double)

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};
#endif
