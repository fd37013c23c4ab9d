// Uses up the mappings that a process may have, as allocators with guard pages do, and goes on: with new code, libraries, a
// signal, a child, a thread on a stack that it has already, and generated code.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 200000

static volatile int caught;

static void handler(int signal) { caught += signal; }

static int greater(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }

static void *work(void *argument) {
  long numbers[100];
  for (int index = 0; index < 100; index++) numbers[index] = index;
  return (void *)numbers[(long)argument];
}

static void thread(char *stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  void *result = NULL;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, 1 << 20);
  int error = pthread_create(&thread, &attributes, work, (void *)50);
  if (error == 0) pthread_join(thread, &result);
  printf("thread %d %ld\n", error, (long)result);
}

// Writes code twice to the same place, and runs it.
static void generated(unsigned char *code) {
  for (int value = 1; value < 3; value++) {
    memcpy(code, (unsigned char[]){0xb8, value, 0, 0, 0, 0xc3}, 6);
    printf("generated %d\n", ((int (*)(void))code)());
  }
}

int main(void) {
  char *spare = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char *code = mmap(NULL, 16 * PAGE, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *all = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int used = 0;
  while (used < PAGES && mprotect(all + (size_t)used * PAGE, PAGE, PROT_READ) == 0) used += 2;
  printf("used up: %d %s\n", used > 10000, strerror(errno));
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  printf("caught %d, %f\n", caught, atof("3.25"));
  qsort(memcpy(spare, "bca", 3), 3, 1, greater);
  printf("sorted %.3s\n", spare);
  fflush(stdout);
  int status = 0;
  if (fork() == 0) {
    printf("child %s\n", strerror(ENOENT));
    fflush(stdout);
    _exit(3);
  }
  wait(&status);
  printf("status %x\n", status);
  thread(spare);
  generated(code + 5 * PAGE);
  munmap(all, (size_t)PAGES * PAGE);
  printf("library %d\n", dlopen("libm.so.6", RTLD_NOW) != NULL);
  return 17;
}
