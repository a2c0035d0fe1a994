/* matrices.c — products, LU decomposition, a stencil, bodies that attract each other, all in double; prints results.
 *
 * A whole program with a fixed amount of work and no input; sums are small integers or printed coarsely. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 40, GRID = 48, BODIES = 12 };

typedef struct body {
    double at[3], speed[3], mass;
} body;

static double drawn(uint32_t *x) {
    *x = *x * 1664525u + 1013904223u;
    return (double)(*x >> 20) / 4096;
}

static void multiply(double a[N][N], double b[N][N], double out[N][N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++) sum += a[i][k] * b[k][j];
            out[i][j] = sum;
        }
}

static int pivot_of(double a[N][N], int k) {
    int best = k;
    for (int i = k + 1; i < N; i++)
        if (fabs(a[i][k]) > fabs(a[best][k])) best = i;
    return best;
}

static double decompose(double a[N][N]) {
    double det = 1;
    for (int k = 0; k < N; k++) {
        int p = pivot_of(a, k);
        if (p != k) {
            double row[N];
            memcpy(row, a[k], sizeof row);
            memcpy(a[k], a[p], sizeof row);
            memcpy(a[p], row, sizeof row);
            det = -det;
        }
        det *= a[k][k];
        for (int i = k + 1; i < N; i++) {
            double factor = a[i][k] / a[k][k];
            a[i][k] = factor;
            for (int j = k + 1; j < N; j++) a[i][j] -= factor * a[k][j];
        }
    }
    return det;
}

static double relax(double grid[GRID][GRID], int rounds) {
    static double next[GRID][GRID];
    double change = 0;
    memcpy(next, grid, sizeof next);
    for (int r = 0; r < rounds; r++) {
        change = 0;
        for (int i = 1; i < GRID - 1; i++)
            for (int j = 1; j < GRID - 1; j++) {
                next[i][j] = 0.25 * (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]);
                change += fabs(next[i][j] - grid[i][j]);
            }
        memcpy(grid, next, sizeof next);
    }
    return change;
}

static void attract(body *a, body *b, double dt) {
    double gap[3], square = 0.01;
    for (int k = 0; k < 3; k++) {
        gap[k] = a->at[k] - b->at[k];
        square += gap[k] * gap[k];
    }
    double force = dt / (square * sqrt(square));
    for (int k = 0; k < 3; k++) {
        a->speed[k] -= gap[k] * b->mass * force;
        b->speed[k] += gap[k] * a->mass * force;
    }
}

static double move(body *b, int steps) {
    double energy = 0;
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < BODIES; i++)
            for (int j = i + 1; j < BODIES; j++) attract(&b[i], &b[j], 0.001);
        for (int i = 0; i < BODIES; i++)
            for (int k = 0; k < 3; k++) b[i].at[k] += 0.001 * b[i].speed[k];
    }
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++) energy += 0.5 * b[i].mass * b[i].speed[k] * b[i].speed[k];
    return energy;
}

int main(void) {
    static double a[N][N], b[N][N], c[N][N], grid[GRID][GRID];
    body bodies[BODIES];
    uint32_t x = 5;
    double trace = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = floor(8 * drawn(&x)), b[i][j] = floor(8 * drawn(&x));
    multiply(a, b, c);
    multiply(c, a, b);
    for (int i = 0; i < N; i++) trace += b[i][i];
    double det = decompose(a);
    for (int i = 0; i < GRID; i++) grid[0][i] = 1, grid[i][0] = drawn(&x);
    double change = relax(grid, 30);
    for (int i = 0; i < BODIES; i++) {
        bodies[i].mass = 1 + drawn(&x);
        for (int k = 0; k < 3; k++) bodies[i].at[k] = 4 * drawn(&x), bodies[i].speed[k] = drawn(&x) - 0.5;
    }
    printf("%.0f %.6g %.6g %.6g\n", trace, det, change, move(bodies, 120));
    return 0;
}
