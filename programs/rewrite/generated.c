// Code that is written while the program runs: in place, by turns of rights, and unmapped and mapped anew.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "code.h"

int main(void) {
  long sum = 0;
  unsigned char *open = mmap(NULL, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 200; i++) {
    write_code(open + 64 * (i % 3), i);
    sum += ((Function)(open + 64 * (i % 3)))(1);
  }
  printf("in place %ld\n", sum);
  unsigned char *turns = mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 200; i++) {
    mprotect(turns, 4096, PROT_READ | PROT_WRITE);
    write_code(turns + 16 * (i % 5), i);
    mprotect(turns, 4096, PROT_READ | PROT_EXEC);
    for (int k = 0; k <= i && k < 5; k++) sum += ((Function)(turns + 16 * k))(2);
  }
  printf("by turns %ld\n", sum);
  void *place = turns;
  for (int i = 0; i < 50; i++) {
    munmap(place, 4096);
    unsigned char *again = mmap(place, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    write_code(again, i * 3);
    sum += ((Function)again)(0);
  }
  printf("mapped anew %ld\n", sum);
  // The kernel writes code too.
  int ends[2];
  if (pipe(ends)) return 1;
  for (int i = 0; i < 20; i++) {
    unsigned char code[7];
    write_code(code, i * 5);
    if (write(ends[1], code, 7) != 7) return 1;
    if (read(ends[0], open, 7) != 7) return 2;
    sum += ((Function)open)(0);
  }
  printf("read %ld\n", sum);
  // Code that may not be written goes on, by a jump and across the page's end, into code that may.
  unsigned char *two = mmap(NULL, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(two, 0x90, 8192);
  unsigned char jump[] = {0xe9, 59 + 16, 0, 0, 0};
  memcpy(two + 4096 - 64, jump, sizeof jump);
  mprotect(two, 4096, PROT_READ | PROT_EXEC);
  for (int i = 0; i < 20; i++) {
    write_code(two + 4096 + 16, i * 7);
    sum += ((Function)(two + 4096 - 64))(0);
    sum += ((Function)(two + 4096 - 8))(0);
  }
  printf("next page %ld\n", sum);
  // What may be run only becomes what may be written too.
  mprotect(two, 4096, 7);
  for (int i = 0; i < 20; i++) {
    write_code(two + 64, i * 11);
    sum += ((Function)(two + 64))(0);
  }
  printf("opened %ld\n", sum);
  return sum % 100;
}
