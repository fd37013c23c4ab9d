// Included by clang's header of device functions after it has declared `__match32_any_sync` and its
// like: the overloads by type.
#define REUSELENS_MATCH(type, bits, as)                                                            \
  REUSELENS_DEVICE unsigned __match_any_sync(unsigned mask, type value) {                          \
    return __match##bits##_any_sync(mask, __builtin_bit_cast(as, value));                          \
  }                                                                                                \
  REUSELENS_DEVICE unsigned __match_all_sync(unsigned mask, type value, int *all) {                \
    return __match##bits##_all_sync(mask, __builtin_bit_cast(as, value), all);                     \
  }
REUSELENS_MATCH(int, 32, unsigned)
REUSELENS_MATCH(unsigned, 32, unsigned)
REUSELENS_MATCH(float, 32, unsigned)
REUSELENS_MATCH(long, 64, unsigned long long)
REUSELENS_MATCH(unsigned long, 64, unsigned long long)
REUSELENS_MATCH(long long, 64, unsigned long long)
REUSELENS_MATCH(unsigned long long, 64, unsigned long long)
REUSELENS_MATCH(double, 64, unsigned long long)
REUSELENS_DEVICE void __nanosleep(unsigned nanoseconds) { asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds)); }
