/* Each row goes through all of a vector that is larger than the cache: blocking. */
#include <stdio.h>

#define ROWS 60
#define COLUMNS 12000

double table[ROWS][COLUMNS], vector[COLUMNS], result[ROWS];

int main(void)
{
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            result[row] += table[row][column] * vector[column];
    printf("%g\n", result[7]);
    return 0;
}
