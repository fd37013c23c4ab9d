/* Atomic operations of 1, 2, 4, 8 and 16 bytes: each must be recorded, and must still do its work.
 *
 * usage: atomics      no arguments; build with -mcx16 -pthread and -latomic
 *
 * Every operation is checked; the program fails if a result is wrong. Then two threads add to one
 * counter, which is only right if the additions are really atomic. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { ADDITIONS = 100000 };

static int wrong;

static void check(int fine, const char *what, int bits)
{
    if (fine)
        return;
    wrong++;
    printf("WRONG: %s of %d bits\n", what, bits);
}

/* 16 operations on one variable of the given type, through the compiler's builtins. */
enum { OPERATIONS = 16 };

#define TEST(TYPE, BITS)                                                                           \
    static TYPE cell##BITS;                                                                        \
    static void __attribute__((noinline)) test##BITS(void)                                         \
    {                                                                                              \
        TYPE *p = &cell##BITS, expected, out, in;                                                  \
        __atomic_store_n(p, 5, __ATOMIC_SEQ_CST);                                                  \
        check(__atomic_load_n(p, __ATOMIC_ACQUIRE) == 5, "load", BITS);                            \
        check(__atomic_exchange_n(p, 9, __ATOMIC_ACQ_REL) == 5, "exchange", BITS);                 \
        expected = 9;                                                                              \
        check(__atomic_compare_exchange_n(p, &expected, 20, 0, __ATOMIC_SEQ_CST,                   \
                                          __ATOMIC_RELAXED),                                       \
              "compare-exchange that succeeds", BITS);                                             \
        expected = 9;                                                                              \
        check(!__atomic_compare_exchange_n(p, &expected, 30, 0, __ATOMIC_SEQ_CST,                  \
                                           __ATOMIC_SEQ_CST) &&                                    \
                  expected == 20,                                                                  \
              "compare-exchange that fails", BITS);                                                \
        check(__atomic_fetch_add(p, 7, __ATOMIC_RELAXED) == 20, "fetch-add", BITS);                \
        check(__atomic_fetch_sub(p, 2, __ATOMIC_RELEASE) == 27, "fetch-sub", BITS);                \
        check(__atomic_fetch_and(p, 24, __ATOMIC_SEQ_CST) == 25, "fetch-and", BITS);               \
        check(__atomic_fetch_or(p, 3, __ATOMIC_SEQ_CST) == 24, "fetch-or", BITS);                  \
        check(__atomic_fetch_xor(p, 1, __ATOMIC_SEQ_CST) == 27, "fetch-xor", BITS);                \
        check(__atomic_fetch_nand(p, 26, __ATOMIC_SEQ_CST) == 26, "fetch-nand", BITS);             \
        check(__atomic_add_fetch(p, 27, __ATOMIC_SEQ_CST) == 0, "add-fetch", BITS);                \
        in = 77;                                                                                   \
        __atomic_store(p, &in, __ATOMIC_RELEASE);                                                  \
        __atomic_load(p, &out, __ATOMIC_CONSUME);                                                  \
        check(out == 77, "generic load and store", BITS);                                          \
        in = 78;                                                                                   \
        __atomic_exchange(p, &in, &out, __ATOMIC_SEQ_CST);                                         \
        check(out == 77, "generic exchange", BITS);                                                \
        check(__atomic_load_n(p, __ATOMIC_RELAXED) == 78, "last load", BITS);                      \
    }

TEST(uint8_t, 8)
TEST(uint16_t, 16)
TEST(uint32_t, 32)
TEST(uint64_t, 64)
TEST(unsigned __int128, 128)

static atomic_flag flag = ATOMIC_FLAG_INIT;
static _Atomic long counter;
static long guarded;

/* C11: a counter, and a lock made of a flag. */
static void *add(void *unused)
{
    for (int i = 0; i < ADDITIONS; i++) {
        atomic_fetch_add(&counter, 1);
        while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire))
            ;
        guarded++;
        atomic_flag_clear_explicit(&flag, memory_order_release);
    }
    atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_seq_cst);
    return unused;
}

int main(void)
{
    test8();
    test16();
    test32();
    test64();
    test128();
    pthread_t other;
    if (pthread_create(&other, NULL, add, NULL) != 0) {
        perror("atomics: cannot start a thread");
        return 1;
    }
    add(NULL);
    pthread_join(other, NULL);
    check(atomic_load(&counter) == 2L * ADDITIONS, "additions by two threads", 64);
    check(guarded == 2L * ADDITIONS, "additions under a lock", 64);
    for (int bits = 8; bits <= 128; bits *= 2)
        printf("expect cell%d operations %d\n", bits, OPERATIONS);
    printf("expect counter operations %d\n", 2 * ADDITIONS + 1);
    printf("atomics %s\n", wrong == 0 ? "right" : "WRONG");
    return wrong != 0;
}
