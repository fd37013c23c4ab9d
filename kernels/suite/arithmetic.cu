// Arithmetic: whole numbers, singles, doubles, conversions.

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

extern "C" __global__ void integers(int n, const int *a, const int *b, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i];
  out[8 * i + 0] = (int)((unsigned)x * (unsigned)y + (unsigned)x);
  out[8 * i + 1] = y == 0 ? 0 : (int)((unsigned)x / (unsigned)y);
  out[8 * i + 2] = y == 0 || y == -1 ? 0 : x % y;
  out[8 * i + 3] = (x ^ y) & (x | ~y);
  out[8 * i + 4] = x >> (y & 31);
  out[8 * i + 5] = __mulhi(x, y);
  out[8 * i + 6] = min(x, y) - max(x >> 1, y >> 1);
  out[8 * i + 7] = __popc(x) + 3 * __clz(y) + 5 * __ffs(x) + (int)(__brev(x) >> 16);
}

extern "C" __global__ void long_integers(int n, const long long *a, const long long *b, long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long x = a[i], y = b[i];
  out[4 * i + 0] = (long long)((unsigned long long)x * (unsigned long long)y);
  out[4 * i + 1] = y == 0 || y == -1 ? 0 : x / y;
  out[4 * i + 2] = (x << (y & 63)) ^ (long long)((unsigned long long)x >> (x & 63));
  out[4 * i + 3] = x < y ? __popcll(x) : y - x;
}

extern "C" __global__ void bytes(int n, const unsigned char *in, signed char *out, unsigned short *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned char left = in[i], right = in[(i + 1) % n];
  out[i] = (signed char)(left - right);
  sums[i] = (unsigned short)(left * right + 7);
}

extern "C" __global__ void singles(int n, const float *a, const float *b, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i];
  out[8 * i + 0] = __fadd_rn(x, y);
  out[8 * i + 1] = x / y;
  out[8 * i + 2] = sqrtf(fabsf(x));
  out[8 * i + 3] = fminf(x, y);
  out[8 * i + 4] = fmaxf(x, y);
  out[8 * i + 5] = floorf(x) + truncf(y);
  out[8 * i + 6] = __fadd_rz(x, y);
  out[8 * i + 7] = __fadd_ru(x, y);
}

extern "C" __global__ void doubles(int n, const double *a, const double *b, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i], y = b[i];
  out[4 * i + 0] = fma(x, y, x);
  out[4 * i + 1] = x / y;
  out[4 * i + 2] = sqrt(fabs(x));
  out[4 * i + 3] = x > y ? (double)(float)x : (double)(int)(y * 100.0);
}

extern "C" __global__ void conversions(int n, const float *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  out[6 * i + 0] = __float2int_rn(x);
  out[6 * i + 1] = __float2int_rz(x);
  out[6 * i + 2] = __float2int_ru(x);
  out[6 * i + 3] = __float2int_rd(x);
  out[6 * i + 4] = __float_as_int((float)(i * 16777259));
  out[6 * i + 5] = __float_as_int((float)(unsigned long long)(i * 1234567890123ull));
}

// Within 2 ULPs of the true values.
extern "C" __global__ void approximate(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  out[3 * i + 0] = rsqrtf(x);
  out[3 * i + 1] = __sinf(x);
  out[3 * i + 2] = __cosf(x);
}

extern "C" __global__ void permuted_bytes(int n, const unsigned *a, const unsigned *b, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __byte_perm(a[i], b[i], 0x2537) + __umulhi(a[i], b[i]);
}
