/* Local arrays: one that is streamed through, and a small one that is hot.
 *
 * usage: locals
 *
 * All accesses to arrays but those of `inlined` are made by `fill` and `sum`, whatever the arrays
 * are. With -DFIXED the arrays are static, so that their accesses can be compared: each array has
 * the same distances. The arrays of `deep` are local in any case: one in each frame. */

#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>

#ifdef FIXED
#define LOCAL static
#else
#define LOCAL
#endif

enum { STREAM = 700, HOT = 10, SMALL = 12, LEVEL = 20, DEPTH = 5, ROUNDS = 5 };

typedef volatile long *words;

struct grid {
    long rows[6][5];
};

static jmp_buf back;

static void __attribute__((noinline)) fill(words p, long n)
{
    for (long i = 0; i < n; i++)
        p[i] = i;
}

static long __attribute__((noinline)) sum(words p, long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += p[i];
    return sum;
}

static inline long __attribute__((always_inline)) inlined(long n)
{
    LOCAL volatile long small[SMALL];
    long sum = 0;
    for (long i = 0; i < SMALL; i++)
        small[i] = n;
    for (long i = 0; i < SMALL; i++)
        sum += small[(i + n) % SMALL];
    return sum;
}

/* DEPTH frames with an array each; the last leaves all of them at once. */
static long __attribute__((noinline)) deep(long depth)
{
    long level[LEVEL];
    fill(level, LEVEL);
    if (depth == 0)
        return 0;
    if (depth == 1)
        longjmp(back, 1);
    return deep(depth - 1) + sum(level, LEVEL);
}

/* On a stack that nothing was on before: first accesses are those to the arrays. */
static void *work(void *unused)
{
    LOCAL long stream[STREAM];
    LOCAL long hot[HOT];
    LOCAL struct grid grid;
    volatile long result = 0;

    fill(stream, STREAM);
    fill(hot, HOT);
    fill(grid.rows[0], 30);
    for (long round = 0; round < ROUNDS; round++) {
        result += sum(stream, STREAM);
        for (long again = 0; again < 3; again++)
            result += sum(hot, HOT);
    }
    result += sum(grid.rows[0], 30) + inlined(result & 3);
    if (setjmp(back) == 0)
        result += deep(DEPTH);
    return result == 0 ? unused : NULL;
}

int main(void)
{
    long own[LEVEL];
    pthread_t other;

    fill(own, LEVEL);
    if (pthread_create(&other, NULL, work, own) != 0 || pthread_join(other, NULL) != 0)
        return 1;
    return sum(own, LEVEL) == 0;
}
