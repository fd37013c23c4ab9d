// Sorts random numbers, then looks each of them up.
//
// usage: quicksort [N]      default: 100000
//
//   sort    partitions walk over the whole array, then over ever shorter pieces, down to insertion sort: each level
//           has a distance of its own, half of that of the level above. A larger array adds a level.
//   search  each binary search starts at the same middle: the first steps are near, the last ones anywhere.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using Number = std::uint64_t;

constexpr std::ptrdiff_t SHORT = 16;

// A small generator of our own: the same numbers with every library.
Number random_bits()
{
    static Number state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

void insertion_sort(Number *first, Number *last)
{
    for (Number *next = first + 1; next < last; next++) {
        Number value = *next;
        Number *hole = next;
        for (; hole > first && hole[-1] > value; hole--)
            *hole = hole[-1];
        *hole = value;
    }
}

Number median(Number a, Number b, Number c)
{
    if (a > b)
        std::swap(a, b);
    return c < a ? a : (c > b ? b : c);
}

// Hoare's partition: what lies before the result is at most the pivot, what follows is at least the pivot.
Number *partition(Number *first, Number *last)
{
    Number pivot = median(*first, first[(last - first) / 2], last[-1]);
    for (;;) {
        while (*first < pivot)
            first++;
        do
            last--;
        while (*last > pivot);
        if (first >= last)
            return first;
        std::swap(*first++, *last);
    }
}

void sort(Number *first, Number *last)
{
    while (last - first > SHORT) {
        Number *middle = partition(first, last);
        sort(first, middle);
        first = middle;
    }
    insertion_sort(first, last);
}

// How many numbers are less than this one.
std::size_t rank(const std::vector<Number> &sorted, Number value)
{
    std::size_t low = 0, high = sorted.size();
    while (low < high) {
        std::size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

} // namespace

int main(int argc, char **argv)
{
    long n = argc > 1 ? std::atol(argv[1]) : 100000;
    if (n < 1 || n > 100000000) {
        std::fprintf(stderr, "usage: quicksort [N from 1 to 100000000]\n");
        return 2;
    }
    std::vector<Number> asked(static_cast<std::size_t>(n));
    for (Number &number : asked)
        number = random_bits();
    std::vector<Number> sorted = asked;
    sort(sorted.data(), sorted.data() + n);
    Number sum = 0;
    for (Number number : asked)
        sum = sum * 31 + rank(sorted, number);
    for (std::size_t i = 1; i < sorted.size(); i++)
        if (sorted[i - 1] > sorted[i])
            return 1;
    std::printf("quicksort %ld: %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
