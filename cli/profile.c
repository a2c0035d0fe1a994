/* profile.c — see profile.h. */
#include "profile.h"

#include <hone/device.h>
#include <hone/report.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void cell_number(cli_table *t, double x, int decimals, const char *unit) {
    char text[CLI_TEXT_N];
    snprintf(text, sizeof text, "%.*f%s", decimals, x, unit);
    cli_table_cell(t, "%s", isfinite(x) ? text : "-");
}

static const char *choice(const hone_model_kernel *k) { return *k->winner ? "winner" : "default"; }

static void row(cli_table *t, const hone_profile_row *x, bool calls) {
    char b[3][CLI_TEXT_N];
    cli_table_cell(t, "%s", x->kernel->name);
    cli_table_cell(t, "%s", x->call->kind);
    cli_table_cell(t, "%lld", calls ? (long long)x->n_launches : (long long)x->n_calls);
    cli_table_cell(t, "%s", cli_text_seconds(x->time_s.mid, b[0]));
    cli_table_cell(t, "%s .. %s", cli_text_seconds(x->time_s.lo, b[1]), cli_text_seconds(x->time_s.hi, b[2]));
    cell_number(t, 100 * x->share, 1, " %");
    cell_number(t, 1e-9 * x->flops / x->time_s.mid, 2, "");
    cell_number(t, 100 * x->of_peak, 0, " %");
    cell_number(t, 1e-9 * x->bytes / x->time_s.mid, 2, "");
    cell_number(t, 100 * x->of_bandwidth, 0, " %");
    cell_number(t, 100 * x->of_roof, 0, " %");
    cli_table_cell(t, "%s", x->call->shape);
    cli_table_cell(t, "%s", x->kernel->schedule);
    cli_table_cell(t, "%s", choice(x->kernel));
    cli_table_cell(t, "%s", x->call->source);
}

static void put_no_peaks(void) {
    hone_device d;
    hone_err why = {0};
    hone_rc rc = hone_device_read(NULL, &d, &why);
    bool bad = rc && rc != HONE_E_NOTFOUND;
    printf("peak      %s\n", bad ? why.text : "not measured; `hone doctor --measure` does it");
}

static void put_machine(const hone_profile *p) {
    if (p->f32_flops > 0 && p->bandwidth_bps > 0)
        printf("peak      %.1f GFLOP/s (f32), %.1f GB/s from memory, %u thread%s\n", 1e-9 * p->f32_flops,
               1e-9 * p->bandwidth_bps, p->n_threads, p->n_threads == 1 ? "" : "s");
    else
        put_no_peaks();
}

void cli_profile_text(const cli *c, const hone_profile *p, bool calls) {
    static const char *const heads[] = {"kernel",  "kind",    "",         "time",   "95 % of the median",
                                        "share",   "GFLOP/s", "of peak",  "GB/s",   "of peak",
                                        "of roof", "shape",   "schedule", "choice", "source"};
    char b[4][CLI_TEXT_N];
    cli_table *t = cli_table_new("llrrlrrrrrrxxlx");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        cli_table_head(t, *heads[i] ? heads[i] : calls ? "launches" : "calls");
    for (uint32_t i = 0; i < (calls ? p->n_calls : p->n_kernels); i++)
        row(t, calls ? &p->call[i] : &p->kernel[i], calls);
    cli_table_print(c, t, stdout, cli_width(stdout));
    printf("run       %s (%s .. %s), in kernels %s; %u runs\n", cli_text_seconds(p->run_s.mid, b[0]),
           cli_text_seconds(p->run_s.lo, b[1]), cli_text_seconds(p->run_s.hi, b[2]),
           cli_text_seconds(p->kernels_s, b[3]), p->n_runs);
    if (p->version) printf("version   %s\n", p->model->version[p->version].sizes);
    put_machine(p);
}

/* --- JSON -----------------------------------------------------------------------------------------------------------
 */

static void json_facts(cli_json *j, const hone_profile_row *x) {
    cli_json_ktext(j, "kernel", x->kernel->name);
    cli_json_ktext(j, "kind", x->call->kind);
    cli_json_ktext(j, "shape", x->call->shape);
    cli_json_ktext(j, "schedule", x->kernel->schedule);
    cli_json_ktext(j, "choice", choice(x->kernel));
    cli_json_ktext(j, "winner", x->kernel->winner);
    cli_json_ktext(j, "source", x->call->source);
    cli_json_kcount(j, "launches", (uint64_t)x->n_launches);
    cli_json_knumber(j, "flops", x->flops);
    cli_json_knumber(j, "bytes", x->bytes);
}

static void json_rows(cli_json *j, const char *key, const hone_profile_row *x, uint32_t n) {
    cli_json_key(j, key);
    cli_json_array(j);
    for (; n--; x++) {
        cli_json_object(j);
        json_facts(j, x);
        cli_json_kcount(j, "calls", x->n_calls);
        cli_json_knumber(j, "time_s", x->time_s.mid);
        cli_json_knumber(j, "time_low_s", x->time_s.lo);
        cli_json_knumber(j, "time_high_s", x->time_s.hi);
        cli_json_knumber(j, "share", x->share);
        cli_json_knumber(j, "flops_per_s", x->flops / x->time_s.mid);
        cli_json_knumber(j, "bytes_per_s", x->bytes / x->time_s.mid);
        cli_json_knumber(j, "of_peak", x->of_peak);
        cli_json_knumber(j, "of_bandwidth", x->of_bandwidth);
        cli_json_knumber(j, "of_roof", x->of_roof);
        cli_json_close(j);
    }
    cli_json_close(j);
}

static double or_nan(double x) { return x > 0 ? x : NAN; }

/* Of all kernels, weighted by time; NAN without measured peaks. */
static double of_roof(const hone_profile *p) {
    double sum = 0;
    for (uint32_t i = 0; i < p->n_kernels; i++)
        if (isfinite(p->kernel[i].of_roof)) sum += p->kernel[i].share * p->kernel[i].of_roof;
    return p->f32_flops > 0 && p->bandwidth_bps > 0 ? sum : NAN;
}

static void put_json(cli_json *j, const hone_profile *p, const char *name, const cli_drawn *drawn) {
    cli_json_object(j);
    cli_json_ktext(j, "model", name);
    cli_json_ktext(j, "hone", HONE_VERSION);
    cli_json_ktext(j, "target", p->model->target);
    cli_json_ktext(j, "version", p->model->version[p->version].sizes);
    cli_drawn_json(j, drawn);
    cli_json_kcount(j, "threads", p->n_threads);
    cli_json_kcount(j, "runs", p->n_runs);
    cli_json_knumber(j, "run_s", p->run_s.mid);
    cli_json_knumber(j, "run_low_s", p->run_s.lo);
    cli_json_knumber(j, "run_high_s", p->run_s.hi);
    cli_json_knumber(j, "kernels_s", p->kernels_s);
    cli_json_knumber(j, "of_roof", of_roof(p));
    cli_json_knumber(j, "peak_f32_flops_per_s", or_nan(p->f32_flops));
    cli_json_knumber(j, "peak_f64_flops_per_s", or_nan(p->f64_flops));
    cli_json_knumber(j, "peak_i8_ops_per_s", or_nan(p->i8_ops));
    cli_json_knumber(j, "peak_bytes_per_s", or_nan(p->bandwidth_bps));
    cli_json_knumber(j, "peak_l2_bytes_per_s", or_nan(p->l2_bps));
    cli_json_knumber(j, "peak_l3_bytes_per_s", or_nan(p->l3_bps));
    json_rows(j, "kernels", p->kernel, p->n_kernels);
    json_rows(j, "calls", p->call, p->n_calls);
    cli_json_end(j);
}

void cli_profile_json(cli *c, const hone_profile *p, const char *name, const cli_drawn *drawn) {
    cli_json j = cli_json_begin(c, false);
    put_json(&j, p, name, drawn);
}

/* --- page ------------------------------------------------------------------------------------------------------------
 */

hone_rc cli_profile_page(const hone_profile *p, const char *name, const cli_drawn *drawn, const char *path,
                         hone_err *err) {
    char *json = NULL, *sentence, run[CLI_TEXT_N], roof[CLI_TEXT_N] = "";
    size_t n = 0;
    FILE *f = open_memstream(&json, &n);
    if (!f) return cli_fail(err, HONE_E_NOMEM, "out of memory");
    cli_json j = cli_json_to(f, true);
    put_json(&j, p, name, drawn);
    if (fclose(f)) return free(json), cli_fail(err, HONE_E_NOMEM, "out of memory");
    if (isfinite(of_roof(p))) snprintf(roof, sizeof roof, "; its kernels reach %.0f %% of the roof", 100 * of_roof(p));
    sentence = cli_format("a run takes %s on %u thread%s%s", cli_text_seconds(p->run_s.mid, run), p->n_threads,
                          p->n_threads == 1 ? "" : "s", roof);
    hone_rc rc = hone_report_profile(name, sentence, json, path, NULL, err);
    free(sentence);
    free(json);
    return rc;
}

/* --- trace ----------------------------------------------------------------------------------------------------------
 */

static void open_event(cli_json *j, const char *name, const char *category, double begin_s, double time_s) {
    cli_json_object(j);
    cli_json_ktext(j, "name", name);
    cli_json_ktext(j, "cat", category);
    cli_json_ktext(j, "ph", "X");
    cli_json_knumber(j, "ts", 1e6 * begin_s);
    cli_json_knumber(j, "dur", 1e6 * time_s);
    cli_json_kcount(j, "pid", 1);
    cli_json_kcount(j, "tid", 1);
}

static void put_trace(const hone_profile *p, const char *name, FILE *f) {
    cli_json j = cli_json_to(f, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "displayTimeUnit", "ns");
    cli_json_key(&j, "traceEvents");
    cli_json_array(&j);
    open_event(&j, name, "run", 0, p->shown_s);
    cli_json_close(&j);
    for (uint32_t i = 0; i < p->n_calls; i++) {
        const hone_profile_row *x = &p->call[i];
        if (!x->n_launches) continue;
        open_event(&j, x->kernel->name, x->call->kind, x->begin_s, x->shown_s);
        cli_json_key(&j, "args");
        cli_json_object(&j);
        json_facts(&j, x);
        cli_json_close(&j);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

hone_rc cli_profile_trace(const hone_profile *p, const char *name, const char *path, hone_err *err) {
    FILE *f = fopen(path, "we");
    if (!f) return cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    put_trace(p, name, f);
    bool bad = ferror(f) != 0;
    if (fclose(f)) bad = true;
    return bad ? cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno)) : HONE_OK;
}
