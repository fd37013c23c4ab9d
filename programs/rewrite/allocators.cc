// Each function of an allocator, called by a function of its own, which writes to each 64th byte of a
// small and of a large block: 10 and 4,000 stores. With an argument without `pvalloc`, which jemalloc
// leaves to libc, whose blocks it cannot free.
#include <initializer_list>
#include <malloc.h>
#include <new>
#include <stdlib.h>

#define OWN extern "C" __attribute__((noinline)) void

static void *made;

static void fill(size_t bytes) {
    volatile char *block = static_cast<char *>(made);
    for (size_t at = 0; at < bytes; at += 64)
        block[at] = 1;
}

OWN by_malloc(size_t n) { made = malloc(n); fill(n); free(made); }
OWN by_calloc(size_t n) { made = calloc(n / 8, 8); fill(n); free(made); }
OWN by_realloc(size_t n) { made = realloc(malloc(n / 2), n); fill(n); free(made); }
OWN by_reallocarray(size_t n) { made = reallocarray(nullptr, n / 8, 8); fill(n); free(made); }
OWN by_memalign(size_t n) { made = memalign(64, n); fill(n); free(made); }
OWN by_aligned_alloc(size_t n) { made = aligned_alloc(64, n); fill(n); free(made); }
OWN by_valloc(size_t n) { made = valloc(n); fill(n); free(made); }
OWN by_pvalloc(size_t n) { made = pvalloc(n); fill(n); free(made); }

OWN by_posix_memalign(size_t n) {
    // Nothing is stored where the alignment is none, nor read there.
    if (posix_memalign(nullptr, 3, n) == 0 || posix_memalign(&made, 64, n) != 0)
        abort();
    fill(n);
    free(made);
}

OWN by_new(size_t n) { char *block = new char[n]; made = block; fill(n); delete[] block; }

OWN by_aligned_new(size_t n) {
    made = operator new(n, std::align_val_t(128));
    fill(n);
    operator delete(made, std::align_val_t(128));
}

OWN by_aligned_new_of_an_array(size_t n) {
    made = operator new[](n, std::align_val_t(128));
    fill(n);
    operator delete[](made, n, std::align_val_t(128));
}

OWN by_aligned_new_or_null(size_t n) {
    made = operator new(n, std::align_val_t(128), std::nothrow);
    fill(n);
    operator delete(made, std::align_val_t(128), std::nothrow);
}

int main(int argc, char **) {
    for (size_t n : {640ul, 256000ul}) {
        by_malloc(n);
        by_calloc(n);
        by_realloc(n);
        by_reallocarray(n);
        by_memalign(n);
        by_aligned_alloc(n);
        by_valloc(n);
        if (argc == 1)
            by_pvalloc(n);
        by_posix_memalign(n);
        by_new(n);
        by_aligned_new(n);
        by_aligned_new_of_an_array(n);
        by_aligned_new_or_null(n);
    }
}
