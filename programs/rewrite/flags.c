// Flags that change how the processor runs code: alignment checks (AC), steps (TF), the direction of string
// instructions (DF). They are set while code is called that has not run yet, while the kernel is called, and while
// signals come. With AC set nothing of the C library is called: it accesses memory that is not aligned.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "code.h"

enum { TF = 1 << 8, DF = 1 << 10, AC = 1 << 18 };

static inline unsigned long flags(void) {
  unsigned long now;
  __asm__ volatile("pushfq; popq %0" : "=r"(now));
  return now;
}
static inline void set(unsigned long flag) {
  __asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "r"(flag) : "cc", "memory");
}
static inline void clear(unsigned long flag) {
  __asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "r"(~flag) : "cc", "memory");
}
static inline long call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

static volatile unsigned long in_handler, in_context, faults, code_of_fault;
static volatile int process, thread;

static void look(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  in_handler = flags();
  in_context = ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
}
static void unaligned(int signal, siginfo_t *info, void *context) {
  (void)signal;
  faults++;
  code_of_fault = info->si_code;
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~AC;
}

// Each is code of its own, which has not run before it is called.
#define FUNCTION(n) \
  __attribute__((noinline)) static int f##n(int x) { return x * n + (x >> (n & 7)); }
#define EIGHT(n) \
  FUNCTION(n##0) FUNCTION(n##1) FUNCTION(n##2) FUNCTION(n##3) FUNCTION(n##4) FUNCTION(n##5) FUNCTION(n##6) FUNCTION(n##7)
#define NAMES(n) f##n##0, f##n##1, f##n##2, f##n##3, f##n##4, f##n##5, f##n##6, f##n##7
EIGHT(1) EIGHT(2) EIGHT(3) EIGHT(4)
static Function volatile functions[] = {NAMES(1), NAMES(2), NAMES(3), NAMES(4)};

static int call_all(int x) {
  for (int round = 0; round < 3000; round++)
    x += functions[(x ^ round) & 31](round);
  return x;
}

static void handle(int signal, void *handler) {
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(signal, &action, NULL);
}

static void signals(const char *name, unsigned long flag) {
  handle(SIGUSR1, look);
  in_handler = in_context = 0;
  set(flag);
  call(SYS_tgkill, process, thread, SIGUSR1);
  int kept = (flags() & flag) != 0;
  clear(flag);
  printf("%s at a signal: in the handler %d, in its context %d, after it %d\n", name, (in_handler & flag) != 0,
         (in_context & flag) != 0, kept);
}

static void alignment(void) {
  set(AC);
  int result = call_all(1);
  int kept = (flags() & AC) != 0;
  clear(AC);
  printf("calls with AC: %d, still set %d\n", result, kept);

  unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Function made = (Function)page;
  int sum = 0;
  for (int round = 0; round < 50; round++) {
    write_code(page, round);
    set(AC);
    sum += made(round);
    // Code that has run already: its page is written to while AC is set.
    page[2] = 7;
    sum += made(round);
    clear(AC);
  }
  printf("code made with AC: %d\n", sum);

  set(AC);
  long child = call(SYS_fork, 0, 0, 0);
  if (child == 0) call(SYS_exit_group, call_all(2) != 0 && (flags() & AC) != 0 ? 5 : 6, 0, 0);
  int status = 0;
  call(SYS_wait4, child, (long)&status, 0);
  clear(AC);
  printf("a child with AC: %d\n", status >> 8);

  handle(SIGBUS, unaligned);
  static volatile char bytes[16] __attribute__((aligned(16))) = "abcdefghijklmno";
  set(AC);
  int word = *(volatile int *)(bytes + 1);
  kept = (flags() & AC) != 0;
  clear(AC);
  printf("unaligned with AC: %x, %lu faults of code %lu, still set %d\n", word, faults, code_of_fault, kept);
}

// Where each step was, from the first instruction.
extern char first[], last[];
static volatile unsigned long steps[4096];
static volatile unsigned count;
static void step(int signal, siginfo_t *info, void *context) {
  (void)signal;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  unsigned long at = registers[REG_RIP] - (unsigned long)first;
  if (count < 4096) steps[count++] = at << 32 | (registers[REG_RCX] & 0xffff) << 16 | info->si_code;
}

static void single_steps(void) {
  handle(SIGTRAP, step);
  static long words[4] = {3, 5, 7, 11};
  long sum = 0, rounds = 4;
  __asm__ volatile(
      "pushfq\n orq $0x100, (%%rsp)\n popfq\n"
      "first: nop\n"
      "1: movq (%[words]), %%rax\n"
      "addq %%rax, %[sum]\n"
      "addq $1, 8(%[words])\n"
      "testq $1, %%rcx\n"
      "jz 2f\n"
      "lea 3(%[sum]), %[sum]\n"
      "2: call 3f\n"
      "decq %%rcx\n"
      "jnz 1b\n"
      "jmp 4f\n"
      "3: xorq 16(%[words]), %[sum]\n"
      "ret\n"
      "4: pushq %%rcx\n"
      "movl $39, %%eax\n"
      "syscall\n"
      "popq %%rcx\n"
      "pushfq\n andq $~0x100, (%%rsp)\n popfq\n"
      "last: nop\n"
      : [sum] "+r"(sum), "+c"(rounds)
      : [words] "r"(words)
      : "rax", "r11", "memory", "cc");
  unsigned long hash = 5381;
  for (unsigned i = 0; i < count; i++) hash = hash * 33 + steps[i];
  printf("sum %ld, %u steps, %lx, up to %lx of %lx\n", sum, count, hash, count ? steps[count - 1] >> 32 : 0,
         (unsigned long)(last - first));
  if (getenv("STEPS"))
    for (unsigned i = 0; i < count; i++) printf("step %lx\n", steps[i]);
}

static void direction(void) {
  char from[] = "backwards", to[sizeof from] = "";
  const char *source = from + sizeof from - 1;
  char *target = to + sizeof to - 1;
  set(DF);
  int result = call_all(3);
  long bytes = sizeof from;
  __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(bytes) : : "memory");
  int kept = (flags() & DF) != 0;
  clear(DF);
  printf("with DF: %d, %s, still set %d\n", result, to, kept);
}

int main(void) {
  process = getpid();
  thread = gettid();
  alignment();
  signals("AC", AC);
  signals("DF", DF);
  direction();
  single_steps();
  return 0;
}
