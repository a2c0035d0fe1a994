/* tune/final.c — the closing race: the best few, built afresh, in interleaved passes beside the baseline. What the
 * search measured of them is not used: the best of many noisy values is biased, by 3 % on average.
 */
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"
#include "experiment/contest.h"

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
} contender;

typedef struct race {
    hn_tuner *t;
    contender c[CONTENDERS]; /* as contest.x */
    hn_contest contest;
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
    for (size_t i = 0; i < t->elite.n && r->contest.n < most; i++) {
        if (!hn_contest_enter(&r->contest, i)) continue; /* the same code cannot be faster than itself */
        contender *c = &r->c[r->contest.n - 1];
        c->point = malloc((slots + 1) * sizeof *c->point);
        if (!c->point) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        memcpy(c->point, t->elite.entry[i].point, slots * sizeof *c->point);
        hone_rc rc = hn_plan_recipe(t->plan, c->point, &c->recipe, err);
        if (rc) return rc;
    }
    return HONE_OK;
}

/* --- the contest -----------------------------------------------------------------------------------------------------
 */

static uint64_t key_of(void *ctx, size_t i) {
    const hn_tuner *t = ((race *)ctx)->t;
    return i == HN_BASELINE ? t->baseline_key : t->elite.entry[i].key;
}

static hone_rc build_afresh(void *ctx, hn_contest *contest, hone_err *err) {
    race *r = ctx;
    hn_recipe recipe[CONTENDERS];
    hn_build build[CONTENDERS];
    char text[CONTENDERS][32], *name[CONTENDERS];
    if (contest->n_rounds) return HONE_OK;
    for (size_t i = 0; i < contest->n; i++) {
        recipe[i] = r->c[i].recipe;
        snprintf(text[i], sizeof text[i], "final%zu", i);
        name[i] = text[i];
    }
    hone_rc rc = hn_build_all(&r->t->builder, recipe, name, contest->n, build, err);
    for (size_t i = 0; !rc && i < contest->n; i++) {
        r->c[i].build = build[i];
        r->c[i].m.cls = build[i].cls;
        contest->x[i].failed = build[i].cls != HONE_RUN_OK;
    }
    return rc;
}

static hone_rc run_pass(void *ctx, hn_contest *contest, hn_contender *x, hone_err *err) {
    race *r = ctx;
    hn_bench_ctx *b = &r->t->bench;
    contender *c = &r->c[x - contest->x];
    bool first = contest->n_rounds == 0;
    hone_rc rc = hn_measure_pass(b, &c->recipe, &c->build, first, 0, &c->m, err);
    if (!rc && first) rc = hn_confirm(b, &c->recipe, &c->build, &c->m, err);
    x->failed = c->m.cls != HONE_RUN_OK;
    if (rc || x->failed) return rc;
    return hn_contest_add(contest, x, -hn_log_ratio(b, &c->m, 0, c->m.n_pass - 1), err);
}

static bool end_round(void *ctx, hn_contest *contest) {
    hn_tuner *t = ((race *)ctx)->t;
    hn_race_config rules = hn_race_rules(&t->bench, ROUNDS);
    if (t->w->n_objectives == 1) hn_judge_race(contest, ROUNDS_LEAST, &rules);
    hn_tuner_emit(t, HONE_TUNE_RACE, contest->n_rounds, contest->rules.most, NULL, NULL);
    return false;
}

static const hn_experiment passes = {key_of, build_afresh, run_pass, end_round};

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

/* --- the result --------------------------------------------------------------------------------------------------- */

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

hone_rc hn_final(hn_tuner *t, hone_tune_result *out, hone_err *err) {
    race r = {.t = t, .contest = {.of = &passes}};
    r.contest.ctx = &r;
    r.contest.rules = (hn_contest_rules){.least = ROUNDS_LEAST, .most = t->bench.any_noisy ? ROUNDS : 1};
    r.contest.rules.until_s = t->end_s, r.contest.rules.last_s = INFINITY, r.contest.rules.seed = t->o->seed;
    hone_rc rc = line_up(&r, err);
    if (!rc) rc = hn_contest_run(&r.contest, err);
    for (size_t i = 0; !rc && i < r.contest.n; i++) rc = record(&r, i, err);
    const hn_contender *lead = rc ? NULL : hn_contest_leader(&r.contest);
    size_t first = lead ? (size_t)(lead - r.contest.x) : 0;
    out->speedup = out->speedup_lo = out->speedup_hi = 1;
    bool any_will_do = t->w->n_objectives > 1 || t->bench.base.infeasible;
    bool beats = lead && (any_will_do || hn_median_log_ratio(&t->bench, &r.c[first].m, 0) < 0);
    if (!rc && beats) state_speedup(&r, first, out);
    if (!rc) rc = name_winner(t, beats ? r.c[first].point : t->plan->base, out, err);
    for (size_t i = 0; i < r.contest.n; i++) {
        hn_build_drop(&r.c[i].build, t->o->keep_builds);
        hn_recipe_free(&r.c[i].recipe);
        hn_measured_free(&r.c[i].m);
        free(r.c[i].point);
    }
    hn_contest_close(&r.contest);
    return rc;
}

hone_rc hn_best_so_far(hn_tuner *t, hone_tune_result *out, hone_err *err) {
    hone_tune_result_free(out);
    bool any = t->elite.n > 0 && (t->best_log_ratio < 0 || t->bench.base.infeasible);
    out->speedup = !any ? 1 : t->bench.base.plain[0] ? NAN : exp(-t->best_log_ratio);
    out->speedup_lo = out->speedup_hi = NAN;
    return name_winner(t, any ? t->elite.entry[0].point : t->plan->base, out, err);
}
