/* Parallel loops that run on the threads of the host, or on a device.
 *
 *     PARALLEL_LOOP(collapse(2), map(to : in[0 : n * n]) map(from : out[0 : n * n]))
 *     for (long i = 0; i < n; i++) ...
 *
 * is a statically scheduled `omp parallel for` with the clauses of the first argument. Compiled
 * with -DHMBENCH_TARGET, it is an `omp target teams distribute parallel for` that has the mappings
 * of the second argument too. A compiler without an offload target runs that on the host.
 *
 * DEVICE_DATA keeps arrays on the device for the block that follows, DEVICE_UPDATE copies within
 * it. Functions that such a loop calls are between DEVICE_FUNCTIONS and DEVICE_FUNCTIONS_END. */
#ifndef HMBENCH_LOOPS_H
#define HMBENCH_LOOPS_H

#define LOOPS_TEXT(...) _Pragma(#__VA_ARGS__)
#define LOOPS_PRAGMA(...) LOOPS_TEXT(__VA_ARGS__)

/* A loop of the host in every build: it fills arrays, each thread what it will work on. */
#define HOST_LOOP(...) LOOPS_PRAGMA(omp parallel for schedule(static) __VA_ARGS__)

#ifdef HMBENCH_TARGET
#define PARALLEL_LOOP(clauses, ...)                                                                \
    LOOPS_PRAGMA(omp target teams distribute parallel for clauses __VA_ARGS__)
#define DEVICE_DATA(...) LOOPS_PRAGMA(omp target data __VA_ARGS__)
#define DEVICE_UPDATE(...) LOOPS_PRAGMA(omp target update __VA_ARGS__)
#define DEVICE_FUNCTIONS LOOPS_PRAGMA(omp declare target)
#define DEVICE_FUNCTIONS_END LOOPS_PRAGMA(omp end declare target)
#else
#define PARALLEL_LOOP(clauses, ...) HOST_LOOP(clauses)
#define DEVICE_DATA(...)
#define DEVICE_UPDATE(...)
#define DEVICE_FUNCTIONS
#define DEVICE_FUNCTIONS_END
#endif

#endif
