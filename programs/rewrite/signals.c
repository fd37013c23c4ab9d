// Handlers: asynchronous ones in loops with and without accesses, masks, alternate stacks, faults with
// repair, jumps out of handlers, system calls that are interrupted and restarted.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t ticks, depth, deepest;
static volatile int stop;
static char *page;
static sigjmp_buf back;

static void tick(int signal) {
  (void)signal;
  ticks++;
  stop = 1;
}
static void nested(int signal) {
  if (++depth > deepest) deepest = depth;
  if (signal == SIGUSR1) raise(SIGUSR2);
  depth--;
}
static void repair(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)context;
  char *at = (char *)((unsigned long)info->si_addr & ~4095UL);
  mprotect(at, 4096, PROT_READ | PROT_WRITE);
}
static void jump(int signal) { siglongjmp(back, signal); }
static void skip(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  ucontext_t *u = context;
  u->uc_mcontext.gregs[REG_RIP] += 2; // ud2
  u->uc_mcontext.gregs[REG_RAX] = 77;
}
static void on_alternate(int signal) {
  stack_t now;
  sigaltstack(NULL, &now);
  printf("signal %d on alternate stack: %d\n", signal, now.ss_flags == SS_ONSTACK);
}
static int recurse(int n) {
  volatile char room[4096];
  room[0] = n;
  return recurse(n + 1) + room[0];
}
static void overflow(int signal) {
  (void)signal;
  siglongjmp(back, 9);
}

static void set(int signal, void *handler, int flags) {
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, NULL);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  set(SIGALRM, tick, 0);
  struct itimerval soon = {{0, 0}, {0, 20000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  while (!stop) {}
  printf("ticks %d\n", ticks);
  setitimer(ITIMER_REAL, &soon, NULL);
  int result = usleep(5000000);
  printf("sleep interrupted %d\n", result == -1 && errno == EINTR);
  set(SIGALRM, tick, SA_RESTART);
  int ends[2];
  if (pipe(ends)) return 1;
  setitimer(ITIMER_REAL, &soon, NULL);
  if (fork() == 0) {
    usleep(60000);
    _exit(write(ends[1], "x", 1) != 1);
  }
  char byte = 0;
  long got = read(ends[0], &byte, 1);
  printf("restarted read %ld %c ticks %d\n", got, byte, ticks);
  wait(NULL);

  set(SIGUSR1, nested, 0);
  set(SIGUSR2, nested, 0);
  raise(SIGUSR1);
  printf("deepest %d\n", deepest);
  sigset_t block, pending;
  sigemptyset(&block);
  sigaddset(&block, SIGUSR2);
  sigprocmask(SIG_BLOCK, &block, NULL);
  raise(SIGUSR2);
  sigpending(&pending);
  printf("pending %d\n", sigismember(&pending, SIGUSR2));
  sigprocmask(SIG_UNBLOCK, &block, NULL);

  set(SIGSEGV, repair, SA_SIGINFO);
  page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 8192; i += 512) page[i] = i / 512;
  int sum = 0;
  for (int i = 0; i < 8192; i += 512) sum += page[i];
  printf("repaired %d\n", sum);

  set(SIGSEGV, jump, SA_NODEFER);
  for (int i = 0; i < 3; i++) {
    if (sigsetjmp(back, 1) == 0) *(volatile int *)(8L * i) = 1;
    else printf("jumped out %d\n", i);
  }
  if (sigsetjmp(back, 1) == 0) ((void (*)(void))0x10)();
  else printf("jumped out of nowhere\n");
  set(SIGFPE, jump, SA_NODEFER);
  volatile int zero = 0;
  if (sigsetjmp(back, 1) == 0) printf("%d\n", 1 / zero);
  else printf("divided by zero\n");

  set(SIGILL, skip, SA_SIGINFO);
  long rax;
  __asm__ volatile("mov $1, %%eax\n ud2\n" : "=a"(rax));
  printf("skipped %ld\n", rax);
  set(SIGTRAP, tick, 0);
  __asm__ volatile("int3");
  printf("trapped\n");

  stack_t stack = {malloc(1 << 16), 0, 1 << 16};
  sigaltstack(&stack, NULL);
  set(SIGUSR1, on_alternate, SA_ONSTACK);
  raise(SIGUSR1);
  set(SIGSEGV, overflow, SA_ONSTACK | SA_NODEFER);
  if (sigsetjmp(back, 1) == 0) printf("%d\n", recurse(0));
  else printf("stack overflow survived\n");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    *(volatile int *)0 = 1;
  }
  int status;
  waitpid(child, &status, 0);
  printf("child died of %d\n", WTERMSIG(status));
  set(SIGTERM, NULL, 0);
  raise(SIGTERM);
}
