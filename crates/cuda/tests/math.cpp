// Compares the functions of reuselens_math.h with the host's, which calculates in long doubles (64
// bits of mantissa). Prints a line for each: the greatest error in units of the last place (ulp),
// where it is, and what is allowed; `WRONG` in front if it is more, or if a special value (zeros,
// infinities, no number, numbers below the normal ones) differs.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#define REUSELENS_MATH static inline
#include "reuselens_math.h"

typedef long double Wide;
static const int COUNT = 100000;
static std::mt19937_64 generator(1);
static const double SPECIAL[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, -0.5, 2, -2, 3, -3,
                                 10, -10, 100, 1e-310, -1e-310, 5e-324, 1e308, -1e308, 2.5, 1e17};

// The difference in units of the last place of a number with `digits` binary digits.
static double ulps(double got, Wide wanted, int digits)
{
    double nearest = digits == 24 ? (double)(float)wanted : (double)wanted;
    if (std::isnan(nearest) || std::isinf(nearest))
        return (std::isnan(nearest) ? std::isnan(got) : got == nearest) ? 0 : INFINITY;
    if (!(std::fabs(got) < INFINITY))
        return INFINITY;
    int exponent, least = digits == 24 ? -125 : -1021;
    std::frexp(nearest, &exponent);
    exponent = nearest == 0 || exponent < least ? least : exponent;
    return std::fabs((double)(((Wide)got - wanted) / std::ldexp((Wide)1, exponent - digits)));
}

static double uniform(double low, double high)
{
    return low + (high - low) * ((generator() >> 11) * 0x1p-53);
}

// A number from `low` to `high`; of any sign and with a uniform logarithm if `low` is positive.
static double pick(double low, double high)
{
    if (low <= 0)
        return uniform(low, high);
    double x = std::exp(uniform(std::log(low), std::log(high)));
    return generator() & 1 ? x : -x;
}

static void report(const char *name, double worst, double a, double b, double allowed, int wrong)
{
    printf("%s%s: %.3f ulp at %.17g, %.17g, %.2f allowed, %d special values differ\n",
           worst <= allowed && !wrong ? "" : "WRONG ", name, worst, a, b, allowed, wrong);
}

static bool differ(double got, Wide wanted, int digits, double allowed)
{
    bool sign = got == 0 && wanted == 0 && std::signbit(got) != std::signbit(wanted);
    return ulps(got, wanted, digits) > allowed || sign;
}

template <class F, class G>
static void one(const char *name, F ours, G host, double low, double high, double allowed, int digits = 53, bool special = true)
{
    double worst = 0, at = 0;
    int wrong = 0;
    auto ours_rounded = [&](double x) { return digits == 24 ? (double)(float)ours(x) : (double)ours(x); };
    for (int i = 0; i < COUNT; i++) {
        double x = pick(low, high);
        if (digits == 24)
            x = (float)x;
        double error = ulps(ours_rounded(x), host((Wide)x), digits);
        if (!(error <= worst))
            worst = error, at = x;
    }
    for (double x : SPECIAL)
        if (special && digits == 53)
            wrong += differ(ours_rounded(x), host((Wide)x), digits, allowed);
    report(name, worst, at, 0, allowed, wrong);
}

template <class F, class G>
static void two(const char *name, F ours, G host, double low, double high, double low2, double high2, double allowed, int digits = 53)
{
    double worst = 0, at = 0, at2 = 0;
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        double x = pick(low, high), y = pick(low2, high2);
        if (digits == 24)
            x = (float)x, y = (float)y;
        double got = ours(x, y), error = ulps(digits == 24 ? (float)got : got, host((Wide)x, (Wide)y), digits);
        if (!(error <= worst))
            worst = error, at = x, at2 = y;
    }
    for (double x : SPECIAL)
        for (double y : SPECIAL)
            if (digits == 53)
                wrong += differ(ours(x, y), host((Wide)x, (Wide)y), digits, allowed);
    report(name, worst, at, at2, allowed, wrong);
}

#define ONE(name, ...) one(#name, reuselens_##name, [](Wide x) { return std::name(x); }, __VA_ARGS__)
#define TWO(name, ...) two(#name, reuselens_##name, [](Wide x, Wide y) { return std::name(x, y); }, __VA_ARGS__)
#define SHORT(name, ours, ...) one(name " of floats", ours, __VA_ARGS__, 24)

static void doubles()
{
    ONE(exp, -745, 710, 1);
    ONE(exp, 1e-10, 10, 1);
    ONE(exp2, -1075, 1025, 1);
    one("exp10", reuselens_exp10, [](Wide x) { return exp10l(x); }, -320, 310, 1);
    ONE(expm1, -60, 710, 1.5);
    ONE(expm1, 1e-300, 1, 1.5);
    ONE(log, 1e-320, 1e308, 1);
    ONE(log, 0.0, 2, 1);
    ONE(log2, 1e-320, 1e308, 1);
    ONE(log2, 0.0, 2, 1);
    ONE(log10, 1e-320, 1e308, 1);
    ONE(log10, 0.0, 2, 1);
    ONE(log1p, -0.99, 3, 1);
    ONE(log1p, 1e-300, 0.9, 1);
    ONE(sin, -100, 100, 1);
    ONE(sin, 1e-300, 1e300, 1);
    ONE(cos, -100, 100, 1);
    ONE(cos, 1e-300, 1e300, 1);
    ONE(tan, -100, 100, 2.2);
    ONE(tan, 1e-300, 1e300, 2.2);
    auto half_turn = [](Wide x) { return std::trunc(x) == x ? std::copysign((Wide)0, x) : std::sin(x * (Wide)M_PIl); };
    one("sinpi", reuselens_sinpi, half_turn, -0.24, 0.24, 1, 53, false);
    ONE(asin, -1, 1, 2.1);
    ONE(asin, 1e-300, 1, 2.1);
    ONE(acos, -1, 1, 2.1);
    ONE(atan, -5, 5, 1.2);
    ONE(atan, 1e-300, 1e300, 1.2);
    ONE(sinh, -711, 711, 2.5);
    ONE(sinh, 1e-300, 25, 2);
    ONE(cosh, -711, 711, 2.5);
    ONE(cosh, -25, 25, 1.5);
    ONE(tanh, -2, 2, 2.5);
    ONE(tanh, 1e-300, 30, 2.5);
    ONE(asinh, -5, 5, 2);
    ONE(asinh, 1e-300, 1e300, 2);
    ONE(acosh, 0.0, 5, 2);
    ONE(atanh, -1, 1, 2);
    ONE(cbrt, 1e-320, 1e308, 1);
    ONE(erf, -7, 7, 2.2);
    ONE(erf, 1e-300, 1, 2.2);
    ONE(erfc, -7, 26.5, 5);
    ONE(tgamma, -20, 171, 13);
    auto positive = [](double x) { return reuselens_lgamma(std::fabs(x)); };
    one("lgamma", positive, [](Wide x) { return std::lgamma(std::fabs(x)); }, 3, 1e5, 10, 53, false);
    auto inverse = [](double x) { return reuselens_erfinv(std::erf(x)); };
    one("erfinv", inverse, [](Wide x) { return x; }, -1, 1, 6, 53, false);
    auto complement = [](double x) { return reuselens_erfcinv(std::erfc(std::fabs(x))); };
    one("erfcinv", complement, [](Wide x) { return std::fabs(x); }, 0.5, 25, 6, 53, false);
    TWO(pow, 1e-3, 1e3, 1e-2, 100, 2);
    TWO(pow, -2, 2, -700, 700, 2);
    TWO(atan2, 1e-10, 1e10, 1e-10, 1e10, 1.8);
    TWO(atan2, -1, 1, -1, 1, 1.8);
    TWO(hypot, 1e-300, 1e300, 1e-300, 1e300, 1);
    TWO(hypot, -1, 1, -1, 1, 1);
    TWO(fmod, 1e-300, 1e300, 1e-300, 1e300, 0);
    TWO(fmod, -1e6, 1e6, -10, 10, 0);
    TWO(remainder, 1e-300, 1e300, 1e-300, 1e300, 0);
    TWO(remainder, -100, 100, -10, 10, 0);
}

static void floats()
{
    SHORT("exp", reuselens_short_exp, [](Wide x) { return std::exp(x); }, -104, 89, 0.6);
    SHORT("log", reuselens_log, [](Wide x) { return std::log(x); }, 1e-44, 3e38, 0.6);
    SHORT("sin", reuselens_short_sin, [](Wide x) { return std::sin(x); }, -1000, 1000, 0.6);
    SHORT("sin", reuselens_short_sin, [](Wide x) { return std::sin(x); }, 1e-30, 1e38, 0.6);
    SHORT("cos", reuselens_short_cos, [](Wide x) { return std::cos(x); }, -1000, 1000, 0.6);
    SHORT("cos", reuselens_short_cos, [](Wide x) { return std::cos(x); }, 1e-30, 1e38, 0.6);
    SHORT("tan", reuselens_short_tan, [](Wide x) { return std::tan(x); }, -1000, 1000, 0.6);
    SHORT("erf", reuselens_erf, [](Wide x) { return std::erf(x); }, -5, 5, 0.6);
    SHORT("tgamma", reuselens_tgamma, [](Wide x) { return std::tgamma(x); }, 0, 34, 0.6);
    auto power = [](Wide x, Wide y) { return std::pow(x, y); };
    two("pow of floats", reuselens_short_pow, power, 1e-3, 1e3, 1e-2, 12, 0.6, 24);
}

// Parts of numbers: exactly as the host's.
static void parts()
{
    int wrong = 0;
    for (int i = 0; i < 10 * COUNT; i++) {
        double x = pick(1e-320, 1e308), y = pick(1e-3, 1e3), z = pick(1e-3, 1e6), whole, whole2;
        int n = (int)(generator() % 4400) - 2200, e, e2, q, q2;
        wrong += std::ldexp(x, n) != reuselens_ldexp(x, n) || std::ilogb(x) != reuselens_ilogb(x);
        wrong += std::frexp(x, &e) != reuselens_frexp(x, &e2) || e != e2;
        wrong += std::modf(z, &whole) != reuselens_modf(z, &whole2) || whole != whole2;
        wrong += std::nextafter(x, y) != reuselens_nextafter(x, y) || std::logb(x) != reuselens_logb(x);
        wrong += std::nextafter((float)y, (float)z) != reuselens_nextafterf((float)y, (float)z);
        wrong += std::remquo(z, y, &q) != reuselens_remquo(z, y, &q2) || (q & 7) != (q2 & 7);
    }
    report("parts", 0, 0, 0, 0, wrong);
}

int main()
{
    doubles();
    floats();
    parts();
}
