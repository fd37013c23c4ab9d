// Many threads and processes, made in every way: `crowd threads` (64 at one time, three times),
// `crowd children` (300, 20 at one time), `crowd vfork` (200), `crowd clone3` (100 processes, half
// of them in the memory of their parent).
#define _GNU_SOURCE
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t work(unsigned seed) {
  volatile uint64_t list[256];
  uint64_t sum = 0;
  for (unsigned index = 0; index < 256; index++) list[index] = index * seed;
  for (unsigned index = 0; index < 256; index++) sum += list[255 - index];
  return sum;
}

static void *thread(void *seed) {
  uint64_t sum = 0;
  for (unsigned round = 0; round < 20; round++) sum += work((unsigned)(uintptr_t)seed + round);
  return (void *)(uintptr_t)sum;
}

static uint64_t threads(void) {
  pthread_t all[64];
  uint64_t sum = 0;
  for (int turn = 0; turn < 3; turn++) {
    for (uintptr_t number = 0; number < 64; number++)
      if (pthread_create(&all[number], NULL, thread, (void *)number) != 0) exit(3);
    for (int number = 0; number < 64; number++) {
      void *one;
      pthread_join(all[number], &one);
      sum += (uintptr_t)one;
    }
  }
  return sum;
}

// Waits for so many children; what their statuses add up to.
static uint64_t reap(int count) {
  uint64_t sum = 0;
  for (int status; count > 0; count--) {
    if (wait(&status) < 0) exit(4);
    sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  return sum;
}

static uint64_t children(void) {
  uint64_t sum = 0;
  for (int number = 0, running = 0; number < 300; number++) {
    pid_t child = fork();
    if (child < 0) exit(5);
    if (child == 0) {
      // Every tenth is killed by itself.
      if (number % 10 == 0) kill(getpid(), SIGKILL);
      _exit((int)(work(number) % 100));
    }
    if (++running == 20) {
      sum += reap(running);
      running = 0;
    }
  }
  return sum;
}

static uint64_t vforks(void) {
  uint64_t sum = 0;
  for (int number = 0; number < 200; number++) {
    pid_t child = vfork();
    if (child == 0) _exit(number % 100);
    sum += reap(1);
  }
  return sum;
}

// As the system call, without a function that the child would return from.
static inline long clone3(struct clone_args *how) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_clone3), "D"(how), "S"(sizeof *how) : "rcx", "r11", "memory");
  return result;
}

static uint64_t clones(void) {
  uint64_t sum = 0;
  for (int number = 0; number < 100; number++) {
    struct clone_args how;
    memset(&how, 0, sizeof how);
    how.exit_signal = SIGCHLD;
    how.flags = number % 2 ? CLONE_VM | CLONE_VFORK : 0;
    long child = clone3(&how);
    if (child < 0) exit(6);
    if (child == 0) {
      // In the memory of the parent a child does no work: the stack is the parent's.
      if (number % 2 == 0) work(number);
      _exit(number);
    }
    sum += reap(1);
  }
  return sum;
}

int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  uint64_t sum = !strcmp(what, "threads")    ? threads()
                 : !strcmp(what, "children") ? children()
                 : !strcmp(what, "vfork")    ? vforks()
                 : !strcmp(what, "clone3")   ? clones()
                                             : (uint64_t)-1;
  printf("%s %lu\n", what, (unsigned long)sum);
  return (int)(sum % 100);
}
