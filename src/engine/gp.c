/* engine/gp.c — Gaussian process on mixed genes: ordered genes are one column in 0..1, unordered ones a column per
 * level at distance 1 from each other (Hamming), absence a level of its own; one length scale per gene.
 *
 * Length scales are tuned in a chain: at 10, 20, 30 … observations, each time starting from the last values, on at
 * most TUNE_ROWS rows. The chain depends on the history alone, so a resumed search finds the same ones. */
#include "engine/gpr.h"
#include "engine/model.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(X) X(rows, 300, 20, 2000)
enum { OPTIONS(HN_OPTION_ID) };
static const hn_option options[] = {OPTIONS(HN_OPTION_ROW){0}};

enum { TUNE_EVERY = 10, TUNE_ROWS = 80, TUNE_STEPS = 6, FIRST_STEPS = 20, SURE = 100, MOST_LEVELS = 16 };

typedef struct gp {
    hn_gpr *gpr;
    size_t d, max_rows;
    uint32_t *start;  /* first column of each free gene */
    uint32_t *levels; /* 0: ordered; else columns */
    size_t tuned, fitted, base;
    uint64_t epoch, tuned_epoch;
    float *x, *y, *px, *sd;
    size_t room, proom;
} gp;

static void close_model(void *state) {
    gp *g = state;
    if (!g) return;
    hn_gpr_free(g->gpr);
    free(g->start);
    free(g->levels);
    free(g->x);
    free(g->y);
    free(g->px);
    free(g->sd);
    free(g);
}

static bool may_be_absent(const hn_feature *e) { return e->optional || e->param->when; }

static hone_rc lay_out(gp *g, const hn_genes *genes, hone_err *err) {
    uint16_t *group = malloc((genes->n_free * (MOST_LEVELS + 1) + 1) * sizeof *group);
    g->start = malloc((genes->n_free + 1) * sizeof *g->start);
    g->levels = malloc((genes->n_free + 1) * sizeof *g->levels);
    if (!group || !g->start || !g->levels) {
        free(group);
        return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'gp'");
    }
    for (size_t k = 0; k < genes->n_free; k++) {
        const hn_feature *e = &genes->gene[genes->free_gene[k]];
        size_t n = e->ordered ? 0 : e->n_levels < MOST_LEVELS ? e->n_levels : MOST_LEVELS;
        g->start[k] = (uint32_t)g->d;
        g->levels[k] = (uint32_t)n;
        for (size_t c = 0; c < (n ? n : 1) + may_be_absent(e); c++) group[g->d++] = (uint16_t)k;
    }
    hone_rc rc = hn_gpr_new(g->d, group, genes->n_free, &g->gpr, err);
    free(group);
    return rc;
}

static hone_rc open_model(const hn_view *view, const double *option, void **state, hone_err *err) {
    double dflt[] = {OPTIONS(HN_OPTION_DEFAULT)};
    if (!option) option = dflt;
    gp *g = calloc(1, sizeof *g);
    if (!g) return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'gp'");
    g->max_rows = (size_t)option[OPT_rows];
    hone_rc rc = lay_out(g, view->genes, err);
    if (rc)
        close_model(g);
    else
        *state = g;
    return rc;
}

static void columns(const gp *g, const hn_genes *genes, const double *point, float *out) {
    memset(out, 0, g->d * sizeof *out);
    for (size_t k = 0; k < genes->n_free; k++) {
        const hn_feature *e = &genes->gene[genes->free_gene[k]];
        double u = hn_genes_unit(genes, genes->free_gene[k], point);
        float *to = out + g->start[k], one = 0.70710678f; /* two levels are sqrt(2 * 1/2) = 1 apart */
        if (isnan(u)) {
            if (!g->levels[k]) to[0] = 0.5f;
            if (may_be_absent(e)) to[g->levels[k] ? g->levels[k] : 1] = one;
        } else if (g->levels[k]) {
            to[(size_t)u % g->levels[k]] = one;
        } else {
            to[0] = (float)u;
        }
    }
}

static hone_rc make_room(gp *g, size_t n, size_t pool, hone_err *err) {
    if (n > g->room) {
        g->room = n + n / 2 + 32;
        free(g->x);
        free(g->y);
        g->x = malloc(g->room * (g->d + 1) * sizeof *g->x);
        g->y = malloc(g->room * sizeof *g->y);
        g->fitted = 0;
    }
    if (pool > g->proom) {
        g->proom = pool;
        free(g->px);
        free(g->sd);
        g->px = malloc(pool * (g->d + 1) * sizeof *g->px);
        g->sd = malloc(pool * sizeof *g->sd);
    }
    if (g->x && g->y && g->px && g->sd) return HONE_OK;
    g->room = g->proom = 0;
    return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'gp'");
}

/* One link of the chain: tunes on at most TUNE_ROWS of the rows 0 .. n-1 of the history. */
static hone_rc tune_at(gp *g, const hn_view *v, size_t n, int steps, hone_err *err) {
    hn_sample s = {0};
    hone_rc rc = hn_sample_prefix(&s, v, n, TUNE_ROWS, err);
    for (size_t i = 0; !rc && i < s.n; i++) columns(g, v->genes, hn_sample_point(&s, v, i), g->x + i * g->d);
    if (!rc) rc = hn_gpr_tune(g->gpr, g->x, s.target, s.n, steps, err);
    hn_sample_free(&s);
    g->fitted = 0;
    return rc;
}

static hone_rc tune(gp *g, const hn_view *v, hone_err *err) {
    size_t most = v->history->n < g->max_rows ? v->history->n : g->max_rows;
    if (g->tuned_epoch != v->history->epoch) {
        g->tuned_epoch = v->history->epoch;
        g->tuned = 0;
        hn_gpr_reset(g->gpr);
    }
    hone_rc rc = HONE_OK;
    for (; !rc && g->tuned + TUNE_EVERY <= most; g->tuned += TUNE_EVERY)
        rc = tune_at(g, v, g->tuned + TUNE_EVERY, g->tuned ? TUNE_STEPS : FIRST_STEPS, err);
    return rc;
}

static hone_rc fit(gp *g, const hn_view *v, const hn_sample *s, hone_err *err) {
    size_t same = g->base == s->base && g->epoch == v->history->epoch ? g->fitted : 0;
    for (size_t i = same; i < s->n; i++) columns(g, v->genes, hn_sample_point(s, v, i), g->x + i * g->d);
    memcpy(g->y, s->target, s->n * sizeof *g->y);
    hone_rc rc = hn_gpr_fit(g->gpr, g->x, g->y, s->n, same, err);
    g->fitted = rc ? 0 : s->n_told;
    g->base = s->base;
    g->epoch = v->history->epoch;
    return rc;
}

static int by_value(const void *a, const void *b) {
    float p = *(const float *)a, q = *(const float *)b;
    return p < q ? -1 : p > q;
}

/* The mean that SURE candidates reach: deviations, the expensive part, are computed only for these. */
static float promising(const float *mean, size_t n, float *scratch) {
    memcpy(scratch, mean, n * sizeof *mean);
    qsort(scratch, n, sizeof *scratch, by_value);
    return n ? scratch[n < SURE ? n - 1 : SURE - 1] : 0;
}

static hone_rc score(void *state, const hn_view *view, const hn_sample *s, hn_pool *pool, hn_rng *rng, float *out,
                     hone_err *err) {
    (void)rng;
    gp *g = state;
    hone_rc rc = make_room(g, s->n > TUNE_ROWS ? s->n : TUNE_ROWS, pool->room, err);
    if (!rc) rc = tune(g, view, err);
    if (!rc) rc = fit(g, view, s, err);
    if (rc) return rc;
    for (size_t i = 0; i < pool->n; i++) columns(g, view->genes, pool->x + i * pool->slots, g->px + i * g->d);
    rc = hn_gpr_predict(g->gpr, g->px, pool->n, out, NULL, err);
    if (rc) return rc;
    float best = INFINITY, limit = promising(out, pool->n, g->sd);
    for (size_t i = 0; i < s->n_told; i++)
        if (s->feasible[i] && s->target[i] < best) best = s->target[i];
    for (size_t i = 0; !rc && i < pool->n; i++) {
        bool sure = out[i] <= limit;
        if (sure) rc = hn_gpr_predict(g->gpr, g->px + i * g->d, 1, out + i, g->sd + i, err);
        out[i] = sure && !rc ? hn_log_ei(out[i], g->sd[i], best) : -INFINITY;
    }
    return rc;
}

const hn_surrogate hn_model_gp = {"gp", false, OPT_rows, open_model, score, close_model};
HN_MODEL_ENGINE(gp, "Gaussian process, Matern-5/2 with a length scale per gene, greatest expected improvement is next")
