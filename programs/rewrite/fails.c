// Calls of exec that fail in threads that end then, or never come to it because their process ends; all others are followed.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long big[1 << 16];
static char *many[100002];
static volatile int begun;

static void *fails(void *unused) {
  char *arguments[] = {"nothing", NULL};
  execv("/nonexistent", arguments);
  return NULL;
}

static void *too_late(void *unused) {
  begun = 1;
  execv("/bin/true", many);
  return NULL;
}

// A child of which a thread is about to become another program when it ends; nobody waits for it yet.
static void ends_meanwhile(int microseconds) {
  if (fork()) return;
  pthread_t thread;
  pthread_create(&thread, NULL, too_late, NULL);
  while (!begun) {
  }
  usleep(microseconds);
  _exit(0);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int i = 0; i < 5; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, fails, NULL);
    pthread_join(thread, NULL);
  }
  puts("joined");
  unsigned x = 1;
  for (long i = 0; i < 3000000; i++) {
    x = x * 1664525 + 1013904223;
    big[x >> 16] += i;
  }
  printf("%ld\n", big[5]);
  for (int i = 0; i < 100000; i++) many[i] = "abc";
  for (int i = 0; i < 20; i++) {
    ends_meanwhile(100 * i);
    usleep(30000);
  }
  if (!fork()) {
    execl("/bin/echo", "echo", "the last", NULL);
    _exit(9);
  }
  while (wait(NULL) > 0) {
  }
  // The first thread's fails too, and it ends before the others do.
  if (!fork()) {
    pthread_t thread;
    pthread_create(&thread, NULL, too_late, NULL);
    fails(NULL);
    pthread_exit(NULL);
  }
  while (wait(NULL) > 0) {
  }
  puts("done");
  return 0;
}
