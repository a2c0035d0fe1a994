/* prove/compare.c — views and their intervals. */
#include "prove/compare.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { RESAMPLES = 1000 };

double hn_gain_of(const hn_goal *g, double z) { return g->plain ? 1 + z : exp(z); }
double hn_margin_of(const hn_goal *g, double min_gain) { return g->plain ? min_gain : log1p(min_gain); }

/* --- views -------------------------------------------------------------------------------------------------------- */

static double side_of(const hn_goal *g, const double *value, const double *weight, size_t n) {
    double sum = 0, total = 0;
    for (size_t i = 0; i < n; i++) {
        if (weight[i] == 0) continue;
        sum += weight[i] * (g->plain ? value[i] : log(value[i]));
        total += weight[i];
    }
    return g->plain ? sum / total : exp(sum / total);
}

hn_series_view hn_view_of(const hn_goal *g, const hn_series *s, const double *weight, hn_arena *a) {
    hn_series_view v = {.n = s->n, .variant = s->variant};
    v.z = HN_NEW_N(a, double, s->n);
    v.baseline = HN_NEW_N(a, double, s->n);
    v.tuned = HN_NEW_N(a, double, s->n);
    if (!hn_arena_ok(a)) return (hn_series_view){0};
    for (size_t r = 0; r < s->n; r++) {
        v.baseline[r] = side_of(g, s->baseline + r * s->n_inputs, weight, s->n_inputs);
        v.tuned[r] = side_of(g, s->tuned + r * s->n_inputs, weight, s->n_inputs);
    }
    double size = g->plain && s->n ? fabs(hone_stat_median(v.baseline, s->n)) : 1;
    for (size_t r = 0; r < s->n; r++) {
        double z = g->plain ? (v.baseline[r] - v.tuned[r]) / (size > 0 ? size : 1) : log(v.baseline[r] / v.tuned[r]);
        v.z[r] = g->maximize ? -z : z;
    }
    return v;
}

/* --- any statistic, resampled ------------------------------------------------------------------------------------- */

/* Rows by cluster: row[first[c]] … row[first[c + 1] - 1]. */
typedef struct clusters {
    size_t n, *first, *row;
} clusters;

static clusters find_clusters(const hn_series_view *v, hn_arena *a) {
    clusters c = {.first = HN_NEW_N(a, size_t, v->n + 1), .row = HN_NEW_N(a, size_t, v->n)};
    if (!hn_arena_ok(a)) return (clusters){0};
    for (size_t r = 0, filled = 0; r < v->n; r++) {
        bool seen = false;
        for (size_t k = 0; k < r && !seen; k++) seen = v->variant[k] == v->variant[r];
        if (seen) continue;
        for (size_t k = r; k < v->n; k++)
            if (v->variant[k] == v->variant[r]) c.row[filled++] = k;
        c.first[++c.n] = filled;
    }
    return c;
}

/* Draws clusters, then rows within each, with replacement; gives the number of rows. The buffers hold n_most rows. */
static size_t draw(const hn_series_view *v, bool plain, const clusters *c, double *b, double *t, size_t n_most,
                   hn_rng *rng) {
    size_t n = 0;
    for (size_t k = 0; k < c->n; k++) {
        size_t at = (size_t)hn_rng_below(rng, c->n), first = c->first[at], size = c->first[at + 1] - first;
        for (size_t i = 0; i < size && n < n_most; i++, n++) {
            size_t r = c->row[first + (size_t)hn_rng_below(rng, size)];
            b[n] = plain ? v->baseline[r] : log(v->baseline[r]);
            t[n] = plain ? v->tuned[r] : log(v->tuned[r]);
        }
    }
    return n;
}

hone_interval hn_resampled(const hn_series_view *v, bool plain, hn_statistic of, double alpha, uint64_t seed,
                           hn_arena *a) {
    hn_mark mark = hn_arena_mark(a);
    clusters c = find_clusters(v, a);
    size_t most = 2 * v->n + 1; /* clusters are of about one size */
    double *b = HN_NEW_N(a, double, most), *t = HN_NEW_N(a, double, most), *seen = HN_NEW_N(a, double, RESAMPLES);
    hone_interval out = {NAN, NAN, NAN};
    if (hn_arena_ok(a) && v->n) {
        hn_rng rng = hn_rng_make(seed, v->n);
        for (size_t r = 0; r < v->n; r++) {
            b[r] = plain ? v->baseline[r] : log(v->baseline[r]);
            t[r] = plain ? v->tuned[r] : log(v->tuned[r]);
        }
        out.mid = of(b, t, v->n); /* may change the buffers */
        for (size_t i = 0; i < RESAMPLES; i++) seen[i] = of(b, t, draw(v, plain, &c, b, t, most, &rng));
        out.lo = hone_stat_percentile(seen, RESAMPLES, 50 * alpha);
        out.hi = hone_stat_percentile(seen, RESAMPLES, 100 - 50 * alpha);
    }
    if (hn_arena_ok(a)) hn_arena_release(a, mark);
    return out;
}
