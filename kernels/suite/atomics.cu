// Atomic operations, in shared and in global memory.

extern "C" __global__ void histogram(int n, const unsigned char *in, unsigned *bins) {
  __shared__ unsigned local[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

extern "C" __global__ void extremes(int n, const int *in, int *out, unsigned *bits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMin(&out[0], in[i]);
  atomicMax(&out[1], in[i]);
  atomicAdd(&out[2], in[i]);
  atomicOr(&bits[0], (unsigned)in[i]);
  atomicAnd(&bits[1], (unsigned)in[i]);
  atomicXor(&bits[2], (unsigned)in[i]);
  atomicInc(&bits[3], 9u);
  atomicMax(&bits[4], (unsigned)in[i]);
}

// Places in the order of blocks and threads when blocks run one after the other.
extern "C" __global__ void compact(int n, const int *in, int *out, unsigned *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) out[atomicAdd(count, 1u)] = in[i];
}

// A float's sum made of compare-and-swap.
extern "C" __global__ void swap_sum(int n, const float *in, unsigned *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned old = *(volatile unsigned *)sum, seen;
  do {
    seen = old;
    old = atomicCAS(sum, seen, __float_as_uint(__fadd_rn(__uint_as_float(seen), in[i])));
  } while (old != seen);
}

extern "C" __global__ void wide_sum(int n, const unsigned long long *in, unsigned long long *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, in[i]);
}

// The last block that ends adds up what all have left.
extern "C" __global__ void last_block(int n, const int *in, int *parts, unsigned *ended, int *total) {
  __shared__ int part;
  __shared__ bool is_last;
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&part, in[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = part;
    __threadfence();
    is_last = atomicAdd(ended, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += ((volatile int *)parts)[b];
    *total = sum;
  }
}
