// Prints 1 if the kernel has given it rights that its caller has not (AT_SECURE), and 0 otherwise.
#include <stdio.h>
#include <sys/auxv.h>

int main(void) {
  printf("%lu\n", getauxval(AT_SECURE));
  return 0;
}
