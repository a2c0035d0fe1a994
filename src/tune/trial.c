/* tune/trial.c — passes, ratios, the independent check of implausibly good results. */
#include "tune/trial.h"

#include "base/err.h"
#include "base/rng.h"

#include <hone/stat.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Baseline passes against itself that noise is estimated from. */
enum { NOISE_PASSES = 4 };
/* The number of calls in that check is raised until the baseline spends this long in them. */
static const double fixed_min_s = 0.05;

static uint64_t next_noise(hn_bench_ctx *ctx) { return hn_mix64(ctx->seed ^ hn_mix64(++ctx->n_runs)); }

static double *recent_of(const hn_bench_ctx *ctx, size_t input) {
    return ctx->base.recent + input * hn_n_quantities(ctx->run.w);
}

/* --- one side on one input ---------------------------------------------------------------------------------------- */

static hone_rc run_base(hn_bench_ctx *ctx, size_t input, bool check, hn_samples *samples, double *value,
                        hone_err *err) {
    hn_run run;
    hone_rc rc = hn_run_once(&ctx->run, &ctx->base.recipe, &ctx->base.build, input, 1, HN_RUN_MEASURE, check,
                             next_noise(ctx), samples, &run, err);
    if (rc) return rc;
    if (run.cls != HONE_RUN_OK) {
        const char *hint = run.cls == HONE_WRONG_RESULT ? "; the baseline's output differs between two runs: make the "
                                                          "program deterministic or give parity a tolerance"
                                                        : "";
        return hn_fail(err, HONE_E_BASELINE, "the baseline does not work (%s): %.700s%s",
                       hone_outcome_class_name(run.cls), run.detail, hint);
    }
    double *recent = recent_of(ctx, input);
    for (size_t k = 0; k < hn_n_quantities(ctx->run.w); k++) {
        bool odd = recent[k] > 0 && run.quantity[k] <= 0; /* no ratio can be computed: the last run's value is kept */
        value[k] = recent[k] = odd && !ctx->base.plain[k] ? recent[k] : run.quantity[k];
    }
    return HONE_OK;
}

static hone_rc run_candidate(hn_bench_ctx *ctx, const hn_recipe *r, const hn_build *b, size_t input, bool check,
                             hn_measured *m, double *value, hone_err *err) {
    hn_run run;
    hone_rc rc = hn_run_once(&ctx->run, r, b, input, 0, HN_RUN_MEASURE, check, next_noise(ctx), &m->samples, &run, err);
    if (rc) return rc;
    m->run_s += run.wall_s;
    m->cls = run.cls;
    if (run.cls != HONE_RUN_OK) snprintf(m->detail, sizeof m->detail, "%s", run.detail);
    memcpy(value, run.quantity, hn_n_quantities(ctx->run.w) * sizeof *value);
    return HONE_OK;
}

/* Is the candidate so much worse on the first noisy objective that the baseline beside it cannot matter? */
static bool is_far_behind(const hn_bench_ctx *ctx, size_t input, const double *value, double give_up) {
    const hone_workload *w = ctx->run.w;
    for (size_t k = 0; k < w->n_objectives; k++) {
        double base = recent_of(ctx, input)[k];
        if (!hn_quantity_is_noisy(&w->objective[k].quantity)) return false;
        if (!(base > 0) || !(value[k] > 0)) return false;
        bool more = w->objective[k].maximize;
        if (!hn_race_gives_up(more ? base : value[k], more ? value[k] : base, give_up)) return false;
    }
    return give_up > 0;
}

/* Candidate and baseline on one input; random order unless the candidate may be given up early. */
static hone_rc run_pair(hn_bench_ctx *ctx, const hn_recipe *r, const hn_build *b, size_t input, bool check,
                        double give_up, hn_measured *m, double *cand, double *base, hone_err *err) {
    bool base_first = ctx->any_noisy && give_up <= 0 && (next_noise(ctx) & 1);
    hone_rc rc = HONE_OK;
    if (base_first) rc = run_base(ctx, input, false, &m->samples, base, err);
    if (!rc) rc = run_candidate(ctx, r, b, input, check, m, cand, err);
    if (rc || m->cls != HONE_RUN_OK || base_first) return rc;
    if (!ctx->any_noisy || is_far_behind(ctx, input, cand, give_up)) {
        memcpy(base, recent_of(ctx, input), hn_n_quantities(ctx->run.w) * sizeof *base);
        return HONE_OK;
    }
    return run_base(ctx, input, false, &m->samples, base, err);
}

/* --- a pass ------------------------------------------------------------------------------------------------------- */

/* Sums over inputs of one pass. */
typedef struct pass_sum {
    double log_ratio[HN_MAX_QUANTITIES], plain[HN_MAX_QUANTITIES], worst[HN_MAX_QUANTITIES];
} pass_sum;

static bool wants_low(const hone_workload *w, size_t k) {
    return k < w->n_objectives ? !w->objective[k].maximize : !w->limit_rule[k - w->n_objectives].at_least;
}

static bool add_input(const hn_bench_ctx *ctx, size_t input, const double *cand, const double *base, hn_measured *m,
                      pass_sum *sum) {
    const hone_workload *w = ctx->run.w;
    for (size_t k = 0; k < hn_n_quantities(w); k++) {
        bool limit_only = k >= w->n_objectives; /* its ratio is never used */
        if (!limit_only && !ctx->base.plain[k] && !(cand[k] > 0)) {
            m->cls = HONE_NO_METRIC;
            snprintf(m->detail, sizeof m->detail, "input '%s': '%s' is %g, which cannot be", w->input[input].name,
                     hn_quantity_at(w, k)->text, cand[k]);
            return false;
        }
        double weight = w->input[input].weight;
        sum->plain[k] += weight * cand[k];
        sum->log_ratio[k] += weight * log(cand[k] / base[k]);
        bool low = wants_low(w, k);
        if (isnan(sum->worst[k]) || (low ? cand[k] > sum->worst[k] : cand[k] < sum->worst[k])) sum->worst[k] = cand[k];
    }
    return true;
}

static void fill_from_build(const hn_bench_ctx *ctx, const hn_build *b, double *value) {
    for (size_t k = 0; k < hn_n_quantities(ctx->run.w); k++)
        hn_quantity_of_build(hn_quantity_at(ctx->run.w, k), b, &value[k]);
}

hone_rc hn_measure_pass(hn_bench_ctx *ctx, const hn_recipe *r, const hn_build *b, bool check, double give_up,
                        hn_measured *m, hone_err *err) {
    const hone_workload *w = ctx->run.w;
    if (m->n_pass == HN_MAX_PASSES) return HONE_OK;
    pass_sum sum = {0};
    for (size_t k = 0; k < HN_MAX_QUANTITIES; k++) sum.worst[k] = NAN;
    for (size_t i = 0; i < w->n_inputs; i++) {
        if (w->input[i].held_out) continue;
        double cand[HN_MAX_QUANTITIES], base[HN_MAX_QUANTITIES];
        hone_rc rc = run_pair(ctx, r, b, i, check, give_up, m, cand, base, err);
        if (rc || m->cls != HONE_RUN_OK) return rc;
        fill_from_build(ctx, b, cand);
        fill_from_build(ctx, &ctx->base.build, base);
        if (!add_input(ctx, i, cand, base, m, &sum)) return HONE_OK;
    }
    for (size_t k = 0; k < hn_n_quantities(w); k++) {
        m->ratio[k][m->n_pass] = ctx->base.plain[k] ? sum.plain[k] : exp(sum.log_ratio[k]);
        m->worst[k][m->n_pass] = sum.worst[k];
    }
    m->n_pass++;
    return m->samples.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
}

/* --- reading a measurement ---------------------------------------------------------------------------------------- */

double hn_log_ratio(const hn_bench_ctx *ctx, const hn_measured *m, size_t k, size_t pass) {
    double x = m->ratio[k][pass];
    bool low = wants_low(ctx->run.w, k);
    if (ctx->base.plain[k]) {
        double scale = fabs(ctx->base.ref[k]) > 0 ? fabs(ctx->base.ref[k]) : 1;
        return (low ? x - ctx->base.ref[k] : ctx->base.ref[k] - x) / scale;
    }
    return low ? log(x) : -log(x);
}

double hn_median_log_ratio(const hn_bench_ctx *ctx, const hn_measured *m, size_t k) {
    double x[HN_MAX_PASSES];
    for (size_t i = 0; i < m->n_pass; i++) x[i] = hn_log_ratio(ctx, m, k, i);
    return m->n_pass ? hone_stat_median(x, m->n_pass) : NAN;
}

size_t hn_ratios(const hn_bench_ctx *ctx, const hn_measured *m, double ratio[HN_MAX_PASSES]) {
    for (size_t i = 0; i < m->n_pass; i++) ratio[i] = exp(hn_log_ratio(ctx, m, 0, i));
    return m->n_pass;
}

/* The noise of a few passes is a rough estimate: it is shrunk towards 1 % with the weight of two passes. A baseline
 * whose values repeat to the last bit is deterministic, and then one pass suffices. */
hn_race_config hn_race_rules(const hn_bench_ctx *ctx, size_t most) {
    double s = ctx->base.noise, prior = 0.01;
    double noise = s > 0 ? sqrt((NOISE_PASSES * s * s + 2 * prior * prior) / (NOISE_PASSES + 2)) : 1e-9;
    return (hn_race_config){.noise = noise, .most = most, .seed = ctx->seed};
}

double hn_violation(const hn_limit_rule *rule, double value, double base) {
    double bound = rule->of_baseline ? base : rule->bound;
    double over = rule->equal ? fabs(value - bound) : rule->at_least ? bound - value : value - bound;
    return bound != 0 ? over / fabs(bound) : over;
}

/* The baseline's value of a limit's quantity, where the build tells it. */
static double bound_of(const hn_bench_ctx *ctx, size_t c) {
    double base = NAN;
    hn_quantity_of_build(&ctx->run.w->limit_rule[c].quantity, &ctx->base.build, &base);
    return base;
}

void hn_outcome_of_build(const hn_bench_ctx *ctx, const hn_build *b, hone_outcome *out) {
    const hone_workload *w = ctx->run.w;
    double x;
    if (out->cls != HONE_RUN_OK) return;
    for (size_t k = 0; k < w->n_objectives; k++)
        if (hn_quantity_of_build(&w->objective[k].quantity, b, &x)) out->value[k] = x;
    for (size_t c = 0; c < w->n_limit_rules; c++)
        if (hn_quantity_of_build(&w->limit_rule[c].quantity, b, &x))
            out->violation[c] = hn_violation(&w->limit_rule[c], x, bound_of(ctx, c));
}

static size_t n_tuned(const hone_workload *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->n_inputs; i++) n += !w->input[i].held_out;
    return n;
}

/* A quantity without drift, on a single input, is recorded as it was read: a ratio would only add rounding errors. */
static bool as_read(const hn_bench_ctx *ctx, size_t k) {
    bool drifts = hn_quantity_is_noisy(hn_quantity_at(ctx->run.w, k)) && !ctx->base.steady[k];
    return !drifts && n_tuned(ctx->run.w) == 1;
}

static double value_of(const hn_bench_ctx *ctx, const hn_measured *m, size_t k) {
    if (m->cls != HONE_RUN_OK) return NAN;
    if (as_read(ctx, k)) return hone_stat_median(m->worst[k], m->n_pass);
    return hone_stat_median(m->ratio[k], m->n_pass) * (ctx->base.plain[k] ? 1 : ctx->base.ref[k]);
}

void hn_outcome_of(const hn_bench_ctx *ctx, const hn_build *b, const hn_measured *m, hone_outcome *out) {
    const hone_workload *w = ctx->run.w;
    *out = (hone_outcome){.cls = m->cls};
    for (size_t k = 0; k < w->n_objectives; k++) out->value[k] = value_of(ctx, m, k);
    for (size_t c = 0; c < w->n_limit_rules && m->cls == HONE_RUN_OK; c++)
        out->violation[c] = hn_violation(&w->limit_rule[c], hone_stat_median(m->worst[w->n_objectives + c], m->n_pass),
                                         bound_of(ctx, c));
    hn_outcome_of_build(ctx, b, out);
}

void hn_measured_free(hn_measured *m) { hn_samples_free(&m->samples); }

/* --- the baseline ------------------------------------------------------------------------------------------------- */

static hone_rc write_references(hn_bench_ctx *ctx, hone_err *err) {
    const hone_workload *w = ctx->run.w;
    for (size_t i = 0; i < w->n_inputs; i++) {
        if ((w->input[i].held_out && !ctx->all_inputs) || w->parity == HN_PARITY_NONE) continue;
        hn_run run;
        hone_rc rc =
            hn_run_once(&ctx->run, &ctx->base.recipe, &ctx->base.build, i, 1, HN_RUN_REFER, true, 0, NULL, &run, err);
        if (rc) return rc;
        if (run.cls != HONE_RUN_OK)
            return hn_fail(err, HONE_E_BASELINE, "the baseline does not work (%s): %.800s",
                           hone_outcome_class_name(run.cls), run.detail);
    }
    return HONE_OK;
}

/* Reference values: one checked pass over the inputs. */
static hone_rc measure_reference(hn_bench_ctx *ctx, hn_samples *samples, hone_err *err) {
    const hone_workload *w = ctx->run.w;
    double log_sum[HN_MAX_QUANTITIES] = {0}, sum[HN_MAX_QUANTITIES] = {0};
    for (size_t i = 0; i < w->n_inputs; i++) {
        if (w->input[i].held_out && !ctx->all_inputs) continue;
        double value[HN_MAX_QUANTITIES];
        hone_rc rc = run_base(ctx, i, true, samples, value, err);
        if (rc) return rc;
        if (w->input[i].held_out) continue;
        fill_from_build(ctx, &ctx->base.build, value);
        for (size_t k = 0; k < hn_n_quantities(w); k++) {
            ctx->base.plain[k] |= !(value[k] > 0) || hn_quantity_can_be_zero(hn_quantity_at(w, k));
            log_sum[k] += w->input[i].weight * log(value[k] > 0 ? value[k] : 1);
            sum[k] += w->input[i].weight * value[k];
            bool limits = k >= w->n_objectives;
            ctx->base.infeasible |= limits && hn_violation(&w->limit_rule[k - w->n_objectives], value[k], value[k]) > 0;
        }
    }
    bool one = n_tuned(w) == 1;
    for (size_t k = 0; k < hn_n_quantities(w); k++)
        ctx->base.ref[k] = one || ctx->base.plain[k] ? sum[k] : exp(log_sum[k]);
    return HONE_OK;
}

/* Measures the baseline as if it were the candidate. */
static hone_rc measure_noise(hn_bench_ctx *ctx, hone_err *err) {
    if (!ctx->any_noisy) return HONE_OK;
    hn_measured m = {.cls = HONE_RUN_OK};
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < NOISE_PASSES; i++)
        rc = hn_measure_pass(ctx, &ctx->base.recipe, &ctx->base.build, false, 0, &m, err);
    if (!rc && m.cls != HONE_RUN_OK)
        rc = hn_fail(err, HONE_E_BASELINE, "the baseline does not work (%s): %.800s", hone_outcome_class_name(m.cls),
                     m.detail);
    for (size_t k = 0; !rc && k < hn_n_quantities(ctx->run.w); k++) {
        double x[NOISE_PASSES];
        for (size_t i = 0; i < NOISE_PASSES; i++) x[i] = hn_log_ratio(ctx, &m, k, i);
        ctx->base.steady[k] = hone_stat_sd(x, NOISE_PASSES) == 0;
        if (k == 0) ctx->base.noise = hone_stat_sd(x, NOISE_PASSES);
    }
    hn_measured_free(&m);
    return rc;
}

hone_rc hn_bench_open(hn_bench_ctx *ctx, hn_samples *samples, hone_err *err) {
    const hone_workload *w = ctx->run.w;
    for (size_t k = 0; k < hn_n_quantities(w); k++) ctx->any_noisy |= hn_quantity_is_noisy(hn_quantity_at(w, k));
    ctx->base.recent = calloc(w->n_inputs * hn_n_quantities(w) + 1, sizeof(double));
    if (!ctx->base.recent) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_counters_present(w, err);
    if (!rc) rc = write_references(ctx, err);
    if (!rc) rc = measure_reference(ctx, samples, err);
    if (!rc) rc = measure_noise(ctx, err);
    return rc;
}

void hn_bench_close(hn_bench_ctx *ctx) {
    hn_build_drop(&ctx->base.build, ctx->run.options && ctx->run.options->keep_builds);
    hn_recipe_free(&ctx->base.recipe);
    free(ctx->base.recent);
    ctx->base.recent = NULL;
}

/* --- the second opinion ------------------------------------------------------------------------------------------- */

/* The first objective timed by the program itself that is implausibly good, or n_objectives. What the supervisor
 * measures cannot be misled by a candidate's controls. */
static size_t below_floor(const hn_bench_ctx *ctx, const hn_measured *m) {
    const hone_workload *w = ctx->run.w;
    size_t k = 0;
    for (; k < w->n_objectives; k++) {
        hn_source from = w->objective[k].quantity.source;
        bool own_clock = from == HN_FROM_HARNESS || from == HN_FROM_LINES;
        if (own_clock && !ctx->base.plain[k] && !ctx->base.steady[k] && hn_median_log_ratio(ctx, m, k) < log(w->floor))
            break;
    }
    return k;
}

/* What n calls cost beyond one call. */
static hone_rc cost_of_calls(hn_bench_ctx *ctx, const hn_recipe *r, const hn_build *b, size_t input, uint64_t n,
                             hn_run_cost *out, hone_err *err) {
    hn_run_cost one = {0, 0}, many;
    hone_rc rc = n > 1 ? hn_run_fixed(&ctx->run, r, b, input, 1, &one, err) : HONE_OK;
    if (!rc) rc = hn_run_fixed(&ctx->run, r, b, input, n, &many, err);
    if (!rc) *out = (hn_run_cost){many.cpu_s - one.cpu_s, many.wall_s - one.wall_s};
    return rc;
}

/* Candidate / baseline by CPU time, as other programs disturb wall time. A program with threads may be faster at the
 * same CPU time, though, and what runs on a device is waited for by wall time. NAN when unknown. */
static hone_rc seen_ratio(hn_bench_ctx *ctx, const hn_recipe *r, const hn_build *b, size_t input, double *out,
                          hone_err *err) {
    bool harness = ctx->run.w->time_source == HN_FROM_HARNESS, gpu = hn_workload_on_gpu(ctx->run.w);
    uint64_t n = harness ? 16 : 0;
    hn_run_cost base = {0, 0}, cand;
    hone_rc rc;
    do {
        rc = cost_of_calls(ctx, &ctx->base.recipe, &ctx->base.build, input, n, &base, err);
        if (rc || !harness || (gpu ? base.wall_s : base.cpu_s) >= fixed_min_s || n > (1u << 26)) break;
        n *= 8;
    } while (true);
    if (!rc) rc = cost_of_calls(ctx, r, b, input, n, &cand, err);
    if (rc) return rc;
    double by_cpu = base.cpu_s > 0 ? cand.cpu_s / base.cpu_s : NAN;
    double by_wall = base.wall_s > 0 ? cand.wall_s / base.wall_s : NAN;
    bool threads = cand.cpu_s > 1.3 * cand.wall_s;
    *out = gpu ? by_wall : threads ? fmin(by_cpu, by_wall) : by_cpu;
    return HONE_OK;
}

hone_rc hn_confirm(hn_bench_ctx *ctx, const hn_recipe *r, const hn_build *b, hn_measured *m, hone_err *err) {
    const hone_workload *w = ctx->run.w;
    /* hone's own program times GPU kernels by the device's clock: no candidate's controls reach it. */
    if (m->cls != HONE_RUN_OK || !m->n_pass || hn_template_has(w->run, "gpu_bench")) return HONE_OK;
    size_t k = below_floor(ctx, m);
    if (k == w->n_objectives) return HONE_OK;
    size_t input = 0;
    while (w->input[input].held_out) input++;
    double seen = NAN, claimed = exp(hn_median_log_ratio(ctx, m, k));
    hone_rc rc = seen_ratio(ctx, r, b, input, &seen, err);
    if (rc) return rc;
    /* A harness's calls can be counted; any other program's process does more than what it times. */
    double most = w->time_source == HN_FROM_HARNESS ? fmax(2 * claimed, 2 * w->floor) : 0.6;
    if (seen <= most) return HONE_OK;
    m->suspect = true;
    m->cls = HONE_NO_METRIC;
    char found[80] = "could not be measured another way";
    if (!isnan(seen)) snprintf(found, sizeof found, "but its processes take %.3g of the baseline's time", seen);
    snprintf(m->detail, sizeof m->detail,
             "claims %.3g of the baseline's '%s', below the floor of %.3g, %s: the program's own timing cannot be "
             "trusted with these controls",
             claimed, w->objective[k].quantity.text, w->floor, found);
    return HONE_OK;
}
