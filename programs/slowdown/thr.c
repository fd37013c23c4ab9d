/* Four threads, each on its part of two arrays; an atomic counter and a mutex.
 * usage: thr [CELLS] [TIMES]      default: 200000 20 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };

static int n, times;
static double *from, *to, total;
static atomic_long rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *number)
{
    long t = (long)number;
    double sum = 0;
    for (int r = 0; r < times; r++) {
        for (int i = t * n / THREADS; i < (t + 1) * n / THREADS; i++) {
            to[i] = from[i] * 0.5 + from[(i + 1) % n] * 0.25;
            sum += to[i];
        }
        atomic_fetch_add(&rounds, 1);
    }
    pthread_mutex_lock(&lock);
    total += sum;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv)
{
    n = argc > 1 ? atoi(argv[1]) : 200000;
    times = argc > 2 ? atoi(argv[2]) : 20;
    from = malloc(n * sizeof *from);
    to = malloc(n * sizeof *to);
    for (int i = 0; i < n; i++)
        from[i] = i % 13;
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("%f %ld\n", total, atomic_load(&rounds));
    return 0;
}
