/* A program that dies of a signal after it has worked.
 *
 * usage: crash [null|abort|kill]      default: null
 *
 *   null   reads from address 0: SIGSEGV
 *   abort  calls abort: SIGABRT
 *   kill   sends itself SIGKILL, which nobody can catch
 *
 * What was recorded before the end must be there in the report: all of it where a handler can run,
 * all but the last incomplete buffer after SIGKILL. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 100, ROUNDS = 1000 };

static volatile unsigned cells[CELLS];
static volatile int *volatile nowhere;

static void __attribute__((noinline)) work(void)
{
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < CELLS; i++)
            cells[i] = cells[i] + 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "null";
    work();
    printf("expect cells loads %d stores %d\n", CELLS * ROUNDS, CELLS * ROUNDS);
    fflush(stdout);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    return *nowhere;
}
