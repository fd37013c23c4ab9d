// Code in memory that is mapped twice: written in one place, run in another.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "code.h"

// Mapped a second time by mremap.
static int moved(void) {
  int file = memfd_create("more", 0);
  if (file < 0 || ftruncate(file, 4096)) return 11;
  unsigned char *writes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  unsigned char *runs = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  if (writes == MAP_FAILED || runs == MAP_FAILED) return 12;
  write_code(writes, 1);
  int first = ((Function)runs)(0);
  unsigned char *again = mremap(writes, 0, 4096, MREMAP_MAYMOVE);
  if (again == MAP_FAILED) return 13;
  write_code(again, 2);
  int second = ((Function)runs)(0);
  write_code(writes, 3);
  printf("moved %d %d %d\n", first, second, ((Function)runs)(0));
  return 0;
}

// The kernel writes what it hands over once only, across the border to a page that code is run from.
static int received(void) {
  int file = memfd_create("more", 0), ends[2];
  if (file < 0 || ftruncate(file, 8192) || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) return 21;
  unsigned char *writes = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  unsigned char *runs = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  if (writes == MAP_FAILED || runs == MAP_FAILED) return 22;
  unsigned char sent[4000];
  memset(sent, 7, sizeof sent);
  for (int i = 0; i < 4; i++) {
    write_code(writes + 4096 + 3500, i);
    if (((Function)(runs + 4096 + 3500))(0) != i) return 23;
    struct iovec vectors[] = {{writes, 96}, {writes + 3096, 3904}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
    if (write(ends[1], sent, sizeof sent) != sizeof sent) return 24;
    long got = i == 0 ? recv(ends[0], writes + 3096, 4000, 0)
      : i == 1 ? read(ends[0], writes + 3096, 4000)
      : i == 2 ? readv(ends[0], vectors, 2)
               : recvmsg(ends[0], &message, 0);
    printf("received %ld, %d\n", got, writes[4096]);
    writes[4096] = 0;
  }
  return 0;
}

// Private to whom runs it, and nothing written there: what is written through a shared mapping of the file shows. One comes before
// and one after.
static int private(void) {
  int file = memfd_create("more", 0);
  if (file < 0 || ftruncate(file, 4096)) return 31;
  unsigned char *writes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  unsigned char *runs = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  if (writes == MAP_FAILED || runs == MAP_FAILED) return 32;
  for (int i = 0; i < 5; i++) {
    write_code(writes, i);
    printf("%d ", ((Function)runs)(0));
  }
  munmap(writes, 4096);
  printf("%d ", ((Function)runs)(0));
  writes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (writes == MAP_FAILED) return 33;
  for (int i = 10; i < 15; i++) {
    write_code(writes, i);
    printf("%d ", ((Function)runs)(0));
  }
  puts("private");
  return 0;
}

// Segments of System V; the second place to write comes when the code has run.
static int segment(void) {
  int number = shmget(IPC_PRIVATE, 3 * 4096, IPC_CREAT | 0700);
  if (number < 0) return 41;
  unsigned char *writes = shmat(number, NULL, 0), *runs = shmat(number, NULL, SHM_EXEC | SHM_RDONLY);
  if (writes == (void *)-1 || runs == (void *)-1) return 42;
  for (int i = 0; i < 4; i++) {
    write_code(writes + 4096, i);
    printf("%d ", ((Function)(runs + 4096))(0));
  }
  unsigned char *late = shmat(number, NULL, 0);
  if (late == (void *)-1) return 43;
  for (int i = 10; i < 14; i++) {
    write_code((i % 2 ? late : writes) + 4096, i);
    printf("%d ", ((Function)(runs + 4096))(0));
  }
  // Another segment's code in the same place.
  int other = shmget(IPC_PRIVATE, 3 * 4096, IPC_CREAT | 0700);
  unsigned char *others = shmat(other, NULL, 0);
  write_code(others + 4096, 77);
  shmdt(runs);
  if (shmat(other, runs, SHM_EXEC | SHM_RDONLY) != runs) return 44;
  printf("%d segment\n", ((Function)(runs + 4096))(0));
  shmctl(number, IPC_RMID, NULL);
  shmctl(other, IPC_RMID, NULL);
  return 0;
}

static int more(void) {
  int failed = moved();
  if (!failed) failed = received();
  if (!failed) failed = private();
  if (!failed) failed = segment();
  return failed;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  int file = memfd_create("code", 0);
  if (file < 0 || ftruncate(file, 3 * 4096)) return 1;
  unsigned char *writes = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  unsigned char *runs = mmap(NULL, 2 * 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 4096);
  if (writes == MAP_FAILED || runs == MAP_FAILED) return 2;
  long sum = 0;
  for (int i = 0; i < 200; i++) {
    write_code(writes + 4096 + 64 * (i % 3), i);
    for (int k = 0; k < 5; k++) sum += ((Function)(runs + 64 * (i % 3)))(1);
  }
  printf("twice %ld\n", sum);
  // Another page, and one mapping more that comes when the code has run.
  write_code(writes + 2 * 4096, 5);
  sum += ((Function)(runs + 4096))(0);
  unsigned char *late = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 2 * 4096);
  for (int i = 0; i < 50; i++) {
    write_code(i % 2 ? late : writes + 2 * 4096, 3 * i);
    sum += ((Function)(runs + 4096))(0);
  }
  printf("late %ld\n", sum);
  // One that may not be written at first, and is moved.
  unsigned char *turns = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 4096);
  for (int i = 0; i < 50; i++) {
    mprotect(turns, 4096, PROT_READ | PROT_WRITE);
    write_code(turns, 7 * i);
    sum += ((Function)runs)(0);
    turns = mremap(turns, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, late - (i % 2 ? 1 << 20 : 1 << 21));
    if (turns == MAP_FAILED) return 3;
    write_code(turns, 11 * i);
    sum += ((Function)runs)(0);
  }
  printf("turns %ld\n", sum);
  // What may be written and run in two places.
  unsigned char *one = mmap(NULL, 4096, 7, MAP_SHARED, file, 0);
  unsigned char *other = mmap(NULL, 4096, 7, MAP_SHARED, file, 0);
  if (one == MAP_FAILED || other == MAP_FAILED) return 4;
  for (int i = 0; i < 60; i++) {
    write_code(i % 3 ? one : other, 13 * i);
    sum += ((Function)one)(0) + ((Function)other)(0);
  }
  printf("both %ld\n", sum);
  // The kernel writes there.
  int ends[2];
  if (pipe(ends)) return 5;
  for (int i = 0; i < 20; i++) {
    unsigned char code[7];
    write_code(code, i * 17);
    if (write(ends[1], code, 7) != 7 || read(ends[0], writes + 4096, 7) != 7) return 6;
    sum += ((Function)runs)(0);
  }
  printf("read %ld\n", sum);
  return more();
}
