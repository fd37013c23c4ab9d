/* A program that ends in the middle of things: deep in a call, while its other work is undone.
 *
 * usage: exit_middle [exit|_exit|quick_exit|return]      default: exit
 *
 * `_exit` runs no handlers and flushes no buffers, `quick_exit` only its own handlers; what was
 * recorded must not be lost with any of them. `return` goes back to main, to compare with. The
 * status is always 3. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELLS = 100, ROUNDS = 1000, DEPTH = 20, STATUS = 3 };

static volatile unsigned cells[CELLS];

static void __attribute__((noinline)) work(void)
{
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < CELLS; i++)
            cells[i] = cells[i] + 1;
}

static int __attribute__((noinline)) leave(const char *how)
{
    work();
    printf("expect cells loads %d stores %d\n", CELLS * ROUNDS, CELLS * ROUNDS);
    fflush(stdout);
    if (strcmp(how, "_exit") == 0)
        _exit(STATUS);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(STATUS);
    if (strcmp(how, "exit") == 0)
        exit(STATUS);
    return STATUS;
}

/* The result of the inner call is used, so that this stays a call and not a jump. */
static int __attribute__((noinline)) descend(const char *how, int level)
{
    if (level == DEPTH)
        return leave(how);
    return descend(how, level + 1) ^ level;
}

int main(int argc, char **argv)
{
    int mixed = 0;
    for (int level = 0; level < DEPTH; level++)
        mixed ^= level;
    return descend(argc > 1 ? argv[1] : "exit", 0) ^ mixed;
}
