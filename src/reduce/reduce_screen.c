/* reduce/reduce_screen.c — which parts matter, all at once: random halves of the parts are measured once each, and the
 * effects read off by regression.
 *
 * Every measurement gives information about every part: 64 of them estimate each effect as precisely as 32 pairs "with
 * it, without it" for each part would (Plackett & Burman 1946). A half is followed by its complement (fold-over, Box &
 * Wilson 1951), so that an interaction of two parts is not mistaken for the effect of a third. Effects enter the model
 * one by one, the most significant first, as there may be more parts than measurements; a part that only works together
 * with another shows half of what both do.
 */
#include "base/err.h"
#include "base/rng.h"
#include "reduce/reduce_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MOST = 64, MODEL_MOST = 24 };
static const double clear_t = 3;

/* --- the design ----------------------------------------------------------------------------------------------------
 */

static bool draw(hn_rng *rng) { return hn_rng_next(rng) >> 63; }

static hone_rc add_row(hn_trials *t, hn_screen *s, const bool *keep, const double *gain, hone_err *err) {
    if (s->n_rows == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        bool **row = HN_NEW_N(t->arena, bool *, room);
        double **gains = HN_NEW_N(t->arena, double *, room);
        if (!row || !gains) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (s->n_rows) memcpy(row, s->row, s->n_rows * sizeof *row);
        if (s->n_rows) memcpy(gains, s->gain, s->n_rows * sizeof *gains);
        s->row = row;
        s->gain = gains;
        s->room = room;
    }
    double *copy = HN_NEW_N(t->arena, double, t->lab->n_gains);
    bool *row = hn_copy_keep(t->arena, keep, t->lab->n);
    if (!copy || !row) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    memcpy(copy, gain, t->lab->n_gains * sizeof *copy);
    s->row[s->n_rows] = row;
    s->gain[s->n_rows++] = copy;
    return HONE_OK;
}

static hone_rc draw_batch(hn_trials *t, const bool *fixed, const bool *open, size_t more, hn_rng *rng, hn_subset **out,
                          hone_err *err) {
    bool *keep = HN_NEW_N(t->arena, bool, t->lab->n + 1);
    if (!keep) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t k = 0; k < more; k++) {
        for (size_t i = 0; i < t->lab->n; i++) keep[i] = !open[i] ? fixed[i] : k & 1 ? !keep[i] : draw(rng);
        hone_rc rc = hn_subset_of(t, keep, &out[k], err);
        if (rc) return rc;
    }
    return HONE_OK;
}

/* One further measurement of each; the whole batch is built at once. */
static hone_rc measure_batch(hn_trials *t, hn_screen *s, hn_subset **batch, size_t n, hone_err *err) {
    hone_rc rc = hn_identify(t, batch, n, err);
    for (size_t i = 0; !rc && i < n; i++) {
        size_t had = batch[i]->n;
        rc = hn_measure_up_to(t, batch[i], had + 1, err);
        if (!rc && batch[i]->n > had && !batch[i]->fails)
            rc = add_row(t, s, batch[i]->keep, batch[i]->gain + had * t->lab->n_gains, err);
    }
    return rc;
}

/* --- the regression ------------------------------------------------------------------------------------------------
 */

/* y = constant + sum of coefficient * (+1 where the part stayed, else -1), over the parts in the model. */
typedef struct model {
    const hn_screen *s;
    size_t part[MODEL_MOST], n;
    double coefficient[MODEL_MOST + 1]; /* the last: the constant */
    double *y, *residual;
    double sigma;
} model;

static double sign_at(const model *m, size_t row, size_t column) {
    if (column == m->n) return 1;
    return m->s->row[row][m->part[column]] ? 1 : -1;
}

/* Normal equations by Cholesky. False when the columns are linearly dependent. */
static bool solve(model *m) {
    size_t p = m->n + 1, rows = m->s->n_rows;
    double a[MODEL_MOST + 1][MODEL_MOST + 1], b[MODEL_MOST + 1];
    for (size_t i = 0; i < p; i++) {
        b[i] = 0;
        for (size_t r = 0; r < rows; r++) b[i] += sign_at(m, r, i) * m->y[r];
        for (size_t j = 0; j <= i; j++) {
            a[i][j] = 0;
            for (size_t r = 0; r < rows; r++) a[i][j] += sign_at(m, r, i) * sign_at(m, r, j);
            for (size_t k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k];
            if (i == j && a[i][i] < 1e-6 * (double)rows) return false;
            a[i][j] = i == j ? sqrt(a[i][i]) : a[i][j] / a[j][j];
        }
    }
    for (size_t i = 0; i < p; i++) {
        for (size_t k = 0; k < i; k++) b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (size_t i = p; i-- > 0;) {
        for (size_t k = i + 1; k < p; k++) b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
    memcpy(m->coefficient, b, p * sizeof *b);
    return true;
}

static void set_residuals(model *m) {
    double sum = 0;
    size_t rows = m->s->n_rows;
    for (size_t r = 0; r < rows; r++) {
        double fit = 0;
        for (size_t i = 0; i <= m->n; i++) fit += m->coefficient[i] * sign_at(m, r, i);
        m->residual[r] = m->y[r] - fit;
        sum += m->residual[r] * m->residual[r];
    }
    double freedom = (double)rows - (double)m->n - 1;
    m->sigma = fmax(sqrt(sum / fmax(freedom, 1)), 1e-9);
}

/* Least squares; then outliers are clipped to three standard deviations (of the other values), and the fit is repeated.
 */
static bool fit(model *m, const double *y) {
    memcpy(m->y, y, m->s->n_rows * sizeof *y);
    for (int pass = 0; pass < 3; pass++) {
        if (!solve(m)) return false;
        set_residuals(m);
        double far = 3 * fmax(hone_stat_mad(m->residual, m->s->n_rows), 1e-9);
        for (size_t r = 0; r < m->s->n_rows; r++) {
            double fitted = m->y[r] - m->residual[r];
            m->y[r] = fmin(fmax(y[r], fitted - far), fitted + far);
        }
    }
    return true;
}

/* t value of one more part on what the model leaves unexplained. */
static double t_of(const model *m, size_t part, double *effect) {
    double sum = 0, n_on = 0, rows = (double)m->s->n_rows, mean = 0, sx = 0;
    for (size_t r = 0; r < m->s->n_rows; r++) n_on += m->s->row[r][part];
    mean = 2 * n_on / rows - 1;
    for (size_t r = 0; r < m->s->n_rows; r++) {
        double x = (m->s->row[r][part] ? 1 : -1) - mean;
        sum += x * m->residual[r];
        sx += x * x;
    }
    if (!(sx > 0)) return *effect = 0;
    *effect = 2 * sum / sx;
    return sum / sqrt(sx) / m->sigma;
}

static bool in_model(const model *m, size_t part) {
    for (size_t i = 0; i < m->n; i++)
        if (m->part[i] == part) return true;
    return false;
}

static void select_parts(model *m, const double *y, const bool *open, size_t n) {
    m->n = 0;
    for (;;) {
        if (!fit(m, y)) { /* the last part added is linearly dependent on the others */
            m->n--;
            fit(m, y);
            return;
        }
        if (m->n == MODEL_MOST || m->n + 8 >= m->s->n_rows) return;
        size_t best = SIZE_MAX;
        double best_t = clear_t, effect;
        for (size_t i = 0; i < n; i++) {
            double x = open[i] && !in_model(m, i) ? fabs(t_of(m, i, &effect)) : 0;
            if (x > best_t) {
                best_t = x;
                best = i;
            }
        }
        if (best == SIZE_MAX) return;
        m->part[m->n++] = best;
    }
}

static void read_effects(const model *m, const bool *open, size_t n, double *effect, double *t) {
    for (size_t i = 0; i < n; i++) {
        effect[i] = t[i] = 0;
        if (open[i] && !in_model(m, i)) t[i] = t_of(m, i, &effect[i]);
    }
    for (size_t i = 0; i < m->n; i++) {
        effect[m->part[i]] = 2 * m->coefficient[i];
        t[m->part[i]] = m->coefficient[i] * sqrt((double)m->s->n_rows) / m->sigma;
    }
}

static hone_rc estimate(const hn_trials *t, hn_screen *s, const bool *open, hone_err *err) {
    size_t n = t->lab->n, rows = s->n_rows;
    double *scratch = malloc((3 * rows + 2 * n + 1) * sizeof *scratch);
    if (!scratch) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    double *y = scratch, *effect = scratch + 3 * rows, *tv = effect + n;
    model m = {.s = s, .y = scratch + rows, .residual = scratch + 2 * rows};
    for (size_t k = 0; k < t->lab->n_gains && rows > 8; k++) {
        for (size_t r = 0; r < rows; r++) y[r] = s->gain[r][k];
        select_parts(&m, y, open, n);
        read_effects(&m, open, n, effect, tv);
        for (size_t i = 0; i < n; i++) {
            if (k == 0) s->effect[i] = effect[i];
            s->sure[i] = k == 0 ? tv[i] : fmax(s->sure[i], tv[i]);
        }
    }
    free(scratch);
    return HONE_OK;
}

hone_rc hn_screen_more(hn_trials *t, hn_screen *s, const bool *fixed, const bool *open, size_t more, uint64_t seed,
                       hone_err *err) {
    hn_subset *batch[BATCH_MOST];
    hn_rng rng = hn_rng_make(seed, 0x5c4ee2u + s->n_rows);
    if (more > BATCH_MOST) more = BATCH_MOST;
    if (!s->effect) s->effect = HN_NEW_N(t->arena, double, t->lab->n + 1);
    if (!s->sure) s->sure = HN_NEW_N(t->arena, double, t->lab->n + 1);
    if (!s->effect || !s->sure) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = draw_batch(t, fixed, open, more, &rng, batch, err);
    if (!rc) rc = measure_batch(t, s, batch, more, err);
    return rc ? rc : estimate(t, s, open, err);
}
