// The same product as gemm.cu, in OpenCL C: what the interpreter's speed is compared with on Oclgrind (kernels/speed/oclgrind).
__kernel void gemm(int ni, int nj, int nk, float alpha, float beta, __global const float *a, __global const float *b, __global float *c) {
  int j = get_global_id(0);
  int i = get_global_id(1);
  if (i >= ni || j >= nj) return;
  c[i * nj + j] *= beta;
  for (int k = 0; k < nk; k++) c[i * nj + j] += alpha * a[i * nk + k] * b[k * nj + j];
}
