// A tree of processes with threads that fork, execute and spawn until a given time: `tree SEED DEADLINE`. What each thread does
// is drawn from the seed. Further arguments: `leaf` ends at once, a number is how many generations may follow.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char *self;
static long deadline;
static int generations;
static unsigned seed;

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int is_over(void) { return now() >= deadline; }

static unsigned draw(unsigned *state) { return *state = *state * 1664525u + 1013904223u, *state >> 16; }

static void grow(void);

// Replaces this process by the same program: as a leaf, or as the root of a smaller tree.
static void execute(unsigned number, int is_leaf) {
  char texts[3][24];
  snprintf(texts[0], 24, "%u", number);
  snprintf(texts[1], 24, "%ld", deadline);
  snprintf(texts[2], 24, "%d", generations - 1);
  char *arguments[] = {self, texts[0], texts[1], is_leaf ? "leaf" : texts[2], NULL};
  execve(self, arguments, environ);
  _exit(1);
}

static void wait_for(pid_t child) {
  while (child > 0 && waitpid(child, NULL, 0) < 0)
    ;
}

static void forks(unsigned number) {
  pid_t child = fork();
  if (child == 0) {
    char *block = malloc(1000);
    memset(block, (int)number, 1000);
    if (number % 4 == 1 && generations > 0) {
      generations--, seed = number;
      grow();
    }
    if (number % 4 == 2) execute(number, 1);
    if (number % 4 == 3 && generations > 0) execute(number, 0);
    _exit(block[5] & 1);
  }
  wait_for(child);
}

static void spawns(void) {
  pid_t child;
  char *arguments[] = {self, "0", "0", "leaf", NULL};
  if (posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0) wait_for(child);
}

static void computes(void) {
  for (int index = 0; index < 200; index++) free(malloc(200 + index));
}

static void handler(int signal) { (void)signal; }

static void *thread(void *argument) {
  unsigned state = (unsigned)(uintptr_t)argument, kind = draw(&state) % 6;
  while (!is_over()) {
    switch (kind) {
      case 0: case 1: forks(draw(&state)); break;
      case 2: spawns(); break;
      case 3: kill(getpid(), SIGUSR1); computes(); break;
      default: computes(); break;
    }
  }
  return NULL;
}

static void *short_thread(void *argument) {
  computes();
  return argument;
}

// Begins threads, and ends with the process: at the deadline, or before it by an `exec` of one thread or an early exit.
static void grow(void) {
  unsigned state = seed;
  int count = 1 + draw(&state) % 4;
  pthread_t one;
  signal(SIGUSR1, handler);
  for (int index = 0; index < count; index++)
    if (pthread_create(&one, NULL, thread, (void *)(uintptr_t)(draw(&state) + index)) != 0) _exit(2);
  unsigned end = draw(&state) % 8;
  for (int turn = 0; !is_over(); turn++) {
    if (pthread_create(&one, NULL, short_thread, NULL) == 0) pthread_join(one, NULL);
    if (turn == 20 && end == 0 && generations > 0) execute(state, 0);
    if (turn == 20 && end == 1) exit(3);
    if (turn == 20 && end == 2) pthread_exit(NULL);
    usleep(1000);
  }
  exit(0);
}

int main(int count, char **arguments) {
  self = arguments[0];
  if (count > 3 && !strcmp(arguments[3], "leaf")) return 0;
  seed = (unsigned)atol(arguments[1]);
  deadline = atol(arguments[2]);
  generations = count > 3 ? atoi(arguments[3]) : 2;
  grow();
}
