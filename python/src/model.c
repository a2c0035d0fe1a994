/* python/src/model.c — hone._hone.Program: a compiled library, run on arrays from any number of threads.
 *
 * Every call borrows an instance of the model, and makes one when all are in use; instances stay for the next call.
 * Owns: the library, its instances.   Threads: the list of instances is the GIL's; runs are without it.
 */
#include "array.h"
#include "long_call.h"

#include <hone/profile.h>

#include <stdlib.h>
#include <string.h>

enum { ALIGN_B = 64 };

/* An instance, and how large its outputs were when its inputs had these sizes. */
typedef struct slot {
    hone_model_instance *instance;
    uint64_t sizes; /* hash of the inputs' sizes in its last run; 0: none */
    size_t *out_b;
} slot;

typedef struct program {
    PyObject_HEAD hone_program *loaded;
    const hone_model *model;
    hn_py_state *state;
    int32_t n_threads;
    bool fixed, guess; /* outputs have one size; sizes of the last run are a good guess for the next */
    slot **idle;
    size_t n_idle, room;
    hn_py_lock lock; /* of loaded, which verification runs */
} program;

static PyObject *out_of_memory(void) { return PyErr_NoMemory(); }

/* --- instances ------------------------------------------------------------------------------------------------------
 */

static size_t port_size_b(const hone_model_port *p) {
    size_t n = hone_dtype_size_b((hone_dtype)p->dtype);
    for (int32_t d = 0; d < p->rank; d++) n *= p->dim[d] < 0 ? 0 : (size_t)p->dim[d];
    return n;
}

static void slot_free(const hone_model *m, slot *s) {
    if (!s) return;
    if (s->instance) m->free(s->instance);
    free(s->out_b);
    free(s);
}

static slot *slot_new(program *p) {
    hone_model_config config = {.n_threads = p->n_threads};
    const hone_model *m = p->model;
    slot *s = calloc(1, sizeof *s);
    if (s) s->out_b = calloc((size_t)m->n_outputs + 1, sizeof *s->out_b);
    if (!s || !s->out_b) {
        slot_free(m, s);
        out_of_memory();
        return NULL;
    }
    for (int32_t i = 0; i < m->n_outputs; i++) s->out_b[i] = port_size_b(&m->output[i]);
    hone_model_rc rc;
    hone_err err = {.rc = HONE_E_FAILED};
    Py_BEGIN_ALLOW_THREADS rc = m->create(&config, &s->instance);
    if (rc) snprintf(err.text, sizeof err.text, "%s", m->error(NULL));
    Py_END_ALLOW_THREADS if (!rc) return s;
    slot_free(m, s);
    hn_py_raise(p->state, &err);
    return NULL;
}

static slot *slot_take(program *p) { return p->n_idle ? p->idle[--p->n_idle] : slot_new(p); }

static void slot_give(program *p, slot *s) {
    if (p->n_idle == p->room) {
        size_t room = p->room ? 2 * p->room : 4;
        slot **more = realloc(p->idle, room * sizeof *more);
        if (!more) {
            slot_free(p->model, s);
            return;
        }
        p->idle = more, p->room = room;
    }
    p->idle[p->n_idle++] = s;
}

/* --- inputs ---------------------------------------------------------------------------------------------------------
 */

typedef struct inputs {
    hn_py_input *one;
    hone_array *array;
    size_t n;
} inputs;

static void inputs_drop(inputs *x) {
    for (size_t i = 0; i < x->n; i++) hn_py_input_drop(&x->one[i]);
    free(x->one), free(x->array);
    *x = (inputs){0};
}

static PyObject *names_of(const hone_model *m) {
    PyObject *list = PyList_New(0), *gap = PyUnicode_FromString(", "), *text = NULL;
    for (int32_t i = 0; list && i < m->n_inputs; i++) {
        PyObject *name = PyUnicode_FromFormat("'%s'", m->input[i].name);
        if (!name || PyList_Append(list, name)) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    if (list && gap) text = PyUnicode_Join(gap, list);
    Py_XDECREF(list);
    Py_XDECREF(gap);
    return text;
}

static int refuse(const program *p, const char *what) {
    PyObject *names = names_of(p->model);
    const char *text = names ? PyUnicode_AsUTF8(names) : NULL;
    hone_err err = {.rc = HONE_E_INPUT};
    snprintf(err.text, sizeof err.text, "%s; the inputs of model '%s' are %s", what, p->model->name, text ? text : "");
    Py_XDECREF(names);
    hn_py_raise(p->state, &err);
    return -1;
}

static int32_t find_input(const hone_model *m, const char *name) {
    int32_t i = 0;
    while (i < m->n_inputs && strcmp(m->input[i].name, name) != 0) i++;
    return i;
}

/* Sorts what a call gave into the order of the model's inputs; borrowed. */
static int by_name(const program *p, PyObject *dict, PyObject **out) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    char what[300];
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
        int32_t i = name ? find_input(p->model, name) : p->model->n_inputs;
        if (PyErr_Occurred()) return -1;
        snprintf(what, sizeof what,
                 i < p->model->n_inputs ? "input '%.200s' is given twice" : "there is no input '%.200s'",
                 name ? name : "?");
        if (i == p->model->n_inputs || out[i]) return refuse(p, what);
        out[i] = value;
    }
    return 0;
}

/* run(a, b), run(x=a), run({"x": a}) */
static int sort_arguments(const program *p, PyObject *args, PyObject *kw, PyObject **out) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    char what[300];
    bool dict = n == 1 && PyDict_Check(PyTuple_GET_ITEM(args, 0));
    if (!dict && n > p->model->n_inputs) {
        snprintf(what, sizeof what, "%zd arrays are given", n);
        return refuse(p, what);
    }
    for (Py_ssize_t i = 0; i < n && !dict; i++) out[i] = PyTuple_GET_ITEM(args, i);
    if (dict && by_name(p, PyTuple_GET_ITEM(args, 0), out)) return -1;
    if (kw && by_name(p, kw, out)) return -1;
    for (int32_t i = 0; i < p->model->n_inputs; i++)
        if (!out[i]) {
            snprintf(what, sizeof what, "input '%.200s' is not given", p->model->input[i].name);
            return refuse(p, what);
        }
    return 0;
}

static int inputs_take(const program *p, PyObject *args, PyObject *kw, inputs *out) {
    size_t n = (size_t)p->model->n_inputs;
    PyObject **given = calloc(n + 1, sizeof *given);
    inputs x = {.one = calloc(n + 1, sizeof *x.one), .array = calloc(n + 1, sizeof *x.array)};
    int bad = !given || !x.one || !x.array;
    if (bad) out_of_memory();
    if (!bad) bad = sort_arguments(p, args, kw, given);
    for (; !bad && x.n < n; x.n++) {
        const hone_model_port *port = &p->model->input[x.n];
        bad = hn_py_input_take(p->state, given[x.n], port->name, (hone_dtype)port->dtype, &x.one[x.n]);
        if (bad) break;
        x.array[x.n] = x.one[x.n].array;
    }
    free(given);
    if (bad)
        inputs_drop(&x);
    else
        *out = x;
    return bad ? -1 : 0;
}

/* --- runs -----------------------------------------------------------------------------------------------------------
 */

typedef struct task {
    const program *p;
    slot *slot;
    hone_model_tensor *t; /* inputs, then outputs */
    size_t n_in, n_out;
    void **made; /* a buffer per output, from malloc */
    uint64_t sizes;
    bool guessed, wrong_guess;
    hone_err err;
} task;

static void *new_buffer(size_t size_b) { return aligned_alloc(ALIGN_B, (size_b / ALIGN_B + 1) * ALIGN_B); }

static uint64_t hash_sizes(const inputs *in) {
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < in->n; i++)
        for (uint32_t d = 0; d < in->array[i].rank; d++) h = (h ^ (uint64_t)in->array[i].dim[d]) * 1099511628211u;
    return h | 1;
}

static int task_new(program *p, const inputs *in, task *k) {
    *k = (task){.p = p, .n_in = in->n, .n_out = (size_t)p->model->n_outputs, .sizes = hash_sizes(in)};
    k->t = calloc(k->n_in + k->n_out + 1, sizeof *k->t);
    k->made = calloc(k->n_out + 1, sizeof *k->made);
    if (!k->t || !k->made) {
        out_of_memory();
        return -1;
    }
    for (size_t i = 0; i < in->n; i++) {
        const hone_array *a = &in->array[i];
        k->t[i] = (hone_model_tensor){.data = a->data, .dtype = (int32_t)a->dtype, .rank = (int32_t)a->rank};
        memcpy(k->t[i].dim, a->dim, sizeof k->t[i].dim);
    }
    k->slot = slot_take(p);
    return k->slot ? 0 : -1;
}

static void task_free(program *p, task *k) {
    if (k->slot) slot_give(p, k->slot);
    for (size_t i = 0; k->made && i < k->n_out; i++) free(k->made[i]);
    free(k->made), free(k->t);
}

/* Outputs whose size is known beforehand are written where they stay. */
static bool place_outputs(task *k) {
    k->guessed = k->p->fixed || (k->p->guess && k->slot->sizes == k->sizes);
    for (size_t i = 0; i < k->n_out; i++) {
        hone_model_tensor *t = &k->t[k->n_in + i];
        *t = (hone_model_tensor){0};
        if (!k->guessed) continue;
        if (!k->made[i]) k->made[i] = new_buffer(k->slot->out_b[i]);
        if (!k->made[i]) return false;
        t->data = k->made[i];
        t->size_b = k->slot->out_b[i];
    }
    return true;
}

/* The others are copied out of the instance's memory. */
static bool copy_outputs(task *k) {
    for (size_t i = 0; i < k->n_out && !k->guessed; i++) {
        const hone_model_tensor *t = &k->t[k->n_in + i];
        size_t n = hone_dtype_size_b((hone_dtype)t->dtype);
        for (int32_t d = 0; d < t->rank; d++) n *= (size_t)t->dim[d];
        free(k->made[i]);
        k->made[i] = new_buffer(n);
        if (!k->made[i]) return false;
        if (n) memcpy(k->made[i], t->data, n);
        k->slot->out_b[i] = n;
    }
    return true;
}

static hone_model_rc run_model(task *k) {
    return k->p->model->run(k->slot->instance, k->t, k->n_in, k->t + k->n_in, k->n_out);
}

static hone_rc no_room(task *k) {
    snprintf(k->err.text, sizeof k->err.text, "out of memory for the outputs");
    return k->err.rc = HONE_E_NOMEM;
}

/* Without the GIL. */
static hone_rc task_run(task *k) {
    static const hone_rc of[] = {HONE_OK,      HONE_E_NOMEM, HONE_E_INPUT, HONE_E_INPUT,
                                 HONE_E_INPUT, HONE_E_IO,    HONE_E_FAILED};
    if (!place_outputs(k)) return no_room(k);
    hone_model_rc rc = run_model(k);
    if (rc == HONE_MODEL_SMALL && k->guessed && !k->p->fixed) {
        k->wrong_guess = true;
        k->slot->sizes = 0;
        place_outputs(k);
        rc = run_model(k);
    }
    if (rc) {
        snprintf(k->err.text, sizeof k->err.text, "%s", k->p->model->error(k->slot->instance));
        return k->err.rc = (unsigned)rc < sizeof of / sizeof *of ? of[rc] : HONE_E_FAILED;
    }
    if (!copy_outputs(k)) return no_room(k);
    k->slot->sizes = k->wrong_guess ? 0 : k->sizes;
    return HONE_OK;
}

static PyObject *task_outputs(const program *p, task *k) {
    PyObject *all = PyTuple_New((Py_ssize_t)k->n_out);
    for (size_t i = 0; i < k->n_out && all; i++) {
        const hone_model_tensor *t = &k->t[k->n_in + i];
        hone_array a = {.dtype = (hone_dtype)t->dtype, .rank = (uint32_t)t->rank, .data = k->made[i]};
        memcpy(a.dim, t->dim, sizeof a.dim);
        k->made[i] = NULL;
        PyObject *one = hn_py_array_new(p->state->array, &a);
        if (!one)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, (Py_ssize_t)i, one);
    }
    return all;
}

static PyObject *program_run(PyObject *self, PyObject *args, PyObject *kw) {
    program *p = (program *)self;
    inputs in;
    task k;
    hone_rc rc = HONE_OK;
    PyObject *out = NULL;
    if (inputs_take(p, args, kw, &in)) return NULL;
    if (!task_new(p, &in, &k)) {
        Py_BEGIN_ALLOW_THREADS rc = task_run(&k);
        Py_END_ALLOW_THREADS if (k.wrong_guess) p->guess = false;
        out = rc ? hn_py_raise(p->state, &k.err) : task_outputs(p, &k);
    }
    task_free(p, &k);
    inputs_drop(&in);
    return out;
}

/* --- random inputs, timing, verification ----------------------------------------------------------------------------
 */

static PyObject *arrays_tuple(const program *p, hone_array *a, size_t n) {
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        PyObject *one = all ? hn_py_array_new(p->state->array, &a[i]) : NULL;
        if (!all) free(a[i].data);
        if (all && !one) Py_CLEAR(all);
        if (all) PyTuple_SET_ITEM(all, (Py_ssize_t)i, one);
    }
    return all;
}

static PyObject *program_random(PyObject *self, PyObject *args) {
    program *p = (program *)self;
    const char *sizes;
    unsigned long long seed;
    hone_err err;
    hone_rc rc;
    if (!PyArg_ParseTuple(args, "zK", &sizes, &seed)) return NULL;
    hone_array *a = calloc((size_t)p->model->n_inputs + 1, sizeof *a);
    if (!a) return out_of_memory();
    Py_BEGIN_ALLOW_THREADS rc = hone_model_random(p->model, sizes, seed, a, &err);
    Py_END_ALLOW_THREADS PyObject *out =
        rc ? hn_py_raise(p->state, &err) : arrays_tuple(p, a, (size_t)p->model->n_inputs);
    free(a);
    return out;
}

typedef struct timing {
    const hone_model *model;
    const char *against;
    inputs in;
    hone_bench_options options;
    hone_model_bench bench;
    hone_profile profile;
    char peer[80];
} timing;

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
    hone_rc rc = HONE_OK;
    if (t->against) {
        rc = hone_peer_open(t->against, t->options.n_threads, &peer, err);
        if (!rc) rc = run_once(peer, t, err);
        if (!rc) snprintf(t->peer, sizeof t->peer, "%s", hone_peer_name(peer));
        t->options.peer = peer;
    }
    if (!rc) rc = hone_bench_model(t->model, t->in.array, &t->options, &t->bench, err);
    hone_peer_close(peer);
    return rc;
}

static hone_rc profile(void *arg, hone_err *err) {
    timing *t = arg;
    return hone_profile_model(t->model, t->in.array, &t->options, &t->profile, err);
}

/* (inputs, threads, seconds, seed, pattern, path of the peer's model) */
static int timing_arguments(program *p, PyObject *args, timing *t) {
    PyObject *arrays;
    unsigned long long seed;
    *t = (timing){.model = p->model};
    if (!PyArg_ParseTuple(args, "O!IdKzz", &PyTuple_Type, &arrays, &t->options.n_threads, &t->options.max_s, &seed,
                          &t->options.pattern, &t->against))
        return -1;
    t->options.seed = seed;
    return inputs_take(p, arrays, NULL, &t->in);
}

static PyObject *interval(hone_interval i) { return Py_BuildValue("(ddd)", i.lo, i.mid, i.hi); }

static PyObject *series(const hone_series *s) {
    return Py_BuildValue("{s:n,s:N,s:d,s:d,s:d,s:N}", "n", (Py_ssize_t)s->n, "p50_s", interval(s->p50_s), "p95_s",
                         s->p95_s, "p99_s", s->p99_s, "throughput", s->throughput, "times",
                         PyBytes_FromStringAndSize((const char *)s->time_s, (Py_ssize_t)(s->n * sizeof *s->time_s)));
}

static PyObject *program_bench(PyObject *self, PyObject *args) {
    timing t;
    PyObject *out = NULL;
    if (timing_arguments((program *)self, args, &t)) return NULL;
    hn_py_call call = {.run = bench, .arg = &t};
    t.options.stop = &call.stop;
    if (!hn_py_call_long(((program *)self)->state, &call)) {
        out = t.against ? Py_BuildValue("{s:N,s:N,s:s}", "mine", series(&t.bench.mine), "peer", series(&t.bench.peer),
                                        "name", t.peer)
                        : Py_BuildValue("{s:N}", "mine", series(&t.bench.mine));
        hone_model_bench_free(&t.bench);
    }
    inputs_drop(&t.in);
    return out;
}

static PyObject *timed_row(const hone_timed *x) {
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:L,s:N,s:d,s:d,s:d,s:d,s:d,s:d}", "kernel", x->kernel->name,
                         "kind", x->call->kind, "shape", x->call->shape, "schedule", x->kernel->schedule, "winner",
                         x->kernel->winner, "source", x->call->source, "calls", x->n_calls, "launches",
                         (long long)x->n_launches, "time_s", interval(x->time_s), "share", x->share, "flops", x->flops,
                         "bytes", x->bytes, "of_peak", x->of_peak, "of_bandwidth", x->of_bandwidth, "of_roof",
                         x->of_roof);
}

static PyObject *timed_rows(const hone_timed *x, uint32_t n) {
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

static PyObject *program_profile(PyObject *self, PyObject *args) {
    timing t;
    PyObject *out = NULL;
    if (timing_arguments((program *)self, args, &t)) return NULL;
    hn_py_call call = {.run = profile, .arg = &t};
    t.options.stop = &call.stop;
    if (!hn_py_call_long(((program *)self)->state, &call)) {
        const hone_profile *p = &t.profile;
        out = Py_BuildValue("{s:I,s:I,s:N,s:d,s:d,s:d,s:d,s:N,s:N}", "threads", p->n_threads, "runs", p->n_runs,
                            "run_s", interval(p->run_s), "kernels_s", p->kernels_s, "peak_f32_flops", p->f32_flops,
                            "peak_f64_flops", p->f64_flops, "peak_bytes_per_s", p->bandwidth_bps, "kernels",
                            timed_rows(p->kernel, p->n_kernels), "calls", timed_rows(p->call, p->n_calls));
        hone_profile_free(&t.profile);
    }
    inputs_drop(&t.in);
    return out;
}

typedef struct verification {
    hone_program *loaded;
    const char *path;
    const char **symbol; /* as the model was compiled with */
    size_t n_symbol;
    bool against; /* ONNX Runtime instead of the interpreter */
    hone_verify_options options;
    hone_array_difference *worst;
    bool same;
    char judge[80];
} verification;

static bool is_graph_text(const char *path) {
    size_t n = strlen(path);
    return n > 3 && !strcmp(path + n - 3, ".ir");
}

static hone_rc verify(void *arg, hone_err *err) {
    verification *v = arg;
    hone_import_options import = {.symbol = v->symbol, .n_symbol = v->n_symbol};
    hone_graph *g = NULL;
    hone_peer *peer = NULL;
    hone_rc rc;
    if (v->against)
        rc = hone_peer_open(v->path, 0, &peer, err);
    else
        rc = is_graph_text(v->path) ? hone_graph_read(v->path, &g, err)
                                    : hone_import_onnx(v->path, &import, &g, NULL, err);
    snprintf(v->judge, sizeof v->judge, "%s", peer ? hone_peer_name(peer) : "the interpreter");
    v->options.graph = g;
    v->options.peer = peer;
    if (!rc) rc = hone_verify_program(v->loaded, &v->options, v->worst, &v->same, err);
    hone_graph_free(g);
    hone_peer_close(peer);
    return rc;
}

static PyObject *differences(const hone_model *m, const verification *v) {
    PyObject *list = PyList_New(m->n_outputs);
    for (int32_t i = 0; i < m->n_outputs && list; i++) {
        const hone_array_difference *d = &v->worst[i];
        PyObject *row = Py_BuildValue("{s:s,s:O,s:d,s:d,s:L,s:L}", "name", m->output[i].name, "same",
                                      d->same ? Py_True : Py_False, "max_abs", d->max_abs, "max_rel", d->max_rel,
                                      "n_wrong", (long long)d->n_wrong, "at", (long long)d->at);
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, row);
    }
    return list;
}

/* (path, symbols, against, sizes, inputs, rtol, atol) */
static PyObject *program_verify(PyObject *self, PyObject *args) {
    program *p = (program *)self;
    verification v = {.loaded = p->loaded};
    PyObject *symbols, *out = NULL;
    unsigned long long n;
    int against;
    if (!PyArg_ParseTuple(args, "sO!pzKdd", &v.path, &PyTuple_Type, &symbols, &against, &v.options.sizes, &n,
                          &v.options.rtol, &v.options.atol))
        return NULL;
    v.against = against;
    v.options.n_inputs = n;
    v.n_symbol = (size_t)PyTuple_GET_SIZE(symbols);
    v.symbol = calloc(v.n_symbol + 1, sizeof *v.symbol);
    v.worst = calloc((size_t)p->model->n_outputs + 1, sizeof *v.worst);
    bool good = v.symbol && v.worst;
    if (!good) out_of_memory();
    for (size_t i = 0; i < v.n_symbol && good; i++)
        good = (v.symbol[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(symbols, (Py_ssize_t)i))) != NULL;
    hn_py_call call = {.run = verify, .arg = &v};
    v.options.stop = &call.stop;
    hn_py_lock_take(&p->lock);
    if (good && !hn_py_call_long(p->state, &call))
        out = Py_BuildValue("{s:O,s:s,s:N}", "same", v.same ? Py_True : Py_False, "against", v.judge, "outputs",
                            differences(p->model, &v));
    hn_py_lock_give(&p->lock);
    free(v.symbol), free(v.worst);
    return out;
}

/* --- what it is ------------------------------------------------------------------------------------------------------
 */

static PyObject *port(const hone_model_port *p) {
    PyObject *dims = PyList_New(p->rank);
    for (int32_t d = 0; d < p->rank && dims; d++) {
        PyObject *one = Py_BuildValue("(LLL)", (long long)p->dim[d], (long long)p->low[d], (long long)p->high[d]);
        if (!one)
            Py_CLEAR(dims);
        else
            PyList_SET_ITEM(dims, d, one);
    }
    if (!dims) return NULL;
    return Py_BuildValue("(ssNs)", p->name, hn_py_dtype_name(p->dtype), dims, p->shape);
}

static PyObject *ports(const hone_model_port *p, int32_t n) {
    PyObject *list = PyList_New(n);
    for (int32_t i = 0; i < n && list; i++) {
        PyObject *one = port(&p[i]);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, one);
    }
    return list;
}

static PyObject *kernels(const hone_model *m) {
    PyObject *list = PyList_New(m->n_kernels);
    for (int32_t i = 0; i < m->n_kernels && list; i++) {
        const hone_model_kernel *k = &m->kernel[i];
        PyObject *one = Py_BuildValue("{s:s,s:s,s:s,s:s}", "name", k->name, "source", k->source, "schedule",
                                      k->schedule, "winner", k->winner);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, one);
    }
    return list;
}

static PyObject *program_facts(PyObject *self, PyObject *none) {
    const hone_model *m = ((program *)self)->model;
    (void)none;
    return Py_BuildValue("{s:s,s:s,s:s,s:N,s:N,s:N,s:K,s:K,s:O}", "name", m->name, "hone_version", m->hone_version,
                         "target", m->target, "inputs", ports(m->input, m->n_inputs), "outputs",
                         ports(m->output, m->n_outputs), "kernels", kernels(m), "weights_b",
                         (unsigned long long)m->weights_b, "arena_b", (unsigned long long)m->arena_b, "times_kernels",
                         m->profile ? Py_True : Py_False);
}

/* --- the type --------------------------------------------------------------------------------------------------------
 */

static bool all_fixed(const hone_model *m) {
    for (int32_t i = 0; i < m->n_outputs; i++)
        for (int32_t d = 0; d < m->output[i].rank; d++)
            if (m->output[i].dim[d] < 0) return false;
    return true;
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"path", "threads", NULL};
    const char *path;
    unsigned n_threads = 0;
    hone_program *loaded = NULL;
    hone_err err;
    hone_rc rc;
    hn_py_state *state = hn_py_state_of(type);
    if (!PyArg_ParseTupleAndKeywords(args, kw, "s|I", names, &path, &n_threads)) return NULL;
    Py_BEGIN_ALLOW_THREADS rc = hone_program_load(path, 1, &loaded, &err);
    Py_END_ALLOW_THREADS if (rc) return hn_py_raise(state, &err);
    program *p = (program *)type->tp_alloc(type, 0);
    if (!p || !hn_py_lock_init(&p->lock)) {
        hone_program_free(loaded);
        Py_XDECREF(p);
        return NULL;
    }
    p->loaded = loaded;
    p->model = hone_program_model(loaded);
    p->state = state;
    p->n_threads = n_threads > 1024 ? 1024 : (int32_t)n_threads;
    p->fixed = all_fixed(p->model);
    p->guess = true;
    return (PyObject *)p;
}

static void program_free(PyObject *self) {
    program *p = (program *)self;
    PyTypeObject *type = Py_TYPE(self);
    while (p->n_idle) slot_free(p->model, p->idle[--p->n_idle]);
    free(p->idle);
    hone_program_free(p->loaded);
    hn_py_lock_free(&p->lock);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))program_run, METH_VARARGS | METH_KEYWORDS,
     "Runs the model on arrays by position or name, or on a dict of them; gives a tuple of Array."},
    {"facts", program_facts, METH_NOARGS, "What the library says of itself, as a dict."},
    {"random", program_random, METH_VARARGS, "(sizes, seed): random inputs, as a tuple of Array."},
    {"bench", program_bench, METH_VARARGS, "(inputs, threads, seconds, seed, pattern, path of the peer's model)"},
    {"profile", program_profile, METH_VARARGS, "As bench, on a build that times its kernels."},
    {"verify", program_verify, METH_VARARGS, "(path, symbols, against, sizes, inputs, rtol, atol)"},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Program(path, threads=0): a library that hone compiled; hone.Model is what people use."},
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_free},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "hone._hone.Program", .basicsize = sizeof(program), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

int hn_py_add_model(PyObject *module) {
    hn_py_state *state = hn_py_module_state(module);
    state->array = hn_py_array_type(module);
    if (!state->array) return -1;
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    int bad = !type || PyModule_AddType(module, type) || PyModule_AddType(module, state->array);
    Py_XDECREF(type);
    return bad ? -1 : 0;
}
