/* columns.c with its loops exchanged. */
#include <stdio.h>

#define ROWS 1200
#define COLUMNS 612

double table[ROWS][COLUMNS];

int main(void)
{
    double sum = 0;
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            sum += table[row][column];
    printf("%g\n", sum);
    return 0;
}
