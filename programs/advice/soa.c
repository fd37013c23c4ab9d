/* aos.c with each field in an array of its own. */
#include <stdio.h>

#define COUNT 20000

struct {
    double x[COUNT], y[COUNT], z[COUNT], vx[COUNT], vy[COUNT], vz[COUNT];
    double mass[COUNT], charge[COUNT];
} particles;

int main(void)
{
    double sum = 0;
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < COUNT; i++)
            sum += particles.mass[i];
    printf("%g\n", sum);
    return 0;
}
