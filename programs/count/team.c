/* A sum by nested teams of OpenMP: outer threads from the first argument, two in each inner team. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 64, COLUMNS = 256 };

static long cells[ROWS][COLUMNS];

static long row_sum(const long *row) {
    long sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int column = 0; column < COLUMNS; column++)
        sum += row[column];
    return sum;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    long sum = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel for num_threads(threads)
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            cells[row][column] = row + column;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
    for (int row = 0; row < ROWS; row++)
        sum += row_sum(cells[row]);
    printf("%ld\n", sum);
    return 0;
}
