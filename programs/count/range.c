/* Accesses of many bytes: memcpy, memmove, memset and structures that are copied as one.
 *
 * `from` and `to` are 4096 bytes each and lie on page boundaries, so that it is plain how many cache
 * lines of 64 bytes each operation covers. Lengths come from a volatile variable: the compiler cannot
 * turn the calls into a few loads and stores. Length 0 touches nothing. */

#include <stdio.h>
#include <string.h>

enum { SIZE = 4096, ROUNDS = 100 };

struct big {
    unsigned long words[32]; /* 256 bytes */
};

static char from[SIZE] __attribute__((aligned(4096)));
static char to[SIZE] __attribute__((aligned(4096)));
/* Not static: else the compiler sees that `one` is never written, and copies zeros. */
struct big one __attribute__((aligned(256))), two __attribute__((aligned(256)));
static volatile size_t whole = SIZE, part = 100, nothing = 0;

/* noinline, so that each operation is in a function of its own name. */
static void __attribute__((noinline)) fill(int r)
{
    memset(from, r, whole);
}

static void __attribute__((noinline)) copy(void)
{
    memcpy(to, from, whole);
}

/* Overlapping, 100 bytes from `to + 60` to `to + 70`: bytes 60..160 read, 70..170 written. */
static void __attribute__((noinline)) slide(void)
{
    memmove(to + 70, to + 60, part);
}

static void __attribute__((noinline)) none(void)
{
    memcpy(to, from, nothing);
    memset(to, 0, nothing);
}

static void __attribute__((noinline)) assign(void)
{
    two = one;
    __asm__ volatile("" ::: "memory"); /* the copy is not put off or left out */
}

int main(void)
{
    for (int r = 0; r < ROUNDS; r++) {
        fill(r);
        copy();
        slide();
        none();
        assign();
    }
    printf("expect from bytes loaded %d stored %d\n", ROUNDS * SIZE, ROUNDS * SIZE);
    printf("expect to bytes loaded %d stored %d\n", ROUNDS * 100 + 1,
           ROUNDS * (SIZE + 100));
    printf("expect one bytes loaded %d stored 0\n", ROUNDS * (int)sizeof one);
    printf("expect two bytes loaded 0 stored %d\n", ROUNDS * (int)sizeof two);
    return to[SIZE - 1] != ROUNDS - 1;
}
