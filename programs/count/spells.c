/* Spells of three kinds, one after the other: a sweep over much data, random reads of some, and a
   little that is used again and again. With an argument, two threads do it, each with data of its
   own. Makes some millions of accesses. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPELLS = 500, MUCH = 1 << 18, SOME = 1 << 13, LITTLE = 1 << 8 };

static uint64_t much[2][MUCH], some[2][SOME], little[2][LITTLE];

static void *work(void *which) {
  int own = (int)(intptr_t)which;
  uint64_t sum = 0, x = 1 + own;
  for (int spell = 0; spell < SPELLS; spell++) {
    uint64_t *swept = &much[own][spell % 8 * (MUCH / 8)];
    for (int at = 0; at < MUCH / 8; at += 4)
      sum += swept[at]++;
    for (int times = 0; times < 8000; times++) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      sum += some[own][x >> 51];
    }
    for (int times = 0; times < 16000; times++)
      sum += little[own][times % LITTLE];
  }
  return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv) {
  (void)argv;
  pthread_t other;
  void *sum = 0, *sums = 0;
  if (argc > 1 && pthread_create(&other, 0, work, (void *)1))
    return 1;
  sum = work(0);
  if (argc > 1)
    pthread_join(other, &sums);
  printf("%llu\n", (unsigned long long)((uintptr_t)sum + (uintptr_t)sums));
  return 0;
}
