// Code that one thread changes while another runs other code of the same page; in one mapping, and in two of the same memory.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "code.h"

static unsigned char *writes, *runs;
static atomic_int over;

static void *others(void *unused) {
  while (!atomic_load(&over))
    for (int i = 0; i < 8; i++) ((Function)(runs + 1024 + 64 * i))(1);
  return NULL;
}

// Writes its own place of the page, beside the first thread.
static void *changes(void *bad) {
  for (int i = 0; i < 500; i++) {
    write_code(writes + 2048, i);
    *(long *)bad += ((Function)(runs + 2048))(0) != i;
  }
  return NULL;
}

static long stale(int rounds) {
  long bad = 0, also_bad = 0;
  pthread_t thread, second;
  atomic_store(&over, 0);
  for (int i = 0; i < 8; i++) write_code(writes + 1024 + 64 * i, 1);
  pthread_create(&thread, NULL, others, NULL);
  pthread_create(&second, NULL, changes, &also_bad);
  for (int i = 1; i <= rounds; i++) {
    write_code(writes, i);
    bad += ((Function)runs)(0) != i;
  }
  pthread_join(second, NULL);
  atomic_store(&over, 1);
  pthread_join(thread, NULL);
  return bad + also_bad;
}

int main(void) {
  writes = runs = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (writes == MAP_FAILED) return 1;
  printf("one mapping: %ld\n", stale(1500));
  int file = memfd_create("code", 0);
  if (file < 0 || ftruncate(file, 4096)) return 2;
  writes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  runs = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  if (writes == MAP_FAILED || runs == MAP_FAILED) return 3;
  printf("two mappings: %ld\n", stale(1500));
  return 0;
}
