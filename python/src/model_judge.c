/* python/src/model_judge.c — a program on random inputs or given ones: its speed, its profile, its correctness. */
#include "long_call.h"
#include "model.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* --- random inputs, timing, verification ----------------------------------------------------------------------------
 */

static PyObject *arrays_tuple(const hn_py_program *p, hone_array *a, size_t n) {
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        PyObject *one = all ? hn_py_array_new(p->state->array, &a[i]) : NULL;
        if (!all) free(a[i].data);
        if (all && !one) Py_CLEAR(all);
        if (all) PyTuple_SET_ITEM(all, (Py_ssize_t)i, one);
    }
    return all;
}

PyObject *hn_py_program_random(PyObject *self, PyObject *args) {
    hn_py_program *p = (hn_py_program *)self;
    const char *sizes;
    unsigned long long seed;
    hone_err err;
    hone_rc rc;
    if (!PyArg_ParseTuple(args, "zK", &sizes, &seed)) return NULL;
    hone_array *a = calloc((size_t)p->model->n_inputs + 1, sizeof *a);
    if (!a) return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS rc = hone_inputs_random(p->model, sizes, seed, a, &err);
    Py_END_ALLOW_THREADS PyObject *out =
        rc ? hn_py_raise(p->state, &err) : arrays_tuple(p, a, (size_t)p->model->n_inputs);
    free(a);
    return out;
}

/* Of a model with state: the graph whose steps draw the inputs. */
typedef struct stepping {
    const char *path; /* NULL: inputs are given */
    const char **symbol, **state;
    size_t n_symbol, n_state;
    hone_graph *graph;
} stepping;

typedef struct timing {
    const hone_model *model;
    const char *against;
    stepping steps;
    hn_py_inputs in;
    hone_latency_options options;
    hone_latency bench;
    hone_profile profile;
    char peer[80];
} timing;

static hone_rc open_graph(stepping *s, hone_err *err) {
    hone_import_options import = {.size = sizeof(hone_import_options), .symbol = s->symbol, .n_symbol = s->n_symbol};
    return s->path ? hone_import_model(s->path, &import, &s->graph, NULL, err) : HONE_OK;
}

static hone_rc open_steps(timing *t, hone_err *err) {
    hone_rc rc = open_graph(&t->steps, err);
    t->options.graph = t->steps.graph, t->options.state = t->steps.state, t->options.n_state = t->steps.n_state;
    return rc;
}

/* A tuple of texts, borrowed; NULL and an exception: out of memory, or no texts. */
static const char **texts_of(PyObject *tuple, size_t *n) {
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    const char **list = calloc(*n + 1, sizeof *list);
    bool good = list != NULL;
    if (!good) PyErr_NoMemory();
    for (size_t i = 0; i < *n && good; i++)
        good = (list[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i))) != NULL;
    if (good) return list;
    free(list);
    return NULL;
}

/* (path, symbols, state) */
static int steps_take(PyObject *tuple, stepping *s) {
    PyObject *symbols, *state;
    if (!PyArg_ParseTuple(tuple, "zO!O!", &s->path, &PyTuple_Type, &symbols, &PyTuple_Type, &state)) return -1;
    s->symbol = texts_of(symbols, &s->n_symbol);
    s->state = s->symbol ? texts_of(state, &s->n_state) : NULL;
    return s->state ? 0 : -1;
}

static void steps_drop(stepping *s) {
    hone_graph_free(s->graph);
    free(s->symbol), free(s->state);
}

static hone_rc run_once(hone_peer *peer, const timing *t, hone_err *err) {
    size_t n = (size_t)t->model->n_outputs;
    hone_array *out = calloc(n + 1, sizeof *out);
    if (!out) {
        snprintf(err->text, sizeof err->text, "out of memory");
        return HONE_E_NOMEM;
    }
    hone_rc rc = hone_peer_run(peer, t->in.array, t->in.n, out, n, err);
    for (size_t i = 0; i < n; i++) free(out[i].data);
    free(out);
    return rc;
}

static hone_rc bench(void *arg, hone_err *err) {
    timing *t = arg;
    hone_peer *peer = NULL;
    hone_rc rc = open_steps(t, err);
    if (!rc && t->against) {
        rc = hone_peer_open(t->against,
                            &(hone_peer_options){.size = sizeof(hone_peer_options), .n_threads = t->options.n_threads},
                            &peer, err);
        if (!rc && !t->steps.path) rc = run_once(peer, t, err);
        if (!rc) snprintf(t->peer, sizeof t->peer, "%s", hone_peer_name(peer));
        t->options.peer = peer;
    }
    if (!rc) rc = hone_latency_measure(t->model, t->in.array, &t->options, &t->bench, err);
    hone_peer_close(peer);
    return rc;
}

static hone_rc profile(void *arg, hone_err *err) {
    timing *t = arg;
    hone_rc rc = open_steps(t, err);
    return rc ? rc : hone_profile_model(t->model, t->in.array, &t->options, &t->profile, err);
}

/* (inputs, threads, seconds, seed, pattern, path of the peer's model, (path, symbols, state), sizes, steps) */
static int timing_arguments(hn_py_program *p, PyObject *args, timing *t) {
    PyObject *arrays, *steps;
    unsigned long long seed, n_steps;
    *t = (timing){.model = p->model, .options = hone_latency_defaults()};
    if (!PyArg_ParseTuple(args, "O!IdKzzO!zK", &PyTuple_Type, &arrays, &t->options.n_threads, &t->options.budget_s,
                          &seed, &t->options.pattern, &t->against, &PyTuple_Type, &steps, &t->options.sizes, &n_steps))
        return -1;
    t->options.seed = seed, t->options.n_steps = n_steps;
    if (!steps_take(steps, &t->steps) && (t->steps.path || !hn_py_inputs_take(p, arrays, NULL, false, &t->in)))
        return 0;
    steps_drop(&t->steps);
    return -1;
}

static void timing_drop(timing *t) {
    if (!t->steps.path) hn_py_inputs_drop(&t->in);
    steps_drop(&t->steps);
}

static PyObject *interval(hone_interval i) { return Py_BuildValue("(ddd)", i.lo, i.mid, i.hi); }

static PyObject *series(const hone_latency_series *s) {
    return Py_BuildValue("{s:n,s:N,s:d,s:d,s:d,s:N}", "n", (Py_ssize_t)s->n, "p50_s", interval(s->p50_s), "p95_s",
                         s->p95_s, "p99_s", s->p99_s, "throughput", s->throughput, "times",
                         PyBytes_FromStringAndSize((const char *)s->time_s, (Py_ssize_t)(s->n * sizeof *s->time_s)));
}

PyObject *hn_py_program_bench(PyObject *self, PyObject *args) {
    timing t;
    PyObject *out = NULL;
    if (timing_arguments((hn_py_program *)self, args, &t)) return NULL;
    hn_py_call call = {.run = bench, .arg = &t};
    t.options.stop = &call.stop;
    if (!hn_py_call_long(((hn_py_program *)self)->state, &call)) {
        out = t.against ? Py_BuildValue("{s:N,s:N,s:s}", "mine", series(&t.bench.mine), "peer", series(&t.bench.peer),
                                        "name", t.peer)
                        : Py_BuildValue("{s:N}", "mine", series(&t.bench.mine));
        hone_latency_free(&t.bench);
    }
    timing_drop(&t);
    return out;
}

static PyObject *timed_row(const hone_profile_row *x) {
    PyObject *dict = PyDict_New();
#define HN_TIMED_FIELD(kind, key, field, unit, doc) HN_PY_PUT(dict, kind, key, x->field);
#include "fields.def"
#undef HN_TIMED_FIELD
    return dict;
}
static const hn_py_field fields[] = {
#define HN_TIMED_FIELD(kind, key, field, unit, doc) {#key, unit, doc},
#include "fields.def"
#undef HN_TIMED_FIELD
};
int hn_py_add_judge(PyObject *module) {
    return hn_py_fields_add(module, "profile_fields", fields, sizeof fields / sizeof *fields);
}

static PyObject *timed_rows(const hone_profile_row *x, uint32_t n) {
    PyObject *list = PyList_New(n);
    for (uint32_t i = 0; i < n && list; i++) {
        PyObject *row = timed_row(&x[i]);
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, row);
    }
    return list;
}

PyObject *hn_py_program_profile(PyObject *self, PyObject *args) {
    timing t;
    PyObject *out = NULL;
    if (timing_arguments((hn_py_program *)self, args, &t)) return NULL;
    hn_py_call call = {.run = profile, .arg = &t};
    t.options.stop = &call.stop;
    if (!hn_py_call_long(((hn_py_program *)self)->state, &call)) {
        const hone_profile *p = &t.profile;
        out = Py_BuildValue("{s:I,s:I,s:N,s:d,s:d,s:d,s:d,s:d,s:N,s:N}", "threads", p->n_threads, "runs", p->n_runs,
                            "run_s", interval(p->run_s), "kernels_s", p->kernels_s, "peak_f32_flops", p->f32_flops,
                            "peak_f64_flops", p->f64_flops, "peak_i8_ops", p->i8_ops, "peak_bytes_per_s",
                            p->bandwidth_bps, "kernels", timed_rows(p->kernel, p->n_kernels), "calls",
                            timed_rows(p->call, p->n_calls));
        hone_profile_free(&t.profile);
    }
    timing_drop(&t);
    return out;
}

typedef struct verification {
    hone_artifact *loaded;
    stepping steps; /* as the model was compiled */
    bool against;   /* ONNX Runtime instead of the interpreter */
    hone_verify_options options;
    hone_verify_output *output;
    bool same;
    char judge[80];
} verification;

static hone_rc verify(void *arg, hone_err *err) {
    verification *v = arg;
    hone_peer *peer = NULL;
    hone_rc rc = open_graph(&v->steps, err);
    if (!rc && v->against) rc = hone_peer_open(v->steps.path, NULL, &peer, err);
    snprintf(v->judge, sizeof v->judge, "%s", peer ? hone_peer_name(peer) : "the interpreter");
    v->options.graph = v->steps.graph, v->options.state = v->steps.state, v->options.n_state = v->steps.n_state;
    v->options.peer = peer;
    if (!rc) rc = hone_verify_run(v->loaded, &v->options, v->output, &v->same, err);
    hone_peer_close(peer);
    return rc;
}

static PyObject *differences(const hone_model *m, const verification *v) {
    PyObject *list = PyList_New(m->n_outputs);
    for (int32_t i = 0; i < m->n_outputs && list; i++) {
        const hone_verify_output *o = &v->output[i];
        const hone_array_difference *d = &o->worst;
        PyObject *row = Py_BuildValue(
            "{s:s,s:O,s:d,s:d,s:L,s:L,s:K,s:K,s:z,s:d,s:d,s:d}", "name", m->output[i].name, "same",
            d->same ? Py_True : Py_False, "max_abs", d->max_abs, "max_rel", d->max_rel, "n_wrong",
            (long long)d->n_wrong, "at", (long long)d->at, "n_elements", (unsigned long long)o->n_elements, "n_nan",
            (unsigned long long)o->n_nan, "through", o->tolerance > 0 ? hone_dtype_name(o->through) : NULL, "tolerance",
            o->tolerance, "of_largest", o->of_largest, "of_rms", o->of_rms);
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, row);
    }
    return list;
}

/* ((path, symbols, state), against, sizes, inputs, steps, rtol, atol); negative tolerances: none are given */
PyObject *hn_py_program_verify(PyObject *self, PyObject *args) {
    hn_py_program *p = (hn_py_program *)self;
    verification v = {.loaded = p->loaded, .options = hone_verify_defaults()};
    PyObject *steps, *out = NULL;
    unsigned long long n, n_steps;
    int against;
    if (!PyArg_ParseTuple(args, "O!pzKKdd", &PyTuple_Type, &steps, &against, &v.options.sizes, &n, &n_steps,
                          &v.options.rtol, &v.options.atol))
        return NULL;
    v.against = against;
    v.options.n_inputs = n, v.options.n_steps = n_steps;
    v.output = calloc((size_t)p->model->n_outputs + 1, sizeof *v.output);
    bool good = v.output && !steps_take(steps, &v.steps);
    if (!v.output) PyErr_NoMemory();
    hn_py_call call = {.run = verify, .arg = &v};
    v.options.stop = &call.stop;
    hn_py_lock_take(&p->lock);
    if (good && !hn_py_call_long(p->state, &call))
        out = Py_BuildValue("{s:O,s:s,s:N}", "same", v.same ? Py_True : Py_False, "against", v.judge, "outputs",
                            differences(p->model, &v));
    hn_py_lock_give(&p->lock);
    steps_drop(&v.steps);
    free(v.output);
    return out;
}
