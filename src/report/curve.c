/* report/curve.c — what each trial gained over the baseline, the best so far, failures by class, the front. */
#include "report/report_int.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool feasible(const hone_trial *t) {
    if (t->outcome.cls != HONE_RUN_OK || t->suspect) return false;
    for (size_t i = 0; i < t->n_constraints && i < HONE_MAX_CONSTRAINTS; i++)
        if (t->outcome.violation[i] > 0) return false;
    return isfinite(t->outcome.value[0]);
}

/* Values that can be 0 or less have no ratio. */
static double gain(const hone_report *r, const hone_trial *t, size_t k) {
    if (!r->baseline || t->outcome.cls != HONE_RUN_OK) return NAN;
    double base = r->baseline->trial->outcome.value[k], x = t->outcome.value[k];
    if (!(base > 0) || !(x > 0)) return NAN;
    return r->goal[k].maximize ? x / base : base / x;
}

static bool better(const hone_report *r, const hone_trial *a, const hone_trial *b) {
    double x = a->outcome.value[0], y = b->outcome.value[0];
    return r->goal[0].maximize ? x > y : x < y;
}

/* The closing race's measurements of fresh builds take precedence over the search's, whose best is biased. */
static void find_best(hone_report *r) {
    bool raced = false;
    for (size_t i = 0; i < r->n_trials; i++) {
        const hone_report_trial *t = &r->trial[i];
        bool race = strcmp(t->trial->phase, "race") == 0;
        if (!t->feasible || t == r->baseline || (raced && !race)) continue;
        if (!r->best || (race && !raced) || better(r, t->trial, r->best->trial)) r->best = t;
        raced |= race && r->best == t;
    }
}

/* Gains where there are any; a first objective that can be 0 or less has none. */
static bool any_gain(const hone_report *r) {
    for (size_t i = 0; i < r->n_trials; i++)
        if (r->trial[i].search && isfinite(r->trial[i].gain[0])) return true;
    return false;
}

static double drawn(const hone_report *r, const hone_report_trial *t) {
    return r->ratios ? t->gain[0] : t->trial->outcome.value[0];
}

static void fill(hone_report *r) {
    for (size_t i = 0; i < r->n_trials; i++)
        for (size_t k = 0; k < r->n_goals; k++) r->trial[i].gain[k] = gain(r, r->trial[i].trial, k);
    r->ratios = any_gain(r);
    bool up = r->ratios || (r->n_goals && r->goal[0].maximize);
    double best = r->ratios ? 1 : NAN;
    for (size_t i = 0; i < r->n_trials; i++) {
        hone_report_trial *t = &r->trial[i];
        double x = drawn(r, t);
        if (t->search && t->feasible && (isnan(best) || (up ? x > best : x < best))) best = x;
        t->best = best;
    }
}

/* The axis ends a little beyond the best. At the other end gains go as far below 1 as the best is above it, half as
 * much again and at least to 0.9, values to where half of them are: a few outliers must not compress the rest of the
 * plot.
 */
static hone_rc find_axis(hone_report *r, hone_err *err) {
    double *x = calloc(r->n_trials + 1, sizeof *x), lo = INFINITY, hi = -INFINITY;
    size_t n = 0;
    if (!x) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < r->n_trials; i++)
        if (r->trial[i].feasible && isfinite(drawn(r, &r->trial[i]))) x[n++] = drawn(r, &r->trial[i]);
    for (size_t i = 0; i < n; i++) lo = fmin(lo, x[i]), hi = fmax(hi, x[i]);
    if (!n) lo = hi = 1;
    if (r->ratios) {
        hi = fmax(hi, 1);
        lo = fmin(fmax(lo, 1 - 1.5 * (hi - 1)), 0.9);
    } else if (r->goal[0].maximize)
        lo = n ? hone_stat_median(x, n) - (hi - hone_stat_median(x, n)) * 0.5 : lo;
    else
        hi = n ? hone_stat_median(x, n) + (hone_stat_median(x, n) - lo) * 0.5 : hi;
    double pad = hi > lo ? (hi - lo) * 0.05 : fmax(fabs(hi) * 0.1, 1e-12);
    r->axis_lo = r->ratios ? fmax(lo - pad, 0) : lo - pad;
    r->axis_hi = hi + pad;
    free(x);
    return HONE_OK;
}

static void count(hone_report *r) {
    for (size_t i = 0; i < r->n_trials; i++) {
        hone_report_trial *t = &r->trial[i];
        t->trial = &hn_report_trials(r)->trial[i];
        t->search = strcmp(t->trial->phase, "search") == 0;
        t->feasible = feasible(t->trial);
        if (strcmp(t->trial->phase, "baseline") == 0) r->baseline = t;
        if (t->search) {
            r->n_search++;
            r->n_class[t->trial->outcome.cls]++;
            r->n_reused += t->trial->same_as != 0;
        }
        t->x = r->n_search;
    }
}

/* Was the point of this trial of the search measured again by the race? Then the race's trial represents it. */
static bool raced(const hone_report *r, const hone_report_trial *t) {
    for (size_t i = r->n_trials; t->search && i-- > 0 && strcmp(r->trial[i].trial->phase, "race") == 0;)
        if (r->trial[i].feasible && r->trial[i].trial->point_hash == t->trial->point_hash) return true;
    return false;
}

static bool complete(const hone_report *r, const hone_report_trial *t) {
    for (size_t k = 0; k < r->n_goals; k++)
        if (!isfinite(t->trial->outcome.value[k])) return false;
    return t->feasible && !raced(r, t);
}

static hone_rc find_front(hone_report *r, hone_err *err) {
    size_t m = r->n_goals, n = 0;
    if (m < 2 || !r->n_trials) return HONE_OK;
    double *value = calloc(r->n_trials, m * sizeof *value);
    uint32_t *rank = calloc(r->n_trials, sizeof *rank);
    size_t *index = calloc(r->n_trials, sizeof *index);
    hone_rc rc = value && rank && index ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < r->n_trials; i++) {
        if (!complete(r, &r->trial[i])) continue;
        for (size_t k = 0; k < m; k++)
            value[n * m + k] = (r->goal[k].maximize ? -1 : 1) * r->trial[i].trial->outcome.value[k];
        index[n++] = i;
    }
    if (!rc && n) rc = hone_pareto_rank(value, n, m, rank, err);
    for (size_t i = 0; !rc && i < n; i++) r->trial[index[i]].front = rank[i] == 0;
    free(value);
    free(rank);
    free(index);
    return rc;
}

hone_rc hn_report_curve(hone_report *r, hone_err *err) {
    r->n_trials = hn_report_trials(r)->n;
    r->trial = HN_NEW_N(hn_report_arena(r), hone_report_trial, r->n_trials);
    if (!r->trial) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    count(r);
    fill(r);
    find_best(r);
    hone_rc rc = find_axis(r, err);
    return rc ? rc : find_front(r, err);
}
