/* rollout/decide.c — from evidence to a verdict. Rules and error budget: docs/rollout.md. */
#include "base/err.h"
#include "base/options.h"
#include "rollout/bets.h"
#include "rollout/rollout_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_TESTS = 4
}; /* that may roll back a version that is as good: median, tail, failures, crashes. Each has a part
      of alpha */
static const double tail_factor = 1.25;
static const double rate_alpha = 0.01; /* of a promotion in spite of a rate of failures that `runs` is to exclude */

/* --- what can be -------------------------------------------------------------------------------------------------- */

hone_rc hn_rollout_check_rules(const hone_rollout_rules *r, hone_err *err) {
    struct {
        const char *name;
        double value, least, most;
    } const part[] = {{"share", r->share, 0, 1},         {"margin", r->margin, 0, 1},
                      {"min_gain", r->min_gain, 0, 100}, {"alpha", r->alpha, 1e-6, 0.5},
                      {"age_s", r->age_s, 1, 1e9},       {"tolerance", r->tolerance, -1, 1e6}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (!(part[i].value >= part[i].least && part[i].value <= part[i].most))
            return hn_fail(err, HONE_E_INPUT, "'%s' of a deployment's rules is %g; it goes from %g to %g", part[i].name,
                           part[i].value, part[i].least, part[i].most);
    return HONE_OK;
}

hone_rc hn_rollout_check_evidence(const hone_rollout_evidence *e, hone_err *err) {
    for (size_t i = 0; i < e->n; i++)
        if (!isfinite(e->log_ratio[i]))
            return hn_fail(err, HONE_E_INPUT, "log-ratio %zu of %zu is not finite", i + 1, e->n);
    if (e->differing > e->compared)
        return hn_fail(err, HONE_E_INPUT, "%llu answers differ, but %llu were compared",
                       (unsigned long long)e->differing, (unsigned long long)e->compared);
    if (e->failures_now + e->crashes_now > e->runs_now || e->failures_next + e->crashes_next > e->runs_next)
        return hn_fail(err, HONE_E_INPUT, "there are more failures and crashes than runs");
    return HONE_OK;
}

/* --- reasons to roll back -------------------------------------------------------------------------------------------
 */

static double part_of_alpha(const hone_rollout_rules *r) { return r->alpha / N_TESTS; }

/* Is it more NEXT's than its part of the runs explains? Under equal rates an event is NEXT's with the chance that a run
 * is. */
static bool is_beyond(const hone_rollout_rules *r, const hone_rollout_evidence *e, uint64_t now, uint64_t next) {
    if (!e->runs_now || !e->runs_next) return false;
    double part = (double)e->runs_next / ((double)e->runs_next + (double)e->runs_now);
    return hn_bet_capital(next, now + next, part) >= -log(part_of_alpha(r));
}

static bool crashes(const hone_rollout_rules *r, const hone_rollout_evidence *e) {
    return e->crashes_next && (!e->crashes_now || is_beyond(r, e, e->crashes_now, e->crashes_next));
}

/* Of the pairs that differ much from the margin, more are slower than a fair coin explains. */
static void count_tail(const hone_rollout_rules *r, const hone_rollout_evidence *e, hn_rollout_view *v) {
    double middle = log1p(r->margin), far = log(tail_factor);
    v->tail_slower = v->tail = 0;
    for (size_t i = 0; i < e->n; i++) {
        v->tail += fabs(e->log_ratio[i] - middle) > far;
        v->tail_slower += e->log_ratio[i] - middle > far;
    }
}

static hone_rollout_reason reason_to_leave(const hone_rollout_rules *r, const hone_rollout_evidence *e,
                                           const hn_rollout_view *v) {
    if (crashes(r, e)) return HONE_ROLLOUT_CRASHES;
    if (e->differing) return HONE_ROLLOUT_WRONG;
    if (is_beyond(r, e, e->failures_now, e->failures_next)) return HONE_ROLLOUT_FAILS;
    if (v->z.lo > log1p(r->margin)) return HONE_ROLLOUT_SLOWER;
    if (v->tail && hn_bet_capital(v->tail_slower, v->tail, 0.5) >= -log(part_of_alpha(r))) return HONE_ROLLOUT_TAIL;
    return HONE_ROLLOUT_UNDECIDED;
}

/* --- reasons to promote ---------------------------------------------------------------------------------------------
 */

/* Without a failure so many runs exclude the rate r at 99 %, at whatever time one looks: (1 - r)^runs = 0.01. With
 * failures, NEXT's rate must be shown to lie below NOW's and r together. */
static bool is_reliable(const hone_rollout_rules *r, const hone_rollout_evidence *e) {
    uint64_t bad = e->failures_next + e->crashes_next;
    if (e->runs_next < r->runs) return false;
    if (!bad || !r->runs) return true;
    double before = e->runs_now ? (double)(e->failures_now + e->crashes_now) / (double)e->runs_now : 0;
    double limit = fmin(before - log(rate_alpha) / (double)r->runs, 0.999);
    return hn_bet_capital(e->runs_next - bad, e->runs_next, 1 - limit) >= -log(rate_alpha);
}

static bool is_fit(const hone_rollout_rules *r, const hone_rollout_evidence *e) {
    return e->n >= r->pairs && e->elements >= r->elements && is_reliable(r, e);
}

static void judge_fit(const hone_rollout_rules *r, const hone_rollout_evidence *e, const hn_rollout_view *v,
                      hone_rollout_decision *d) {
    double most = r->min_gain > 0 ? -log1p(r->min_gain) : log1p(r->margin);
    if (r->min_gain > 0 && v->z.lo > most) {
        d->verdict = HONE_ROLLOUT_HOLD, d->why = HONE_ROLLOUT_NO_GAIN;
    } else if (is_fit(r, e) && v->z.hi <= most) {
        d->verdict = HONE_ROLLOUT_PROMOTE, d->why = v->z.hi < 0 ? HONE_ROLLOUT_FASTER : HONE_ROLLOUT_NOT_SLOWER;
    } else if (e->age_s >= r->age_s) {
        d->verdict = HONE_ROLLOUT_HOLD, d->why = HONE_ROLLOUT_AGE;
    }
}

/* --- the decision ---------------------------------------------------------------------------------------------------
 */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static hone_rc look(const hone_rollout_rules *r, const hone_rollout_evidence *e, hn_rollout_view *v, hone_err *err) {
    double *sorted = malloc((e->n + 1) * sizeof *sorted);
    if (!sorted) return hn_fail(err, HONE_E_NOMEM, "out of memory judging %zu pairs", e->n);
    if (e->n) memcpy(sorted, e->log_ratio, e->n * sizeof *sorted);
    qsort(sorted, e->n, sizeof *sorted, by_value);
    v->z = hn_bet_median(sorted, e->n, part_of_alpha(r));
    free(sorted);
    count_tail(r, e, v);
    return HONE_OK;
}

hone_rc hone_rollout_decide(const hone_rollout_rules *rules, const hone_rollout_evidence *evidence,
                            hone_rollout_decision *decision, hone_err *err) {
    hone_rollout_rules r = hone_rollout_defaults();
    hone_rollout_evidence e = hone_rollout_no_evidence();
    hone_rollout_decision d = {.verdict = HONE_ROLLOUT_WAIT, .why = HONE_ROLLOUT_UNDECIDED};
    hn_rollout_view v = {0};
    hone_rc rc = hn_options_read(&r, sizeof r, rules, "rollout", err);
    if (!rc) rc = hn_options_read(&e, sizeof e, evidence, "rollout_evidence", err);
    if (!rc) rc = hn_rollout_check_rules(&r, err);
    if (!rc) rc = hn_rollout_check_evidence(&e, err);
    if (!rc) rc = look(&r, &e, &v, err);
    if (rc) return rc;
    d.pairs = e.n;
    d.ratio = (hone_interval){exp(v.z.lo), exp(v.z.mid), exp(v.z.hi)};
    d.why = reason_to_leave(&r, &e, &v);
    if (d.why != HONE_ROLLOUT_UNDECIDED)
        d.verdict = HONE_ROLLOUT_ROLL_BACK;
    else
        judge_fit(&r, &e, &v, &d);
    hn_rollout_say(&r, &e, &v, &d);
    *decision = d;
    return HONE_OK;
}
