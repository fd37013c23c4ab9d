// Code that changes, or stops or begins to be code, without a write that faults: by way of /proc/self/mem,
// process_vm_writev and mprotect. Each piece of code is run before and after.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

typedef unsigned char byte;
static byte *area;
static sigjmp_buf back;

// mov eax, number; ret
static void make(byte *to, int number) {
  to[0] = 0xb8;
  memcpy(to + 1, &number, 4);
  to[5] = 0xc3;
}
static int run(const void *code) { return ((int (*)(void))code)(); }
__attribute__((noinline, aligned(64))) static int text(void) {
  __asm__ volatile("nop\n nop\n nop\n nop\n nop");
  return 5;
}

static void way(const char *name, int how, int file, void *to, int number) {
  byte piece[6];
  make(piece, number);
  struct iovec from[2] = {{piece, 2}, {piece + 2, 4}}, into[2] = {{to, 1}, {to + 1, 5}};
  off_t at = (off_t)to;
  long done = -1;
  int before = run(to);
  if (how == 0) done = pwrite(file, piece, 6, at);
  if (how == 1) lseek(file, at, SEEK_SET), done = write(file, piece, 6);
  if (how == 2) lseek(file, at, SEEK_SET), done = writev(file, from, 2);
  if (how == 3) done = pwritev(file, from, 2, at);
  if (how == 4) done = pwritev2(file, from, 2, at, 0);
  if (how == 5) done = process_vm_writev(getpid(), from, 2, into, 2, 0);
  printf("%s %d: %ld, %d then %d\n", name, how, done, before, run(to));
}
static void *other(void *file) {
  for (int k = 0; k < 5; k++) way("thread", k, (long)file, area + 64, 200 + k);
  return NULL;
}

// process_vm_writev writes up to the first page that it may not write to.
static void over_a_border(void) {
  byte piece[4112];
  memset(piece, 0x90, sizeof piece);
  make(piece + 4096, 78);
  make(area + 4096, 77);
  int before = run(area) + run(area + 4096);
  struct iovec from = {piece, sizeof piece}, into = {area, sizeof piece};
  make(piece, 70);
  long done = process_vm_writev(getpid(), &from, 1, &into, 1, 0);
  printf("border: %ld, %d then %d\n", done, before, run(area) + run(area + 4096));
}

static void gone(int signal, siginfo_t *info, void *context) {
  printf("signal %d code %d\n", signal, info->si_code);
  siglongjmp(back, 1);
}
static void grow(int signal, siginfo_t *info, void *context) {
  ucontext_t *u = context;
  printf("signal %d at %ld for %ld\n", signal, (long)((byte *)u->uc_mcontext.gregs[REG_RIP] - area),
         (long)((byte *)info->si_addr - area));
  mprotect(area + 4096, 4096, 7);
}
static void handle(void *handler) {
  struct sigaction action = {0};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = handler;
  sigaction(SIGSEGV, &action, NULL);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  static const char *paths[] = {"/proc/self/mem", "/proc/thread-self/mem"};
  area = mmap(NULL, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  make(area, 1), make(area + 64, 2);
  for (int k = 0; k < 2; k++) {
    int file = open(paths[k], O_RDWR), twin = dup(file);
    for (int how = 0; how < 6; how++) way("area", how, how % 2 ? twin : file, area, 10 * k + how);
    for (int how = 0; how < 5; how++) way("text", how, file, text, 100 + 10 * k + how);
    pthread_t thread;
    pthread_create(&thread, NULL, other, (void *)(long)file);
    pthread_join(thread, NULL);
    close(file), close(twin);
  }
  over_a_border();

  handle(gone);
  static const int rights[] = {PROT_NONE, PROT_READ};
  for (int k = 0; k < 2; k++) {
    printf("runs: %d\n", run(area));
    mprotect(area, 4096, rights[k]);
    if (!sigsetjmp(back, 1)) printf("still runs: %d\n", run(area));
    mprotect(area, 4096, 7);
  }
  mprotect(area, 4096, PROT_EXEC);
  printf("only executable: %d\n", run(area));
  mprotect(area, 4096, 7);
  handle(grow);
  make(area + 4096 - 3, 42);
  mprotect(area + 4096, 4096, PROT_NONE);
  printf("grown: %d\n", run(area + 4096 - 3));
  return 0;
}
