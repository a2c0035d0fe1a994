/* tune/files.c — the second part of a search: controls of single files, around the best point of the first one. */
#include "tune/by_file.h"
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share of the budget for the first part. */
static const double first_share = 0.6;

void hn_files_plan(hn_tuner *t) {
    bool two = t->plan->global != NULL;
    double now_s = hn_now_s();
    t->most_evals = t->o->max_evals;
    t->whole_deadline_s = t->deadline_s;
    if (two && t->most_evals) t->most_evals = (size_t)ceil(first_share * (double)t->most_evals);
    if (two && isfinite(t->deadline_s)) t->deadline_s = now_s + first_share * (t->deadline_s - now_s);
}

/* What the engine is told of the point that it starts from, which has none of its genes. */
static hone_rc tell_start(hn_tuner *t, const double *point, hone_err *err) {
    hone_outcome seen = {.cls = HONE_RUN_OK};
    for (size_t k = 0; k < t->w->n_objectives; k++) {
        double v = t->elite.n ? t->elite.entry[0].value[k] : t->bench.base.ref[k];
        seen.value[k] = t->elite.n && t->w->objective[k].maximize ? -v : v;
    }
    return hn_window_tell(&t->window, point, &seen, 0, err);
}

static hone_rc add_seeds(hn_tuner *t, size_t target, hone_err *err) {
    double *seed = NULL;
    size_t n = 0;
    hone_rc rc = hn_by_file_seeds(t->plan, target, &seed, &n, err);
    if (!rc && n) rc = hone_search_add_seeds(t->window.search, seed, n, err);
    free(seed);
    return rc;
}

hone_rc hn_files_begin(hn_tuner *t, hone_err *err) {
    const hn_plan *plan = t->plan;
    if (!plan->global || t->by_file) return HONE_OK;
    const double *start = t->elite.n ? t->elite.entry[0].point : plan->base;
    size_t target = 0, at, n;
    if (plan->i_compiler != SIZE_MAX) target = (size_t)start[hone_space_param(plan->space, plan->i_compiler)->slot];
    const hone_space *part = hn_by_file_space(plan, target, &at, &n);
    hone_search_options c = hn_search_config(t);
    hn_search_window next = {0};
    hone_rc rc = hn_window_open(plan->space, part, at, start, &c, &next, err);
    if (rc) return rc;
    hn_window_close(&t->window);
    t->window = next;
    t->by_file = true;
    t->opening.stage = HN_OPENING_OVER;
    t->hinted = true;
    t->since_gain = 0;
    t->n_asked_before = t->n_asked;
    t->most_evals = t->o->max_evals;
    t->deadline_s = t->whole_deadline_s;
    rc = tell_start(t, t->window.around, err);
    return rc ? rc : add_seeds(t, target, err);
}
