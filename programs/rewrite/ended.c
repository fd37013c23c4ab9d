// Ends processes of several threads, which fork and spawn, by a signal at any time, and waits for all that they have
// begun: each process holds one end of a pipe, which is closed once none is left.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *self;

static void *works(void *unused) {
  for (;;) free(malloc(200));
  return unused;
}

static void *forks(void *unused) {
  for (;;) {
    pid_t child = fork();
    if (child == 0) {
      char *block = malloc(1000);
      memset(block, 1, 1000);
      _exit(block[7]);
    }
    waitpid(child, NULL, 0);
  }
  return unused;
}

static void *spawns(void *unused) {
  for (;;) {
    pid_t child;
    char *arguments[] = {self, "nothing", NULL};
    if (posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0) waitpid(child, NULL, 0);
  }
  return unused;
}

static void process(void *(*work)(void *)) {
  pthread_t thread;
  setpgid(0, 0);
  // More threads than most machines have processors, so that their end takes a while.
  for (int index = 0; index < 4; index++) pthread_create(&thread, NULL, works, NULL);
  work(NULL);
}

int main(int count, char **arguments) {
  self = arguments[0];
  if (count > 1 && !strcmp(arguments[1], "nothing")) return 0;
  int rounds = count > 1 ? atoi(arguments[1]) : 24, left = 0;
  srand(1);
  for (int round = 0; round < rounds; round++) {
    int ends[2];
    if (pipe(ends)) return 1;
    pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      process(round % 3 == 2 ? spawns : forks);
    }
    close(ends[1]);
    usleep(10000 + rand() % 60000);
    // The process alone, or all that it has begun with it.
    setpgid(child, child);
    kill(round % 2 ? -child : child, SIGTERM);
    int status;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) printf("round %d: status %x\n", round, status);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    if (poll(&end, 1, 5000) != 1) {
      left++;
      kill(-child, SIGKILL);
    }
    close(ends[0]);
  }
  printf("%d rounds, %d left\n", rounds, left);
  return 15;
}
