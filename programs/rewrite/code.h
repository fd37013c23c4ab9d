// Code that programs write while they run.
#pragma once
#include <string.h>

typedef int (*Function)(int);

// lea eax, [rdi + n]; ret
static void write_code(unsigned char *at, int n) {
  unsigned char code[] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3};
  memcpy(code + 2, &n, 4);
  memcpy(at, code, sizeof code);
}
