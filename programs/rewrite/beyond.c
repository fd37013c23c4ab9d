// Jumps to code in a file that has become shorter: reading there is a fault (SIGBUS), natively of the program's jump,
// rewritten of the rewriter, which reads the code. Code that was written before makes the rewriter watch pages.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "code.h"

int main(void) {
  FILE *file = tmpfile();
  ftruncate(fileno(file), 8192);
  char *pages = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
  unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || page == MAP_FAILED) return 2;
  int sum = 0;
  for (int round = 0; round < 3; round++) {
    write_code(page, round);
    sum += ((Function)page)(round);
  }
  printf("made %d\n", sum);
  fflush(stdout);
  ftruncate(fileno(file), 4096);
  ((void (*)(void))(pages + 4096))();
  return 0;
}
