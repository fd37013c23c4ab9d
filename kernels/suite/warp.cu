// Votes and shuffles.

extern "C" __global__ void warp_sum(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = in[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) out[i / 32] = sum;
}

extern "C" __global__ void warp_scan(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int sum = in[i];
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(0xffffffff, sum, step);
    if (lane >= step) sum += other;
  }
  out[i] = sum;
}

extern "C" __global__ void shuffles(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = in[i];
  out[4 * i + 0] = __shfl_xor_sync(0xffffffff, x, 5);
  out[4 * i + 1] = __shfl_sync(0xffffffff, x, x & 31);
  out[4 * i + 2] = __shfl_sync(0xffffffff, x, 3, 8);
  out[4 * i + 3] = __shfl_down_sync(0xffffffff, x, 3, 16);
}

extern "C" __global__ void ballots(const int *in, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned even = __ballot_sync(0xffffffff, in[i] % 2 == 0);
  unsigned flags = (__all_sync(0xffffffff, in[i] > -1000) ? 1u : 0u) | (__any_sync(0xffffffff, in[i] == 7) ? 2u : 0u);
  unsigned part = 0;
  if (in[i] % 3 == 0) part = __activemask();
  __syncwarp();
  out[4 * i + 0] = even;
  out[4 * i + 1] = flags;
  out[4 * i + 2] = part;
  out[4 * i + 3] = __match_any_sync(0xffffffff, (unsigned)in[i] & 3);
}

// Each warp takes room once for all its lanes.
extern "C" __global__ void filter(int n, const int *in, int *out, unsigned *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && (in[i] & 4);
  unsigned mask = __ballot_sync(0xffffffff, keep);
  int lane = threadIdx.x & 31;
  unsigned start = 0;
  if (lane == 0) start = atomicAdd(count, (unsigned)__popc(mask));
  start = __shfl_sync(0xffffffff, start, 0);
  if (keep) out[start + __popc(mask & ((1u << lane) - 1))] = in[i];
}

extern "C" __global__ void wide_shuffle(const double *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = in[i];
  for (int step = 16; step > 0; step /= 2) sum = __dadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, step));
  out[i] = sum;
}
