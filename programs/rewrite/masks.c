// A program changes its mask while signals of all kinds come: the change holds, and none comes that
// is blocked.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static const int sent[] = {SIGSEGV, SIGALRM, SIGUSR1, SIGFPE};
static volatile unsigned long came, queued;
static volatile int wrong, came_blocked;

static void tick(int signal, siginfo_t *info, void *context) {
  (void)info;
  if (signal == SIGRTMIN) queued++;
  else came++;
  came_blocked += sigismember(&((ucontext_t *)context)->uc_sigmask, signal);
}
static void look(const sigset_t *set, int all) {
  for (int signal = 1; signal < 32; signal++) {
    int is_sent = 0;
    for (int i = 0; i < 4; i++) is_sent |= signal == sent[i];
    wrong += sigismember(set, signal) != (is_sent && all);
  }
}

int main(void) {
  sigset_t all, none, before;
  sigemptyset(&all);
  sigemptyset(&none);
  for (int i = 0; i < 5; i++) {
    struct sigaction action = {0};
    action.sa_sigaction = tick;
    action.sa_flags = SA_SIGINFO;
    int signal = i < 4 ? sent[i] : SIGRTMIN;
    sigaction(signal, &action, NULL);
    sigaddset(&all, signal);
  }
  pid_t parent = getpid();
  for (int child = 0; child < 2; child++) {
    if (fork() != 0) continue;
    for (int i = 0; i < 20000; i++) {
      kill(parent, sent[i % 4]);
      // There is room for only so many.
      while (i % 16 == 0 && sigqueue(parent, SIGRTMIN, (union sigval){.sival_int = i}) != 0) usleep(100);
    }
    _exit(0);
  }
  while (waitpid(-1, NULL, WNOHANG) >= 0) {
    sigprocmask(SIG_SETMASK, &all, &before);
    look(&before, 0);
    sigprocmask(SIG_SETMASK, &none, &before);
    look(&before, 1);
  }
  // What waited for its handler is not lost either.
  sigprocmask(SIG_SETMASK, &all, NULL);
  for (int i = 0; i < 4; i++) kill(parent, sent[i]);
  unsigned long now = came;
  sigprocmask(SIG_SETMASK, &none, NULL);
  printf("wrong %d, came while blocked %d, queued %lu, later %lu\n", wrong, came_blocked, queued, came - now);
  return 0;
}
