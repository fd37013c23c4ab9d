/* Heap blocks that are told apart only by who asked for them.
 *
 * `make` is the one function that calls malloc; `words` and `bytes` call it for different purposes.
 * A report by object has to list two objects, with the numbers printed, not one. Then there is a
 * block that grows by realloc and may move, and one each from calloc, posix_memalign, aligned_alloc
 * and strdup, and all is freed. The pointers are volatile: nothing here may be optimised away. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 100, WORDS = 512, BYTES = 1024 };

static void *__attribute__((noinline)) make(size_t size)
{
    void *block = malloc(size);
    if (block == NULL)
        abort();
    return block;
}

static volatile uint64_t *__attribute__((noinline)) words(void)
{
    volatile uint64_t *block = make(WORDS * sizeof(uint64_t));
    for (int i = 0; i < WORDS; i++)
        block[i] = (uint64_t)i;
    return block;
}

static volatile uint8_t *__attribute__((noinline)) bytes(void)
{
    volatile uint8_t *block = make(BYTES);
    for (int i = 0; i < BYTES; i++)
        block[i] = (uint8_t)i;
    return block;
}

/* Blocks of both kinds in turn, so that free memory of one kind is reused for the other. */
static uint64_t __attribute__((noinline)) in_turn(void)
{
    uint64_t sum = 0;
    for (int r = 0; r < ROUNDS; r++) {
        volatile uint64_t *w = words();
        for (int i = 0; i < WORDS; i++)
            sum += w[i];
        free((void *)w);
        volatile uint8_t *b = bytes();
        for (int i = 0; i < BYTES; i++)
            sum += b[i];
        free((void *)b);
    }
    return sum;
}

/* A block that doubles until it has 64 Ki words; each new half is written once. */
static void __attribute__((noinline)) grow(void)
{
    volatile uint64_t *block = NULL;
    size_t filled = 0;
    for (size_t size = 64; size <= 65536; size *= 2) {
        void *bigger = realloc((void *)block, size * sizeof(uint64_t));
        if (bigger == NULL)
            abort();
        block = bigger;
        for (; filled < size; filled++)
            block[filled] = filled;
    }
    free((void *)block);
}

/* One block from each of the other ways; each gets 10 stores. */
static void __attribute__((noinline)) others(void)
{
    void *blocks[4] = {calloc(100, 8), NULL, aligned_alloc(64, 640), strdup("twenty-one characters")};
    if (posix_memalign(&blocks[1], 4096, 4096) != 0)
        abort();
    for (int b = 0; b < 4; b++) {
        volatile char *block = blocks[b];
        if (block == NULL)
            abort();
        for (int i = 0; i < 10; i++)
            block[i] = (char)i;
        free((void *)block);
    }
}

int main(void)
{
    uint64_t sum = in_turn();
    uint64_t right = ROUNDS * ((uint64_t)WORDS * (WORDS - 1) / 2 + BYTES / 256 * (255 * 256 / 2));
    grow();
    others();
    printf("expect heap of words loads %d stores %d\n", ROUNDS * WORDS, ROUNDS * WORDS);
    printf("expect heap of bytes loads %d stores %d\n", ROUNDS * BYTES, ROUNDS * BYTES);
    printf("expect heap of grow loads 0 stores 65536\n");
    return sum != right;
}
