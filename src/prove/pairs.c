/* prove/pairs.c — pairs of runs into rows of evidence. */
#include "prove/pairs.h"

#include "base/err.h"
#include "base/rng.h"
#include "experiment/contest.h"

#include <hone/stat.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A percentile of a run's own samples needs a few of them. */
enum { TAIL_LEAST = 5 };

/* --- opening ------------------------------------------------------------------------------------------------------ */

bool hn_needs_pairs(const hone_workload *w) {
    for (size_t q = 0; q < hn_n_quantities(w); q++)
        if (hn_quantity_is_noisy(hn_quantity_at(w, q))) return true;
    return false;
}

static void describe(const hn_pairing *p, hn_evidence *e) {
    const hone_workload *w = p->bench->run.w;
    *e = (hn_evidence){.n_objectives = w->n_objectives, .n_limits = w->n_limit_rules, .n_inputs = w->n_inputs};
    e->n_variants = p->baseline->n;
    e->limit = w->limit_rule;
    e->input = w->input;
    e->noise = NAN;
    for (size_t k = 0; k < w->n_objectives; k++) {
        const hn_objective *o = &w->objective[k];
        hn_goal *g = &e->goal[k];
        *g = (hn_goal){.quantity = o->quantity.text, .maximize = o->maximize, .plain = p->bench->base.plain[k]};
        g->noisy = hn_quantity_is_noisy(&o->quantity);
    }
}

hone_rc hn_pairing_open(hn_pairing *p, hn_bench_ctx *bench, const hn_side *baseline, const hn_side *tuned,
                        uint64_t seed, hn_evidence *evidence, hone_err *err) {
    *p = (hn_pairing){.bench = bench, .baseline = baseline, .tuned = tuned, .seed = seed, .evidence = evidence};
    p->failure.cls = HONE_RUN_OK;
    describe(p, evidence);
    p->order = calloc(baseline->n + 1, sizeof *p->order);
    p->checked = calloc(baseline->n + 1, sizeof *p->checked);
    return p->order && p->checked ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

void hn_pairing_close(hn_pairing *p) {
    hn_samples_free(&p->samples);
    free(p->order);
    free(p->checked);
    p->order = NULL;
    p->checked = NULL;
}

/* --- one run ------------------------------------------------------------------------------------------------------ */

/* What one run of one side gave. */
typedef struct reading {
    double quantity[HN_MAX_QUANTITIES], tail[HONE_MAX_OBJECTIVES];
} reading;

/* The tail of each objective within this run; NAN where it has too few samples. */
static void read_tails(const hn_pairing *p, reading *out) {
    const hone_workload *w = p->bench->run.w;
    for (size_t k = 0; k < w->n_objectives; k++) {
        const char *metric = w->objective[k].quantity.metric;
        size_t n = 0;
        out->tail[k] = NAN;
        double *x = malloc((p->samples.n + 1) * sizeof *x);
        for (size_t i = 0; x && i < p->samples.n; i++)
            if (!strcmp(p->samples.sample[i].metric, metric)) x[n++] = p->samples.sample[i].value;
        if (n >= TAIL_LEAST) out->tail[k] = hone_stat_percentile(x, n, w->objective[k].maximize ? 5 : 95);
        free(x);
    }
}

static hone_rc base_failed(const hn_run *run, size_t variant, hone_err *err) {
    bool differs = run->cls == HONE_WRONG_RESULT;
    const char *hint = !differs  ? ""
                       : variant ? "; its output differs between two runs or changes with the layout of its code: make "
                                   "the program deterministic or give parity a tolerance"
                                 : "; its output differs between two runs: make the program deterministic or give "
                                   "parity a tolerance";
    return hn_fail(err, HONE_E_BASELINE, "the baseline does not work (%s): %.700s%s", hone_outcome_class_name(run->cls),
                   run->detail, hint);
}

static void candidate_failed(hn_pairing *p, hone_outcome_class cls, const char *detail) {
    p->failure.cls = cls;
    snprintf(p->failure.detail, sizeof p->failure.detail, "%s", detail);
}

/* A value that has no ratio where the baseline's has one. */
static bool usable(const hn_pairing *p, const hn_run *run, hn_run_kind kind, size_t *bad) {
    const hone_workload *w = p->bench->run.w;
    for (size_t k = 0; k < w->n_objectives; k++) {
        const hn_quantity *q = &w->objective[k].quantity;
        bool counted = q->source == HN_FROM_INSTRUCTIONS;
        bool mine = counted ? kind == HN_RUN_COUNTED : hn_quantity_is_noisy(q) && kind == HN_RUN_TIMED;
        *bad = k;
        if (mine && !p->bench->base.plain[k] && !(run->quantity[k] > 0)) return false;
    }
    return true;
}

static hone_rc run_side(hn_pairing *p, const hn_side *side, size_t variant, size_t input, hn_run_kind kind, bool check,
                        reading *out, hone_err *err) {
    hn_run_config cfg = p->bench->run;
    hn_run run;
    size_t bad;
    bool base = side == p->baseline;
    cfg.kind = kind;
    p->samples.n = 0;
    uint64_t noise = hn_mix64(p->seed ^ hn_mix64(++p->bench->n_runs));
    hone_rc rc = hn_run_once(&cfg, &side->variant[variant], &side->build[variant], input, base, HN_RUN_MEASURE, check,
                             noise, kind == HN_RUN_TIMED ? &p->samples : NULL, &run, err);
    if (rc) return rc;
    if (run.cls == HONE_RUN_OK && !usable(p, &run, kind, &bad)) {
        const hone_workload *w = p->bench->run.w;
        run.cls = HONE_NO_METRIC;
        snprintf(run.detail, sizeof run.detail, "input '%s': '%s' is %g, which cannot be", w->input[input].name,
                 w->objective[bad].quantity.text, run.quantity[bad]);
    }
    if (run.cls != HONE_RUN_OK && base) return base_failed(&run, variant, err);
    if (run.cls != HONE_RUN_OK) candidate_failed(p, run.cls, run.detail);
    memcpy(out->quantity, run.quantity, sizeof out->quantity);
    read_tails(p, out);
    return p->samples.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
}

/* Both sides on one input. The sides are one when the baseline is compared with itself. */
static hone_rc run_both(hn_pairing *p, size_t variant, size_t input, hn_run_kind kind, bool base_first, bool check,
                        reading *base, reading *tuned, hone_err *err) {
    hone_rc rc = HONE_OK;
    if (base_first) rc = run_side(p, p->baseline, variant, input, kind, check, base, err);
    if (!rc) rc = run_side(p, p->tuned, variant, input, kind, check, tuned, err);
    if (!rc && !base_first && p->failure.cls == HONE_RUN_OK)
        rc = run_side(p, p->baseline, variant, input, kind, check, base, err);
    return rc;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* A series' share of the readings of all inputs, as two arrays. */
static hone_rc add_row(hn_pairing *p, hn_series *s, unsigned variant, const reading *base, const reading *tuned,
                       size_t q, bool tail, hone_err *err) {
    size_t n = p->evidence->n_inputs;
    double *x = malloc(2 * n * sizeof *x);
    if (!x) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    bool whole = true;
    for (size_t i = 0; i < n; i++) {
        x[i] = tail ? base[i].tail[q] : base[i].quantity[q];
        x[n + i] = tail ? tuned[i].tail[q] : tuned[i].quantity[q];
        whole = whole && isfinite(x[i]) && isfinite(x[n + i]);
        if (tail && !p->evidence->goal[q].plain) whole = whole && x[i] > 0 && x[n + i] > 0;
    }
    if (tail && !whole) p->no_tail[q] = true;
    hone_rc rc = whole ? hn_series_add(s, n, variant, x, x + n, err) : HONE_OK;
    free(x);
    return rc;
}

static hone_rc add_tail(hn_pairing *p, size_t k, unsigned variant, const reading *base, const reading *tuned,
                        hone_err *err) {
    hn_goal *g = &p->evidence->goal[k];
    if (p->no_tail[k]) return HONE_OK;
    hone_rc rc = add_row(p, &g->tail, variant, base, tuned, k, true, err);
    if (p->no_tail[k]) hn_series_free(&g->tail); /* all runs or none */
    return rc;
}

static hone_rc add_rows(hn_pairing *p, unsigned variant, const reading *base, const reading *tuned, hn_run_kind kind,
                        hone_err *err) {
    const hone_workload *w = p->bench->run.w;
    hone_rc rc = HONE_OK;
    for (size_t q = 0; !rc && q < hn_n_quantities(w); q++) {
        const hn_quantity *quantity = hn_quantity_at(w, q);
        bool counted = quantity->source == HN_FROM_INSTRUCTIONS;
        if (kind == HN_RUN_COUNTED ? !counted : !hn_quantity_is_noisy(quantity)) continue;
        bool goal = q < w->n_objectives;
        hn_series *s = goal ? &p->evidence->goal[q].value : &p->evidence->bound[q - w->n_objectives];
        rc = add_row(p, s, variant, base, tuned, q, false, err);
        if (!rc && goal && !counted) rc = add_tail(p, q, variant, base, tuned, err);
    }
    return rc;
}

/* All inputs, in random order, and the rows of it. */
static hone_rc run_inputs(hn_pairing *p, unsigned variant, hn_run_kind kind, bool base_first, bool check,
                          hone_err *err) {
    size_t n = p->evidence->n_inputs;
    reading *base = calloc(2 * n, sizeof *base);
    size_t *order = calloc(n, sizeof *order);
    hone_rc rc = base && order ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_rng rng = hn_rng_make(p->seed, p->bench->n_runs);
    if (!rc) hn_shuffled(&rng, order, n);
    for (size_t i = 0; !rc && p->failure.cls == HONE_RUN_OK && i < n; i++)
        rc = run_both(p, variant, order[i], kind, base_first, check, &base[order[i]], &base[n + order[i]], err);
    if (!rc && p->failure.cls == HONE_RUN_OK) rc = add_rows(p, variant, base, base + n, kind, err);
    free(base);
    free(order);
    return rc;
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* The variant of pair i: rounds over all of them, each in an order of its own. */
static unsigned variant_of(hn_pairing *p, size_t i) {
    size_t n = p->evidence->n_variants;
    if (i % n == 0) {
        hn_rng rng = hn_rng_make(p->seed, 0xabba + i / n);
        hn_shuffled(&rng, p->order, n);
    }
    return (unsigned)p->order[i % n];
}

hone_rc hn_pair(hn_pairing *p, hone_err *err) {
    hn_evidence *e = p->evidence;
    unsigned variant = variant_of(p, e->n_pairs);
    hone_rc rc = run_inputs(p, variant, HN_RUN_TIMED, hn_base_first(e->n_pairs), !p->checked[variant], err);
    if (rc || p->failure.cls != HONE_RUN_OK) return rc;
    p->checked[variant] = true;
    e->n_pairs++;
    return HONE_OK;
}

/* --- what needs no pairs ------------------------------------------------------------------------------------------ */

static bool of_every_build(const hn_quantity *q) { return q->source == HN_FROM_COMPILE_TIME; }

static hone_rc add_builds(hn_pairing *p, size_t q, hone_err *err) {
    const hone_workload *w = p->bench->run.w;
    const hn_quantity *quantity = hn_quantity_at(w, q);
    bool goal = q < w->n_objectives;
    hn_series *s = goal ? &p->evidence->goal[q].value : &p->evidence->bound[q - w->n_objectives];
    size_t n = p->evidence->n_inputs, most = of_every_build(quantity) ? p->evidence->n_variants : 1;
    double *x = malloc(2 * n * sizeof *x);
    hone_rc rc = x ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t v = 0; !rc && v < most; v++) {
        double base = NAN, tuned = NAN;
        hn_quantity_of_build(quantity, &p->baseline->build[v], &base);
        hn_quantity_of_build(quantity, &p->tuned->build[v], &tuned);
        for (size_t i = 0; i < n; i++) x[i] = base, x[n + i] = tuned;
        rc = hn_series_add(s, n, (unsigned)v, x, x + n, err);
    }
    free(x);
    return rc;
}

hone_rc hn_pair_fixed(hn_pairing *p, hone_err *err) {
    const hone_workload *w = p->bench->run.w;
    double ignored;
    bool counts = false;
    hone_rc rc = HONE_OK;
    for (size_t q = 0; !rc && q < hn_n_quantities(w); q++) {
        const hn_quantity *quantity = hn_quantity_at(w, q);
        counts = counts || quantity->source == HN_FROM_INSTRUCTIONS;
        if (hn_quantity_of_build(quantity, &p->baseline->build[0], &ignored)) rc = add_builds(p, q, err);
    }
    for (unsigned v = 0; !rc && counts && p->failure.cls == HONE_RUN_OK && v < p->evidence->n_variants; v++)
        rc = run_inputs(p, v, HN_RUN_COUNTED, v % 2 == 0, false, err);
    return rc;
}
