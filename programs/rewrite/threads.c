// Threads that come and go, signals between them, locks, a spin on memory, and one that never ends.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long total;
static atomic_int flag, handled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long plain;
static __thread long own;

static void *work(void *argument) {
  long n = (long)argument;
  for (int i = 0; i < 1000; i++) {
    own += i;
    atomic_fetch_add(&total, n);
    pthread_mutex_lock(&lock);
    plain++;
    pthread_mutex_unlock(&lock);
    free(malloc(100 + i));
  }
  return (void *)own;
}
static void *forever(void *argument) {
  for (;;) atomic_fetch_add(&flag, 1);
  return argument;
}
static void handler(int signal) { (void)signal, handled++; }
static void *waits(void *argument) {
  while (handled < 5) {}
  return argument;
}

int main(void) {
  for (int round = 0; round < 20; round++) {
    pthread_t threads[8];
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++) {
      void *result;
      pthread_join(threads[i], &result);
      if ((long)result != 499500) return 1;
    }
  }
  printf("%ld %ld\n", (long)total, plain);
  signal(SIGUSR1, handler);
  pthread_t thread;
  pthread_create(&thread, NULL, waits, NULL);
  for (int i = 1; i <= 5; i++) {
    pthread_kill(thread, SIGUSR1);
    while (handled < i) {}
  }
  pthread_join(thread, NULL);
  printf("handled %d\n", handled);
  pthread_create(&thread, NULL, forever, NULL);
  while (flag < 1000) {}
  return 5;
}
