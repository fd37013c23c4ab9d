/* passes.c with its passes in one loop. */
#include <stdio.h>

#define COUNT 100000

double input[COUNT], output[COUNT];

int main(void)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        output[i] = input[i] * 2 + 1;
        sum += output[i];
    }
    printf("%g\n", sum);
    return 0;
}
