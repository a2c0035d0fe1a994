/* prove/canary.c — do the controls reach the compiler, and do they change the measured values? Three builds on the same
 * path as every candidate: the baseline, the baseline's flags as a point of the space, the baseline with -O0. */
#include "tune/host.h"
#include "tune/trial.h"

#include <hone/prove.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "experiment/contest.h"
#include "prove/site.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BASE, AS_POINT, SLOW, N_BUILDS, PAIRS_LEAST = 3, PAIRS_MOST = 48, LOOK = 6 };
/* Pairs end early once every one of them is slower than this. */
static const double clearly_slower = 1.1;

typedef struct canary {
    const hone_workload *w;
    hone_tune_options tune;
    hn_plan *plan;
    hn_recipe recipe[N_BUILDS];
    hn_build build[N_BUILDS];
    char *work_dir;
    double waited_s;
    size_t k; /* the objective that -O0 must be worse in; n_objectives: none is a timing */
    size_t input;
    bool slow_fails;    /* -O0 builds but does not run to its end */
    hn_contest contest; /* -O0 against the baseline */
    const hone_prove_options *o;
    double started_s;
} canary;

static void emit(canary *c, hone_prove_stage stage, size_t done, size_t total) {
    const hone_progress *to = &c->o->progress;
    hone_prove_event e = {.stage = stage, .n_candidates = 1, .gain = {NAN, NAN, NAN}};
    e.base = (hone_event){hn_prove_word(stage), done, total, hn_now_s() - c->started_s, NAN, NULL};
    if (to->fn) to->fn(to->arg, &e.base);
}

static void tell_discovery(void *ctx, const hone_event *e) { emit(ctx, HONE_PROVE_BUILD, e->done, e->total); }

/* --- building ------------------------------------------------------------------------------------------------------
 */

/* The baseline with a word appended: compilers use the last level given. */
static hone_rc slow_recipe(canary *c, hone_err *err) {
    hn_recipe *r = &c->recipe[SLOW];
    hone_rc rc = hn_plan_recipe(c->plan, NULL, r, err);
    if (rc) return rc;
    const char **flag = HN_NEW_N(&r->arena, const char *, r->n_flags + 2);
    if (!flag) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (r->n_flags) memcpy(flag, r->flag, r->n_flags * sizeof *flag);
    flag[r->n_flags++] = hn_target_family(r->target)->worst;
    r->flag = flag;
    return HONE_OK;
}

static char *make_work_dir(const hone_workload *w, const hone_prove_options *o) {
    char name[64];
    snprintf(name, sizeof name, "%swork/canary-%ld", o->store_dir ? "" : ".hone/", (long)getpid());
    return hn_path_join(o->store_dir ? o->store_dir : w->dir, name);
}

static hone_rc build_all(canary *c, const hone_prove_options *o, hone_err *err) {
    char *name[N_BUILDS] = {"base", "point", "slow"};
    hone_rc rc = hn_plan_recipe(c->plan, NULL, &c->recipe[BASE], err);
    if (!rc) rc = hn_plan_recipe(c->plan, c->plan->base, &c->recipe[AS_POINT], err);
    if (!rc) rc = slow_recipe(c, err);
    c->work_dir = make_work_dir(c->w, o);
    if (!rc && !c->work_dir) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_build_config cfg = {.w = c->w, .options = &c->tune, .root = c->work_dir, .cpu = -1, .waited_s = &c->waited_s};
    cfg.jobs = o->n_jobs ? (int)o->n_jobs : N_BUILDS;
    if (!rc) rc = hn_build_all(&cfg, c->recipe, name, N_BUILDS, c->build, err);
    if (!rc && c->build[BASE].cls != HONE_RUN_OK)
        rc = hn_fail(err, HONE_E_BASELINE, "the baseline does not build (%s): %.800s",
                     hone_outcome_class_name(c->build[BASE].cls), c->build[BASE].detail);
    return rc;
}

/* --- running -------------------------------------------------------------------------------------------------------
 */

/* The first objective that a run times, and the first input that is tuned on. */
static void choose(canary *c) {
    for (c->k = 0; c->k < c->w->n_objectives; c->k++) {
        const hn_quantity *q = &c->w->objective[c->k].quantity;
        if (hn_quantity_is_noisy(q) && q->source != HN_FROM_RSS) break;
    }
    while (c->w->input[c->input].held_out) c->input++;
}

static hone_rc run_side(canary *c, int side, uint64_t noise, hn_run *out, hone_err *err) {
    hn_run_config cfg = {.w = c->w, .options = &c->tune, .ref_dir = c->work_dir, .cpu = c->tune.cpu};
    cfg.waited_s = &c->waited_s;
    hone_rc rc = hn_run_once(&cfg, &c->recipe[side], &c->build[side], c->input, side == BASE, HN_RUN_MEASURE, false,
                             noise, NULL, out, err);
    if (!rc && side == BASE && out->cls != HONE_RUN_OK)
        rc = hn_fail(err, HONE_E_BASELINE, "the baseline does not work (%s): %.800s", hone_outcome_class_name(out->cls),
                     out->detail);
    return rc;
}

/* Gain of -O0 over the baseline, as logarithm: negative when it is slower, as it should be. NAN: no ratio. */
static double log_gain(const canary *c, double base, double slow) {
    if (!(base > 0) || !(slow > 0)) return NAN;
    return c->w->objective[c->k].maximize ? log(slow / base) : log(base / slow);
}

static hone_interval gain_of(const canary *c) {
    const hn_contender *x = c->contest.x;
    if (!x->n) return (hone_interval){NAN, NAN, NAN};
    hone_interval g = hone_stat_bootstrap_median(x->z, x->n, 0.95, 2000, c->o->seed);
    return (hone_interval){exp(g.lo), exp(g.mid), exp(g.hi)};
}

static hone_rc run_pair(void *ctx, hn_contest *contest, hn_contender *x, hone_err *err) {
    canary *c = ctx;
    hn_run run[N_BUILDS];
    int first = hn_base_first(contest->n_rounds) ? BASE : SLOW, second = first == BASE ? SLOW : BASE;
    hone_rc rc = run_side(c, first, contest->n_rounds, &run[first], err);
    if (!rc) rc = run_side(c, second, contest->n_rounds, &run[second], err);
    if (rc) return rc;
    double g = log_gain(c, run[BASE].quantity[c->k], run[SLOW].quantity[c->k]);
    c->slow_fails = run[SLOW].cls != HONE_RUN_OK; /* works only when optimised, so the controls do reach the compiler */
    x->failed = c->slow_fails || isnan(g);
    return x->failed ? HONE_OK : hn_contest_add(contest, x, g, err);
}

static bool is_clear(void *ctx, hn_contest *contest) {
    const hn_contender *x = contest->x;
    bool clear = x->n >= PAIRS_LEAST;
    for (size_t i = 0; i < x->n; i++) clear = clear && x->z[i] < -log(clearly_slower);
    return clear || (x->n && x->n % LOOK == 0 && gain_of(ctx).hi < 1);
}

static const hn_experiment pairs = {NULL, NULL, run_pair, is_clear};

/* --- the verdict ---------------------------------------------------------------------------------------------------
 */

static const char never_reach[] =
    "turning optimisation off gives the same program as the baseline's flags: the controls do not reach the compiler. "
    "Look at: a "
    "build "
    "command that does not pass {flags} on (a makefile that sets CFLAGS itself, or := over the environment), a "
    "compiler cache or a build folder outside {dir} that keeps old objects, {cc} replaced by a fixed compiler";
static const char not_same[] =
    "the baseline's flags, written out by hone as controls, do not give the baseline's program again: the build is "
    "not reproducible (__DATE__, __TIME__, random names or absolute paths in the program), or it adds flags of its own "
    "that disagree with {flags}";
static const char odd_level[] =
    "the baseline states no level of optimisation that candidates have, and every candidate has one: what a level "
    "gains would be all that is found. Give `baseline` the level that the program is built with";
static const char not_slower[] =
    "turning optimisation off changes the program but not what is measured: the time is spent elsewhere. Look at: hot "
    "code in "
    "a library "
    "or a file that this build does not compile, a run too short to be timed, a program that waits (I/O, sleep), "
    "a metric that does not cover the kernel";

static hone_canary_result judge(const canary *c) {
    hone_canary_result r = {
        .applies = true, .default_same = true, .o0_differs = true, .o0_gain = gain_of(c), .text = ""};
    const hn_build *b = c->build;
    r.o0_differs = strcmp(b[SLOW].object_hash, b[BASE].object_hash) != 0;
    r.default_same = b[AS_POINT].cls == HONE_RUN_OK && !strcmp(b[AS_POINT].object_hash, b[BASE].object_hash);
    if (c->plan->odd_level)
        r.text = odd_level;
    else if (!r.o0_differs)
        r.text = never_reach;
    else if (!r.default_same)
        r.text = not_same;
    else if (c->contest.x[0].n && !(r.o0_gain.hi < 1))
        r.text = not_slower;
    r.passed = !*r.text;
    return r;
}

static void close_canary(canary *c, bool keep) {
    for (int i = 0; i < N_BUILDS; i++) {
        hn_build_drop(&c->build[i], keep);
        hn_recipe_free(&c->recipe[i]);
    }
    if (c->work_dir) {
        hn_remove_tree(c->work_dir, NULL);
        *strrchr(c->work_dir, '/') = 0;
        rmdir(c->work_dir); /* fails while another process uses the folder */
    }
    free(c->work_dir);
    if (c->plan) hn_plan_close(c->plan);
}

/* Can the canary run? A workload without controls or without a build has no compiler to test. */
static bool applies(const hone_workload *w) { return w->controls && *w->build; }

hone_rc hone_canary_run(const hone_workload *workload, const hone_prove_options *options, hone_canary_result *out,
                        hone_err *err) {
    hone_prove_options o = hone_prove_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "prove", err);
    if (rc) return rc;
    if (!applies(workload)) {
        *out = (hone_canary_result){.passed = true, .default_same = true, .o0_differs = true, .text = ""};
        out->o0_gain = (hone_interval){NAN, NAN, NAN};
        return HONE_OK;
    }
    canary c = {.w = workload, .o = &o, .started_s = hn_now_s()};
    c.tune = hn_prove_tuning(&o);
    c.tune.cpu = hn_host_core(workload, o.cpu);
    hone_progress progress = {tell_discovery, &c};
    rc = hn_plan_open(workload, &c.tune, &progress, &c.plan, err);
    if (!rc) emit(&c, HONE_PROVE_MEASURE, 0, PAIRS_MOST);
    if (!rc) rc = build_all(&c, &o, err);
    choose(&c);
    bool runs = !rc && c.build[SLOW].cls == HONE_RUN_OK && c.k < workload->n_objectives &&
                strcmp(c.build[SLOW].object_hash, c.build[BASE].object_hash) != 0;
    c.contest = (hn_contest){.of = &pairs, .ctx = &c, .rules = {.most = PAIRS_MOST, .until_s = INFINITY}};
    if (runs && hn_contest_enter(&c.contest, 0)) rc = hn_contest_run(&c.contest, err);
    if (!rc) *out = judge(&c);
    hn_contest_close(&c.contest);
    close_canary(&c, false);
    return rc;
}

void hone_canary_free(hone_canary_result *result) {
    free(result->block);
    *result = (hone_canary_result){0};
}
