/* A large block for each step: short-lived-allocations. */
#include <stdio.h>
#include <stdlib.h>

#define COUNT 40000

static double work(int step)
{
    double *buffer = malloc(COUNT * sizeof *buffer), sum = 0;
    for (int i = 0; i < COUNT; i++)
        buffer[i] = i + step;
    for (int i = COUNT - 1; i >= 0; i--)
        sum += buffer[i];
    free(buffer);
    return sum;
}

int main(void)
{
    double sum = 0;
    for (int step = 0; step < 20; step++)
        sum += work(step);
    printf("%g\n", sum);
    return 0;
}
