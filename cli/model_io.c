/* model_io.c — see model_io.h. */
#include "model_io.h"

#include <hone/artifact.h>
#include <hone/compile.h>
#include <hone/places.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- options ----------------------------------------------------------------------------------------------------- */

static void show_progress(void *arg, const hone_event *e) {
    cli_compiling *x = arg;
    if (!x->stage || strcmp(x->stage, e->stage) != 0 || e->done % 8 == 0)
        fprintf(stderr, "\r\033[K%s %zu/%zu", e->stage, e->done, e->total);
    x->stage = e->stage;
}

void cli_compiling_done(cli_compiling *x) {
    if (x->stage) fputs("\r\033[K", stderr);
    x->stage = NULL;
}

/* A library looks at HONE_MODEL_PLACE when an instance is created. */
hone_rc cli_place_choose(const cli *c, char said[200], hone_err *err) {
    const char *name = cli_text(c, "place", NULL);
    hone_place place = {0};
    if (!name) return HONE_OK;
    if (cli_given(c, "target"))
        return cli_fail(err, HONE_E_USAGE, "--place %s decides the target; leave --target out", name);
    bool split = false;
    hone_rc rc = hone_place_choose(name, &place, &split, err);
    if (rc) return rc;
    snprintf(said, 200, "%s%s, %.128s", place.name, split ? " and the host" : "", place.device);
    if (setenv("HONE_MODEL_PLACE", place.name, 1)) return cli_fail(err, HONE_E_NOMEM, "out of memory");
    return HONE_OK;
}

static void set_place(const cli *c, cli_compiling *x) {
    const char *name = cli_text(c, "place", NULL);
    hone_place place = {0};
    bool split = name && strchr(name, '+');
    if (!name) return;
    if (!strncmp(name, "opencl", 6)) { /* nobody need be asked */
        snprintf(place.target, sizeof place.target, "opencl");
        snprintf(place.name, sizeof place.name, "%.*s", (int)strcspn(name, "+"), name);
    } else if (hone_place_choose(name, &place, &split, NULL)) {
        return;
    }
    snprintf(x->place, sizeof x->place, "%s", place.name);
    if (split) x->options.split = x->place;
    snprintf(x->place_target, sizeof x->place_target, "%s", place.target);
    x->options.target = x->place_target;
}

/* "a=1,b=2;a=4" as a NULL-terminated array of what stands between semicolons; free the array. */
static const char **split_versions(char *text) {
    size_t n = 1;
    for (const char *p = text; *p; p++) n += *p == ';';
    const char **list = calloc(n + 1, sizeof *list);
    if (!list) abort();
    char *rest = text;
    for (size_t i = 0; i < n; i++) list[i] = strsep(&rest, ";");
    return list;
}

void cli_compiling_read(const cli *c, cli_compiling *x) {
    *x = (cli_compiling){.c = c, .options = hone_compile_defaults()};
    if (cli_given(c, "symbol")) {
        x->symbols = cli_strdup(cli_text(c, "symbol", ""));
        x->symbol = cli_split_options(x->symbols);
        x->options.symbol = x->symbol;
        while (x->symbol[x->options.n_symbol]) x->options.n_symbol++;
    }
    if (cli_given(c, "state")) {
        x->states = cli_strdup(cli_text(c, "state", ""));
        x->state = cli_split_options(x->states);
        x->options.state = x->state;
        while (x->state[x->options.n_state]) x->options.n_state++;
    }
}

/* What is no number from 0 on is for the library to refuse. */
double cli_tolerance(const cli *c) {
    const char *text = cli_text(c, "tolerance", NULL);
    char *end;
    if (!text) return -1;
    double x = strtod(text, &end);
    return end == text || *end || !(x >= 0) ? (double)NAN : x;
}

void cli_compiling_set(const cli *c, cli_compiling *x) {
    cli_compiling_read(c, x);
    x->options.target = cli_text(c, "target", NULL);
    x->options.split = cli_text(c, "split", NULL);
    set_place(c, x);
    x->options.relaxed = cli_given(c, "relaxed");
    x->options.tolerance = cli_tolerance(c);
    x->options.reference = cli_given(c, "reference");
    x->options.no_parity = cli_given(c, "no-parity");
    x->options.compiler = cli_text(c, "cc", NULL);
    x->options.n_jobs = (uint32_t)cli_count(c, "jobs", 0);
    x->options.n_threads = (uint32_t)cli_count(c, "threads", 0);
    x->options.winners = cli_text(c, "winners", NULL);
    x->options.no_winners = cli_given(c, "no-winners");
    x->options.no_cache = cli_given(c, "no-cache");
    if (cli_given(c, "specialize")) {
        x->versions = cli_strdup(cli_text(c, "specialize", ""));
        x->specialize = split_versions(x->versions);
        x->options.specialize = x->specialize;
        while (x->specialize[x->options.n_specialize]) x->options.n_specialize++;
    }
    if (cli_width(stderr)) x->options.progress = (hone_progress){show_progress, x};
}

void cli_compiling_free(cli_compiling *x) {
    cli_compiling_done(x);
    free(x->symbol);
    free(x->symbols);
    free(x->state);
    free(x->states);
    free(x->specialize);
    free(x->versions);
}

/* --- models ------------------------------------------------------------------------------------------------------- */

bool cli_is_model(const char *path) { return hone_import_format_of(path) != NULL; }

hone_rc cli_peer_open(const cli *c, const char *path, hone_peer **out, hone_err *err) {
    const char *format = hone_import_format_of(path);
    if (!format || strcmp(format, "onnx") != 0)
        return cli_fail(err, HONE_E_USAGE, "--against needs the ONNX file, not '%s'", path);
    hone_peer_options o = hone_peer_defaults();
    o.engine = cli_text(c, "against", NULL), o.n_threads = (uint32_t)cli_count(c, "threads", 0);
    return hone_peer_open(path, &o, out, err);
}

hone_rc cli_graph_open(const char *path, const cli_compiling *x, hone_graph **out, hone_err *err) {
    hone_import_options options = {.size = sizeof options,
                                   .symbol = x->options.symbol,
                                   .n_symbol = x->options.n_symbol,
                                   .cache = x->options.cache};
    char *report = NULL;
    hone_rc rc = hone_import_model(path, &options, out, &report, err);
    if (rc && report && *report) fputs(report, stderr);
    hone_free(report);
    return rc;
}

hone_rc cli_stateful_open(const cli *c, const char *path, const hone_model *m, cli_stateful *out, hone_err *err) {
    *out = (cli_stateful){0};
    cli_compiling_read(c, &out->compiling);
    return m->n_states && cli_is_model(path) ? cli_graph_open(path, &out->compiling, &out->graph, err) : HONE_OK;
}

void cli_stateful_close(cli_stateful *x) {
    hone_graph_free(x->graph);
    cli_compiling_free(&x->compiling);
}

char *cli_split_line(const char *summary) {
    static const char head[] = "\nsplit     ";
    const char *at = summary ? strstr(summary, head) : NULL;
    return at ? cli_format("%.*s", (int)strcspn(at + strlen(head), "\n"), at + strlen(head)) : NULL;
}

static hone_rc compile_here(const cli *c, const char *path, bool profile, cli_model *m, char **library, hone_err *err) {
    hone_rc rc = hone_temp_open("hone-model-", &m->temp, err);
    if (rc) return rc;
    char *output = cli_format("%s/model", hone_temp_path(m->temp));
    cli_compiling_set(c, &m->compiling);
    m->compiling.options.output = output;
    if (profile) m->compiling.options.profile = m->compiling.options.no_parity = true;
    hone_compile_result made = {0};
    rc = cli_precision_choose(c, path, &m->compiling, &m->precision, err);
    if (!rc) rc = cli_precision_compile(path, &m->precision, &m->compiling.options, &made, err);
    if (!rc) m->split = cli_split_line(made.text);
    hone_free(made.text);
    cli_compiling_free(&m->compiling);
    free(output);
    *library = cli_format("%s/model.so", hone_temp_path(m->temp));
    return rc;
}

static hone_rc open_model(const cli *c, const char *path, uint32_t n_threads, bool profile, cli_model *out,
                          hone_err *err) {
    char *library = NULL;
    hone_rc rc = HONE_OK;
    hone_artifact_options o = hone_artifact_defaults();
    o.n_threads = n_threads;
    *out = (cli_model){0};
    rc = cli_place_choose(c, out->where, err);
    if (!rc && !cli_is_model(path) && cli_text(c, "precision", NULL))
        rc = cli_fail(err, HONE_E_USAGE, "'%s' is compiled already; --precision is for the model file", path);
    if (!rc && cli_is_model(path)) rc = compile_here(c, path, profile, out, &library, err);
    if (!rc) rc = hone_artifact_load(library ? library : path, &o, &out->program, err);
    free(library);
    if (rc) {
        cli_model_close(out);
        return rc;
    }
    out->model = hone_artifact_model(out->program);
    return HONE_OK;
}

hone_rc cli_model_open(const cli *c, const char *path, uint32_t n_threads, cli_model *out, hone_err *err) {
    return open_model(c, path, n_threads, false, out, err);
}

hone_rc cli_model_open_timed(const cli *c, const char *path, cli_model *out, hone_err *err) {
    if (cli_is_model(path)) return open_model(c, path, 1, true, out, err);
    return cli_fail(err, HONE_E_USAGE, "'%s' is no model; give the file that it was compiled from", path);
}

void cli_model_unlink(cli_model *m) {
    hone_temp_close(m->temp);
    m->temp = NULL;
}

void cli_model_close(cli_model *m) {
    hone_artifact_free(m->program);
    cli_model_unlink(m);
    free(m->split);
    cli_precision_free(&m->precision);
    *m = (cli_model){0};
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */

size_t cli_array_count(const hone_array *a) {
    size_t n = 1;
    for (uint32_t d = 0; d < a->rank; d++) n *= (size_t)a->dim[d];
    return n;
}

const char *cli_array_text(const hone_array *a, char buf[256]) {
    size_t n = (size_t)snprintf(buf, 256, "%s[", hone_dtype_name(a->dtype));
    for (uint32_t d = 0; d < a->rank && n < 220; d++)
        n += (size_t)snprintf(buf + n, 256 - n, "%s%lld", d ? ", " : "", (long long)a->dim[d]);
    snprintf(buf + n, 256 - n, "]");
    return buf;
}

/* Types that NumPy lacks come as unsigned integers of their size. */
static void take_type(hone_array *a, hone_dtype wanted) {
    bool stands_in = a->dtype == HONE_U8 || a->dtype == HONE_U16;
    if (stands_in && a->dtype != wanted && hone_dtype_size_b(a->dtype) == hone_dtype_size_b(wanted) &&
        wanted != HONE_I8 && wanted != HONE_I16 && wanted != HONE_F16 && wanted != HONE_BOOL)
        a->dtype = wanted;
}

static size_t find_name(const cli_arrays *x, const char *name) {
    for (size_t i = 0; i < x->n; i++)
        if (x->name[i] && !strcmp(x->name[i], name)) return i;
    return x->n;
}

hone_rc cli_arrays_match(const hone_model *m, cli_arrays *x, hone_err *err) {
    bool named = x->n > 0;
    for (size_t i = 0; i < x->n; i++) named = named && x->name[i];
    if (x->n != (size_t)m->n_inputs)
        return cli_fail(err, HONE_E_INPUT,
                        "arrays given: %zu, inputs of the model: %d; name a file for each, as in %s=FILE.npy, or take "
                        "--random 1",
                        x->n, m->n_inputs, m->n_inputs ? m->input[0].name : "x");
    for (int32_t i = 0; i < m->n_inputs; i++) {
        size_t at = named ? find_name(x, m->input[i].name) : (size_t)i;
        if (at == x->n)
            return cli_fail(err, HONE_E_INPUT, "no array is called '%s', as the model's input %d is", m->input[i].name,
                            i);
        hone_array a = x->a[at];
        char *name = x->name[at];
        x->a[at] = x->a[i], x->name[at] = x->name[i];
        x->a[i] = a, x->name[i] = name;
        take_type(&x->a[i], (hone_dtype)m->input[i].dtype);
    }
    return HONE_OK;
}

hone_rc cli_arrays_random(const hone_model *m, const char *sizes, uint64_t seed, cli_arrays *out, hone_err *err) {
    cli_arrays x = {.n = (size_t)m->n_inputs};
    x.a = cli_alloc(x.n + 1, sizeof *x.a);
    x.name = cli_alloc(x.n + 1, sizeof *x.name);
    for (size_t i = 0; i < x.n; i++) x.name[i] = cli_strdup(m->input[i].name);
    hone_rc rc = hone_inputs_random(m, sizes, seed, x.a, err);
    if (rc)
        cli_arrays_free(&x);
    else
        *out = x;
    return rc;
}
