// Signals that the processor sends at faults, sent by processes: with the code of a fault, and while others come.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long segments, alarms, code, address;
static volatile int at_wrong_mask;

static void look(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)context;
  segments++;
  code = info->si_code;
  address = (unsigned long)info->si_addr;
}
static void tick(int signal) {
  (void)signal;
  alarms++;
}
// Signals that are blocked.
static int blocked(void) {
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  int count = 0;
  for (int signal = 1; signal < 32; signal++) count += sigismember(&now, signal) == 1;
  return count;
}

int main(void) {
  struct sigaction action = {0};
  action.sa_sigaction = look;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  signal(SIGALRM, tick);
  signal(SIGUSR1, tick);

  siginfo_t told = {0};
  told.si_code = SEGV_ACCERR;
  told.si_addr = (void *)0x1234;
  long result = syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGSEGV, &told);
  printf("sent as a fault: %ld, came %lu times with code %lu of %lx\n", result, segments, code, address);

  segments = alarms = 0;
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    for (int i = 0; i < 3000; i++) {
      kill(parent, SIGSEGV);
      kill(parent, SIGALRM);
      kill(parent, SIGUSR1);
    }
    _exit(0);
  }
  int status;
  while (waitpid(child, &status, WNOHANG) == 0)
    if (blocked() != 0) at_wrong_mask++;
  unsigned long before = alarms;
  raise(SIGALRM);
  raise(SIGUSR1);
  printf("in a storm: %d %d, wrong mask %d, blocked %d, later %lu\n", segments > 0, before > 0, at_wrong_mask, blocked(),
         alarms - before);
  return 0;
}
