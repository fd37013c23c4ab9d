/* The inner loop goes down a column: loop-order. Rows are no power of two long. */
#include <stdio.h>

#define ROWS 1200
#define COLUMNS 612

double table[ROWS][COLUMNS];

int main(void)
{
    double sum = 0;
    for (int column = 0; column < COLUMNS; column++)
        for (int row = 0; row < ROWS; row++)
            sum += table[row][column];
    printf("%g\n", sum);
    return 0;
}
