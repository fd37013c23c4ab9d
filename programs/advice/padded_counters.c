/* counters.c with a line for each thread. */
#include <pthread.h>
#include <stdio.h>

#define ROUNDS 20000

static struct {
    _Alignas(64) volatile long count;
} counters[2];

static pthread_barrier_t barrier;

static void *work(void *argument)
{
    long thread = (long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        counters[thread].count++;
        if (round % 2 == 0)
            pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void)
{
    pthread_t other;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&other, NULL, work, (void *)1);
    work((void *)0);
    pthread_join(other, NULL);
    printf("%ld\n", counters[0].count + counters[1].count);
    return 0;
}
