/* cmd_case.c — `hone case`: judge conformance cases, one JSON line each, for tools/onnx-conformance. Hidden: people run
 * that tool, which survives a case that crashes or hangs. */
#include "model_io.h"

#include <hone/import.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PORTS = 64 };
static const double RTOL = 1e-3, ATOL = 1e-7;

typedef struct judged {
    const char *status; /* "passed", "refused", "wrong", "error" */
    char reason[1200];
} judged;

/* What runs the model: its library, or the interpreter on its graph. */
typedef struct engine {
    const cli *c;
    hone_graph *g;
    bool compiled;
    cli_model m;
} engine;

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

/* Operators whose results nobody can foretell: their types and shapes are compared. */
static bool is_random(const char *path) {
    static const char *const kind[] = {"bernoulli", "random", "multinomial", "training_dropout"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!strncmp(name, "test_", 5)) name += 5;
    for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++)
        if (!strncmp(name, kind[i], strlen(kind[i]))) return true;
    return false;
}

/* --- inputs ------------------------------------------------------------------------------------------------------ */

/* What the cases without data are run on: 0, 1/n, 2/n ... in f32; symbolic sizes are 1. */
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
            rc = hone_read_tensor_pb(path, &in->item[i], err);
        else if (!(rc = hone_graph_input(g, i, &port, err)))
            rc = ramp(&port, &in->item[i], err);
        free(path);
        in->n += !rc;
    }
    return rc;
}

/* --- judging ----------------------------------------------------------------------------------------------------- */

static void say_type(const hone_array *a, char *buf, size_t room) {
    size_t n = (size_t)snprintf(buf, room, "%s[", hone_dtype_name(a->dtype));
    for (uint32_t i = 0; i < a->rank && n < room; i++)
        n += (size_t)snprintf(buf + n, room - n, "%s%lld", i ? ", " : "", (long long)a->dim[i]);
    if (n < room) snprintf(buf + n, room - n, "]");
}

static bool same_type(const hone_array *a, const hone_array *b) {
    return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof *a->dim);
}

static bool compare(size_t i, const hone_array *got, const hone_array *want, bool types_only, judged *out) {
    char got_type[300], want_type[300];
    hone_match m = {.same = true};
    bool same = same_type(got, want);
    if (same && !types_only) m = hone_array_match(got, want, RTOL, ATOL);
    if (same && m.same) return true;
    out->status = "wrong";
    say_type(got, got_type, sizeof got_type);
    say_type(want, want_type, sizeof want_type);
    if (!same)
        snprintf(out->reason, sizeof out->reason, "output %zu is %s instead of %s", i, got_type, want_type);
    else
        snprintf(out->reason, sizeof out->reason, "output %zu, %s: %lld wrong, the worst %.9g instead of %.9g at %lld",
                 i, got_type, (long long)m.n_wrong, hone_array_number(got, m.at), hone_array_number(want, m.at),
                 (long long)m.at);
    return false;
}

static void set_error(judged *out, const hone_err *err) {
    out->status = err->rc == HONE_E_UNSUPPORTED ? "refused" : "error";
    snprintf(out->reason, sizeof out->reason, "%s", err->text);
}

/* expected(i): "SET/output_i.pb" or "MODEL_output_i.pb". */
static bool judge_run(engine *e, const values *in, const char *prefix, bool types_only, judged *out) {
    values got = {.n = hone_graph_outputs(e->g)};
    hone_err err = {0};
    bool good = true;
    if (got.n > MAX_PORTS) return false;
    if (e->compiled ? hone_program_run(e->m.program, in->item, in->n, got.item, got.n, &err)
                    : hone_graph_run(e->g, in->item, in->n, got.item, got.n, &err)) {
        set_error(out, &err);
        out->status = "error";
        return false;
    }
    for (size_t i = 0; i < got.n && good; i++) {
        hone_array want;
        char *path = cli_format("%soutput_%zu.pb", prefix, i);
        if (!exists(path)) {
            snprintf(out->reason, sizeof out->reason, "'%s' is missing", path);
            out->status = "error";
            good = false;
        } else if (hone_read_tensor_pb(path, &want, &err)) {
            set_error(out, &err);
            good = false;
        } else {
            good = compare(i, &got.item[i], &want, types_only, out);
            hone_free(want.data);
        }
        free(path);
    }
    values_free(&got);
    return good;
}

static bool judge_set(engine *e, const char *set, const char *prefix, bool types_only, judged *out) {
    values in = {.n = 0};
    hone_err err = {0};
    bool good = false;
    if (read_inputs(e->g, set, &in, &err))
        set_error(out, &err);
    else
        good = judge_run(e, &in, prefix, types_only, out);
    values_free(&in);
    return good;
}

static hone_rc open_engine(const cli *c, const char *model, engine *out, hone_err *err) {
    engine e = {.c = c, .compiled = !strcmp(cli_text(c, "engine", "interpreter"), "compiled")};
    char *report = NULL;
    hone_rc rc = hone_import_onnx(model, NULL, &e.g, &report, err);
    hone_free(report);
    if (rc) return rc;
    if (e.compiled) rc = cli_model_open(c, model, (uint32_t)cli_count(c, "threads", 0), &e.m, err);
    if (rc)
        hone_graph_free(e.g);
    else
        *out = e;
    return rc;
}

static void close_engine(engine *e) {
    if (e->compiled) cli_model_close(&e->m);
    hone_graph_free(e->g);
}

/* Data sets 0, 1, … of a folder, until there is none or one fails. */
static void judge_folder(engine *e, const char *path, judged *out) {
    bool more = true;
    for (unsigned i = 0; more; i++) {
        char *set = cli_format("%s/test_data_set_%u", path, i), *prefix = cli_format("%s/", set);
        more = exists(set) && judge_set(e, set, prefix, is_random(path), out);
        free(set);
        free(prefix);
    }
}

/* A folder with model.onnx and test_data_set_N, or X.onnx with X_output_N.pb beside it. */
static judged judge(const cli *c, const char *path) {
    judged out = {.status = "passed"};
    engine e;
    hone_err err = {0};
    bool folder = !exists(path) || strcmp(path + strlen(path) - (strlen(path) > 5 ? 5 : 0), ".onnx") != 0;
    char *model = folder ? cli_format("%s/model.onnx", path) : cli_strdup(path);
    if (open_engine(c, model, &e, &err)) {
        set_error(&out, &err);
    } else {
        char *prefix = cli_format("%.*s_", (int)strlen(path) - 5, path);
        if (folder)
            judge_folder(&e, path, &out);
        else
            judge_set(&e, NULL, prefix, false, &out);
        free(prefix);
        close_engine(&e);
    }
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
    {"threads", 0, CLI_COUNT, "N", 1, 1024, "of a library; else one per processor"},
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
