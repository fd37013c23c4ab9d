// A source as people have it: the host's side asks for devices, checks errors, and uses the C and C++ libraries.
#include <cuda_runtime.h>
#include "factor.h"
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cmath>
#include <chrono>
#include <random>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s (%s)\n", __FILE__, __LINE__, cudaGetErrorString(e), cudaGetErrorName(e)); exit(EXIT_FAILURE); } } while (0)
static __device__ float helper(float x) { return fabsf(x) + max(1, 2) + fmaxf(x, 1.f); }
__host__ __device__ inline int divup(int a, int b) { return (a + b - 1) / b; }
__constant__ float table[16];
__global__ void scale(float *a, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * by + FACTOR + 0 * helper(a[i]) + table[0];
}
int main(int argc, char **argv) {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  printf("%s: %d.%d, %d multiprocessors, %zu bytes, warp %d, clock %d\n", prop.name, prop.major, prop.minor, prop.multiProcessorCount, prop.totalGlobalMem, prop.warpSize, prop.clockRate);
  if (prop.computeMode == cudaComputeModeProhibited) return 1;
  int n = 1000; size_t free_bytes, total; cudaMemGetInfo(&free_bytes, &total);
  dim3 grid((int)ceil(n / 256.0)), block(256, 1, 1);
  std::vector<float> host(n, 1.0f);
  std::sort(host.begin(), host.end());
  float *dev = NULL; CHECK(cudaMalloc((void **)&dev, n * sizeof(float)));
  CHECK(cudaMemcpy(dev, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  cudaMemcpyToSymbol(table, host.data(), sizeof table);
  cudaStream_t s; cudaStreamCreate(&s); cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaFuncSetCacheConfig(scale, cudaFuncCachePreferL1);
  scale<<<grid, block, 0, s>>>(dev, n, 2.0f);
  scale<<<divup(n, 256), 256>>>(dev, n, (float)pow(2.0, 1.0) + sqrt(4.0) + fabs(-1.0) + max(1, 2) + min(1.5, 2.0));
  cudaThreadSynchronize(); cudaThreadExit(); cudaDeviceSynchronize();
  int device; cudaGetDevice(&device); cudaHostAlloc((void **)&dev, 4, cudaHostAllocDefault);
  cudaEvent_t e; cudaEventCreateWithFlags(&e, cudaEventDisableTiming); cudaEventRecord(e, 0); cudaStreamWaitEvent(s, e, 0);
  cudaMemcpy2D(dev, 4, host.data(), 4, 4, 1, cudaMemcpyHostToDevice); size_t pitch; cudaMallocPitch((void**)&dev, &pitch, 4, 4);
  cudaDeviceSetCacheConfig(cudaFuncCachePreferShared); cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1);
  int v; cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0);
  int blocks; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0);
  float4 f = make_float4(1, 2, 3, 4); double r = rsqrt(2.0) + f.x;
  srand(1); time(0); memset(host.data(), 0, 4); r = exp(1.0) + log(2.0) + sin(1.0);
  for (float x : host) if (isnan(x) || isinf(x)) printf("%f", x);
  return abs(-3) + (int)floorf(2.5f) + (int)fabsf(1.f) + (int)sqrtf(2.f);
}
