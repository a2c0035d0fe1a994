/* tune/opening.c — the stages of the opening, driven by what is told. */
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS_LEAST = 4, SEEDS_MOST = 24 };
/* The winners of earlier sessions take a tenth of the evaluations, but one is always tried. */
enum { WINNERS_MOST = 10, WINNERS_SHARE = 10 };
static const double noise_least = 0.003;

static double *point_at(const hn_tuner *t, size_t i) { return t->opening.point + i * hone_space_slots(t->plan->space); }

/* Takes a combination in, unless no point or an earlier one is its. */
static void add_combination(hn_tuner *t, const hn_combination *x) {
    hn_opening *o = &t->opening;
    const hone_space *space = t->plan->space;
    double *point = point_at(t, o->n);
    if (!hn_big_choices_point(&o->choices, x, point) || hone_point_equal(space, point, t->plan->base)) return;
    for (size_t i = 0; i < o->n; i++)
        if (hone_point_equal(space, point_at(t, i), point)) return;
    o->combination[o->n++] = *x;
}

/* At most half of the budget. */
hone_rc hn_opening_begin(hn_tuner *t, hone_err *err) {
    hn_opening *o = &t->opening;
    hn_combination design[HN_DESIGN_MOST];
    hone_rc rc = hn_big_choices_open(t->plan, &o->choices, err);
    if (rc) return rc;
    o->point = malloc((HN_OPENING_MOST * hone_space_slots(t->plan->space) + 1) * sizeof *o->point);
    if (!o->point) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    size_t n = hn_big_choices_design(&o->choices, design),
           most = t->o->max_evals ? t->o->max_evals / 2 : HN_DESIGN_MOST;
    for (size_t i = 0; i < n && o->n < most; i++) add_combination(t, &design[i]);
    o->n_design = o->n;
    return HONE_OK;
}

void hn_opening_close(hn_tuner *t) {
    if (t->opening.choices.plan) hn_big_choices_close(&t->opening.choices);
    free(t->opening.point);
    t->opening.point = NULL;
}

/* --- what was asked and told -------------------------------------------------------------------------------------- */

static size_t find(const hn_tuner *t, const double *point) {
    for (size_t i = 0; i < t->opening.n; i++)
        if (hone_point_equal(t->plan->space, point_at(t, i), point)) return i;
    return SIZE_MAX;
}

const char *hn_opening_asked(hn_tuner *t, const double *point, const char *origin) {
    hn_opening *o = &t->opening;
    size_t i = find(t, point);
    if (i != SIZE_MAX) {
        o->asked[i] = true;
        return i < o->n_design ? "plain" : "combined";
    }
    /* The engine's own turn: what is left of this stage cannot be asked. */
    for (i = 0; o->stage != HN_OPENING_OVER && strcmp(origin, "seed") && i < o->n; i++)
        if (!o->asked[i] && !o->told[i]) o->told[i] = o->failed[i] = true;
    return origin;
}

void hn_opening_told(hn_tuner *t, const double *point, double log_ratio) {
    size_t i = find(t, point);
    if (i == SIZE_MAX) return;
    t->opening.told[i] = true;
    t->opening.failed[i] = !isfinite(log_ratio);
    t->opening.y[i] = log_ratio;
}

bool hn_opening_waits(const hn_tuner *t) {
    const hn_opening *o = &t->opening;
    for (size_t i = 0; i < o->n; i++)
        if (!o->asked[i] && !o->told[i]) return false;
    return o->stage != HN_OPENING_OVER;
}

static bool all_told(const hn_opening *o) {
    for (size_t i = 0; i < o->n; i++)
        if (!o->told[i]) return false;
    return true;
}

/* --- what it says ------------------------------------------------------------------------------------------------- */

size_t hone_tune_effect_text(const hone_effect *e, char *buf, size_t n) {
    int len;
    bool wide = e->hi / e->lo > 1.05;
    if (isnan(e->gain))
        len = snprintf(buf, n, "%s: none of %lld trials worked", e->words, (long long)e->n_trials);
    else if (e->lo <= 1 && e->hi >= 1)
        len = snprintf(buf, n, "%s: no %sdifference (%.2f to %.2f)", e->words, wide ? "clear " : "", e->lo, e->hi);
    else
        len = snprintf(buf, n, "%s: %.2fx (%.2f to %.2f)", e->words, e->gain, e->lo, e->hi);
    return len > 0 ? (size_t)len : 0;
}

static void tell_effects(hn_tuner *t, const hone_effect *effect, size_t n) {
    hn_str s = {0};
    char line[400];
    for (size_t i = 0; i < n; i++) {
        hone_tune_effect_text(&effect[i], line, sizeof line);
        hn_str_addf(&s, "%s%s", i ? "\n" : "", line);
    }
    if (s.text && !s.failed) hn_tuner_emit(t, HONE_TUNE_EFFECTS, n, n, NULL, s.text);
    hn_str_free(&s);
}

/* The measurements that worked, packed. */
static size_t pack(const hn_opening *o, hn_combination *x, double *y) {
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (!o->told[i] || o->failed[i]) continue;
        x[n] = o->combination[i];
        y[n++] = o->y[i];
    }
    return n;
}

static void fit(const hn_tuner *t, hn_effects *out) {
    hn_combination x[HN_OPENING_MOST];
    double y[HN_OPENING_MOST];
    size_t n = pack(&t->opening, x, y);
    hn_effects_fit(&t->opening.choices.factors, x, y, n, fmax(t->bench.base.noise, noise_least), out);
}

static hone_rc report(hn_tuner *t, const hn_effects *e, hone_err *err) {
    hn_opening *o = &t->opening;
    hone_effect *effect;
    size_t n, n_told = 0;
    while (n_told < o->n && o->told[n_told]) n_told++;
    hone_rc rc = hn_big_choices_effects(&o->choices, e, o->combination, o->failed, n_told, &effect, &n, err);
    if (!rc) rc = hone_session_put_effects(t->store, t->session.id, effect, n, err);
    if (!rc && n) tell_effects(t, effect, n);
    return rc;
}

/* --- what follows ------------------------------------------------------------------------------------------------- */

/* The combinations that the effects promise to be the best. With several objectives there is no single best. */
static hone_rc add_combined(hn_tuner *t, const hn_effects *e, hone_err *err) {
    hn_opening *o = &t->opening;
    hn_combination best[HN_COMBINED_MOST];
    size_t most = t->o->max_evals ? t->o->max_evals / 16 : HN_COMBINED_MOST, before = o->n;
    double lead = fmin(0, t->best_log_ratio);
    if (most > HN_COMBINED_MOST) most = HN_COMBINED_MOST;
    if (t->w->n_objectives > 1) return HONE_OK;
    size_t n = hn_big_choices_promising(&o->choices, e, o->combination, o->failed, o->n_design, lead, most, best);
    for (size_t i = 0; i < n; i++) add_combination(t, &best[i]);
    return hn_window_add_seeds(&t->window, point_at(t, before), o->n - before, err);
}

/* An eighth of the budget: rule seeds only start the search. */
static size_t rules_wanted(const hn_tuner *t) {
    size_t most = t->o->max_evals ? t->o->max_evals / 8 : SEEDS_MOST;
    return most < SEEDS_LEAST ? SEEDS_LEAST : most > SEEDS_MOST ? SEEDS_MOST : most;
}

/* Evaluations that the whole budget has room for: what it says, or as many as its time has room for when they go on as
 * those so far; 0: neither tells. */
static size_t expected_evals(const hn_tuner *t) {
    double spent_s = hn_now_s() - t->begin_s, whole_s = t->whole_deadline_s - t->begin_s;
    size_t most = t->o->max_evals, n = t->n_trials > t->n_past ? t->n_trials - t->n_past : 0;
    if (!isfinite(whole_s) || !n || !(spent_s > 0)) return most;
    double by_time = floor((double)n * fmax(1, whole_s / spent_s));
    return most && (double)most < by_time ? most : (size_t)by_time;
}

static size_t winners_wanted(size_t n_evals) {
    size_t most = n_evals ? n_evals / WINNERS_SHARE : WINNERS_MOST;
    return most < 1 ? 1 : most > WINNERS_MOST ? WINNERS_MOST : most;
}

hone_rc hn_opening_winners(hn_tuner *t, size_t from, size_t to, hone_err *err) {
    char **winner = NULL;
    size_t n = 0;
    if (!t->o->warm_start || from >= to) return HONE_OK;
    double *point = malloc((hone_space_slots(t->plan->space) + 1) * sizeof *point);
    if (!point) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hone_store_winners(t->store, t->session.space_hash, t->session.id, to, &winner, &n, err);
    for (size_t i = from; !rc && i < n; i++)
        if (!hone_point_from_json(t->plan->space, winner[i], point, NULL))
            rc = hn_window_add_seeds(&t->window, point, 1, err);
    hone_free(winner);
    free(point);
    return rc;
}

static hone_rc add_rules(hn_tuner *t, hone_err *err) {
    double *from = malloc((hone_space_slots(t->plan->space) + 1) * sizeof *from);
    hone_outcome seen;
    hn_seeds rules = {0};
    if (!from) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    size_t n_evals = expected_evals(t);
    bool better = t->w->n_objectives == 1 && t->best_log_ratio < 0 && hn_window_best(&t->window, from, &seen);
    hone_rc rc =
        hn_plan_rules(t->plan, better ? from : t->plan->base, rules_wanted(t), hn_learned_most(n_evals), &rules, err);
    if (!rc) rc = hn_window_add_seeds(&t->window, rules.point, rules.n, err);
    hn_seeds_free(&rules);
    free(from);
    return rc;
}

hone_rc hn_opening_go_on(hn_tuner *t, hone_err *err) {
    hn_opening *o = &t->opening;
    hone_rc rc = HONE_OK;
    while (!rc && o->stage != HN_OPENING_OVER && all_told(o)) {
        hn_effects e;
        fit(t, &e);
        if (o->stage == HN_OPENING_DESIGN)
            rc = add_combined(t, &e, err);
        else if (!(rc = hn_opening_winners(t, 1, winners_wanted(expected_evals(t)), err)) &&
                 !(rc = add_rules(t, err)) && o->n)
            rc = report(t, &e, err);
        o->stage++;
    }
    return rc;
}

hone_rc hn_opening_end(hn_tuner *t, hone_err *err) {
    hn_effects e;
    if (t->opening.stage == HN_OPENING_OVER || !t->opening.n || !t->opening.told[0]) return HONE_OK;
    fit(t, &e);
    return report(t, &e, err);
}
