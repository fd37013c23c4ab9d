/* Heat in a rod: at each step, every cell becomes the mean of itself and its two neighbours.
 *
 * usage: stencil [plain|blocked] [CELLS] [STEPS]      default: plain 200000 32
 * Threads: as many as OMP_NUM_THREADS says.
 *
 *   plain    each step sweeps over the whole rod. By the time a sweep returns to a cell, it has been
 *            through all the others.
 *   blocked  each piece of the rod is copied, with a few cells more on both sides, into a small
 *            buffer; there it advances STRIDE steps, and only then it is written back. The extra
 *            cells go wrong one by one from the outside, which is why they are there: after STRIDE
 *            steps just the piece itself is still right. A little work is done twice, and the rod
 *            is swept STRIDE times less often.
 *
 * Both compute every cell with the same operations, so the checksums agree to the last bit, with
 * any number of threads. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CELLS = 2000000, PIECE = 2000, STRIDE = 8, BUFFER = PIECE + 2 * STRIDE };

static double rod[MAX_CELLS], next[MAX_CELLS];

/* One step of the cells `from` .. `to` (exclusive), whose neighbours exist. */
static void step(double *out, const double *in, int from, int to)
{
    for (int i = from; i < to; i++)
        out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3;
}

/* The ends of the rod keep their temperature. Two steps at a time, there and back, so that the
 * result is in `rod` again. */
static void plain(int cells, int steps)
{
    for (int s = 0; s < steps; s += 2) {
#pragma omp parallel for schedule(static)
        for (int i = 1; i < cells - 1; i++)
            next[i] = (rod[i - 1] + rod[i] + rod[i + 1]) / 3;
#pragma omp parallel for schedule(static)
        for (int i = 1; i < cells - 1; i++)
            rod[i] = (next[i - 1] + next[i] + next[i + 1]) / 3;
    }
}

/* Advances the cells `first` .. `last` (exclusive) by STRIDE steps from `rod` into `next`. */
static void advance(int cells, int first, int last)
{
    double even[BUFFER], odd[BUFFER];
    int low = first - STRIDE < 0 ? 0 : first - STRIDE;
    int high = last + STRIDE > cells ? cells : last + STRIDE;
    int size = high - low;
    for (int i = 0; i < size; i++)
        even[i] = rod[low + i];
    odd[0] = even[0];
    odd[size - 1] = even[size - 1];
    for (int s = 0; s < STRIDE; s += 2) {
        step(odd, even, 1, size - 1);
        step(even, odd, 1, size - 1);
    }
    for (int i = first; i < last; i++)
        next[i] = even[i - low];
}

static void blocked(int cells, int steps)
{
    for (int s = 0; s < steps; s += STRIDE) {
#pragma omp parallel for schedule(static)
        for (int first = 0; first < cells; first += PIECE)
            advance(cells, first, first + PIECE > cells ? cells : first + PIECE);
#pragma omp parallel for schedule(static)
        for (int i = 0; i < cells; i++)
            rod[i] = next[i];
    }
}

int main(int argc, char **argv)
{
    const char *variant = argc > 1 ? argv[1] : "plain";
    int cells = argc > 2 ? atoi(argv[2]) : 200000;
    int steps = argc > 3 ? atoi(argv[3]) : 32;
    int is_blocked = strcmp(variant, "blocked") == 0;
    if ((!is_blocked && strcmp(variant, "plain") != 0) || cells < 3 || cells > MAX_CELLS ||
        steps < 1 || steps % STRIDE != 0) {
        fprintf(stderr, "usage: stencil [plain|blocked] [CELLS from 3 to %d] [STEPS, times of %d]\n",
                MAX_CELLS, STRIDE);
        return 2;
    }
    for (int i = 0; i < cells; i++)
        rod[i] = next[i] = i % 17;
    if (is_blocked)
        blocked(cells, steps);
    else
        plain(cells, steps);
    double sum = 0;
    for (int i = 0; i < cells; i++)
        sum += rod[i] * (1 + i % 3);
    printf("stencil %s %d %d: checksum %.9f\n", variant, cells, steps, sum);
    return 0;
}
