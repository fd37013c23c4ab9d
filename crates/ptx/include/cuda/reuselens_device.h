// Device functions that clang's headers leave to CUDA's own.
#ifndef REUSELENS_DEVICE_H
#define REUSELENS_DEVICE_H

// Atomic operations, by the names that clang's headers give to those of each type.
#define REUSELENS_ATOMIC(name, scope, suffix)                                                      \
  REUSELENS_DEVICE int atomic##name##scope(int *p, int v) { return __iAtomic##name##suffix(p, v); } \
  REUSELENS_DEVICE unsigned atomic##name##scope(unsigned *p, unsigned v) {                         \
    return __uAtomic##name##suffix(p, v);                                                          \
  }                                                                                                \
  REUSELENS_DEVICE unsigned long long atomic##name##scope(unsigned long long *p,                   \
                                                          unsigned long long v) {                  \
    return __ullAtomic##name##suffix(p, v);                                                        \
  }
#define REUSELENS_ATOMICS(scope, suffix)                                                           \
  REUSELENS_ATOMIC(Add, scope, suffix)                                                             \
  REUSELENS_ATOMIC(Exch, scope, suffix)                                                            \
  REUSELENS_ATOMIC(Min, scope, suffix)                                                             \
  REUSELENS_ATOMIC(Max, scope, suffix)                                                             \
  REUSELENS_ATOMIC(And, scope, suffix)                                                             \
  REUSELENS_ATOMIC(Or, scope, suffix)                                                              \
  REUSELENS_ATOMIC(Xor, scope, suffix)                                                             \
  REUSELENS_DEVICE float atomicAdd##scope(float *p, float v) { return __fAtomicAdd##suffix(p, v); } \
  REUSELENS_DEVICE double atomicAdd##scope(double *p, double v) { return __dAtomicAdd##suffix(p, v); } \
  REUSELENS_DEVICE float atomicExch##scope(float *p, float v) { return __fAtomicExch##suffix(p, v); } \
  REUSELENS_DEVICE long long atomicMin##scope(long long *p, long long v) { return __illAtomicMin##suffix(p, v); } \
  REUSELENS_DEVICE long long atomicMax##scope(long long *p, long long v) { return __illAtomicMax##suffix(p, v); } \
  REUSELENS_DEVICE int atomicSub##scope(int *p, int v) { return __iAtomicAdd##suffix(p, (int)-(unsigned)v); } \
  REUSELENS_DEVICE unsigned atomicSub##scope(unsigned *p, unsigned v) { return __uAtomicAdd##suffix(p, -v); } \
  REUSELENS_DEVICE unsigned atomicInc##scope(unsigned *p, unsigned v) { return __uAtomicInc##suffix(p, v); } \
  REUSELENS_DEVICE unsigned atomicDec##scope(unsigned *p, unsigned v) { return __uAtomicDec##suffix(p, v); } \
  REUSELENS_DEVICE int atomicCAS##scope(int *p, int c, int v) { return __iAtomicCAS##suffix(p, c, v); } \
  REUSELENS_DEVICE unsigned atomicCAS##scope(unsigned *p, unsigned c, unsigned v) { return __uAtomicCAS##suffix(p, c, v); } \
  REUSELENS_DEVICE unsigned long long atomicCAS##scope(unsigned long long *p, unsigned long long c, unsigned long long v) { \
    return __ullAtomicCAS##suffix(p, c, v);                                                        \
  }
REUSELENS_ATOMICS(, )
REUSELENS_ATOMICS(_block, _block)
REUSELENS_ATOMICS(_system, _system)
REUSELENS_DEVICE unsigned short atomicCAS(unsigned short *p, unsigned short c, unsigned short v) {
  unsigned short old;
  asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "l"(p), "h"(c), "h"(v) : "memory");
  return old;
}

REUSELENS_DEVICE unsigned __isGlobal(const void *p) { return __nvvm_isspacep_global(p); }
REUSELENS_DEVICE unsigned __isShared(const void *p) { return __nvvm_isspacep_shared(p); }
REUSELENS_DEVICE unsigned __isConstant(const void *p) { return __nvvm_isspacep_const(p); }
REUSELENS_DEVICE unsigned __isLocal(const void *p) { return __nvvm_isspacep_local(p); }
REUSELENS_DEVICE size_t __cvta_generic_to_shared(const void *p) {
  return (size_t)(void __attribute__((address_space(3))) *)p;
}
REUSELENS_DEVICE size_t __cvta_generic_to_global(const void *p) {
  return (size_t)(void __attribute__((address_space(1))) *)p;
}

// Integers: least and greatest by the rules of C for mixed signs.
#define REUSELENS_MINMAX(type, other)                                                              \
  REUSELENS_DEVICE type min(type a, other b) { return (type)b < a ? (type)b : a; }                 \
  REUSELENS_DEVICE type max(type a, other b) { return (type)b > a ? (type)b : a; }
REUSELENS_MINMAX(unsigned, unsigned)
REUSELENS_MINMAX(unsigned, int)
REUSELENS_MINMAX(long, long)
REUSELENS_MINMAX(unsigned long, unsigned long)
REUSELENS_MINMAX(unsigned long, long)
REUSELENS_MINMAX(long long, long long)
REUSELENS_MINMAX(unsigned long long, unsigned long long)
REUSELENS_MINMAX(unsigned long long, long long)
REUSELENS_DEVICE unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
REUSELENS_DEVICE unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
REUSELENS_DEVICE unsigned long min(long a, unsigned long b) { return min((unsigned long)a, b); }
REUSELENS_DEVICE unsigned long max(long a, unsigned long b) { return max((unsigned long)a, b); }
REUSELENS_DEVICE unsigned long long min(long long a, unsigned long long b) { return min((unsigned long long)a, b); }
REUSELENS_DEVICE unsigned long long max(long long a, unsigned long long b) { return max((unsigned long long)a, b); }
REUSELENS_DEVICE float min(float a, float b) { return __nvvm_fmin_f(a, b); }
REUSELENS_DEVICE float max(float a, float b) { return __nvvm_fmax_f(a, b); }
REUSELENS_DEVICE double min(double a, double b) { return __nvvm_fmin_d(a, b); }
REUSELENS_DEVICE double max(double a, double b) { return __nvvm_fmax_d(a, b); }
REUSELENS_DEVICE double min(float a, double b) { return __nvvm_fmin_d(a, b); }
REUSELENS_DEVICE double max(float a, double b) { return __nvvm_fmax_d(a, b); }
REUSELENS_DEVICE double min(double a, float b) { return __nvvm_fmin_d(a, b); }
REUSELENS_DEVICE double max(double a, float b) { return __nvvm_fmax_d(a, b); }

// Loads and stores that say how the caches should treat them: here, as any other.
#define REUSELENS_CACHED(type)                                                                     \
  REUSELENS_DEVICE type __ldcg(const type *p) { return *p; }                                       \
  REUSELENS_DEVICE type __ldca(const type *p) { return *p; }                                       \
  REUSELENS_DEVICE type __ldcs(const type *p) { return *p; }                                       \
  REUSELENS_DEVICE type __ldlu(const type *p) { return *p; }                                       \
  REUSELENS_DEVICE type __ldcv(const type *p) { return *(const volatile type *)p; }                \
  REUSELENS_STORED(type)
#define REUSELENS_STORED(type)                                                                     \
  REUSELENS_DEVICE void __stwb(type *p, type v) { *p = v; }                                        \
  REUSELENS_DEVICE void __stcg(type *p, type v) { *p = v; }                                        \
  REUSELENS_DEVICE void __stcs(type *p, type v) { *p = v; }                                        \
  REUSELENS_DEVICE void __stwt(type *p, type v) { *p = v; }
REUSELENS_CACHED(char)
REUSELENS_CACHED(short)
REUSELENS_CACHED(int)
REUSELENS_CACHED(long)
REUSELENS_CACHED(long long)
REUSELENS_CACHED(unsigned char)
REUSELENS_CACHED(unsigned short)
REUSELENS_CACHED(unsigned)
REUSELENS_CACHED(unsigned long)
REUSELENS_CACHED(unsigned long long)
REUSELENS_CACHED(float)
REUSELENS_CACHED(double)
#undef REUSELENS_CACHED
#define REUSELENS_CACHED(type)                                                                     \
  REUSELENS_DEVICE type __ldcg(const type *p) { return *p; }                                       \
  REUSELENS_DEVICE type __ldca(const type *p) { return *p; }                                       \
  REUSELENS_DEVICE type __ldcs(const type *p) { return *p; }                                       \
  REUSELENS_STORED(type)
REUSELENS_CACHED(int2)
REUSELENS_CACHED(int4)
REUSELENS_CACHED(uint2)
REUSELENS_CACHED(uint4)
REUSELENS_CACHED(float2)
REUSELENS_CACHED(float4)
REUSELENS_CACHED(double2)

// Products of bytes and half words, summed up.
REUSELENS_DEVICE int __dp4a(int a, int b, int c) {
  int d;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
REUSELENS_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  unsigned d;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
#endif
