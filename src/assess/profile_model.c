/* profile_model.c — where a model's time goes, kernel by kernel, beside what the machine can do. */
#include "assess/assess_int.h"
#include "base/err.h"
#include "base/options.h"

#include <hone/device.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 3, RUNS_LEAST = 20, RUNS_MOST = 400, RESAMPLES = 500 };

typedef struct record {
    hn_rerun run;
    const hone_model *model;
    hone_model_time *seen;                         /* RUNS_MOST rows of n_calls */
    double run_s[RUNS_MOST], kernels_s[RUNS_MOST]; /* by run: as a whole; all calls */
    double *time_s;                                /* room for the runs of one row of the result */
    uint32_t n_runs, n_calls;
} record;

/* --- measuring -----------------------------------------------------------------------------------------------------
 */

static hone_rc keep_run(record *s, hone_err *err) {
    hone_rc rc = hn_rerun_once(&s->run, &s->run_s[s->n_runs], err);
    if (rc) return rc;
    const hone_model_time *t = s->model->profile->time(s->run.instance);
    s->kernels_s[s->n_runs] = 0;
    for (uint32_t i = 0; i < s->n_calls; i++) {
        s->seen[(size_t)s->n_runs * s->n_calls + i] = t[i];
        s->kernels_s[s->n_runs] += 1e-9 * (double)t[i].time_ns;
    }
    s->n_runs++;
    return HONE_OK;
}

static hone_rc measure(record *s, double budget_s, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (int i = 0; i < WARM_UP && !rc; i++) rc = hn_rerun_once(&s->run, NULL, err);
    double start_s = s->run.place->now_s(s->run.place_state);
    while (!rc && s->n_runs < RUNS_MOST &&
           (s->n_runs < RUNS_LEAST || s->run.place->now_s(s->run.place_state) - start_s < budget_s))
        rc = keep_run(s, err);
    return rc;
}

/* --- what was seen -------------------------------------------------------------------------------------------------
 */

static uint32_t nearest_run(const record *s, double wanted_s) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < s->n_runs; i++)
        if (fabs(s->run_s[i] - wanted_s) < fabs(s->run_s[best] - wanted_s)) best = i;
    return best;
}

/* Adds call `at` to x, whose time in every run is in `time_s`. */
static void add_call(const record *s, uint32_t at, uint32_t shown, hone_profile_row *x, double *time_s) {
    const hone_model_time *t = &s->seen[(size_t)shown * s->n_calls + at];
    if (!x->n_calls++) {
        x->call = &s->model->profile->call[at];
        x->kernel = &s->model->kernel[x->call->kernel];
        x->begin_s = 1e-9 * (double)t->begin_ns;
    }
    x->n_launches += t->count;
    x->shown_s += 1e-9 * (double)t->time_ns;
    x->flops += t->flops;
    x->bytes += t->bytes;
    for (uint32_t i = 0; i < s->n_runs; i++) time_s[i] += 1e-9 * (double)s->seen[(size_t)i * s->n_calls + at].time_ns;
}

static double rate(double amount, double per_s, double time_s) {
    return per_s > 0 && time_s > 0 ? amount / per_s / time_s : NAN;
}

/* Over the faster half of the runs, so that disturbances count for no kernel and shares add up to one. */
static double quiet_sum(const hone_profile *p, const record *s, const double *time_s) {
    double sum = 0;
    for (uint32_t i = 0; i < s->n_runs; i++)
        if (s->run_s[i] <= p->run_s.mid) sum += time_s[i];
    return sum;
}

/* The roof: the time that operations or bytes need at the least, whichever is longer (Williams, Waterman and Patterson
 * 2009, "Roofline: an insightful visual performance model"). What moves bytes faster than memory had them in caches:
 * then the farthest level that delivers as much bounds it, the second at the nearest (Ilic, Pratas and Sousa 2014,
 * "Cache-aware roofline model").
 */
static double of_level(const hone_profile *p, const hone_profile_row *x) {
    const double level[] = {p->bandwidth_bps, p->l3_bps};
    for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
        double share = rate(x->bytes, level[i], x->time_s.mid);
        if (share <= 1) return share;
    }
    return rate(x->bytes, p->bandwidth_bps > 0 ? p->l2_bps : 0, x->time_s.mid);
}

static double peak_of(const hone_profile *p, int32_t dtype) {
    return dtype == HONE_F64 ? p->f64_flops : dtype == HONE_U8 ? p->i8_ops : p->f32_flops;
}

static void add_roofline(const hone_profile *p, const record *s, const double *time_s, hone_profile_row *x) {
    x->time_s = hone_stat_bootstrap_median(time_s, s->n_runs, 0.95, RESAMPLES, 1);
    x->share = quiet_sum(p, s, time_s) / quiet_sum(p, s, s->kernels_s);
    x->of_peak = rate(x->flops, peak_of(p, x->call->dtype), x->time_s.mid);
    x->of_bandwidth = rate(x->bytes, p->bandwidth_bps, x->time_s.mid);
    x->of_roof = isfinite(x->of_peak) ? fmax(x->of_peak, of_level(p, x)) : NAN;
}

static bool was_taken(const record *s, uint32_t call, int32_t version) {
    return s->model->profile->call[call].version == version;
}

/* All runs have the same sizes, so they take one version: calls of other versions are left out. */
static void fill(hone_profile *p, const record *s, uint32_t shown) {
    double *time_s = s->time_s;
    p->version = s->model->last_version(s->run.instance);
    for (uint32_t i = 0; i < s->n_calls; i++) {
        if (!was_taken(s, i, p->version)) continue;
        memset(time_s, 0, s->n_runs * sizeof *time_s);
        add_call(s, i, shown, &p->call[p->n_calls], time_s);
        add_roofline(p, s, time_s, &p->call[p->n_calls++]);
    }
    for (int32_t k = 0; k < s->model->n_kernels; k++) {
        hone_profile_row *x = &p->kernel[p->n_kernels];
        memset(time_s, 0, s->n_runs * sizeof *time_s);
        for (uint32_t i = 0; i < s->n_calls; i++)
            if (was_taken(s, i, p->version) && s->model->profile->call[i].kernel == k) add_call(s, i, shown, x, time_s);
        if (!x->n_calls) continue;
        add_roofline(p, s, time_s, x);
        p->n_kernels++;
    }
}

static int by_time(const void *a, const void *b) {
    double x = ((const hone_profile_row *)a)->time_s.mid, y = ((const hone_profile_row *)b)->time_s.mid;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* What n threads can do: together at most what as many cores or more were measured to do, which on a machine that was
 * busy then may be less than one core's. */
static double together(const hone_device *d, double one, double all, uint32_t n) {
    return all > 0 && n <= d->all_cores ? fmax(one, fmin(one * n, all)) : one * n;
}

static void find_peaks(hone_profile *p, uint32_t n_threads) {
    hone_device d;
    hone_device_get(&d);
    p->n_threads = n_threads ? n_threads : d.n_cores;
    uint32_t n = p->n_threads < d.n_cores ? p->n_threads : d.n_cores;
    p->f32_flops = together(&d, d.f32_flops, d.all_f32_flops, n);
    p->f64_flops = together(&d, d.f64_flops, 0, n);
    p->i8_ops = together(&d, d.i8_ops, 0, n);
    p->bandwidth_bps = together(&d, d.memory_bps, d.all_memory_bps, n);
    p->l2_bps = together(&d, d.l2_bps, 0, n);
    p->l3_bps = together(&d, d.l3_bps, 0, n);
}

/* --- the call ------------------------------------------------------------------------------------------------------
 */

static hone_rc make_room(record *s, const hone_model *m, hone_profile *p, hone_err *err) {
    s->model = m;
    s->n_calls = (uint32_t)m->profile->n_calls;
    s->seen = calloc((size_t)RUNS_MOST * s->n_calls + 1, sizeof *s->seen);
    s->time_s = calloc(RUNS_MOST, sizeof *s->time_s);
    p->call = calloc((size_t)s->n_calls + 1, sizeof *p->call);
    p->kernel = calloc((size_t)m->n_kernels + 1, sizeof *p->kernel);
    return s->seen && s->time_s && p->call && p->kernel ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static void summarise(const record *s, uint32_t n_threads, hone_profile *p) {
    p->model = s->model;
    p->n_runs = s->n_runs;
    find_peaks(p, n_threads);
    p->run_s = hone_stat_bootstrap_median(s->run_s, s->n_runs, 0.95, RESAMPLES, 1);
    p->kernels_s = hone_stat_median(s->kernels_s, s->n_runs);
    uint32_t shown = nearest_run(s, p->run_s.mid);
    p->shown_s = s->run_s[shown];
    fill(p, s, shown);
    qsort(p->kernel, p->n_kernels, sizeof *p->kernel, by_time);
}

hone_rc hone_profile_model(const hone_model *m, const hone_array *in, const hone_latency_options *options,
                           hone_profile *out, hone_err *err) {
    hone_latency_options o = hone_latency_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "latency", err);
    if (!rc) rc = hn_device_check(o.device, err);
    if (rc) return rc;
    hone_profile p = {0};
    if (!m->profile)
        return hn_fail(err, HONE_E_USAGE, "model '%s' does not time its kernels: compile it for profiling", m->name);
    record *s = calloc(1, sizeof *s);
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    rc = make_room(s, m, &p, err);
    if (!rc) rc = hn_rerun_open(m, in, &o, &s->run, err);
    if (!rc) rc = measure(s, o.budget_s > 0 ? o.budget_s : 3, err);
    if (!rc) summarise(s, o.n_threads, &p);
    hn_rerun_close(&s->run);
    free(s->seen), free(s->time_s), free(s);
    if (rc)
        hone_profile_free(&p);
    else
        *out = p;
    return rc;
}

void hone_profile_free(hone_profile *p) {
    free(p->call), free(p->kernel);
    *p = (hone_profile){0};
}
