// CUB's radix sort of pairs, instantiated; needs CUDA's own headers.
#include <cub/device/device_radix_sort.cuh>

extern "C" cudaError_t sort_pairs(void *temporary, size_t *bytes, const unsigned long long *keys_in, unsigned long long *keys_out,
                                  const unsigned *values_in, unsigned *values_out, size_t count, int bits, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, *bytes, keys_in, keys_out, values_in, values_out, count, 0, bits, stream);
}
