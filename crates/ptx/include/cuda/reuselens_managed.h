// Managed variables: the host's copies are in a section of their own. Where that is, is reported to
// the runtime of `reuselens profile` before the variables are registered. CUDA's own runtime does
// not keep such copies equal to those of the device, so programs with them do not run there.
#ifndef REUSELENS_MANAGED_H
#define REUSELENS_MANAGED_H
#ifndef __CUDA_ARCH__
extern "C" {
extern __attribute__((weak, visibility("hidden"))) char __start_reuselens_managed, __stop_reuselens_managed;
__attribute__((weak)) void __cudaReuselensManaged(void *begin, void *end);
}
__attribute__((constructor(101))) static void reuselens_managed_variables() {
  if (!&__start_reuselens_managed)
    return;
  if (__cudaReuselensManaged) {
    __cudaReuselensManaged(&__start_reuselens_managed, &__stop_reuselens_managed);
    return;
  }
  const char *text = "reuselens: programs of `reuselens nvcc` with __managed__ variables run under "
                     "`reuselens profile`; take cudaMallocManaged, or CUDA's own nvcc\n";
  fputs(text, stderr);
  exit(1);
}
#endif
#endif
