/* tune/run.c — starts the program under its limits, reads metrics, compares outputs. */
#include "tune/run.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "cubin/cubin.h"
#include "cubin/tools.h"
#include "far/far.h"
#include "measure/outcome.h"
#include "tune/confine.h"
#include "tune/host.h"

#include <hone/stat.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- quantities ----------------------------------------------------------------------------------------------------
 */

size_t hn_n_quantities(const hone_workload *w) { return w->n_objectives + w->n_limit_rules; }

const hn_quantity *hn_quantity_at(const hone_workload *w, size_t i) {
    return i < w->n_objectives ? &w->objective[i].quantity : &w->limit_rule[i - w->n_objectives].quantity;
}

bool hn_quantity_is_noisy(const hn_quantity *q) {
    switch (q->source) {
    case HN_FROM_CODE:
    case HN_FROM_CODE_SIZE:
    case HN_FROM_FILE_SIZE:
    case HN_FROM_COMPILE_TIME: /* measured once per build, not in pairs */
    case HN_FROM_INSTRUCTIONS: return false;
    default: return true;
    }
}

hone_rc hn_counters_present(const hone_workload *w, hone_err *err) {
    hone_machine offer;
    hone_rc rc = hn_host_machine(w, NULL, &offer, err);
    if (rc) return rc;
    for (size_t k = 0; k < hn_n_quantities(w); k++) {
        hn_source from = hn_quantity_at(w, k)->source;
        if (from == HN_FROM_ENERGY && !offer.rapl)
            return hn_fail(
                err, HONE_E_UNSUPPORTED,
                "'energy' cannot be measured here: no readable RAPL counter in /sys/class/powercap; where the "
                "processor has one, root may read it");
        if (from == HN_FROM_INSTRUCTIONS && !offer.perf_instructions && !offer.callgrind)
            return hn_fail(err, HONE_E_UNSUPPORTED,
                           "'instructions' cannot be counted here: perf events are not allowed "
                           "(kernel.perf_event_paranoid) and valgrind is not installed; install valgrind");
        if (from == HN_FROM_CODE && (rc = hn_code_tools_present(err))) return rc;
    }
    return HONE_OK;
}

bool hn_quantity_can_be_zero(const hn_quantity *q) {
    if (q->source != HN_FROM_CODE) return false;
    switch (q->code) {
    case HN_GPU_REGISTERS:
    case HN_GPU_CODE:
    case HN_GPU_OCCUPANCY:
    case HN_GPU_WARPS:
    case HN_GPU_BLOCKS:
    case HN_GPU_INSTRUCTIONS:
    case HN_GPU_STALLS: return false;
    default: return true;
    }
}

bool hn_quantity_differs_by_build(const hn_quantity *q) {
    return q->source == HN_FROM_COMPILE_TIME || q->source == HN_FROM_FILE_SIZE;
}

bool hn_quantity_of_build(const hn_quantity *q, const hn_build *b, double *value) {
    switch (q->source) {
    case HN_FROM_CODE_SIZE: *value = (double)b->code_b; return true;
    case HN_FROM_FILE_SIZE: *value = (double)b->file_b; return true;
    case HN_FROM_COMPILE_TIME: *value = b->build_s; return true;
    case HN_FROM_CODE: *value = b->figure[q->slot]; return true;
    default: return false;
    }
}

void hn_samples_add(hn_samples *s, const char *metric, const char *input, int side, double value) {
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        hone_sample *p = realloc(s->sample, room * sizeof *p);
        if (!p) {
            s->failed = true;
            return;
        }
        s->sample = p;
        s->room = room;
    }
    s->sample[s->n++] = (hone_sample){metric, input, side, value};
}

void hn_samples_free(hn_samples *s) {
    free(s->sample);
    *s = (hn_samples){0};
}

static double aggregate(const hn_quantity *q, const double *x, size_t n) {
    switch (q->aggregate) {
    case HN_AGG_MEAN: return hone_stat_mean(x, n);
    case HN_AGG_MIN: return hone_stat_percentile(x, n, 0);
    case HN_AGG_MAX: return hone_stat_percentile(x, n, 100);
    case HN_AGG_PERCENTILE: return hone_stat_percentile(x, n, q->percentile);
    default: return hone_stat_median(x, n);
    }
}

int hn_measuring_cpu(int asked) {
    cpu_set_t set;
    int last = -1;
    if (asked >= 0) return asked;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) last = i;
    return last;
}

/* --- starting the program --------------------------------------------------------------------------------------------
 */

#define METRICS_FILE "hone-metrics.jsonl"
#define DATA_FILE "hone-data"
#define OUTPUT_FILE "hone-output"

typedef struct mode {
    bool once, counts, energy, data;
    uint64_t n_calls;
    uint64_t noise;
} mode;

typedef struct start {
    const hn_run_config *cfg;
    const hn_recipe *r;
    const hn_build *b;
    size_t input;
} start;

static hone_rc make_env(const start *s, const mode *m, hn_arena *a, const char *const **out, hone_err *err) {
    size_t n = 0, n_recipe = 0;
    while (s->r->env && s->r->env[n_recipe]) n_recipe++;
    const char **env = HN_NEW_N(a, const char *, n_recipe + 10);
    if (!env) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (; n < n_recipe; n++) env[n] = s->r->env[n];
    env[n++] = "HONE_BENCH_OUT=" METRICS_FILE;
    if (m->data) env[n++] = "HONE_BENCH_DATA=" DATA_FILE;
    if (m->once) env[n++] = "HONE_BENCH_ONCE=1";
    if (s->cfg->w->cold) env[n++] = "HONE_BENCH_COLD=1";
    if (s->cfg->w->device) env[n++] = hn_format(a, "HONE_GPU_DEVICE=%s", s->cfg->w->device);
    if (s->cfg->w->min_run_s > 0) env[n++] = hn_format(a, "HONE_BENCH_MIN_TIME=%.9g", s->cfg->w->min_run_s);
    if (m->n_calls) {
        env[n++] = hn_format(a, "HONE_BENCH_CALLS=%llu", (unsigned long long)m->n_calls);
        env[n++] = "HONE_BENCH_SAMPLES=1";
        env[n++] = "HONE_BENCH_WARMUP=0";
    }
    *out = env;
    return hn_arena_ok(a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* Removes files of an earlier run, so that they are not taken for this run's. */
static void remove_stale(const hone_workload *w, const hn_build *b) {
    const char *const files[] = {METRICS_FILE, DATA_FILE, OUTPUT_FILE, w->parity_output};
    for (size_t i = 0; i < sizeof files / sizeof *files && files[i]; i++) {
        char *path = hn_path_join(b->dir, files[i]);
        if (path) unlink(path);
        free(path);
    }
}

/* Here, or on the machine of measure.on: the files that a run leaves are brought back. */
static hone_rc run_where(const start *s, const hn_proc_spec *spec, const volatile int *stop, hn_proc_result *out,
                         hone_err *err) {
    const hone_workload *w = s->cfg->w;
    const char *const back[] = {METRICS_FILE, DATA_FILE, OUTPUT_FILE, w->parity_output, NULL};
    if (!w->far) return hn_proc_run(spec, stop, out, err);
    return hn_far_run(w->far, s->b->dir, s->b->made, spec, back, stop, out, err);
}

static hone_rc execute(const start *s, const mode *m, hn_proc_result *out, char *what, size_t n_what, hone_err *err) {
    const hone_workload *w = s->cfg->w;
    const volatile int *stop = s->cfg->options ? s->cfg->options->stop : NULL;
    hn_arena a = {0};
    hn_str command = {0};
    const char *const *env = NULL;
    remove_stale(w, s->b);
    hone_rc rc = hn_recipe_expand(w, s->r, w->run, "", w->input[s->input].args, OUTPUT_FILE, &command, err);
    if (!rc) rc = make_env(s, m, &a, &env, err);
    if (!rc) {
        hn_proc_spec spec = {.shell = command.text, .env = env, .cwd = s->b->dir, .cpu = s->cfg->cpu};
        spec.wall_s = w->limits.run_s;
        spec.cpu_s = w->limits.cpu_s;
        spec.memory_b = w->limits.memory_b;
        spec.file_b = w->limits.file_b;
        spec.out_b = w->limits.output_b;
        spec.n_procs = w->limits.n_procs;
        spec.stack_pad_b = (size_t)(m->noise % 257) * 16;
        spec.count_instructions = m->counts;
        spec.count_energy = m->energy;
        double t0 = hn_now_s();
        rc = hn_confine_run(w, HN_CONFINE_RUN, &a, &spec, err);
        if (!rc) rc = run_where(s, &spec, stop, out, err);
        *s->cfg->waited_s += hn_now_s() - t0;
        if (!rc) hn_proc_describe(&spec, out, what, n_what);
        if (!rc && stop && *stop && out->end == HN_PROC_STOPPED) {
            hn_proc_result_free(out);
            rc = hn_fail(err, HONE_E_INTERRUPTED, "interrupted while measuring");
        }
    }
    hn_str_free(&command);
    hn_arena_free(&a);
    return rc;
}

static hone_outcome_class run_class(const hn_proc_result *r) {
    switch (r->end) {
    case HN_PROC_EXITED: return r->code == 0 ? HONE_RUN_OK : HONE_RUN_CRASH;
    case HN_PROC_WALL_LIMIT:
    case HN_PROC_CPU_LIMIT: return HONE_RUN_TIMEOUT;
    case HN_PROC_MEMORY_LIMIT:
    case HN_PROC_FILE_LIMIT:
    case HN_PROC_OUTPUT_LIMIT:
    case HN_PROC_COUNT_LIMIT: return HONE_OVER_LIMIT;
    default: return HONE_RUN_CRASH;
    }
}

/* --- parity ------------------------------------------------------------------------------------------------------- */

/* Does parity compare harness data in this workload? */
static bool uses_data(const hone_workload *w) { return !w->parity_output && w->time_source == HN_FROM_HARNESS; }

/* Metric lines differ from run to run; they are not output. */
static bool is_metric_line(const hone_workload *w, const char *line, size_t n) {
    while (n && isspace((unsigned char)*line)) line++, n--;
    while (n && isspace((unsigned char)line[n - 1])) n--;
    bool number = n && (isdigit((unsigned char)*line) || *line == '.');
    for (size_t i = 0; i < w->n_metrics; i++) {
        size_t len = strlen(w->metric[i]);
        if (n > len && !strncmp(line, w->metric[i], len) && strchr(":= \t", line[len])) return true;
        if (number && n > len && !memcmp(line + n - len, w->metric[i], len) && strchr(" \t", line[n - len - 1]))
            return true; /* "12.3 MB/s" */
    }
    return false;
}

/* Without fsync: the file is compared once and may be lost in a crash. */
static hone_rc write_scratch(const char *path, const char *text, size_t n, hone_err *err) {
    FILE *f = fopen(path, "wb");
    bool fine = f && fwrite(text, 1, n, f) == n;
    if (f) fine = fclose(f) == 0 && fine;
    return fine ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
}

static hone_rc save_stdout(const hone_workload *w, const hn_proc_result *r, const char *path, hone_err *err) {
    hn_str kept = {0};
    for (size_t at = 0; at < r->out_n;) {
        const char *end = memchr(r->out + at, '\n', r->out_n - at);
        size_t n = end ? (size_t)(end - (r->out + at)) + 1 : r->out_n - at;
        if (!is_metric_line(w, r->out + at, n)) hn_str_add_n(&kept, r->out + at, n);
        at += n;
    }
    hone_rc rc = kept.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
    if (!rc) rc = write_scratch(path, kept.text ? kept.text : "", kept.n, err);
    hn_str_free(&kept);
    return rc;
}

/* Path of the output that the run left (malloc'ed); a missing one is the candidate's fault: *missing. */
static hone_rc find_output(const start *s, const hn_proc_result *r, char **path, bool *missing, hone_err *err) {
    const hone_workload *w = s->cfg->w;
    const char *name = w->parity_output ? w->parity_output : uses_data(w) ? DATA_FILE : OUTPUT_FILE;
    char *p = hn_path_join(s->b->dir, name);
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = HONE_OK;
    bool from_stdout = !w->parity_output && !uses_data(w) && !hn_template_has(w->run, "output");
    if (from_stdout) rc = save_stdout(w, r, p, err);
    *missing = !rc && !hn_exists(p);
    if (rc)
        free(p);
    else
        *path = p;
    return rc;
}

static char *ref_path(const hn_run_config *cfg, size_t input) {
    hn_str s = {0};
    hn_str_addf(&s, "%s/input%zu", cfg->ref_dir, input);
    return hn_str_take(&s);
}

static hone_rc compare_by_command(const start *s, const char *expected, const char *actual, hn_run *out,
                                  hone_err *err) {
    const hone_workload *w = s->cfg->w;
    hn_arena a = {0};
    hn_binding bind[] = {{"expected", hn_quoted(&a, expected)},
                         {"actual", hn_quoted(&a, actual)},
                         {"src", hn_quoted(&a, w->dir)},
                         {"dir", "."}};
    hn_str text = {0};
    hone_rc rc = hn_arena_ok(&a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_workload_expand(w, w->parity_command, bind, sizeof bind / sizeof *bind, &text, err);
    hn_arena_free(&a);
    hn_proc_result r;
    if (!rc) {
        hn_proc_spec spec = {.shell = text.text, .cwd = s->b->dir, .cpu = -1, .wall_s = w->limits.run_s};
        double t0 = hn_now_s();
        rc = hn_proc_run(&spec, NULL, &r, err);
        *s->cfg->waited_s += hn_now_s() - t0;
    }
    hn_str_free(&text);
    if (rc) return rc;
    if (r.end != HN_PROC_EXITED || r.code != 0) {
        out->cls = HONE_WRONG_RESULT;
        snprintf(out->detail, sizeof out->detail,
                 "input '%s': the parity command says the output differs: %.1500s%.2000s", w->input[s->input].name,
                 r.out ? r.out : "", r.err_tail);
    }
    hn_proc_result_free(&r);
    return HONE_OK;
}

static hone_rc compare(const start *s, const char *actual, hn_run *out, hone_err *err) {
    static const hn_parity_rule rules[] = {[HN_PARITY_EXACT] = HN_SAME_BYTES,
                                           [HN_PARITY_ABS] = HN_MAX_ABS,
                                           [HN_PARITY_REL] = HN_MAX_REL,
                                           [HN_PARITY_ULP] = HN_MAX_ULP};
    const hone_workload *w = s->cfg->w;
    char *expected = ref_path(s->cfg, s->input);
    if (!expected) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc;
    if (w->parity == HN_PARITY_COMMAND) {
        rc = compare_by_command(s, expected, actual, out, err);
    } else {
        hn_parity_result p;
        rc = hn_parity_files(expected, actual, rules[w->parity], w->parity_tol, &p, err);
        if (!rc && !p.equal) {
            out->cls = HONE_WRONG_RESULT;
            snprintf(out->detail, sizeof out->detail, "input '%s': %s", w->input[s->input].name, p.where);
        }
    }
    free(expected);
    return rc;
}

static hone_rc judge_output(const start *s, const hn_proc_result *r, hn_purpose purpose, hn_run *out, hone_err *err) {
    char *actual = NULL, *ref = NULL;
    bool missing = false;
    hone_rc rc = find_output(s, r, &actual, &missing, err);
    if (rc) return rc;
    if (missing) {
        out->cls = HONE_WRONG_RESULT;
        snprintf(out->detail, sizeof out->detail, "input '%s': the run left no output at '%s' to compare",
                 s->cfg->w->input[s->input].name, actual);
    } else if (purpose == HN_RUN_REFER) {
        ref = ref_path(s->cfg, s->input);
        if (!ref || rename(actual, ref) != 0)
            rc = hn_fail(err, HONE_E_IO, "cannot keep the reference output '%s': %s", actual, strerror(errno));
    } else {
        rc = compare(s, actual, out, err);
    }
    free(actual);
    free(ref);
    return rc;
}

/* --- reading quantities ------------------------------------------------------------------------------------------- */

typedef struct reading {
    hn_arena arena;
    hn_metrics m;
} reading;

static hone_rc read_metrics(const start *s, const hn_proc_result *r, reading *out, hone_err *err) {
    size_t n_bad = 0;
    if (s->cfg->w->time_source != HN_FROM_HARNESS)
        return hn_metrics_from_lines(&out->arena, r->out ? r->out : "", r->out_n, &out->m, &n_bad, err);
    char *path = hn_path_join(s->b->dir, METRICS_FILE), *text = NULL;
    size_t n = 0;
    if (!path) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_exists(path) ? hn_read_file(path, &text, &n, err) : HONE_OK;
    if (!rc) rc = hn_metrics_from_harness(&out->arena, text ? text : "", n, &out->m, &n_bad, err);
    free(text);
    free(path);
    return rc;
}

static bool of_process(const hn_quantity *q, const hn_proc_result *r, double *value) {
    switch (q->source) {
    case HN_FROM_WALL: *value = r->wall_s; return true;
    case HN_FROM_CPU: *value = r->user_s + r->sys_s; return true;
    case HN_FROM_RSS: *value = (double)r->max_rss_b; return true;
    case HN_FROM_ENERGY: *value = r->energy_j; return true;
    case HN_FROM_INSTRUCTIONS: *value = r->instructions; return true;
    default: return false;
    }
}

/* Several runs' samples of one quantity. */
typedef struct pool {
    double *x;
    size_t n, room;
} pool;

static bool pool_add(pool *p, const double *x, size_t n) {
    if (p->room - p->n < n) {
        size_t room = 2 * p->room + n;
        double *more = realloc(p->x, room * sizeof *more);
        if (!more) return false;
        p->x = more;
        p->room = room;
    }
    memcpy(p->x + p->n, x, n * sizeof *x);
    p->n += n;
    return true;
}

/* Has an earlier quantity the same metric (whose samples are then recorded already)? */
static bool recorded_before(const hone_workload *w, size_t k) {
    for (size_t i = 0; i < k; i++)
        if (!strcmp(hn_quantity_at(w, i)->metric, hn_quantity_at(w, k)->metric)) return true;
    return false;
}

/* What a GPU's harness says beside a timing, sample by sample: clock, reasons of throttling. */
static void record_beside(const start *s, const hn_quantity *q, const hn_metrics *got, int side, hn_samples *samples) {
    const hone_workload *w = s->cfg->w;
    for (size_t i = 0; i < HN_N_BESIDE; i++) {
        const hn_metric *m = hn_metrics_find(got, q->beside[i]);
        for (size_t k = 0; m && k < m->n; k++)
            hn_samples_add(samples, q->beside[i], w->input[s->input].name, side, m->sample[k]);
    }
}

static hone_rc gather(const start *s, const hn_proc_result *r, bool counted, int side, pool *pools, hn_samples *samples,
                      hone_err *err) {
    const hone_workload *w = s->cfg->w;
    reading got = {0};
    hone_rc rc = counted ? HONE_OK : read_metrics(s, r, &got, err);
    for (size_t k = 0; !rc && k < hn_n_quantities(w); k++) {
        const hn_quantity *q = hn_quantity_at(w, k);
        bool is_count = q->source == HN_FROM_INSTRUCTIONS;
        if (is_count != counted) continue;
        double one;
        const double *x = &one;
        size_t n = of_process(q, r, &one) ? 1 : 0;
        if (!n) {
            const hn_metric *m = hn_metrics_find(&got.m, q->metric);
            n = m ? m->n : 0;
            x = m ? m->sample : NULL;
        }
        if (n && !pool_add(&pools[k], x, n)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (!samples || recorded_before(w, k)) continue;
        for (size_t i = 0; i < n; i++) hn_samples_add(samples, q->metric, w->input[s->input].name, side, x[i]);
        if (q->beside) record_beside(s, q, &got.m, side, samples);
    }
    hn_arena_free(&got.arena);
    return rc;
}

static bool asked_for(const hn_run_config *cfg, const hn_quantity *q) {
    bool counted = q->source == HN_FROM_INSTRUCTIONS;
    return cfg->kind == HN_RUN_BOTH || counted == (cfg->kind == HN_RUN_COUNTED);
}

static void close_pools(const start *s, const pool *pools, hn_run *out) {
    const hone_workload *w = s->cfg->w;
    for (size_t k = 0; k < hn_n_quantities(w); k++) {
        const hn_quantity *q = hn_quantity_at(w, k);
        double ignored;
        if (hn_quantity_of_build(q, s->b, &ignored) || !asked_for(s->cfg, q)) continue;
        out->quantity[k] = pools[k].n ? aggregate(q, pools[k].x, pools[k].n) : NAN;
        if (out->cls != HONE_RUN_OK || isfinite(out->quantity[k])) continue;
        out->cls = HONE_NO_METRIC;
        snprintf(out->detail, sizeof out->detail, "input '%s': the run gave no finite value for metric '%s'",
                 w->input[s->input].name, q->metric);
    }
}

/* --- one run ------------------------------------------------------------------------------------------------------ */

/* Which kinds of run the quantities ask for. */
typedef struct needs {
    bool timed, counted, energy;
} needs;

static needs needs_of(const hn_run_config *cfg) {
    const hone_workload *w = cfg->w;
    needs n = {0};
    for (size_t k = 0; k < hn_n_quantities(w); k++) {
        const hn_quantity *q = hn_quantity_at(w, k);
        if (!asked_for(cfg, q)) continue;
        n.counted |= q->source == HN_FROM_INSTRUCTIONS;
        n.energy |= q->source == HN_FROM_ENERGY;
        n.timed |= hn_quantity_is_noisy(q);
    }
    return n;
}

/* What the harness says of a run that failed: its class, if it names one. */
static hone_rc read_fault(const start *s, hone_outcome_class *cls, char *detail, size_t n_detail, hone_err *err) {
    char *path = hn_path_join(s->b->dir, METRICS_FILE), *text = NULL;
    size_t n = 0;
    if (!path) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_exists(path) ? hn_read_file(path, &text, &n, err) : HONE_OK;
    free(path);
    char name[64];
    hone_outcome_class said;
    if (text && hn_fault_from_harness(text, n, name, sizeof name, detail, n_detail) &&
        hone_outcome_class_parse(name, &said) && said != HONE_RUN_OK)
        *cls = said;
    free(text);
    return rc;
}

static hone_rc one_process(const start *s, const mode *m, bool counted, bool judge, hn_purpose purpose, int side,
                           pool *pools, hn_samples *samples, hn_run *out, hone_err *err) {
    const hone_workload *w = s->cfg->w;
    hn_proc_result r;
    char what[200];
    hone_rc rc = execute(s, m, &r, what, sizeof what, err);
    if (rc) return rc;
    out->cls = run_class(&r);
    out->wall_s += r.wall_s;
    out->cpu_s += r.user_s + r.sys_s;
    char fault[1024] = "";
    if (out->cls == HONE_RUN_CRASH && w->time_source == HN_FROM_HARNESS)
        rc = read_fault(s, &out->cls, fault, sizeof fault, err);
    if (out->cls != HONE_RUN_OK && *fault)
        snprintf(out->detail, sizeof out->detail, "input '%s': %s", w->input[s->input].name, fault);
    else if (out->cls != HONE_RUN_OK)
        snprintf(out->detail, sizeof out->detail, "input '%s': the run %s%s%s%.3500s%s", w->input[s->input].name,
                 r.end == HN_PROC_EXITED ? "ended with " : "", what, *r.err_tail ? ": " : "", r.err_tail,
                 hn_confine_hint(&r));
    if (!rc && out->cls == HONE_RUN_OK && judge) rc = judge_output(s, &r, purpose, out, err);
    if (!rc && out->cls == HONE_RUN_OK && purpose == HN_RUN_MEASURE)
        rc = gather(s, &r, counted, side, pools, samples, err);
    hn_proc_result_free(&r);
    return rc;
}

hone_rc hn_run_once(const hn_run_config *cfg, const hn_recipe *r, const hn_build *b, size_t input, int side,
                    hn_purpose purpose, bool check, uint64_t noise, hn_samples *samples, hn_run *out, hone_err *err) {
    start s = {cfg, r, b, input};
    needs need = needs_of(cfg);
    bool judge = (check || purpose == HN_RUN_REFER) && cfg->w->parity != HN_PARITY_NONE;
    pool pools[HN_MAX_QUANTITIES] = {{0}};
    *out = (hn_run){.cls = HONE_RUN_OK};
    for (size_t k = 0; k < HN_MAX_QUANTITIES; k++) out->quantity[k] = NAN;
    hone_rc rc = HONE_OK;
    size_t repeats = need.timed && purpose == HN_RUN_MEASURE && cfg->w->repeats ? cfg->w->repeats : 1;
    bool timed = need.timed || purpose == HN_RUN_REFER || (judge && !need.counted);
    for (size_t k = 0; timed && !rc && out->cls == HONE_RUN_OK && k < repeats; k++) {
        bool data = judge && k == 0;
        mode m = {
            .once = !need.timed || purpose == HN_RUN_REFER, .energy = need.energy, .data = data, .noise = noise + k};
        rc = one_process(&s, &m, false, data, purpose, side, pools, samples, out, err);
    }
    if (!rc && need.counted && out->cls == HONE_RUN_OK && purpose == HN_RUN_MEASURE) {
        mode m = {.once = true, .counts = true, .data = judge && !timed};
        rc = one_process(&s, &m, true, m.data, purpose, side, pools, samples, out, err);
    }
    if (!rc && purpose == HN_RUN_MEASURE) close_pools(&s, pools, out);
    for (size_t k = 0; k < HN_MAX_QUANTITIES; k++) free(pools[k].x);
    return rc;
}

hone_rc hn_run_fixed(const hn_run_config *cfg, const hn_recipe *r, const hn_build *b, size_t input, uint64_t n_calls,
                     hn_run_cost *out, hone_err *err) {
    start s = {cfg, r, b, input};
    mode m = {.n_calls = n_calls};
    hn_proc_result p;
    char what[200];
    hone_rc rc = execute(&s, &m, &p, what, sizeof what, err);
    if (rc) return rc;
    bool fine = p.end == HN_PROC_EXITED && p.code == 0;
    *out = fine ? (hn_run_cost){p.user_s + p.sys_s, p.wall_s} : (hn_run_cost){NAN, NAN};
    hn_proc_result_free(&p);
    return HONE_OK;
}
