/* sweeps.c in tiles of the vector: each stays in the cache for all rows. */
#include <stdio.h>

#define ROWS 60
#define COLUMNS 12000
#define TILE 1000

double table[ROWS][COLUMNS], vector[COLUMNS], result[ROWS];

int main(void)
{
    for (int tile = 0; tile < COLUMNS; tile += TILE)
        for (int row = 0; row < ROWS; row++)
            for (int column = tile; column < tile + TILE; column++)
                result[row] += table[row][column] * vector[column];
    printf("%g\n", result[7]);
    return 0;
}
