// A thread that is not the first of its process becomes another program, beside others that run on; once after an attempt
// that fails.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile long counted;

static void *turns(void *unused) {
  for (;;) counted++;
}

static void *becomes(void *unused) {
  char *arguments[] = {"becomes", "then", NULL};
  execv("/nonexistent", arguments);
  puts("still there");
  fflush(stdout);
  execv("/proc/self/exe", arguments);
  _exit(3);
}

int main(int count, char **arguments) {
  if (count > 1) {
    for (int i = 0; i < 100000; i++) counted += i;
    printf("%s %ld, the process's first thread: %d\n", arguments[1], counted, getpid() == gettid());
    return 7;
  }
  pthread_t threads[3];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, turns, NULL);
  usleep(2000);
  pthread_create(&threads[2], NULL, becomes, NULL);
  for (;;) pause();
}
