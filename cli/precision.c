/* precision.c — option --precision: a choice read or made, and what it costs. */
#include "precision.h"

#include "model_io.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

/* --- the choice ----------------------------------------------------------------------------------------------------
 */

static hone_rc read_percentile(const cli *c, double *out, hone_err *err) {
    const char *text = cli_text(c, "percentile", NULL);
    char *end;
    *out = 0;
    if (!text) return HONE_OK;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out > 50 && *out <= 100))
        return cli_fail(err, HONE_E_USAGE, "option '--percentile' takes a number above 50 and up to 100, not '%s'",
                        text);
    return HONE_OK;
}

static hone_rc choose(const cli *c, const hone_graph *g, cli_compiling *x, cli_precision *p, hone_err *err) {
    hone_precision_options o = hone_precision_defaults();
    o.calibrate = cli_text(c, "calibrate", NULL);
    o.no_smooth = cli_given(c, "no-smooth");
    o.compiler = x->options.compiler, o.n_jobs = x->options.n_jobs, o.n_threads = x->options.n_threads;
    o.progress = x->options.progress, o.stop = x->options.stop;
    hone_rc rc = read_percentile(c, &o.percentile, err);
    if (!rc) rc = hone_temp_open("hone-exact-", &p->temp, err);
    if (!rc) o.keep = p->exact = cli_format("%s/exact", hone_temp_path(p->temp));
    if (!rc && !strcmp(cli_text(c, "precision", ""), "mixed"))
        rc = cli_mixed_choose(c, o.percentile, x, p, err);
    else if (!rc)
        rc = hone_precision_choose(g, p->taken.a, p->taken.n, &o, &p->text, err);
    cli_compiling_done(x);
    return rc;
}

static hone_rc need_data(const char *kind, const hone_graph *g, hone_err *err) {
    hone_graph_port port = {0};
    if (hone_graph_inputs(g)) hone_graph_input(g, 0, &port, NULL);
    return cli_fail(
        err, HONE_E_USAGE,
        "--precision %s takes ranges from samples: give --data FILE.npz, with an array per input "
        "(np.savez(\"FILE.npz\", "
        "%s=…), the first axis the samples), a folder of such files, or the precision file of an earlier choice",
        kind, port.name ? port.name : "x");
}

/* key: NULL, or of whom it must be signed. */
static hone_rc read_choice(const char *path, const char *key, cli_precision *p, hone_err *err) {
    hone_rc rc = cli_read_text(path, &p->text, err);
    if (rc == HONE_E_IO && !strpbrk(path, "./"))
        return cli_fail(err, HONE_E_USAGE, "option '--precision' takes int8, bf16, mixed or a precision file, not '%s'",
                        path);
    if (!rc) rc = hone_precision_read(p->text, path, &p->summary, err);
    return rc || !key ? rc : hone_precision_verify(p->text, path, key, NULL, err);
}

hone_rc cli_precision_choose(const cli *c, const char *path, cli_compiling *x, cli_precision *out, hone_err *err) {
    static const char *const further[] = {"data",   "calibrate",    "percentile", "no-smooth", "max-error",
                                          "metric", "metric-limit", "front",      "points"};
    static const char *const searched[] = {"max-error", "metric", "metric-limit", "front", "points"};
    const char *kind = cli_text(c, "precision", NULL), *data = cli_text(c, "data", NULL),
               *key = cli_text(c, "key", NULL);
    cli_precision p = {.given = kind != NULL};
    for (size_t i = 0; !kind && i < sizeof further / sizeof *further; i++)
        if (cli_given(c, further[i]))
            return cli_fail(err, HONE_E_USAGE, "option '--%s' goes with --precision", further[i]);
    if (!kind && cli_given(c, "key"))
        return cli_fail(err, HONE_E_USAGE, "option '--key' goes with --precision FILE, or with signed files");
    if (!kind) return *out = p, HONE_OK;
    for (size_t i = 0; strcmp(kind, "mixed") != 0 && i < sizeof searched / sizeof *searched; i++)
        if (cli_given(c, searched[i]))
            return cli_fail(err, HONE_E_USAGE, "option '--%s' goes with --precision mixed", searched[i]);
    bool half = !strcmp(kind, "bf16"), chosen = half || !strcmp(kind, "int8") || !strcmp(kind, "mixed");
    if (chosen && key)
        return cli_fail(err, HONE_E_USAGE,
                        "option '--key' goes with --precision FILE: what is chosen now is not signed");
    hone_rc rc = chosen ? HONE_OK : read_choice(kind, key, &p, err);
    if (!rc && (chosen || data)) rc = cli_graph_open(path, x, &p.graph, err);
    if (!rc && chosen && !half && !data) rc = need_data(kind, p.graph, err);
    if (!rc && data) rc = cli_samples_read(data, p.graph, &p.all, err);
    if (!rc && chosen && !half) {
        const hone_precision_samples all = {p.all.a, p.all.n, p.all.n_inputs};
        rc = hone_precision_divide(&all, &p.taken, &p.held, err);
    }
    if (!rc && half) rc = hone_precision_bf16(p.graph, &p.text, err);
    if (!rc && chosen && !half) rc = choose(c, p.graph, x, &p, err);
    if (!rc && chosen) rc = hone_precision_read(p.text, "precision", &p.summary, err);
    x->options.precision = p.text;
    if (rc)
        cli_precision_free(&p), x->options.precision = NULL;
    else
        *out = p;
    return rc;
}

void cli_precision_free(cli_precision *p) {
    hone_free(p->text);
    hone_mixed_free(&p->front);
    hone_graph_free(p->graph);
    hone_temp_close(p->temp);
    free(p->exact);
    hone_precision_free_samples(&p->taken);
    hone_precision_free_samples(&p->held);
    cli_samples_free(&p->all);
    *p = (cli_precision){0};
}

/* --- what it costs -------------------------------------------------------------------------------------------------
 */

/* Devices have other defaults for how a model is imported (hone_import_options.activations). */
static bool for_a_device(const char *targets) {
    return targets && (strstr(targets, "opencl") || strstr(targets, "cuda") || strstr(targets, "shim"));
}

hone_rc cli_precision_compile(const char *path, const cli_precision *p, const hone_compile_options *o,
                              hone_compile_result *out, hone_err *err) {
    if (!p->graph || for_a_device(o->target)) return hone_compile_model(path, o, out, err);
    const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : slash ? "model" : path;
    const char *dot = strrchr(base, '.');
    char *name = cli_format("%.*s", dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
    hone_rc rc = hone_compile_graph(p->graph, name, o, out, err);
    free(name);
    return rc;
}

static hone_rc compile_exact(const cli *c, const char *path, const cli_precision *p, const char *output,
                             hone_err *err) {
    cli_compiling x;
    cli_compiling_set(c, &x);
    x.options.output = output;
    x.options.target = NULL, x.options.split = NULL, x.options.no_parity = true;
    hone_rc rc = cli_precision_compile(path, p, &x.options, NULL, err);
    cli_compiling_free(&x);
    return rc;
}

/* The library that ranges were taken with, or one that is made for this. */
static hone_rc open_exact(const cli *c, const char *path, const cli_precision *p, const char *folder,
                          hone_artifact **out, hone_err *err) {
    char *output = p->exact ? cli_strdup(p->exact) : cli_format("%s/exact", folder);
    char *library = cli_format("%s.so", output);
    hone_artifact_options o = hone_artifact_defaults();
    o.n_threads = (uint32_t)cli_count(c, "threads", 0);
    hone_rc rc = p->exact ? HONE_OK : compile_exact(c, path, p, output, err);
    if (!rc) rc = hone_artifact_load(library, &o, out, err);
    free(output), free(library);
    return rc;
}

static void take_names(const hone_model *m, cli_precision_report *r) {
    r->n = (size_t)m->n_outputs; /* the narrow one's: the other may tell more */
    r->output = cli_alloc(r->n + 1, sizeof *r->output);
    r->name = cli_alloc(r->n + 1, sizeof *r->name);
    for (size_t i = 0; i < r->n; i++) r->name[i] = cli_strdup(m->output[i].name);
}

/* Those held out, or all where there are few. */
static hone_precision_samples judged_on(const cli_precision *p) {
    return p->held.n ? p->held : (hone_precision_samples){p->all.a, p->all.n, p->all.n_inputs};
}

hone_rc cli_precision_measure(const cli *c, const char *path, const cli_precision *p, hone_artifact *narrow,
                              cli_precision_report *out, hone_err *err) {
    hone_temp *temp;
    hone_artifact *exact = NULL;
    cli_precision_report r = {.held_out = p->held.n > 0};
    const hone_precision_samples on = judged_on(p);
    if (!on.n) return cli_fail(err, HONE_E_USAGE, "the error of a precision is told on samples: give --data FILE.npz");
    hone_rc rc = hone_temp_open("hone-exact-", &temp, err);
    if (rc) return rc;
    rc = open_exact(c, path, p, hone_temp_path(temp), &exact, err);
    if (!rc) {
        take_names(hone_artifact_model(narrow), &r);
        r.n_samples = on.n;
        rc = hone_precision_compare(narrow, exact, on.a, on.n, r.output, err);
    }
    hone_artifact_free(exact);
    hone_temp_close(temp);
    if (rc)
        cli_precision_report_free(&r);
    else
        *out = r;
    return rc;
}

hone_rc cli_precision_time(const cli *c, const char *path, const cli_precision *p, hone_artifact *narrow,
                           cli_precision_report *r, hone_err *err) {
    hone_temp *temp;
    cli_compiling x;
    hone_artifact *exact = NULL;
    hone_artifact_options load = hone_artifact_defaults();
    const hone_precision_samples on = judged_on(p);
    hone_rc rc = hone_temp_open("hone-exact-", &temp, err);
    if (rc) return rc;
    char *output = cli_format("%s/exact", hone_temp_path(temp)), *library = cli_format("%s.so", output);
    cli_compiling_set(c, &x);
    x.options.output = output, x.options.no_parity = true;
    load.n_threads = x.options.n_threads;
    rc = cli_precision_compile(path, p, &x.options, NULL, err);
    cli_compiling_done(&x);
    cli_compiling_free(&x);
    if (!rc) rc = hone_artifact_load(library, &load, &exact, err);
    if (!rc) rc = hone_mixed_time(narrow, exact, on.a, on.n, 0, NULL, &r->latency, &r->n_pairs, err);
    hone_artifact_free(exact);
    hone_temp_close(temp);
    free(output), free(library);
    return rc;
}

hone_rc cli_precision_check(const cli *c, hone_err *err) {
    if (!cli_given(c, "prove-latency") || (cli_given(c, "precision") && cli_given(c, "data"))) return HONE_OK;
    return cli_fail(err, HONE_E_USAGE, "option '--prove-latency' goes with --precision and --data");
}

hone_rc cli_precision_judge(const cli *c, const char *path, const char *output, const cli_precision *p,
                            cli_precision_report *out, hone_err *err) {
    hone_artifact *narrow;
    hone_artifact_options o = hone_artifact_defaults();
    o.n_threads = (uint32_t)cli_count(c, "threads", 0);
    char *library = strchr(output, '/') ? cli_format("%s.so", output) : cli_format("./%s.so", output);
    hone_rc rc = hone_artifact_load(library, &o, &narrow, err);
    free(library);
    if (rc) return rc;
    rc = cli_precision_measure(c, path, p, narrow, out, err);
    if (!rc && cli_given(c, "prove-latency")) rc = cli_precision_time(c, path, p, narrow, out, err);
    hone_artifact_free(narrow);
    return rc;
}

static void put_latency(const cli_precision_report *r) {
    const hone_interval *x = &r->latency;
    if (!r->n_pairs) return;
    printf("latency   %.3f of that of floats (%.3f .. %.3f, 95 %%, %zu pairs): %s\n", x->mid, x->lo, x->hi, r->n_pairs,
           x->hi < 1   ? "proven to be faster"
           : x->lo > 1 ? "proven to be slower"
                       : "not proven to be faster");
}

void cli_precision_put(const cli *c, const cli_precision_report *r) {
    printf("error     against the model of floats, on %zu %ssample%s\n", r->n_samples, r->held_out ? "held-out " : "",
           r->n_samples == 1 ? "" : "s");
    for (size_t i = 0; i < r->n; i++) {
        const hone_precision_error *e = &r->output[i];
        printf("  ");
        cli_put(c, stdout, r->name[i], 0);
        if (e->is_float)
            printf(": %.3g %% in root mean square, %.3g %% of the largest element", 100 * e->rms, 100 * e->largest);
        else
            printf(": %llu of %llu elements differ", (unsigned long long)e->n_other, (unsigned long long)e->n_elements);
        if (e->n_rows)
            printf("; largest at the same place in %llu of %llu rows", (unsigned long long)e->n_top,
                   (unsigned long long)e->n_rows);
        if (e->is_float && e->n_other)
            printf("; %llu elements are finite in one alone", (unsigned long long)e->n_other);
        puts("");
    }
    put_latency(r);
}

void cli_precision_json(cli_json *j, const cli_precision_report *r) {
    cli_json_key(j, "precision");
    cli_json_object(j);
    cli_json_kcount(j, "samples", r->n_samples);
    cli_json_kbool(j, "held_out", r->held_out);
    cli_json_key(j, "outputs");
    cli_json_array(j);
    for (size_t i = 0; i < r->n; i++) {
        const hone_precision_error *e = &r->output[i];
        cli_json_object(j);
        cli_json_ktext(j, "name", r->name[i]);
        cli_json_kcount(j, "elements", e->n_elements);
        cli_json_kcount(j, "other", e->n_other);
        if (e->is_float) {
            cli_json_knumber(j, "rms", e->rms);
            cli_json_knumber(j, "largest", e->largest);
            cli_json_kcount(j, "rows", e->n_rows);
            cli_json_kcount(j, "same_top", e->n_top);
        }
        cli_json_close(j);
    }
    cli_json_close(j);
    if (r->n_pairs) {
        cli_json_key(j, "latency");
        cli_json_object(j);
        cli_json_knumber(j, "ratio", r->latency.mid);
        cli_json_knumber(j, "low", r->latency.lo);
        cli_json_knumber(j, "high", r->latency.hi);
        cli_json_kcount(j, "pairs", r->n_pairs);
        cli_json_close(j);
    }
    cli_json_close(j);
}

void cli_precision_report_free(cli_precision_report *r) {
    for (size_t i = 0; i < r->n; i++) free(r->name[i]);
    free(r->name);
    free(r->output);
    *r = (cli_precision_report){0};
}
