/* How the programs of this folder check calls and results, and generate their inputs.
 *
 * A check that fails prints the source line and what was wrong on standard error, and ends the
 * program with status 1. */
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

/* The call has to return cudaSuccess. */
#define CHECK(call) expect_error(__FILE__, __LINE__, #call, (call), cudaSuccess)
/* The call has to return this error. The error is then no longer the thread's last error. */
#define EXPECT_ERROR(call, error) \
    do { \
        expect_error(__FILE__, __LINE__, #call, (call), (error)); \
        (void)cudaGetLastError(); \
    } while (0)
/* The condition has to hold. The text after it is a format with its values, as of `printf`. */
#define EXPECT(condition, ...) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr); \
            exit(1); \
        } \
    } while (0)

inline void expect_error(const char *file, int line, const char *call, cudaError_t got,
                         cudaError_t wanted)
{
    if (got == wanted)
        return;
    fprintf(stderr, "%s:%d: %s gives %s (%s), expected %s\n", file, line, call,
            cudaGetErrorName(got), cudaGetErrorString(got), cudaGetErrorName(wanted));
    exit(1);
}

/* The random number of a seed and an index (splitmix64): any element can be made on its own. */
inline uint64_t random_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A random number in [0, 1), of 24 bits, so that a float holds it exactly. */
inline float random_unit(uint64_t seed, uint64_t index)
{
    return (float)(random_bits(seed, index) >> 40) / (float)(1 << 24);
}

/* A random whole number in [0, bound). */
inline uint32_t random_below(uint64_t seed, uint64_t index, uint32_t bound)
{
    return (uint32_t)((random_bits(seed, index) >> 32) * bound >> 32);
}
