/* buffers.c with one block for all steps. */
#include <stdio.h>
#include <stdlib.h>

#define COUNT 40000

static double work(double *buffer, int step)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        buffer[i] = i + step;
    for (int i = COUNT - 1; i >= 0; i--)
        sum += buffer[i];
    return sum;
}

int main(void)
{
    double *buffer = malloc(COUNT * sizeof *buffer), sum = 0;
    for (int step = 0; step < 20; step++)
        sum += work(buffer, step);
    printf("%g\n", sum);
    free(buffer);
    return 0;
}
