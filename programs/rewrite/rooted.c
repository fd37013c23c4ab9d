// Goes on without `/proc`: with a folder as its root ("root", the folder), or without a free
// descriptor ("descriptors").
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void change_root(const char *folder) {
  if (chroot(folder) || chdir("/")) {
    perror("chroot");
    exit(3);
  }
}

static void use_up_descriptors(void) {
  struct rlimit few = {64, 64};
  setrlimit(RLIMIT_NOFILE, &few);
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
}

// Code that is made, and changed where it lies.
static int made(void) {
  unsigned char *code =
    mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int sum = 0;
  for (int number = 1; number <= 3; number++) {
    unsigned char instructions[] = {0xb8, number, 0, 0, 0, 0xc3}; // mov eax, number; ret
    memcpy(code, instructions, sizeof instructions);
    sum = 10 * sum + ((int (*)(void))code)();
  }
  return sum;
}

static int compare(const void *one, const void *other) {
  return *(const char *)one - *(const char *)other;
}

static void *beside(void *letters) {
  qsort(letters, strlen(letters), 1, compare);
  return letters;
}

int main(int count, char **arguments) {
  if (!strcmp(arguments[1], "root")) {
    change_root(arguments[2]);
  } else {
    use_up_descriptors();
  }
  char letters[] = "unwatched";
  pthread_t thread;
  pthread_create(&thread, NULL, beside, letters);
  pthread_join(thread, NULL);
  pid_t child = fork();
  if (child == 0) _exit(made() == 123 ? 6 : 7);
  int status;
  waitpid(child, &status, 0);
  printf("%s %d %d\n", letters, made(), WEXITSTATUS(status));
  return 4;
}
