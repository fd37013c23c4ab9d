// A program that uses the segment register gs itself, and handlers before and after.
#include <asm/prctl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static long area[4] = {11, 22};
static void handler(int signal) { printf("handler %d\n", signal); }

int main(void) {
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  syscall(SYS_arch_prctl, ARCH_SET_GS, area);
  long x;
  __asm__ volatile("mov %%gs:8, %0" : "=r"(x));
  printf("gs %ld\n", x);
  raise(SIGUSR1);
  return x;
}
