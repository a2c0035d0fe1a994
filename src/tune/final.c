/* tune/final.c — the closing race: the best few, built afresh, in interleaved passes beside the baseline. What the
 * search measured of them is not used: the best of many is partly luck (architecture, "Search recipe": 3 % on average).
 */
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "measure/race.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTENDERS = 5, ROUNDS = 9, ROUNDS_LEAST = 3 };

typedef struct contender {
    double *point;
    hn_recipe recipe;
    hn_build build;
    hn_measured m;
    bool out;
} contender;

typedef struct race {
    hn_tuner *t;
    contender c[CONTENDERS];
    size_t n;
} race;

/* As many as there is time for, when each takes as long as a trial has: two at the least. */
static size_t most_contenders(const hn_tuner *t) {
    double left_s = t->end_s - hn_now_s();
    return left_s >= CONTENDERS * t->trial_s ? CONTENDERS : left_s > 2 * t->trial_s ? (size_t)(left_s / t->trial_s) : 2;
}

static hone_rc line_up(race *r, hone_err *err) {
    hn_tuner *t = r->t;
    size_t slots = hone_space_slots(t->plan->space);
    size_t most = most_contenders(t);
    for (size_t i = 0; i < t->elite.n && r->n < most; i++) {
        if (t->elite.entry[i].key == t->baseline_key) continue; /* the same code cannot be faster than itself */
        contender *c = &r->c[r->n];
        c->point = malloc((slots + 1) * sizeof *c->point);
        if (!c->point) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        memcpy(c->point, t->elite.entry[i].point, slots * sizeof *c->point);
        hone_rc rc = hn_plan_recipe(t->plan, c->point, &c->recipe, err);
        if (rc) return rc;
        r->n++;
    }
    return HONE_OK;
}

static hone_rc build_afresh(race *r, hone_err *err) {
    hn_recipe recipe[CONTENDERS];
    hn_build build[CONTENDERS];
    char text[CONTENDERS][32], *name[CONTENDERS];
    for (size_t i = 0; i < r->n; i++) {
        recipe[i] = r->c[i].recipe;
        snprintf(text[i], sizeof text[i], "final%zu", i);
        name[i] = text[i];
    }
    hone_rc rc = hn_build_all(&r->t->builder, recipe, name, r->n, build, err);
    for (size_t i = 0; !rc && i < r->n; i++) {
        r->c[i].build = build[i];
        r->c[i].m.cls = build[i].cls;
        r->c[i].out = build[i].cls != HONE_RUN_OK;
    }
    return rc;
}

static size_t leader(const race *r) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < r->n; i++) {
        const contender *c = &r->c[i];
        if (c->out || !c->m.n_pass) continue;
        double mine = hn_median_log_ratio(&r->t->bench, &c->m, 0);
        if (best == SIZE_MAX || mine < hn_median_log_ratio(&r->t->bench, &r->c[best].m, 0)) best = i;
    }
    return best;
}

/* Those clearly behind the leader leave. */
static void thin_out(race *r) {
    size_t first = leader(r);
    if (first == SIZE_MAX || r->t->w->n_objectives > 1) return;
    double lead[HN_MAX_PASSES], mine[HN_MAX_PASSES];
    size_t n_lead = hn_ratios(&r->t->bench, &r->c[first].m, lead);
    hn_race_config rules = hn_race_rules(&r->t->bench, ROUNDS);
    for (size_t i = 0; i < r->n; i++) {
        if (i == first || r->c[i].out) continue;
        size_t n = hn_ratios(&r->t->bench, &r->c[i].m, mine);
        r->c[i].out = n >= 3 && hn_race_decide(lead, n_lead, mine, n, &rules).verdict == HN_RACE_DROP;
    }
}

static hone_rc one_round(race *r, size_t round, hone_err *err) {
    size_t order[CONTENDERS];
    hn_rng rng = hn_rng_make(r->t->o->seed, 0xf1a1u + round);
    for (size_t i = 0; i < r->n; i++) order[i] = i;
    for (size_t i = r->n; i > 1; i--) {
        size_t k = (size_t)hn_rng_below(&rng, i), x = order[i - 1];
        order[i - 1] = order[k];
        order[k] = x;
    }
    for (size_t i = 0; i < r->n; i++) {
        contender *c = &r->c[order[i]];
        if (c->out) continue;
        hone_rc rc = hn_measure_pass(&r->t->bench, &c->recipe, &c->build, round == 0, 0, &c->m, err);
        if (!rc && round == 0) rc = hn_confirm(&r->t->bench, &c->recipe, &c->build, &c->m, err);
        if (rc) return rc;
        c->out = c->m.cls != HONE_RUN_OK;
    }
    return HONE_OK;
}

static hone_rc record(race *r, size_t i, hone_err *err) {
    contender *c = &r->c[i];
    hn_tuner *t = r->t;
    char *json = NULL;
    hone_rc rc = hone_point_to_json(t->plan->space, c->point, &json, err);
    if (rc) return rc;
    hone_trial trial = {.phase = "race", .point = json, .origin = "race", .object_hash = c->build.object_hash};
    trial.point_hash = hone_point_hash(t->plan->space, c->point);
    trial.detail = c->build.cls ? c->build.detail : c->m.detail;
    trial.build_s = c->build.build_s;
    trial.run_s = c->m.run_s;
    trial.suspect = c->m.suspect;
    trial.sample = c->m.samples.sample;
    trial.n_samples = c->m.samples.n;
    if (c->m.cls == HONE_RUN_OK && !c->m.n_pass) c->m.cls = HONE_NO_METRIC;
    hn_outcome_of(&t->bench, &c->build, &c->m, &trial.outcome);
    rc = hn_journal_trial(t, &trial, err);
    hone_free(json);
    return rc;
}

/* --- the result
 * --------------------------------------------------------------------------------------------------------- */

static hone_rc name_winner(hn_tuner *t, const double *point, hone_tune_result *out, hone_err *err) {
    hn_recipe recipe;
    hone_rc rc = hn_plan_recipe(t->plan, point, &recipe, err);
    if (rc) return rc;
    char *line = hn_recipe_line(&recipe, true), *json = NULL;
    hn_recipe_free(&recipe);
    if (!line) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    rc = hone_point_to_json(t->plan->space, point, &json, err);
    if (rc) {
        free(line);
        return rc;
    }
    out->best_argv = line;
    out->best_point = json;
    return HONE_OK;
}

static void state_speedup(const race *r, size_t i, hone_tune_result *out) {
    const hn_bench_ctx *b = &r->t->bench;
    double x[HN_MAX_PASSES];
    size_t n = hn_ratios(b, &r->c[i].m, x);
    hone_interval ci = hone_stat_bootstrap_median(x, n, 0.95, 2000, r->t->o->seed);
    out->speedup = b->base.plain[0] ? NAN : exp(-hn_median_log_ratio(b, &r->c[i].m, 0));
    out->speedup_lo = b->base.plain[0] ? NAN : 1 / ci.hi;
    out->speedup_hi = b->base.plain[0] ? NAN : 1 / ci.lo;
}

static hone_rc run_race(race *r, hone_err *err) {
    size_t rounds = r->t->bench.any_noisy ? ROUNDS : 1;
    hone_rc rc = build_afresh(r, err);
    for (size_t k = 0; !rc && k < rounds; k++) {
        if (k >= ROUNDS_LEAST && hn_now_s() > r->t->end_s) break;
        rc = one_round(r, k, err);
        thin_out(r);
        hn_tuner_emit(r->t, HONE_TUNE_RACE, k + 1, rounds, NULL, NULL);
    }
    for (size_t i = 0; !rc && i < r->n; i++) rc = record(r, i, err);
    return rc;
}

hone_rc hn_final(hn_tuner *t, hone_tune_result *out, hone_err *err) {
    race r = {.t = t};
    hone_rc rc = line_up(&r, err);
    if (!rc && r.n) rc = run_race(&r, err);
    size_t first = rc ? SIZE_MAX : leader(&r);
    out->speedup = out->speedup_lo = out->speedup_hi = 1;
    bool any_will_do = t->w->n_objectives > 1 || t->bench.base.infeasible;
    bool beats = first != SIZE_MAX && (any_will_do || hn_median_log_ratio(&t->bench, &r.c[first].m, 0) < 0);
    if (!rc && beats) state_speedup(&r, first, out);
    if (!rc) rc = name_winner(t, beats ? r.c[first].point : t->plan->base, out, err);
    for (size_t i = 0; i < r.n; i++) {
        hn_build_drop(&r.c[i].build, t->o->keep_builds);
        hn_recipe_free(&r.c[i].recipe);
        hn_measured_free(&r.c[i].m);
        free(r.c[i].point);
    }
    if (r.n < CONTENDERS) free(r.c[r.n].point);
    return rc;
}

hone_rc hn_best_so_far(hn_tuner *t, hone_tune_result *out, hone_err *err) {
    hone_tune_result_free(out);
    bool any = t->elite.n > 0 && (t->best_log_ratio < 0 || t->bench.base.infeasible);
    out->speedup = !any ? 1 : t->bench.base.plain[0] ? NAN : exp(-t->best_log_ratio);
    out->speedup_lo = out->speedup_hi = NAN;
    return name_winner(t, any ? t->elite.entry[0].point : t->plan->base, out, err);
}
