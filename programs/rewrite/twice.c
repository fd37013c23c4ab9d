// Code in memory that is mapped twice: written in one place, run in another.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*Function)(int);
// lea eax, [rdi + n]; ret
static void write_code(unsigned char *at, int n) {
  unsigned char code[] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3};
  memcpy(code + 2, &n, 4);
  memcpy(at, code, sizeof code);
}

int main(void) {
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
  return 0;
}
