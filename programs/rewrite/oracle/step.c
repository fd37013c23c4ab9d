// Runs a program one instruction at a time, on the processor itself, and says how often each instruction ran.
// Usage: step whole|start FILE PROGRAM...
// FILE gets `map START END PATH`, then `site ADDRESS 0 TIMES 0 0 AT-START 0 0`. A repeated string instruction runs once for
// each turn. For programs of one thread. An instruction takes some 10 microseconds; with `start` only those before the
// program's own first one are counted (the loader's), and the rest runs freely.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "table.h"

static FILE *out;

static FILE *of(pid_t pid, const char *what) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/%s", pid, what);
    return fopen(name, "r");
}

static void maps(pid_t pid) {
    char line[4096], path[4000];
    unsigned long start, end;
    FILE *file = of(pid, "maps");
    while (file && fgets(line, sizeof line, file)) {
        path[0] = 0;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %3999s", &start, &end, path) == 3)
            fprintf(out, "map %lx %lx %s\n", start, end, path);
    }
    if (file) fclose(file);
}

// Where the program's own code begins.
static uint64_t entry(pid_t pid) {
    Elf64_auxv_t word = {0};
    FILE *file = of(pid, "auxv");
    while (file && fread(&word, sizeof word, 1, file) == 1 && word.a_type != AT_ENTRY) {}
    if (file) fclose(file);
    return word.a_type == AT_ENTRY ? word.a_un.a_val : 0;
}

int main(int argc, char **argv) {
    if (argc < 4 || !(out = fopen(argv[2], "w"))) return 2;
    int only_start = !strcmp(argv[1], "start");
    // Both on one processor: each waits for the other.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pid_t pid = fork();
    if (!pid) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    int status, signal = 0, how = PTRACE_SINGLESTEP;
    waitpid(pid, &status, 0);
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
    uint64_t first = entry(pid);
    while (!WIFEXITED(status) && !WIFSIGNALED(status)) {
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
            maps(pid);
        } else if (how == PTRACE_SINGLESTEP || WSTOPSIG(status) != SIGTRAP) {
            // A signal comes before the instruction that was counted already. One that only stops the program is let go.
            if (WSTOPSIG(status) != SIGTRAP) signal = WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
            uint64_t pc = ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
            if (pc == first && first) {
                begins();
                first = 0;
                how = only_start ? PTRACE_CONT : how;
            }
            if (how == PTRACE_SINGLESTEP && WSTOPSIG(status) == SIGTRAP) at(pc)->ran++;
        }
        if (ptrace(how, pid, 0, signal) && errno != ESRCH) return 2;
        signal = 0;
        waitpid(pid, &status, __WALL);
    }
    print(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
