/* ir/winograd.c — see winograd.h. The points are 0, 1, -1 and infinity for tiles of 2 x 2, and 0, c, -c, 1/c, -1/c and
 * infinity, c = sqrt(2), for 4 x 4: of points that stand in pairs of both signs, whose transforms share their sums,
 * reciprocal ones round best (Alam, Anderson, Barabasz & Gregg, "Winograd convolution for deep neural networks:
 * efficient point selection", TECS 2022). The matrices follow by Toom's and Cook's interpolation, with the factors of
 * the Lagrange polynomials on the side of the windows, which are evaluated in double and rounded once. */
#include "ir/winograd.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { WINDOW = 3, POINTS = HN_WINOGRAD_POINTS, SAMPLES = 12, RESULTS = 32 };
#define C 1.41421356237309504880
#define R 0.70710678118654752440

/* Windows, images and results at the points, in one direction. */
typedef struct matrices {
    double window[POINTS][WINDOW], image[POINTS][POINTS], result[HN_WINOGRAD_TILE_MAX][POINTS];
} matrices;
static const matrices of_2 = {
    .window = {{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    .image = {{-1, 0, 1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
    .result = {{1, 1, 1, 0}, {0, 1, -1, 1}},
};
static const matrices of_4 = {
    .window = {{1, 0, 0},
               {-2. / 3, -2. / 3 * R, -1. / 3},
               {-2. / 3, 2. / 3 * R, -1. / 3},
               {1. / 6, C / 6, 1. / 3},
               {1. / 6, -C / 6, 1. / 3},
               {0, 0, 1}},
    .image = {{1, 0, -2.5, 0, 1, 0},
              {0, -C, -2, R, 1, 0},
              {0, C, -2, -R, 1, 0},
              {0, -R, -0.5, C, 1, 0},
              {0, R, -0.5, -C, 1, 0},
              {0, 1, 0, -2.5, 0, 1}},
    .result = {{1, 1, 1, 1, 1, 0}, {0, R, -R, C, -C, 0}, {0, 0.5, 0.5, 2, 2, 0}, {0, R / 2, -R / 2, 2 * C, -2 * C, 1}},
};
static const matrices *matrices_of(int64_t tile) { return tile == 2 ? &of_2 : &of_4; }

int64_t hn_winograd_tile(const hn_graph *g, const hn_node *n) {
    int64_t points = 0;
    if (n->op != HN_OP_CONV || n->n_in < 3 || !n->in[2]) return 0;
    hn_dim_is_int(g->dims, hn_type_of(g, n->in[2])->dim[1], &points);
    return points == 16 ? 2 : points == 36 ? 4 : 0;
}

/* --- windows --- */
/* One window at all points; those of a panel lie `step` apart. */
static void evaluate(const float *w, int64_t tile, float *to, int64_t step) {
    const matrices *m = matrices_of(tile);
    double half[POINTS][WINDOW] = {{0}};
    for (int64_t i = 0; i < tile + 2; i++)
        for (int k = 0; k < WINDOW * WINDOW; k++) half[i][k % WINDOW] += m->window[i][k / WINDOW] * (double)w[k];
    for (int64_t i = 0; i < tile + 2; i++)
        for (int64_t j = 0; j < tile + 2; j++) {
            double sum = 0;
            for (int k = 0; k < WINDOW; k++) sum += m->window[j][k] * half[i][k];
            to[(i * (tile + 2) + j) * step] = (float)sum;
        }
}

bool hn_winograd_windows(hn_arena *a, const hn_tensor *w, int64_t tile, hn_tensor *out) {
    const int64_t results = w->dim[0], channels = w->dim[1], points = (tile + 2) * (tile + 2);
    const int64_t shape[] = {(results + HN_WINOGRAD_PANEL - 1) / HN_WINOGRAD_PANEL, points, channels,
                             HN_WINOGRAD_PANEL};
    const float *from = w->data;
    if (!hn_tensor_new(a, HONE_F32, 4, shape, out)) return false;
    for (int64_t k = 0; k < results; k++)
        for (int64_t c = 0; c < channels; c++, from += WINDOW * WINDOW)
            evaluate(from, tile,
                     (float *)out->data + (k / HN_WINOGRAD_PANEL * points * channels + c) * HN_WINOGRAD_PANEL +
                         k % HN_WINOGRAD_PANEL,
                     channels * HN_WINOGRAD_PANEL);
    return true;
}

/* --- what it rounds --- */
/* to = m (rows x n) times from (n x columns), in f32. */
static void times(const double *m, int64_t rows, int64_t n, const float *from, int64_t columns, float *to) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            float sum = 0;
            for (int64_t k = 0; k < n; k++) sum += (float)m[i * POINTS + k] * from[k * columns + j];
            to[i * columns + j] = sum;
        }
}
static void turn(const float *from, int64_t rows, int64_t columns, float *to) {
    for (int64_t i = 0; i < rows * columns; i++) to[i % columns * rows + i / columns] = from[i];
}
/* m from m^T (from: n x n; to: rows x rows), the other direction's results transposed, which all uses take alike. */
static void both_ways(const double *m, int64_t rows, int64_t n, const float *from, float *to) {
    float half[POINTS * POINTS], turned[POINTS * POINTS];
    times(m, rows, n, from, n, half);
    turn(half, rows, n, turned);
    times(m, rows, n, turned, rows, half);
    turn(half, rows, rows, to);
}

/* A result of the tile x, [channels, n, n], and result channel k: exactly, and by its evaluations v, [channels, n * n].
 */
static void compare(const hn_tensor *w, const hn_tensor *u, int64_t tile, const float *x, const float *v, int64_t k,
                    double *worst, double *squares) {
    const int64_t channels = w->dim[1], n = tile + 2;
    const float *windows = (const float *)w->data + k * channels * WINDOW * WINDOW;
    const float *at =
        (const float *)u->data + k / HN_WINOGRAD_PANEL * n * n * channels * HN_WINOGRAD_PANEL + k % HN_WINOGRAD_PANEL;
    float sum[POINTS * POINTS] = {0}, got[POINTS * POINTS];
    for (int64_t p = 0; p < n * n; p++)
        for (int64_t c = 0; c < channels; c++) sum[p] += v[c * n * n + p] * at[(p * channels + c) * HN_WINOGRAD_PANEL];
    both_ways(matrices_of(tile)->result[0], tile, n, sum, got);
    for (int64_t i = 0; i < tile * tile; i++) {
        double want = 0;
        for (int64_t c = 0; c < channels; c++)
            for (int64_t t = 0; t < WINDOW * WINDOW; t++)
                want += (double)windows[c * WINDOW * WINDOW + t] *
                        (double)x[c * n * n + (i / tile + t / WINDOW) * n + i % tile + t % WINDOW];
        double gap = fabs((double)got[i] - want);
        if (gap > *worst || isnan(gap)) *worst = gap; /* NaN stays */
        *squares += want * want;
    }
}

double hn_winograd_error(hn_arena *a, const hn_tensor *w, const hn_tensor *windows, int64_t tile) {
    const int64_t channels = w->dim[1], points = (tile + 2) * (tile + 2);
    const int64_t step = (w->dim[0] + RESULTS - 1) / RESULTS;
    hn_mark mark = hn_arena_mark(a);
    float *x = HN_NEW_N(a, float, 2 * channels * points), *v = x ? x + channels * points : NULL;
    hn_rng rng = hn_rng_make(0x77696e6f, 0);
    double worst = 0, squares = 0;
    int64_t n = 0;
    for (int s = 0; s < SAMPLES && x; s++) {
        for (int64_t i = 0; i < channels * points; i++) x[i] = (float)fmax(0, hn_rng_normal(&rng));
        for (int64_t c = 0; c < channels; c++)
            both_ways(matrices_of(tile)->image[0], tile + 2, tile + 2, x + c * points, v + c * points);
        for (int64_t k = s % step; k < w->dim[0]; k += step, n += tile * tile)
            compare(w, windows, tile, x, v, k, &worst, &squares);
    }
    hn_arena_release(a, mark);
    return !x ? (double)INFINITY : squares > 0 ? worst / sqrt(squares / (double)n) : worst;
}
