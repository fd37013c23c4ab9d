// Shared memory and barriers.

extern "C" __global__ void reverse_block(int *data) {
  __shared__ int tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  tile[threadIdx.x] = data[i];
  __syncthreads();
  data[i] = tile[255 - threadIdx.x];
}

extern "C" __global__ void tree_sum(int n, const float *in, float *out) {
  extern __shared__ float part[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = __fadd_rn(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void transpose(int n, const float *in, float *out) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  int tx = blockIdx.y * 16 + threadIdx.x, ty = blockIdx.x * 16 + threadIdx.y;
  if (tx < n && ty < n) out[ty * n + tx] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void matmul(int n, const float *a, const float *b, float *c) {
  __shared__ float ta[16][16], tb[16][16];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    ta[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
    __syncthreads();
    for (int j = 0; j < 16; j++) sum = fmaf(ta[threadIdx.y][j], tb[j][threadIdx.x], sum);
    __syncthreads();
  }
  c[y * n + x] = sum;
}

extern "C" __global__ void scan_block(const int *in, int *out) {
  __shared__ int a[512];
  int t = threadIdx.x, from = 0;
  a[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    int to = 256 - from;
    a[to + t] = t >= step ? a[from + t] + a[from + t - step] : a[from + t];
    from = to;
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = a[from + t];
}

extern "C" __global__ void votes_of_block(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = __syncthreads_count(in[i] > 10);
  int all = __syncthreads_and(in[i] > -100);
  int any = __syncthreads_or(in[i] == 42);
  out[i] = count * 4 + (all != 0) * 2 + (any != 0);
}

extern "C" __global__ void stencil(int n, const float *in, float *out) {
  __shared__ float tile[130];
  int i = blockIdx.x * 128 + threadIdx.x;
  tile[threadIdx.x + 1] = i < n ? in[i] : 0.0f;
  if (threadIdx.x == 0) tile[0] = i > 0 ? in[i - 1] : 0.0f;
  if (threadIdx.x == 127) tile[129] = i + 1 < n ? in[i + 1] : 0.0f;
  __syncthreads();
  if (i < n) out[i] = fmaf(0.25f, tile[threadIdx.x], fmaf(0.5f, tile[threadIdx.x + 1], __fmul_rn(0.25f, tile[threadIdx.x + 2])));
}
