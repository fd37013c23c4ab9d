// Deterministic, single-threaded: its own code's accesses are counted and compared with an oracle's.
#include <stdio.h>
#include <stdlib.h>

static unsigned table[4096]; static double d[512];
struct node { struct node *next; int v; };
__attribute__((noinline)) int rec(int n) { return n < 2 ? n : rec(n-1) + rec(n-2); }
int cmp(const void *a, const void *b) { unsigned x=*(unsigned*)a,y=*(unsigned*)b; return x<y?-1:x>y; }
int main(void) {
  unsigned x = 1;
  for (int r = 0; r < 200; r++) for (int i = 0; i < 4096; i++) { x = x*1664525+1013904223; table[x>>20] ^= x; }
  qsort(table, 4096, 4, cmp);
  struct node *l = 0; for (int i = 0; i < 3000; i++) { struct node *n = malloc(sizeof *n); n->v = i; n->next = l; l = n; }
  long s = 0; for (int k=0;k<20;k++) for (struct node *n = l; n; n = n->next) s += n->v;
  for (int r=0;r<100;r++) for (int i = 1; i < 511; i++) d[i] = (d[i-1]+d[i+1])*0.5+i;
  printf("%ld %d %g %u\n", s, rec(24), d[100], table[17]);
}
