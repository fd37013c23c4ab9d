// Signals whose frame is below all that the stack has been used for.
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long came, work;

static void count(int signal) {
  (void)signal;
  came++;
}
// Only the frame is below the block: on a page that the stack may not have yet.
__attribute__((noinline)) static void below(unsigned long bytes) {
  volatile char *block = alloca(bytes);
  block[bytes - 1] = 1;
  kill(getpid(), SIGUSR1);
}

int main(void) {
  signal(SIGUSR1, count);
  for (unsigned long k = 1; k <= 1000; k++) below(k << 10);
  while (work < 100000) work++;
  printf("came %lu times\n", came);
  return 0;
}
