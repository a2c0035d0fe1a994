/* engine/nsga2.c — NSGA-II (Deb et al. 2002): survivors by non-dominated rank, then crowding; binary tournaments,
 * uniform crossover, one mutated gene on average. The survivors are chosen from all that was told when the last
 * generation was complete, which equals the usual parents-and-children selection. */
#include "engine/pool.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define OPTIONS(X)                                                                                                     \
    X(pool, 24, 4, 1000)                                                                                               \
    X(cross, 0.9, 0, 1)
enum { OPTIONS(HN_OPTION_ID) };
static const hn_option options[] = {OPTIONS(HN_OPTION_ROW){0}};

enum { TRIES = 50 };

typedef struct nsga2 {
    size_t pool;
    double cross;
    hn_sample sample;
} nsga2;

static void close_nsga2(void *state) {
    nsga2 *e = state;
    if (!e) return;
    hn_sample_free(&e->sample);
    free(e);
}

static hone_rc open_nsga2(const hn_view *view, const double *option, void **state, hone_err *err) {
    (void)view;
    nsga2 *e = calloc(1, sizeof *e);
    if (!e) return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'nsga2'");
    e->pool = (size_t)option[OPT_pool];
    e->cross = option[OPT_cross];
    *state = e;
    return HONE_OK;
}

static const double *tournament(const nsga2 *e, const hn_view *v, size_t n, hn_rng *rng) {
    size_t a = (size_t)hn_rng_below(rng, n), b = (size_t)hn_rng_below(rng, n);
    return hn_sample_point(&e->sample, v, e->sample.order[a < b ? a : b]);
}

static void vary(const nsga2 *e, const hn_view *v, size_t n, hn_rng *rng, bool force, double *point) {
    const hn_genes *g = v->genes;
    const double *a = tournament(e, v, n, rng), *b = tournament(e, v, n, rng);
    if (hn_rng_unit(rng) < e->cross)
        hn_cross(g, a, b, rng, point);
    else
        memcpy(point, a, g->slots * sizeof *point);
    double rate = 1.0 / (double)(g->n_free ? g->n_free : 1);
    for (size_t k = 0; k < g->n_free; k++)
        if (hn_rng_unit(rng) < rate) hn_genes_step(g, g->free_gene[k], rng, point);
    if (force && g->n_free) hn_genes_mutate(g, g->free_gene[hn_rng_below(rng, g->n_free)], rng, point);
    hn_genes_settle(g, point);
}

static hone_rc ask_nsga2(void *state, const hn_view *view, hn_rng *rng, double *point, const char **origin,
                         hone_err *err) {
    (void)origin;
    nsga2 *e = state;
    if (view->history->n_told < e->pool) return hn_view_draw_fresh(view, rng, true, TRIES * 4, point, err);
    hn_history before = *view->history;
    before.n -= before.n_told % e->pool; /* what is told since belongs to the next generation */
    hn_pending none = {0};
    hn_view then = *view;
    then.history = &before;
    then.pending = &none;
    hone_rc rc = hn_sample_update(&e->sample, &then, 16 * e->pool, rng, err);
    if (rc) return rc;
    size_t n = e->sample.n_feasible < e->pool ? e->sample.n_feasible : e->pool;
    for (size_t i = 0; i < TRIES && n > 1; i++) {
        vary(e, &then, n, rng, i > TRIES / 4, point);
        if (!hn_view_legal(view, point) &&
            (view->config->legal || hone_point_repair(view->space, hn_rng_next(rng), point, NULL)))
            continue;
        if (hn_view_fresh(view, point)) return HONE_OK;
    }
    return hn_view_draw_fresh(view, rng, false, TRIES, point, err);
}

const hn_engine hn_engine_nsga2 = {
    .version = HN_ENGINE_VERSION,
    .name = "nsga2",
    .summary = "non-dominated sorting genetic search for several objectives",
    .options = HN_OPTIONS_TEXT(OPTIONS),
    .option = options,
    .open = open_nsga2,
    .ask = ask_nsga2,
    .close = close_nsga2,
};
