/* engine/ridge.c — hundreds of controls: each gene's level has its own effect on the log cost, effects add up. A draw
 * from the posterior of the effects (Thompson 1933; Russo et al. 2018) is minimised gene by gene, from a good point.
 * The draw is tempered: with hundreds of effects a full one is mostly noise, and a quarter of its deviation found much
 * better points in the same number of evaluations. */
#include "engine/active.h"
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

enum { FIRST_NOISE = 16, N_NOISE = 4, TRIES = 24, ELITE = 5 };
static const double WORST = 0.7;
/* Lower than the score of the model's own proposal, which is preferred if it exists. */
static const float SPARE = -1e6f;
/* Noise relative to one weight's variance: how much of the cost is not additive. */
static const double noise_grid[N_NOISE] = {0.3, 3, 30, 300};

/* A gene's best level under the draw, and its predicted gain over the point's present level. */
typedef struct step {
    double value;
    float gain;
    uint32_t gene;
} step;

typedef struct ridge {
    hn_bayes *bayes;
    size_t genes, levels, max_rows;
    double temper;
    unsigned char *x; /* coarse codes of the sample */
    float *y;         /* its targets, cut */
    size_t room, fitted, base, noise_at;
    uint64_t epoch;
    double noise;
    float *weight;
    step *step; /* genes */
} ridge;

static void close_model(void *state) {
    ridge *r = state;
    if (!r) return;
    hn_bayes_free(r->bayes);
    free(r->x);
    free(r->y);
    free(r->weight);
    free(r->step);
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
    r->step = malloc((r->genes + 1) * sizeof *r->step);
    hone_rc rc = HONE_OK;
    if (!r->weight || !r->step) rc = hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'ridge'");
    if (!rc) rc = hn_bayes_new(r->genes, r->levels, &r->bayes, err);
    if (rc)
        close_model(r);
    else
        *state = r;
    return rc;
}

/* Levels, at most `levels - 1` of them (ordered ones share a bin with their neighbours), and absent. */
static unsigned char coarse(const ridge *r, const hn_feature *g, unsigned char code) {
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
    free(r->y);
    r->fitted = 0;
    r->room = n + n / 2 + 32;
    r->x = malloc(r->room * (r->genes + 1));
    r->y = malloc(r->room * sizeof *r->y);
    if (r->x && r->y) return HONE_OK;
    r->room = 0;
    return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'ridge'");
}

static int by_value(const void *a, const void *b) {
    float p = *(const float *)a, q = *(const float *)b;
    return (p > q) - (p < q);
}

static void standardise(float *y, size_t n) {
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) sum += y[i], square += (double)y[i] * y[i];
    double mean = sum / (double)n, var = square / (double)n - mean * mean, sd = var > 0 ? sqrt(var) : 1;
    for (size_t i = 0; i < n; i++) y[i] = (float)((y[i] - mean) / sd);
}

/* The targets, the worst of them cut down to the WORST quantile: a few controls can make a program ten times as large
 * or slow, and its squares would hide the effects of the others near the best. */
static hone_rc cut_targets(ridge *r, const hn_sample *s, hone_err *err) {
    hone_rc rc = make_room(r, s->n + 1, err);
    if (rc || !s->n) return rc;
    memcpy(r->y, s->target, s->n * sizeof *r->y);
    qsort(r->y, s->n, sizeof *r->y, by_value);
    float most = r->y[(size_t)(WORST * (double)(s->n - 1))];
    for (size_t i = 0; i < s->n; i++) r->y[i] = s->target[i] < most ? s->target[i] : most;
    standardise(r->y, s->n);
    return HONE_OK;
}

/* The likeliest noise on the first rows of the history, chosen anew when there are half as many again. */
static hone_rc choose_noise(ridge *r, const hn_view *v, size_t n, hone_err *err) {
    size_t at = FIRST_NOISE;
    while (at + at / 2 <= n) at += at / 2;
    if (n < at || at == r->noise_at) return HONE_OK;
    hn_sample s = {0};
    hone_rc rc = hn_sample_prefix(&s, v, at, r->max_rows, err);
    if (!rc) rc = cut_targets(r, &s, err);
    double best = -INFINITY, chosen = r->noise;
    for (size_t i = 0; !rc && i < s.n; i++) coarse_row(r, v->genes, s.code + i * s.n_features, r->x + i * r->genes);
    for (size_t i = 0; !rc && i < N_NOISE; i++) {
        rc = hn_bayes_fit(r->bayes, r->x, s.n, 0, noise_grid[i], err);
        double e = rc ? 0 : hn_bayes_evidence(r->bayes, r->y, NULL);
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
    if (!rc) rc = cut_targets(r, s, err);
    r->fitted = rc ? 0 : s->n_told;
    r->base = s->base;
    return rc;
}

/* --- proposing ------------------------------------------------------------------------------------------------- */

static int by_gain(const void *a, const void *b) {
    const step *p = a, *q = b;
    return p->gain != q->gain ? (p->gain > q->gain ? -1 : 1) : p->gene < q->gene ? -1 : p->gene > q->gene;
}

static step best_level(const ridge *r, const hn_view *v, size_t k, const uint64_t *class, hn_rng *rng, double *x) {
    size_t i = v->genes->free_gene[k], n = hn_genes_n_leaps(v->genes, i);
    const hn_feature *g = &v->genes->gene[i];
    const float *w = r->weight + k * r->levels;
    unsigned char code[1];
    double keep = x[g->slot];
    step best = {keep, 0, (uint32_t)i};
    hn_genes_code_one(v->genes, i, x, code);
    float own = w[coarse(r, g, *code)];
    if (g->kind == HONE_PERMUTATION) return best; /* items move together: left to the pool */
    for (size_t j = 0; j < n; j++) {
        x[g->slot] = keep;
        hn_genes_leap(v->genes, i, j, rng, x);
        hn_genes_code_one(v->genes, i, x, code);
        if (class && hn_active_cleared(class, i, *code)) continue;
        float gain = own - w[coarse(r, g, *code)];
        if (gain > best.gain) best.gain = gain, best.value = x[g->slot];
    }
    x[g->slot] = keep;
    if (class) best.gain *= hn_active_chance(v->active, i);
    return best;
}

/* Steps of a random `share` of the genes with a predicted gain from x, the largest gain first. */
static size_t list_steps(ridge *r, const hn_view *v, double share, const uint64_t *class, hn_rng *rng, double *x) {
    size_t n = 0;
    for (size_t k = 0; k < r->genes; k++) {
        if (hn_rng_unit(rng) >= share) continue;
        step t = best_level(r, v, k, class, rng, x);
        if (t.gain > 0) r->step[n++] = t;
    }
    qsort(r->step, n, sizeof *r->step, by_gain);
    return n;
}

/* One point for the pool: the most promising steps of a random share of the genes from a good point, sometimes few
 * steps and sometimes all, as effects add up only so far. The best of many such points under the same draw did worse:
 * it is the greediest of them, and always much the same. */
static void propose(ridge *r, const hn_view *v, const hn_sample *s, hn_pool *pool, hn_rng *rng) {
    static const size_t limits[] = {1, 3, 8, 20, 60, SIZE_MAX};
    size_t limit = limits[hn_rng_below(rng, sizeof limits / sizeof *limits)];
    size_t elite = s->n_feasible < ELITE ? s->n_feasible : ELITE;
    double *x = pool->work;
    for (size_t i = 0; i < TRIES; i++) {
        size_t rank = hn_rng_next(rng) & 1 ? 0 : (size_t)hn_rng_below(rng, ELITE);
        size_t at = elite ? s->order[rank % elite] : SIZE_MAX;
        const double *from = elite ? hn_sample_point(s, v, at) : v->start;
        const uint64_t *class = at < s->n_told ? hn_active_class(v->active, v->history->code[s->row[at]]) : NULL;
        memcpy(x, from, pool->slots * sizeof *x);
        size_t n = list_steps(r, v, 0.3 + 0.7 * hn_rng_unit(rng), class, rng, x);
        double done = 0;
        for (size_t k = 0; k < n && done < (double)limit; k++) {
            x[v->genes->gene[r->step[k].gene].slot] = r->step[k].value;
            done += class ? hn_active_chance(v->active, r->step[k].gene) / HN_ACTIVE_PRIOR : 1;
        }
        hn_genes_settle(v->genes, x);
        if (!hn_view_legal(v, x) && hone_point_repair(v->space, hn_rng_next(rng), x, NULL)) continue;
        if (i + 1 < TRIES && hn_active_seen(v->active, v->genes, x)) continue;
        if (hn_pool_offer(pool, v, x)) return;
    }
}

static hone_rc score(void *state, const hn_view *view, const hn_sample *s, hn_pool *pool, hn_rng *rng, float *out,
                     hone_err *err) {
    ridge *r = state;
    hone_rc rc = fit(r, view, s, err);
    if (rc) return rc;
    double amplitude;
    hn_bayes_evidence(r->bayes, r->y, &amplitude);
    hn_bayes_weights(r->bayes, r->y, r->temper > 0 ? rng : NULL, sqrt(amplitude) * r->temper, r->weight);
    size_t n_pool = pool->n;
    propose(r, view, s, pool, rng);
    unsigned char *x = r->x + (r->room - 1) * r->genes; /* the last row is scratch: room > n */
    for (size_t i = 0; i < pool->n; i++) {
        coarse_row(r, view->genes, pool->code + i * pool->n_features, x);
        out[i] = -additive(r, x) + (i < n_pool ? SPARE : 0);
    }
    return HONE_OK;
}

const hn_surrogate hn_model_ridge = {"ridge", false, OPT_rows, open_model, score, close_model};
HN_MODEL_ENGINE(ridge, "additive Bayesian ridge regression with Thompson sampling, for hundreds of controls")
