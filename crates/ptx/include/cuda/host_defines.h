// The words that CUDA adds to C++, as attributes of clang. `__noinline__` is one of clang's own.
#ifndef REUSELENS_HOST_DEFINES_H
#define REUSELENS_HOST_DEFINES_H
// By this name programs ask whether CUDA's header is there.
#define __HOST_DEFINES_H__
#ifndef __cplusplus
#error "the headers of `reuselens nvcc` are for C++: compile this file with -x c++"
#endif
#ifdef __CUDA__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
// clang has no managed variables. Each is a variable of the device here, and what clang keeps of it
// on the host is in a section by which the runtime recognizes it (reuselens_managed.h).
#ifdef __CUDA_ARCH__
#define __managed__ __device__
#else
#define __managed__ __device__ __attribute__((section("reuselens_managed")))
#endif
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __maxnreg__(n)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __grid_constant__
#define __cluster_dims__(...)
#else
#define __global__
#define __device__
#define __host__
#define __shared__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#endif
#define CUDARTAPI
#define CUDART_CB

// Functions of these headers, for the device and for both sides.
// Without lines of their own: what they do counts for the line that calls them.
#define REUSELENS_DEVICE static __inline__ __attribute__((device, always_inline, nodebug))
#ifdef __CUDA__
#define REUSELENS_BOTH static __inline__ __attribute__((host, device, always_inline, nodebug))
#else
#define REUSELENS_BOTH static __inline__ __attribute__((always_inline))
#endif
#endif
