// Asynchronous copies from global to shared memory, by the functions of C. Before architecture 8.0
// they are ordinary copies.
#ifndef REUSELENS_CUDA_PIPELINE_H
#define REUSELENS_CUDA_PIPELINE_H
// By this name programs ask whether CUDA's header is there.
#define _CUDA_PIPELINE_H_
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// Copies 4, 8 or 16 bytes. Zeros take the place of the last `zeros` of them.
REUSELENS_DEVICE void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0) {
  unsigned shared = (unsigned)__cvta_generic_to_shared(to), kept = (unsigned)(bytes - zeros);
  size_t global = __cvta_generic_to_global(from);
  switch (bytes) {
  case 4: asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(global), "r"(kept) : "memory"); break;
  case 8: asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared), "l"(global), "r"(kept) : "memory"); break;
  case 16: asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(kept) : "memory"); break;
  default: __trap();
  }
}
REUSELENS_DEVICE void __pipeline_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups but the last `N`.
REUSELENS_DEVICE void __pipeline_wait_prior(size_t N) {
  switch (N) {
  case 0: asm volatile("cp.async.wait_group 0;" ::: "memory"); break;
  case 1: asm volatile("cp.async.wait_group 1;" ::: "memory"); break;
  case 2: asm volatile("cp.async.wait_group 2;" ::: "memory"); break;
  case 3: asm volatile("cp.async.wait_group 3;" ::: "memory"); break;
  case 4: asm volatile("cp.async.wait_group 4;" ::: "memory"); break;
  case 5: asm volatile("cp.async.wait_group 5;" ::: "memory"); break;
  case 6: asm volatile("cp.async.wait_group 6;" ::: "memory"); break;
  case 7: asm volatile("cp.async.wait_group 7;" ::: "memory"); break;
  default: asm volatile("cp.async.wait_group 8;" ::: "memory");
  }
}
#else
REUSELENS_DEVICE void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0) {
  for (size_t i = 0; i < bytes; i += 4)
    *(int *)((char *)to + i) = i < bytes - zeros ? *(const int *)((const char *)from + i) : 0;
}
REUSELENS_DEVICE void __pipeline_commit() {}
REUSELENS_DEVICE void __pipeline_wait_prior(size_t) {}
#endif
#endif
