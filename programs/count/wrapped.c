/* Blocks that two functions allocate through one wrapper: a report by object has to list them by those. */
#include <stdlib.h>

__attribute__((noinline)) void *xmalloc(size_t size)
{
    void *block = malloc(size);
    if (block == NULL)
        abort();
    return block;
}

static void __attribute__((noinline)) small(void)
{
    volatile long *block = xmalloc(10 * sizeof *block);
    for (int i = 0; i < 10; i++)
        block[i] = i;
    free((void *)block);
}

static void __attribute__((noinline)) large(void)
{
    volatile long *block = xmalloc(1000 * sizeof *block);
    for (int i = 0; i < 1000; i++)
        block[i] = i;
    free((void *)block);
}

int main(void)
{
    small();
    large();
    return 0;
}
