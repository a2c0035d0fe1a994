/* engine/importance.c — which parameters matter: epsilon squared of Kruskal and Wallis's test (1952), the share of the
 * variance of ranks that a parameter's levels explain, corrected for their number (Tomczak and Tomczak 2014). On ranks,
 * so that outliers and units do not matter; numbers with many levels fall into eight bins of equal size. */
#include "engine/genes.h"

#include "base/err.h"

#include <hone/search.h>
#include <math.h>
#include <stdlib.h>

enum { N_BINS = 8 };

typedef struct ranked {
    double value, rank;
    size_t at;
} ranked;

typedef struct work {
    size_t n;
    ranked *sorted;
    double *rank; /* of the values; sums to n(n + 1) / 2 */
    unsigned char *label;
    double spread; /* sum of squares of the ranks about their mean */
} work;

static int by_value(const void *a, const void *b) {
    double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
    return (x > y) - (x < y);
}

/* Mid-ranks from 1, in w->sorted, in the order of the values. */
static void rank_all(work *w) {
    qsort(w->sorted, w->n, sizeof *w->sorted, by_value);
    for (size_t i = 0, j; i < w->n; i = j) {
        for (j = i + 1; j < w->n && w->sorted[j].value == w->sorted[i].value;) j++;
        for (size_t k = i; k < j; k++) w->sorted[k].rank = 0.5 * (double)(i + 1 + j);
    }
}

static void rank_values(work *w, const double *values) {
    for (size_t i = 0; i < w->n; i++) w->sorted[i] = (ranked){values[i], 0, i};
    rank_all(w);
    double mean = 0.5 * (double)(w->n + 1);
    w->spread = 0;
    for (size_t i = 0; i < w->n; i++) {
        double r = w->sorted[i].rank;
        w->rank[w->sorted[i].at] = r;
        w->spread += (r - mean) * (r - mean);
    }
}

/* Groups of equal level, or bins; absent is a group of its own. */
static void label_gene(work *w, const hn_genes *g, size_t k, const double *points) {
    const hn_feature *f = &g->gene[k];
    bool few = !f->ordered || (f->n_levels > 0 && f->n_levels <= N_BINS);
    for (size_t i = 0; i < w->n; i++) {
        const double *x = points + i * g->slots;
        unsigned char code[1];
        if (few) hn_genes_code_one(g, k, x, code);
        if (few) w->label[i] = code[0];
        double unit = few ? 0 : hn_genes_unit(g, k, x);
        w->sorted[i] = (ranked){isnan(unit) ? 2 : unit, 0, i}; /* absent ones come last */
    }
    if (few) return;
    rank_all(w);
    for (size_t i = 0; i < w->n; i++) {
        const ranked *r = &w->sorted[i];
        w->label[r->at] = r->value > 1 ? HN_ABSENT : (unsigned char)((r->rank - 1) * N_BINS / (double)w->n);
    }
}

static double epsilon_squared(const work *w) {
    double sum[HN_LEVELS] = {0}, count[HN_LEVELS] = {0}, mean = 0.5 * (double)(w->n + 1), between = 0, groups = 0;
    for (size_t i = 0; i < w->n; i++) {
        sum[w->label[i] % HN_LEVELS] += w->rank[i];
        count[w->label[i] % HN_LEVELS]++;
    }
    for (size_t k = 0; k < HN_LEVELS; k++) {
        if (count[k] == 0) continue;
        double d = sum[k] / count[k] - mean;
        between += count[k] * d * d;
        groups++;
    }
    double n = (double)w->n;
    if (groups < 2 || n <= groups || w->spread == 0) return 0;
    double h = (n - 1) * between / w->spread;
    return fmin(fmax((h - groups + 1) / (n - groups), 0), 1);
}

static void share_all(work *w, const hone_space *space, const hn_genes *g, const double *points, double *share) {
    for (size_t i = 0; i < hone_space_n_params(space); i++) share[i] = 0;
    for (size_t k = 0; k < g->n; k++) {
        label_gene(w, g, k, points);
        size_t i = g->gene[k].index;
        share[i] = fmax(share[i], epsilon_squared(w));
    }
}

hone_rc hone_search_importance(const hone_space *space, const double *points, const double *values, size_t n,
                               double *share, hone_err *err) {
    hn_genes *g = NULL;
    hone_rc rc = hn_genes_new(space, &g, err);
    if (rc) return rc;
    work w = {n, malloc((n + 1) * sizeof *w.sorted), malloc((n + 1) * sizeof *w.rank), malloc(n + 1), 0};
    if (w.sorted && w.rank && w.label) {
        rank_values(&w, values);
        share_all(&w, space, g, points, share);
    } else {
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory ranking %zu points", n);
    }
    free(w.sorted);
    free(w.rank);
    free(w.label);
    hn_genes_free(g);
    return rc;
}
