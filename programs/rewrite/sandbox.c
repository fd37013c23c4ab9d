// Takes system calls from itself, and works on with what it has left. What to do is the first
// argument.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define LENGTH(list) (sizeof(list) / sizeof *(list))

static int pipes[2];
static volatile int numbers[1 << 16];

static void end(const char *what) {
  perror(what);
  exit(1);
}

// As many accesses as fill the way to who reads them several times over. Each way of it is code of
// its own.
#define WORK(name)                                                \
  __attribute__((noinline)) static int name(void) {               \
    for (int round = 0; round < 4; round++)                      \
      for (int index = 0; index < LENGTH(numbers); index++)       \
        numbers[index] = numbers[index] + index;                  \
    return numbers[77];                                           \
  }
WORK(work_before)
WORK(work_after)
WORK(work_beside)

// Whoever makes another system call than these is killed; or, turned round, who makes one of these.
static void filter(const int *calls, int count, int allows, int flags) {
  struct sock_filter program[64];
  int at = 0;
  program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int index = 0; index < count; index++)
    program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[index], count - index, 0);
  unsigned kill = SECCOMP_RET_KILL_PROCESS, allow = SECCOMP_RET_ALLOW;
  program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, allows ? kill : allow);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, allows ? allow : kill);
  struct sock_fprog whole = {at, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) end("no new privileges");
  if (flags ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &whole) : prctl(PR_SET_SECCOMP, 2, &whole))
    end("filter");
}

static void say(const char *what, int number) {
  char line[64];
  int length = 0, digits = 1;
  while (what[length]) {
    line[length] = what[length];
    length++;
  }
  for (unsigned rest = number; rest /= 10;) digits++;
  for (int digit = digits; digit-- > 0; number = (unsigned)number / 10) line[length + digit] = '0' + (unsigned)number % 10;
  line[length + digits] = '\n';
  write(1, line, length + digits + 1);
}

static volatile int faults;
static void skip(int signal, siginfo_t *info, void *context) {
  faults++;
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; // idiv %ecx
}

static void strict(void) {
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) end("strict mode");
  say("strictly ", work_after());
  syscall(SYS_exit, 7);
}

static void filtered(void) {
  struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
  sigaction(SIGFPE, &action, NULL);
  int calls[] = {SYS_write, SYS_exit_group, SYS_rt_sigreturn};
  filter(calls, LENGTH(calls), 1, 0);
  say("filtered ", work_after());
  __asm__ volatile("xor %%ecx, %%ecx\n xor %%edx, %%edx\n idiv %%ecx" : : : "eax", "ecx", "edx");
  say("faults ", faults);
  _exit(8);
}

static volatile int computes = 1, computed, reads;
static void *computer(void *unused) {
  while (computes) work_beside(), computed = 1;
  return NULL;
}

static void *reader(void *unused) {
  char letter;
  reads = 1;
  if (read(pipes[0], &letter, 1) != 1) end("read");
  say("read ", letter);
  return NULL;
}

static volatile int alarms;
static void count(int signal) {
  alarms++;
}

// One thread filters all, while signals come to any of them.
static void threads(void) {
  pthread_t threads[2];
  pipe(pipes);
  pthread_create(&threads[0], NULL, computer, NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  while (!computed || !reads) usleep(1000);
  usleep(20000); // until it waits there
  struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &often, NULL);
  while (alarms < 20) {
  }
  int calls[] = {SYS_rt_sigreturn, SYS_restart_syscall, SYS_read, SYS_write, SYS_futex, SYS_exit, SYS_exit_group, SYS_madvise, SYS_munmap, SYS_rt_sigprocmask};
  filter(calls, LENGTH(calls), 1, SECCOMP_FILTER_FLAG_TSYNC);
  say("synchronised ", work_after() != 0);
  int before = alarms;
  while (alarms < before + 20) {
  }
  write(pipes[1], "r", 1);
  computes = 0;
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  _exit(9);
}

static int added;
static void *adder(void *unused) {
  for (int times = 0; times < 1000; times++)
    __atomic_fetch_add(&added, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

// Reads the time-stamp counter no more, and goes on with what is ordered by it.
static void timeless(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, adder, NULL);
  pthread_join(thread, NULL);
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)) end("time");
  adder(NULL);
  say("sum ", work_after());
  say("added ", added);
  exit(14);
}

// A child filters itself, and its parent does not.
static void child(void) {
  pid_t child = fork();
  int calls[] = {SYS_write, SYS_exit_group};
  if (child == 0) {
    filter(calls, LENGTH(calls), 1, 0);
    say("child ", work_after());
    _exit(3);
  }
  int status;
  waitpid(child, &status, 0);
  say("child's status ", WEXITSTATUS(status));
  say("parent ", work_after());
  exit(10);
}

// As a child of vfork does that becomes another program.
static void borrowed(void) {
  int calls[] = {SYS_ptrace, SYS_process_vm_readv};
  pid_t child = vfork();
  if (child == 0) {
    filter(calls, LENGTH(calls), 0, 0);
    execl("/bin/echo", "echo", "filtered", NULL);
    _exit(4);
  }
  int status;
  waitpid(child, &status, 0);
  say("child's status ", WEXITSTATUS(status));
  say("parent ", work_after());
  exit(11);
}

// Becomes itself, which inherits the filter.
static void becomes(char *self) {
  int calls[] = {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_open, SYS_readlink, SYS_getrlimit, SYS_sched_yield};
  filter(calls, LENGTH(calls), 0, 0);
  execl(self, self, "became", NULL);
  end(self);
}

// What libraries try to find out what the kernel can do.
static void asks(void) {
  say("error ", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 ? errno : 0);
  say("error ", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 ? errno : 0);
  say("sum ", syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) + work_after());
  exit(13);
}

int main(int count, char **arguments) {
  const char *what = arguments[1];
  say("before ", work_before());
  if (!strcmp(what, "strict")) strict();
  if (!strcmp(what, "filtered")) filtered();
  if (!strcmp(what, "threads")) threads();
  if (!strcmp(what, "timeless")) timeless();
  if (!strcmp(what, "child")) child();
  if (!strcmp(what, "borrowed")) borrowed();
  if (!strcmp(what, "becomes")) becomes(arguments[0]);
  if (!strcmp(what, "asks")) asks();
  exit(12);
}
