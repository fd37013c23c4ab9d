// Included by clang before each CUDA source, in place of CUDA's own headers: the runtime's
// interface, and what device code finds without including anything.
//
// clang's own headers, which come with it, define CUDA's device functions by those of NVIDIA's
// `libdevice` (`__nv_sinf`). reuselens_libdevice.h defines these.
#ifndef REUSELENS_NVCC_H
#define REUSELENS_NVCC_H
// By these names programs ask whether CUDA's headers are there.
#define __CUDA_RUNTIME_H__
#define __DEVICE_TYPES_H__

#define __CUDACC__
#include "host_defines.h"
typedef __SIZE_TYPE__ size_t;
// <new> declares the device's operators by these.
extern "C" {
__device__ void *malloc(size_t) __attribute__((nothrow)) __attribute__((malloc));
__device__ void free(void *) __attribute__((nothrow));
}

// The device's overloads of <cmath> are declared first: its functions are then the host's alone.
#include <__clang_cuda_math_forward_declares.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits.h>
#include <math.h>
#include <new>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utility>

#include "cuda_runtime_api.h"
#include "vector_functions.h"
#include "cuda.h"

// Which functions clang's headers declare depends on the architecture, which the host has not.
// What these functions do counts for the line that calls them.
#pragma clang attribute push(__attribute__((nodebug)), apply_to = hasType(functionType))
#pragma push_macro("__CUDA_ARCH__")
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 9999
#endif
#include <__clang_cuda_builtin_vars.h>
#include <__clang_cuda_libdevice_declares.h>
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>
#include "reuselens_device.h"
#include "reuselens_textures.h"
#include "reuselens_overloads.h"
#pragma pop_macro("__CUDA_ARCH__")

extern "C" {
__device__ int vprintf(const char *, const char *);
__device__ int printf(const char *, ...);
__device__ void __assertfail(const char *message, const char *file, unsigned line,
                             const char *function, size_t bytes_of_char);
__device__ static inline void __assert_fail(const char *message, const char *file, unsigned line,
                                            const char *function) {
  __assertfail(message, file, line, function, 1);
}
}

#define REUSELENS_CONVERT(name)                                                                    \
  __device__ inline name::operator dim3() const { return dim3(x, y, z); }                          \
  __device__ inline name::operator uint3() const { return {x, y, z}; }
REUSELENS_CONVERT(__cuda_builtin_threadIdx_t)
REUSELENS_CONVERT(__cuda_builtin_blockIdx_t)
REUSELENS_CONVERT(__cuda_builtin_blockDim_t)
REUSELENS_CONVERT(__cuda_builtin_gridDim_t)

#include <__clang_cuda_cmath.h>
// clang 19 hands `redux.sync` the mask as the value: reuselens_warp.h has these functions instead.
#define __reduce_add_sync reuselens_clang_reduce_add
#define __reduce_min_sync reuselens_clang_reduce_min
#define __reduce_max_sync reuselens_clang_reduce_max
#define __reduce_and_sync reuselens_clang_reduce_and
#define __reduce_or_sync reuselens_clang_reduce_or
#define __reduce_xor_sync reuselens_clang_reduce_xor
#include <__clang_cuda_intrinsics.h>
#undef __reduce_add_sync
#undef __reduce_min_sync
#undef __reduce_max_sync
#undef __reduce_and_sync
#undef __reduce_or_sync
#undef __reduce_xor_sync
#include "reuselens_warp.h"
#include <__clang_cuda_complex_builtins.h>
#ifdef __CUDA_ARCH__
#include "reuselens_libdevice.h"
#endif
#include "reuselens_host.h"
#include "reuselens_managed.h"
#pragma clang attribute pop
#endif
