// Writes a number that is no block over the head of the pool of blocks, in the memory that it
// shares with reuselens, and goes on working in two threads. `pool OFFSET`: where in that memory
// the pool is. Prints a sum, the same with and without reuselens.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN __attribute__((no_sanitize("thread"), noinline))

static volatile uint64_t sums[2];

UNSEEN static volatile uint32_t *find(uint64_t at) {
  static char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  volatile uint32_t *found = NULL;
  while (maps && !found && fgets(line, sizeof line, maps)) {
    unsigned long low, offset;
    if (strstr(line, "memfd:reuselens") && sscanf(line, "%lx-%*x %*s %lx", &low, &offset) == 2 && offset == 0)
      found = (volatile uint32_t *)(low + at);
  }
  if (maps) fclose(maps);
  return found;
}

static void *work(void *sum) {
  volatile uint64_t *list = malloc(4096 * sizeof *list);
  for (unsigned round = 0; round < 60; round++) {
    for (unsigned index = 0; index < 4096; index++) list[index] = index + round;
    for (unsigned index = 0; index < 4096; index++) *(volatile uint64_t *)sum += list[4095 - index];
  }
  free((void *)list);
  return NULL;
}

int main(int count, char **words) {
  volatile uint32_t *head = count > 1 ? find(strtoull(words[1], NULL, 10)) : NULL;
  pthread_t thread;
  // The lower half of the head is a number of a block, plus one.
  if (head) *head = 0xfffffff0;
  pthread_create(&thread, NULL, work, (void *)&sums[0]);
  work((void *)&sums[1]);
  if (head) *head = 0xfffffff0;
  pthread_join(thread, NULL);
  printf("%lu\n", (unsigned long)(sums[0] + sums[1]));
  return 0;
}
