// Numbers of 16 bits, one (`__half`) and two in a word (`__half2`): arithmetic, comparisons,
// conversions, shuffles and atomics. Operations on the host calculate in floats.
#ifndef REUSELENS_CUDA_FP16_H
#define REUSELENS_CUDA_FP16_H
// By this name programs ask whether CUDA's header is there.
#define __CUDA_FP16_H__
#include "cuda_runtime.h"

#define REUSELENS_HALF static __inline__ __attribute__((host, device, always_inline, nodebug))

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};

// The nearest half of a float, ties to even. In whole numbers, so that the host has it too.
REUSELENS_HALF unsigned short reuselens_to_half(float f) {
#ifdef __CUDA_ARCH__
  return (unsigned short)__nvvm_f2h_rn(f);
#else
  unsigned b = __builtin_bit_cast(unsigned, f), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
  if (a > 0x7f800000) return (unsigned short)(0x7fff);
  if (a >= 0x477ff000) return (unsigned short)(sign | 0x7c00);
  if (a < 0x38800000) {
    // Below the normal halves: a float's sum with 1/2 has the bits at its end.
    float sum = __builtin_bit_cast(float, a) + 0.5f;
    return (unsigned short)(sign | (__builtin_bit_cast(unsigned, sum) - 0x3f000000));
  }
  return (unsigned short)(sign | ((a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13));
#endif
}
REUSELENS_HALF float reuselens_of_half(unsigned short h) {
#ifdef __CUDA_ARCH__
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
#else
  unsigned sign = (h & 0x8000u) << 16, a = h & 0x7fff;
  if (a >= 0x7c00) return __builtin_bit_cast(float, sign | 0x7f800000 | (a & 0x3ff) << 13);
  float f = a < 0x400 ? (float)a * 0x1p-24f : __builtin_bit_cast(float, (a << 13) + 0x38000000);
  return sign ? -f : f;
#endif
}

struct __half {
  unsigned short __x;
  __half() = default;
  __host__ __device__ __half(__half_raw raw) : __x(raw.x) {}
  __host__ __device__ __half(float f) : __x(reuselens_to_half(f)) {}
  __host__ __device__ __half(double f) : __x(reuselens_to_half((float)f)) {}
  __host__ __device__ __half(int f) : __x(reuselens_to_half((float)f)) {}
  __host__ __device__ __half(unsigned f) : __x(reuselens_to_half((float)f)) {}
  __host__ __device__ operator float() const { return reuselens_of_half(__x); }
  __host__ __device__ operator __half_raw() const { return {__x}; }
};
struct __attribute__((aligned(4))) __half2 {
  __half x, y;
  __half2() = default;
  __host__ __device__ __half2(__half low, __half high) : x(low), y(high) {}
};
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

REUSELENS_HALF __half reuselens_half(unsigned short bits) { return __half_raw{bits}; }

// One half: an instruction on the device, by way of floats on the host.
#ifdef __CUDA_ARCH__
#define REUSELENS_HALF_TWO(name, ptx, host)                                                        \
  REUSELENS_HALF __half name(__half a, __half b) {                                                 \
    unsigned short r;                                                                              \
    asm(ptx " %0, %1, %2;" : "=h"(r) : "h"(a.__x), "h"(b.__x));                                    \
    return reuselens_half(r);                                                                      \
  }
#else
#define REUSELENS_HALF_TWO(name, ptx, host)                                                        \
  REUSELENS_HALF __half name(__half a, __half b) { return (float)a host (float)b; }
#endif
REUSELENS_HALF_TWO(__hadd, "add.rn.f16", +)
REUSELENS_HALF_TWO(__hsub, "sub.rn.f16", -)
REUSELENS_HALF_TWO(__hmul, "mul.rn.f16", *)
REUSELENS_HALF_TWO(__hadd_rn, "add.rn.f16", +)
REUSELENS_HALF_TWO(__hsub_rn, "sub.rn.f16", -)
REUSELENS_HALF_TWO(__hmul_rn, "mul.rn.f16", *)
REUSELENS_HALF __half __hdiv(__half a, __half b) { return (float)a / (float)b; }
REUSELENS_HALF __half __hneg(__half a) { return reuselens_half(a.__x ^ 0x8000); }
REUSELENS_HALF __half __habs(__half a) { return reuselens_half(a.__x & 0x7fff); }
REUSELENS_HALF __half __hfma(__half a, __half b, __half c) {
#ifdef __CUDA_ARCH__
  unsigned short r;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r) : "h"(a.__x), "h"(b.__x), "h"(c.__x));
  return reuselens_half(r);
#else
  // The product of two halves is exact in a float, and its sum with a third in a double.
  return (float)((double)((float)a * (float)b) + (double)(float)c);
#endif
}
REUSELENS_HALF __half __hmin(__half a, __half b) { return __builtin_fminf((float)a, (float)b); }
REUSELENS_HALF __half __hmax(__half a, __half b) { return __builtin_fmaxf((float)a, (float)b); }

#define REUSELENS_HALF_COMPARE(name, op)                                                           \
  REUSELENS_HALF bool __h##name(__half a, __half b) { return (float)a op (float)b; }               \
  REUSELENS_HALF bool operator op(__half a, __half b) { return (float)a op (float)b; }             \
  REUSELENS_HALF __half2 __h##name##2(__half2 a, __half2 b) {                                      \
    return {__half(__h##name(a.x, b.x) ? 1.0f : 0.0f), __half(__h##name(a.y, b.y) ? 1.0f : 0.0f)}; \
  }
REUSELENS_HALF_COMPARE(eq, ==)
REUSELENS_HALF_COMPARE(ne, !=)
REUSELENS_HALF_COMPARE(lt, <)
REUSELENS_HALF_COMPARE(le, <=)
REUSELENS_HALF_COMPARE(gt, >)
REUSELENS_HALF_COMPARE(ge, >=)
REUSELENS_HALF bool __hisnan(__half a) { return (a.__x & 0x7fff) > 0x7c00; }
REUSELENS_HALF int __hisinf(__half a) { return a.__x == 0x7c00 ? 1 : a.__x == 0xfc00 ? -1 : 0; }

#define REUSELENS_HALF_OPERATOR(op, function)                                                      \
  REUSELENS_HALF __half operator op(__half a, __half b) { return function(a, b); }                 \
  REUSELENS_HALF __half &operator op##=(__half &a, __half b) { return a = function(a, b); }        \
  REUSELENS_HALF __half2 operator op(__half2 a, __half2 b) {                                       \
    return {function(a.x, b.x), function(a.y, b.y)};                                               \
  }                                                                                                \
  REUSELENS_HALF __half2 &operator op##=(__half2 &a, __half2 b) { return a = a op b; }
REUSELENS_HALF_OPERATOR(+, __hadd)
REUSELENS_HALF_OPERATOR(-, __hsub)
REUSELENS_HALF_OPERATOR(*, __hmul)
REUSELENS_HALF_OPERATOR(/, __hdiv)
REUSELENS_HALF __half operator-(__half a) { return __hneg(a); }
REUSELENS_HALF __half2 operator-(__half2 a) { return {__hneg(a.x), __hneg(a.y)}; }

// Two halves in a word.
REUSELENS_HALF unsigned reuselens_bits_of(__half2 a) { return __builtin_bit_cast(unsigned, a); }
REUSELENS_HALF __half2 reuselens_half2(unsigned bits) { return __builtin_bit_cast(__half2, bits); }
#ifdef __CUDA_ARCH__
#define REUSELENS_HALF2_TWO(name, one, ptx)                                                        \
  REUSELENS_HALF __half2 name(__half2 a, __half2 b) {                                              \
    unsigned r;                                                                                    \
    asm(ptx " %0, %1, %2;" : "=r"(r) : "r"(reuselens_bits_of(a)), "r"(reuselens_bits_of(b)));      \
    return reuselens_half2(r);                                                                     \
  }
#else
#define REUSELENS_HALF2_TWO(name, one, ptx)                                                        \
  REUSELENS_HALF __half2 name(__half2 a, __half2 b) { return {one(a.x, b.x), one(a.y, b.y)}; }
#endif
REUSELENS_HALF2_TWO(__hadd2, __hadd, "add.rn.f16x2")
REUSELENS_HALF2_TWO(__hsub2, __hsub, "sub.rn.f16x2")
REUSELENS_HALF2_TWO(__hmul2, __hmul, "mul.rn.f16x2")
REUSELENS_HALF __half2 __h2div(__half2 a, __half2 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
REUSELENS_HALF __half2 __hneg2(__half2 a) { return {__hneg(a.x), __hneg(a.y)}; }
REUSELENS_HALF __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
REUSELENS_HALF __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
REUSELENS_HALF __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
REUSELENS_HALF __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
#ifdef __CUDA_ARCH__
  unsigned r;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(reuselens_bits_of(a)), "r"(reuselens_bits_of(b)), "r"(reuselens_bits_of(c)));
  return reuselens_half2(r);
#else
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
#endif
}

// Conversions.
REUSELENS_HALF __half __float2half(float a) { return a; }
REUSELENS_HALF __half __float2half_rn(float a) { return a; }
REUSELENS_HALF __half __double2half(double a) { return a; }
REUSELENS_HALF float __half2float(__half a) { return a; }
REUSELENS_HALF __half __int2half_rn(int a) { return (float)a; }
REUSELENS_HALF __half __uint2half_rn(unsigned a) { return (float)a; }
REUSELENS_HALF int __half2int_rn(__half a) { return (int)__builtin_rintf((float)a); }
REUSELENS_HALF int __half2int_rz(__half a) { return (int)(float)a; }
REUSELENS_HALF unsigned short __half_as_ushort(__half a) { return a.__x; }
REUSELENS_HALF short __half_as_short(__half a) { return (short)a.__x; }
REUSELENS_HALF __half __ushort_as_half(unsigned short a) { return reuselens_half(a); }
REUSELENS_HALF __half __short_as_half(short a) { return reuselens_half((unsigned short)a); }
REUSELENS_HALF __half2 __halves2half2(__half a, __half b) { return {a, b}; }
REUSELENS_HALF __half2 __half2half2(__half a) { return {a, a}; }
REUSELENS_HALF __half2 __float2half2_rn(float a) { return {a, a}; }
REUSELENS_HALF __half2 __floats2half2_rn(float a, float b) { return {a, b}; }
REUSELENS_HALF __half2 __float22half2_rn(float2 a) { return {a.x, a.y}; }
REUSELENS_HALF float2 __half22float2(__half2 a) { return {a.x, a.y}; }
REUSELENS_HALF __half2 make_half2(__half a, __half b) { return {a, b}; }
REUSELENS_HALF __half __low2half(__half2 a) { return a.x; }
REUSELENS_HALF __half __high2half(__half2 a) { return a.y; }
REUSELENS_HALF float __low2float(__half2 a) { return a.x; }
REUSELENS_HALF float __high2float(__half2 a) { return a.y; }
REUSELENS_HALF __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
REUSELENS_HALF __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
REUSELENS_HALF __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
REUSELENS_HALF __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
REUSELENS_HALF __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }

// Functions of the device: mathematics by way of floats, shuffles, atomics.
#define REUSELENS_HALF_MATH(name, function)                                                        \
  REUSELENS_DEVICE __half h##name(__half a) { return function((float)a); }                         \
  REUSELENS_DEVICE __half2 h2##name(__half2 a) { return {h##name(a.x), h##name(a.y)}; }
REUSELENS_HALF_MATH(sqrt, sqrtf)
REUSELENS_HALF_MATH(rsqrt, rsqrtf)
REUSELENS_HALF_MATH(rcp, 1.0f /)
REUSELENS_HALF_MATH(exp, expf)
REUSELENS_HALF_MATH(exp2, exp2f)
REUSELENS_HALF_MATH(log, logf)
REUSELENS_HALF_MATH(log2, log2f)
REUSELENS_HALF_MATH(sin, sinf)
REUSELENS_HALF_MATH(cos, cosf)
REUSELENS_HALF_MATH(floor, floorf)
REUSELENS_HALF_MATH(ceil, ceilf)
REUSELENS_HALF_MATH(rint, rintf)
REUSELENS_HALF_MATH(trunc, truncf)
REUSELENS_HALF_MATH(tanh, tanhf)
#define REUSELENS_HALF_SHUFFLE(name, type)                                                         \
  REUSELENS_DEVICE __half name(unsigned mask, __half v, type by, int width = 32) {                 \
    return reuselens_half((unsigned short)name(mask, (unsigned)v.__x, by, width));                 \
  }                                                                                                \
  REUSELENS_DEVICE __half2 name(unsigned mask, __half2 v, type by, int width = 32) {               \
    return reuselens_half2(name(mask, reuselens_bits_of(v), by, width));                           \
  }
REUSELENS_HALF_SHUFFLE(__shfl_sync, int)
REUSELENS_HALF_SHUFFLE(__shfl_up_sync, unsigned)
REUSELENS_HALF_SHUFFLE(__shfl_down_sync, unsigned)
REUSELENS_HALF_SHUFFLE(__shfl_xor_sync, int)
REUSELENS_DEVICE __half2 atomicAdd(__half2 *p, __half2 v) {
  unsigned old;
  asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(reuselens_bits_of(v)) : "memory");
  return reuselens_half2(old);
}
REUSELENS_DEVICE __half atomicAdd(__half *p, __half v) {
  unsigned short old;
  asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old) : "l"(p), "h"(v.__x) : "memory");
  return reuselens_half(old);
}
REUSELENS_DEVICE __half __ldg(const __half *p) { return reuselens_half(__ldg((const unsigned short *)p)); }
REUSELENS_DEVICE __half2 __ldg(const __half2 *p) { return reuselens_half2(__ldg((const unsigned *)p)); }
#endif
