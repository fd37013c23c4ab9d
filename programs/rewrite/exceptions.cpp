// Exceptions through frames with destructors, across threads' ends, rethrown; setjmp and longjmp.
#include <csetjmp>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

struct Noisy {
  int n;
  ~Noisy() { std::printf("~%d ", n); }
};
static int deep(int n) {
  Noisy noisy{n};
  if (n == 0) throw std::runtime_error("bottom");
  return deep(n - 1) + 1;
}
static std::jmp_buf back;
static void leap(int n) {
  volatile char room[64];
  room[0] = n;
  if (n == 0) std::longjmp(back, 42);
  leap(n - 1);
  room[1] = 0;
}

int main() {
  int caught = 0;
  for (int i = 0; i < 300; i++) {
    try {
      try {
        deep(i % 7);
      } catch (const std::exception &) {
        caught++;
        throw;
      }
    } catch (const std::runtime_error &error) {
      caught += std::string(error.what()) == "bottom";
    }
  }
  std::printf("\ncaught %d\n", caught);
  volatile int rounds = 0;
  int value = setjmp(back);
  if (value != 0) rounds++;
  if (rounds < 100) leap(rounds % 10);
  std::printf("leapt %d %d\n", value, rounds);
  std::vector<int> numbers;
  try {
    return numbers.at(5);
  } catch (const std::out_of_range &) {
    return 6;
  }
}
