// Structures, constants, local arrays, calls, vectors, grids of three directions.

struct Particle {
  float position[3];
  int kind;
  double mass;
};

extern "C" __global__ void structure(int n, Particle one, Particle *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle p = one;
  p.position[i % 3] = __fadd_rn(p.position[i % 3], (float)i);
  p.kind += i;
  p.mass = __dmul_rn(p.mass, (double)i);
  out[i] = p;
}

__constant__ int table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__device__ int scratch[64];
__device__ unsigned ticks = 7;

extern "C" __global__ void constants(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i < 64) scratch[i] = in[i] * 2;
  out[i] = table[in[i] & 15] * 100 + table[i & 15] + (int)ticks;
}

extern "C" __global__ void read_scratch(int *out) { out[threadIdx.x] = scratch[threadIdx.x]; }

extern "C" __global__ void local_array(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int order[16];
  for (int k = 0; k < 16; k++) order[k] = (k * 7 + in[i]) & 15;
  for (int k = 1; k < 16; k++) {  // insertion sort
    int x = order[k], j = k;
    while (j > 0 && order[j - 1] > x) {
      order[j] = order[j - 1];
      j--;
    }
    order[j] = x;
  }
  out[i] = order[in[i] & 15] * 16 + order[15 - (in[i] & 15)];
}

__device__ __noinline__ int mix(int a, int b) {
  for (int k = 0; k < (b & 3); k++) a = a * 31 + k;
  return a ^ b;
}

__device__ __noinline__ float2 polar(float2 p, float by) {
  float2 q;
  q.x = __fmul_rn(p.y, by);
  q.y = __fadd_rn(p.x, by);
  return q;
}

extern "C" __global__ void calls(int n, const int *in, int *out, float2 *points) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int r = mix(in[i], i);
  if (r & 1) r = mix(r, in[i] + 1);
  out[i] = r;
  points[i] = polar(points[i], (float)i);
}

extern "C" __global__ void vectors(int n, const float4 *in, float4 *out, const double2 *wide, double *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = in[i];
  out[i] = make_float4(v.w, v.z, __fadd_rn(v.x, v.y), v.x);
  double2 d = wide[i];
  sums[i] = __dadd_rn(d.x, d.y);
}

extern "C" __global__ void cube(int nx, int ny, int nz, int *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz) out[(z * ny + y) * nx + x] = x + 10 * y + 100 * z + 1000 * (int)gridDim.y;
}

// One level of a breadth-first search; blocks write the same values, so their order does not matter.
extern "C" __global__ void bfs_level(int n, int level, const int *begin, const int *edges, int *levels, int *changed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || levels[i] != level) return;
  for (int e = begin[i]; e < begin[i + 1]; e++)
    if (levels[edges[e]] < 0) {
      levels[edges[e]] = level + 1;
      *changed = 1;
    }
}
