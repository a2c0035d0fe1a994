/* prove/validate.c — hone_prove_validate: the baseline in its variants, its noise, then candidate after candidate.
 *
 * A limited time (budget_s) is a promise: before each part it is asked what is left. A part begins only when it can be
 * over by then, as far as earlier ones tell; a process that runs is not cut off. What is not reached has no verdict and
 * says so. */
#include "prove/pairs.h"
#include "prove/variant.h"
#include "prove/verdict.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "experiment/contest.h"
#include "far/far.h"
#include "prove/site.h"
#include "record/proofs.h"
#include "tune/host.h"

#include <hone/machine.h>
#include <hone/stat.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VARIANTS_LEAST = 3, VARIANTS_MOST = 100, JOBS_MOST = 16, TELL_EVERY = 10 };
/* The share of a limited time that builds may take, and of what is left that the baseline's noise may take. */
static const double build_share = 0.5, noise_share = 0.2;

typedef struct prover {
    const hone_workload *w;
    const hone_prove_options *o;
    hone_tune_options tune;
    hn_rules rules;
    size_t n_variants;
    hn_plan *plan;
    hone_store *store;
    int64_t session;
    hn_arena scratch; /* paths */
    char *work_dir;
    hn_build_config builder;
    hn_bench_ctx bench;
    hn_recipe base_recipe;
    hn_side base;
    hn_variants variants;
    hn_arena *keep; /* what the proofs point to */
    hone_proofs proofs;
    bool (*carries)[HONE_MAX_OBJECTIVES];
    size_t candidate, n_candidates;
    double noise, started_s, deadline_s, waited_s;
    double build_s, pair_s; /* what one of them took lately; 0: not known yet */
    const char *unreached;  /* why no candidate can be; NULL: they may */
} prover;

typedef struct contender {
    prover *p;
    hn_recipe recipe;
    hn_side side;
    hn_evidence evidence;
    hn_pairing pairing;
    hn_contest contest;    /* it alone against the baseline; empty: it is the baseline's program */
    const char *unreached; /* why nothing was decided of it in the time there is; NULL: it was */
    bool looks;            /* ends when the rules say that its verdict is clear */
    size_t next_look;
    hone_interval gain; /* at the last look */
    double build_s;     /* what one of its builds takes */
    const char *what;   /* is measured, for people; NULL: the candidate */
} contender;

static void emit(prover *p, hone_prove_stage stage, size_t done, size_t total, hone_interval gain, const char *text) {
    const hone_progress *to = &p->o->progress;
    hone_prove_event e = {.stage = stage, .candidate = p->candidate, .n_candidates = p->n_candidates, .gain = gain};
    e.base = (hone_event){hn_prove_word(stage), done, total, hn_now_s() - p->started_s, NAN, text};
    if (to->fn) to->fn(to->arg, &e.base);
}

static const hone_interval unknown = {NAN, NAN, NAN};

static void tell_built(void *ctx, size_t done, size_t total) {
    emit(ctx, HONE_PROVE_BUILD, done, total, unknown, NULL);
}

static void tell_discovery(void *ctx, const hone_event *e) { tell_built(ctx, e->done, e->total); }

/* --- time --------------------------------------------------------------------------------------------------------- */

static double left_s(const prover *p) { return p->deadline_s - hn_now_s(); }

/* What n builds of one side take side by side. */
static double builds_s(const prover *p, double build_s, size_t n) {
    return build_s * ceil((double)n / (double)p->builder.jobs);
}

static size_t least_variants(const prover *p) {
    return p->n_variants < VARIANTS_LEAST ? p->n_variants : VARIANTS_LEAST;
}

/* Is there time for something that takes so long? Else *why says what was not reached. */
static bool there_is_time(prover *p, double needed_s, const char *what, const char **why) {
    double left = left_s(p);
    if (left > 0 && needed_s <= left) return true;
    *why = hn_format(p->keep, "%s would take about %.2g s, and %.2g s were left of the %.4g s there are (--time)", what,
                     needed_s, fmax(left, 0), p->deadline_s - p->started_s);
    return false;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static hone_rc set_rules(prover *p, hone_err *err) {
    const hn_proof_needs *need = &p->w->proof;
    const hone_prove_options *o = p->o;
    p->rules = (hn_rules){.min_gain = o->min_gain < 0 ? need->min_gain : o->min_gain, .seed = o->seed};
    p->rules.pairs_least = o->pairs_least ? o->pairs_least : need->pairs;
    p->rules.pairs_most = o->pairs_most ? o->pairs_most : need->pairs_most;
    if (!o->pairs_most && p->rules.pairs_most < p->rules.pairs_least) p->rules.pairs_most = p->rules.pairs_least;
    if (o->pairs_most && !o->pairs_least && p->rules.pairs_least > o->pairs_most) p->rules.pairs_least = o->pairs_most;
    p->n_variants = o->variants ? o->variants : need->variants;
    if (p->n_variants < VARIANTS_LEAST || p->n_variants > VARIANTS_MOST)
        return hn_fail(err, HONE_E_INPUT, "%zu variants of each side: a proof takes %d to %d", p->n_variants,
                       VARIANTS_LEAST, VARIANTS_MOST);
    if (p->rules.pairs_most < p->rules.pairs_least)
        return hn_fail(err, HONE_E_INPUT, "at most %zu pairs is less than at least %zu", p->rules.pairs_most,
                       p->rules.pairs_least);
    if (!*p->w->run) p->n_variants = 1; /* nothing runs, so the layout of code does not matter */
    return HONE_OK;
}

static hone_rc open_folders(prover *p, hone_err *err) {
    const char *store = p->o->store_dir ? p->o->store_dir : hn_format(&p->scratch, "%s/.hone", p->w->dir);
    if (!store) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hone_store_open(store, true, &p->store, err);
    hone_session session = {0};
    if (!rc && p->session) rc = hone_session_get(p->store, p->session, NULL, &session, err);
    hone_session_free(&session);
    const char *dir = hn_format(&p->scratch, "%s/work/proof-%ld", store, (long)getpid());
    const char *ref = hn_format(&p->scratch, "%s/ref", dir ? dir : "");
    if (!rc && (!dir || !ref)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_make_dirs(ref, err);
    if (rc) return rc;
    p->work_dir = realpath(dir, NULL);
    if (!p->work_dir) return hn_fail(err, HONE_E_IO, "cannot resolve the work folder '%s'", dir);
    p->bench.run.ref_dir = hn_format(&p->scratch, "%s/ref", p->work_dir);
    return p->bench.run.ref_dir ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static void tell_far(void *ctx, const char *text) { emit(ctx, HONE_PROVE_WARNING, 0, 0, unknown, text); }

static void set_up_configs(prover *p) {
    hone_machine machine;
    hone_machine_get(&machine);
    bool times_builds = false;
    for (size_t k = 0; k < hn_n_quantities(p->w); k++)
        times_builds |= hn_quantity_at(p->w, k)->source == HN_FROM_COMPILE_TIME;
    int usable = machine.n_usable > 0 ? machine.n_usable : 1;
    p->builder = (hn_build_config){.w = p->w, .options = &p->tune, .root = p->work_dir, .waited_s = &p->waited_s};
    p->builder.jobs = times_builds ? 1 : p->o->n_jobs ? (int)p->o->n_jobs : usable;
    if (p->builder.jobs > JOBS_MOST) p->builder.jobs = JOBS_MOST;
    if (p->w->far) hn_far_watch(p->w->far, tell_far, p);
    p->bench.run.w = p->w;
    p->bench.run.options = &p->tune;
    p->bench.run.cpu = hn_host_core(p->w, p->o->cpu);
    p->bench.run.waited_s = &p->waited_s;
    p->bench.seed = p->o->seed;
    p->bench.all_inputs = true;
    p->variants = (hn_variants){.builder = &p->builder, .run = &p->bench.run, .script_dir = p->work_dir};
    p->variants.seed = p->o->seed;
    p->variants.built = tell_built;
    p->variants.ctx = p;
}

static hone_rc open_prover(prover *p, hone_err *err) {
    hone_progress progress = {tell_discovery, p};
    p->keep = calloc(1, sizeof *p->keep);
    if (!p->keep) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    p->proofs = (hone_proofs){.proof = HN_NEW_N(p->keep, hone_proof, p->n_candidates), .block = p->keep};
    p->carries = calloc(p->n_candidates + 1, sizeof *p->carries);
    if (!p->proofs.proof || !p->carries) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = set_rules(p, err);
    if (!rc) rc = open_folders(p, err);
    if (!rc) rc = hn_plan_open(p->w, &p->tune, &progress, &p->plan, err);
    if (!rc) set_up_configs(p);
    return rc;
}

static void close_prover(prover *p) {
    if (p->w && p->w->far) hn_far_watch(p->w->far, NULL, NULL);
    p->bench.base.build = (hn_build){0}; /* both belong to the side */
    p->bench.base.recipe = (hn_recipe){0};
    hn_bench_close(&p->bench);
    hn_side_close(&p->base, false);
    hn_recipe_free(&p->base_recipe);
    if (p->work_dir) hn_remove_tree(p->work_dir, NULL);
    free(p->work_dir);
    free(p->carries);
    hone_store_close(p->store);
    hn_plan_close(p->plan);
    hn_arena_free(&p->scratch);
}

/* --- the baseline ------------------------------------------------------------------------------------------------- */

/* The first quantity that is measured in pairs, else n_objectives. */
static size_t first_noisy(const hn_evidence *e) {
    size_t k = 0;
    while (k < e->n_objectives && !e->goal[k].noisy) k++;
    return k;
}

static void warn_of_noise(prover *p, const hn_evidence *e) {
    double reach = hn_reach(p->noise, &p->rules, e->n_objectives, p->n_variants);
    size_t k = first_noisy(e);
    char text[600];
    if (k == e->n_objectives || !(reach > p->rules.min_gain)) return;
    snprintf(
        text, sizeof text,
        "%s of the baseline differs from itself by %.3g %% from one pair of runs to the next; %zu pairs will tell a "
        "gain to about %.3g %%, which is more than the minimum gain of %.3g %%. What helps: longer runs "
        "(measure.min_time, measure.repeats), a quieter machine (hone doctor), more pairs (proof.pairs_most), or a "
        "larger proof.min_gain",
        e->goal[k].quantity, 100 * p->noise, p->rules.pairs_most, 100 * reach, 100 * p->rules.min_gain);
    emit(p, HONE_PROVE_WARNING, 0, 0, unknown, text);
}

/* --- contests of one: pairs until its verdict is clear ---------------------------------------------------------------
 */

/* The key of the built program if equal programs give equal measurements, which they do not where the build itself is
 * measured. */
static uint64_t key_of(void *ctx, size_t i) {
    const contender *c = ctx;
    const hone_workload *w = c->p->w;
    for (size_t k = 0; k < w->n_objectives; k++) {
        hn_source from = w->objective[k].quantity.source;
        if (from == HN_FROM_COMPILE_TIME || from == HN_FROM_FILE_SIZE) return 0;
    }
    return i == HN_BASELINE ? hn_program_key(w, &c->p->base_recipe, &c->p->base.build[0])
                            : hn_program_key(w, &c->recipe, &c->side.build[0]);
}

static hone_rc run_pair(void *ctx, hn_contest *contest, hn_contender *x, hone_err *err) {
    contender *c = ctx;
    (void)contest;
    hone_rc rc = hn_pair(&c->pairing, err);
    x->failed = c->pairing.failure.cls != HONE_RUN_OK;
    return rc;
}

/* Decides at the looks that the rules allow; between them it only reports progress. */
static bool look(void *ctx, hn_contest *contest) {
    contender *c = ctx;
    prover *p = c->p;
    const hn_evidence *e = &c->evidence;
    size_t n = e->n_pairs;
    bool due = n == c->next_look, tell = due || n % TELL_EVERY == 0;
    bool decided = c->looks && tell && hn_decided(e, &p->rules, &c->gain);
    emit(p, HONE_PROVE_MEASURE, n, contest->rules.most, c->gain, c->what);
    if (due) c->next_look = hn_next_look(&p->rules, n);
    return due && decided;
}

static const hn_experiment pairs = {key_of, NULL, run_pair, look}, itself = {NULL, NULL, run_pair, look};

static hone_rc run_pairs(contender *c, size_t most, double until_s, hone_err *err) {
    prover *p = c->p;
    const hn_contest_rules rules = {
        .least = VARIANTS_LEAST, .most = (unsigned)most, .until_s = until_s, .last_s = p->deadline_s};
    c->contest.rules = rules;
    c->gain = unknown;
    c->next_look = c->looks ? hn_next_look(&p->rules, 0) : 0;
    double began_s = hn_now_s();
    hone_rc rc = hn_contest_run(&c->contest, err);
    if (c->contest.n_rounds) p->pair_s = (hn_now_s() - began_s) / c->contest.n_rounds;
    return rc;
}

/* Says before candidates are measured whether the time there is can suffice. pair_s: what one pair takes. */
static void foretell(prover *p, double pair_s) {
    char text[500];
    double left = (p->deadline_s - hn_now_s()) / (double)p->n_candidates;
    double builds = (double)p->n_variants * p->base.build[0].build_s / p->builder.jobs;
    double fit = floor((left - builds) / pair_s), least = (double)p->rules.pairs_least;
    if (!isfinite(left) || !(pair_s > 0) || fit >= least) return;
    bool some = fit >= fmax(HN_PAIRS_FEWEST, 2 * (double)p->n_variants);
    snprintf(text, sizeof text,
             "a pair of runs takes %.3g s, so that the time there is (--time) has room for about %.0f pairs of %s: %s; "
             "about %.3g s would suffice for %zu",
             pair_s, fmax(fit, 0), p->n_candidates > 1 ? "each candidate" : "the candidate",
             some ? "a large gain can be proven with them, not one whose tail, spread or inputs are in doubt"
                  : "too few for any verdict but a clear loss",
             p->deadline_s - p->started_s + ((least + 1) * pair_s + builds - left) * (double)p->n_candidates,
             p->rules.pairs_least);
    emit(p, HONE_PROVE_WARNING, 0, 0, unknown, text);
}

/* One pair of every variant with itself. */
static hone_rc measure_noise(prover *p, hone_err *err) {
    contender c = {.p = p, .contest = {.of = &itself, .ctx = &c}, .what = "the baseline against itself"};
    p->noise = NAN;
    if (!hn_needs_pairs(p->w)) return HONE_OK;
    hone_rc rc = hn_pairing_open(&c.pairing, &p->bench, &p->base, &p->base, p->o->seed ^ 0x5e1f, &c.evidence, err);
    hn_contest_enter(&c.contest, 0);
    if (!rc) rc = run_pairs(&c, p->n_variants, hn_now_s() + noise_share * left_s(p), err);
    if (!rc) foretell(p, p->pair_s);
    if (!rc && c.evidence.n_pairs >= VARIANTS_LEAST && first_noisy(&c.evidence) < c.evidence.n_objectives) {
        p->noise = hn_noise_of(&c.evidence, first_noisy(&c.evidence));
        warn_of_noise(p, &c.evidence);
    }
    hn_contest_close(&c.contest);
    hn_pairing_close(&c.pairing);
    hn_evidence_free(&c.evidence);
    return rc;
}

/* With slow builds and little time, fewer variants leave time for pairs. A number given by the caller is kept. */
static void fit_variants(prover *p) {
    double all_s = p->deadline_s - p->started_s;
    double one_s = (double)(1 + p->n_candidates) * p->base.build[0].build_s / p->builder.jobs; /* of each side */
    char text[400];
    size_t n = p->n_variants;
    if (!isfinite(all_s) || !hn_needs_pairs(p->w) || one_s * (double)n <= build_share * all_s) return;
    if (!p->o->variants) {
        double fit = floor(build_share * all_s / one_s);
        n = fit > VARIANTS_LEAST ? (size_t)fit : VARIANTS_LEAST;
    }
    snprintf(
        text, sizeof text,
        "a build takes %.3g s: %zu variants of each side%s take about %.3g s of the %.4g s there are (--time); with "
        "more time, fewer candidates (--top) or builds that are quicker there are more of them and more pairs, and "
        "intervals are narrower",
        p->base.build[0].build_s, n, n < p->n_variants ? ", not more," : "", one_s * (double)n, all_s);
    emit(p, HONE_PROVE_WARNING, 0, 0, unknown, text);
    p->n_variants = p->base.n = n < p->n_variants ? n : p->n_variants;
}

/* Variants are built until a share of the time that a side has is over. */
static hone_rc vary(prover *p, hn_side *side, hn_code_layout at_least, double until_s, double *build_s, hone_err *err) {
    double began_s = hn_now_s();
    p->variants.until_s = isfinite(until_s) ? began_s + build_share * fmax(until_s - began_s, 0) : 0;
    hone_rc rc = hn_side_vary(&p->variants, side, at_least, err);
    double rounds = ceil((double)(side->n - 1) / (double)p->builder.jobs);
    if (!rc && rounds > 0) *build_s = fmax(*build_s, (hn_now_s() - began_s) / rounds);
    return rc;
}

static hone_rc prepare_baseline(prover *p, hone_err *err) {
    hone_rc rc = hn_plan_recipe(p->plan, NULL, &p->base_recipe, err);
    if (!rc) rc = hn_side_open(&p->variants, &p->base, "base", &p->base_recipe, p->n_variants, err);
    if (rc) return rc;
    const hn_build *b = &p->base.build[0];
    if (b->cls != HONE_RUN_OK)
        return hn_fail(err, HONE_E_BASELINE, "the baseline does not build (%s): %.800s",
                       hone_outcome_class_name(b->cls), b->detail);
    p->build_s = b->build_s;
    fit_variants(p);
    /* The baseline's, then a candidate's: without both nothing can be decided. */
    double least_s = builds_s(p, p->build_s, least_variants(p) - 1) + builds_s(p, p->build_s, least_variants(p));
    if (!there_is_time(p, least_s, "the fewest builds of both sides", &p->unreached)) return HONE_OK;
    p->bench.base.recipe = p->base_recipe;
    p->bench.base.build = *b;
    rc = hn_bench_open(&p->bench, NULL, err);
    if (rc || !there_is_time(p, least_s, "the fewest builds of both sides", &p->unreached)) return rc;
    double until_s = p->started_s + (p->deadline_s - p->started_s) / (double)(1 + p->n_candidates);
    rc = vary(p, &p->base, HN_LAYOUT_ORDER, fmax(until_s, hn_now_s()), &p->build_s, err);
    p->n_variants = p->base.n;
    least_s = builds_s(p, p->build_s, least_variants(p));
    if (rc || !there_is_time(p, least_s, "the fewest builds of a candidate", &p->unreached)) return rc;
    return measure_noise(p, err);
}

/* --- one candidate ------------------------------------------------------------------------------------------------ */

/* A first pass on every input tuned on, with the independent check of implausibly good results. */
static hone_rc try_out(prover *p, contender *c, hone_err *err) {
    hn_measured *m = calloc(1, sizeof *m);
    if (!m) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    m->cls = HONE_RUN_OK;
    hone_rc rc = hn_measure_pass(&p->bench, &c->recipe, &c->side.build[0], true, 0, m, err);
    if (!rc) rc = hn_confirm(&p->bench, &c->recipe, &c->side.build[0], m, err);
    c->pairing.failure.cls = m->cls;
    snprintf(c->pairing.failure.detail, sizeof c->pairing.failure.detail, "%s", m->detail);
    hn_measured_free(m);
    free(m);
    return rc;
}

/* Pairs until it is decided; where nothing varies from run to run, one of every variant for parity alone. */
static hone_rc pair_up(prover *p, contender *c, double until_s, hone_err *err) {
    hn_evidence *e = &c->evidence;
    c->looks = hn_needs_pairs(p->w);
    hone_rc rc = run_pairs(c, c->looks ? p->rules.pairs_most : e->n_variants, c->looks ? until_s : p->deadline_s, err);
    size_t least = c->looks && e->n_variants > 1 ? VARIANTS_LEAST : e->n_variants;
    if (!rc && c->pairing.failure.cls == HONE_RUN_OK && e->n_pairs < least)
        c->unreached =
            hn_format(p->keep, "the time there is (--time) was over after %zu pairs of runs; a verdict takes %zu",
                      e->n_pairs, least);
    if (!c->looks) e->n_pairs = 0;
    return rc;
}

static hone_rc measure(prover *p, contender *c, double until_s, hone_err *err) {
    double began_s = hn_now_s();
    hone_rc rc = try_out(p, c, err);
    if (rc || c->pairing.failure.cls != HONE_RUN_OK) return rc;
    double pair_s = fmax(p->pair_s, hn_now_s() - began_s);
    double least_s = builds_s(p, c->build_s, least_variants(p) - 1) + VARIANTS_LEAST * pair_s;
    if (!there_is_time(p, least_s, "its fewest builds and three pairs of runs", &c->unreached)) return HONE_OK;
    rc = vary(p, &c->side, p->base.layout, until_s, &c->build_s, err);
    if (rc || !there_is_time(p, VARIANTS_LEAST * p->pair_s, "three pairs of runs", &c->unreached)) return rc;
    if (c->side.n < c->evidence.n_variants) c->evidence.n_variants = c->side.n;
    rc = hn_pair_fixed(&c->pairing, err);
    return rc || c->pairing.failure.cls != HONE_RUN_OK ? rc : pair_up(p, c, until_s, err);
}

static void name_tails(const prover *p, hn_evidence *e) {
    for (size_t k = 0; k < e->n_objectives; k++) {
        hn_goal *g = &e->goal[k];
        g->quantity = hn_strdup(p->keep, g->quantity);
        g->tail_quantity = hn_format(p->keep, "p%d(%s)%s", g->maximize ? 5 : 95, p->w->objective[k].quantity.metric,
                                     g->tail.n ? "" : " over runs");
    }
}

static hone_rc fill_proof(prover *p, contender *c, const char *point, hone_proof *out, bool *carries, hone_err *err) {
    const hn_failure *f = &c->pairing.failure;
    bool built = c->side.build && c->side.build[0].cls == HONE_RUN_OK, same = built && !c->contest.n;
    char *line = hn_recipe_line(&c->recipe, true);
    name_tails(p, &c->evidence);
    c->evidence.noise = p->noise;
    out->point = hn_strdup(p->keep, point);
    out->argv = hn_strdup(p->keep, line ? line : "");
    free(line);
    out->layout = c->side.layout == p->base.layout
                      ? hn_layout_text(c->side.layout)
                      : hn_format(p->keep, "baseline: %s; candidate: %s", hn_layout_text(p->base.layout),
                                  hn_layout_text(c->side.layout));
    hone_rc rc = hn_judge_evidence(&c->evidence, &p->rules, p->keep, out, carries, err);
    if (rc || (!same && !c->unreached && f->cls == HONE_RUN_OK)) return rc;
    memset(carries, 0, HONE_MAX_OBJECTIVES * sizeof *carries);
    out->kept = false;
    out->why = c->unreached                  ? HONE_REJECT_UNREACHED
               : same                        ? HONE_REJECT_SAME
               : f->cls == HONE_WRONG_RESULT ? HONE_REJECT_PARITY
                                             : HONE_REJECT_FAILS;
    out->verdict = c->unreached ? hn_format(p->keep, "not reached, and so without a verdict: %s", c->unreached)
                   : same       ? "rejected: builds to the same program as the baseline, so there is nothing to prove"
                          : hn_format(p->keep, "rejected: %s: %.1000s", hone_outcome_class_name(f->cls), f->detail);
    return hn_arena_ok(p->keep) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static hone_rc read_candidate(prover *p, const char *point, hn_recipe *out, hone_err *err) {
    double *x = malloc((hone_space_slots(p->plan->space) + 1) * sizeof *x);
    if (!x) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hone_point_from_json(p->plan->space, point, x, err);
    if (rc) hn_context(err, "candidate %zu of %zu: ", p->candidate + 1, p->n_candidates);
    if (!rc) rc = hn_plan_recipe(p->plan, x, out, err);
    free(x);
    return rc;
}

/* Its first build, and what follows where that works and is another program than the baseline. */
static hone_rc build_and_measure(prover *p, contender *c, double until_s, hone_err *err) {
    char name[32];
    snprintf(name, sizeof name, "c%zu", p->candidate);
    hone_rc rc = hn_side_open(&p->variants, &c->side, name, &c->recipe, p->n_variants, err);
    if (rc) return rc;
    const hn_build *b = &c->side.build[0];
    c->build_s = fmax(p->build_s, b->build_s);
    if (b->cls == HONE_RUN_OK) return hn_contest_enter(&c->contest, 0) ? measure(p, c, until_s, err) : HONE_OK;
    c->pairing.failure.cls = b->cls;
    snprintf(c->pairing.failure.detail, sizeof c->pairing.failure.detail, "%s", b->detail);
    return HONE_OK;
}

static hone_rc validate_one(prover *p, const char *point, hone_proof *out, bool *carries, hone_err *err) {
    contender *c = calloc(1, sizeof *c);
    if (!c) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    c->p = p;
    c->contest = (hn_contest){.of = &pairs, .ctx = c};
    double t0 = hn_now_s(), left = (double)(p->n_candidates - p->candidate);
    double until_s = isfinite(p->deadline_s) ? t0 + fmax(p->deadline_s - t0, 0) / left : INFINITY;
    double least_s = builds_s(p, p->build_s, least_variants(p)) + (1 + VARIANTS_LEAST) * p->pair_s;
    hone_rc rc = read_candidate(p, point, &c->recipe, err);
    if (!rc)
        rc = hn_pairing_open(&c->pairing, &p->bench, &p->base, &c->side, p->o->seed + p->candidate, &c->evidence, err);
    c->unreached = p->unreached;
    bool begins =
        !rc && !p->unreached && there_is_time(p, least_s, "its fewest builds and pairs of runs", &c->unreached);
    if (begins) rc = build_and_measure(p, c, until_s, err);
    if (!rc) rc = fill_proof(p, c, point, out, carries, err);
    out->seconds = hn_now_s() - t0;
    hn_contest_close(&c->contest);
    hn_pairing_close(&c->pairing);
    hn_evidence_free(&c->evidence);
    hn_side_close(&c->side, false);
    hn_recipe_free(&c->recipe);
    free(c);
    return rc;
}

/* --- the record --------------------------------------------------------------------------------------------------- */

static hone_rc record(prover *p, const hone_proof *x, hone_err *err) {
    char *body = NULL;
    hone_rc rc = hone_proof_to_json(x, true, &body, err);
    if (rc) return rc;
    hn_proof_row row = {.session = p->session, .workload_hash = p->w->hash, .point = x->point, .kept = x->kept};
    row.why = hone_proof_reject_name(x->why);
    row.verdict = x->verdict;
    row.at_s = hn_unix_s();
    row.body = body;
    rc = hn_proofs_add(p->store, &row, err);
    hone_free(body);
    return rc;
}

/* Those judged so far, in order: the last one is the newest. What was not reached has no verdict to record. */
static hone_rc conclude(prover *p, hone_err *err) {
    hone_rc rc = hn_conclude(p->proofs.proof, p->carries, p->proofs.n, &p->rules, p->keep, err);
    for (size_t i = 0; !rc && i < p->proofs.n; i++)
        if (p->proofs.proof[i].why != HONE_REJECT_UNREACHED) rc = record(p, &p->proofs.proof[i], err);
    return rc;
}

static hone_rc validate_all(prover *p, const char *const *point, hone_err *err) {
    hone_rc rc = open_prover(p, err);
    if (!rc) rc = prepare_baseline(p, err);
    for (p->candidate = 0; !rc && p->candidate < p->n_candidates; p->candidate++) {
        rc = validate_one(p, point[p->candidate], &p->proofs.proof[p->proofs.n], p->carries[p->proofs.n], err);
        p->proofs.n += !rc;
    }
    hone_err ignored;
    if (rc && p->proofs.n) conclude(p, &ignored); /* what is finished is recorded */
    return rc ? rc : conclude(p, err);
}

hone_rc hone_prove_validate(const hone_workload *workload, const char *const *point, size_t n_points, int64_t session,
                            const hone_prove_options *options, hone_proofs *out, hone_err *err) {
    if (!n_points) return hn_fail(err, HONE_E_INPUT, "there is no candidate to validate");
    hone_prove_options o = hone_prove_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "prove", err);
    if (rc) return rc;
    prover *p = calloc(1, sizeof *p);
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    p->w = workload;
    p->o = &o;
    p->session = session;
    p->n_candidates = n_points;
    p->started_s = hn_now_s();
    p->deadline_s = o.budget_s > 0 ? p->started_s + o.budget_s : INFINITY;
    p->tune = hn_prove_tuning(&o);
    rc = validate_all(p, point, err);
    close_prover(p);
    if (rc)
        hone_proofs_free(&p->proofs);
    else
        *out = p->proofs;
    free(p);
    return rc;
}
