/* cmd_profile.c — `hone profile`: where a model's time goes, kernel by kernel, beside what the machine can do. */
#include "model_io.h"
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP = 3, RUNS_LEAST = 20, RUNS_MOST = 400, RESAMPLES = 500 };

typedef struct session {
    const hone_model *model;
    hone_model_instance *instance;
    hone_model_tensor *in, *out;
    hone_model_time *seen;                         /* RUNS_MOST rows of n_calls */
    double run_s[RUNS_MOST], kernels_s[RUNS_MOST]; /* by run: as a whole; all calls */
    uint32_t n_runs, n_calls;
    double budget_s;
} session;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- measuring ------------------------------------------------------------------------------------------------------
 */

static hone_rc run_once(session *s, bool keep, hone_err *err) {
    const hone_model *m = s->model;
    for (int32_t i = 0; i < m->n_outputs; i++) s->out[i] = (hone_model_tensor){0};
    double start_s = now_s();
    if (m->run(s->instance, s->in, (size_t)m->n_inputs, s->out, (size_t)m->n_outputs))
        return cli_fail(err, HONE_E_INPUT, "%s", m->error(s->instance));
    if (!keep) return HONE_OK;
    s->run_s[s->n_runs] = now_s() - start_s;
    const hone_model_time *t = m->profile->time(s->instance);
    for (uint32_t i = 0; i < s->n_calls; i++) {
        s->seen[(size_t)s->n_runs * s->n_calls + i] = t[i];
        s->kernels_s[s->n_runs] += 1e-9 * (double)t[i].time_ns;
    }
    s->n_runs++;
    return HONE_OK;
}

static hone_rc measure(session *s, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (int i = 0; i < WARM_UP && !rc; i++) rc = run_once(s, false, err);
    double start_s = now_s();
    while (!rc && s->n_runs < RUNS_MOST && (s->n_runs < RUNS_LEAST || now_s() - start_s < s->budget_s))
        rc = run_once(s, true, err);
    return rc;
}

/* --- what was seen --------------------------------------------------------------------------------------------------
 */

static uint32_t nearest_run(const session *s, double wanted_s) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < s->n_runs; i++)
        if (fabs(s->run_s[i] - wanted_s) < fabs(s->run_s[best] - wanted_s)) best = i;
    return best;
}

/* Adds call `at` to x, whose time in every run is in `time_s`. */
static void add_call(const session *s, uint32_t at, uint32_t shown, cli_timed *x, double *time_s) {
    const hone_model_time *t = &s->seen[(size_t)shown * s->n_calls + at];
    if (!x->n_calls++) {
        x->call = &s->model->profile->call[at];
        x->kernel = &s->model->kernel[x->call->kernel];
        x->begin_ns = t->begin_ns;
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

/* Over the faster half of the runs: what disturbed a run is no kernel's share, and shares add up to one. */
static double quiet_sum(const cli_profile *p, const session *s, const double *time_s) {
    double sum = 0;
    for (uint32_t i = 0; i < s->n_runs; i++)
        if (s->run_s[i] <= p->run_s.mid) sum += time_s[i];
    return sum;
}

/* The roof: the time that operations or bytes need at the least, whichever is longer (Williams, Waterman and Patterson
 * 2009, "Roofline: an insightful visual performance model"). */
static void judge(const cli_profile *p, const session *s, const double *time_s, cli_timed *x) {
    x->time_s = hone_bootstrap_median(time_s, s->n_runs, 0.95, RESAMPLES, 1);
    x->share = quiet_sum(p, s, time_s) / quiet_sum(p, s, s->kernels_s);
    x->of_peak = rate(x->flops, x->call->dtype == HONE_F64 ? p->f64_flops : p->f32_flops, x->time_s.mid);
    x->of_bandwidth = rate(x->bytes, p->bandwidth_bps, x->time_s.mid);
    x->of_roof = isfinite(x->of_peak) ? fmax(x->of_peak, x->of_bandwidth) : NAN;
}

static void fill(cli_profile *p, const session *s, uint32_t shown) {
    double *time_s = cli_alloc(s->n_runs + 1, sizeof *time_s);
    for (uint32_t i = 0; i < s->n_calls; i++) {
        memset(time_s, 0, s->n_runs * sizeof *time_s);
        add_call(s, i, shown, &p->call[i], time_s);
        judge(p, s, time_s, &p->call[i]);
    }
    for (int32_t k = 0; k < s->model->n_kernels; k++) {
        cli_timed *x = &p->kernel[p->n_kernels];
        memset(time_s, 0, s->n_runs * sizeof *time_s);
        for (uint32_t i = 0; i < s->n_calls; i++)
            if (s->model->profile->call[i].kernel == k) add_call(s, i, shown, x, time_s);
        if (!x->n_calls) continue;
        judge(p, s, time_s, x);
        p->n_kernels++;
    }
    free(time_s);
}

static int by_time(const void *a, const void *b) {
    double x = ((const cli_timed *)a)->time_s.mid, y = ((const cli_timed *)b)->time_s.mid;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* What so many threads can do: all together at most what all cores were measured to do. */
static double together(double one, double all, uint32_t n) { return all > 0 && all < one * n ? all : one * n; }

static void find_peaks(cli_profile *p, uint32_t n_threads) {
    hone_device d;
    hone_device_get(&d);
    p->n_threads = n_threads ? n_threads : d.n_cores;
    uint32_t n = p->n_threads < d.n_cores ? p->n_threads : d.n_cores;
    p->f32_flops = together(d.f32_flops, d.all_f32_flops, n);
    p->f64_flops = together(d.f64_flops, 0, n);
    p->bandwidth_bps = together(d.memory_bps, d.all_memory_bps, n);
}

static hone_rc show(cli *c, const session *s, hone_err *err) {
    cli_profile p = {.name = c->arg[0], .model = s->model, .n_runs = s->n_runs, .n_calls = s->n_calls};
    const char *trace = cli_text(c, "trace", NULL);
    hone_rc rc = HONE_OK;
    find_peaks(&p, (uint32_t)cli_count(c, "threads", 0));
    p.call = cli_alloc(s->n_calls + 1, sizeof *p.call);
    p.kernel = cli_alloc((size_t)s->model->n_kernels + 1, sizeof *p.kernel);
    p.run_s = hone_bootstrap_median(s->run_s, s->n_runs, 0.95, RESAMPLES, 1);
    p.kernels_s = hone_median(s->kernels_s, s->n_runs);
    uint32_t shown = nearest_run(s, p.run_s.mid);
    p.shown_s = s->run_s[shown];
    fill(&p, s, shown);
    qsort(p.kernel, p.n_kernels, sizeof *p.kernel, by_time);
    if (trace) rc = cli_profile_trace(&p, trace, err);
    if (!rc && c->json)
        cli_profile_json(c, &p);
    else if (!rc)
        cli_profile_text(c, &p, cli_given(c, "calls"));
    free(p.call), free(p.kernel);
    return rc;
}

/* --- setting up -----------------------------------------------------------------------------------------------------
 */

static hone_rc hold(cli *c, cli_model *open, hone_err *err) {
    const hone_model *m = open->model;
    cli_arrays in = {0};
    hone_model_config config = {.n_threads = (int32_t)cli_count(c, "threads", 0)};
    hone_rc rc = cli_arrays_random(m, cli_text(c, "size", NULL), cli_count(c, "seed", 1), &in, err);
    if (rc) return rc;
    session *s = cli_alloc(1, sizeof *s);
    s->model = m;
    s->budget_s = cli_seconds(c, "time", 3);
    s->n_calls = (uint32_t)m->profile->n_calls;
    s->seen = cli_alloc((size_t)RUNS_MOST * s->n_calls + 1, sizeof *s->seen);
    s->out = cli_alloc((size_t)m->n_outputs + 1, sizeof *s->out);
    s->in = cli_model_tensors(&in);
    if (m->create(&config, &s->instance)) rc = cli_fail(err, HONE_E_FAILED, "%s", m->error(NULL));
    cli_model_unlink(open); /* nothing is left where an interrupt or a closed pipe ends the run */
    if (!rc) rc = measure(s, err);
    if (!rc) rc = show(c, s, err);
    if (s->instance) m->free(s->instance);
    cli_arrays_free(&in);
    free(s->in), free(s->out), free(s->seen), free(s);
    return rc;
}

static hone_rc run_profile(cli *c, hone_err *err) {
    cli_model m;
    hone_rc rc = cli_model_open_timed(c, c->arg[0], &m, err);
    if (rc) return rc;
    rc = hold(c, &m, err);
    cli_model_close(&m);
    return rc;
}

static const cli_option options[] = {
    {"calls", 0, CLI_FLAG, NULL, 0, 0, "one line per call, in the order of the program"},
    {"trace", 0, CLI_TEXT, "FILE", 0, 0, "write one run in Chrome's trace format"},
    {"threads", 0, CLI_COUNT, "N", 1, 1024, "threads; else one per processor"},
    {"size", 0, CLI_TEXT, "NAME=N,...", 0, 0, "symbolic sizes; else their smallest"},
    {"time", 0, CLI_SECONDS, "T", 0, 0, "how long to measure; else 3 s"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "of the inputs; else 1"},
    {"target", 't', CLI_TEXT, "T", 0, 0, "native, generic, x86-64-v3, x86-64-v4 or aarch64"},
    {"relaxed", 0, CLI_FLAG, NULL, 0, 0, "allow rewrites that change rounding"},
    {"reference", 0, CLI_FLAG, NULL, 0, 0, "every kernel as its plain reference version"},
    {"symbol", 's', CLI_TEXT, "NAME=RANGE,...", 0, 0, "fix or bound symbolic sizes: batch=1:64,seq=128"},
    {"cc", 0, CLI_TEXT, "CC", 0, 0, "the C compiler; else cc"},
    {"jobs", 'j', CLI_COUNT, "N", 1, 1024, "compilers at once; else one per processor"},
    {0},
};

const cli_command cli_cmd_profile = {
    "profile",
    "Models",
    "MODEL",
    "say where a model's time goes, kernel by kernel",
    "Compiles an ONNX file (or a text of `hone ir`) for the occasion, with a clock around every kernel call and "
    "without "
    "the parity check, and runs it on random inputs of a fixed seed: a warm-up, then 20 to 400 runs until the time is "
    "up.\n\n"
    "Times are medians over the runs with the bootstrap's interval, 95 %. GFLOP/s and GB/s come from operations and "
    "bytes counted off the graph, and are set against what `hone doctor --measure` has measured: `of roof` is the "
    "larger of the two shares. GB/s above the peak means that the data was in caches.",
    options,
    "hone profile resnet50.onnx --threads 1\twhich kernels take the time\n"
    "hone profile bert.onnx --size batch=1,seq=128 --calls --trace bert.json\tcall by call, and as a picture\n",
    1,
    1,
    run_profile,
};
