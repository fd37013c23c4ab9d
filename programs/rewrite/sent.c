// Signals of faults that are sent while the program blocks them.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const int faults[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV};
static volatile int came, depth, deepest, order, code;
static volatile pid_t sender;

static void again(int signal) {
  if (++depth > deepest) deepest = depth;
  if (++came < 3000) kill(getpid(), signal);
  depth--;
}
static void count(int signal, siginfo_t *info, void *context) {
  (void)context;
  came++;
  order = order * 16 + signal;
  code = info->si_code;
  sender = info->si_pid;
}
static void all(int signal) {
  (void)signal;
  for (int i = 4; i >= 0; i--) kill(getpid(), faults[i]);
  kill(getpid(), SIGUSR2);
  if (came != 0) order = -1;
}
static void set(int signal, void *handler, int flags) {
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, NULL);
}
static sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}
// Like a storm, whatever the machine is busy with.
static void sent_by_the_handler(void) {
  for (int i = 0; i < 5; i++) {
    came = deepest = 0;
    signal(faults[i], again);
    kill(getpid(), faults[i]);
    printf("%d: %d deep, came %d times\n", faults[i], deepest, came);
  }
}
static void blocked_by_a_handler(void) {
  struct sigaction action = {0};
  action.sa_handler = all;
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 5; i++) set(faults[i], count, SA_SIGINFO);
  set(SIGUSR2, count, SA_SIGINFO);
  came = order = 0;
  kill(getpid(), SIGUSR1);
  printf("behind a handler: %d in the order %x\n", came, order);
}
static void blocked(void) {
  sigset_t block = only(SIGSEGV), pending, none;
  sigemptyset(&none);
  came = 0;
  sigprocmask(SIG_BLOCK, &block, NULL);
  kill(getpid(), SIGSEGV);
  kill(getpid(), SIGSEGV);
  sigpending(&pending);
  printf("blocked: %d, pending %d\n", came, sigismember(&pending, SIGSEGV));
  if (fork() == 0) {
    sigprocmask(SIG_UNBLOCK, &block, NULL);
    _exit(came);
  }
  int status;
  wait(&status);
  printf("in a child: %d\n", WEXITSTATUS(status));
  sigprocmask(SIG_UNBLOCK, &block, NULL);
  sigpending(&pending);
  printf("later: %d of %d, by this process %d, pending %d\n", came, code, sender == getpid(), sigismember(&pending, SIGSEGV));

  siginfo_t told = {0};
  told.si_code = SEGV_ACCERR;
  sigprocmask(SIG_BLOCK, &block, NULL);
  syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGSEGV, &told);
  printf("blocked as a fault: %d\n", came);
  int result = sigsuspend(&none);
  printf("waited for: %d %d, %d of %d\n", result, errno == EINTR, came, code);
  kill(getpid(), SIGSEGV);
  struct timespec soon = {0, 1000};
  result = ppoll(NULL, 0, &soon, &block);
  printf("waited for others: %d, %d\n", result, came);
  result = ppoll(NULL, 0, NULL, &none);
  printf("waited for: %d %d, %d\n", result, errno == EINTR, came);
  pid_t parent = getpid();
  if (fork() == 0) {
    usleep(50000);
    _exit(kill(parent, SIGSEGV));
  }
  result = sigsuspend(&none);
  printf("waited for: %d %d, %d\n", result, errno == EINTR, came);
  wait(NULL);
  kill(getpid(), SIGSEGV);
  siginfo_t taken = {0};
  result = sigtimedwait(&block, &taken, &soon);
  printf("taken: %d by this process %d, %d\n", result, taken.si_pid == getpid(), came);
  result = sigtimedwait(&block, &taken, &soon);
  printf("taken: %d %d, %d\n", result, errno == EAGAIN, came);
  sigprocmask(SIG_UNBLOCK, &block, NULL);
}

int main(void) {
  sent_by_the_handler();
  blocked_by_a_handler();
  blocked();
  return 0;
}
