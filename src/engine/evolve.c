/* engine/evolve.c — the classical generational search: the best of a generation are parents of the next, children
 * are uniform crossovers of two of them, some with mutated genes; the best ever seen stay among the parents. */
#include "engine/pool.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define OPTIONS(X)                                                                                                     \
    X(pool, 32, 2, 10000)                                                                                              \
    X(parents, 24, 2, 10000)                                                                                           \
    X(mutate, 0.25, 0, 1)                                                                                              \
    X(elite, 2, 0, 1000)
enum { OPTIONS(HN_OPTION_ID) };
static const hn_option options[] = {OPTIONS(HN_OPTION_ROW){0}};

enum { TRIES = 50 };

typedef struct evolve {
    size_t pool, parents, elite;
    double mutate;
    uint32_t *row;
    double *key;
    size_t n, end; /* parents kept, and the row before which the last complete generation ends; SIZE_MAX: not yet */
    uint64_t epoch;
} evolve;

static void close_evolve(void *state) {
    evolve *e = state;
    if (!e) return;
    free(e->row);
    free(e->key);
    free(e);
}

static hone_rc open_evolve(const hn_view *view, const double *option, void **state, hone_err *err) {
    (void)view;
    evolve *e = calloc(1, sizeof *e);
    if (e) {
        e->pool = (size_t)option[OPT_pool];
        e->parents = (size_t)option[OPT_parents];
        if (e->parents > e->pool) e->parents = e->pool;
        e->elite = (size_t)option[OPT_elite];
        e->mutate = option[OPT_mutate];
        e->end = SIZE_MAX;
        e->row = malloc((e->pool + e->elite) * sizeof *e->row);
        e->key = malloc((e->pool + e->elite) * sizeof *e->key);
    }
    if (!e || !e->row || !e->key) {
        close_evolve(e);
        return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'evolve'");
    }
    *state = e;
    return HONE_OK;
}

/* Several objectives: their sum after a log, a fixed compromise; nsga2 is the engine for fronts. */
static double cost(const hn_history *h, size_t i) {
    if (!hn_row_feasible(h, i)) return INFINITY;
    if (h->m == 1) return h->y[i];
    double sum = 0;
    for (size_t k = 0; k < h->m; k++) {
        double y = h->y[i * h->m + k];
        sum += y > 0 ? log(y) : -log(-y + 1e-300);
    }
    return sum;
}

/* Inserts a row into the `most` best so far. */
static size_t keep_best(evolve *e, size_t from, size_t n, size_t most, uint32_t row, double key) {
    if (n == most && !(key < e->key[from + n - 1])) return n;
    size_t k = n < most ? n++ : n - 1;
    for (; k && e->key[from + k - 1] > key; k--) {
        e->key[from + k] = e->key[from + k - 1];
        e->row[from + k] = e->row[from + k - 1];
    }
    e->key[from + k] = key;
    e->row[from + k] = row;
    return n;
}

/* Parents: the best of the last complete generation and the best ever. They change once in a generation. */
static size_t choose_parents(evolve *e, const hn_history *h) {
    size_t end = h->n - h->n_told % e->pool, start = end > e->pool ? end - e->pool : 0, n = 0, n_elite = 0;
    if (e->end == end && e->epoch == h->epoch) return e->n;
    for (size_t i = start; i < end; i++) {
        double c = cost(h, i);
        if (c < INFINITY) n = keep_best(e, 0, n, e->parents, (uint32_t)i, c);
    }
    for (size_t i = 0; i < start && e->elite; i++) {
        double c = cost(h, i);
        if (c < INFINITY) n_elite = keep_best(e, e->parents, n_elite, e->elite, (uint32_t)i, c);
    }
    memmove(e->row + n, e->row + e->parents, n_elite * sizeof *e->row);
    e->end = end;
    e->epoch = h->epoch;
    return e->n = n + n_elite;
}

static hone_rc ask_evolve(void *state, const hn_view *view, hn_rng *rng, double *point, const char **origin,
                          hone_err *err) {
    (void)origin;
    evolve *e = state;
    const hn_genes *g = view->genes;
    bool first = view->history->n_told < e->pool;
    size_t n = first ? 0 : choose_parents(e, view->history);
    if (n < 2) return hn_view_draw_fresh(view, rng, first, TRIES * 4, point, err);
    for (size_t i = 0; i < TRIES; i++) {
        size_t a = (size_t)hn_rng_below(rng, n), b = (size_t)hn_rng_below(rng, n - 1);
        hn_cross(g, hn_row(view->history, e->row[a]), hn_row(view->history, e->row[b + (b >= a)]), rng, point);
        bool force = i > TRIES / 4; /* the children were all seen: a mutation more */
        if (g->n_free && (force || hn_rng_unit(rng) < e->mutate))
            for (size_t k = 1 + hn_rng_below(rng, 3); k; k--)
                hn_genes_mutate(g, g->free_gene[hn_rng_below(rng, g->n_free)], rng, point);
        hn_genes_settle(g, point);
        if (!hn_view_legal(view, point) &&
            (view->config->legal || hone_point_repair(view->space, hn_rng_next(rng), point, NULL)))
            continue;
        if (hn_view_fresh(view, point)) return HONE_OK;
    }
    return hn_view_draw_fresh(view, rng, false, TRIES, point, err);
}

const hn_engine hn_engine_evolve = {
    .version = HN_ENGINE_VERSION,
    .name = "evolve",
    .summary = "generational genetic search: uniform crossover of the best, mutation, elitism",
    .options = HN_OPTIONS_TEXT(OPTIONS),
    .option = options,
    .open = open_evolve,
    .ask = ask_evolve,
    .close = close_evolve,
};
