/* Runs a program one instruction after the other, and writes the address of each to standard output, as eight bytes. */
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status;
    struct user_regs_struct registers;
    pid_t child = argc > 1 ? fork() : -1;
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[1], argv + 1);
        return 127;
    }
    if (child < 0)
        return 1;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        unsigned long long address;
        if (WSTOPSIG(status) != 5 || ptrace(PTRACE_GETREGS, child, NULL, &registers))
            return 2;
        address = registers.rip;
        if (fwrite(&address, sizeof address, 1, stdout) != 1 || ptrace(PTRACE_SINGLESTEP, child, NULL, NULL))
            return 3;
    }
    return fflush(stdout) || !WIFEXITED(status) || WEXITSTATUS(status);
}
