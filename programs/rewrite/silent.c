// Faults in blocks that touch no memory, but need a register for what they name relative to themselves; then the same
// after an exec.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int faults;
static void skip(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  ucontext_t *u = context;
  faults++;
  u->uc_mcontext.gregs[REG_RIP] += 2; // idiv %ecx
  u->uc_mcontext.gregs[REG_RAX] = 7;
}

// A block with a fault behind an instruction that names a place relative to itself.
#define FAULT_BEHIND(instruction)                 \
  __asm__ volatile("jmp 1f\n"                     \
                   "1: nop\n nop\n nop\n nop\n"    \
                   instruction "\n"               \
                   "xor %%ecx, %%ecx\n"           \
                   "xor %%edx, %%edx\n"           \
                   "idiv %%ecx\n"                 \
                   "jmp 2f\n"                     \
                   "2: nop\n"                     \
                   : "=a"(result), "+b"(other)    \
                   : "0"(1L)                      \
                   : "rcx", "rdx", "rsi", "cc")

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IONBF, 0);
  struct sigaction action = {0};
  action.sa_sigaction = skip;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGFPE, &action, NULL);
  long sum = 0;
  for (int i = 0; i < 200; i++) {
    long result, other = i;
    FAULT_BEHIND("prefetcht0 1b(%%rip)");
    sum += result + other;
    FAULT_BEHIND("lea 1b(%%rip), %%esi");
    sum += result + other;
  }
  printf("%s: %d faults, %ld\n", count > 1 ? arguments[1] : "first", faults, sum);
  if (count > 1) return 5;
  execl("/proc/self/exe", arguments[0], "again", NULL);
  return 1;
}
