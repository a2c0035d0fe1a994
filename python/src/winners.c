/* python/src/winners.c — the file of winners, and the tuning of models that fills it. */
#include "long_call.h"
#include "options.h"

#include <hone/text.h>
#include <hone/tune_model.h>
#include <hone/winners.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- the file -------------------------------------------------------------------------------------------------------
 */

static PyObject *winner(const hone_winner *w) {
    char id[33];
    hone_winner_id(w, id);
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:d,s:d,s:(ddd),s:d,s:d,s:s}", "id", id, "kind",
                         w->kind, "sizes", w->sizes, "target", w->target, "device", w->device, "compiler", w->compiler,
                         "numeric", w->numeric, "schedule", w->schedule, "cc", w->cc, "flags", w->flags, "provenance",
                         w->provenance, "default_s", w->default_s, "tuned_s", w->tuned_s, "gain", w->gain_lo, w->gain,
                         w->gain_hi, "pairs", w->pairs, "at_s", w->at_s, "body", w->body);
}

static PyObject *winners_rows(const hone_winner *list, size_t n) {
    PyObject *rows = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n && rows; i++) {
        PyObject *row = winner(&list[i]);
        if (!row)
            Py_CLEAR(rows);
        else
            PyList_SET_ITEM(rows, (Py_ssize_t)i, row);
    }
    return rows;
}

/* (path or None): as it may be shown */
static PyObject *winners_name(PyObject *module, PyObject *args) {
    (void)module;
    const char *path;
    if (!PyArg_ParseTuple(args, "z", &path)) return NULL;
    char *usual = path ? NULL : hone_winners_path();
    char *name = path || usual ? hone_winners_name(path ? path : usual) : NULL;
    hone_free(usual);
    if (!name) return PyErr_NoMemory();
    PyObject *out = PyUnicode_DecodeFSDefault(name);
    hone_free(name);
    return out;
}

static PyObject *winners_list(PyObject *module, PyObject *args) {
    const char *path;
    hone_winners *w = NULL;
    hone_winner *list = NULL;
    size_t n = 0;
    hone_err err;
    if (!PyArg_ParseTuple(args, "z", &path)) return NULL;
    hone_rc rc = hone_winners_open(path, false, &w, &err);
    if (!rc) rc = hone_winners_list(w, &list, &n, &err);
    PyObject *out = rc ? hn_py_raise(hn_py_module_state(module), &err) : winners_rows(list, n);
    if (!rc) hone_winners_list_free(list, n);
    hone_winners_close(w);
    return out;
}

static PyObject *winners_remove(PyObject *module, PyObject *args) {
    const char *path, *id;
    hone_winners *w = NULL;
    hone_err err;
    if (!PyArg_ParseTuple(args, "zs", &path, &id)) return NULL;
    hone_rc rc = hone_winners_open(path, true, &w, &err);
    if (!rc) rc = hone_winners_remove(w, id, &err);
    hone_winners_close(w);
    if (rc) return hn_py_raise(hn_py_module_state(module), &err);
    Py_RETURN_NONE;
}

/* Texts and numbers of a winner, by name; what a dict does not give stays empty. */
static const struct {
    const char *name;
    size_t at;
} texts[] = {
#define TEXT(field)                                                                                                    \
    { #field, offsetof(hone_winner, field) }
    TEXT(kind),     TEXT(body),    TEXT(sizes),        TEXT(target),     TEXT(device), TEXT(driver),
    TEXT(compiler), TEXT(numeric), TEXT(schedules),    TEXT(schedule),   TEXT(cc),     TEXT(cc_identity),
    TEXT(flags),    TEXT(code),    TEXT(default_code), TEXT(provenance),
#undef TEXT
};
static const hn_py_option numbers[] = {
#define NUMBER(field)                                                                                                  \
    { #field, "", "", HN_PY_REAL, offsetof(hone_winner, field) }
    NUMBER(default_s), NUMBER(tuned_s), NUMBER(gain_lo), NUMBER(gain), NUMBER(gain_hi), NUMBER(pairs), NUMBER(at_s),
#undef NUMBER
};
enum { N_TEXTS = sizeof texts / sizeof *texts, N_NUMBERS = sizeof numbers / sizeof *numbers };

/* Borrowed texts; 0, or -1 with an exception. */
static int read_winner(PyObject *dict, hone_winner *w) {
    PyObject *rest = PyDict_New();
    PyObject *key, *value;
    Py_ssize_t position = 0;
    *w = (hone_winner){0};
    const char *text = "";
    for (size_t i = 0; i < N_TEXTS; i++) memcpy((char *)w + texts[i].at, &text, sizeof text);
    while (rest && PyDict_Next(dict, &position, &key, &value)) {
        const char *name = PyUnicode_AsUTF8(key);
        size_t i = 0;
        while (name && i < N_TEXTS && strcmp(texts[i].name, name) != 0) i++;
        if (name && i < N_TEXTS) {
            if ((text = PyUnicode_AsUTF8(value))) memcpy((char *)w + texts[i].at, &text, sizeof text);
        } else if (name) {
            PyDict_SetItem(rest, key, value);
        }
        if (PyErr_Occurred()) break;
    }
    if (rest && !PyErr_Occurred()) hn_py_options_set(w, numbers, N_NUMBERS, rest, "winners_put");
    Py_XDECREF(rest);
    return PyErr_Occurred() ? -1 : 0;
}

/* (path or None, dict) */
static PyObject *winners_put(PyObject *module, PyObject *args) {
    const char *path;
    PyObject *given;
    hone_winners *w = NULL;
    hone_winner row;
    hone_err err;
    if (!PyArg_ParseTuple(args, "zO!", &path, &PyDict_Type, &given) || read_winner(given, &row)) return NULL;
    hone_rc rc = hone_winners_open(path, true, &w, &err);
    if (!rc) rc = hone_winners_put(w, &row, &err);
    hone_winners_close(w);
    if (rc) return hn_py_raise(hn_py_module_state(module), &err);
    Py_RETURN_NONE;
}

/* (path or None, dict of the key): the row, None where there is none */
static PyObject *winners_find(PyObject *module, PyObject *args) {
    const char *path;
    PyObject *given, *out = NULL;
    hone_winners *w = NULL;
    hone_winner key, row = {0};
    hone_err err;
    if (!PyArg_ParseTuple(args, "zO!", &path, &PyDict_Type, &given) || read_winner(given, &key)) return NULL;
    hone_rc rc = hone_winners_open(path, false, &w, &err);
    if (!rc) rc = hone_winners_find(w, &key, &row, &err);
    hone_winners_close(w);
    if (rc && rc != HONE_E_NOTFOUND) return hn_py_raise(hn_py_module_state(module), &err);
    if (rc) Py_RETURN_NONE;
    out = winner(&row);
    hone_winner_free(&row);
    return out;
}

static PyObject *winners_export(PyObject *module, PyObject *args) {
    const char *path;
    hone_winners *w = NULL;
    char *text = NULL;
    hone_err err;
    if (!PyArg_ParseTuple(args, "z", &path)) return NULL;
    hone_rc rc = hone_winners_open(path, false, &w, &err);
    if (!rc) rc = hone_winners_export(w, &text, &err);
    hone_winners_close(w);
    PyObject *out = rc ? hn_py_raise(hn_py_module_state(module), &err) : PyUnicode_FromString(text);
    hone_free(text);
    return out;
}

static PyObject *winners_import(PyObject *module, PyObject *args) {
    const char *path, *text, *label;
    Py_ssize_t n;
    size_t n_read = 0, n_new = 0;
    hone_winners *w = NULL;
    hone_err err;
    if (!PyArg_ParseTuple(args, "zs#s", &path, &text, &n, &label)) return NULL;
    hone_rc rc = hone_winners_open(path, true, &w, &err);
    if (!rc) rc = hone_winners_import(w, text, (size_t)n, label, &n_read, &n_new, &err);
    hone_winners_close(w);
    if (rc) return hn_py_raise(hn_py_module_state(module), &err);
    return Py_BuildValue("(nn)", (Py_ssize_t)n_read, (Py_ssize_t)n_new);
}

/* --- tuning a model -------------------------------------------------------------------------------------------------
 */

typedef struct settings {
    hone_tune_model_options tune;
    hone_compile_options compile;
} settings;
static const hn_py_option options[] = {
#define HN_TUNE_MODEL_OPTION(kind, name, field, standard, doc)                                                         \
    {#name, standard, doc, HN_PY_##kind, offsetof(settings, field)},
#include "tune_options.def"
#undef HN_TUNE_MODEL_OPTION
};
enum { N_OPTIONS = sizeof options / sizeof *options };

typedef struct tuning {
    const char *path;
    settings o;
    hone_tune_model_result result;
    hn_py_call call;
} tuning;

static PyObject *interval(hone_interval i) { return Py_BuildValue("(ddd)", i.lo, i.mid, i.hi); }

static PyObject *show_event(const void *event) {
    const hone_tune_model_event *e = event;
    return Py_BuildValue("{s:s,s:z,s:z,s:d,s:d,s:d,s:N,s:n,s:n,s:n,s:d,s:d,s:z}", "stage", e->base.stage, "kernel",
                         e->kernel, "kind", e->kind, "share", e->share, "default_s", e->default_s, "best_s", e->best_s,
                         "gain", interval(e->gain), "done", (Py_ssize_t)e->base.done, "total",
                         (Py_ssize_t)e->base.total, "candidates", (Py_ssize_t)e->n_candidates, "elapsed_s",
                         e->base.elapsed_s, "left_s", e->base.left_s, "text", e->base.text);
}

static void on_event(void *ctx, const hone_event *event) { hn_py_call_event(ctx, show_event, event); }

static bool is_language(const tuning *t) {
    const char *format = hone_import_format_of(t->path);
    return format && (!strcmp(format, "gguf") || !strcmp(format, "hf"));
}

/* What has been compiled of a language model is made again with its new winners. */
static hone_rc renew(const tuning *t, hone_err *err) {
    bool any = t->result.dropped;
    for (size_t i = 0; i < t->result.n_kernels; i++) any |= t->result.kernel[i].is_new;
    return any && is_language(t) ? hone_text_renew(t->path, err) : HONE_OK;
}

static hone_rc tune(void *arg, hone_err *err) {
    tuning *t = arg;
    hone_import_options import = {
        .size = sizeof(hone_import_options), .symbol = t->o.compile.symbol, .n_symbol = t->o.compile.n_symbol};
    const char *slash = strrchr(t->path, '/'), *cache = t->o.compile.cache ? t->o.compile.cache : "f16";
    hone_graph *g = NULL;
    if (is_language(t) && strcmp(cache, "none") != 0) import.cache = cache;
    hone_rc rc = hone_import_model(t->path, &import, &g, NULL, err);
    if (!rc) rc = hone_tune_model_run(g, slash ? slash + 1 : t->path, &t->o.tune, &t->result, err);
    hone_graph_free(g);
    return rc ? rc : renew(t, err);
}

static PyObject *kernels(const hone_tune_model_result *m) {
    PyObject *list = PyList_New((Py_ssize_t)m->n_kernels);
    for (size_t i = 0; i < m->n_kernels && list; i++) {
        const hone_tune_model_kernel *k = &m->kernel[i];
        PyObject *row =
            Py_BuildValue("{s:s,s:s,s:s,s:s,s:I,s:d,s:d,s:d,s:N,s:s,s:s,s:n,s:O,s:O,s:s}", "kernel", k->name, "kind",
                          k->kind, "source", k->source, "shape", k->shape, "calls", k->n_uses, "share", k->share,
                          "default_s", k->default_s, "tuned_s", k->tuned_s, "gain", interval(k->gain), "schedule",
                          k->schedule, "flags", k->flags, "candidates", (Py_ssize_t)k->n_candidates, "winner",
                          k->winner ? Py_True : Py_False, "new", k->is_new ? Py_True : Py_False, "end", k->end);
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, row);
    }
    return list;
}

/* (path, symbols, options, callback) */
static PyObject *tune_model(PyObject *module, PyObject *args) {
    tuning t = {.o = {hone_tune_model_defaults(), hone_compile_defaults()}};
    PyObject *symbols, *given, *out = NULL;
    if (!PyArg_ParseTuple(args, "sO!O!O", &t.path, &PyTuple_Type, &symbols, &PyDict_Type, &given, &t.call.callback))
        return NULL;
    size_t n = t.o.compile.n_symbol = (size_t)PyTuple_GET_SIZE(symbols);
    const char **symbol = calloc(n + 1, sizeof *symbol);
    bool good = symbol || !PyErr_NoMemory();
    for (size_t i = 0; i < n && good; i++)
        good = (symbol[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(symbols, (Py_ssize_t)i))) != NULL;
    t.o.compile.symbol = symbol;
    t.call.run = tune, t.call.arg = &t;
    t.o.tune.compile = &t.o.compile;
    t.o.tune.progress = (hone_progress){on_event, &t.call}, t.o.tune.stop = &t.call.stop;
    if (good && !hn_py_options_set(&t.o, options, N_OPTIONS, given, "hone.tune_model") &&
        !hn_py_call_long(hn_py_module_state(module), &t.call)) {
        const hone_tune_model_result *m = &t.result;
        out = Py_BuildValue("{s:N,s:N,s:N,s:N,s:O,s:n,s:d,s:d,s:s}", "kernels", kernels(m), "gain", interval(m->gain),
                            "gain_all_cores", interval(m->gain_all), "gain_also", interval(m->gain_also), "dropped",
                            m->dropped ? Py_True : Py_False, "candidates", (Py_ssize_t)m->n_candidates, "rate", m->rate,
                            "elapsed_s", m->elapsed_s, "winners", m->winners);
    }
    hone_tune_model_result_free(&t.result);
    free(symbol);
    return out;
}

/* --- the part -------------------------------------------------------------------------------------------------------
 */

static PyMethodDef functions[] = {
    {"winners_name", winners_name, METH_VARARGS, "(path or None): the file, or a URL without user and password"},
    {"winners_list", winners_list, METH_VARARGS, "(path or None): all rows, the newest first"},
    {"winners_remove", winners_remove, METH_VARARGS, "(path or None, id)"},
    {"winners_put", winners_put, METH_VARARGS, "(path or None, dict): replaces the row of the same key"},
    {"winners_find", winners_find, METH_VARARGS, "(path or None, dict of a key): the row, or None"},
    {"winners_export", winners_export, METH_VARARGS, "(path or None): YAML"},
    {"winners_import", winners_import, METH_VARARGS, "(path or None, YAML, label): (read, new)"},
    {"tune_model", tune_model, METH_VARARGS, "(path, symbols, options, callback)"},
    {0},
};

int hn_py_add_winners(PyObject *module) {
    if (PyModule_AddFunctions(module, functions)) return -1;
    return hn_py_options_add(module, "tune_model_options", options, N_OPTIONS);
}
