/* python/src/compile.c — hone._hone.compile and inspect. */
#include "long_call.h"
#include "options.h"

#include <hone/compile.h>
#include <hone/onnx.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- options: rows of compile_options.def ------------------------------------------------------------------------- */

static const hn_py_option options[] = {
#define HN_OPTION(kind, name, field, standard, doc)                                                                    \
    {#name, standard, doc, HN_PY_##kind, offsetof(hone_compile_options, field)},
#include "compile_options.def"
#undef HN_OPTION
};
enum { N_OPTIONS = sizeof options / sizeof *options };

/* --- the call ----------------------------------------------------------------------------------------------------- */

typedef struct compilation {
    const char *path;
    hone_compile_options options;
    hone_compile_result result;
    hn_py_call call;
} compilation;

static PyObject *show_stage(const void *event) {
    const hone_event *e = event;
    return Py_BuildValue("(snn)", e->stage, (Py_ssize_t)e->done, (Py_ssize_t)e->total);
}

static void progress(void *arg, const hone_event *e) {
    compilation *c = arg;
    hn_py_call_event(&c->call, show_stage, e);
}

/* Appends the report of all refused nodes to the error text. */
static void add_report(const compilation *c, hone_err *err) {
    hone_import_options import = {
        .size = sizeof(hone_import_options), .symbol = c->options.symbol, .n_symbol = c->options.n_symbol};
    char *report = NULL;
    hone_graph *g = NULL;
    if (!hone_import_model(c->path, &import, &g, &report, NULL)) hone_graph_free(g);
    size_t n = strlen(err->text);
    if (report && *report) snprintf(err->text + n, sizeof err->text - n, "\n%s", report);
    hone_free(report);
}

static hone_rc compile(void *arg, hone_err *err) {
    compilation *c = arg;
    hone_rc rc = hone_compile_model(c->path, &c->options, &c->result, err);
    if (rc == HONE_E_UNSUPPORTED) add_report(c, err);
    return rc;
}

static PyObject *result(hone_compile_result *x) {
    PyObject *dict = PyDict_New();
#define HN_COMPILE_FIELD(kind, key, field, unit, doc) HN_PY_PUT(dict, kind, key, x->field);
#include "fields.def"
#undef HN_COMPILE_FIELD
    hone_free(x->text);
    return dict;
}
static const hn_py_field fields[] = {
#define HN_COMPILE_FIELD(kind, key, field, unit, doc) {#key, unit, doc},
#include "fields.def"
#undef HN_COMPILE_FIELD
};

/* A tuple of str; borrowed texts; NULL with an exception. */
static const char **texts(PyObject *tuple, size_t *n) {
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    const char **list = calloc(*n + 1, sizeof *list);
    if (!list) PyErr_NoMemory();
    for (size_t i = 0; i < *n && list; i++)
        if (!(list[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i)))) {
            free(list);
            return NULL;
        }
    return list;
}

/* (path, output, emit, profile, symbols, specialize, state, options, progress) */
static PyObject *compile_model(PyObject *module, PyObject *args) {
    compilation c = {.options = hone_compile_defaults()};
    PyObject *symbols, *specialize, *state, *given, *out = NULL;
    int c_text, profile;
    if (!PyArg_ParseTuple(args, "ssppO!O!O!O!O", &c.path, &c.options.output, &c_text, &profile, &PyTuple_Type, &symbols,
                          &PyTuple_Type, &specialize, &PyTuple_Type, &state, &PyDict_Type, &given, &c.call.callback))
        return NULL;
    const char **symbol = texts(symbols, &c.options.n_symbol);
    const char **special = symbol ? texts(specialize, &c.options.n_specialize) : NULL;
    const char **states = special ? texts(state, &c.options.n_state) : NULL;
    c.options.emit = c_text ? HONE_EMIT_C : HONE_EMIT_SO;
    c.options.profile = profile;
    c.options.symbol = symbol, c.options.specialize = special, c.options.state = states;
    if (c.call.callback != Py_None) c.options.progress = (hone_progress){progress, &c};
    c.call.run = compile, c.call.arg = &c;
    c.options.stop = &c.call.stop;
    if (states && !hn_py_options_set(&c.options, options, N_OPTIONS, given, "hone.compile") &&
        !hn_py_call_long(hn_py_module_state(module), &c.call))
        out = result(&c.result);
    else
        hone_free(c.result.text);
    free(symbol), free(special), free(states);
    return out;
}

static PyObject *inspect_model(PyObject *module, PyObject *args) {
    const char *path;
    char *json = NULL;
    hone_err err;
    hone_rc rc;
    if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
    Py_BEGIN_ALLOW_THREADS rc = hone_import_inspect(path, &json, &err);
    Py_END_ALLOW_THREADS if (rc) return hn_py_raise(hn_py_module_state(module), &err);
    PyObject *out = PyUnicode_FromString(json);
    hone_free(json);
    return out;
}

static PyObject *generate(PyObject *module, PyObject *args) {
    const char *architecture, *path;
    hone_gen_options o;
    long long batch, seq;
    int dynamic;
    hone_err err;
    hone_rc rc;
    if (!PyArg_ParseTuple(args, "ssLLp", &architecture, &path, &batch, &seq, &dynamic)) return NULL;
    o = (hone_gen_options){.size = sizeof(hone_gen_options), .batch = batch, .seq = seq, .dynamic = dynamic};
    Py_BEGIN_ALLOW_THREADS rc = hone_gen_onnx(architecture, path, &o, NULL, &err);
    Py_END_ALLOW_THREADS if (rc) return hn_py_raise(hn_py_module_state(module), &err);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"compile", compile_model, METH_VARARGS,
     "(path, output, emit C, profile, symbols, specialize, state, options, progress)"},
    {"inspect", inspect_model, METH_VARARGS, "(path): what is in a model file, as JSON"},
    {"generate", generate, METH_VARARGS, "(architecture, path, batch, seq, dynamic): writes a synthetic model"},
    {0},
};

int hn_py_add_compile(PyObject *module) {
    if (PyModule_AddFunctions(module, functions)) return -1;
    if (hn_py_options_add(module, "compile_options", options, N_OPTIONS)) return -1;
    return hn_py_fields_add(module, "compile_fields", fields, sizeof fields / sizeof *fields);
}
