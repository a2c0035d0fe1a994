/* cmd_case.c — `hone case`: judge conformance cases, one JSON line each, for tools/onnx-conformance. Hidden: people run
 * that tool, which survives a case that crashes or hangs. */
#include "model_io.h"

#include <hone/onnx.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PORTS = 64 };
static const double RTOL = 1e-3, ATOL = 1e-7;

typedef struct judged {
    const char *status; /* "passed", "refused", "wrong", "error" */
    char reason[1200];
} judged;

typedef struct values {
    hone_array item[MAX_PORTS];
    size_t n;
} values;

static void values_free(values *v) {
    for (size_t i = 0; i < v->n; i++) hone_free(v->item[i].data);
    v->n = 0;
}

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

/* Operators whose results are random: their types and shapes are compared. */
static bool is_random(const char *path) {
    static const char *const kind[] = {"bernoulli", "random", "multinomial", "training_dropout"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!strncmp(name, "test_", 5)) name += 5;
    for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++)
        if (!strncmp(name, kind[i], strlen(kind[i]))) return true;
    return false;
}

/* --- inputs ------------------------------------------------------------------------------------------------------ */

/* The inputs of cases without data: 0, 1/n, 2/n ... in f32; symbolic sizes are 1. */
static hone_rc ramp(const hone_graph_port *p, hone_array *out, hone_err *err) {
    hone_array a = {.dtype = p->dtype, .rank = p->rank};
    size_t n = 1;
    if (p->dtype != HONE_F32) return cli_fail(err, HONE_E_UNSUPPORTED, "a case without data has to take f32");
    for (uint32_t i = 0; i < p->rank; i++) n *= (size_t)(a.dim[i] = p->dim[i] < 0 ? 1 : p->dim[i]);
    float *x = cli_alloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (float)((double)i / (double)n);
    a.data = x;
    *out = a;
    return HONE_OK;
}

static hone_rc read_inputs(const hone_graph *g, const char *set, values *in, hone_err *err) {
    size_t n = hone_graph_inputs(g);
    hone_graph_port port;
    hone_rc rc = HONE_OK;
    if (n > MAX_PORTS) return cli_fail(err, HONE_E_LIMIT, "more than %d inputs", MAX_PORTS);
    for (size_t i = 0; i < n && !rc; i++) {
        char *path = cli_format("%s/input_%zu.pb", set ? set : "", i);
        if (set)
            rc = hone_import_tensor(path, &in->item[i], err);
        else if (!(rc = hone_graph_input(g, i, &port, err)))
            rc = ramp(&port, &in->item[i], err);
        free(path);
        in->n += !rc;
    }
    return rc;
}

/* --- judging ----------------------------------------------------------------------------------------------------- */

static bool same_type(const hone_array *a, const hone_array *b) {
    return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof *a->dim);
}

static bool compare(size_t i, const hone_array *got, const hone_array *want, bool types_only, judged *out) {
    char got_type[256], want_type[256];
    hone_array_difference d = {.same = true};
    bool same = same_type(got, want);
    if (same && !types_only && hone_array_compare(got, want, RTOL, ATOL, &d, NULL)) d.same = false;
    if (same && d.same) return true;
    out->status = "wrong";
    cli_array_text(got, got_type);
    cli_array_text(want, want_type);
    if (!same)
        snprintf(out->reason, sizeof out->reason, "output %zu is %s instead of %s", i, got_type, want_type);
    else
        snprintf(out->reason, sizeof out->reason, "output %zu, %s: %lld elements off by up to %.3g, relatively %.3g", i,
                 got_type, (long long)d.n_wrong, d.max_abs, d.max_rel);
    return false;
}

static void set_error(judged *out, const hone_err *err) {
    out->status = err->rc == HONE_E_UNSUPPORTED ? "refused" : "error";
    snprintf(out->reason, sizeof out->reason, "%s", err->text);
}

/* What runs a model: the interpreter, or a library made of it. */
typedef struct runner {
    hone_graph *graph;
    cli_model compiled; /* program NULL: the interpreter */
} runner;

static hone_rc runner_open(const cli *c, const char *model, runner *r, hone_err *err) {
    *r = (runner){0};
    hone_rc rc = hone_import_model(model, NULL, &r->graph, NULL, err);
    if (!rc && !strcmp(cli_text(c, "engine", ""), "compiled"))
        rc = cli_model_open(c, model, (uint32_t)cli_count(c, "threads", 0), &r->compiled, err);
    return rc;
}

static void runner_close(runner *r) {
    if (r->compiled.program) cli_model_close(&r->compiled);
    hone_graph_free(r->graph);
}

static hone_rc runner_run(const runner *r, const values *in, values *out, hone_err *err) {
    size_t n = hone_graph_outputs(r->graph);
    if (n > MAX_PORTS) return cli_fail(err, HONE_E_LIMIT, "more than %d outputs", MAX_PORTS);
    hone_rc rc = r->compiled.program ? hone_artifact_run(r->compiled.program, in->item, in->n, out->item, n, err)
                                     : hone_graph_run(r->graph, in->item, in->n, out->item, n, err);
    if (!rc) out->n = n;
    return rc;
}

/* What is expected of output i is in "<prefix>output_<i>.pb". */
static bool judge_outputs(const values *got, const char *prefix, bool types_only, judged *out) {
    hone_err err = {0};
    bool good = true;
    for (size_t i = 0; i < got->n && good; i++) {
        hone_array want;
        char *path = cli_format("%soutput_%zu.pb", prefix, i);
        if (hone_import_tensor(path, &want, &err)) {
            set_error(out, &err);
            good = false;
        } else {
            good = compare(i, &got->item[i], &want, types_only, out);
            hone_free(want.data);
        }
        free(path);
    }
    return good;
}

static bool judge_set(const runner *r, const char *set, const char *prefix, bool types_only, judged *out) {
    values in = {.n = 0}, got = {.n = 0};
    hone_err err = {0};
    bool good = false;
    if (read_inputs(r->graph, set, &in, &err)) {
        set_error(out, &err);
    } else if (runner_run(r, &in, &got, &err)) {
        set_error(out, &err);
        out->status = "error"; /* a model that was accepted has to run */
    } else {
        good = judge_outputs(&got, prefix, types_only, out);
    }
    values_free(&in);
    values_free(&got);
    return good;
}

static void judge_folder(const runner *r, const char *path, judged *out) {
    for (unsigned i = 0;; i++) {
        char *set = cli_format("%s/test_data_set_%u", path, i), *prefix = cli_format("%s/", set);
        bool more = exists(set) && judge_set(r, set, prefix, is_random(path), out);
        free(set);
        free(prefix);
        if (!more) return;
    }
}

/* A folder with model.onnx and test_data_set_N, or X.onnx with X_output_N.pb beside it. */
static judged judge(const cli *c, const char *path) {
    judged out = {.status = "passed"};
    runner r;
    hone_err err = {0};
    struct stat st;
    bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    char *model = folder ? cli_format("%s/model.onnx", path) : cli_strdup(path);
    if (runner_open(c, model, &r, &err)) {
        set_error(&out, &err);
    } else if (folder) {
        judge_folder(&r, path, &out);
    } else {
        size_t n = strlen(path);
        char *prefix = cli_format("%.*s_", (int)(n > 5 ? n - 5 : n), path);
        judge_set(&r, NULL, prefix, false, &out);
        free(prefix);
    }
    runner_close(&r);
    free(model);
    return out;
}

static hone_rc run_case(cli *c, hone_err *err) {
    (void)err;
    for (size_t i = 0; i < c->n_args; i++) {
        judged r = judge(c, c->arg[i]);
        cli_json j = cli_json_begin(c, true);
        cli_json_object(&j);
        cli_json_ktext(&j, "case", c->arg[i]);
        cli_json_ktext(&j, "status", r.status);
        cli_json_ktext(&j, "reason", r.reason);
        cli_json_close(&j);
        cli_json_end(&j);
        fflush(stdout);
    }
    return HONE_OK;
}

static const cli_option options[] = {
    {"engine", 0, CLI_CHOICE, "interpreter|compiled", 0, 0, "what runs the model (default interpreter)"},
    CLI_THREADS("of a library; else one per processor"),
    CLI_PLACE_OPTION,
    CLI_COMPILE_OPTIONS,
    {0},
};

const cli_command cli_cmd_case = {
    "case",
    NULL,
    "CASE...",
    "judge conformance cases, one JSON line each",
    "A case is a folder with model.onnx and test_data_set_0, test_data_set_1 ..., or a file X.onnx with X_output_0.pb "
    "beside it. tools/onnx-conformance runs whole folders of cases.",
    options,
    "hone case node/test_abs\tone case\n",
    1,
    -1,
    run_case,
};
