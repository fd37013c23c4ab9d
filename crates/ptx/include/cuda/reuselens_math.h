// Functions of mathematics for device code, in double precision.
//
// They follow the definitions: arguments are reduced until a few terms of a Taylor series suffice,
// so most coefficients are 1/n! or 1/n. `reuselens_short_...` are for results that are rounded to
// floats. The errors against glibc are in docs/commands/nvcc.md, and a test measures them.
//
// The text is C++ without CUDA, so that the host can compile and test it.
#ifndef REUSELENS_MATH_H
#define REUSELENS_MATH_H
typedef unsigned long long reuselens_bits;

// A number as a sum of two, the second below the first's last bit.
struct reuselens_sum {
  double high, low;
};

#define REUSELENS_INFINITY __builtin_inf()
#define REUSELENS_NAN __builtin_nan("")
#define REUSELENS_PI_2 0x1.921fb54442d18p+0
#define REUSELENS_PI_2_LOW 0x1.1a62633145c07p-54
#define REUSELENS_LN2 0x1.62e42fefa39efp-1
#define REUSELENS_LN2_LOW 0x1.abc9e3b39803fp-56

REUSELENS_MATH reuselens_bits reuselens_to_bits(double x) { return __builtin_bit_cast(reuselens_bits, x); }
REUSELENS_MATH double reuselens_of_bits(reuselens_bits b) { return __builtin_bit_cast(double, b); }
// 2 to the power of n, for n from -1022 to 1023.
REUSELENS_MATH double reuselens_two_to(int n) { return reuselens_of_bits((reuselens_bits)(1023 + n) << 52); }
// x * 2^n for x near 1: the first factor is exact, the second rounds once.
REUSELENS_MATH double reuselens_scale(double x, int n) {
  int half = n / 2;
  return x * reuselens_two_to(half) * reuselens_two_to(n - half);
}
REUSELENS_MATH double reuselens_with_sign(double magnitude, double sign) { return __builtin_copysign(magnitude, sign); }
// A polynomial by Horner's rule: one step, from the highest coefficient to the constant.
#define REUSELENS_STEP(p, x, c) p = __builtin_fma(p, x, c)

// Exactly a * b.
REUSELENS_MATH reuselens_sum reuselens_product(double a, double b) {
#pragma clang fp contract(off)
  double p = a * b;
  return {p, __builtin_fma(a, b, -p)};
}
// a + b for |a| >= |b|, exactly.
REUSELENS_MATH reuselens_sum reuselens_fast_sum(double a, double b) {
#pragma clang fp contract(off)
  double s = a + b;
  return {s, b - (s - a)};
}
REUSELENS_MATH reuselens_sum reuselens_times(reuselens_sum a, reuselens_sum b) {
  reuselens_sum p = reuselens_product(a.high, b.high);
  return reuselens_fast_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

// --- Powers of e and 2 ---

// (e^r - 1 - r) / r^2 for |r| <= 0.35: 1/2! + r/3! + ...
REUSELENS_MATH double reuselens_exp_tail(double r) {
  double p = 1.0 / 6227020800.0;
  REUSELENS_STEP(p, r, 1.0 / 479001600.0);
  REUSELENS_STEP(p, r, 1.0 / 39916800.0);
  REUSELENS_STEP(p, r, 1.0 / 3628800.0);
  REUSELENS_STEP(p, r, 1.0 / 362880.0);
  REUSELENS_STEP(p, r, 1.0 / 40320.0);
  REUSELENS_STEP(p, r, 1.0 / 5040.0);
  REUSELENS_STEP(p, r, 1.0 / 720.0);
  REUSELENS_STEP(p, r, 1.0 / 120.0);
  REUSELENS_STEP(p, r, 1.0 / 24.0);
  REUSELENS_STEP(p, r, 1.0 / 6.0);
  REUSELENS_STEP(p, r, 1.0 / 2.0);
  return p;
}
// 2^n * e^(r + low) for |r| <= 0.35 and a small low part.
REUSELENS_MATH double reuselens_exp_reduced(double r, double low, double n) {
  reuselens_sum sum = reuselens_fast_sum(r, low);
  r = sum.high;
  double e = 1.0 + (r + __builtin_fma(r * r, reuselens_exp_tail(r), sum.low));
  return reuselens_scale(e, (int)n);
}
REUSELENS_MATH double reuselens_exp_sum(double x, double low) {
  // Beyond these the result is infinite or zero; no number passes.
  double c = x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x;
  double n = __builtin_rint(c * 0x1.71547652b82fep+0);
  double r = __builtin_fma(-n, REUSELENS_LN2, c);
  double e = reuselens_exp_reduced(r, __builtin_fma(-n, REUSELENS_LN2_LOW, low), n);
  return x == x ? e : x;
}
REUSELENS_MATH double reuselens_exp(double x) { return reuselens_exp_sum(x, 0); }
REUSELENS_MATH double reuselens_short_exp(double x) {
  double c = x > 90.0 ? 90.0 : x < -105.0 ? -105.0 : x;
  double n = __builtin_rint(c * 0x1.71547652b82fep+0);
  double r = __builtin_fma(-n, REUSELENS_LN2, c);
  double p = 1.0 / 40320.0;
  REUSELENS_STEP(p, r, 1.0 / 5040.0);
  REUSELENS_STEP(p, r, 1.0 / 720.0);
  REUSELENS_STEP(p, r, 1.0 / 120.0);
  REUSELENS_STEP(p, r, 1.0 / 24.0);
  REUSELENS_STEP(p, r, 1.0 / 6.0);
  REUSELENS_STEP(p, r, 1.0 / 2.0);
  REUSELENS_STEP(p, r, 1.0);
  REUSELENS_STEP(p, r, 1.0);
  return x == x ? p * reuselens_two_to((int)n) : x;
}
REUSELENS_MATH double reuselens_exp2(double x) {
  double c = x > 1025.0 ? 1025.0 : x < -1080.0 ? -1080.0 : x;
  double n = __builtin_rint(c), r = c - n;
  double h = r * REUSELENS_LN2;
  double low = __builtin_fma(r, REUSELENS_LN2, -h) + r * REUSELENS_LN2_LOW;
  double e = reuselens_exp_reduced(h, low, n);
  return x == x ? e : x;
}
REUSELENS_MATH double reuselens_exp10(double x) {
  double c = x > 310.0 ? 310.0 : x < -330.0 ? -330.0 : x;
  double n = __builtin_rint(c * 0x1.a934f0979a371p+1);
  double r = __builtin_fma(-n, 0x1.34413509f79ffp-2, c), low = n * 0x1.9dc1da994fd21p-59;
  double h = r * 0x1.26bb1bbb55516p+1;
  low = __builtin_fma(r, 0x1.26bb1bbb55516p+1, -h) + low * 0x1.26bb1bbb55516p+1 - r * 0x1.f48ad494ea3e9p-53;
  double e = reuselens_exp_reduced(h, low, n);
  return x == x ? e : x;
}
REUSELENS_MATH double reuselens_expm1(double x) {
  double c = x > 710.0 ? 710.0 : x < -60.0 ? -60.0 : x;
  double n = __builtin_rint(c * 0x1.71547652b82fep+0);
  reuselens_sum r = reuselens_fast_sum(__builtin_fma(-n, REUSELENS_LN2, c), -n * REUSELENS_LN2_LOW);
  double y = r.high + __builtin_fma(r.high * r.high, reuselens_exp_tail(r.high), r.low);
  // 2^n (1 + y) - 1: the difference of the powers is exact where it matters.
  double e = n > 60.0 ? reuselens_scale(1.0 + y, (int)n) - 1.0
                      : __builtin_fma(reuselens_two_to((int)n), y, reuselens_two_to((int)n) - 1.0);
  return x == 0 || x != x ? x : e;
}

// --- Logarithms ---

// A positive number as m * 2^e, with m from sqrt(1/2) to sqrt(2).
REUSELENS_MATH double reuselens_mantissa(double x, double *e) {
  double shifted = x < 0x1p-1022 ? x * 0x1p54 : x;
  reuselens_bits b = reuselens_to_bits(shifted);
  // The exponent of x / sqrt(1/2), rounded down.
  long long n = (long long)(b - 0x3fe6a09e667f3bcdull) >> 52;
  *e = (double)(int)n - (x < 0x1p-1022 ? 54.0 : 0.0);
  return reuselens_of_bits(b - ((reuselens_bits)n << 52));
}
// The logarithm of 0, of negative numbers, of infinity and of no number; `result` for others.
REUSELENS_MATH double reuselens_log_of_special(double x, double result) {
  double special = x == 0 ? -REUSELENS_INFINITY : x < 0 ? REUSELENS_NAN : x;
  return x > 0 && x < REUSELENS_INFINITY ? result : special;
}
// 2 (1/3 + z/5 + z^2/7 + ...) z for z = s^2 <= 0.0295: log((1 + s) / (1 - s)) = 2 s + s * this.
REUSELENS_MATH double reuselens_log_tail(double z) {
  double p = 2.0 / 21.0;
  REUSELENS_STEP(p, z, 2.0 / 19.0);
  REUSELENS_STEP(p, z, 2.0 / 17.0);
  REUSELENS_STEP(p, z, 2.0 / 15.0);
  REUSELENS_STEP(p, z, 2.0 / 13.0);
  REUSELENS_STEP(p, z, 2.0 / 11.0);
  REUSELENS_STEP(p, z, 2.0 / 9.0);
  REUSELENS_STEP(p, z, 2.0 / 7.0);
  REUSELENS_STEP(p, z, 2.0 / 5.0);
  REUSELENS_STEP(p, z, 2.0 / 3.0);
  return p * z;
}
// log(1 + f) + e ln 2 + low. 2 s = f - f^2/2 + s f^2/2 leaves f exact.
REUSELENS_MATH double reuselens_log_reduced(double f, double e, double low) {
  double s = f / (2.0 + f), half = 0.5 * f * f;
  double rest = __builtin_fma(s, half + reuselens_log_tail(s * s), __builtin_fma(e, REUSELENS_LN2_LOW, low));
  return __builtin_fma(e, REUSELENS_LN2, f - (half - rest));
}
REUSELENS_MATH double reuselens_log(double x) {
  double e, m = reuselens_mantissa(x, &e);
  return reuselens_log_of_special(x, reuselens_log_reduced(m - 1.0, e, 0));
}
REUSELENS_MATH double reuselens_log1p(double x) {
  double u = 1.0 + x, e, m = reuselens_mantissa(u, &e);
  // What 1 + x lost, relative to it.
  double lost = (u < 2.0 ? x - (u - 1.0) : 1.0 - (u - x)) / u;
  double f = e == 0 ? x : m - 1.0;
  double result = reuselens_log_reduced(f, e, e == 0 ? 0 : lost);
  return x == 0 ? x : reuselens_log_of_special(u, result);
}
// The logarithm to about 68 bits, of a positive finite number.
REUSELENS_MATH reuselens_sum reuselens_log_sum(double x) {
#pragma clang fp contract(off)
  double e, m = reuselens_mantissa(x, &e), f = m - 1.0;
  double t = m + 1.0, t_low = m - (t - 1.0);
  double s = f / t, s_low = (__builtin_fma(-s, t, f) - s * t_low) / t;
  reuselens_sum z = reuselens_product(s, s);
  z.low += 2 * s * s_low;
  // s^3 (2/3 + z (2/5 + 2/7 z + ...)), the first term in two parts.
  double q = 2.0 / 21.0;
  REUSELENS_STEP(q, z.high, 2.0 / 19.0);
  REUSELENS_STEP(q, z.high, 2.0 / 17.0);
  REUSELENS_STEP(q, z.high, 2.0 / 15.0);
  REUSELENS_STEP(q, z.high, 2.0 / 13.0);
  REUSELENS_STEP(q, z.high, 2.0 / 11.0);
  REUSELENS_STEP(q, z.high, 2.0 / 9.0);
  REUSELENS_STEP(q, z.high, 2.0 / 7.0);
  REUSELENS_STEP(q, z.high, 2.0 / 5.0);
  reuselens_sum c = reuselens_fast_sum(2.0 / 3.0, __builtin_fma(q, z.high, 0x1.5555555555555p-55));
  reuselens_sum cube = reuselens_times(reuselens_times(z, {s, s_low}), c);
  reuselens_sum log = reuselens_fast_sum(2 * s, cube.high);
  log.low += 2 * s_low + cube.low;
  reuselens_sum power = reuselens_product(e, REUSELENS_LN2);
  power.low += e * REUSELENS_LN2_LOW;
  reuselens_sum sum = e == 0 ? log : reuselens_fast_sum(power.high, log.high);
  double low = e == 0 ? 0 : sum.low + power.low;
  return reuselens_fast_sum(sum.high, e == 0 ? sum.low : low + log.low);
}
REUSELENS_MATH double reuselens_log2(double x) {
  double e, m = reuselens_mantissa(x, &e);
  reuselens_sum log = reuselens_log_sum(m);
  double h = log.high * 0x1.71547652b82fep+0;
  double low = __builtin_fma(log.high, 0x1.71547652b82fep+0, -h) + log.high * 0x1.777d0ffda0d24p-56 + log.low * 0x1.71547652b82fep+0;
  reuselens_sum sum = reuselens_fast_sum(e == 0 ? h : e, e == 0 ? 0 : h);
  return reuselens_log_of_special(x, sum.high + (sum.low + low));
}
REUSELENS_MATH double reuselens_log10(double x) {
  reuselens_sum log = reuselens_log_sum(x);
  double h = log.high * 0x1.bcb7b1526e50ep-2;
  double low = __builtin_fma(log.high, 0x1.bcb7b1526e50ep-2, -h) + log.high * 0x1.95355baaafad3p-57 + log.low * 0x1.bcb7b1526e50ep-2;
  return reuselens_log_of_special(x, h + low);
}

// --- Powers ---

// What x^y is for special arguments; `magnitude` is |x|^y for others.
REUSELENS_MATH double reuselens_pow_of_special(double x, double y, double magnitude) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y);
  bool whole = b >= 0x1p53 || __builtin_trunc(y) == y;
  bool odd = b < 0x1p53 && whole && ((long long)b & 1);
  double r = magnitude;
  if (a == 0 || a == REUSELENS_INFINITY) r = (a == 0) == (y < 0) ? REUSELENS_INFINITY : 0.0;
  else if (b == REUSELENS_INFINITY) r = a == 1.0 ? 1.0 : (a > 1.0) == (y > 0) ? REUSELENS_INFINITY : 0.0;
  if (__builtin_copysign(1.0, x) < 0) r = odd ? -r : whole || a == 0 || a == REUSELENS_INFINITY ? r : REUSELENS_NAN;
  if (x != x || y != y) r = x + y;
  return x == 1.0 || y == 0 ? 1.0 : r;
}
REUSELENS_MATH double reuselens_pow(double x, double y) {
  reuselens_sum log = reuselens_log_sum(__builtin_fabs(x));
  // A larger exponent overflows by itself, and its product would not be finite.
  double c = y > 0x1p64 ? 0x1p64 : y < -0x1p64 ? -0x1p64 : y;
  reuselens_sum p = reuselens_product(log.high, c);
  return reuselens_pow_of_special(x, y, reuselens_exp_sum(p.high, __builtin_fabs(p.high) < 800.0 ? p.low + log.low * c : 0.0));
}
REUSELENS_MATH double reuselens_short_pow(double x, double y) {
  double e, m = reuselens_mantissa(__builtin_fabs(x), &e);
  return reuselens_pow_of_special(x, y, reuselens_short_exp(reuselens_log_reduced(m - 1.0, e, 0) * y));
}
REUSELENS_MATH double reuselens_cbrt(double x) {
  double a = __builtin_fabs(x);
  double factor = a < 0x1p-1000 ? 0x1p54 : a > 0x1p1000 ? 0x1p-54 : 1.0;
  a *= factor;
  // A third of the exponent, to a few bits; each step then triples the right bits.
  double t = reuselens_of_bits(reuselens_to_bits(a) / 3 + 0x2a9f7893782da1ceull);
  for (int i = 0; i < 3; i++) {
    double c = t * t * t;
    t *= (c + 2 * a) / (2 * c + a);
  }
  reuselens_sum square = reuselens_product(t, t);
  double rest = __builtin_fma(-square.high, t, a) - square.low * t;
  t += rest / (3 * square.high);
  t *= factor == 1.0 ? 1.0 : factor > 1.0 ? 0x1p-18 : 0x1p18;
  return x == 0 || !(__builtin_fabs(x) < REUSELENS_INFINITY) ? x + x : reuselens_with_sign(t, x);
}
REUSELENS_MATH double reuselens_rcbrt(double x) { return 1.0 / reuselens_cbrt(x); }
REUSELENS_MATH double reuselens_short_hypot(double x, double y) { return __builtin_sqrt(x * x + y * y); }
REUSELENS_MATH double reuselens_hypot(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y);
  double most = a > b ? a : b, least = a > b ? b : a;
  // By a power of two, so that no square overflows or vanishes.
  double factor = most > 0x1p500 ? 0x1p-600 : most < 0x1p-400 ? 0x1p600 : 1.0;
  most *= factor;
  least *= factor;
  double r = __builtin_sqrt(__builtin_fma(most, most, least * least)) / factor;
  bool infinite = a == REUSELENS_INFINITY || b == REUSELENS_INFINITY;
  return infinite ? REUSELENS_INFINITY : x != x || y != y ? x + y : r;
}

// --- Angles ---

// Words of the binary digits of 2/pi, a word of zeros before them.
REUSELENS_MATH reuselens_bits reuselens_two_over_pi(int word) {
  static const reuselens_bits words[] = {
      0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
      0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
      0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
      0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
      0xf0cfbc209af4361d};
  return words[word];
}
// What a large angle leaves of a multiple of pi/2; the multiple, modulo 4, in `quadrant`. The
// product of its mantissa and the digits of 2/pi that matter (Payne and Hanek).
REUSELENS_MATH reuselens_sum reuselens_large_angle(double x, int *quadrant) {
  typedef unsigned __int128 wide;
  reuselens_bits b = reuselens_to_bits(x);
  reuselens_bits mantissa = (b & 0xfffffffffffffull) | 0x10000000000000ull;
  int exponent = (int)(b >> 52 & 0x7ff) - 1075;
  // The window of 192 digits whose first has the weight 2 in the product.
  int at = exponent + 62, word = at >> 6, shift = at & 63;
  reuselens_bits w[4], g[3];
  for (int i = 0; i < 4; i++) w[i] = reuselens_two_over_pi(word + i);
  for (int i = 0; i < 3; i++) g[i] = shift ? w[i] << shift | w[i + 1] >> (64 - shift) : w[i];
  wide low = (wide)mantissa * g[2], middle = (wide)mantissa * g[1] + (reuselens_bits)(low >> 64);
  reuselens_bits high = mantissa * g[0] + (reuselens_bits)(middle >> 64);
  wide product = (wide)high << 64 | (reuselens_bits)middle;
  int n = (int)(high >> 62);
  wide fraction = product << 2 | ((reuselens_bits)low >> 62);
  bool negative = (reuselens_bits)(fraction >> 64) >> 63;
  if (negative) {
    fraction = -fraction;
    n++;
  }
  reuselens_bits top = (reuselens_bits)(fraction >> 64), rest = (reuselens_bits)fraction;
  int zeros = top ? __builtin_clzll(top) : 64 + (rest ? __builtin_clzll(rest) : 63);
  fraction <<= zeros;
  top = (reuselens_bits)(fraction >> 64), rest = (reuselens_bits)fraction;
  double unit = reuselens_two_to(-64 - zeros) * (negative ? -1.0 : 1.0);
  double h = (double)(long long)(top >> 11) * 2048.0 * unit;
  double l = ((double)(long long)(top & 0x7ff) + (double)(long long)(rest >> 1) * 0x1p-63) * unit;
  if (__builtin_copysign(1.0, x) < 0) h = -h, l = -l, n = -n;
  *quadrant = n & 3;
  reuselens_sum r = reuselens_product(h, REUSELENS_PI_2);
  return reuselens_fast_sum(r.high, r.low + (h * REUSELENS_PI_2_LOW + l * REUSELENS_PI_2));
}
// What an angle leaves of the nearest multiple of pi/2.
REUSELENS_MATH reuselens_sum reuselens_angle(double x, int *quadrant) {
#pragma clang fp contract(off)
  if (!(__builtin_fabs(x) < 0x1p20)) {
    if (!(__builtin_fabs(x) < REUSELENS_INFINITY)) {
      *quadrant = 0;
      return {REUSELENS_NAN, REUSELENS_NAN};
    }
    return reuselens_large_angle(x, quadrant);
  }
  double n = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  *quadrant = (int)n & 3;
  // Exact: x and n * pi/2 agree in their first bits.
  double t = __builtin_fma(-n, REUSELENS_PI_2, x);
  reuselens_sum p = reuselens_product(n, REUSELENS_PI_2_LOW);
  double h = t - p.high, lost = (t - h) - p.high;
  return reuselens_fast_sum(h, (lost - p.low) + n * 0x1.f1976b7ed8fbcp-110);
}
// The sine of r + low, for |r| <= pi/4.
REUSELENS_MATH double reuselens_sin_reduced(double r, double low) {
  double z = r * r, p = 1.0 / 355687428096000.0;
  REUSELENS_STEP(p, z, -1.0 / 1307674368000.0);
  REUSELENS_STEP(p, z, 1.0 / 6227020800.0);
  REUSELENS_STEP(p, z, -1.0 / 39916800.0);
  REUSELENS_STEP(p, z, 1.0 / 362880.0);
  REUSELENS_STEP(p, z, -1.0 / 5040.0);
  REUSELENS_STEP(p, z, 1.0 / 120.0);
  REUSELENS_STEP(p, z, -1.0 / 6.0);
  return r + __builtin_fma(r * z, p, low * __builtin_fma(z, -0.5, 1.0));
}
REUSELENS_MATH double reuselens_cos_reduced(double r, double low) {
  double z = r * r, p = 1.0 / 20922789888000.0;
  REUSELENS_STEP(p, z, -1.0 / 87178291200.0);
  REUSELENS_STEP(p, z, 1.0 / 479001600.0);
  REUSELENS_STEP(p, z, -1.0 / 3628800.0);
  REUSELENS_STEP(p, z, 1.0 / 40320.0);
  REUSELENS_STEP(p, z, -1.0 / 720.0);
  REUSELENS_STEP(p, z, 1.0 / 24.0);
  double half = 0.5 * z, w = 1.0 - half;
  return w + (((1.0 - w) - half) + __builtin_fma(z * z, p, -r * low));
}
// The value that the quadrant takes: sine, cosine, and their opposites.
REUSELENS_MATH double reuselens_in_quadrant(double s, double c, int quadrant) {
  double v = quadrant & 1 ? c : s;
  return quadrant & 2 ? -v : v;
}
REUSELENS_MATH void reuselens_sincos(double x, double *sine, double *cosine) {
  int quadrant;
  reuselens_sum r = reuselens_angle(x, &quadrant);
  double s = reuselens_sin_reduced(r.high, r.low), c = reuselens_cos_reduced(r.high, r.low);
  *sine = x == 0 ? x : reuselens_in_quadrant(s, c, quadrant);
  *cosine = reuselens_in_quadrant(s, c, quadrant + 1);
}
REUSELENS_MATH double reuselens_sin(double x) {
  double s, c;
  reuselens_sincos(x, &s, &c);
  return s;
}
REUSELENS_MATH double reuselens_cos(double x) {
  double s, c;
  reuselens_sincos(x, &s, &c);
  return c;
}
REUSELENS_MATH double reuselens_tan(double x) {
  double s, c;
  reuselens_sincos(x, &s, &c);
  return s / c;
}
REUSELENS_MATH void reuselens_short_sincos(double x, double *sine, double *cosine) {
  int quadrant;
  double r;
  if (__builtin_fabs(x) < 0x1p30) {
    double n = __builtin_rint(x * 0x1.45f306dc9c883p-1);
    quadrant = (int)n;
    r = __builtin_fma(-n, REUSELENS_PI_2_LOW, __builtin_fma(-n, REUSELENS_PI_2, x));
  } else {
    r = reuselens_angle(x, &quadrant).high;
  }
  double z = r * r, s = 1.0 / 362880.0, c = -1.0 / 3628800.0;
  REUSELENS_STEP(s, z, -1.0 / 5040.0);
  REUSELENS_STEP(s, z, 1.0 / 120.0);
  REUSELENS_STEP(s, z, -1.0 / 6.0);
  REUSELENS_STEP(c, z, 1.0 / 40320.0);
  REUSELENS_STEP(c, z, -1.0 / 720.0);
  REUSELENS_STEP(c, z, 1.0 / 24.0);
  REUSELENS_STEP(c, z, -0.5);
  s = __builtin_fma(r * z, s, r);
  c = __builtin_fma(c, z, 1.0);
  *sine = x == 0 ? x : reuselens_in_quadrant(s, c, quadrant);
  *cosine = reuselens_in_quadrant(s, c, quadrant + 1);
}
REUSELENS_MATH double reuselens_short_sin(double x) {
  double s, c;
  reuselens_short_sincos(x, &s, &c);
  return s;
}
REUSELENS_MATH double reuselens_short_cos(double x) {
  double s, c;
  reuselens_short_sincos(x, &s, &c);
  return c;
}
REUSELENS_MATH double reuselens_short_tan(double x) {
  double s, c;
  reuselens_short_sincos(x, &s, &c);
  return s / c;
}
// What pi x leaves of a multiple of pi/2.
REUSELENS_MATH reuselens_sum reuselens_half_turns(double x, int *quadrant) {
  double n = __builtin_rint(2 * x), r = __builtin_fma(-0.5, n, x);
  *quadrant = (int)(long long)__builtin_fma(-4.0, __builtin_trunc(0.25 * n), n);
  reuselens_sum p = reuselens_product(r, 2 * REUSELENS_PI_2);
  p.low += r * (2 * REUSELENS_PI_2_LOW);
  return p;
}
REUSELENS_MATH double reuselens_sinpi(double x) {
  int quadrant;
  reuselens_sum r = reuselens_half_turns(x, &quadrant);
  double s = reuselens_in_quadrant(reuselens_sin_reduced(r.high, r.low), reuselens_cos_reduced(r.high, r.low), quadrant);
  bool whole = __builtin_trunc(x) == x;
  return x - x != 0 ? REUSELENS_NAN : whole ? reuselens_with_sign(0.0, x) : s;
}
REUSELENS_MATH double reuselens_cospi(double x) {
  int quadrant;
  reuselens_sum r = reuselens_half_turns(x, &quadrant);
  double c = reuselens_in_quadrant(reuselens_sin_reduced(r.high, r.low), reuselens_cos_reduced(r.high, r.low), quadrant + 1);
  return x - x != 0 ? REUSELENS_NAN : c == 0 ? 0.0 : c;
}
// The angle of (x, y) for x, y >= 0, not both 0 or infinite: by the nearest of the angles
// 0, pi/8, pi/4, 3 pi/8, pi/2, and the difference to it.
REUSELENS_MATH double reuselens_first_angle(double y, double x) {
  double h = 0, l = 0, num = y, den = x;
  if (y > x * 5.027339492125846) {
    h = REUSELENS_PI_2, l = REUSELENS_PI_2_LOW, num = -x, den = y;
  } else if (y > x * 0.29) {
    bool first = y < x * 0.6681786379192989, third = y > x * 1.4966057626654889;
    // The tangent of the angle, and its digits beyond a double's.
    double c = first ? 0x1.a827999fcef32p-2 : third ? 0x1.3504f333f9de6p+1 : 1.0;
    double beyond = first ? 0x1.08b2fb1366ea9p-56 : third ? 0x1.21165f626cdd5p-53 : 0.0;
    h = first ? 0x1.921fb54442d18p-2 : third ? 0x1.2d97c7f3321d2p+0 : 0x1.921fb54442d18p-1;
    l = first ? 0x1.1a62633145c07p-56 : third ? 0x1.a79394c9e8a0ap-55 : 0x1.1a62633145c07p-55;
    num = __builtin_fma(-beyond, x, __builtin_fma(-c, x, y)), den = __builtin_fma(c, y, x);
  }
  double t = num / den, z = t * t, p = 1.0 / 29.0;
  REUSELENS_STEP(p, z, -1.0 / 27.0);
  REUSELENS_STEP(p, z, 1.0 / 25.0);
  REUSELENS_STEP(p, z, -1.0 / 23.0);
  REUSELENS_STEP(p, z, 1.0 / 21.0);
  REUSELENS_STEP(p, z, -1.0 / 19.0);
  REUSELENS_STEP(p, z, 1.0 / 17.0);
  REUSELENS_STEP(p, z, -1.0 / 15.0);
  REUSELENS_STEP(p, z, 1.0 / 13.0);
  REUSELENS_STEP(p, z, -1.0 / 11.0);
  REUSELENS_STEP(p, z, 1.0 / 9.0);
  REUSELENS_STEP(p, z, -1.0 / 7.0);
  REUSELENS_STEP(p, z, 1.0 / 5.0);
  REUSELENS_STEP(p, z, -1.0 / 3.0);
  return h + (t + __builtin_fma(t * z, p, l));
}
REUSELENS_MATH double reuselens_atan(double x) {
  double a = __builtin_fabs(x);
  double r = a < REUSELENS_INFINITY ? reuselens_first_angle(a, 1.0) : REUSELENS_PI_2;
  return x == x ? reuselens_with_sign(r, x) : x;
}
REUSELENS_MATH double reuselens_atan2(double y, double x) {
  double a = __builtin_fabs(y), b = __builtin_fabs(x);
  // Both are infinite or zero: one of the eight directions.
  if (a == REUSELENS_INFINITY && b == REUSELENS_INFINITY) a = b = 1.0;
  else if (b == REUSELENS_INFINITY) a = 0, b = 1.0;
  else if (a == REUSELENS_INFINITY || b == 0) b = a == 0 ? 1.0 : 0.0, a = a == 0 ? 0.0 : 1.0;
  double most = a > b ? a : b;
  double factor = most > 0x1p1000 ? 0x1p-100 : most < 0x1p-900 ? 0x1p100 : 1.0;
  double r = reuselens_first_angle(a * factor, b * factor);
  if (__builtin_copysign(1.0, x) < 0) r = 2 * REUSELENS_PI_2 - (r - 2 * REUSELENS_PI_2_LOW);
  return x != x || y != y ? x + y : reuselens_with_sign(r, y);
}
REUSELENS_MATH double reuselens_asin(double x) {
  double a = __builtin_fabs(x), side = __builtin_sqrt(__builtin_fma(-a, a, 1.0));
  double r = reuselens_first_angle(a, side);
  return a <= 1.0 ? reuselens_with_sign(r, x) : REUSELENS_NAN;
}
REUSELENS_MATH double reuselens_acos(double x) {
  double a = __builtin_fabs(x), r = reuselens_first_angle(__builtin_sqrt(__builtin_fma(-a, a, 1.0)), a);
  if (x < 0) r = 2 * REUSELENS_PI_2 - (r - 2 * REUSELENS_PI_2_LOW);
  return __builtin_fabs(x) <= 1.0 ? r : REUSELENS_NAN;
}

// --- Hyperbolic functions ---

REUSELENS_MATH double reuselens_sinh(double x) {
  double a = __builtin_fabs(x), t = reuselens_expm1(a > 709.0 ? 709.0 : a);
  double half = reuselens_exp(0.5 * a);
  double r = a > 709.0 ? 0.5 * half * half : 0.5 * (t + t / (t + 1.0));
  return x == x ? reuselens_with_sign(r, x) : x;
}
REUSELENS_MATH double reuselens_cosh(double x) {
  double a = __builtin_fabs(x), e = reuselens_exp(a > 709.0 ? 709.0 : a);
  double half = reuselens_exp(0.5 * a);
  return x != x ? x : a > 709.0 ? 0.5 * half * half : 0.5 * (e + 1.0 / e);
}
REUSELENS_MATH double reuselens_tanh(double x) {
  double a = __builtin_fabs(x), t = reuselens_expm1(2 * (a > 22.0 ? 22.0 : a));
  return x == x ? reuselens_with_sign(t / (t + 2.0), x) : x;
}
REUSELENS_MATH double reuselens_asinh(double x) {
  double a = __builtin_fabs(x), square = a * a;
  double r = a > 0x1p28 ? reuselens_log(a) + REUSELENS_LN2 : reuselens_log1p(a + square / (1.0 + __builtin_sqrt(1.0 + square)));
  return x == x ? reuselens_with_sign(r, x) : x;
}
REUSELENS_MATH double reuselens_acosh(double x) {
  double t = x - 1.0;
  return x > 0x1p28 ? reuselens_log(x) + REUSELENS_LN2 : reuselens_log1p(t + __builtin_sqrt(__builtin_fma(t, t, 2 * t)));
}
REUSELENS_MATH double reuselens_atanh(double x) {
  double a = __builtin_fabs(x), r = 0.5 * reuselens_log1p(2 * a / (1.0 - a));
  return a < 1.0 || x != x ? reuselens_with_sign(r, x) : a == 1.0 ? reuselens_with_sign(REUSELENS_INFINITY, x) : REUSELENS_NAN;
}

// --- The error function ---

// e^(x^2) erfc(x) for x >= 0: a polynomial in (x - 4) / (x + 4), divided by 1 + 2 x. Its
// coefficients are those of Chebyshev's interpolation, off by at most 1e-17.
REUSELENS_MATH double reuselens_erfcx_positive(double x) {
  double t = x < 0x1p54 ? (x - 4.0) / (x + 4.0) : 1.0, p = -0x1.2feb115e10ff8p-32;
  REUSELENS_STEP(p, t, 0x1.ff247156a53a2p-31);
  REUSELENS_STEP(p, t, 0x1.bc41def3d5cc5p-29);
  REUSELENS_STEP(p, t, -0x1.a7f4a11380e73p-27);
  REUSELENS_STEP(p, t, -0x1.64110b1736fb3p-26);
  REUSELENS_STEP(p, t, 0x1.c8a212189b424p-24);
  REUSELENS_STEP(p, t, 0x1.4dcd6b6d85452p-24);
  REUSELENS_STEP(p, t, -0x1.b8ce493292da5p-21);
  REUSELENS_STEP(p, t, 0x1.393f4d359a7fdp-22);
  REUSELENS_STEP(p, t, 0x1.7ef644c7815aap-18);
  REUSELENS_STEP(p, t, -0x1.7884d2487d5efp-17);
  REUSELENS_STEP(p, t, -0x1.99537515467bep-16);
  REUSELENS_STEP(p, t, 0x1.3be0432bfa860p-13);
  REUSELENS_STEP(p, t, -0x1.a1df5e81f57b4p-13);
  REUSELENS_STEP(p, t, -0x1.8d4a9a6465372p-11);
  REUSELENS_STEP(p, t, 0x1.49c672e199469p-8);
  REUSELENS_STEP(p, t, -0x1.09623884747dbp-6);
  REUSELENS_STEP(p, t, 0x1.3079edf5181dfp-5);
  REUSELENS_STEP(p, t, -0x1.0fb06dfe4c6c0p-4);
  REUSELENS_STEP(p, t, 0x1.7fee004e1eefep-4);
  REUSELENS_STEP(p, t, -0x1.9ddb23c3e8f13p-4);
  REUSELENS_STEP(p, t, 0x1.16ecefcfa4d10p-4);
  REUSELENS_STEP(p, t, 0x1.f7f5df66fd797p-7);
  REUSELENS_STEP(p, t, -0x1.1df1ad154a286p-3);
  REUSELENS_STEP(p, t, 0x1.3ba5916e9fd7fp+0);
  return p / (1.0 + 2 * x);
}
// e^(-x^2), with the low part of the square.
REUSELENS_MATH double reuselens_bell(double x) {
  double c = __builtin_fabs(x) < 40.0 ? x : 40.0;
  reuselens_sum square = reuselens_product(c, c);
  return reuselens_exp_sum(-square.high, -square.low);
}
REUSELENS_MATH double reuselens_erfc(double x) {
  double a = __builtin_fabs(x), r = reuselens_erfcx_positive(a) * reuselens_bell(a);
  return x != x ? x : a > 28.0 ? (x < 0 ? 2.0 : 0.0) : x < 0 ? 2.0 - r : r;
}
REUSELENS_MATH double reuselens_erfcx(double x) {
  double a = __builtin_fabs(x), r = reuselens_erfcx_positive(a);
  reuselens_sum square = reuselens_product(a > 40.0 ? 40.0 : a, a > 40.0 ? 40.0 : a);
  return x != x ? x : x < 0 ? 2 * reuselens_exp_sum(square.high, square.low) - r : r;
}
REUSELENS_MATH double reuselens_erf(double x) {
  double a = __builtin_fabs(x), z = x * x;
  // 2/sqrt(pi) (x - x^3/(1! 3) + x^5/(2! 5) - ...)
  double p = 1.0 / (6227020800.0 * 27);
  p = -p;
  REUSELENS_STEP(p, z, 1.0 / (479001600.0 * 25));
  REUSELENS_STEP(p, z, -1.0 / (39916800.0 * 23));
  REUSELENS_STEP(p, z, 1.0 / (3628800.0 * 21));
  REUSELENS_STEP(p, z, -1.0 / (362880.0 * 19));
  REUSELENS_STEP(p, z, 1.0 / (40320.0 * 17));
  REUSELENS_STEP(p, z, -1.0 / (5040.0 * 15));
  REUSELENS_STEP(p, z, 1.0 / (720.0 * 13));
  REUSELENS_STEP(p, z, -1.0 / (120.0 * 11));
  REUSELENS_STEP(p, z, 1.0 / (24.0 * 9));
  REUSELENS_STEP(p, z, -1.0 / (6.0 * 7));
  REUSELENS_STEP(p, z, 1.0 / (2.0 * 5));
  REUSELENS_STEP(p, z, -1.0 / 3.0);
  double near = 0x1.20dd750429b6dp+0 * __builtin_fma(x * z, p, x);
  double far = a > 6.0 ? 1.0 : 1.0 - reuselens_erfcx_positive(a) * reuselens_bell(a);
  return x == 0 || x != x ? x : a < 0.75 ? near : reuselens_with_sign(far, x);
}
// x with erfc(x) = q for 0 < q <= 1: Newton's method in the logarithm, which is nearly a parabola.
REUSELENS_MATH double reuselens_erfcinv_half(double q) {
  double l = -reuselens_log(q);
  double x = l < 0.5 ? (1.0 - q) * 0.886226925452758 : __builtin_sqrt(l > 1.0 ? l - 0.5 * reuselens_log(l) : 0.6 * l);
  for (int i = 0; i < 6; i++) {
    double e = reuselens_erfcx_positive(x);
    double off = (reuselens_log(e) + l) - x * x;
    x += off * e * 0x1.c5bf891b4ef6bp-1;
  }
  return x;
}
REUSELENS_MATH double reuselens_erfcinv(double q) {
  double r = q <= 1.0 ? reuselens_erfcinv_half(q) : -reuselens_erfcinv_half(2.0 - q);
  return q > 0 && q < 2.0 ? r : q == 0 ? REUSELENS_INFINITY : q == 2.0 ? -REUSELENS_INFINITY : REUSELENS_NAN;
}
REUSELENS_MATH double reuselens_erfinv(double p) {
  double a = __builtin_fabs(p), x;
  if (a < 0.5) {
    x = p * 0x1.c5bf891b4ef6bp-1;
    for (int i = 0; i < 5; i++) x -= (reuselens_erf(x) - p) * 0x1.c5bf891b4ef6bp-1 / reuselens_bell(x);
    return x;
  }
  return a < 1.0 ? reuselens_with_sign(reuselens_erfcinv_half(1.0 - a), p) : a == 1.0 ? reuselens_with_sign(REUSELENS_INFINITY, p) : REUSELENS_NAN;
}
#define REUSELENS_SQRT_HALF 0x1.6a09e667f3bcdp-1
REUSELENS_MATH double reuselens_normcdf(double x) { return 0.5 * reuselens_erfc(-x * REUSELENS_SQRT_HALF); }
REUSELENS_MATH double reuselens_normcdfinv(double p) { return -2 * REUSELENS_SQRT_HALF * reuselens_erfcinv(2 * p); }

// --- The gamma function ---

// The logarithm of the gamma function for x >= 8, without (x - 1/2) log x - x: Stirling's series.
REUSELENS_MATH double reuselens_stirling(double x) {
  double r = 1.0 / x, z = r * r, p = 1.0 / 156.0;
  REUSELENS_STEP(p, z, -691.0 / 360360.0);
  REUSELENS_STEP(p, z, 1.0 / 1188.0);
  REUSELENS_STEP(p, z, -1.0 / 1680.0);
  REUSELENS_STEP(p, z, 1.0 / 1260.0);
  REUSELENS_STEP(p, z, -1.0 / 360.0);
  REUSELENS_STEP(p, z, 1.0 / 12.0);
  return __builtin_fma(p, r, 0x1.d67f1c864beb5p-1);
}
// The gamma function for x > 0, as e^high times a factor.
REUSELENS_MATH double reuselens_gamma_positive(double x, reuselens_sum *log) {
  double product = 1.0, first = x, steps = 0;
  for (; first + steps < 12.0; steps += 1.0) product *= first + steps;
  x = first + steps;
  double lost = steps > first ? first - (x - steps) : steps - (x - first);
  reuselens_sum l = reuselens_log_sum(x), p = reuselens_product(l.high, x - 0.5);
  *log = reuselens_fast_sum(p.high, -x);
  log->low += p.low + l.low * (x - 0.5) + lost * l.high + reuselens_stirling(x);
  *log = reuselens_fast_sum(log->high, log->low);
  return product;
}
REUSELENS_MATH double reuselens_tgamma(double x) {
  if (!(x < REUSELENS_INFINITY) || x == 0) return x == 0 ? 1.0 / x : x;
  if (x < 0 && __builtin_trunc(x) == x) return REUSELENS_NAN;
  double a = __builtin_fabs(x);
  if (a > 190.0) return x < 0 ? 0.0 : REUSELENS_INFINITY;
  reuselens_sum log;
  double product = reuselens_gamma_positive(a, &log);
  // In two halves: e^high may exceed the range that the quotient is in.
  double half = reuselens_exp_sum(0.5 * log.high, 0.5 * log.low), r = half / product * half;
  return x < 0 ? -2 * REUSELENS_PI_2 / (x * reuselens_sinpi(x)) / half * product / half : r;
}
REUSELENS_MATH double reuselens_lgamma(double x) {
  if (!(__builtin_fabs(x) < REUSELENS_INFINITY)) return x * x;
  if (x <= 0 && __builtin_trunc(x) == x) return REUSELENS_INFINITY;
  if (__builtin_fabs(x) < 1e-17) return -reuselens_log(__builtin_fabs(x));
  double a = x < 0.5 ? 1.0 - x : x;
  if (a > 1e300) return x < 0 ? -REUSELENS_INFINITY : a * (reuselens_log(a) - 1.0);
  reuselens_sum log;
  double product = reuselens_gamma_positive(a, &log);
  reuselens_sum part = reuselens_log_sum(product);
  double r = (log.high - part.high) + (log.low - part.low);
  return x < 0.5 ? reuselens_log(2 * REUSELENS_PI_2 / __builtin_fabs(reuselens_sinpi(x))) - r : r;
}

// --- Parts of a number ---

// Exponent and bits of a finite number that is not 0: x = mantissa * 2^exponent, the mantissa from
// 2^52 to 2^53.
REUSELENS_MATH reuselens_bits reuselens_parts(double x, int *exponent) {
  double shifted = __builtin_fabs(x) < 0x1p-1022 ? x * 0x1p54 : x;
  reuselens_bits b = reuselens_to_bits(shifted);
  *exponent = (int)(b >> 52 & 0x7ff) - 1075 - (shifted == x ? 0 : 54);
  return (b & 0xfffffffffffffull) | 0x10000000000000ull;
}
REUSELENS_MATH double reuselens_ldexp(double x, int n) {
  if (x == 0 || x - x != 0) return x + x;
  int exponent;
  reuselens_bits mantissa = reuselens_parts(x, &exponent);
  long long sum = (long long)exponent + n;
  int e = sum > 2000 ? 2000 : sum < -2000 ? -2000 : (int)sum;
  double m = reuselens_with_sign((double)(long long)mantissa, x);
  // One rounding, in the last product.
  if (e < -1074) return m * reuselens_two_to(-1000) * reuselens_two_to(e + 1000 < -1022 ? -1022 : e + 1000);
  return e > 970 ? m * 0x1p970 * reuselens_two_to(e - 970 > 1023 ? 1023 : e - 970) : e < -1022 ? m * 0x1p-52 * reuselens_two_to(e + 52) : m * reuselens_two_to(e);
}
REUSELENS_MATH double reuselens_frexp(double x, int *n) {
  *n = 0;
  if (x == 0 || x - x != 0) return x;
  reuselens_bits mantissa = reuselens_parts(x, n);
  *n += 53;
  return reuselens_with_sign((double)(long long)mantissa * 0x1p-53, x);
}
REUSELENS_MATH int reuselens_ilogb(double x) {
  if (x == 0 || x != x) return -2147483647 - 1;
  if (x - x != 0) return 2147483647;
  int exponent;
  reuselens_parts(x, &exponent);
  return exponent + 52;
}
REUSELENS_MATH double reuselens_logb(double x) {
  return x == 0 ? -REUSELENS_INFINITY : x - x != 0 ? x * x : (double)reuselens_ilogb(x);
}
REUSELENS_MATH double reuselens_modf(double x, double *whole) {
  *whole = __builtin_trunc(x);
  double rest = __builtin_fabs(x) == REUSELENS_INFINITY ? 0.0 : x - *whole;
  return x == x ? reuselens_with_sign(rest, x) : x;
}
REUSELENS_MATH double reuselens_nextafter(double x, double y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return reuselens_with_sign(0x1p-1074, y);
  return reuselens_of_bits(reuselens_to_bits(x) + ((x < y) == (x > 0) ? 1ull : ~0ull));
}
REUSELENS_MATH float reuselens_nextafterf(float x, float y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return __builtin_copysignf(0x1p-149f, y);
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, x) + ((x < y) == (x > 0) ? 1u : ~0u));
}
// |x| modulo |y|, and the last bits of the quotient: eleven bits of it with each step.
REUSELENS_MATH double reuselens_modulo(double x, double y, unsigned *quotient) {
  int ex, ey;
  reuselens_bits mx = reuselens_parts(x, &ex), my = reuselens_parts(y, &ey);
  *quotient = 0;
  if (__builtin_fabs(x) < __builtin_fabs(y)) return __builtin_fabs(x);
  reuselens_bits q = mx / my, r = mx % my;
  for (int left = ex - ey; left > 0 && r;) {
    int bits = left < 11 ? left : 11;
    left -= bits;
    q = q << bits | (r << bits) / my;
    r = (r << bits) % my;
    if (!r) q <<= left < 31 ? left : 31;
  }
  *quotient = (unsigned)q;
  return reuselens_ldexp((double)(long long)r, ey);
}
REUSELENS_MATH double reuselens_fmod(double x, double y) {
  if (y == 0 || x - x != 0 || y != y) return REUSELENS_NAN;
  if (x == 0 || y - y != 0) return x;
  unsigned quotient;
  return reuselens_with_sign(reuselens_modulo(x, y, &quotient), x);
}
REUSELENS_MATH double reuselens_remquo(double x, double y, int *quotient) {
  *quotient = 0;
  if (y == 0 || x - x != 0 || y != y) return REUSELENS_NAN;
  if (x == 0 || y - y != 0) return x;
  unsigned q;
  double a = __builtin_fabs(y), r = reuselens_modulo(x, y, &q), other = a - r;
  bool up = r > other || (r == other && (q & 1));
  q = (q + up) & 0x7fffffff;
  *quotient = (x < 0) != (y < 0) ? -(int)q : (int)q;
  r = up ? r - a : r;
  return x < 0 ? -r : r;
}
REUSELENS_MATH double reuselens_remainder(double x, double y) {
  int quotient;
  return reuselens_remquo(x, y, &quotient);
}
#endif
