/* tune/parts.c — the parts of a search: everything at once, then controls of single files, then the order of passes,
 * each around the best point of those before it. */
#include "tune/by_file.h"
#include "tune/cut_build.h"
#include "tune/pass_order.h"
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Share of the budget that is spent when a part ends; the last one has all. */
static const double first_share = 0.6, files_share = 0.8;
/* Link-time optimisation, profiles and other compilers exclude edited passes. A point without them is worth a search of
 * its own while it is at most this factor behind the best: more than an order of passes usually brings. */
static const double passes_reach = 1.1;

static bool has(const hn_tuner *t, hn_part part) {
    return part == HN_PART_FILES ? t->plan->own != NULL : part == HN_PART_PASSES ? t->plan->pass != NULL : true;
}

hn_part hn_part_next(const hn_tuner *t) {
    for (hn_part p = t->part + 1; p <= HN_PART_PASSES; p++)
        if (has(t, p)) return p;
    return HN_PART_WHOLE;
}

hn_part hn_part_of(const hn_plan *plan, const double *point) {
    if (hn_pass_order_used(plan, point)) return HN_PART_PASSES;
    return plan->own && hn_by_file_used(plan, point) ? HN_PART_FILES : HN_PART_WHOLE;
}

/* Until when the part at hand may go on. */
static void set_limits(hn_tuner *t) {
    bool last = hn_part_next(t) == HN_PART_WHOLE;
    double share = last ? 1 : t->part == HN_PART_FILES ? files_share : first_share;
    t->most_evals = t->o->max_evals;
    t->deadline_s = t->whole_deadline_s;
    if (!last && t->most_evals) t->most_evals = (size_t)ceil(share * (double)t->most_evals);
    if (!last && isfinite(t->deadline_s)) t->deadline_s = t->begin_s + share * (t->deadline_s - t->begin_s);
}

void hn_parts_plan(hn_tuner *t) {
    t->begin_s = hn_now_s();
    t->whole_deadline_s = t->deadline_s;
    set_limits(t);
}

/* Where a part begins: the best of these, or the baseline where there is none. */
typedef struct start {
    const hn_elite *best; /* NULL: the part does not begin */
    const double *point;
    size_t target; /* its compiler */
} start;

static size_t target_of(const hn_plan *plan, const double *point) {
    return plan->i_compiler == SIZE_MAX ? 0 : (size_t)point[hone_space_param(plan->space, plan->i_compiler)->slot];
}

static start start_at(const hn_tuner *t, const hn_elite *best) {
    const double *point = best->n ? best->entry[0].point : t->plan->base;
    return (start){best, point, target_of(t->plan, point)};
}

/* What the engine is told of the point that it starts from, which has none of its genes. */
static hone_rc tell_start(hn_tuner *t, const start *at, hone_err *err) {
    hone_outcome seen = {.cls = HONE_RUN_OK};
    for (size_t k = 0; k < t->w->n_objectives; k++) {
        double v = at->best->n ? at->best->entry[0].value[k] : t->bench.base.ref[k];
        seen.value[k] = at->best->n && t->w->objective[k].maximize ? -v : v;
    }
    return hn_window_tell(&t->window, t->window.around, &seen, 0, err);
}

static hone_rc add_seeds(hn_tuner *t, size_t target, hone_err *err) {
    double *seed = NULL;
    size_t n = 0;
    hone_rc rc = hn_by_file_seeds(t->plan, target, &seed, &n, err);
    if (!rc && n) rc = hone_search_add_seeds(t->window.search, seed, n, err);
    free(seed);
    return rc;
}

/* *why: such a point cannot be built with passes of opt's own. */
static hone_rc check_passes(const hn_tuner *t, const double *point, const char **why, hn_arena *a, hone_err *err) {
    const hn_plan *plan = t->plan;
    hn_recipe r;
    hone_rc rc = hn_plan_recipe(plan, point, &r, err);
    if (rc) return rc;
    *why = NULL;
    if (!plan->pass[target_of(plan, point)].space) *why = hn_format(a, "it is built by '%s'", r.cc);
    for (size_t i = 0; !*why && i < r.n_flags; i++) *why = hn_opt_declines(a, &r.flag[i], 1);
    if (!*why && r.pgo) *why = "it is profile-guided, which edited passes cannot be";
    hn_recipe_free(&r);
    return HONE_OK;
}

hone_rc hn_part_told(hn_tuner *t, const double *point, uint64_t key, const double *value, hone_err *err) {
    hn_arena a = {0};
    const char *why = NULL;
    if (!t->plan->pass || t->part == HN_PART_PASSES) return HONE_OK;
    hone_rc rc = check_passes(t, point, &why, &a, err);
    if (!rc && !why) rc = hn_elite_add(&t->served, point, key, value, err);
    hn_arena_free(&a);
    return rc;
}

/* How much worse in the first objective one best is than the other, as a factor; 1: not at all. */
static double behind(const hn_elite *e, const hn_elite *other) {
    double x = e->entry[0].value[0], best = other->entry[0].value[0];
    if (x <= best) return 1;
    return best < 0 && x < 0 ? best / x : best > 0 ? x / best : INFINITY;
}

/* Passes begin at the best point, or at the best that opt serves where that is near enough. Which, and why, is said. */
static hone_rc start_of_passes(hn_tuner *t, start *out, hone_err *err) {
    hn_arena a = {0};
    const char *why;
    char text[600] = "";
    hone_rc rc = check_passes(t, out->point, &why, &a, err);
    bool near = !rc && why && t->served.n && behind(&t->served, &t->elite) <= passes_reach;
    if (near) {
        *out = start_at(t, &t->served);
        snprintf(text, sizeof text,
                 "the best point cannot have edited passes: %.300s; they are searched around the best that can, "
                 "%.1f %% behind it",
                 why, 100 * (behind(&t->served, &t->elite) - 1));
    } else if (!rc && why) {
        out->best = NULL;
        snprintf(text, sizeof text,
                 "the order of passes is not searched: the best point cannot have edited passes: %.300s; %s, and "
                 "the search before goes on",
                 why, t->served.n ? "the best that can is too far behind" : "none can");
    }
    if (*text) hn_tuner_emit(t, HONE_TUNE_WARNING, 0, 0, NULL, text);
    hn_arena_free(&a);
    return rc;
}

/* Edits are few and of many values: what helped is crossed and varied, no model is fitted. */
static void config_of(const hn_tuner *t, hn_part part, hone_search_options *c) {
    static const char *const evolve[] = {"pool=16", "parents=8", "elite=8", "mutate=0.6", NULL};
    *c = hn_search_config(t);
    if (part != HN_PART_PASSES) return;
    c->engine = "evolve";
    c->options = evolve;
}

hone_rc hn_part_begin(hn_tuner *t, hn_part part, bool *begun, hone_err *err) {
    start at = start_at(t, &t->elite);
    const hone_space *space = NULL;
    size_t slot = 0, n;
    hone_rc rc = part == HN_PART_PASSES ? start_of_passes(t, &at, err) : HONE_OK;
    if (!rc && at.best)
        space = part == HN_PART_PASSES ? hn_pass_order_space(t->plan, at.target, &slot, &n)
                                       : hn_by_file_space(t->plan, at.target, &slot, &n);
    t->part = part;
    set_limits(t);
    *begun = !rc && space;
    if (!*begun) return rc;
    hone_search_options c;
    hn_search_window next = {0};
    config_of(t, part, &c);
    rc = hn_window_open(t->plan->space, space, slot, at.point, &c, &next, err);
    if (rc) return rc;
    hn_window_close(&t->window);
    t->window = next;
    t->opening.stage = HN_OPENING_OVER;
    t->hinted = true;
    t->since_gain = 0;
    t->n_asked_before = t->n_asked;
    rc = tell_start(t, &at, err);
    if (rc) return rc;
    return part == HN_PART_PASSES ? hn_passes_open(t, space, err) : add_seeds(t, at.target, err);
}
