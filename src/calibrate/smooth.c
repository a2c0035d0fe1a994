/* smooth.c — columns of activations that stand out, divided before they are quantised (Xiao et al., "SmoothQuant",
 * ICML 2023): x_j / s_j times s_j w_j. s_j is a power of two, so that only the quantisation differs.
 *
 * What is chosen is the migration strength with the least expected squared error of the product. A step of x is off by
 * step_x s_j in column j, times the weights; a step of w by step_c, times x_j / s_j; both by step^2 / 12 in the mean.
 */
#include "calibrate/calibrate.h"

#include "base/err.h"

#include <math.h>
#include <string.h>

enum { MOST = 16 }; /* powers of two */

typedef struct weights {
    double *most, *squares; /* by what is summed over */
    double *column;         /* room for the largest of each column */
} weights;

typedef struct place {
    int64_t inner_sum, inner_column, n_columns;
} place;

static place place_of(const hn_operand *s) {
    place p = {1, 1, s->w->dim[s->product.form.axis]};
    for (size_t i = s->product.form.sum + 1; i < s->w->rank; i++) p.inner_sum *= s->w->dim[i];
    for (size_t i = s->product.form.axis + 1; i < s->w->rank; i++) p.inner_column *= s->w->dim[i];
    return p;
}

static void read_weights(const hn_operand *s, place p, weights *w) {
    const float *x = s->w->data;
    for (int64_t i = 0, n = hn_tensor_n(s->w); i < n; i++) {
        double value = fabs((double)x[i]);
        int64_t k = i / p.inner_sum % s->n_columns;
        w->most[k] = fmax(w->most[k], value);
        w->squares[k] += value * value;
    }
}

static double span_after(const hn_operand *s, const int64_t *smooth) {
    double low = 0, high = 0;
    for (int64_t k = 0; k < s->n_columns; k++) {
        low = fmin(low, ldexp(s->low[k], (int)-smooth[k]));
        high = fmax(high, ldexp(s->high[k], (int)-smooth[k]));
    }
    return high - low;
}

static double expected_error(const hn_operand *s, place p, const weights *w, const int64_t *smooth) {
    double step = span_after(s, smooth) / (HN_LEVELS - 1), sum = 0, steps = 0;
    const float *x = s->w->data;
    memset(w->column, 0, (size_t)p.n_columns * sizeof *w->column);
    for (int64_t i = 0, n = hn_tensor_n(s->w); i < n; i++) {
        double value = ldexp(fabs((double)x[i]), (int)smooth[i / p.inner_sum % s->n_columns]);
        double *most = &w->column[i / p.inner_column % p.n_columns];
        *most = fmax(*most, value);
    }
    for (int64_t c = 0; c < p.n_columns; c++) steps += w->column[c] * w->column[c] / (127. * 127.);
    for (int64_t k = 0; k < s->n_columns; k++) {
        double factor = ldexp(1, (int)smooth[k]);
        sum += step * step * factor * factor * w->squares[k];
        sum += steps * s->squares[k] / (double)s->n_rows / (factor * factor);
    }
    return sum / 12;
}

static void strengths(const hn_operand *s, const weights *w, double alpha, int64_t *smooth) {
    for (int64_t k = 0; k < s->n_columns; k++) {
        double most = fmax(-s->low[k], s->high[k]);
        double factor = most > 0 && w->most[k] > 0 ? alpha * log2(most) - (1 - alpha) * log2(w->most[k]) : 0;
        smooth[k] = (int64_t)fmin(fmax(nearbyint(factor), -MOST), MOST);
    }
}

/* What all columns have in common changes nothing: the least is 0. */
static void lower(int64_t *smooth, int64_t n) {
    int64_t least = smooth[0];
    for (int64_t k = 1; k < n; k++) least = smooth[k] < least ? smooth[k] : least;
    for (int64_t k = 0; k < n; k++) smooth[k] -= least;
}

hone_rc hn_smooth_choose(hn_operand *s, hn_arena *a, hone_err *err) {
    static const double strength[] = {.25, .5, .75};
    hn_mark mark = hn_arena_mark(a);
    place p = place_of(s);
    size_t n = (size_t)s->n_columns;
    weights w = {HN_NEW_N(a, double, n), HN_NEW_N(a, double, n), HN_NEW_N(a, double, (size_t)p.n_columns)};
    int64_t *next = HN_NEW_N(a, int64_t, n);
    if (!next || !hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    read_weights(s, p, &w);
    double least = .8 * expected_error(s, p, &w, s->smooth); /* less than a fifth is not worth a longer file */
    for (size_t i = 0; i < sizeof strength / sizeof *strength; i++) {
        strengths(s, &w, strength[i], next);
        lower(next, s->n_columns);
        double e = expected_error(s, p, &w, next);
        if (e < least) least = e, memcpy(s->smooth, next, n * sizeof *next);
    }
    hn_arena_release(a, mark);
    return HONE_OK;
}
