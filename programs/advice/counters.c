/* Threads count in neighbouring variables: false-sharing. */
#include <pthread.h>
#include <stdio.h>

#define ROUNDS 20000

static struct {
    volatile long count[2];
} counters __attribute__((aligned(64)));

static pthread_barrier_t barrier;

static void *work(void *argument)
{
    long thread = (long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        counters.count[thread]++;
        /* So that the threads take turns, also where they share a processor. */
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
    printf("%ld\n", counters.count[0] + counters.count[1]);
    return 0;
}
