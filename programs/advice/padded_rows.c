/* strides.c with rows that are a line longer. */
#include <stdio.h>

#define ROWS 64
#define COLUMNS 512
#define PADDING 8

double table[ROWS][COLUMNS + PADDING];

int main(void)
{
    double sum = 0;
    for (int round = 0; round < 4; round++)
        for (int column = 0; column < COLUMNS; column++)
            for (int row = 0; row < ROWS; row++)
                sum += table[row][column];
    printf("%g\n", sum);
    return 0;
}
