// Exceptions that are thrown through several frames, so that functions are left without returning.
//
// Each of 1000 rounds goes DEPTH calls down and throws there; the frames on the way have destructors
// to run. Whoever follows calls and returns must find `after` called from main each time, not from
// the depths that were never returned from.

#include <cstdio>
#include <stdexcept>

namespace {

constexpr int ROUNDS = 1000;
constexpr int DEPTH = 10;

volatile unsigned cells[DEPTH + 1];
volatile unsigned cleaned;
volatile unsigned followed;

struct Guard {
    ~Guard() { cleaned = cleaned + 1; }
};

__attribute__((noinline)) void descend(int level)
{
    Guard guard;
    cells[level] = cells[level] + 1;
    if (level == DEPTH)
        throw std::runtime_error("the bottom");
    descend(level + 1);
}

__attribute__((noinline)) void after()
{
    followed = followed + 1;
}

} // namespace

int main()
{
    int caught = 0;
    for (int r = 0; r < ROUNDS; r++) {
        try {
            descend(0);
        } catch (const std::runtime_error &) {
            caught++;
        }
        after();
    }
    std::printf("expect cells loads %d stores %d\n", ROUNDS * (DEPTH + 1), ROUNDS * (DEPTH + 1));
    std::printf("expect cleaned loads %d stores %d\n", ROUNDS * (DEPTH + 1), ROUNDS * (DEPTH + 1));
    std::printf("expect followed loads %d stores %d in after, called from main\n", ROUNDS, ROUNDS);
    return caught != ROUNDS;
}
