// Instructions with accesses of their own kinds: strings, gathers, masks, x87, saved state, odd operands.
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char from[4096], to[4096];
static int table[1024];

static void strings(void) {
  for (int i = 0; i < 4096; i++) from[i] = i * 7;
  void *d = to, *s = from;
  long n = 1000;
  __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
  n = 100;
  __asm__ volatile("rep movsq" : "+D"(d), "+S"(s), "+c"(n)::"memory");
  n = 50, d = to + 3000, s = from + 3000;
  __asm__ volatile("std; rep movsl; cld" : "+D"(d), "+S"(s), "+c"(n)::"memory");
  n = 33;
  __asm__ volatile("rep stosw" : "+D"(d), "+c"(n) : "a"(0x1234) : "memory");
  n = 4096, d = from;
  __asm__ volatile("repne scasb" : "+D"(d), "+c"(n) : "a"(77) : "cc");
  unsigned sum = 0;
  for (int i = 0; i < 4096; i++) sum = sum * 31 + to[i];
  printf("strings %u %ld\n", sum, n);
}
static void odd(void) {
  unsigned char map[256];
  for (int i = 0; i < 256; i++) map[i] = 255 - i;
  unsigned char c = 5;
  __asm__ volatile("xlatb" : "+a"(c) : "b"(map) : "memory");
  long double x = 1.5L, y = 2.25L;
  volatile long double z = x * y;
  char environment[32];
  __asm__ volatile("fnstenv %0; fldenv %0" : "+m"(environment));
  char __attribute__((aligned(16))) state[512];
  __asm__ volatile("fxsave %0; fxrstor %0" : "+m"(state));
  int value = 1;
  __asm__ volatile("lock xaddl %0, %1" : "+r"(value), "+m"(table[3])::"memory");
  int count = 100, loops = 0;
  __asm__ volatile("mov %1, %%ecx; 1: inc %0; loop 1b" : "+r"(loops) : "r"(count) : "ecx", "cc");
  unsigned long high = 0x1234;
  __asm__ volatile("mov %%ah, %%cl; mov %%cl, table(%%rip)" : : "a"(high) : "ecx", "memory");
  printf("odd %d %Lf %d %d %d\n", c, z, value, loops, table[0]);
}
__attribute__((target("avx2"))) static void gathers(void) {
  for (int i = 0; i < 1024; i++) table[i] = i * i;
  __m256i index = _mm256_setr_epi32(1, 5, 9, 100, 200, 300, 1023, 0);
  __m256i mask = _mm256_setr_epi32(-1, 0, -1, 0, -1, -1, -1, 0);
  __m256i got = _mm256_mask_i32gather_epi32(_mm256_set1_epi32(-5), table, index, mask, 4);
  int out[8];
  _mm256_storeu_si256((__m256i *)out, got);
  __m256i part = _mm256_maskload_epi32(table + 4, mask);
  _mm256_maskstore_epi32(table + 40, mask, part);
  printf("gathers %d %d %d %d %d\n", out[0], out[1], out[4], out[6], table[42]);
}
__attribute__((target("avx512f,avx512bw"))) static void wide(void) {
  __m512i index = _mm512_slli_epi32(_mm512_set1_epi32(3), 2);
  __m512i got = _mm512_mask_i32gather_epi32(_mm512_set1_epi32(1), 0x0f0f, index, table, 4);
  _mm512_mask_i32scatter_epi32(table, 0x8001, _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), got, 4);
  _mm512_mask_storeu_epi8(to, 0xff00ff00ff00ff00UL, got);
  printf("wide %d %d %d\n", table[0], table[15], to[9]);
}
__attribute__((target("sse2"))) static void flags(void) {
  unsigned long sum = 0;
  for (int i = 0; i < 1000; i++) {
    unsigned char carry = 0;
    unsigned long a = i, b = ~0UL - i / 2;
    __asm__ volatile("add %2, %0; setc %1" : "+r"(a), "=q"(carry) : "r"(b) : "cc");
    __asm__ volatile("mov $3, %%rcx; clc; 1: adcq %1, %0; dec %%rcx; jnz 1b" : "+r"(sum) : "m"(table[i & 7]) : "rcx", "cc");
    sum += a + carry;
  }
  printf("flags %lu\n", sum);
}

int main(void) {
  strings();
  odd();
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) gathers();
  if (__builtin_cpu_supports("avx512bw")) wide();
  flags();
  char text[100];
  double d = strtod("3.25e3", NULL);
  snprintf(text, sizeof text, "%a %g %s", d, d / 3, "text");
  puts(text);
  return 9;
}
