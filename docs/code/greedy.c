/* docs/code/greedy.c — the example engine of docs/how-to-add-an-engine.md: changes one gene of the best point. */
#include "engine/engine_int.h"

#include <string.h>

enum { TRIES = 50 };

static hone_rc open_greedy(const hn_view *view, const double *option, void **state, hone_err *err) {
    (void)view, (void)option, (void)err;
    *state = NULL; /* no memory of earlier asks: everything is in the view */
    return HONE_OK;
}

static const double *best_row(const hn_history *h) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < h->n; i++)
        if (hn_row_feasible(h, i) && (best == SIZE_MAX || h->y[i * h->m] < h->y[best * h->m])) best = i;
    return best == SIZE_MAX ? NULL : hn_row(h, best);
}

static hone_rc ask_greedy(void *state, const hn_view *view, hn_rng *rng, double *point, const char **origin,
                          hone_err *err) {
    (void)state, (void)origin;
    const hn_genes *g = view->genes;
    const double *best = best_row(view->history);
    for (int i = 0; best && g->n_free && i < TRIES; i++) {
        memcpy(point, best, g->slots * sizeof *point);
        hn_genes_mutate(g, g->free_gene[hn_rng_below(rng, g->n_free)], rng, point);
        hn_genes_settle(g, point);
        if (hn_view_fresh(view, point)) return HONE_OK;
    }
    return hn_view_draw_fresh(view, rng, false, TRIES, point, err);
}

static void close_greedy(void *state) { (void)state; }

const hn_engine hn_engine_greedy = {
    .version = HN_ENGINE_VERSION,
    .name = "greedy",
    .summary = "changes one gene of the best point",
    .options = "",
    .open = open_greedy,
    .ask = ask_greedy,
    .close = close_greedy,
};
