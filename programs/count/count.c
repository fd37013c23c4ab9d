/* Accesses that can be counted by hand.
 *
 * usage: count [CELLS] [ROUNDS] [THREADS]      default: 1000 1000 0
 *
 * Every cell is read once and written once per round. The cells are volatile, so the compiler may
 * neither drop nor join nor invent an access to them; so a profiler that is right finds in `cells`
 * exactly the two numbers that are printed, no matter how it captures.
 *
 * With 0 threads, main does the work. With T >= 1, T threads do it, each on a row of its own, and
 * each of them all the rounds.
 *
 * Build with -O1 or more: then the counters of the loops are in registers, and the loops have no
 * other accesses. Without optimisation they live on the stack and show as accesses to it; those to
 * `cells` are the same even then. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64, MAX_CELLS = 100000 };

static volatile uint32_t cells[MAX_THREADS][MAX_CELLS];
static int columns = 1000, rounds = 1000;

/* The loop that is counted. Returns the sum of what it read. */
static uint64_t __attribute__((noinline)) work(volatile uint32_t *row, int n, int times)
{
    uint64_t sum = 0;
    for (int r = 0; r < times; r++)
        for (int i = 0; i < n; i++) {
            uint32_t value = row[i];
            sum += value;
            row[i] = value + 1;
        }
    return sum;
}

static void *thread(void *row)
{
    return (void *)(uintptr_t)work(row, columns, rounds);
}

static int number(const char *text, int low, int high)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*end != 0 || end == text || n < low || n > high) {
        fprintf(stderr, "usage: count [CELLS] [ROUNDS] [THREADS]; %s is not from %d to %d\n", text,
                low, high);
        exit(2);
    }
    return (int)n;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        columns = number(argv[1], 1, MAX_CELLS);
    if (argc > 2)
        rounds = number(argv[2], 1, 1000000);
    int threads = argc > 3 ? number(argv[3], 0, MAX_THREADS) : 0;

    uint64_t sum = 0;
    if (threads == 0)
        sum = work(cells[0], columns, rounds);
    pthread_t ids[MAX_THREADS];
    for (int t = 0; t < threads; t++)
        if (pthread_create(&ids[t], NULL, thread, (void *)cells[t]) != 0) {
            perror("count: cannot start a thread");
            return 1;
        }
    for (int t = 0; t < threads; t++) {
        void *result;
        pthread_join(ids[t], &result);
        sum += (uintptr_t)result;
    }

    uint64_t workers = threads == 0 ? 1 : (uint64_t)threads;
    uint64_t each = workers * (uint64_t)columns * (uint64_t)rounds;
    uint64_t right = each / (uint64_t)rounds * ((uint64_t)rounds * (uint64_t)(rounds - 1) / 2);
    printf("expect cells loads %llu stores %llu\n", (unsigned long long)each,
           (unsigned long long)each);
    printf("sum %llu %s\n", (unsigned long long)sum, sum == right ? "right" : "WRONG");
    return sum != right;
}
