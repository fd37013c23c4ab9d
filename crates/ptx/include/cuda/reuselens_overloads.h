// Overloads for floats of device functions that clang's headers declare and leave to CUDA's, and
// of those that only CUDA has.
#ifndef REUSELENS_OVERLOADS_H
#define REUSELENS_OVERLOADS_H
#define REUSELENS_FLOAT_ONE(name)                                                                  \
  REUSELENS_DEVICE float name(float a) { return name##f(a); }
#define REUSELENS_FLOAT_TWO(name)                                                                  \
  REUSELENS_DEVICE float name(float a, float b) { return name##f(a, b); }
#define REUSELENS_WHOLE(type, name)                                                                \
  REUSELENS_DEVICE type name(float a) { return name##f(a); }
REUSELENS_FLOAT_ONE(acosh)
REUSELENS_FLOAT_ONE(asinh)
REUSELENS_FLOAT_ONE(atanh)
REUSELENS_FLOAT_ONE(cbrt)
REUSELENS_FLOAT_ONE(erf)
REUSELENS_FLOAT_ONE(erfc)
REUSELENS_FLOAT_ONE(exp2)
REUSELENS_FLOAT_ONE(expm1)
REUSELENS_FLOAT_ONE(lgamma)
REUSELENS_FLOAT_ONE(log1p)
REUSELENS_FLOAT_ONE(log2)
REUSELENS_FLOAT_ONE(logb)
REUSELENS_FLOAT_ONE(nearbyint)
REUSELENS_FLOAT_ONE(rint)
REUSELENS_FLOAT_ONE(round)
REUSELENS_FLOAT_ONE(tgamma)
REUSELENS_FLOAT_ONE(trunc)
REUSELENS_FLOAT_TWO(copysign)
REUSELENS_FLOAT_TWO(fdim)
REUSELENS_FLOAT_TWO(fmax)
REUSELENS_FLOAT_TWO(fmin)
REUSELENS_FLOAT_TWO(hypot)
REUSELENS_FLOAT_TWO(nextafter)
REUSELENS_FLOAT_TWO(remainder)
REUSELENS_WHOLE(int, ilogb)
REUSELENS_WHOLE(long, lrint)
REUSELENS_WHOLE(long, lround)
REUSELENS_WHOLE(long long, llrint)
REUSELENS_WHOLE(long long, llround)
REUSELENS_DEVICE float fma(float a, float b, float c) { return fmaf(a, b, c); }
REUSELENS_DEVICE float scalbn(float a, int n) { return scalbnf(a, n); }
REUSELENS_DEVICE float scalbln(float a, long n) { return scalblnf(a, n); }
// What only CUDA has.
REUSELENS_FLOAT_ONE(cospi)
REUSELENS_FLOAT_ONE(erfcinv)
REUSELENS_FLOAT_ONE(erfcx)
REUSELENS_FLOAT_ONE(erfinv)
REUSELENS_FLOAT_ONE(exp10)
REUSELENS_FLOAT_ONE(normcdf)
REUSELENS_FLOAT_ONE(normcdfinv)
REUSELENS_FLOAT_ONE(rcbrt)
REUSELENS_FLOAT_ONE(rsqrt)
REUSELENS_FLOAT_ONE(sinpi)
REUSELENS_FLOAT_TWO(rhypot)
REUSELENS_DEVICE void sincos(float a, float *sine, float *cosine) { sincosf(a, sine, cosine); }
REUSELENS_DEVICE void sincospi(float a, float *sine, float *cosine) { sincospif(a, sine, cosine); }
#endif
