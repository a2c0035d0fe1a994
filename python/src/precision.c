/* python/src/precision.c — which products are in fewer bits: chosen on samples, searched, and what it costs. */
#include "array.h"
#include "long_call.h"
#include "options.h"

#include <hone/compile.h>
#include <hone/import.h>
#include <hone/mixed.h>
#include <hone/process.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char capsule_name[] = "hone.samples";

/* --- a model and its samples ---------------------------------------------------------------------------------------
 */

typedef struct session {
    hone_graph *g;
    hone_precision_samples all, taken, held;
    hn_py_input *input; /* what the samples borrow */
    size_t n_inputs, room;
} session;

static void session_free(session *s) {
    for (size_t i = 0; i < s->n_inputs; i++) hn_py_input_drop(&s->input[i]);
    free(s->input);
    hone_precision_free_samples(&s->all), hone_precision_free_samples(&s->taken), hone_precision_free_samples(&s->held);
    hone_graph_free(s->g);
    free(s);
}

static void forget(PyObject *capsule) {
    session *s = PyCapsule_GetPointer(capsule, capsule_name);
    if (s) session_free(s);
}

/* The type that the input of that name has, or the only input. */
static hone_dtype wanted_type(const hone_graph *g, const char *name, bool only) {
    hone_graph_port p;
    for (size_t i = 0; i < hone_graph_inputs(g); i++)
        if (!hone_graph_input(g, i, &p, NULL) && (only || !strcmp(p.name, name))) return p.dtype;
    return HONE_N_DTYPES;
}

/* Takes the arrays of a dict that inputs are called by; -1 with an exception. */
static int take_arrays(const hn_py_state *state, session *s, const char *label, PyObject *dict) {
    size_t n_items = (size_t)PyDict_Size(dict), n = 0;
    const char **name = calloc(n_items + 1, sizeof *name);
    hone_array *array = calloc(n_items + 1, sizeof *array);
    hn_py_input *grown = realloc(s->input, (s->n_inputs + n_items + 1) * sizeof *grown);
    if (grown) s->input = grown;
    bool only = hone_graph_inputs(s->g) == 1 && n_items == 1, good = name && array && grown;
    PyObject *key, *value;
    hone_err err;
    if (!good) PyErr_NoMemory();
    for (Py_ssize_t at = 0; good && PyDict_Next(dict, &at, &key, &value);) {
        good = (name[n] = PyUnicode_AsUTF8(key)) != NULL;
        hn_py_wanted want = {name[n], good ? wanted_type(s->g, name[n], only) : HONE_N_DTYPES, NULL, -1};
        if (want.dtype == HONE_N_DTYPES) continue;
        good = !hn_py_input_take(state, value, &want, &s->input[s->n_inputs]);
        if (good) array[n++] = s->input[s->n_inputs++].array;
    }
    if (good && hone_precision_add_samples(&s->all, s->g, label, name, array, n, &err))
        good = false, hn_py_raise(state, &err);
    free(name), free(array);
    return good ? 0 : -1;
}

static const char **texts(PyObject *tuple) {
    size_t n = (size_t)PyTuple_GET_SIZE(tuple);
    const char **list = calloc(n + 1, sizeof *list);
    if (!list) PyErr_NoMemory();
    for (size_t i = 0; i < n && list; i++)
        if (!(list[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i)))) {
            free(list);
            return NULL;
        }
    return list;
}

static hone_rc import(const char *path, PyObject *symbols, const char **symbol, session *s, hone_err *err) {
    hone_import_options o = {
        .size = sizeof(hone_import_options), .symbol = symbol, .n_symbol = (size_t)PyTuple_GET_SIZE(symbols)};
    hone_rc rc;
    Py_BEGIN_ALLOW_THREADS rc = hone_import_model(path, &o, &s->g, NULL, err);
    Py_END_ALLOW_THREADS return rc;
}

/* (path, symbols, samples): a capsule. samples: a tuple of (label, dict of arrays) */
static PyObject *open_samples(PyObject *module, PyObject *args) {
    const hn_py_state *state = hn_py_module_state(module);
    const char *path, *label;
    PyObject *symbols, *given, *dict, *out = NULL;
    hone_err err = {0};
    if (!PyArg_ParseTuple(args, "sO!O!", &path, &PyTuple_Type, &symbols, &PyTuple_Type, &given)) return NULL;
    const char **symbol = texts(symbols);
    session *s = symbol ? calloc(1, sizeof *s) : NULL;
    bool good = s && !import(path, symbols, symbol, s, &err);
    if (s && !good) hn_py_raise(state, &err);
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(given); i++)
        good = PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "sO!", &label, &PyDict_Type, &dict) &&
               !take_arrays(state, s, label, dict);
    if (good && hone_precision_divide(&s->all, &s->taken, &s->held, &err)) good = false, hn_py_raise(state, &err);
    if (good) out = PyCapsule_New(s, capsule_name, forget);
    if (s && !out) session_free(s);
    free(symbol);
    return out;
}

/* --- the choice ----------------------------------------------------------------------------------------------------
 */

static const hn_py_option options[] = {
#define HN_PRECISION_OPTION(kind, name, field, standard, doc)                                                          \
    {#name, standard, doc, HN_PY_##kind, offsetof(hone_mixed_options, field)},
#include "tune_options.def"
#undef HN_PRECISION_OPTION
};
enum { N_OPTIONS = sizeof options / sizeof *options };

typedef struct choosing {
    session *s;
    const char *kind;
    hone_mixed_options o;
    hone_mixed_front front;
    char *text;
    PyObject *metric;
    PyTypeObject *array;
    hn_py_call call;
} choosing;

static PyObject *show_stage(const void *event) {
    const hone_event *e = event;
    return Py_BuildValue("(snn)", e->stage, (Py_ssize_t)e->done, (Py_ssize_t)e->total);
}

static void on_event(void *arg, const hone_event *e) { hn_py_call_event(arg, show_stage, e); }

/* Outputs of one sample, by name, as arrays of their own. */
static PyObject *show_outputs(const choosing *c, const hone_array *out, size_t n) {
    PyObject *dict = PyDict_New();
    for (size_t k = 0; k < n && dict; k++) {
        hone_graph_port port = {0};
        hone_array a = out[k];
        size_t size_b = hone_dtype_size_b(a.dtype);
        for (uint32_t d = 0; d < a.rank; d++) size_b *= (size_t)a.dim[d];
        hone_graph_output(c->s->g, k, &port, NULL);
        a.data = malloc(size_b + 1);
        if (a.data) memcpy(a.data, out[k].data, size_b);
        hn_py_put(&dict, port.name ? port.name : "output", a.data ? hn_py_array_new(c->array, &a) : PyErr_NoMemory());
    }
    return dict;
}

/* metric({index: {name: array}}): the error of these outputs. */
static hone_rc ask_metric(void *arg, const hone_array *out, size_t n_outputs, const size_t *index, size_t n,
                          double *error, hone_err *err) {
    choosing *c = arg;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *all = PyDict_New(), *answer = NULL;
    for (size_t i = 0; i < n && all; i++) {
        PyObject *key = PyLong_FromSize_t(index[i]), *value = show_outputs(c, out + i * n_outputs, n_outputs);
        if (!key || !value || PyDict_SetItem(all, key, value)) Py_CLEAR(all);
        Py_XDECREF(key), Py_XDECREF(value);
    }
    if (all) answer = PyObject_CallOneArg(c->metric, all);
    double x = answer ? PyFloat_AsDouble(answer) : NAN;
    if (!PyErr_Occurred() && !isfinite(x)) PyErr_Format(PyExc_ValueError, "the metric gives %R", answer);
    bool bad = PyErr_Occurred() != NULL;
    if (bad) hn_py_call_keep(&c->call);
    Py_XDECREF(answer), Py_XDECREF(all);
    PyGILState_Release(gil);
    if (bad) return err->rc = HONE_E_INTERRUPTED;
    *error = x;
    return HONE_OK;
}

static hone_rc choose(void *arg, hone_err *err) {
    choosing *c = arg;
    const session *s = c->s;
    hone_precision_options o = hone_precision_defaults();
    if (!strcmp(c->kind, "mixed")) return hone_mixed_search(s->g, s->all.a, s->all.n, &c->o, &c->front, err);
    if (!strcmp(c->kind, "bf16")) return hone_precision_bf16(s->g, &c->text, err);
    o.calibrate = c->o.calibrate, o.percentile = c->o.percentile, o.no_smooth = c->o.no_smooth;
    o.compiler = c->o.compiler, o.n_jobs = c->o.n_jobs, o.n_threads = c->o.n_threads;
    o.progress = c->o.progress, o.stop = c->o.stop;
    return hone_precision_choose(s->g, s->taken.a, s->taken.n, &o, &c->text, err);
}

static PyObject *show_point(const hone_mixed_front *f, size_t i) {
    const hone_mixed_point *x = &f->point[i];
    PyObject *wide = PyList_New(0), *dict = wide ? PyDict_New() : NULL;
    for (uint32_t k = 0; k < f->n_products && dict; k++) {
        PyObject *name = x->narrow[k] ? NULL : PyUnicode_FromString(f->product[k]);
        if (!x->narrow[k] && (!name || PyList_Append(wide, name))) Py_CLEAR(dict);
        Py_XDECREF(name);
    }
    HN_PY_PUT(dict, FLAG, chosen, i == f->chosen);
    HN_PY_PUT(dict, REAL, error, x->error);
    HN_PY_PUT(dict, REAL, held_error, x->held_error);
    HN_PY_PUT(dict, REAL, held_bound, x->held_bound);
    HN_PY_PUT(dict, FLAG, proven, x->proven);
    HN_PY_PUT(dict, REAL, latency, x->latency);
    HN_PY_PUT(dict, U64, weights_b, x->weights_b);
    HN_PY_PUT(dict, U32, narrow, x->n_narrow);
    HN_PY_PUT(dict, TEXT, calibrate, x->calibrate);
    hn_py_put(&dict, "f32", wide);
    return dict;
}

static PyObject *show_front(const hone_mixed_front *f) {
    PyObject *list = PyList_New((Py_ssize_t)f->n);
    for (size_t i = 0; i < f->n && list; i++) {
        PyObject *point = show_point(f, i);
        if (!point)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, point);
    }
    return list;
}

static PyObject *show_choice(const hn_py_state *state, const choosing *c) {
    const hone_mixed_front *f = &c->front;
    const char *text = c->text ? c->text : f->text;
    hone_precision_summary sum;
    hone_err err;
    if (hone_precision_read(text, "precision", &sum, &err)) return hn_py_raise(state, &err);
    return Py_BuildValue("{s:s,s:s,s:I,s:I,s:N,s:d,s:O,s:I,s:I,s:I}", "kind", c->kind, "text", text, "products",
                         sum.n_products, "narrow", sum.n_narrow, "front", show_front(f), "max_error",
                         f->n ? f->max_error : NAN, "late", f->late ? Py_True : Py_False, "alone", f->n_alone,
                         "evaluated", f->n_evaluated, "known", f->n_reused);
}

/* (capsule, kind, options, metric, its name, callback) */
static PyObject *choose_precision(PyObject *module, PyObject *args) {
    hn_py_state *state = hn_py_module_state(module);
    choosing c = {.o = hone_mixed_defaults(), .array = state->array};
    PyObject *capsule, *given, *out = NULL;
    if (!PyArg_ParseTuple(args, "OsO!OzO", &capsule, &c.kind, &PyDict_Type, &given, &c.metric, &c.o.metric_name,
                          &c.call.callback) ||
        !(c.s = PyCapsule_GetPointer(capsule, capsule_name)))
        return NULL;
    if (c.metric != Py_None) c.o.metric = ask_metric, c.o.metric_arg = &c;
    c.call.run = choose, c.call.arg = &c;
    c.o.stop = &c.call.stop, c.o.progress = (hone_progress){on_event, &c.call};
    c.o.replace = true;
    if (!hn_py_options_set(&c.o, options, N_OPTIONS, given, "hone.choose_precision") &&
        !hn_py_call_long(state, &c.call))
        out = show_choice(state, &c);
    hone_mixed_free(&c.front);
    hone_free(c.text);
    return out;
}

/* --- what it costs -------------------------------------------------------------------------------------------------
 */

typedef struct judging {
    session *s;
    const char *text, *target, *compiler, *winners;
    unsigned n_threads;
    int relaxed, times;
    const hone_precision_samples *on;
    hone_precision_error *error;
    hone_artifact *narrow, *exact;
    hone_interval latency;
    size_t n_pairs;
    hn_py_call call;
} judging;

static hone_rc compile(const judging *j, const char *folder, bool narrow, hone_artifact **out, hone_err *err) {
    hone_compile_options o = hone_compile_defaults();
    hone_artifact_options load = hone_artifact_defaults();
    char output[4096], library[4104];
    snprintf(output, sizeof output, "%s/%s", folder, narrow ? "narrow" : "exact");
    snprintf(library, sizeof library, "%s.so", output);
    o.output = output, o.precision = narrow ? j->text : NULL;
    o.target = j->target, o.compiler = j->compiler, o.winners = j->winners, o.relaxed = j->relaxed;
    o.n_threads = load.n_threads = j->n_threads, o.stop = &j->call.stop;
    o.no_parity = !narrow;
    hone_rc rc = hone_compile_graph(j->s->g, "model", &o, NULL, err);
    return rc ? rc : hone_artifact_load(library, &load, out, err);
}

static hone_rc judge(void *arg, hone_err *err) {
    judging *j = arg;
    hone_temp *temp;
    const hone_precision_samples *on = j->on;
    hone_rc rc = hone_temp_open("hone-judge-", &temp, err);
    if (rc) return rc;
    rc = compile(j, hone_temp_path(temp), true, &j->narrow, err);
    if (!rc) rc = compile(j, hone_temp_path(temp), false, &j->exact, err);
    if (!rc) {
        j->error = calloc((size_t)hone_artifact_model(j->narrow)->n_outputs + 1, sizeof *j->error);
        rc = j->error ? hone_precision_compare(j->narrow, j->exact, on->a, on->n, j->error, err)
                      : (err->rc = HONE_E_NOMEM);
    }
    if (!rc && j->times)
        rc = hone_mixed_time(j->narrow, j->exact, on->a, on->n, 0, &j->call.stop, &j->latency, &j->n_pairs, err);
    hone_temp_close(temp);
    return rc;
}

static PyObject *show_error(const char *name, const hone_precision_error *e) {
    PyObject *dict = PyDict_New();
    HN_PY_PUT(dict, TEXT, name, name);
    HN_PY_PUT(dict, U64, elements, e->n_elements);
    HN_PY_PUT(dict, U64, other, e->n_other);
    if (!e->is_float) return dict;
    HN_PY_PUT(dict, REAL, rms, e->rms);
    HN_PY_PUT(dict, REAL, largest, e->largest);
    HN_PY_PUT(dict, U64, rows, e->n_rows);
    HN_PY_PUT(dict, U64, same_top, e->n_top);
    return dict;
}

static PyObject *show_judgement(const judging *j) {
    const hone_model *m = hone_artifact_model(j->narrow);
    PyObject *list = PyList_New(m->n_outputs);
    for (int32_t k = 0; k < m->n_outputs && list; k++) {
        PyObject *row = show_error(m->output[k].name, &j->error[k]);
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, k, row);
    }
    PyObject *latency = j->times ? hn_py_of_INTERVAL(j->latency) : Py_BuildValue("");
    return Py_BuildValue("{s:N,s:n,s:O,s:N,s:n}", "outputs", list, "samples", (Py_ssize_t)j->on->n, "held_out",
                         j->on == &j->s->held ? Py_True : Py_False, "latency", latency, "pairs",
                         (Py_ssize_t)j->n_pairs);
}

/* (capsule, text, target, compiler, winners, threads, relaxed, latency) */
static PyObject *judge_precision(PyObject *module, PyObject *args) {
    judging j = {0};
    PyObject *capsule, *out = NULL;
    if (!PyArg_ParseTuple(args, "OszzzIpp", &capsule, &j.text, &j.target, &j.compiler, &j.winners, &j.n_threads,
                          &j.relaxed, &j.times) ||
        !(j.s = PyCapsule_GetPointer(capsule, capsule_name)))
        return NULL;
    j.on = j.s->held.n ? &j.s->held : &j.s->all;
    j.call.run = judge, j.call.arg = &j;
    if (!hn_py_call_long(hn_py_module_state(module), &j.call)) out = show_judgement(&j);
    hone_artifact_free(j.narrow), hone_artifact_free(j.exact);
    free(j.error);
    return out;
}

/* (text, label, key): (products, narrow), of a text that is in order and signed with that key (None: need not be). */
static PyObject *read_precision(PyObject *module, PyObject *args) {
    const char *text, *label, *key;
    hone_precision_summary sum;
    hone_err err;
    if (!PyArg_ParseTuple(args, "ssz", &text, &label, &key)) return NULL;
    if (hone_precision_read(text, label, &sum, &err) || (key && hone_precision_verify(text, label, key, NULL, &err)))
        return hn_py_raise(hn_py_module_state(module), &err);
    return Py_BuildValue("(II)", sum.n_products, sum.n_narrow);
}

/* (seconds): of a budget those for the choice */
static PyObject *choice_s(PyObject *module, PyObject *args) {
    double budget_s;
    (void)module;
    return PyArg_ParseTuple(args, "d", &budget_s) ? PyFloat_FromDouble(hone_mixed_choice_s(budget_s)) : NULL;
}

/* (seconds, seconds spent, judged): of a budget those for kernels */
static PyObject *kernels_s(PyObject *module, PyObject *args) {
    double budget_s, spent_s;
    int judged;
    (void)module;
    if (!PyArg_ParseTuple(args, "ddp", &budget_s, &spent_s, &judged)) return NULL;
    return PyFloat_FromDouble(hone_mixed_kernels_s(budget_s, spent_s, judged));
}

/* --- the part ------------------------------------------------------------------------------------------------------
 */

static PyMethodDef functions[] = {
    {"precision_open", open_samples, METH_VARARGS, "(path, symbols, samples): a model and samples of its inputs"},
    {"precision_choose", choose_precision, METH_VARARGS, "(samples, kind, options, metric, its name, callback)"},
    {"precision_judge", judge_precision, METH_VARARGS,
     "(samples, text, target, compiler, winners, threads, relaxed, latency)"},
    {"precision_choice_s", choice_s, METH_VARARGS, "(budget_s): what the choice may take"},
    {"precision_kernels_s", kernels_s, METH_VARARGS, "(budget_s, spent_s, judged): what kernels have"},
    {"precision_read", read_precision, METH_VARARGS, "(text, label, key or None): (products, narrow)"},
    {0},
};

int hn_py_add_precision(PyObject *module) {
    if (PyModule_AddFunctions(module, functions)) return -1;
    return hn_py_options_add(module, "precision_options", options, N_OPTIONS);
}
