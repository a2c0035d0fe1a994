/* engine/ridge.c — hundreds of controls: each gene's level has its own effect on the log cost, effects add up. A draw
 * from the posterior of the effects (Thompson 1933; Russo et al. 2018) is minimised gene by gene, and the result
 * competes with the pool's candidates under the same draw. The draw is tempered: with hundreds of effects a full one
 * is mostly noise, and a quarter of its deviation found much better points in the same number of evaluations. */
#include "engine/bayes.h"
#include "engine/model.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(X)                                                                                                     \
    X(levels, 8, 2, 62)                                                                                                \
    X(temper, 0.25, 0, 4)                                                                                              \
    X(rows, 1000, 50, 4000)
enum { OPTIONS(HN_OPTION_ID) };
static const hn_option options[] = {OPTIONS(HN_OPTION_ROW){0}};

enum { FIRST_NOISE = 16, N_NOISE = 4, MIXES = 24 };
/* Noise relative to one weight's variance: how much of the cost is not additive. */
static const double noise_grid[N_NOISE] = {0.3, 3, 30, 300};

typedef struct ridge {
    hn_bayes *bayes;
    size_t genes, levels, max_rows;
    double temper;
    unsigned char *x; /* coarse codes of the sample */
    size_t room, fitted, base, noise_at;
    uint64_t epoch;
    double noise;
    float *weight;
    double *best; /* a point */
} ridge;

static void close_model(void *state) {
    ridge *r = state;
    if (!r) return;
    hn_bayes_free(r->bayes);
    free(r->x);
    free(r->weight);
    free(r->best);
    free(r);
}

static hone_rc open_model(const hn_view *view, const double *option, void **state, hone_err *err) {
    double dflt[] = {OPTIONS(HN_OPTION_DEFAULT)};
    if (!option) option = dflt;
    ridge *r = calloc(1, sizeof *r);
    if (!r) return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'ridge'");
    r->genes = view->genes->n_free;
    r->levels = (size_t)option[OPT_levels] + 1; /* the last one: absent */
    r->temper = option[OPT_temper];
    r->max_rows = (size_t)option[OPT_rows];
    r->noise = noise_grid[1];
    r->weight = malloc((r->genes * r->levels + 1) * sizeof *r->weight);
    r->best = malloc((view->genes->slots + 1) * sizeof *r->best);
    hone_rc rc = HONE_OK;
    if (!r->weight || !r->best) rc = hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'ridge'");
    if (!rc) rc = hn_bayes_new(r->genes, r->levels, &r->bayes, err);
    if (rc)
        close_model(r);
    else
        *state = r;
    return rc;
}

/* Levels, at most `levels - 1` of them (ordered ones share a bin with their neighbours), and absent. */
static unsigned char coarse(const ridge *r, const hn_gene *g, unsigned char code) {
    size_t bins = r->levels - 1;
    if (code == HN_ABSENT) return (unsigned char)bins;
    size_t n = g->n_levels && g->n_levels <= HN_ABSENT ? g->n_levels : HN_ABSENT;
    if (n <= bins) return code;
    return (unsigned char)(g->ordered ? code * bins / n : code % bins);
}

static void coarse_row(const ridge *r, const hn_genes *genes, const unsigned char *code, unsigned char *out) {
    for (size_t k = 0; k < r->genes; k++) {
        size_t i = genes->free_gene[k];
        out[k] = coarse(r, &genes->gene[i], code[i]);
    }
}

static float additive(const ridge *r, const unsigned char *x) {
    float sum = 0;
    for (size_t k = 0; k < r->genes; k++) sum += r->weight[k * r->levels + x[k]];
    return sum;
}

/* --- fitting --------------------------------------------------------------------------------------------------- */

static hone_rc make_room(ridge *r, size_t n, hone_err *err) {
    if (n <= r->room) return HONE_OK;
    free(r->x);
    r->fitted = 0;
    r->room = n + n / 2 + 32;
    r->x = malloc(r->room * (r->genes + 1));
    if (r->x) return HONE_OK;
    r->room = 0;
    return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'ridge'");
}

/* The likeliest noise on the first rows of the history, chosen anew when there are half as many again. */
static hone_rc choose_noise(ridge *r, const hn_view *v, size_t n, hone_err *err) {
    size_t at = FIRST_NOISE;
    while (at + at / 2 <= n) at += at / 2;
    if (n < at || at == r->noise_at) return HONE_OK;
    hn_sample s = {0};
    hone_rc rc = hn_sample_prefix(&s, v, at, r->max_rows, err);
    if (!rc) rc = make_room(r, s.n + 1, err);
    double best = -INFINITY, chosen = r->noise;
    for (size_t i = 0; !rc && i < s.n; i++) coarse_row(r, v->genes, s.code + i * s.n_features, r->x + i * r->genes);
    for (size_t i = 0; !rc && i < N_NOISE; i++) {
        rc = hn_bayes_fit(r->bayes, r->x, s.n, 0, noise_grid[i], err);
        double e = rc ? 0 : hn_bayes_evidence(r->bayes, s.target, NULL);
        if (e > best) best = e, chosen = noise_grid[i];
    }
    hn_sample_free(&s);
    r->noise = chosen;
    r->noise_at = at;
    r->fitted = 0;
    return rc;
}

static hone_rc fit(ridge *r, const hn_view *v, const hn_sample *s, hone_err *err) {
    hone_rc rc = make_room(r, s->n + 1, err);
    if (rc) return rc;
    if (r->base != s->base || r->epoch != v->history->epoch) r->fitted = 0;
    if (r->epoch != v->history->epoch) r->noise_at = 0;
    r->epoch = v->history->epoch;
    rc = choose_noise(r, v, v->history->n < r->max_rows ? v->history->n : r->max_rows, err);
    for (size_t i = r->fitted; i < s->n; i++) coarse_row(r, v->genes, s->code + i * s->n_features, r->x + i * r->genes);
    if (!rc) rc = hn_bayes_fit(r->bayes, r->x, s->n, r->fitted, r->noise, err);
    r->fitted = rc ? 0 : s->n_told;
    r->base = s->base;
    return rc;
}

/* --- proposing ------------------------------------------------------------------------------------------------- */

/* Sets a gene to the level with the least weight among all its moves. */
static void best_level(const ridge *r, const hn_view *v, size_t k, hn_rng *rng, double *x) {
    size_t i = v->genes->free_gene[k], n = hn_genes_n_moves(v->genes, i, x);
    const hn_gene *g = &v->genes->gene[i];
    const float *w = r->weight + k * r->levels;
    unsigned char code[1];
    double keep = x[g->slot], chosen = keep;
    hn_genes_code_one(v->genes, i, x, code);
    float least = w[coarse(r, g, *code)];
    if (g->kind == HONE_PERMUTATION) return; /* items move together: left to the pool */
    for (size_t j = 0; j < n; j++) {
        x[g->slot] = keep;
        hn_genes_move(v->genes, i, j, rng, x);
        hn_genes_code_one(v->genes, i, x, code);
        float cost = w[coarse(r, g, *code)];
        if (cost < least) least = cost, chosen = x[g->slot];
    }
    x[g->slot] = chosen;
}

/* The minimiser of the draw, and mixtures of it with the best points: legal ones compete in the pool. */
static void propose(ridge *r, const hn_view *v, const hn_sample *s, hn_pool *pool, hn_rng *rng) {
    double *x = pool->work;
    for (size_t m = 0; m < MIXES; m++) {
        const double *from =
            m && s->n_feasible
                ? hn_sample_point(s, v, s->order[hn_rng_below(rng, s->n_feasible < 5 ? s->n_feasible : 5)])
            : s->n_feasible ? hn_sample_point(s, v, s->order[0])
                            : v->start;
        double share = m ? hn_rng_unit(rng) : 1;
        memcpy(x, from, pool->slots * sizeof *x);
        for (size_t k = 0; k < r->genes; k++)
            if (share >= 1 || hn_rng_unit(rng) < share) best_level(r, v, k, rng, x);
        hn_genes_settle(v->genes, x);
        if (!hn_view_legal(v, x) && hone_point_repair(v->space, hn_rng_next(rng), x, NULL)) continue;
        if (hn_pool_offer(pool, v, x) && !m && !v->config->legal) break;
    }
}

static hone_rc score(void *state, const hn_view *view, const hn_sample *s, hn_pool *pool, hn_rng *rng, float *out,
                     hone_err *err) {
    ridge *r = state;
    hone_rc rc = fit(r, view, s, err);
    if (rc) return rc;
    double amplitude;
    hn_bayes_evidence(r->bayes, s->target, &amplitude);
    hn_bayes_weights(r->bayes, s->target, r->temper > 0 ? rng : NULL, sqrt(amplitude) * r->temper, r->weight);
    propose(r, view, s, pool, rng);
    unsigned char *x = r->x + (r->room - 1) * r->genes; /* the last row is scratch: room > n */
    for (size_t i = 0; i < pool->n; i++) {
        coarse_row(r, view->genes, pool->code + i * pool->n_features, x);
        out[i] = -additive(r, x);
    }
    return HONE_OK;
}

const hn_model hn_model_ridge = {"ridge", open_model, score, close_model};

static hone_rc open_ridge(const hn_view *view, const double *option, void **state, hone_err *err) {
    hone_rc rc = hn_single_open(&hn_model_ridge, view, option, state, err);
    if (!rc) ((hn_single *)*state)->frame.max_rows = (size_t)option[OPT_rows];
    return rc;
}

const hn_engine hn_engine_ridge = {
    .version = HN_ENGINE_VERSION,
    .name = "ridge",
    .summary = "additive Bayesian ridge regression with Thompson sampling, for hundreds of controls",
    .options = HN_OPTIONS_TEXT(OPTIONS),
    .option = options,
    .open = open_ridge,
    .ask = hn_single_ask,
    .close = hn_single_close,
};
