/* reduce/reduce.c — from all parts to the few that carry the gain.
 *
 * 1 parts that leave the program unchanged are removed without measuring (reduce_same.c);  2 the whole is measured: the
 * interval of its gain says how much may be lost;  3 parts that others need (a compiler, and its controls with it) are
 * tried as one;  4 a factorial design estimates which of the remaining parts matter (reduce_screen.c);  5 the parts it
 * names are tried against the whole, and more added until they hold;  6 what is left is shrunk by delta debugging
 * (Zeller & Hildebrandt 2002) with a sequential test in place of its deterministic one;  7 each part's share is the
 * loss when it alone is removed.
 */
#include "reduce/reduce.h"

#include "base/err.h"
#include "reduce/reduce_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WHOLE_LEAST = 16, /* measurements of the whole, and more while its interval is wide beside its gain */
    WHOLE_MOST = 48,
    TEST_MOST = 32,   /* a comparison's */
    SURE_MOST = 64,   /* of what may be the answer */
    SHARE_LEAST = 12, /* behind a share */
    DIRECT_MOST = 5,  /* so few parts are tried one by one */
    SCREEN_FIRST = 32,
    SCREEN_STEP = 16,
    SCREEN_MOST = 160,
};
/* Share of the budget that is kept for the shares. */
static const double for_shares = 0.2;
/* Gains need not agree better than this: 0.05 %. */
static const double finest = 0.0005;
static const double sure_t = 3;

typedef struct reducer {
    hn_trials t;
    const hn_reduce_rules *rules;
    bool *keep;  /* the smallest subset known to hold */
    bool *open;  /* may still go */
    bool *again; /* scratch */
    size_t *order;
    hn_screen screen;
} reducer;

static size_t count(const bool *x, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += x[i];
    return k;
}

/* --- 2: the whole ---------------------------------------------------------------------------------------------------
 */

static hone_rc measure_whole(reducer *r, hn_reduced *out, hone_err *err) {
    hn_trials *t = &r->t;
    hone_rc rc = hn_subset_of(t, r->keep, &t->whole, err);
    hone_interval g = {NAN, NAN, NAN};
    for (size_t n = WHOLE_LEAST; !rc && n <= WHOLE_MOST; n += WHOLE_LEAST) {
        rc = hn_measure_up_to(t, t->whole, n, err);
        if (rc || t->whole->fails || t->over) break;
        g = hn_gain_interval(t, t->whole, 0);
        if (g.hi - g.mid < g.mid / 10 || t->lab->steady) break;
    }
    if (rc) return rc;
    if (t->whole->fails || !t->whole->n)
        return hn_fail(err, HONE_E_FAILED, "the point to be reduced does not work here");
    for (size_t k = 0; k < t->lab->n_gains; k++) {
        hone_interval x = hn_gain_interval(t, t->whole, k);
        t->tolerance[k] = fmin(fmax(x.mid - x.lo, finest), 1);
    }
    out->before = hn_gain_interval(t, t->whole, 0);
    t->tolerance[0] = fmax(t->tolerance[0], r->rules->lose * out->before.mid);
    if (isnan(out->before.mid)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    out->no_gain = !(out->before.lo > 0);
    return HONE_OK;
}

/* --- 3, 6: smaller and smaller --------------------------------------------------------------------------------------
 */

/* Removes the group if the rest still holds. */
static hone_rc try_without(reducer *r, const size_t *part, size_t n, bool *gone, hone_err *err) {
    hn_subset *s;
    memcpy(r->again, r->keep, r->t.lab->n * sizeof *r->keep);
    for (size_t i = 0; i < n; i++) r->again[part[i]] = false;
    *gone = false;
    hone_rc rc = hn_subset_of(&r->t, r->again, &s, err);
    if (!rc) rc = hn_holds(&r->t, s, TEST_MOST, gone, err);
    if (!rc && *gone) memcpy(r->keep, s->keep, r->t.lab->n * sizeof *r->keep);
    return rc;
}

static hone_rc try_families(reducer *r, hone_err *err) {
    const hn_reduce_lab *lab = r->t.lab;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && lab->parent && i < lab->n; i++) {
        bool has_children = false, gone;
        for (size_t j = i + 1; j < lab->n; j++) has_children |= lab->parent[j] == i && r->keep[j];
        if (!has_children || !r->keep[i]) continue;
        rc = try_without(r, &i, 1, &gone, err);
        r->open[i] = false; /* kept, or removed with all parts that need it */
    }
    return rc;
}

/* The parts that may still go, the least effective first. */
static size_t order_parts(reducer *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->t.lab->n; i++) {
        if (!r->keep[i] || !r->open[i]) continue;
        size_t at = n++;
        for (; at > 0 && r->screen.effect && r->screen.effect[r->order[at - 1]] > r->screen.effect[i]; at--)
            r->order[at] = r->order[at - 1];
        r->order[at] = i;
    }
    return n;
}

static hone_rc shrink(reducer *r, size_t chunk, hone_err *err) {
    for (;; chunk = chunk > 1 ? chunk / 2 : 1) {
        size_t n = order_parts(r);
        bool any = false;
        for (size_t at = 0; at < n && !r->t.over; at += chunk) {
            bool gone;
            hone_rc rc = try_without(r, r->order + at, n - at < chunk ? n - at : chunk, &gone, err);
            if (rc) return rc;
            any |= gone;
        }
        if (r->t.over || (chunk == 1 && !any)) return HONE_OK;
    }
}

/* --- 4, 5: the guess, and what it lacks ------------------------------------------------------------------------------
 */

static hone_rc guess(reducer *r, hn_subset **out, hone_err *err) {
    for (size_t i = 0; i < r->t.lab->n; i++) r->again[i] = r->keep[i] && (!r->open[i] || r->screen.sure[i] > sure_t);
    return hn_subset_of(&r->t, r->again, out, err);
}

/* Adds the most effective of the others, twice as many each time, until it holds; at the latest all of them do. */
static hone_rc grow(reducer *r, const bool *from, hone_err *err) {
    size_t n = order_parts(r);
    bool holds = false, *with = hn_copy_keep(r->t.arena, from, r->t.lab->n);
    if (!with) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t step = 1; !holds && !r->t.over; step *= 2) {
        size_t left = step;
        while (n > 0 && left > 0) {
            size_t i = r->order[--n];
            left -= !with[i];
            with[i] = true;
        }
        if (n == 0) return HONE_OK; /* all of r->keep */
        hn_subset *s;
        hone_rc rc = hn_subset_of(&r->t, with, &s, err);
        if (!rc) rc = hn_holds(&r->t, s, TEST_MOST, &holds, err);
        if (rc) return rc;
        if (holds) memcpy(r->keep, s->keep, r->t.lab->n * sizeof *with);
    }
    return HONE_OK;
}

static hone_rc screen(reducer *r, hone_err *err) {
    bool holds = false, *open = hn_copy_keep(r->t.arena, r->open, r->t.lab->n);
    hn_subset *s = NULL;
    if (!open) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < r->t.lab->n; i++) open[i] = r->open[i] && r->keep[i];
    size_t asked = 0, more = SCREEN_FIRST;
    for (; !holds && asked < SCREEN_MOST && !r->t.over; more = SCREEN_STEP) {
        hone_rc rc = hn_screen_more(&r->t, &r->screen, r->keep, open, more, r->rules->seed, err);
        asked += more;
        if (!rc && r->screen.n_rows * 4 < asked) break; /* most halves fail, so they give no estimate for the whole */
        if (!rc) rc = guess(r, &s, err);
        if (!rc) rc = hn_holds(&r->t, s, SURE_MOST, &holds, err);
        if (rc) return rc;
    }
    if (holds) {
        memcpy(r->keep, s->keep, r->t.lab->n * sizeof *open);
        return shrink(r, 1, err);
    }
    if (!s) return shrink(r, (count(open, r->t.lab->n) + 1) / 2, err);
    hone_rc rc = grow(r, s->keep, err);
    return rc ? rc : shrink(r, (order_parts(r) + 3) / 4, err);
}

static hone_rc reduce_open(reducer *r, hone_err *err) {
    size_t n = order_parts(r);
    if (n > DIRECT_MOST && !r->t.lab->steady) return screen(r, err);
    return n ? shrink(r, n > 1 ? (n + 1) / 2 : 1, err) : HONE_OK;
}

/* --- 7: shares ------------------------------------------------------------------------------------------------------
 */

/* keep without part i and what needs it, in r->again. */
static const bool *without(reducer *r, const bool *keep, size_t i) {
    memcpy(r->again, keep, r->t.lab->n * sizeof *keep);
    r->again[i] = false;
    return r->again;
}

static hone_rc share_of(reducer *r, hn_subset *all, size_t part, hone_interval *out, hone_err *err) {
    hn_subset *less;
    hone_rc rc = hn_subset_of(&r->t, without(r, r->keep, part), &less, err);
    if (!rc && !r->t.over) rc = hn_identify(&r->t, &less, 1, err);
    if (!rc) rc = hn_measure_up_to(&r->t, less, SHARE_LEAST, err);
    if (!rc && !less->fails && less->n) *out = hn_loss_interval(&r->t, all, less);
    return rc;
}

/* The most effective first, by the estimates of the screening: the budget may end before the last. */
static hone_rc shares(reducer *r, hn_reduced *out, hone_err *err) {
    hn_subset *all;
    hone_rc rc = hn_subset_of(&r->t, r->keep, &all, err);
    for (size_t i = 0; i < r->t.lab->n; i++) r->open[i] = true;
    if (!rc) rc = hn_measure_up_to(&r->t, all, WHOLE_LEAST, err);
    for (size_t n = order_parts(r); !rc && n-- > 0;) rc = share_of(r, all, r->order[n], &out->share[r->order[n]], err);
    if (rc == HONE_E_INTERRUPTED) rc = HONE_OK, out->complete = false;
    if (!rc && all->n) out->after = hn_gain_interval(&r->t, all, 0);
    return rc;
}

/* --- all of it ------------------------------------------------------------------------------------------------------
 */

static bool make_reducer(reducer *r, const hn_reduce_lab *lab, const hn_reduce_rules *rules, hn_arena *a,
                         hn_reduced *out) {
    *r = (reducer){.t = {.lab = lab, .arena = a, .most = rules->most ? rules->most : 800}, .rules = rules};
    r->t.tolerance = HN_NEW_N(a, double, lab->n_gains);
    r->keep = HN_NEW_N(a, bool, lab->n + 1);
    r->open = HN_NEW_N(a, bool, lab->n + 1);
    r->again = HN_NEW_N(a, bool, lab->n + 1);
    r->order = HN_NEW_N(a, size_t, lab->n + 1);
    out->keep = HN_NEW_N(a, bool, lab->n + 1);
    out->share = HN_NEW_N(a, hone_interval, lab->n + 1);
    if (!hn_arena_ok(a)) return false;
    for (size_t i = 0; i < lab->n; i++) {
        r->keep[i] = r->open[i] = true;
        out->share[i] = (hone_interval){NAN, NAN, NAN};
    }
    out->before = out->after = (hone_interval){NAN, NAN, NAN};
    return true;
}

/* After an interruption the result is the smallest subset known to hold. */
static hone_rc search(reducer *r, hn_reduced *out, hone_err *err) {
    r->t.reserve = for_shares;
    hone_rc rc = try_families(r, err);
    if (!rc) rc = reduce_open(r, err);
    bool stopped = rc == HONE_E_INTERRUPTED;
    if (rc && !stopped) return rc;
    out->complete = !stopped && !r->t.over;
    r->t.reserve = 0;
    r->t.over = stopped;
    rc = shares(r, out, err);
    out->complete = out->complete && !r->t.over;
    return rc;
}

hone_rc hn_reduce_point(const hn_reduce_lab *lab, const hn_reduce_rules *rules, hn_arena *a, hn_reduced *out,
                        hone_err *err) {
    hn_reduced x = {.complete = true};
    reducer r;
    if (!make_reducer(&r, lab, rules, a, &x)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_drop_same(&r.t, r.keep, err);
    if (!rc) rc = measure_whole(&r, &x, err);
    if (!rc && x.no_gain) {
        memset(r.keep, 0, lab->n * sizeof *r.keep);
        x.after = (hone_interval){0, 0, 0};
    } else if (!rc) {
        rc = search(&r, &x, err);
    }
    if (rc) return rc;
    memcpy(x.keep, r.keep, lab->n * sizeof *r.keep);
    x.n_measured = r.t.n_measured;
    for (size_t i = 0; i < r.t.n; i++) x.n_tried += r.t.subset[i]->n > 0;
    *out = x;
    return HONE_OK;
}
