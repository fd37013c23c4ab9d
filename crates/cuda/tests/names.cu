// Names of CUDA that device and host code use, each once.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuComplex.h>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <math_constants.h>
#include <vector_functions.h>
#include <vector_types.h>
#include <algorithm>
#include <cassert>
#include <complex>
#include <cstdio>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>
namespace cg = cooperative_groups;

// By these names NVIDIA's helpers ask which of CUDA's headers are there.
#if !defined(__DRIVER_TYPES_H__) || !defined(__CUDA_RUNTIME_H__) || !defined(__CUDA_RUNTIME_API_H__) \
    || !defined(__VECTOR_TYPES_H__) || !defined(__VECTOR_FUNCTIONS_H__) || !defined(__CUDA_FP16_H__) \
    || !defined(__DEVICE_TYPES_H__) || !defined(CU_COMPLEX_H_) || !defined(_COOPERATIVE_GROUPS_H_) \
    || !defined(__cuda_cuda_h__) || !defined(__MATH_CONSTANTS_H__) || !defined(__HOST_DEFINES_H__)
#error "a header of CUDA is not known by its name"
#endif

void pools(int *to, cudaStream_t stream)
{
    cudaMemPool_t pool;
    cudaMemPoolProps wanted = {};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location.type = cudaMemLocationTypeDevice;
    unsigned long long kept = ~0ull;
    cudaMemPoolCreate(&pool, &wanted);
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
    cudaMallocFromPoolAsync(&to, 4, pool, stream);
    cudaMemPoolTrimTo(pool, 0);
    cudaMemPoolDestroy(pool);
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaSetDeviceFlags(cudaDeviceBlockingSync);
    cudaStreamAttrValue value;
    value.accessPolicyWindow.num_bytes = 1;
}

template <class T> __device__ void keep(T *p, T v) { *p = v; }

__global__ void __launch_bounds__(256, 2) numbers(double *d, float *f, int *i, unsigned *u)
{
    *f = sinf(*f) + cosf(*f) + tanf(*f) + expf(*f) + exp2f(*f) + exp10f(*f) + logf(*f) + log2f(*f)
        + log10f(*f) + log1pf(*f) + expm1f(*f) + powf(*f, *f) + sqrtf(*f) + rsqrtf(*f) + cbrtf(*f)
        + hypotf(*f, *f) + asinf(*f) + acosf(*f) + atanf(*f) + atan2f(*f, *f) + sinhf(*f)
        + coshf(*f) + tanhf(*f) + asinhf(*f) + acoshf(*f) + atanhf(*f) + erff(*f) + erfcf(*f)
        + lgammaf(*f) + tgammaf(*f) + fmodf(*f, *f) + floorf(*f) + ceilf(*f) + truncf(*f)
        + roundf(*f) + rintf(*f) + fabsf(*f) + fminf(*f, *f) + fmaxf(*f, *f) + fmaf(*f, *f, *f)
        + __sinf(*f) + __cosf(*f) + __expf(*f) + __logf(*f) + __powf(*f, *f) + __fdividef(*f, *f)
        + __fadd_rn(*f, *f) + __fmul_rz(*f, *f) + __frcp_rn(*f) + __fsqrt_rn(*f) + __saturatef(*f)
        + normcdff(*f) + norm3df(*f, *f, *f) + rhypotf(*f, *f) + sinpif(*f) + cospif(*f);
    *d = sin(*d) + cos(*d) + tan(*d) + exp(*d) + exp2(*d) + log(*d) + log2(*d) + pow(*d, *d)
        + pow(*d, 3) + sqrt(*d) + rsqrt(*d) + cbrt(*d) + hypot(*d, *d) + erf(*d) + erfc(*d)
        + std::sin(*d) + std::exp(*d) + std::abs(*d) + std::sqrt(*f) + std::pow(*f, 2.0f)
        + fmod(*d, *d) + remainder(*d, *d) + copysign(*d, *d) + ldexp(*d, *i) + frexp(*d, i)
        + __dadd_rn(*d, *d) + __fma_rn(*d, *d, *d) + floor(*f) + exp(*f) + normcdfinv(*d)
        + erfc(*f) + erf(*f) + cbrt(*f) + exp2(*f) + log2(*f) + hypot(*f, *f) + fma(*f, *f, *f)
        + tgamma(*f) + lgamma(*f) + expm1(*f) + log1p(*f) + round(*f) + std::trunc(*f) + lround(*f)
        + fmax(*f, *f) + fmin(*f, 2.0f) + asinh(*f) + rsqrt(*f) + normcdf(*f) + scalbn(*f, 3)
        + nextafter(*f, 1.0f) + remainder(*f, *f) + ilogb(*f) + fmax(*d, *f) + pow(*f, *d)
        + CUDART_PI + (isnan(*d) ? 1 : 0) + (isinf(*f) ? 1 : 0) + std::isfinite(*d);
    sincosf(*f, f, f + 1);
    sincos(*d, d, d + 1);
    *i = min(*i, 3) + max(3, *i) + abs(*i) + __clz(*i) + __ffs(*i) + __mulhi(*i, *i) + __mul24(*i, *i)
        + __float2int_rn(*f) + __float_as_int(*f) + __double2int_rz(*d) + __dp4a(*i, *i, *i)
        + __popc(*u) + __popcll(*u) + (int)__brev(*u) + (int)__byte_perm(*u, *u, 0x3210)
        + (int)__funnelshift_l(*u, *u, 3) + __double2hiint(*d) + (int)__umulhi(*u, *u)
        + (int)umin(*u, *u) + (int)__vadd4(*u, *u) + (int)clock() + (int)clock64();
    *f += min(*f, 1.0f) + max(*d, 1.0) + min(*f, *d);
    *i += (int)min(3ull, 4ll) + (int)max(sizeof *i, 3l) + (int)min(3l, 4l) + (int)max(3ll, 4ll);
    __ldg(f), __ldg(reinterpret_cast<float4 *>(f)), __ldcg(i), __stcs(i, 3);
    assert(*i > 0);
    printf("%d %f\n", *i, *d);
}

__global__ void warps(int *i, unsigned *u, float *f, double *d, unsigned long long *l)
{
    __shared__ int shared[32];
    extern __shared__ float dynamic[];
    unsigned lane = threadIdx.x % warpSize;
    shared[lane] = (int)blockIdx.x + (int)gridDim.z + (int)dynamic[0];
    __syncthreads();
    *i += __syncthreads_count(1) + __syncthreads_and(1) + __syncthreads_or(0);
    __syncwarp();
    __threadfence(), __threadfence_block(), __threadfence_system();
    *i += __shfl_sync(0xffffffff, *i, 0) + __shfl_up_sync(~0u, *i, 1) + __shfl_down_sync(~0u, *i, 1, 16);
    *f += __shfl_xor_sync(~0u, *f, 1);
    *d += __shfl_xor_sync(~0u, *d, 1);
    *l += __shfl_sync(~0u, *l, 1);
    *u += __ballot_sync(~0u, *i) + __any_sync(~0u, *i) + __all_sync(~0u, *i) + __activemask();
    *u += __match_any_sync(~0u, *i) + __match_any_sync(~0u, *d);
    int all;
    *u += __match_all_sync(~0u, *l, &all);
#if __CUDA_ARCH__ >= 800
    *u += __reduce_add_sync(~0u, *u) + __reduce_or_sync(~0u, *u);
#endif
    atomicAdd(i, 1), atomicAdd(u, 1u), atomicAdd(f, 1.0f), atomicAdd(d, 1.0), atomicAdd(l, 1ull);
    atomicSub(i, 1), atomicMin(i, 1), atomicMax(l, 1ull), atomicExch(f, 1.0f), atomicCAS(l, 1ull, 2ull);
    atomicInc(u, 1u), atomicDec(u, 1u), atomicAnd(u, 1u), atomicOr(i, 1), atomicXor(l, 1ull);
    atomicAdd_block(i, 1), atomicAdd_system(f, 1.0f), atomicCAS_block(u, 1u, 2u);
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    warp.sync();
    *i += tile.shfl_down(*i, 1) + (int)tile.ballot(1) + cg::reduce(tile, *i, cg::plus<int>());
    cg::coalesced_group together = cg::coalesced_threads();
    *i += together.shfl(*i, 0) + (int)together.thread_rank();
    cg::thread_group group = tile;
    group.sync(), cg::sync(block), cg::this_grid().sync();
    int *made = new int[4];
    delete[] made;
    free(malloc(8));
    dim3 copy = threadIdx;
    uint3 other = blockIdx;
    keep(u, copy.x + other.y);
}

__global__ void halves(__half *h, __half2 *p, cuFloatComplex *c)
{
    *h = __hadd(*h, __float2half(1.0f)) * __hfma(*h, *h, *h) + hexp(*h);
    *p = __hadd2(*p, __hmul2(*p, *p)) + __float2half2_rn(2.0f);
    if (*h < __half(3.0f))
        *h = __hmax(*h, __low2half(*p));
    *c = cuCmulf(*c, make_cuFloatComplex(1, 2));
}

__constant__ float coefficients[4];
__device__ int counter;

int main()
{
    int *i, device, resident, blocks, threads;
    unsigned *u;
    float *f, ms;
    double *d;
    unsigned long long *l;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    cudaDeviceProp prop;
    cudaFuncAttributes attributes;
    size_t bytes;
    cudaMalloc(&i, 4), cudaMalloc((void **)&u, 4), cudaMallocManaged(&f, 8), cudaMallocHost(&d, 8);
    cudaHostAlloc(&l, 8, cudaHostAllocDefault);
    cudaGetDeviceCount(&device), cudaSetDevice(0), cudaGetDeviceProperties(&prop, 0);
    cudaStreamCreate(&stream), cudaEventCreate(&start), cudaEventCreate(&stop, cudaEventDisableTiming);
    cudaEventRecord(start), cudaEventRecord(stop, stream);
    numbers<<<1, 32>>>(d, f, i, u);
    warps<<<dim3(1, 2), dim3(32, 1, 1), 128, stream>>>(i, u, f, d, l);
    cudaEventElapsedTime(&ms, start, stop);
    cudaMemcpyToSymbol(coefficients, f, 16), cudaMemcpyFromSymbol(i, counter, 4);
    cudaGetSymbolAddress((void **)&i, counter), cudaGetSymbolSize(&bytes, coefficients);
    cudaMemcpyAsync(i, u, 4, cudaMemcpyDeviceToDevice, stream);
    cudaMemPrefetchAsync(f, 8, 0), cudaMemAdvise(f, 8, cudaMemAdviseSetReadMostly, 0);
    cudaFuncSetAttribute(warps, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 16);
    cudaFuncGetAttributes(&attributes, numbers), cudaFuncSetCacheConfig(numbers, cudaFuncCachePreferL1);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, numbers, 128, 0);
    cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, numbers, 0, 0);
    void *arguments[] = {&d, &f, &i, &u};
    cudaLaunchKernel(numbers, 1, 32, arguments), cudaLaunchCooperativeKernel((void *)numbers, 1, 32, arguments);
    cudaLaunchConfig_t config = {};
    cudaLaunchKernelEx(&config, numbers, d, f, i, u);
    cudaThreadSynchronize(), cudaDeviceSynchronize(), cudaProfilerStart(), cudaDeviceReset();
    std::printf("%s %d %zu\n", cudaGetErrorString(cudaGetLastError()), prop.clockRate, prop.totalGlobalMem);
    return isnan(ms) + isinf(ms) + isfinite(2.0) + signbit(ms) + max(1, min(2, 3)) + (int)max(sizeof device, 3l) + (int)min(1.0, 2.0f) + (int)rsqrtf(4.0f) + make_float4(1, 2, 3, 4).w;
}
