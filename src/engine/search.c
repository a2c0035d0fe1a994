/* engine/search.c — the search object: everything engines share. See hone/search.h for the contract. */
#include "engine/active.h"
#include "engine/history.h"

#include "base/err.h"
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

enum { DRAW_TRIES = 400, LAST_DRAWS = 4000, REPAIR_TRIES = 8 };
static const double SCAN_MOST = 1 << 22; /* combinations walked one by one to find the last fresh points */

struct hone_search {
    const hone_space *space;
    hone_search_options config;
    hn_genes *genes;
    hn_history history;
    hn_seen_points seen;
    hn_pending pending;
    hn_active active;
    hn_view view;
    const hn_engine *engine;
    void *state;
    double *seeds, *start, *scratch;
    size_t n_asked;
    double scan; /* combinations before this one are known to be seen or illegal */
    const char *origin;
};

static const char *const class_name[HONE_N_CLASSES] = {
    "ok",         "build_error",  "build_timeout",  "run_crash",    "run_timeout", "wrong_result", "no_metric",
    "over_limit", "memory_fault", "launch_refused", "device_fault", "no_device",   "throttled"};

const char *hone_outcome_class_name(hone_outcome_class c) {
    return (unsigned)c < HONE_N_CLASSES ? class_name[c] : "unknown";
}

bool hone_outcome_class_parse(const char *name, hone_outcome_class *out) {
    for (int i = 0; i < HONE_N_CLASSES; i++)
        if (!strcmp(name, class_name[i])) return *out = (hone_outcome_class)i, true;
    return false;
}

/* --- what engines may ask ------------------------------------------------------------------------------------- */

bool hn_view_legal(const hn_view *v, const double *x) {
    if (v->config->legal && !v->config->legal(v->config->ctx, x)) return false;
    return hone_point_legal(v->space, x, NULL);
}

bool hn_view_fresh_as(const hn_view *v, const double *x, uint64_t hash) {
    return hn_seen_get(&v->search->seen, hash, NULL) < HN_IS_PENDING && hn_view_legal(v, x);
}

bool hn_view_fresh(const hn_view *v, const double *x) { return hn_view_fresh_as(v, x, hone_point_hash(v->space, x)); }

hone_rc hn_view_draw(const hn_view *v, hn_rng *rng, bool initial, double *x, hone_err *err) {
    if (v->config->draw) {
        v->config->draw(v->config->ctx, hn_rng_next(rng), x);
        return HONE_OK;
    }
    hone_rc rc = HONE_OK;
    for (int i = 0; i < DRAW_TRIES; i++) {
        rc = hone_space_sample(v->space, hn_rng_next(rng), initial, x, err);
        if (rc || !v->config->legal || v->config->legal(v->config->ctx, x)) return rc;
    }
    return hn_fail(err, HONE_E_EMPTY, "none of %d random points of space '%s' is legal for the caller", DRAW_TRIES,
                   hone_space_name(v->space));
}

hone_rc hn_view_draw_fresh(const hn_view *v, hn_rng *rng, bool initial, size_t tries, double *x, hone_err *err) {
    for (size_t i = 0; i < tries; i++) {
        hone_rc rc = hn_view_draw(v, rng, initial, x, err);
        if (rc) return rc;
        if (hn_view_fresh(v, x)) return HONE_OK;
    }
    return hn_fail(err, HONE_E_EXHAUSTED, "no new point among %zu random ones of space '%s'", tries,
                   hone_space_name(v->space));
}

/* --- opening and closing -------------------------------------------------------------------------------------- */

/* A legal point at or near `point`; false when there is none. */
static bool make_legal(const hn_view *v, uint64_t seed, double *point) {
    hn_genes_settle(v->genes, point);
    if (hn_view_legal(v, point)) return true;
    double *original = malloc(v->genes->slots * sizeof *original + 1);
    bool legal = false;
    if (!original) return false;
    memcpy(original, point, v->genes->slots * sizeof *original);
    for (uint64_t i = 0; i < REPAIR_TRIES && !legal; i++) {
        memcpy(point, original, v->genes->slots * sizeof *original);
        if (hone_point_repair(v->space, hn_mix64(seed + i), point, NULL)) break;
        legal = hn_view_legal(v, point);
    }
    free(original);
    return legal;
}

static hone_rc check_config(const hone_search_options *c, hone_err *err) {
    if (c->n_objectives > HONE_MAX_OBJECTIVES)
        return hn_fail(err, HONE_E_USAGE, "%zu objectives are more than %d", c->n_objectives, HONE_MAX_OBJECTIVES);
    if (c->n_constraints > HONE_MAX_CONSTRAINTS)
        return hn_fail(err, HONE_E_USAGE, "%zu constraints are more than %d", c->n_constraints, HONE_MAX_CONSTRAINTS);
    if (c->n_seeds && !c->seeds) return hn_fail(err, HONE_E_USAGE, "'n_seeds' is %zu but 'seeds' is NULL", c->n_seeds);
    return HONE_OK;
}

static hone_rc copy_points(hone_search *s, hone_err *err) {
    size_t slots = s->genes->slots;
    size_t n_seeds = s->config.n_seeds;
    if (n_seeds && n_seeds > SIZE_MAX / sizeof(double) / (slots + 1))
        return hn_fail(err, HONE_E_LIMIT, "%zu seeds are too many", n_seeds);
    s->seeds = malloc((n_seeds * slots + 1) * sizeof(double));
    s->start = malloc((slots + 1) * sizeof(double));
    s->scratch = malloc((slots + 1) * sizeof(double));
    if (!s->seeds || !s->start || !s->scratch) return hn_fail(err, HONE_E_NOMEM, "out of memory for the search");
    if (n_seeds) memcpy(s->seeds, s->config.seeds, n_seeds * slots * sizeof(double));
    s->config.seeds = s->seeds;
    hone_space_default(s->space, s->start);
    hn_rng rng = hn_rng_make(s->config.seed, UINT64_MAX);
    s->view.start = s->start;
    if (make_legal(&s->view, s->config.seed, s->start)) return HONE_OK;
    return hn_view_draw(&s->view, &rng, true, s->start, err);
}

static hone_rc open_parts(hone_search *s, hone_err *err) {
    double option[HN_MAX_OPTIONS];
    s->engine = hn_engine_find(s->config.engine, err);
    if (!s->engine) return HONE_E_NOTFOUND;
    hone_rc rc = hn_engine_options(s->engine, s->config.options, option, err);
    if (!rc) rc = hn_genes_new(s->space, &s->genes, err);
    if (rc) return rc;
    s->config.options = NULL;
    s->config.engine = s->engine->name;
    s->view = (hn_view){.space = s->space,
                        .genes = s->genes,
                        .history = &s->history,
                        .pending = &s->pending,
                        .config = &s->config,
                        .active = &s->active,
                        .search = s};
    hn_history_init(&s->history, s->genes->slots, s->config.n_objectives, s->config.n_constraints, s->config.memory_b);
    rc = copy_points(s, err);
    return rc ? rc : s->engine->open(&s->view, option, &s->state, err);
}

hone_rc hone_search_open(const hone_space *space, const hone_search_options *options, hone_search **out,
                         hone_err *err) {
    hone_search_options o = hone_search_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "search", err);
    if (!rc) rc = check_config(&o, err);
    if (rc) return rc;
    hone_search *s = calloc(1, sizeof *s);
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory for the search");
    s->space = space;
    s->config = o;
    s->origin = "";
    if (!s->config.n_objectives) s->config.n_objectives = 1;
    rc = open_parts(s, err);
    if (rc) {
        hone_search_close(s);
        return rc;
    }
    *out = s;
    return HONE_OK;
}

void hone_search_close(hone_search *s) {
    if (!s) return;
    if (s->engine) s->engine->close(s->state);
    hn_genes_free(s->genes);
    hn_history_free(&s->history);
    hn_seen_free(&s->seen);
    hn_pending_free(&s->pending);
    hn_active_free(&s->active);
    free(s->seeds);
    free(s->start);
    free(s->scratch);
    free(s);
}

hone_rc hone_search_add_seeds(hone_search *s, const double *points, size_t n, hone_err *err) {
    size_t slots = s->genes->slots, total = s->config.n_seeds + n;
    if (!n) return HONE_OK;
    if (total < n || total > SIZE_MAX / sizeof(double) / (slots + 1))
        return hn_fail(err, HONE_E_LIMIT, "%zu seeds are too many", n);
    double *seeds = realloc(s->seeds, (total * slots + 1) * sizeof *seeds);
    if (!seeds) return hn_fail(err, HONE_E_NOMEM, "out of memory for the search");
    memcpy(seeds + s->config.n_seeds * slots, points, n * slots * sizeof *seeds);
    s->config.seeds = s->seeds = seeds;
    s->config.n_seeds = total;
    return HONE_OK;
}

/* --- asking --------------------------------------------------------------------------------------------------- */

/* The first point of the default and the caller's seeds that is still new. */
static bool ask_seed(hone_search *s, double *point) {
    size_t slots = s->genes->slots;
    for (size_t i = s->config.no_default ? 1 : 0; i <= s->config.n_seeds; i++) {
        memcpy(point, i ? s->seeds + (i - 1) * slots : s->start, slots * sizeof *point);
        if (i && !make_legal(&s->view, hn_mix64(s->config.seed ^ i), point)) continue;
        if (!hn_view_fresh(&s->view, point)) continue;
        s->origin = i ? "seed" : "default";
        return true;
    }
    return false;
}

/* Combinations of all genes, absent included; INFINITY when they cannot be walked. */
static double n_combinations(const hn_genes *g) {
    double n = 1;
    for (size_t k = 0; k < g->n; k++) {
        const hn_feature *e = &g->gene[k];
        if (e->kind == HONE_PERMUTATION)
            n *= (double)(e->item + 1);
        else if (!e->n_levels)
            return INFINITY;
        else
            n *= (double)(e->n_levels + (e->optional || e->param->when));
        if (e->kind == HONE_PERMUTATION && e->item == 0 && (e->optional || e->param->when)) return INFINITY;
    }
    return n;
}

/* The i-th combination (mixed radix; permutations by the Lehmer code of their items). */
static void combination(const hn_genes *g, double i, double *x) {
    uint64_t left = (uint64_t)i;
    for (size_t k = 0; k < g->n; k++) {
        const hn_feature *e = &g->gene[k];
        if (e->kind == HONE_PERMUTATION) {
            size_t at = (size_t)(left % (e->item + 1));
            left /= e->item + 1;
            x[e->slot + e->item] = at == e->item ? (double)e->item : x[e->slot + at];
            x[e->slot + at] = (double)e->item;
            continue;
        }
        size_t n = e->n_levels + (e->optional || e->param->when), level = (size_t)(left % n);
        left /= n;
        bool number = e->kind == HONE_INT || e->kind == HONE_FLOAT;
        x[e->slot] = level == e->n_levels ? NAN : number ? e->param->lo + (double)level * e->step : (double)level;
    }
}

/* Walks all combinations of a small space, so that its last points are found for certain. */
static hone_rc scan(hone_search *s, double *point, hone_err *err) {
    double n = n_combinations(s->genes);
    hone_space_default(s->space, point); /* literals */
    for (; s->scan < n; s->scan++) {
        combination(s->genes, s->scan, point);
        hone_point_canon(s->space, point);
        if (hn_view_fresh(&s->view, point)) return HONE_OK;
    }
    return hn_fail(err, HONE_E_EXHAUSTED, "every point of space '%s' has been proposed (%zu told, %zu pending)",
                   hone_space_name(s->space), s->history.n_told, s->pending.n);
}

static hone_rc ask_last(hone_search *s, hn_rng *rng, double *point, hone_err *err) {
    bool small = n_combinations(s->genes) <= SCAN_MOST;
    hone_rc rc = hn_view_draw_fresh(&s->view, rng, false, small ? 64 : LAST_DRAWS, point, err);
    s->origin = "random";
    return rc == HONE_E_EXHAUSTED && small ? scan(s, point, err) : rc;
}

hone_rc hone_search_ask(hone_search *s, double *point, hone_err *err) {
    hn_rng rng = hn_rng_make(s->config.seed, s->n_asked);
    double *x = s->scratch;
    s->view.n_asked = s->n_asked;
    hone_rc rc = HONE_OK;
    if (!ask_seed(s, x)) {
        s->origin = s->engine->name;
        rc = hn_active_update(&s->active, s->genes, &s->history, err);
        if (!rc) rc = s->engine->ask(s->state, &s->view, &rng, x, &s->origin, err);
        if (rc == HONE_E_EXHAUSTED || (!rc && !hn_view_fresh(&s->view, x))) rc = ask_last(s, &rng, x, err);
    }
    if (rc) return rc;
    uint64_t hash = hone_point_hash(s->space, x);
    rc = hn_pending_add(&s->pending, s->genes->slots, x, hash, err);
    if (rc) return rc;
    rc = hn_seen_put(&s->seen, hash, HN_IS_PENDING, HN_NO_ROW, err);
    if (rc) {
        hn_pending_remove(&s->pending, s->genes->slots, hash);
        return rc;
    }
    memcpy(point, x, s->genes->slots * sizeof *x);
    s->n_asked++;
    return HONE_OK;
}

/* --- telling -------------------------------------------------------------------------------------------------- */

hone_rc hone_search_tell(hone_search *s, const double *point, const hone_outcome *seen, hone_err *err) {
    return hone_search_tell_built(s, point, seen, 0, err);
}

hone_rc hone_search_tell_built(hone_search *s, const double *point, const hone_outcome *seen, uint64_t code,
                               hone_err *err) {
    size_t slots = s->genes->slots, m = s->config.n_objectives;
    hone_outcome_class cls = (unsigned)seen->cls < HONE_N_CLASSES ? seen->cls : HONE_NO_METRIC;
    double y[HONE_MAX_OBJECTIVES], violation = 0;
    for (size_t k = 0; k < m && cls == HONE_RUN_OK; k++) {
        y[k] = s->config.maximize[k] ? -seen->value[k] : seen->value[k];
        if (!isfinite(y[k])) cls = HONE_NO_METRIC;
    }
    for (size_t k = 0; k < s->config.n_constraints && cls == HONE_RUN_OK; k++)
        if (!(seen->violation[k] <= 0)) violation += isfinite(seen->violation[k]) ? seen->violation[k] : 1e300;
    for (size_t k = 0; k < m && cls != HONE_RUN_OK; k++) y[k] = NAN;
    double *x = s->scratch;
    memcpy(x, point, slots * sizeof *x);
    hone_point_canon(s->space, x);
    uint64_t hash = hone_point_hash(s->space, x);
    hone_rc rc = hn_history_put(&s->history, &s->seen, s->config.seed, x, hash, y, violation, cls, code, err);
    if (!rc) hn_pending_remove(&s->pending, slots, hash);
    return rc;
}

void hone_search_forget(hone_search *s, const double *point) {
    memcpy(s->scratch, point, s->genes->slots * sizeof *point);
    hone_point_canon(s->space, s->scratch);
    uint64_t hash = hone_point_hash(s->space, s->scratch);
    if (hn_seen_get(&s->seen, hash, NULL) != HN_IS_PENDING) return;
    hn_pending_remove(&s->pending, s->genes->slots, hash);
    (void)hn_seen_put(&s->seen, hash, HN_FORGOTTEN, HN_NO_ROW, NULL); /* the key exists: cannot fail for memory */
    s->scan = 0;
}

void hone_search_skip(hone_search *s, size_t n_asked) { s->n_asked = n_asked; }
size_t hone_search_n_told(const hone_search *s) { return s->history.n_told; }
size_t hone_search_n_pending(const hone_search *s) { return s->pending.n; }
const char *hone_search_origin(const hone_search *s) { return s->origin; }

bool hone_search_best(const hone_search *s, double *point, hone_outcome *seen) {
    const hn_history *h = &s->history;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < h->n; i++)
        if (hn_row_feasible(h, i) && (best == SIZE_MAX || h->y[i * h->m] < h->y[best * h->m])) best = i;
    if (best == SIZE_MAX) return false;
    memcpy(point, hn_row(h, best), h->slots * sizeof *point);
    *seen = (hone_outcome){.cls = HONE_RUN_OK};
    for (size_t k = 0; k < h->m; k++)
        seen->value[k] = s->config.maximize[k] ? -h->y[best * h->m + k] : h->y[best * h->m + k];
    return true;
}
