/* The kernel whose controls are tuned: sums rows of a matrix in tiles. TILE is one of its parameters. */
#ifndef TILE
#define TILE 4
#endif

int kernel_tile(void);
double kernel_sum(const double *x, int rows, int columns);

int kernel_tile(void) { return TILE; }

double kernel_sum(const double *x, int rows, int columns) {
    double sum = 0;
    for (int j0 = 0; j0 < columns; j0 += TILE)
        for (int i = 0; i < rows; i++)
            for (int j = j0; j < j0 + TILE && j < columns; j++) sum += x[i * columns + j];
    return sum;
}
