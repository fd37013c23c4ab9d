// Reductions over the lanes of a warp, by an instruction of architecture 8.0.
#ifndef REUSELENS_WARP_H
#define REUSELENS_WARP_H
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define REUSELENS_REDUCE(name, type, ptx)                                                          \
  REUSELENS_DEVICE type __reduce_##name##_sync(unsigned mask, type value) {                        \
    type result;                                                                                   \
    asm volatile("redux.sync." ptx " %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));         \
    return result;                                                                                 \
  }
REUSELENS_REDUCE(add, unsigned, "add.u32")
REUSELENS_REDUCE(add, int, "add.s32")
REUSELENS_REDUCE(min, unsigned, "min.u32")
REUSELENS_REDUCE(min, int, "min.s32")
REUSELENS_REDUCE(max, unsigned, "max.u32")
REUSELENS_REDUCE(max, int, "max.s32")
REUSELENS_REDUCE(and, unsigned, "and.b32")
REUSELENS_REDUCE(or, unsigned, "or.b32")
REUSELENS_REDUCE(xor, unsigned, "xor.b32")
#endif
#endif
