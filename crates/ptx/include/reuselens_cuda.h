// What clang needs of CUDA to make PTX of kernels, without CUDA being there.
//
// Only what device code of ordinary kernels uses. reuselens_cuda_host.h declares the host's side.
#ifndef REUSELENS_CUDA_H
#define REUSELENS_CUDA_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

// CUDA's own header includes these, so sources use them without naming them. A machine without them
// still compiles kernels.
#if __has_include(<stdlib.h>)
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#endif
typedef __SIZE_TYPE__ size_t;
// <new> declares the device's operators with these. A kernel that calls them is refused when it is
// loaded.
extern "C" {
__device__ void *malloc(size_t) __attribute__((nothrow));
__device__ void free(void *) __attribute__((nothrow));
}
#define REUSELENS_D static inline __attribute__((device, always_inline))

#define REUSELENS_INDEX(name, register)                                                          \
  struct name##_t {                                                                              \
    __declspec(property(get = get_x)) unsigned x;                                                \
    __declspec(property(get = get_y)) unsigned y;                                                \
    __declspec(property(get = get_z)) unsigned z;                                                \
    REUSELENS_D unsigned get_x() { return __nvvm_read_ptx_sreg_##register##_x(); }               \
    REUSELENS_D unsigned get_y() { return __nvvm_read_ptx_sreg_##register##_y(); }               \
    REUSELENS_D unsigned get_z() { return __nvvm_read_ptx_sreg_##register##_z(); }               \
  };                                                                                             \
  extern const __device__ __attribute__((weak)) name##_t name;
REUSELENS_INDEX(threadIdx, tid)
REUSELENS_INDEX(blockIdx, ctaid)
REUSELENS_INDEX(blockDim, ntid)
REUSELENS_INDEX(gridDim, nctaid)
static const __device__ int warpSize = 32;

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
#define REUSELENS_VECTOR(type, name)                                                             \
  struct name##1 { type x; };                                                                    \
  struct __align__(2 * sizeof(type)) name##2 { type x, y; };                                     \
  struct name##3 { type x, y, z; };                                                              \
  struct __align__((4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type))) name##4 { type x, y, z, w; };\
  static inline __host__ __device__ name##2 make_##name##2(type x, type y) { return {x, y}; }    \
  static inline __host__ __device__ name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  static inline __host__ __device__ name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
REUSELENS_VECTOR(signed char, char)
REUSELENS_VECTOR(unsigned char, uchar)
REUSELENS_VECTOR(short, short)
REUSELENS_VECTOR(unsigned short, ushort)
REUSELENS_VECTOR(int, int)
REUSELENS_VECTOR(unsigned, uint)
REUSELENS_VECTOR(long long, longlong)
REUSELENS_VECTOR(unsigned long long, ulonglong)
REUSELENS_VECTOR(float, float)
REUSELENS_VECTOR(double, double)

// Barriers, votes, shuffles.
REUSELENS_D int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
REUSELENS_D int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
REUSELENS_D int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
REUSELENS_D void __syncwarp(unsigned mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }
REUSELENS_D void __threadfence_block() { __nvvm_membar_cta(); }
REUSELENS_D void __threadfence() { __nvvm_membar_gl(); }
REUSELENS_D void __threadfence_system() { __nvvm_membar_sys(); }
REUSELENS_D unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p); }
REUSELENS_D int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
REUSELENS_D int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
REUSELENS_D unsigned __activemask() { unsigned m; asm volatile("activemask.b32 %0;" : "=r"(m)); return m; }
REUSELENS_D unsigned __match_any_sync(unsigned mask, unsigned v) { return __nvvm_match_any_sync_i32(mask, v); }
#define REUSELENS_SHUFFLE(name, kind, clamp)                                                     \
  REUSELENS_D int name(unsigned m, int v, unsigned b, int w = 32) {                              \
    return __nvvm_shfl_sync_##kind##_i32(m, v, b, ((32 - w) << 8) | clamp);                      \
  }                                                                                              \
  REUSELENS_D unsigned name(unsigned m, unsigned v, unsigned b, int w = 32) {                    \
    return (unsigned)name(m, (int)v, b, w);                                                      \
  }                                                                                              \
  REUSELENS_D float name(unsigned m, float v, unsigned b, int w = 32) {                          \
    return __nvvm_shfl_sync_##kind##_f32(m, v, b, ((32 - w) << 8) | clamp);                      \
  }                                                                                              \
  REUSELENS_D unsigned long long name(unsigned m, unsigned long long v, unsigned b, int w = 32) {\
    unsigned lo = name(m, (unsigned)v, b, w), hi = name(m, (unsigned)(v >> 32), b, w);           \
    return (unsigned long long)hi << 32 | lo;                                                    \
  }                                                                                              \
  REUSELENS_D double name(unsigned m, double v, unsigned b, int w = 32) {                        \
    return __builtin_bit_cast(double, name(m, __builtin_bit_cast(unsigned long long, v), b, w)); \
  }
REUSELENS_SHUFFLE(__shfl_sync, idx, 31)
REUSELENS_SHUFFLE(__shfl_up_sync, up, 0)
REUSELENS_SHUFFLE(__shfl_down_sync, down, 31)
REUSELENS_SHUFFLE(__shfl_xor_sync, bfly, 31)

// Atomic operations.
REUSELENS_D int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
REUSELENS_D unsigned atomicAdd(unsigned *p, unsigned v) { return __nvvm_atom_add_gen_i((int *)p, (int)v); }
REUSELENS_D unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) { return __nvvm_atom_add_gen_ll((long long *)p, (long long)v); }
REUSELENS_D float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
REUSELENS_D double atomicAdd(double *p, double v) { return __nvvm_atom_add_gen_d(p, v); }
REUSELENS_D int atomicSub(int *p, int v) { return __nvvm_atom_add_gen_i(p, -v); }
REUSELENS_D int atomicMin(int *p, int v) { return __nvvm_atom_min_gen_i(p, v); }
REUSELENS_D unsigned atomicMin(unsigned *p, unsigned v) { return __nvvm_atom_min_gen_ui(p, v); }
REUSELENS_D int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
REUSELENS_D unsigned atomicMax(unsigned *p, unsigned v) { return __nvvm_atom_max_gen_ui(p, v); }
REUSELENS_D unsigned atomicInc(unsigned *p, unsigned v) { return __nvvm_atom_inc_gen_ui(p, v); }
REUSELENS_D unsigned atomicDec(unsigned *p, unsigned v) { return __nvvm_atom_dec_gen_ui(p, v); }
REUSELENS_D unsigned atomicAnd(unsigned *p, unsigned v) { return __nvvm_atom_and_gen_i((int *)p, (int)v); }
REUSELENS_D unsigned atomicOr(unsigned *p, unsigned v) { return __nvvm_atom_or_gen_i((int *)p, (int)v); }
REUSELENS_D unsigned atomicXor(unsigned *p, unsigned v) { return __nvvm_atom_xor_gen_i((int *)p, (int)v); }
REUSELENS_D unsigned atomicExch(unsigned *p, unsigned v) { return __nvvm_atom_xchg_gen_i((int *)p, (int)v); }
REUSELENS_D int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }
REUSELENS_D int atomicCAS(int *p, int c, int v) { return __nvvm_atom_cas_gen_i(p, c, v); }
REUSELENS_D unsigned atomicCAS(unsigned *p, unsigned c, unsigned v) { return __nvvm_atom_cas_gen_i((int *)p, (int)c, (int)v); }
REUSELENS_D unsigned long long atomicCAS(unsigned long long *p, unsigned long long c, unsigned long long v) { return __nvvm_atom_cas_gen_ll((long long *)p, (long long)c, (long long)v); }

// Numbers.
REUSELENS_D float __int_as_float(int a) { return __builtin_bit_cast(float, a); }
REUSELENS_D int min(int a, int b) { return a < b ? a : b; }
REUSELENS_D unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
REUSELENS_D int max(int a, int b) { return a > b ? a : b; }
REUSELENS_D unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
REUSELENS_D int abs(int a) { return a < 0 ? -a : a; }
REUSELENS_D float fminf(float a, float b) { return __nvvm_fmin_f(a, b); }
REUSELENS_D float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
REUSELENS_D float fabsf(float a) { return __builtin_fabsf(a); }
REUSELENS_D double fabs(double a) { return __builtin_fabs(a); }
REUSELENS_D float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
REUSELENS_D double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
REUSELENS_D float sqrtf(float a) { return __nvvm_sqrt_rn_f(a); }
REUSELENS_D double sqrt(double a) { return __nvvm_sqrt_rn_d(a); }
REUSELENS_D float rsqrtf(float a) { return __nvvm_rsqrt_approx_f(a); }
REUSELENS_D float floorf(float a) { return __builtin_floorf(a); }
REUSELENS_D float ceilf(float a) { return __builtin_ceilf(a); }
REUSELENS_D float truncf(float a) { return __builtin_truncf(a); }
REUSELENS_D float exp2f(float a) { return __nvvm_ex2_approx_f(a); }
REUSELENS_D float log2f(float a) { return __nvvm_lg2_approx_f(a); }
REUSELENS_D float expf(float a) { return __nvvm_ex2_approx_f(a * 1.442695041f); }
REUSELENS_D float __expf(float a) { return expf(a); }
REUSELENS_D float logf(float a) { return __nvvm_lg2_approx_f(a) * 0.6931471806f; }
REUSELENS_D float __logf(float a) { return logf(a); }
REUSELENS_D float __sinf(float a) { return __nvvm_sin_approx_f(a); }
REUSELENS_D float __cosf(float a) { return __nvvm_cos_approx_f(a); }
// The interpreter calculates what PTX calls approximate in doubles, so these are as good as the
// real ones there.
REUSELENS_D float sinf(float a) { return __sinf(a); }
REUSELENS_D float cosf(float a) { return __cosf(a); }
REUSELENS_D float tanf(float a) { return __sinf(a) / __cosf(a); }
REUSELENS_D float log10f(float a) { return log2f(a) * 0.3010299957f; }
REUSELENS_D float __powf(float a, float b) { return exp2f(b * log2f(a)); }
// In singles: off by some units in the last place where the result is far from 1.
REUSELENS_D float powf(float a, float b) {
  if (a == 1.0f || b == 0.0f) return 1.0f;
  float r = __powf(fabsf(a), b);
  if (!(a < 0.0f) || fabsf(b) >= 16777216.0f) return r;
  if (b != truncf(b)) return __int_as_float(0x7fffffff);
  return ((int)b & 1) ? -r : r;
}
REUSELENS_D float fdividef(float a, float b) { return a / b; }
REUSELENS_D float __fdividef(float a, float b) { return a / b; }
REUSELENS_D double fmin(double a, double b) { return __nvvm_fmin_d(a, b); }
REUSELENS_D double fmax(double a, double b) { return __nvvm_fmax_d(a, b); }
REUSELENS_D double floor(double a) { return __builtin_floor(a); }
REUSELENS_D double ceil(double a) { return __builtin_ceil(a); }
REUSELENS_D double trunc(double a) { return __builtin_trunc(a); }
REUSELENS_D int __popc(unsigned a) { return __builtin_popcount(a); }
REUSELENS_D int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
REUSELENS_D int __clz(int a) { int r; asm("clz.b32 %0, %1;" : "=r"(r) : "r"(a)); return r; }
REUSELENS_D int __ffs(int a) { return a == 0 ? 0 : __builtin_ctz(a) + 1; }
REUSELENS_D unsigned __brev(unsigned a) { return __builtin_bitreverse32(a); }
REUSELENS_D unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
REUSELENS_D int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
REUSELENS_D unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { return __nvvm_prmt(a, b, s); }
REUSELENS_D int __float_as_int(float a) { return __builtin_bit_cast(int, a); }
REUSELENS_D unsigned __float_as_uint(float a) { return __builtin_bit_cast(unsigned, a); }
REUSELENS_D float __uint_as_float(unsigned a) { return __builtin_bit_cast(float, a); }
REUSELENS_D int __float2int_rn(float a) { return __nvvm_f2i_rn(a); }
REUSELENS_D int __float2int_rz(float a) { return __nvvm_f2i_rz(a); }
REUSELENS_D int __float2int_ru(float a) { return __nvvm_f2i_rp(a); }
REUSELENS_D int __float2int_rd(float a) { return __nvvm_f2i_rm(a); }
REUSELENS_D float __fadd_rz(float a, float b) { return __nvvm_add_rz_f(a, b); }
REUSELENS_D float __fadd_ru(float a, float b) { return __nvvm_add_rp_f(a, b); }
REUSELENS_D float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
REUSELENS_D float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
REUSELENS_D double __dadd_rn(double a, double b) { return __nvvm_add_rn_d(a, b); }
REUSELENS_D double __dmul_rn(double a, double b) { return __nvvm_mul_rn_d(a, b); }
template <class T> REUSELENS_D T __ldg(const T *p) { return *p; }
extern "C" __device__ int printf(const char *, ...);

#include "reuselens_cuda_host.h"
#endif
