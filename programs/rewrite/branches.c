/* Branches whose outcomes are known: of 1000 rounds every fourth goes one way, and the loop ends once. Calls in
   between, and an instruction that repeats itself. */
#include <string.h>

static volatile int sums[2];

__attribute__((noinline)) static void first(int number) { sums[0] += number; }
__attribute__((noinline)) static void second(int number) { sums[1] += number; }

int main(void) {
    for (int round = 0; round < 1000; round++) {
        if (round % 4 == 0) {
            first(round);
        } else {
            second(round);
        }
        __asm__ volatile("" ::: "memory");
    }
    return sums[0] != 124500 || sums[1] != 375000;
}
