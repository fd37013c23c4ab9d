/* The first thread of a team works, and the others wait for it at the barriers between: 400 rounds over 1,000 cells. */
#include <omp.h>
#include <stdio.h>

enum { CELLS = 1000, ROUNDS = 400 };

static long cells[CELLS];

int main(void) {
#pragma omp parallel num_threads(3)
    for (int round = 0; round < ROUNDS; round++) {
        if (omp_get_thread_num() == 0)
            for (int cell = 0; cell < CELLS; cell++)
                cells[cell] += round;
#pragma omp barrier
    }
    printf("%ld\n", cells[CELLS - 1]);
    return 0;
}
