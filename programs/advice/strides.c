/* Columns of rows of 4096 bytes use one set of the first cache: set-conflicts. */
#include <stdio.h>

#define ROWS 64
#define COLUMNS 512

double table[ROWS][COLUMNS];

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
