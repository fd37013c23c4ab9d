// A product of two matrices of singles, one thread for each element of the result, which is loaded and stored in each
// step: what speed is measured on (crates/ptx/examples/speed.rs).
extern "C" __global__ void gemm(int ni, int nj, int nk, float alpha, float beta, const float *a, const float *b, float *c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= ni || j >= nj) return;
  c[i * nj + j] *= beta;
  for (int k = 0; k < nk; k++) c[i * nj + j] += alpha * a[i * nk + k] * b[k * nj + j];
}
