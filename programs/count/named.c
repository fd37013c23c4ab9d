/* Threads with names: one that names itself and ends, one that is named by another and never ends, one that has none. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t there, done;
static long sums[3];

static void work(long number) {
    for (long i = 0; i < 1000; i++)
        sums[number] += i ^ (long)&sums[number] % 2;
}

static void *names_itself(void *unused) {
    pthread_setname_np(pthread_self(), "itself");
    work(0);
    return unused;
}

static void *is_named(void *unused) {
    work(1);
    sem_post(&there);
    for (;;)
        sem_wait(&done);
    return unused;
}

static void *has_none(void *unused) {
    work(2);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    sem_init(&there, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&threads[0], NULL, names_itself, NULL);
    pthread_join(threads[0], NULL);
    pthread_create(&threads[1], NULL, is_named, NULL);
    sem_wait(&there);
    pthread_setname_np(threads[1], "by another");
    pthread_create(&threads[2], NULL, has_none, NULL);
    pthread_join(threads[2], NULL);
    printf("%ld\n", sums[0] + sums[1] + sums[2]);
    exit(0);
}
