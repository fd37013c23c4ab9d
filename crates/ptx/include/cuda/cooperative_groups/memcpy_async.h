// Copies from global to shared memory by all threads of a group.
#ifndef REUSELENS_MEMCPY_ASYNC_H
#define REUSELENS_MEMCPY_ASYNC_H
#include "../cooperative_groups.h"
#include "../cuda_pipeline.h"

namespace cooperative_groups {
// Copies bytes: words of 16 or 4 where both sides are aligned so, and the rest byte by byte.
template <class Group>
REUSELENS_DEVICE void reuselens_copy(const Group &group, void *to, const void *from, size_t bytes) {
  size_t places = (size_t)to | (size_t)from, word = places % 16 == 0 ? 16 : places % 4 == 0 ? 4 : 1;
  size_t end = word == 1 ? 0 : bytes / word * word;
  bool is_staged = __isShared(to) && __isGlobal(from);
  for (size_t i = group.thread_rank() * word; i < end; i += group.size() * word) {
    if (is_staged && word == 16)
      __pipeline_memcpy_async((char *)to + i, (const char *)from + i, 16);
    else if (is_staged)
      __pipeline_memcpy_async((char *)to + i, (const char *)from + i, 4);
    else
      for (size_t j = i; j < i + word; j += 4)
        *(int *)((char *)to + j) = *(const int *)((const char *)from + j);
  }
  for (size_t i = end + group.thread_rank(); i < bytes; i += group.size())
    ((char *)to)[i] = ((const char *)from)[i];
  __pipeline_commit();
}
template <class Group, class To, class From>
REUSELENS_DEVICE void memcpy_async(const Group &group, To *to, const From *from, size_t bytes) {
  reuselens_copy(group, to, from, bytes);
}
// Elements: as many as both sides have.
template <class Group, class To, class From>
REUSELENS_DEVICE void memcpy_async(const Group &group, To *to, size_t to_count, const From *from, size_t from_count) {
  size_t to_bytes = to_count * sizeof(To), from_bytes = from_count * sizeof(From);
  reuselens_copy(group, to, from, to_bytes < from_bytes ? to_bytes : from_bytes);
}
template <class Group> REUSELENS_DEVICE void wait(const Group &group) {
  __pipeline_wait_prior(0);
  group.sync();
}
// Waits for all copies but the last `count`.
template <unsigned count, class Group> REUSELENS_DEVICE void wait_prior(const Group &group) {
  __pipeline_wait_prior(count);
  group.sync();
}
} // namespace cooperative_groups
#endif
