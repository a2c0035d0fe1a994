/* engine/auto.c — the default: rotates over the models that fit the dimension and the number of observations; now and
 * then a random point, and a kick of the best when nothing improved for long. */
#include "engine/model.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(X)                                                                                                     \
    X(random, 0.00, 0, 1)                                                                                              \
    X(gp_rows, 120, 20, 2000)                                                                                          \
    X(high, 30, 1, 100000)
enum { OPTIONS(HN_OPTION_ID) };
static const hn_option options[] = {OPTIONS(HN_OPTION_ROW){0}};

enum { LFBO, FOREST, GP, RIDGE, N_MODELS };
static const hn_model *const models[N_MODELS] = {&hn_model_lfbo, &hn_model_forest, &hn_model_gp, &hn_model_ridge};
enum { STAGNANT = 40, LATE = 500, TRIES = 100, RARE = 12 };

typedef struct rotation {
    hn_frame frame;
    void *state[N_MODELS];
    double random;
    size_t gp_rows, high;
} rotation;

static void close_auto(void *state) {
    rotation *a = state;
    if (!a) return;
    for (size_t i = 0; i < N_MODELS; i++) models[i]->close(a->state[i]);
    hn_frame_free(&a->frame);
    free(a);
}

static hone_rc open_auto(const hn_view *view, const double *option, void **state, hone_err *err) {
    rotation *a = calloc(1, sizeof *a);
    if (!a) return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'auto'");
    a->random = option[OPT_random];
    a->gp_rows = (size_t)option[OPT_gp_rows];
    a->high = (size_t)option[OPT_high];
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

/* Told since the best was found, while there is one objective. */
static size_t since_best(const hn_history *h) {
    size_t best = 0;
    for (size_t i = 1; i < h->n; i++)
        if (hn_row_feasible(h, i) && (!hn_row_feasible(h, best) || h->y[i * h->m] < h->y[best * h->m])) best = i;
    return h->m == 1 && h->n ? h->n - 1 - best : 0;
}

/* Three genes of the best change at once. */
static bool kick(const rotation *a, const hn_view *v, hn_rng *rng, double *point) {
    const hn_sample *s = &a->frame.sample;
    if (!s->n_feasible || s->n_told > v->history->n || !v->genes->n_free) return false;
    for (int i = 0; i < TRIES; i++) {
        memcpy(point, hn_sample_point(s, v, s->order[0]), v->genes->slots * sizeof *point);
        for (int k = 0; k < 3; k++)
            hn_genes_mutate(v->genes, v->genes->free_gene[hn_rng_below(rng, v->genes->n_free)], rng, point);
        hn_genes_settle(v->genes, point);
        if (hn_view_fresh(v, point, NULL)) return true;
    }
    return false;
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
    size_t since = since_best(view->history);
    if (since >= STAGNANT && since >= 3 * view->genes->n_free && view->n_asked % 10 == 0) {
        rc = hn_sample_update(&a->frame.sample, view, a->frame.max_rows, rng, err);
        if (rc) return rc;
        *origin = "kick";
        if (kick(a, view, rng, point)) return HONE_OK;
    }
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
