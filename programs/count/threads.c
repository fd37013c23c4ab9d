/* Threads that come and go, of all kinds.
 *
 * Eight threads one after another, so that thread numbers and stacks may be used again; then four at
 * the same time; then one that is detached and never ends, and still sits in a call when main
 * returns. Each has its own row, and all but the last do the same number of rounds. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { CELLS = 100, ROUNDS = 1000, SEQUENTIAL = 8, PARALLEL = 4, ROWS = SEQUENTIAL + PARALLEL + 1 };

static volatile unsigned cells[ROWS][CELLS];
static atomic_int last_is_done;

static void *work(void *row)
{
    volatile unsigned *mine = row;
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < CELLS; i++)
            mine[i] = mine[i] + 1;
    return NULL;
}

static void *work_and_stay(void *row)
{
    work(row);
    atomic_store(&last_is_done, 1);
    for (;;)
        pause();
    return NULL;
}

static int start(pthread_t *id, void *(*body)(void *), int row)
{
    if (pthread_create(id, NULL, body, (void *)cells[row]) == 0)
        return 0;
    perror("threads: cannot start a thread");
    return 1;
}

int main(void)
{
    pthread_t ids[PARALLEL], last;
    for (int t = 0; t < SEQUENTIAL; t++) {
        if (start(&ids[0], work, t))
            return 1;
        pthread_join(ids[0], NULL);
    }
    for (int t = 0; t < PARALLEL; t++)
        if (start(&ids[t], work, SEQUENTIAL + t))
            return 1;
    for (int t = 0; t < PARALLEL; t++)
        pthread_join(ids[t], NULL);
    if (start(&last, work_and_stay, ROWS - 1))
        return 1;
    pthread_detach(last);
    while (!atomic_load(&last_is_done))
        usleep(1000);
    printf("expect cells loads %d stores %d in %d threads\n", ROWS * CELLS * ROUNDS,
           ROWS * CELLS * ROUNDS, ROWS);
    return 0;
}
