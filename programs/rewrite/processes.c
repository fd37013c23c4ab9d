// fork, vfork, posix_spawn, exec that fails and exec that does not, threads in a child.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *thread(void *argument) { return argument; }

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (count > 1) {
    printf("again %s %d\n", arguments[1], access("/proc/self/exe", R_OK));
    return 3;
  }
  int status;
  for (int i = 0; i < 5; i++) {
    pid_t child = fork();
    if (child == 0) {
      pthread_t t;
      pthread_create(&t, NULL, thread, NULL);
      pthread_join(t, NULL);
      exit(i);
    }
    waitpid(child, &status, 0);
    printf("fork %d\n", WEXITSTATUS(status));
  }
  volatile int shared = 1;
  pid_t child = vfork();
  if (child == 0) {
    shared = 2;
    execl("/nonexistent", "x", NULL);
    _exit(errno);
  }
  waitpid(child, &status, 0);
  printf("vfork %d %d\n", WEXITSTATUS(status), shared);
  char *again[] = {arguments[0], "spawned", NULL};
  posix_spawn(&child, "/proc/self/exe", NULL, NULL, again, environ);
  waitpid(child, &status, 0);
  printf("spawn %d\n", WEXITSTATUS(status));
  printf("system %d\n", WEXITSTATUS(system("echo from a shell; exit 4")));
  execl("/nonexistent", "x", NULL);
  printf("no such program: %s\n", strerror(errno));
  execl("/proc/self/exe", arguments[0], "exec", NULL);
  return 1;
}
