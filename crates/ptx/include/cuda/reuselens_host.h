// Functions that CUDA gives to host code too.
#ifndef REUSELENS_HOST_H
#define REUSELENS_HOST_H
#define REUSELENS_HOST static __inline__ __attribute__((host, always_inline))
#define REUSELENS_HOST_MINMAX(type)                                                                \
  REUSELENS_HOST type min(type a, type b) { return b < a ? b : a; }                                \
  REUSELENS_HOST type max(type a, type b) { return a < b ? b : a; }
REUSELENS_HOST_MINMAX(int)
REUSELENS_HOST_MINMAX(unsigned)
REUSELENS_HOST_MINMAX(long)
REUSELENS_HOST_MINMAX(unsigned long)
REUSELENS_HOST_MINMAX(long long)
REUSELENS_HOST_MINMAX(unsigned long long)
REUSELENS_HOST_MINMAX(float)
REUSELENS_HOST_MINMAX(double)
#define REUSELENS_HOST_MIXED(wide, other)                                                          \
  REUSELENS_HOST wide min(wide a, other b) { return min(a, (wide)b); }                             \
  REUSELENS_HOST wide min(other a, wide b) { return min((wide)a, b); }                             \
  REUSELENS_HOST wide max(wide a, other b) { return max(a, (wide)b); }                             \
  REUSELENS_HOST wide max(other a, wide b) { return max((wide)a, b); }
REUSELENS_HOST_MIXED(unsigned, int)
REUSELENS_HOST_MIXED(unsigned long, long)
REUSELENS_HOST_MIXED(unsigned long long, long long)
REUSELENS_HOST_MIXED(double, float)
REUSELENS_HOST float rsqrtf(float a) { return 1.0f / __builtin_sqrtf(a); }
REUSELENS_HOST double rsqrt(double a) { return 1.0 / __builtin_sqrt(a); }
REUSELENS_HOST float rcbrtf(float a) { return 1.0f / __builtin_cbrtf(a); }
REUSELENS_HOST double rcbrt(double a) { return 1.0 / __builtin_cbrt(a); }
#endif
