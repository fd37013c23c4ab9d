// Executes itself again and again while another thread sends it signals: a signal that arrives just
// before `execve` is handled first, and the call is made after that. The signal is one that a
// program without a handler for it ignores.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

static void handler(int signal) { (void)signal; }

static void *sends(void *unused) {
  for (;;) kill(getpid(), SIGWINCH);
  return unused;
}

// Calls that fail are interrupted too.
static void *fails(void *unused) {
  char *arguments[] = {"", NULL};
  for (;;) execve("/nowhere", arguments, environ);
  return unused;
}

int main(int count, char **arguments) {
  int left = count > 1 ? atoi(arguments[1]) : 12;
  char text[16], *next[] = {arguments[0], text, NULL};
  pthread_t thread;
  signal(SIGWINCH, handler);
  if (left == 0) return puts("executed"), 5;
  pthread_create(&thread, NULL, sends, NULL);
  pthread_create(&thread, NULL, sends, NULL);
  if (left % 4 == 0) pthread_create(&thread, NULL, fails, NULL);
  usleep(1000);
  snprintf(text, sizeof text, "%d", left - 1);
  execve(arguments[0], next, environ);
  return 1;
}
