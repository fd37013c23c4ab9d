// The place where code is written moves (mremap), gets other rights, or is mapped anew, while another thread runs the code.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "code.h"

static unsigned char *runs;
static int file;
static atomic_int over;

// Runs functions of the page, which are translated anew each time it was written to.
static void *others(void *unused) {
  while (!atomic_load(&over))
    for (int i = 0; i < 16; i++) ((Function)(runs + 1024 + 64 * i))(1);
  return unused;
}

// Has `turn` write new code each time, at the beginning of the page; how often the old was run.
static long changes(unsigned char *writes, unsigned char *(*turn)(unsigned char *, int)) {
  pthread_t thread;
  long bad = 0;
  for (int i = 0; i < 16; i++) write_code(writes + 1024 + 64 * i, 1);
  atomic_store(&over, 0);
  pthread_create(&thread, NULL, others, NULL);
  for (int i = 1; i <= 3000; i++) {
    writes = turn(writes, i);
    bad += ((Function)runs)(0) != i;
  }
  atomic_store(&over, 1);
  pthread_join(thread, NULL);
  return bad;
}

static unsigned char *moves(unsigned char *writes, int i) {
  writes = mremap(writes, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, writes + (i % 2 ? 4096 : -4096));
  if (writes == MAP_FAILED) _exit(3);
  write_code(writes, i);
  return writes;
}

static unsigned char *rights(unsigned char *writes, int i) {
  mprotect(writes, 4096, 7);
  write_code(writes, i);
  mprotect(writes, 4096, PROT_READ | PROT_EXEC);
  return writes;
}

static unsigned char *anew(unsigned char *writes, int i) {
  if (mmap(writes, 4096, 7, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) _exit(4);
  write_code(writes, i);
  return writes;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  file = memfd_create("code", 0);
  if (file < 0 || ftruncate(file, 4096)) return 1;
  unsigned char *places = mmap(NULL, 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char *writes = mmap(places, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  runs = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  if (places == MAP_FAILED || writes == MAP_FAILED || runs == MAP_FAILED) return 2;
  printf("moves: %ld\n", changes(writes, moves));
  runs = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("rights: %ld\n", changes(runs, rights));
  runs = mmap(NULL, 4096, 7, MAP_SHARED, file, 0);
  printf("anew: %ld\n", changes(runs, anew));
  return 0;
}
