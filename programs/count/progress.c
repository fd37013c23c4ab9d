/* Says how far it has come, so that a run that was killed can be held against its trace.
 *
 * progress FILE ROUNDS THREADS: each thread touches `cells` once a round (a load and a store), then writes
 * the number of the round into its place in FILE, which it shares with whoever looks at it afterwards. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CELLS = 1 << 12, THREADS = 8 };
volatile long cells[THREADS][CELLS];
static volatile long *progress;
static long rounds;

static void *run(void *argument) {
    long thread = (long)argument;
    for (long round = 1; round <= rounds; round++) {
        cells[thread][round * 37 % CELLS] += round;
        progress[thread] = round;
    }
    return NULL;
}

int main(int count, char **words) {
    if (count < 4)
        return 2;
    int file = open(words[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0)
        return 2;
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    rounds = atol(words[2]);
    long threads = atol(words[3]);
    pthread_t others[THREADS];
    for (long i = 1; i < threads; i++)
        pthread_create(&others[i], NULL, run, (void *)i);
    run((void *)0);
    for (long i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    /* All is done, and whoever looks can tell. */
    progress[THREADS] = 1;
    return 0;
}
