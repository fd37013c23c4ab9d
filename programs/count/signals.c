/* A signal handler that accesses memory, while the program that it interrupts does the same.
 *
 * usage: signals [ROUNDS]      default: 1000
 *
 * A timer fires every millisecond. The handler adds to `ticks`; the loop of the
 * program adds to `cells`. Both results are known at the end: the cells exactly, the ticks because
 * the handler writes three variables, which must agree. How often the handler ran depends on the
 * machine, so the number of its accesses is printed by the program itself. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { CELLS = 10000 };

static volatile unsigned cells[CELLS];
static volatile unsigned ticks[3];

static void tick(int signal)
{
    (void)signal;
    for (int i = 0; i < 3; i++)
        ticks[i] = ticks[i] + 1;
}

/* 0 stops the timer. */
static int set_timer(int microseconds)
{
    struct itimerval every = {{0, microseconds}, {0, microseconds}};
    return setitimer(ITIMER_REAL, &every, NULL);
}

static void __attribute__((noinline)) work(int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < CELLS; i++)
            cells[i] = cells[i] + 1;
}

/* Whether every cell was added to as often as it should. */
static int __attribute__((noinline)) cells_are(unsigned value)
{
    for (int i = 0; i < CELLS; i++)
        if (cells[i] != value)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    if (rounds < 1 || sigaction(SIGALRM, &action, NULL) != 0 || set_timer(1000) != 0) {
        fprintf(stderr, "usage: signals [ROUNDS]; %s\n", strerror(errno));
        return 2;
    }
    work(rounds);
    set_timer(0);
    unsigned long long each = (unsigned long long)rounds * CELLS;
    unsigned first = ticks[0], second = ticks[1], third = ticks[2];
    printf("expect cells loads %llu stores %llu\n", each + CELLS, each);
    printf("expect ticks loads %u stores %u\n", 3 * first + 3, 3 * first);
    return !(cells_are((unsigned)rounds) && first == second && second == third);
}
