/* The library that dl_main.c opens while it runs: 100 cells of its own, and a function on them. */

enum { CELLS = 100 };

volatile unsigned library_cells[CELLS];

void library_work(int rounds);

void library_work(int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < CELLS; i++)
            library_cells[i] = library_cells[i] + 1;
}
