// Work for OpenMP's run time: parallel loops with schedules, a reduction, tasks, locks, nested regions.
#include <omp.h>
#include <stdio.h>

static long tasks(int n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a) if (n > 12)
    a = tasks(n - 1);
    b = tasks(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    long sum = 0, last = 0;
    static int field[10000];
    omp_set_num_threads(4);
    omp_set_max_active_levels(2);
#pragma omp parallel for schedule(dynamic, 100) reduction(+ : sum)
    for (int i = 0; i < 10000; i++) sum += field[i] = i % 97;
#pragma omp parallel
#pragma omp single
    last = tasks(18);
    int inner = 0;
#pragma omp parallel num_threads(2)
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 100; i++)
#pragma omp critical
        inner += i;
    printf("%ld %ld %d\n", sum, last, inner);
}
