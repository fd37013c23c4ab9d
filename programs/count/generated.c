/* Makes a function while it runs, which loads a number, and writes down its name for perf. Calls it
   1,000 times. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
  static const unsigned char code[] = {0x48, 0x8b, 0x07, 0xc3}; /* mov rax, [rdi]; ret */
  void *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED)
    return 1;
  memcpy(made, code, sizeof code);
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
  FILE *map = fopen(path, "w");
  if (!map)
    return 2;
  fprintf(map, "%lx %zx JS:*fetch /a/b.js:12:3\n", (unsigned long)made, sizeof code);
  fclose(map);
  static long number = 7;
  long sum = 0;
  long (*fetch)(long *) = (long (*)(long *))made;
  for (int i = 0; i < 1000; i++)
    sum += fetch(&number);
  printf("%s %ld\n", path, sum);
  return 0;
}
