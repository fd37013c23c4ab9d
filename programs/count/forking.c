/* A process that forks: parent and child both go on with copies of the same memory.
 *
 * Before the fork 1000 rounds; after it, 2000 in the child and 3000 in the parent. Each round reads
 * and writes all 100 cells. The two processes do not share the cells, although the addresses are
 * the same: a reuse never goes from one to the other. The child exits with status 7. */

#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CELLS = 100, BEFORE = 1000, CHILD = 2000, PARENT = 3000, STATUS = 7 };

static volatile unsigned cells[CELLS];

static void __attribute__((noinline)) work(int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < CELLS; i++)
            cells[i] = cells[i] + 1;
}

int main(void)
{
    work(BEFORE);
    pid_t pid = fork();
    if (pid < 0) {
        perror("forking: fork");
        return 1;
    }
    if (pid == 0) {
        work(CHILD);
        return STATUS;
    }
    work(PARENT);
    int status = 0;
    waitpid(pid, &status, 0);
    printf("expect cells loads %d stores %d in the parent\n", (BEFORE + PARENT) * CELLS,
           (BEFORE + PARENT) * CELLS);
    printf("expect cells loads %d stores %d in the child\n", CHILD * CELLS, CHILD * CELLS);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
}
