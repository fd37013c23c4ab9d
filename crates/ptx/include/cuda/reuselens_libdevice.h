// What clang's headers take from NVIDIA's `libdevice`: one instruction each, or a few. The
// functions of mathematics are in reuselens_math.h.
#ifndef REUSELENS_LIBDEVICE_H
#define REUSELENS_LIBDEVICE_H
#define REUSELENS_NV extern "C" __inline__ __attribute__((device, always_inline))
#define REUSELENS_MATH static __inline__ __attribute__((device, always_inline))
#include "reuselens_math.h"

// Arithmetic in the four directions: CUDA's names for them, and PTX's.
#define REUSELENS_ROUNDED(cuda, ptx)                                                               \
  REUSELENS_NV float __nv_fadd_##cuda(float a, float b) { return __nvvm_add_##ptx##_f(a, b); }     \
  REUSELENS_NV float __nv_fsub_##cuda(float a, float b) { return __nvvm_add_##ptx##_f(a, -b); }    \
  REUSELENS_NV float __nv_fmul_##cuda(float a, float b) { return __nvvm_mul_##ptx##_f(a, b); }     \
  REUSELENS_NV float __nv_fdiv_##cuda(float a, float b) { return __nvvm_div_##ptx##_f(a, b); }     \
  REUSELENS_NV float __nv_frcp_##cuda(float a) { return __nvvm_rcp_##ptx##_f(a); }                 \
  REUSELENS_NV float __nv_fsqrt_##cuda(float a) { return __nvvm_sqrt_##ptx##_f(a); }               \
  REUSELENS_NV float __nv_fmaf_##cuda(float a, float b, float c) {                                 \
    return __nvvm_fma_##ptx##_f(a, b, c);                                                          \
  }                                                                                                \
  REUSELENS_NV float __nv_fmaf_ieee_##cuda(float a, float b, float c) {                            \
    return __nvvm_fma_##ptx##_f(a, b, c);                                                          \
  }                                                                                                \
  REUSELENS_NV double __nv_dadd_##cuda(double a, double b) { return __nvvm_add_##ptx##_d(a, b); }  \
  REUSELENS_NV double __nv_dsub_##cuda(double a, double b) { return __nvvm_add_##ptx##_d(a, -b); } \
  REUSELENS_NV double __nv_dmul_##cuda(double a, double b) { return __nvvm_mul_##ptx##_d(a, b); }  \
  REUSELENS_NV double __nv_ddiv_##cuda(double a, double b) { return __nvvm_div_##ptx##_d(a, b); }  \
  REUSELENS_NV double __nv_drcp_##cuda(double a) { return __nvvm_rcp_##ptx##_d(a); }               \
  REUSELENS_NV double __nv_dsqrt_##cuda(double a) { return __nvvm_sqrt_##ptx##_d(a); }             \
  REUSELENS_NV double __nv_fma_##cuda(double a, double b, double c) {                              \
    return __nvvm_fma_##ptx##_d(a, b, c);                                                          \
  }                                                                                                \
  REUSELENS_NV float __nv_double2float_##cuda(double a) { return __nvvm_d2f_##ptx(a); }            \
  REUSELENS_NV int __nv_double2int_##cuda(double a) { return __nvvm_d2i_##ptx(a); }                \
  REUSELENS_NV unsigned __nv_double2uint_##cuda(double a) { return __nvvm_d2ui_##ptx(a); }         \
  REUSELENS_NV long long __nv_double2ll_##cuda(double a) { return __nvvm_d2ll_##ptx(a); }          \
  REUSELENS_NV unsigned long long __nv_double2ull_##cuda(double a) { return __nvvm_d2ull_##ptx(a); } \
  REUSELENS_NV int __nv_float2int_##cuda(float a) { return __nvvm_f2i_##ptx(a); }                  \
  REUSELENS_NV unsigned __nv_float2uint_##cuda(float a) { return __nvvm_f2ui_##ptx(a); }           \
  REUSELENS_NV long long __nv_float2ll_##cuda(float a) { return __nvvm_f2ll_##ptx(a); }            \
  REUSELENS_NV unsigned long long __nv_float2ull_##cuda(float a) { return __nvvm_f2ull_##ptx(a); } \
  REUSELENS_NV float __nv_int2float_##cuda(int a) { return __nvvm_i2f_##ptx(a); }                  \
  REUSELENS_NV float __nv_uint2float_##cuda(unsigned a) { return __nvvm_ui2f_##ptx(a); }           \
  REUSELENS_NV float __nv_ll2float_##cuda(long long a) { return __nvvm_ll2f_##ptx(a); }            \
  REUSELENS_NV float __nv_ull2float_##cuda(unsigned long long a) { return __nvvm_ull2f_##ptx(a); } \
  REUSELENS_NV double __nv_ll2double_##cuda(long long a) { return __nvvm_ll2d_##ptx(a); }          \
  REUSELENS_NV double __nv_ull2double_##cuda(unsigned long long a) { return __nvvm_ull2d_##ptx(a); }
REUSELENS_ROUNDED(rn, rn)
REUSELENS_ROUNDED(rz, rz)
REUSELENS_ROUNDED(ru, rp)
REUSELENS_ROUNDED(rd, rm)
REUSELENS_NV double __nv_int2double_rn(int a) { return a; }
REUSELENS_NV double __nv_uint2double_rn(unsigned a) { return a; }
REUSELENS_NV float __nv_frsqrt_rn(float a) { return (float)(1.0 / __builtin_sqrt((double)a)); }

// Bits.
REUSELENS_NV int __nv_brev(int a) { return (int)__builtin_bitreverse32((unsigned)a); }
REUSELENS_NV long long __nv_brevll(long long a) { return (long long)__builtin_bitreverse64((unsigned long long)a); }
REUSELENS_NV int __nv_byte_perm(int a, int b, int c) { return __nvvm_prmt(a, b, c); }
REUSELENS_NV int __nv_clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
REUSELENS_NV int __nv_clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
REUSELENS_NV int __nv_ffs(int a) { return a ? __builtin_ctz((unsigned)a) + 1 : 0; }
REUSELENS_NV int __nv_ffsll(long long a) { return a ? __builtin_ctzll((unsigned long long)a) + 1 : 0; }
REUSELENS_NV int __nv_popc(unsigned a) { return __builtin_popcount(a); }
REUSELENS_NV int __nv_popcll(unsigned long long a) { return __builtin_popcountll(a); }
REUSELENS_NV int __nv_double2hiint(double a) { return __nvvm_d2i_hi(a); }
REUSELENS_NV int __nv_double2loint(double a) { return __nvvm_d2i_lo(a); }
REUSELENS_NV double __nv_hiloint2double(int high, int low) { return __nvvm_lohi_i2d(low, high); }
REUSELENS_NV unsigned long long __nv_double_as_longlong(double a) { return __builtin_bit_cast(unsigned long long, a); }
REUSELENS_NV double __nv_longlong_as_double(long long a) { return __builtin_bit_cast(double, a); }
REUSELENS_NV int __nv_float_as_int(float a) { return __builtin_bit_cast(int, a); }
REUSELENS_NV unsigned __nv_float_as_uint(float a) { return __builtin_bit_cast(unsigned, a); }
REUSELENS_NV float __nv_int_as_float(int a) { return __builtin_bit_cast(float, a); }
REUSELENS_NV float __nv_uint_as_float(unsigned a) { return __builtin_bit_cast(float, a); }
REUSELENS_NV float __nv_half2float(unsigned short h) { return (float)__builtin_bit_cast(__fp16, h); }
REUSELENS_NV unsigned short __nv_float2half_rn(float a) { return (unsigned short)__nvvm_f2h_rn(a); }

// Integers.
REUSELENS_NV int __nv_abs(int a) { return a < 0 ? (int)-(unsigned)a : a; }
REUSELENS_NV long long __nv_llabs(long long a) { return a < 0 ? (long long)-(unsigned long long)a : a; }
REUSELENS_NV int __nv_min(int a, int b) { return a < b ? a : b; }
REUSELENS_NV int __nv_max(int a, int b) { return a > b ? a : b; }
REUSELENS_NV unsigned __nv_umin(unsigned a, unsigned b) { return a < b ? a : b; }
REUSELENS_NV unsigned __nv_umax(unsigned a, unsigned b) { return a > b ? a : b; }
REUSELENS_NV long long __nv_llmin(long long a, long long b) { return a < b ? a : b; }
REUSELENS_NV long long __nv_llmax(long long a, long long b) { return a > b ? a : b; }
REUSELENS_NV unsigned long long __nv_ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
REUSELENS_NV unsigned long long __nv_ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
REUSELENS_NV int __nv_mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
REUSELENS_NV unsigned __nv_umul24(unsigned a, unsigned b) { return __nvvm_mul24_ui(a, b); }
REUSELENS_NV int __nv_mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
REUSELENS_NV unsigned __nv_umulhi(unsigned a, unsigned b) { return __nvvm_mulhi_ui(a, b); }
REUSELENS_NV long long __nv_mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
REUSELENS_NV unsigned long long __nv_umul64hi(unsigned long long a, unsigned long long b) { return __nvvm_mulhi_ull(a, b); }
REUSELENS_NV int __nv_sad(int a, int b, int c) { return __nvvm_sad_i(a, b, c); }
REUSELENS_NV unsigned __nv_usad(unsigned a, unsigned b, unsigned c) { return __nvvm_sad_ui(a, b, c); }
REUSELENS_NV int __nv_hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
REUSELENS_NV int __nv_rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
REUSELENS_NV int __nv_uhadd(unsigned a, unsigned b) { return (int)(((unsigned long long)a + b) >> 1); }
REUSELENS_NV unsigned __nv_urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }

// Numbers: what one instruction does.
#define REUSELENS_PAIR(name, type, suffix)                                                         \
  REUSELENS_NV type __nv_ceil##name(type a) { return __builtin_ceil##name(a); }                    \
  REUSELENS_NV type __nv_floor##name(type a) { return __builtin_floor##name(a); }                  \
  REUSELENS_NV type __nv_trunc##name(type a) { return __builtin_trunc##name(a); }                  \
  REUSELENS_NV type __nv_rint##name(type a) { return __builtin_rint##name(a); }                    \
  REUSELENS_NV type __nv_nearbyint##name(type a) { return __builtin_rint##name(a); }               \
  REUSELENS_NV type __nv_fabs##name(type a) { return __builtin_fabs##name(a); }                    \
  REUSELENS_NV type __nv_copysign##name(type a, type b) { return __builtin_copysign##name(a, b); } \
  REUSELENS_NV type __nv_fmin##name(type a, type b) { return __nvvm_fmin_##suffix(a, b); }         \
  REUSELENS_NV type __nv_fmax##name(type a, type b) { return __nvvm_fmax_##suffix(a, b); }         \
  REUSELENS_NV type __nv_sqrt##name(type a) { return __nvvm_sqrt_rn_##suffix(a); }                 \
  REUSELENS_NV type __nv_fma##name(type a, type b, type c) { return __builtin_fma##name(a, b, c); } \
  REUSELENS_NV type __nv_fdim##name(type a, type b) { return a <= b ? 0 : a - b; }                 \
  REUSELENS_NV long long __nv_llrint##name(type a) { return (long long)__builtin_rint##name(a); }  \
  REUSELENS_NV type __nv_round##name(type a) {                                                     \
    /* Half is added to the magnitude, less an ulp so that it does not round up what is below. */  \
    return __builtin_trunc##name(a + __builtin_copysign##name((type)REUSELENS_HALF_##suffix, a));  \
  }                                                                                                \
  REUSELENS_NV long long __nv_llround##name(type a) { return (long long)__nv_round##name(a); }
#define REUSELENS_HALF_f 0x1.fffffep-2f
#define REUSELENS_HALF_d 0x1.fffffffffffffp-2
REUSELENS_PAIR(f, float, f)
REUSELENS_PAIR(, double, d)
REUSELENS_NV float __nv_saturatef(float a) { return __nvvm_saturate_f(a); }
REUSELENS_NV int __nv_isnanf(float a) { return a != a; }
REUSELENS_NV int __nv_isnand(double a) { return a != a; }
REUSELENS_NV int __nv_isinff(float a) { return __builtin_fabsf(a) == __builtin_inff(); }
REUSELENS_NV int __nv_isinfd(double a) { return __builtin_fabs(a) == __builtin_inf(); }
REUSELENS_NV int __nv_finitef(float a) { return __builtin_fabsf(a) < __builtin_inff(); }
REUSELENS_NV int __nv_isfinited(double a) { return __builtin_fabs(a) < __builtin_inf(); }
REUSELENS_NV int __nv_signbitf(float a) { return __builtin_bit_cast(int, a) < 0; }
REUSELENS_NV int __nv_signbitd(double a) { return __builtin_bit_cast(long long, a) < 0; }
REUSELENS_NV float __nv_nanf(const signed char *) { return __builtin_nanf(""); }
REUSELENS_NV double __nv_nan(const signed char *) { return __builtin_nan(""); }
REUSELENS_NV float __nv_rsqrtf(float a) { return __nvvm_rsqrt_approx_f(a); }
REUSELENS_NV double __nv_rsqrt(double a) { return 1.0 / __builtin_sqrt(a); }
REUSELENS_NV double __nv_rcp64h(double a) { return __nvvm_rcp_approx_ftz_d(a); }

// The fast ones.
REUSELENS_NV float __nv_fast_sinf(float a) { return __nvvm_sin_approx_f(a); }
REUSELENS_NV float __nv_fast_cosf(float a) { return __nvvm_cos_approx_f(a); }
REUSELENS_NV float __nv_fast_tanf(float a) { return __nvvm_div_approx_f(__nvvm_sin_approx_f(a), __nvvm_cos_approx_f(a)); }
REUSELENS_NV void __nv_fast_sincosf(float a, float *sine, float *cosine) {
  *sine = __nvvm_sin_approx_f(a);
  *cosine = __nvvm_cos_approx_f(a);
}
REUSELENS_NV float __nv_fast_expf(float a) { return __nvvm_ex2_approx_f(a * 1.4426950408889634f); }
REUSELENS_NV float __nv_fast_exp10f(float a) { return __nvvm_ex2_approx_f(a * 3.3219280948873623f); }
REUSELENS_NV float __nv_fast_log2f(float a) { return __nvvm_lg2_approx_f(a); }
REUSELENS_NV float __nv_fast_logf(float a) { return __nvvm_lg2_approx_f(a) * 0.6931471805599453f; }
REUSELENS_NV float __nv_fast_log10f(float a) { return __nvvm_lg2_approx_f(a) * 0.3010299956639812f; }
REUSELENS_NV float __nv_fast_powf(float a, float b) { return __nvvm_ex2_approx_f(b * __nvvm_lg2_approx_f(a)); }
REUSELENS_NV float __nv_fast_fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }

// Mathematics: each function for doubles, and for floats by that for doubles or by its own.
#define REUSELENS_ONE(name, of_float)                                                              \
  REUSELENS_NV double __nv_##name(double a) { return reuselens_##name(a); }                        \
  REUSELENS_NV float __nv_##name##f(float a) { return (float)of_float((double)a); }
REUSELENS_ONE(exp, reuselens_short_exp)
REUSELENS_ONE(exp2, reuselens_exp2)
REUSELENS_ONE(exp10, reuselens_exp10)
REUSELENS_ONE(expm1, reuselens_expm1)
REUSELENS_ONE(log, reuselens_log)
REUSELENS_ONE(log2, reuselens_log2)
REUSELENS_ONE(log10, reuselens_log10)
REUSELENS_ONE(log1p, reuselens_log1p)
REUSELENS_ONE(sin, reuselens_short_sin)
REUSELENS_ONE(cos, reuselens_short_cos)
REUSELENS_ONE(tan, reuselens_short_tan)
REUSELENS_ONE(sinpi, reuselens_sinpi)
REUSELENS_ONE(cospi, reuselens_cospi)
REUSELENS_ONE(asin, reuselens_asin)
REUSELENS_ONE(acos, reuselens_acos)
REUSELENS_ONE(atan, reuselens_atan)
REUSELENS_ONE(sinh, reuselens_sinh)
REUSELENS_ONE(cosh, reuselens_cosh)
REUSELENS_ONE(tanh, reuselens_tanh)
REUSELENS_ONE(asinh, reuselens_asinh)
REUSELENS_ONE(acosh, reuselens_acosh)
REUSELENS_ONE(atanh, reuselens_atanh)
REUSELENS_ONE(cbrt, reuselens_cbrt)
REUSELENS_ONE(rcbrt, reuselens_rcbrt)
REUSELENS_ONE(erf, reuselens_erf)
REUSELENS_ONE(erfc, reuselens_erfc)
REUSELENS_ONE(erfcx, reuselens_erfcx)
REUSELENS_ONE(erfinv, reuselens_erfinv)
REUSELENS_ONE(erfcinv, reuselens_erfcinv)
REUSELENS_ONE(normcdf, reuselens_normcdf)
REUSELENS_ONE(normcdfinv, reuselens_normcdfinv)
REUSELENS_ONE(lgamma, reuselens_lgamma)
REUSELENS_ONE(tgamma, reuselens_tgamma)
REUSELENS_ONE(logb, reuselens_logb)
#define REUSELENS_TWO(name, of_float)                                                              \
  REUSELENS_NV double __nv_##name(double a, double b) { return reuselens_##name(a, b); }           \
  REUSELENS_NV float __nv_##name##f(float a, float b) { return (float)of_float((double)a, (double)b); }
REUSELENS_TWO(pow, reuselens_short_pow)
REUSELENS_TWO(atan2, reuselens_atan2)
REUSELENS_TWO(hypot, reuselens_short_hypot)
REUSELENS_TWO(fmod, reuselens_fmod)
REUSELENS_TWO(remainder, reuselens_remainder)
REUSELENS_NV double __nv_rhypot(double a, double b) { return 1.0 / reuselens_hypot(a, b); }
REUSELENS_NV float __nv_rhypotf(float a, float b) { return (float)(1.0 / reuselens_short_hypot(a, b)); }
REUSELENS_NV double __nv_nextafter(double a, double b) { return reuselens_nextafter(a, b); }
REUSELENS_NV float __nv_nextafterf(float a, float b) { return reuselens_nextafterf(a, b); }
REUSELENS_NV double __nv_powi(double a, int b) { return reuselens_pow(a, b); }
REUSELENS_NV float __nv_powif(float a, int b) { return (float)reuselens_short_pow(a, b); }
REUSELENS_NV double __nv_ldexp(double a, int n) { return reuselens_ldexp(a, n); }
REUSELENS_NV float __nv_ldexpf(float a, int n) { return (float)reuselens_ldexp(a, n); }
REUSELENS_NV double __nv_scalbn(double a, int n) { return reuselens_ldexp(a, n); }
REUSELENS_NV float __nv_scalbnf(float a, int n) { return (float)reuselens_ldexp(a, n); }
REUSELENS_NV int __nv_ilogb(double a) { return reuselens_ilogb(a); }
REUSELENS_NV int __nv_ilogbf(float a) { return reuselens_ilogb(a); }
REUSELENS_NV double __nv_frexp(double a, int *n) { return reuselens_frexp(a, n); }
REUSELENS_NV float __nv_frexpf(float a, int *n) { return (float)reuselens_frexp(a, n); }
REUSELENS_NV double __nv_modf(double a, double *whole) { return reuselens_modf(a, whole); }
REUSELENS_NV float __nv_modff(float a, float *whole) {
  double part, rest = reuselens_modf(a, &part);
  *whole = (float)part;
  return (float)rest;
}
REUSELENS_NV double __nv_remquo(double a, double b, int *quotient) { return reuselens_remquo(a, b, quotient); }
REUSELENS_NV float __nv_remquof(float a, float b, int *quotient) { return (float)reuselens_remquo(a, b, quotient); }
REUSELENS_NV void __nv_sincos(double a, double *sine, double *cosine) { reuselens_sincos(a, sine, cosine); }
REUSELENS_NV void __nv_sincosf(float a, float *sine, float *cosine) {
  double s, c;
  reuselens_short_sincos(a, &s, &c);
  *sine = (float)s;
  *cosine = (float)c;
}
REUSELENS_NV void __nv_sincospi(double a, double *sine, double *cosine) {
  *sine = reuselens_sinpi(a);
  *cosine = reuselens_cospi(a);
}
REUSELENS_NV void __nv_sincospif(float a, float *sine, float *cosine) {
  *sine = (float)reuselens_sinpi(a);
  *cosine = (float)reuselens_cospi(a);
}

// Lengths.
REUSELENS_NV double __nv_norm3d(double a, double b, double c) { return reuselens_hypot(reuselens_hypot(a, b), c); }
REUSELENS_NV double __nv_norm4d(double a, double b, double c, double d) {
  return reuselens_hypot(reuselens_hypot(a, b), reuselens_hypot(c, d));
}
REUSELENS_NV double __nv_norm(int n, const double *p) {
  double length = 0;
  for (int i = 0; i < n; i++) length = reuselens_hypot(length, p[i]);
  return length;
}
REUSELENS_NV float __nv_norm3df(float a, float b, float c) {
  return (float)__builtin_sqrt((double)a * a + (double)b * b + (double)c * c);
}
REUSELENS_NV float __nv_norm4df(float a, float b, float c, float d) {
  return (float)__builtin_sqrt((double)a * a + (double)b * b + (double)c * c + (double)d * d);
}
REUSELENS_NV float __nv_normf(int n, const float *p) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += (double)p[i] * p[i];
  return (float)__builtin_sqrt(sum);
}
REUSELENS_NV double __nv_rnorm3d(double a, double b, double c) { return 1.0 / __nv_norm3d(a, b, c); }
REUSELENS_NV double __nv_rnorm4d(double a, double b, double c, double d) { return 1.0 / __nv_norm4d(a, b, c, d); }
REUSELENS_NV double __nv_rnorm(int n, const double *p) { return 1.0 / __nv_norm(n, p); }
REUSELENS_NV float __nv_rnorm3df(float a, float b, float c) { return 1.0f / __nv_norm3df(a, b, c); }
REUSELENS_NV float __nv_rnorm4df(float a, float b, float c, float d) { return 1.0f / __nv_norm4df(a, b, c, d); }
REUSELENS_NV float __nv_rnormf(int n, const float *p) { return 1.0f / __nv_normf(n, p); }
#endif
