/* What the ten applications share beside check.h: their arguments, copies of arrays to and from the
 * device, and comparisons of numbers. */
#pragma once
#include "check.h"
#include <cmath>
#include <vector>

/* The whole number at a place of the command line, or `value` if it has fewer. One that is no
 * number or is not from `low` to `high` ends the program with status 2. */
inline long argument(int argc, char **argv, int place, const char *name, long low, long high,
                     long value)
{
    if (place >= argc)
        return value;
    char *end;
    long given = strtol(argv[place], &end, 10);
    if (*end || end == argv[place] || given < low || given > high) {
        fprintf(stderr, "%s: %s is a whole number from %ld to %ld, not %s\n", argv[0], name, low,
                high, argv[place]);
        exit(2);
    }
    return given;
}

/* A new array on the device with the contents of a host array. */
template <class T> T *upload(const std::vector<T> &host)
{
    T *device;
    CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

/* Fills a host array from one on the device that has at least its size. */
template <class T> void download(std::vector<T> &host, const T *device)
{
    CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
}

/* The greatest difference of two arrays, relative to the greatest magnitude of the second. A value
 * that is no number is infinitely different. */
template <class T> double difference(const T *got, const T *expected, long count)
{
    double most = 0, magnitude = 0;
    for (long i = 0; i < count; i++) {
        double apart = std::fabs((double)got[i] - (double)expected[i]);
        most = apart >= 0 ? std::fmax(most, apart) : INFINITY;
        magnitude = std::fmax(magnitude, std::fabs((double)expected[i]));
    }
    return magnitude > 0 ? most / magnitude : most;
}

/* The arrays have to agree within `tolerance`, which is relative to the greatest magnitude. */
template <class T>
void expect_close(const char *name, const T *got, const T *expected, long count, double tolerance)
{
    double apart = difference(got, expected, count);
    EXPECT(apart <= tolerance, "%s differs by %g of its greatest value, tolerance %g", name, apart,
           tolerance);
}
