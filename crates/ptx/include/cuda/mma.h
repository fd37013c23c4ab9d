// Products of small matrices by all threads of a warp (`nvcuda::wmma`): halves, bytes, floats of 19
// bits, doubles.
#ifndef REUSELENS_MMA_H
#define REUSELENS_MMA_H
// By this name programs ask whether CUDA's header is there.
#define __CUDA_MMA_H__
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {
struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}

template <class Use, int m, int n, int k, class T, class Layout = void> struct fragment {
  static_assert(sizeof(T) == 0, "reuselens nvcc has wmma for __half, signed char, unsigned char, "
                                "precision::tf32 and double in their ordinary shapes; other types "
                                "and shapes need CUDA's own nvcc");
};
template <class T> struct reuselens_storage { typedef T type; };
template <> struct reuselens_storage<precision::tf32> { typedef float type; };
template <class Layout> struct reuselens_order;
template <> struct reuselens_order<row_major> { enum { is_column = 0 }; };
template <> struct reuselens_order<col_major> { enum { is_column = 1 }; };

#define REUSELENS_FRAGMENT(T, count)                                                               \
  typedef typename reuselens_storage<T>::type element_type;                                        \
  typedef element_type storage_element_type;                                                       \
  enum { num_elements = count };                                                                   \
  element_type x[count];
// A factor: `words` is the type by which the instructions of clang take it.
#define REUSELENS_FACTOR(use, m, n, k, T, count, words, load)                                      \
  template <class Layout> struct fragment<use, m, n, k, T, Layout> { REUSELENS_FRAGMENT(T, count) }; \
  template <class Layout>                                                                          \
  REUSELENS_DEVICE void load_matrix_sync(fragment<use, m, n, k, T, Layout> &to, const reuselens_storage<T>::type *from, unsigned stride) { \
    if (reuselens_order<Layout>::is_column)                                                        \
      load((words *)to.x, (const words *)from, stride, 1);                                         \
    else                                                                                           \
      load((words *)to.x, (const words *)from, stride, 0);                                         \
  }
#define REUSELENS_SUM(m, n, k, T, count, words, load, store)                                       \
  template <> struct fragment<accumulator, m, n, k, T, void> { REUSELENS_FRAGMENT(T, count) };     \
  REUSELENS_DEVICE void load_matrix_sync(fragment<accumulator, m, n, k, T> &to, const T *from, unsigned stride, layout_t layout) { \
    if (layout == mem_col_major)                                                                   \
      load((words *)to.x, (const words *)from, stride, 1);                                         \
    else                                                                                           \
      load((words *)to.x, (const words *)from, stride, 0);                                         \
  }                                                                                                \
  REUSELENS_DEVICE void store_matrix_sync(T *to, const fragment<accumulator, m, n, k, T> &from, unsigned stride, layout_t layout) { \
    if (layout == mem_col_major)                                                                   \
      store((words *)to, (const words *)from.x, stride, 1);                                        \
    else                                                                                           \
      store((words *)to, (const words *)from.x, stride, 0);                                        \
  }
// The number of a pair of orders: 2 for columns on the left, and 1 for columns on the right.
#define REUSELENS_PRODUCT(m, n, k, T, To, words, From, from_words, factor, multiply)               \
  template <class L, class R>                                                                      \
  REUSELENS_DEVICE void mma_sync(fragment<accumulator, m, n, k, To> &d, const fragment<matrix_a, m, n, k, T, L> &a, \
                                 const fragment<matrix_b, m, n, k, T, R> &b, const fragment<accumulator, m, n, k, From> &c) { \
    const factor *x = (const factor *)a.x, *y = (const factor *)b.x;                               \
    switch (reuselens_order<L>::is_column * 2 + reuselens_order<R>::is_column) {                   \
    case 0: multiply((words *)d.x, x, y, (const from_words *)c.x, 0, 0); break;                    \
    case 1: multiply((words *)d.x, x, y, (const from_words *)c.x, 1, 0); break;                    \
    case 2: multiply((words *)d.x, x, y, (const from_words *)c.x, 2, 0); break;                    \
    default: multiply((words *)d.x, x, y, (const from_words *)c.x, 3, 0);                          \
    }                                                                                              \
  }

#define REUSELENS_HALVES(m, n, shape)                                                              \
  REUSELENS_FACTOR(matrix_a, m, n, 16, __half, 16, int, __hmma_##shape##_ld_a)                     \
  REUSELENS_FACTOR(matrix_b, m, n, 16, __half, 16, int, __hmma_##shape##_ld_b)                     \
  REUSELENS_SUM(m, n, 16, __half, 8, int, __hmma_##shape##_ld_c_f16, __hmma_##shape##_st_c_f16)    \
  REUSELENS_SUM(m, n, 16, float, 8, float, __hmma_##shape##_ld_c_f32, __hmma_##shape##_st_c_f32)   \
  REUSELENS_PRODUCT(m, n, 16, __half, float, float, float, float, int, __hmma_##shape##_mma_f32f32) \
  REUSELENS_PRODUCT(m, n, 16, __half, __half, int, __half, int, int, __hmma_##shape##_mma_f16f16)  \
  REUSELENS_PRODUCT(m, n, 16, __half, float, float, __half, int, int, __hmma_##shape##_mma_f32f16) \
  REUSELENS_PRODUCT(m, n, 16, __half, __half, int, float, float, int, __hmma_##shape##_mma_f16f32)
REUSELENS_HALVES(16, 16, m16n16k16)
REUSELENS_HALVES(32, 8, m32n8k16)
REUSELENS_HALVES(8, 32, m8n32k16)

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 720
#define REUSELENS_BYTES(m, n, shape, T, sign, left, right)                                         \
  REUSELENS_FACTOR(matrix_a, m, n, 16, T, left, int, __imma_##shape##_ld_a_##sign)                 \
  REUSELENS_FACTOR(matrix_b, m, n, 16, T, right, int, __imma_##shape##_ld_b_##sign)                \
  REUSELENS_PRODUCT(m, n, 16, T, int, int, int, int, int, __imma_##shape##_mma_##sign)
#define REUSELENS_ALL_BYTES(m, n, shape, left, right)                                              \
  REUSELENS_SUM(m, n, 16, int, 8, int, __imma_##shape##_ld_c, __imma_##shape##_st_c_i32)           \
  REUSELENS_BYTES(m, n, shape, signed char, s8, left, right)                                       \
  REUSELENS_BYTES(m, n, shape, unsigned char, u8, left, right)
REUSELENS_ALL_BYTES(16, 16, m16n16k16, 8, 8)
REUSELENS_ALL_BYTES(32, 8, m32n8k16, 16, 4)
REUSELENS_ALL_BYTES(8, 32, m8n32k16, 4, 16)
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
REUSELENS_FACTOR(matrix_a, 16, 16, 8, precision::tf32, 4, int, __mma_tf32_m16n16k8_ld_a)
REUSELENS_FACTOR(matrix_b, 16, 16, 8, precision::tf32, 4, int, __mma_tf32_m16n16k8_ld_b)
REUSELENS_SUM(16, 16, 8, float, 8, float, __mma_tf32_m16n16k8_ld_c, __mma_m16n16k8_st_c_f32)
REUSELENS_PRODUCT(16, 16, 8, precision::tf32, float, float, float, float, int, __mma_tf32_m16n16k8_mma_f32)
REUSELENS_FACTOR(matrix_a, 8, 8, 4, double, 1, double, __dmma_m8n8k4_ld_a)
REUSELENS_FACTOR(matrix_b, 8, 8, 4, double, 1, double, __dmma_m8n8k4_ld_b)
REUSELENS_SUM(8, 8, 4, double, 2, double, __dmma_m8n8k4_ld_c, __dmma_m8n8k4_st_c_f64)
REUSELENS_PRODUCT(8, 8, 4, double, double, double, double, double, double, __dmma_m8n8k4_mma_f64)
REUSELENS_DEVICE float __float_to_tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return __builtin_bit_cast(float, bits);
}
#endif

template <class Use, int m, int n, int k, class T, class Layout, class Value>
REUSELENS_DEVICE void fill_fragment(fragment<Use, m, n, k, T, Layout> &to, const Value &value) {
  for (int i = 0; i < to.num_elements; i++)
    to.x[i] = value;
}
} // namespace wmma
} // namespace nvcuda
#endif
