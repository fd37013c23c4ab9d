// The first thread ends, and another one goes on and ends the process.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_t first;

static int compare(const void *one, const void *other) {
  return *(const int *)one - *(const int *)other;
}

static void *beside(void *argument) {
  return (char *)argument + 1;
}

static void *worker(void *unused) {
  pthread_join(first, NULL);
  // Code that nobody has run before.
  int numbers[1000];
  unsigned seed = 1;
  for (int index = 0; index < 1000; index++) {
    seed = seed * 1103515245 + 12345;
    numbers[index] = seed >> 16;
  }
  qsort(numbers, 1000, sizeof *numbers, compare);
  pthread_t thread;
  void *result;
  pthread_create(&thread, NULL, beside, (void *)41);
  pthread_join(thread, &result);
  pid_t child = fork();
  if (child == 0) {
    fprintf(stderr, "%s", "");
    _exit(5);
  }
  int status;
  waitpid(child, &status, 0);
  printf("%d %ld %d\n", numbers[500], (long)result, WEXITSTATUS(status));
  exit(17);
}

int main(void) {
  pthread_t thread;
  first = pthread_self();
  pthread_create(&thread, NULL, worker, NULL);
  pthread_exit(NULL);
}
