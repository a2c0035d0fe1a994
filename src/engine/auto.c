/* engine/auto.c — the default: rotates over the models that fit the dimension and the number of observations; with many
 * genes every other point is a mutant of the best. Sometimes a random point, and a large change of the best point when
 * nothing has improved for long. */
#include "engine/model.h"
#include "engine/mutant.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(X)                                                                                                     \
    X(random, 0.00, 0, 1)                                                                                              \
    X(gp_rows, 120, 20, 2000)                                                                                          \
    X(high, 30, 1, 100000)                                                                                             \
    X(mutate, 0.1, 0, 1)
enum { OPTIONS(HN_OPTION_ID) };
static const hn_option options[] = {OPTIONS(HN_OPTION_ROW){0}};

enum { LFBO, FOREST, GP, RIDGE, N_MODELS };
static const hn_surrogate *const models[N_MODELS] = {&hn_model_lfbo, &hn_model_forest, &hn_model_gp, &hn_model_ridge};
enum { STAGNANT = 40, LATE = 500, TRIES = 100, RARE = 12, KICKED = 3, FRONT = 8, MUTANTS = 8, SWEEP = 24 };

typedef struct rotation {
    hn_surrogate_frame frame;
    hn_mutants mutants;
    void *state[N_MODELS];
    double random, mutate;
    size_t gp_rows, high;
} rotation;

typedef void gene_change(const hn_genes *genes, size_t k, hn_rng *rng, double *x);

static void close_auto(void *state) {
    rotation *a = state;
    if (!a) return;
    for (size_t i = 0; i < N_MODELS; i++) models[i]->close(a->state[i]);
    hn_frame_free(&a->frame);
    hn_mutants_free(&a->mutants);
    free(a);
}

static hone_rc open_auto(const hn_view *view, const double *option, void **state, hone_err *err) {
    rotation *a = calloc(1, sizeof *a);
    if (!a) return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'auto'");
    a->random = option[OPT_random];
    a->gp_rows = (size_t)option[OPT_gp_rows];
    a->high = (size_t)option[OPT_high];
    a->mutate = option[OPT_mutate];
    hone_rc rc = hn_frame_open(&a->frame, view, err);
    for (size_t i = 0; !rc && i < N_MODELS; i++) rc = models[i]->open(view, NULL, &a->state[i], err);
    if (rc)
        close_auto(a);
    else
        *state = a;
    return rc;
}

static size_t choose_model(const rotation *a, const hn_view *v) {
    size_t n = v->history->n_told, turn = v->n_asked % 3;
    if (v->genes->n_free > a->high) return v->n_asked % RARE == 1 ? FOREST : RIDGE;
    if (n > LATE) return LFBO;
    if (turn == 2 && v->history->n <= a->gp_rows) return GP;
    return turn == 1 ? FOREST : LFBO;
}

/* Results told since the best was found; only with one objective. */
static size_t since_best(const hn_history *h) {
    size_t best = 0;
    for (size_t i = 1; i < h->n; i++)
        if (hn_row_feasible(h, i) && (!hn_row_feasible(h, best) || h->y[i * h->m] < h->y[best * h->m])) best = i;
    return h->m == 1 && h->n ? h->n - 1 - best : 0;
}

/* Sets a gene to any of its values; for a number with many, one of the ends of its range or a few between. */
static void set_any_value(const hn_genes *genes, size_t k, hn_rng *rng, double *x) {
    hn_genes_leap(genes, k, (size_t)hn_rng_below(rng, hn_genes_n_leaps(genes, k)), rng, x);
}

/* The best (of several objectives: one of the best few) with `least` to `most` of its genes changed at once. */
static bool change_best(const rotation *a, const hn_view *v, gene_change *change, size_t least, size_t most,
                        hn_rng *rng, double *point) {
    const hn_sample *s = &a->frame.sample;
    const hn_genes *genes = v->genes;
    if (!s->n_feasible || s->n_told > v->history->n || !genes->n_free) return false;
    for (int i = 0; i < TRIES; i++) {
        size_t front = s->n_feasible < FRONT ? s->n_feasible : FRONT;
        size_t from = v->history->m > 1 ? (size_t)hn_rng_below(rng, front) : 0;
        memcpy(point, hn_sample_point(s, v, s->order[from]), genes->slots * sizeof *point);
        for (size_t n = least + (size_t)hn_rng_below(rng, most - least + 1); n; n--)
            change(genes, genes->free_gene[hn_rng_below(rng, genes->n_free)], rng, point);
        hn_genes_settle(genes, point);
        if (!hn_view_legal(v, point) && hone_point_repair(v->space, hn_rng_next(rng), point, NULL)) continue;
        if (hn_view_fresh(v, point)) return true;
    }
    return false;
}

/* Every other turn with hundreds of genes. Most do nothing to one program, some harm, and few help, or only together:
 * changing up to a tenth at once and keeping what gained (a (1+1) evolution strategy) found as much as any model, and
 * the model on the other turns learns from points near the best. Choosing among mutants by a model was no better. */
static bool mutant_turn(const rotation *a, const hn_view *v) {
    return v->genes->n_free > HN_HIGH_DIMENSION && a->mutate > 0 && v->n_asked % 2 == 0;
}

/* Into the pool: mutants of the best (of several objectives: of one of the best few) in the genes that do something;
 * none where nothing is known of the best point's program. */
static hone_rc offer_active(rotation *a, const hn_view *v, double most, bool sweep, hn_rng *rng, double *point,
                            hone_err *err) {
    const hn_sample *s = &a->frame.sample;
    hn_pool *pool = &a->frame.pool;
    if (!s->n_feasible || s->n_told > v->history->n) return HONE_OK;
    size_t front = s->n_feasible < FRONT ? s->n_feasible : FRONT;
    size_t at = s->order[v->history->m > 1 ? (size_t)hn_rng_below(rng, front) : 0];
    if (at >= s->n_told) return HONE_OK;
    bool any;
    hone_rc rc = hn_mutants_list(&a->mutants, v, s->row[at], sweep, rng, point, &any, err);
    if (rc || !any) return rc;
    for (int i = 0; i < TRIES && pool->n < MUTANTS; i++) {
        memcpy(point, hn_row(v->history, s->row[at]), v->genes->slots * sizeof *point);
        if (sweep)
            hn_mutants_sweep(&a->mutants, v, rng, point);
        else
            hn_mutants_draw(&a->mutants, v, fmin(most * hn_rng_unit(rng), a->mutants.total / 2), rng, point);
        hn_genes_settle(v->genes, point);
        if (!hn_view_legal(v, point) && hone_point_repair(v->space, hn_rng_next(rng), point, NULL)) continue;
        if (sweep || !hn_active_seen(v->active, v->genes, point)) hn_pool_offer(pool, v, point);
    }
    return HONE_OK;
}

/* The first of a few mutants that is not predicted to fail. */
static hone_rc ask_mutant(rotation *a, const hn_view *v, bool sweep, hn_rng *rng, double *point, bool *done,
                          hone_err *err) {
    hn_pool *pool = &a->frame.pool;
    double most = a->mutate * (double)v->genes->n_free;
    size_t share = (size_t)most, first = 0;
    float score[MUTANTS] = {0};
    hone_rc rc = hn_pool_clear(pool, v, MUTANTS, err);
    if (!rc) rc = offer_active(a, v, most * HN_ACTIVE_PRIOR, sweep, rng, point, err);
    if (rc) return rc;
    for (size_t i = 0; !pool->n && i < MUTANTS && change_best(a, v, set_any_value, 1, share ? share : 1, rng, point);
         i++)
        hn_pool_offer(pool, v, point);
    rc = hn_feasible_penalize(&a->frame.feasible, v, &a->frame.sample, pool, rng, score, err);
    if (rc) return rc;
    while (first < pool->n && score[first] < 0) first++;
    *done = first < pool->n;
    if (*done) memcpy(point, pool->x + first * pool->slots, pool->slots * sizeof *point);
    return HONE_OK;
}

/* Asks for a large change or a mutant of the best when one is due; else sets *done to false. */
static hone_rc ask_near_best(rotation *a, const hn_view *v, hn_rng *rng, double *point, const char **origin, bool *done,
                             hone_err *err) {
    size_t since = since_best(v->history);
    bool stagnant = since >= STAGNANT && since >= 3 * v->genes->n_free && v->n_asked % 10 == 0;
    *done = false;
    if (!stagnant && !mutant_turn(a, v)) return HONE_OK;
    hone_rc rc = hn_sample_update(&a->frame.sample, v, a->frame.max_rows, rng, err);
    if (rc) return rc;
    bool sweep = v->active->n_coded && v->n_asked % SWEEP == 0;
    *origin = stagnant ? "kick" : sweep ? "sweep" : "mutant";
    if (!stagnant) return ask_mutant(a, v, sweep, rng, point, done, err);
    *done = change_best(a, v, hn_genes_mutate, KICKED, KICKED, rng, point);
    return HONE_OK;
}

static hone_rc ask_auto(void *state, const hn_view *view, hn_rng *rng, double *point, const char **origin,
                        hone_err *err) {
    rotation *a = state;
    bool done;
    hone_rc rc = hn_frame_init(&a->frame, view, rng, point, &done, err);
    if (rc || !done) {
        *origin = "init";
        return rc;
    }
    if (hn_rng_unit(rng) < a->random) {
        *origin = "random";
        return hn_view_draw_fresh(view, rng, false, TRIES, point, err);
    }
    rc = ask_near_best(a, view, rng, point, origin, &done, err);
    if (rc || done) return rc;
    size_t m = choose_model(a, view);
    *origin = models[m]->name;
    return hn_frame_ask(&a->frame, models[m], a->state[m], view, rng, point, err);
}

const hn_engine hn_engine_auto = {
    .version = HN_ENGINE_VERSION,
    .name = "auto",
    .summary = "rotates over the models that fit the dimension and the number of observations",
    .options = HN_OPTIONS_TEXT(OPTIONS),
    .option = options,
    .open = open_auto,
    .ask = ask_auto,
    .close = close_auto,
};
