// One shape of a program each, by its name: what they call, and how, differs as far as it can. Each
// calls `work` twice, and is twice in the region "wanted", whose begin and end are also stores to
// `begun` and `ended`. Deterministic, with one thread.
#include <reuselens.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static volatile long begun, ended, cells[512];
static jmp_buf back;

__attribute__((noinline)) static long touch(int first, int count) {
  long sum = 0;
  for (int i = first; i < first + count; i++) sum += cells[i & 511]++;
  return sum;
}
__attribute__((noinline)) static long descend(int depth) {
  return depth == 0 ? touch(0, 3) : descend(depth - 1) + touch(depth, 2);
}
__attribute__((noinline)) static long fibonacci(int n) {
  return n < 2 ? cells[n] : fibonacci(n - 1) + fibonacci(n - 2);
}
static int compare(const void *one, const void *other) {
  long a = *(const long *)one, b = *(const long *)other;
  return (a > b) - (a < b);
}
__attribute__((noinline)) static void jump(int depth) {
  touch(depth, 2);
  if (depth == 0) longjmp(back, 1);
  jump(depth - 1);
  touch(depth, 2);
}
struct node {
  struct node *next;
  long value;
};

__attribute__((noinline)) static void loops(void) {
  for (int i = 0; i < 40; i++) touch(i, 100 + i);
}
// Calls nest deeper than entries of functions wait.
__attribute__((noinline)) static void calls(void) {
  for (int depth = 0; depth < 100; depth += 9) descend(depth);
  fibonacci(10);
}
__attribute__((noinline)) static void heap(void) {
  struct node *all = NULL;
  for (int i = 0; i < 200; i++) {
    struct node *node = malloc(sizeof *node + i % 7 * 100);
    *node = (struct node){all, i};
    all = node;
    if (i % 3 == 0) all = realloc(all, 2000);
  }
  for (struct node *next; all != NULL; all = next) {
    next = all->next;
    cells[all->value]++;
    free(all);
  }
}
// Accesses whose number only the run knows: ranges, some of them empty, and masks.
__attribute__((noinline)) static void strings(void) {
  static char from[3000], to[3000];
  static long sorted[200];
  for (long i = 0; i < 200; i++) {
    sorted[i] = cells[i] ^ (i * 40503 % 127);
    long bytes = i % 4 * 30;
    char *source = from, *target = to;
    __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(bytes) : : "memory");
    memset(from + i, 'a' + i % 26, 200);
    memcpy(to + i, from, strlen(from) % 300);
    if (strcmp(from, to) == 0) cells[i]++;
  }
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2"))
    for (int lanes = 0; lanes < 9; lanes++) {
      int mask[8];
      for (int i = 0; i < 8; i++) mask[i] = i < lanes ? -1 : 0;
      __asm__ volatile("vmovdqu %1, %%ymm1\n vpmaskmovd %0, %%ymm1, %%ymm0\n vpxor %%ymm2, %%ymm2, %%ymm2\n"
                       "vpgatherdd %%ymm1, (%2, %%ymm2, 4), %%ymm3\n vzeroupper"
                       :
                       : "m"(*(char(*)[32])from), "m"(mask), "r"(to)
                       : "ymm0", "ymm1", "ymm2", "ymm3");
    }
#endif
  qsort(sorted, 200, sizeof *sorted, compare);
}
__attribute__((noinline)) static void jumps(void) {
  for (volatile int depth = 0; depth < 60; depth += 3)
    if (setjmp(back) == 0) jump(depth);
    else touch(depth, 5);
}

static void (*shape)(void);
__attribute__((noinline)) void work(void) {
  shape();
  cells[7]++;
}
__attribute__((noinline)) static void within(void) {
  reuselens_region_begin("wanted");
  begun++;
  shape();
  ended++;
  reuselens_region_end();
}

int main(int count, char **arguments) {
  struct {
    const char *name;
    void (*shape)(void);
  } shapes[] = {{"loops", loops}, {"calls", calls}, {"heap", heap}, {"strings", strings}, {"jumps", jumps}};
  for (int i = 0; i < 5; i++)
    if (count > 1 && strcmp(arguments[1], shapes[i].name) == 0) shape = shapes[i].shape;
  if (shape == NULL) return 2;
  touch(0, 50);
  within();
  work();
  reuselens_region_begin("other");
  shape();
  within();
  reuselens_region_end();
  work();
  touch(0, 50);
  return cells[7] < 0;
}
