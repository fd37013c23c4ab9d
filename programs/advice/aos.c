/* An array of structures of which one field is used: array-of-structures. */
#include <stdio.h>

#define COUNT 20000

struct Particle {
    double x, y, z, vx, vy, vz, mass, charge;
};

struct Particle particles[COUNT];

int main(void)
{
    double sum = 0;
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < COUNT; i++)
            sum += particles[i].mass;
    printf("%g\n", sum);
    return 0;
}
