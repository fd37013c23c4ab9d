// Limits its own memory ("limit", "data"), or locks it ("lock"); after that it becomes itself ("after"). Forbids itself to
// have memory that is writable and executable ("deny"), and runs other programs, which inherit that.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1 << 20)
#define LIMIT (256L * MIB)

// MiB that can be mapped.
static int free_space(void) {
  static void *blocks[4096];
  int count = 0;
  while (count < 4096) {
    void *block = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    blocks[count++] = block;
  }
  for (int index = 0; index < count; index++) munmap(blocks[index], MIB);
  return count;
}

static void show(const char *when) {
  int count = free_space();
  const char *much = count < 200 ? "less than" : count > 256 ? "more than" : "as much as";
  printf("%s: %s set\n", when, much);
  if (strcmp(much, "as much as")) fprintf(stderr, "%d MiB\n", count);
}

static void limit(char *self, int resource) {
  struct rlimit space = {LIMIT, 2 * LIMIT}, other;
  if (setrlimit(resource, &space)) perror("limit");
  getrlimit(resource, &other);
  printf("%ld %ld\n", (long)other.rlim_cur, (long)other.rlim_max);
  show("soft");
  struct rlimit more = {LIMIT / 2, 2 * LIMIT};
  setrlimit(resource, &more);
  prlimit(0, resource, &space, &other);
  printf("%ld %ld\n", (long)other.rlim_cur, (long)other.rlim_max);
  show("again");
  struct rlimit wrong = {2 * LIMIT, LIMIT};
  printf("%d\n", setrlimit(resource, &wrong));
  fflush(stdout);
  execl(self, self, "after", NULL);
}

// A number of /proc/self/status in MiB.
static long status(const char *name) {
  char line[256];
  long kib = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, name, strlen(name))) sscanf(line + strlen(name), ": %ld", &kib);
  fclose(file);
  return kib / 1024;
}

static void lock(void) {
  static char before[8 * MIB];
  if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
    printf("cannot lock\n");
    return;
  }
  char *later = malloc(8 * MIB);
  later[0] = before[0];
  long locked = status("VmRSS");
  printf("%s\n", locked < 200 ? "little" : "much");
  if (locked >= 200) fprintf(stderr, "%ld MiB\n", locked);
}

static void deny(char *self) {
  const int set_deny_write_execute = 65;
  printf("%d\n", prctl(set_deny_write_execute, 1, 0, 0, 0));
  fflush(stdout);
  int status = 0;
  if (fork() == 0) {
    execl(self, self, "nothing", NULL);
    _exit(1);
  }
  wait(&status);
  printf("forked %x\n", status);
  printf("started %x\n", system("exit 3"));
  fflush(stdout);
  execl(self, self, "nothing", NULL);
}

int main(int count, char **arguments) {
  if (!strcmp(arguments[1], "limit")) limit(arguments[0], RLIMIT_AS);
  if (!strcmp(arguments[1], "data")) limit(arguments[0], RLIMIT_DATA);
  if (!strcmp(arguments[1], "deny")) deny(arguments[0]);
  if (!strcmp(arguments[1], "after")) show("after");
  if (!strcmp(arguments[1], "lock")) lock();
  return 14;
}
