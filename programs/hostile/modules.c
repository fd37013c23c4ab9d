// Maps as code what is no object file: a device without end, and a library whose file is a pipe by
// the time that somebody reads it. Both are run. `modules LIBRARY`: a copy of a library, which has
// a function `answer`.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **words) {
  // mov eax, 42; ret
  static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
  int zero = open("/dev/zero", O_RDWR);
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, zero, 0);
  if (page == MAP_FAILED) return perror("mmap"), 1;
  memcpy(page, code, sizeof code);
  printf("%d\n", ((int (*)(void))page)());
  void *library = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
  int (*answer)(void) = library ? (int (*)(void))dlsym(library, "answer") : NULL;
  if (answer == NULL || unlink(words[1]) != 0 || mkfifo(words[1], 0600) != 0) return fprintf(stderr, "no library\n"), 1;
  printf("%d\n", answer());
  return 0;
}
