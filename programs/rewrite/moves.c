// The place where code is written moves (mremap), gets other rights, is mapped anew, or goes and comes, while another thread runs
// code there or is at the same. Each part is a process of its own: what one dies of hides no other.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
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

// Three threads that map, write, run and unmap get each other's places.
static void *unmaps(void *unused) {
  long bad = 0;
  for (int i = 1; i <= 1500; i++) {
    unsigned char *page = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) _exit(5);
    for (int k = 0; k < 4; k++) {
      write_code(page, i + k);
      bad += ((Function)page)(0) != i + k;
    }
    munmap(page, 4096);
  }
  return (void *)bad;
}

// The same with segments.
static void *detaches(void *unused) {
  long bad = 0;
  int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);
  for (int i = 1; i <= 500; i++) {
    unsigned char *page = shmat(segment, NULL, SHM_EXEC);
    if (page == (void *)-1) _exit(6);
    for (int k = 0; k < 4; k++) {
      write_code(page, i + k);
      bad += ((Function)page)(0) != i + k;
    }
    shmdt(page);
  }
  shmctl(segment, IPC_RMID, NULL);
  return (void *)bad;
}

static long three(void *(*work)(void *)) {
  pthread_t threads[3];
  long bad = 0;
  for (int i = 0; i < 3; i++) pthread_create(threads + i, NULL, work, NULL);
  for (int i = 0; i < 3; i++) {
    void *more;
    pthread_join(threads[i], &more);
    bad += (long)more;
  }
  return bad;
}

// A segment is attached over code that was run.
static long attaches(void) {
  long bad = 0;
  int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);
  unsigned char *other = shmat(segment, NULL, 0);
  unsigned char *page = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  write_code(other, 2);
  write_code(page, 1);
  bad += ((Function)page)(0) != 1;
  if (shmat(segment, page, SHM_EXEC | SHM_REMAP) != page) _exit(7);
  bad += ((Function)page)(0) != 2;
  shmctl(segment, IPC_RMID, NULL);
  return bad;
}

// Calls that fail when they have done half of what they were to do.
static long halves(void) {
  long bad = 0;
  unsigned char *pages = mmap(NULL, 3 * 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(pages + 4096, 4096);
  for (int i = 1; i <= 5; i++) {
    write_code(pages, i);
    bad += ((Function)pages)(0) != i;
    bad += mprotect(pages, 2 * 4096, i % 2 ? 7 : PROT_READ | PROT_EXEC) != -1;
    if (i % 2 == 0) mprotect(pages, 4096, 7);
  }
  return bad;
}

static long part(int number) {
  unsigned char *places = mmap(NULL, 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  switch (number) {
  case 0:
    places = mmap(places, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    runs = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    if (places == MAP_FAILED || runs == MAP_FAILED) _exit(2);
    return changes(places, moves);
  case 1:
    runs = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return changes(runs, rights);
  case 2:
    runs = mmap(NULL, 4096, 7, MAP_SHARED, file, 0);
    return changes(runs, anew);
  case 3:
    return three(unmaps);
  case 4:
    return three(detaches);
  case 5:
    return attaches();
  default:
    return halves();
  }
}

int main(void) {
  static const char *names[] = {"moves", "rights", "anew", "unmaps", "detaches", "attaches", "halves"};
  setvbuf(stdout, NULL, _IONBF, 0);
  file = memfd_create("code", 0);
  if (file < 0 || ftruncate(file, 4096)) return 1;
  for (int number = 0; number < 7; number++) {
    int status;
    if (!fork()) {
      printf("%s: %ld\n", names[number], part(number));
      _exit(0);
    }
    wait(&status);
    if (status) printf("%s ended with %#x\n", names[number], status);
  }
  return 0;
}
