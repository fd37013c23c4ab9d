/* A block of one thread that another goes over: a part of the trace has the accesses and not the allocation. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS (1 << 13)

__attribute__((noinline)) static double *make(void)
{
    double *block = malloc(ELEMENTS * sizeof *block);
    if (block == NULL)
        exit(1);
    memset(block, 0, ELEMENTS * sizeof *block);
    return block;
}

__attribute__((noinline)) static double sum(const double *block)
{
    double total = 0;
    for (int element = 0; element < ELEMENTS; element++)
        total += block[element];
    return total;
}

static void *work(void *block)
{
    static double total;
    for (int round = 0; round < 4; round++)
        total += sum(block);
    return &total;
}

int main(void)
{
    pthread_t thread;
    double *block = make();
    if (pthread_create(&thread, NULL, work, block) != 0)
        return 1;
    pthread_join(thread, NULL);
    double total = 0;
    for (int round = 0; round < 4; round++)
        total += sum(block);
    printf("%f\n", total);
    free(block);
    return 0;
}
