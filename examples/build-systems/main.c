/* The program around the kernel: built with the project's own flags. */
#include <stdio.h>

int kernel_tile(void);
double kernel_sum(const double *x, int rows, int columns);

enum { ROWS = 512, COLUMNS = 512 };
static double x[ROWS * COLUMNS];

int main(void) {
    double sum = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = i % 7;
    for (int k = 0; k < 20; k++) sum += kernel_sum(x, ROWS, COLUMNS);
    fprintf(stderr, "sum %g\n", sum);
    printf("tile %d\n", kernel_tile());
    return 0;
}
