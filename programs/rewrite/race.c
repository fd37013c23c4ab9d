// Four threads add under a lock: for sanitizers, which want most of the address space for themselves.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *work(void *argument) {
  for (int index = 0; index < 1000; index++) {
    pthread_mutex_lock(&lock);
    sum += index;
    pthread_mutex_unlock(&lock);
  }
  return argument;
}

int main(void) {
  pthread_t threads[4];
  for (int index = 0; index < 4; index++) pthread_create(threads + index, NULL, work, NULL);
  for (int index = 0; index < 4; index++) pthread_join(threads[index], NULL);
  printf("%ld\n", sum);
  return 16;
}
