// Prints all that a program can find out about itself, a line "name value" each: the frames of signals, the state in
// their handlers, what the x87 unit and xsave store, arch_prctl, prctl, limits, the auxiliary vector, /proc/self. Run
// natively and rewritten, the lines are compared (crates/capture/tests/mirror.rs). Addresses are named by what is there.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <dirent.h>
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

typedef unsigned long word;
extern char __executable_start[], _end[], entry[];
static char *page, *code, *low_stack, alternate[1 << 16];
static const char *part = "main";

// What is at an address, or the number.
static const char *at(word value) {
  static char texts[16][64];
  static int next;
  char *text = texts[next++ % 16];
  word base = 0;
  const char *name = "";
  if (value - (word)__executable_start < _end - __executable_start) name = "image", base = (word)__executable_start;
  if (value - (word)alternate < sizeof alternate) name = "alternate", base = (word)alternate;
  if (page && value - (word)page < 8192) name = "page", base = (word)page;
  if (code && value - (word)code < 8192) name = "code", base = (word)code;
  if (low_stack && value - (word)low_stack + (1 << 20) < 2 << 20) name = "stack", base = (word)low_stack;
  if (value == getpid() || value == gettid()) return value == getpid() ? "pid" : "tid";
  if (base) sprintf(text, "%s%+ld", name, (long)(value - base));
  else sprintf(text, "%#lx", value);
  return text;
}
static void show(const char *name, const char *value) { printf("%s.%s %s\n", part, name, value); }
static void number(const char *name, word value) { show(name, at(value)); }

// The processor's state as fxsave stores it.
static void processor(const char *name, const void *from) {
  const unsigned short *half = from;
  const unsigned *word32 = from;
  const word *words = from;
  char text[256];
  sprintf(text, "cw %x sw %x tags %x op %x mxcsr %x mask %x", half[0], half[1], half[2] & 255, half[3], word32[6], word32[7]);
  printf("%s.%s %s\n%s.%s.ip %s\n%s.%s.dp %s\n", part, name, text, part, name, at(words[1]), part, name, at(words[2]));
  for (int k = 0; k < 8; k++) printf("%s.%s.st%d %lx %lx\n", part, name, k, words[4 + 2 * k], words[5 + 2 * k] & 0xffff);
  for (int k = 0; k < 16; k++) printf("%s.%s.xmm%d %lx %lx\n", part, name, k, words[20 + 2 * k], words[21 + 2 * k]);
}

// Handlers begin here, so that their state is seen before the compiler changes it.
word in_flags, in_rax, in_rsp;
char in_state[512] __attribute__((aligned(64)));
__asm__("entry:\n mov %rax, in_rax(%rip)\n mov %rsp, in_rsp(%rip)\n pushfq\n popq in_flags(%rip)\n"
        "pushq $0x202\n popfq\n fxsave64 in_state(%rip)\n jmp on");
static int resumes;
__attribute__((used)) static void on(int signal, siginfo_t *info, void *context) {
  static const char *names[] = {"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax",
                                "rcx", "rsp", "rip", "flags", "segments", "error", "trap", "oldmask", "cr2"};
  ucontext_t *u = context;
  greg_t *registers = u->uc_mcontext.gregs;
  number("signal", signal);
  number("code", info->si_code);
  number("errno", info->si_errno);
  if (info->si_code > 0) number("addr", (word)info->si_addr);
  else number("from-itself", info->si_pid == getpid() && info->si_uid == getuid());
  for (int k = 0; k < 23; k++) number(names[k], registers[k]);
  number("uc-flags", u->uc_flags);
  number("link", (word)u->uc_link);
  number("stack", (word)u->uc_stack.ss_sp);
  number("stack-flags", u->uc_stack.ss_flags);
  number("stack-bytes", u->uc_stack.ss_size);
  number("mask", *(word *)&u->uc_sigmask);
  unsigned *software = (unsigned *)((char *)u->uc_mcontext.fpregs + 464);
  number("magic", software[0]);
  number("extended-bytes", software[1]);
  number("features", *(word *)(software + 2));
  number("state-bytes", software[4]);
  number("in-use", *(word *)((char *)u->uc_mcontext.fpregs + 512));
  number("magic-end", *(unsigned *)((char *)u->uc_mcontext.fpregs + software[4]));
  number("state-aligned", (word)u->uc_mcontext.fpregs % 64);
  number("frame", (word)context - in_rsp);
  number("state-above", (word)u->uc_mcontext.fpregs - in_rsp);
  number("handler.rsp", in_rsp);
  number("handler.rax", in_rax);
  number("handler.flags", in_flags);
  processor("frame-state", u->uc_mcontext.fpregs);
  processor("handler-state", in_state);
  stack_t now;
  sigaltstack(0, &now);
  number("handler.stack-flags", now.ss_flags);
  sigset_t mask;
  sigprocmask(SIG_BLOCK, 0, &mask);
  number("handler.mask", *(word *)&mask);
  if (resumes) registers[REG_RIP] = registers[REG_RBX], registers[REG_EFL] &= ~0x100;
}

static void handle(int signal, int flags) {
  struct sigaction action = {0};
  action.sa_sigaction = (void *)entry;
  action.sa_flags = SA_SIGINFO | flags;
  sigaddset(&action.sa_mask, SIGUSR2);
  sigaction(signal, &action, 0);
}

// Runs instructions that fault, with known registers and flags, and rax = the page.
#define FAULT(name, flags, instructions)                                                                          \
  part = name;                                                                                                    \
  __asm__ volatile("mov %%rsp, %%r12\n lea 9f(%%rip), %%rbx\n mov $0x1002, %%edx\n mov $0x1003, %%esi\n"            \
                   "mov $0x1004, %%edi\n mov $0x1005, %%r8d\n mov $0x1006, %%r9d\n mov $0x1007, %%r10d\n"           \
                   "mov $0x1008, %%r11d\n mov $0x1009, %%r13d\n mov $0x100a, %%r14d\n mov $0x100b, %%r15d\n"        \
                   "xor %%ecx, %%ecx\n movq %%rbx, %%xmm7\n" NO_VECTORS flags "\n jmp 7f\n7:" instructions                     \
                   "\n jmp 9f\n 9: mov %%r12, %%rsp\n cld\n test %%eax, %%eax"                                       \
                   :                                                                                              \
                   : "a"(page)                                                                                    \
                   : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",       \
                     "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",    \
                     "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc")
#define NO_VECTORS                                                                                                \
  "pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n pxor %%xmm3, %%xmm3\n pxor %%xmm4, %%xmm4\n" \
  "pxor %%xmm5, %%xmm5\n pxor %%xmm6, %%xmm6\n pxor %%xmm8, %%xmm8\n pxor %%xmm9, %%xmm9\n"                       \
  "pxor %%xmm10, %%xmm10\n pxor %%xmm11, %%xmm11\n pxor %%xmm12, %%xmm12\n pxor %%xmm13, %%xmm13\n"               \
  "pxor %%xmm14, %%xmm14\n pxor %%xmm15, %%xmm15\n"
// Sends a signal to this thread, with the same registers.
#define SEND(name, signal)                                                                                        \
  FAULT(name, "stc",                                                                                              \
        "mov $39, %%eax\n syscall\n mov %%eax, %%edi\n mov $186, %%eax\n syscall\n mov %%eax, %%esi\n mov $" signal   \
        ", %%edx\n mov $234, %%eax\n syscall")
// After the access the flags are written, so that they are dead at the fault.
#define OVERWRITTEN "\n xor %%ecx, %%ecx\n"
#define ALL_FLAGS "mov $0x7f, %%cl\n add $1, %%cl\n stc" // OF SF AF CF
#define NO_FLAGS "test %%edx, %%edx"

static void accesses(void) {
  FAULT("read-none", "stc", "mov (%%rax), %%ecx" OVERWRITTEN);
  FAULT("write-none", ALL_FLAGS, "mov %%ecx, (%%rax)" OVERWRITTEN);
  FAULT("partly-written", ALL_FLAGS, "inc %%edx\n mov 8(%%rax), %%ecx" OVERWRITTEN);
  FAULT("compare-none", "stc", "cmp %%rdx, 16(%%rax)\n je 9f");
  mprotect(page, 8192, PROT_READ);
  FAULT("write-readonly", NO_FLAGS, "movl $1, (%%rax)" OVERWRITTEN);
  FAULT("modify-readonly", "stc", "lock addl $1, (%%rax)");
  FAULT("string", "stc", "lea -8(%%rax), %%rdi\n mov %%rsp, %%rsi\n mov $16, %%ecx\n lea (%%rax), %%rdi\n rep movsb" OVERWRITTEN);
  FAULT("push", "stc", "lea 8(%%rax), %%rsp\n push %%rcx" OVERWRITTEN);
  FAULT("call-readonly-stack", "stc", "lea 8(%%rax), %%rsp\n call 9f");
  FAULT("ret-none", "stc", "mov $64, %%esp\n ret");
  FAULT("jump-not-executable", "stc", "jmp *%%rax");
  FAULT("call-not-executable", "stc", "sub $256, %%rsp\n call *%%rax");
  mprotect(page, 8192, PROT_NONE);
  FAULT("jump-none", "stc", "jmp *%%rax");
  FAULT("jump-not-mapped", "stc", "mov $0x1000, %%ecx\n jmp *%%rcx");
  FAULT("jump-kernel", "stc", "mov $-4096, %%rcx\n jmp *%%rcx");
  FAULT("read-kernel", "stc", "mov $-4096, %%rcx\n mov (%%rcx), %%edx" OVERWRITTEN);
  FAULT("read-not-canonical", "stc", "mov $1, %%ecx\n shl $63, %%rcx\n mov (%%rcx), %%edx" OVERWRITTEN);
  FAULT("jump-not-canonical", "stc", "mov $1, %%ecx\n shl $63, %%rcx\n jmp *%%rcx");
  FAULT("not-aligned", "stc", "movaps 1(%%rsp), %%xmm0" OVERWRITTEN);
}
static void instructions(void) {
  FAULT("privileged", "stc", "hlt");
  FAULT("input", "stc", "in $0x80, %%al" OVERWRITTEN);
  FAULT("invalid", ALL_FLAGS, "ud2");
  FAULT("invalid-bytes", "stc", ".byte 0x06");
  FAULT("too-long", "stc", ".byte 0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x2e,0x90");
  FAULT("locked", "stc", ".byte 0xf0, 0x90");
  FAULT("breakpoint", ALL_FLAGS, "int3");
  FAULT("divide", ALL_FLAGS, "xor %%ecx, %%ecx\n mov $5, %%eax\n xor %%edx, %%edx\n stc\n div %%ecx");
  FAULT("divide-overflow", "stc", "mov $1, %%ecx\n mov $5, %%edx\n mov $5, %%eax\n div %%ecx");
  FAULT("x87", "stc", "fninit\n pushq $0x37b\n fldcw (%%rsp)\n fldz\n fld1\n fdivp\n fwait");
  FAULT("x87-reset", "stc", "fninit\n ud2");
  FAULT("sse", "stc", "pushq $0x1d80\n ldmxcsr (%%rsp)\n xorps %%xmm0, %%xmm0\n divss %%xmm0, %%xmm0" OVERWRITTEN);
  FAULT("sse-reset", "stc", "pushq $0x1f80\n ldmxcsr (%%rsp)\n ud2");
  FAULT("alignment", "pushfq\n orl $0x40000, (%%rsp)\n popfq", "mov 1(%%rsp), %%edx\n pushfq\n andl $~0x40000, (%%rsp)\n popfq");
  FAULT("alignment-reset", "pushfq\n andl $~0x40000, (%%rsp)\n popfq", "ud2");
  FAULT("step", "stc\n pushfq\n orl $0x100, (%%rsp)\n popfq", "nop\n nop");
}
static void files(void) {
  int fd = memfd_create("file", 0);
  char *kept = page;
  page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  FAULT("beyond-file", "stc", "mov (%%rax), %%ecx" OVERWRITTEN);
  munmap(page, 8192);
  close(fd);
  page = kept;
}
// Code at the end of a page whose next page is not executable; at `where` bytes from the border.
static void border(const char *name, int rights, int where) {
  static const unsigned char move[] = {0x48, 0xc7, 0xc0, 42, 0, 0, 0, 0xc3};
  code = mmap(0, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code + 4096 - where, move, sizeof move);
  if (rights < 0) munmap(code + 4096, 4096);
  else mprotect(code + 4096, 4096, rights);
  char *to = code + 4096 - where;
  part = name;
  __asm__ volatile("mov %%rsp, %%r12\n lea 9f(%%rip), %%rbx\n xor %%ecx, %%ecx\n xor %%edx, %%edx\n mov %%edx, %%esi\n"
                   "mov %%edx, %%edi\n mov %%rdx, %%r8\n mov %%rdx, %%r9\n mov %%rdx, %%r10\n mov %%rdx, %%r11\n"
                   "mov %%rdx, %%r13\n mov %%rdx, %%r14\n mov %%rdx, %%r15\n pxor %%xmm7, %%xmm7\n"
                   "sub $256, %%rsp\n call *%%rax\n 9: mov %%r12, %%rsp"
                   :
                   : "a"(to)
                   : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm7", "memory",
                     "cc");
  munmap(code, 8192);
}
static void faults(void) {
  static const int all[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
  SEND("before", "10");
  stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  sigaltstack(&stack, 0);
  for (int k = 0; k < 5; k++) handle(all[k], SA_ONSTACK);
  resumes = 1;
  accesses();
  instructions();
  files();
  border("straddles-data", PROT_READ | PROT_WRITE, 5);
  border("straddles-none", PROT_NONE, 5);
  border("straddles-nothing", -1, 5);
  border("next-is-data", PROT_READ, 7);
  border("next-is-nothing", -1, 7);
  resumes = 0;
  SEND("after", "10");
  SEND("sent", "11");
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, 0);
  SEND("without-stack", "10");
}

// What instructions store that know where they are.
static void x87(void) {
  static unsigned environment[27], narrow[27];
  static char state[8192] __attribute__((aligned(64)));
  static double two = 2;
  part = "x87";
  __asm__ volatile("fninit\n fldl %1\n fsqrt\n fnstenv %0\n fldenv %0" : "+m"(environment) : "m"(two));
  number("fnstenv.ip", environment[3] ? environment[3] - (unsigned)(word)__executable_start : 0);
  printf("x87.fnstenv %x %x %x %x\n", environment[0] & 0xffff, environment[1] & 0xffff, environment[2] & 0xffff, environment[4] >> 16);
  __asm__ volatile(".byte 0x66\n fnstenv %0\n .byte 0x66\n fldenv %0\n fstp %%st(0)" : "+m"(narrow));
  number("fnstenv16.ip", narrow[1] >> 16 ? (narrow[1] >> 16) - (unsigned short)(word)__executable_start : 0);
  __asm__ volatile("fldl %1\n fsqrt\n fnsave %0\n frstor %0\n fstp %%st(0)" : "+m"(environment) : "m"(two));
  number("fnsave.ip", environment[3] ? environment[3] - (unsigned)(word)__executable_start : 0);
  __asm__ volatile("fldl %1\n fsqrt\n fxsave64 %0\n fstp %%st(0)" : "+m"(state) : "m"(two));
  number("fxsave64.ip", *(word *)(state + 8));
  memset(state, 0, sizeof state);
  __asm__ volatile("fldl %1\n fld1\n faddp\n xsave64 %0\n fstp %%st(0)" : "+m"(state) : "m"(two), "a"(3), "d"(0));
  number("xsave64.ip", *(word *)(state + 8));
  memset(state, 0, sizeof state);
  __asm__ volatile("fldl %1\n fld1\n fsubp\n xsave %0\n fstp %%st(0)" : "+m"(state) : "m"(two), "a"(3), "d"(0));
  number("xsave.ip", *(unsigned *)(state + 8) ? *(unsigned *)(state + 8) - (unsigned)(word)__executable_start : 0);
}

static void kernel(const char *name) {
  part = name;
  word value = 0;
  unsigned short selector;
  __asm__("mov %%gs, %0" : "=r"(selector));
  number("gs", selector);
  syscall(SYS_arch_prctl, ARCH_GET_FS, &value);
  word first;
  __asm__("mov %%fs:0, %0" : "=r"(first));
  number("fs-is-its-first-word", value == first);
  value = 1;
  number("get-gs", syscall(SYS_arch_prctl, ARCH_GET_GS, &value));
  number("gs-base", value);
  number("get-gs-nowhere", syscall(SYS_arch_prctl, ARCH_GET_GS, 8));
  if (getauxval(AT_HWCAP2) & 2) {
    __asm__ volatile("rdgsbase %0" : "=r"(value));
    number("rdgsbase", value);
    __asm__ volatile("rdfsbase %0" : "=r"(value));
    number("rdfsbase-is-its-first-word", value == first);
  }
  number("gs-is-no-base", ({ word own = 77, read; __asm__ volatile("mov %%gs:(%1), %0" : "=r"(read) : "r"(&own)); read; }));
  static const int asks[] = {0x1011, 0x1021, 0x1022, 0x1023, 0x1024, 0x1025, 0x5001, 0x5005, 0x4001};
  for (int k = 0; k < sizeof asks / sizeof *asks; k++) {
    word answer[4] = {0};
    long result = asks[k] == 0x5001 ? 0 : syscall(SYS_arch_prctl, asks[k], answer);
    printf("%s.arch-prctl-%x %ld %lx\n", part, asks[k], result, answer[0]);
  }
  for (int k = 1; k < 80; k++) {
    // Those that ask only, and have their answer as the result.
    static const char only[] = {3, 7, 9, 11, 13, 19, 21, 23, 27, 30, 34, 39, 42, 46, 48, 51, 56, 64, 66, 70};
    if (memchr(only, k, sizeof only)) printf("%s.prctl-%d %d\n", part, k, prctl(k, 0, 0, 0, 0));
    word answer = 0;
    if (k == 2 || k == 25 || k == 37) printf("%s.prctl-%d %d %lx\n", part, k, prctl(k, &answer, 0, 0, 0), answer);
  }
  char thread[16] = "";
  prctl(PR_GET_NAME, thread);
  show("name", thread);
  number("personality", personality(-1));
  word head = 0, bytes = 0;
  number("get-robust-list", syscall(SYS_get_robust_list, 0, &head, &bytes));
  number("robust-bytes", bytes);
  number("robust-is-near-fs", head - first < 4096);
  sigset_t mask;
  sigprocmask(SIG_BLOCK, 0, &mask);
  number("mask", *(word *)&mask);
  sigpending(&mask);
  number("pending", *(word *)&mask);
  stack_t stack;
  number("sigaltstack", sigaltstack(0, &stack));
  number("stack-flags", stack.ss_flags);
  number("stack-bytes", stack.ss_size);
  stack.ss_flags = 0, stack.ss_size = 100;
  number("small-stack", sigaltstack(&stack, 0));
  stack.ss_flags = 4, stack.ss_size = 10000;
  number("stack-of-a-kind", sigaltstack(&stack, 0));
  for (int k = 1; k <= 64; k++) {
    struct { void *handler; word flags; void *restorer; word mask; } action = {0};
    long result = syscall(SYS_rt_sigaction, k, 0, &action, 8);
    printf("%s.action-%d %ld %s %lx %lx\n", part, k, result, at((word)action.handler), action.flags, action.mask);
  }
  cpu_set_t set;
  number("get-affinity", sched_getaffinity(0, sizeof set, &set));
  number("processors", CPU_COUNT(&set));
  printf("%s.scheduler %d %d %d\n", part, sched_getscheduler(0), getpriority(PRIO_PROCESS, 0), umask(0));
}

static void limits(void) {
  part = "limits";
  for (int k = 0; k < 16; k++) {
    struct rlimit one = {0}, other = {0};
    int results[] = {getrlimit(k, &one), prlimit(0, k, 0, &other)};
    printf("limits.%d %d %d %lx %lx %lx %lx\n", k, results[0], results[1], one.rlim_cur, one.rlim_max, other.rlim_cur, other.rlim_max);
  }
}
static void auxiliary(char **environment) {
  while (*environment) environment++;
  part = "auxv";
  for (word *entry = (word *)(environment + 1); entry[0]; entry += 2) {
    char name[16];
    sprintf(name, "%lu", entry[0]);
    // Text and data that the kernel has put on the stack, the loader, and the vdso have addresses of their own.
    int address = entry[0] == 15 || entry[0] == 25 || entry[0] == 31 || entry[0] == 33 || entry[0] == 7;
    number(name, address ? entry[1] != 0 : entry[1]);
    if (entry[0] == 15 || entry[0] == 31) show(entry[0] == 15 ? "platform" : "file", (char *)entry[1]);
  }
}
// A file of text, line by line: the first word is the name.
static void lines(const char *name, const char *path, int words) {
  char line[4096], field[64];
  FILE *file = fopen(path, "r");
  part = name;
  if (!file) return show("missing", path);
  for (int k = 0; fgets(line, sizeof line, file); k++) {
    line[strcspn(line, "\n")] = 0;
    char *value = strpbrk(line, words ? ":" : "\1");
    if (value) *value++ = 0;
    for (char *c = line; *c; c++) if (value && *c == ' ') *c = '-';
    sprintf(field, "%d", k);
    show(value ? line : field, value ? value : line);
  }
  fclose(file);
}
static void bytes(const char *name, const char *path) {
  char text[1 << 16];
  int fd = open(path, O_RDONLY), count = read(fd, text, sizeof text);
  unsigned hash = 5381;
  for (int k = 0; k < count; k++) hash = hash * 33 + (unsigned char)text[k];
  close(fd);
  printf("proc.%s %d %x\n", name, count, hash);
}
static void link_of(const char *name, const char *path) {
  char to[4096] = "";
  readlink(path, to, sizeof to - 1);
  printf("proc.%s %s\n", name, to);
}
static void proc(void) {
  lines("status", "/proc/self/status", 1);
  lines("limits-file", "/proc/self/limits", 0);
  bytes("cmdline", "/proc/self/cmdline");
  bytes("environ", "/proc/self/environ");
  bytes("comm", "/proc/self/comm");
  bytes("personality", "/proc/self/personality");
  bytes("timerslack", "/proc/self/timerslack_ns");
  bytes("oom", "/proc/self/oom_score_adj");
  bytes("cgroup", "/proc/self/cgroup");
  link_of("exe", "/proc/self/exe"), link_of("cwd", "/proc/self/cwd"), link_of("root", "/proc/self/root");
  int files = 0, threads = 0;
  for (DIR *folder = opendir("/proc/self/fd"); folder && readdir(folder);) files++;
  for (DIR *folder = opendir("/proc/self/task"); folder && readdir(folder);) threads++;
  printf("proc.files %d\nproc.threads %d\n", files, threads);
  char line[4096], path[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  for (int k = 0; maps && fgets(line, sizeof line, maps);) {
    char rights[8];
    path[0] = 0;
    word low;
    sscanf(line, "%lx-%*x %4s %*s %*s %*s %s", &low, rights, path);
    printf("%s %s %s\n", low >> 36 == 0x550 ? "maps.ours" : "maps.own", rights, path);
  }
  FILE *stat = fopen("/proc/self/stat", "r");
  fgets(line, sizeof line, stat);
  char *rest = strrchr(line, ')') + 2;
  for (int k = 3; (rest = strtok(k == 3 ? rest : 0, " \n")); k++) printf("stat.%d %s\n", k, rest);
}

static void *thread(void *nothing) {
  kernel("thread");
  low_stack = (char *)&nothing;
  SEND("in-thread", "10");
  return nothing;
}
int main(int count, char **arguments, char **environment) {
  // Without randomised addresses, and after an exec, in both runs.
  if (count == 1) {
    personality(ADDR_NO_RANDOMIZE);
    // What is inherited of these two, which are the C library's own, depends on the parent's threads.
    word nothing[4] = {0};
    for (int k = 32; k < 34; k++) syscall(SYS_rt_sigaction, k, nothing, 0, 8);
    execl("/proc/self/exe", "mirror", "again", NULL);
  }
  setvbuf(stdout, 0, _IOLBF, 1 << 16);
  low_stack = (char *)&count;
  page = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  kernel("kernel");
  handle(SIGUSR1, SA_ONSTACK);
  limits();
  auxiliary(environment);
  proc();
  x87();
  faults();
  kernel("kernel-after");
  pthread_t other;
  pthread_create(&other, 0, thread, 0);
  pthread_join(other, 0);
  low_stack = (char *)&count;
  fflush(stdout);
  if (fork() == 0) {
    kernel("child");
    SEND("in-child", "10");
    fflush(stdout);
    _exit(0);
  }
  wait(0);
  return 0;
}
