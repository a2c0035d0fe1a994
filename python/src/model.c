/* python/src/model.c — hone._hone.Program: a compiled library, run on arrays from any number of threads.
 *
 * Every call borrows an instance of the model, and makes one when all are in use; instances stay for the next call.
 * Owns: the library, its instances.   Threads: the list of instances is the GIL's; runs are without it.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN_B = 64 };

/* An instance, and how large its outputs were when its inputs had these sizes. */
typedef struct hn_py_slot {
    hone_model_instance *instance;
    uint64_t sizes; /* hash of the inputs' sizes in its last run; 0: none */
    size_t *out_b;
} slot;

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

static slot *slot_new(hn_py_program *p) {
    hone_model_config config = hone_model_defaults();
    config.n_threads = p->n_threads;
    const hone_model *m = p->model;
    slot *s = calloc(1, sizeof *s);
    if (s) s->out_b = calloc((size_t)m->n_outputs + 1, sizeof *s->out_b);
    if (!s || !s->out_b) {
        slot_free(m, s);
        PyErr_NoMemory();
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

/* The state is that of the one instance that there is. */
static slot *slot_take(hn_py_program *p) {
    if (p->taken) {
        hone_err err = {.rc = HONE_E_USAGE};
        snprintf(err.text, sizeof err.text, "model '%s' has state: one call at a time; fork() it for another",
                 p->model->name);
        hn_py_raise(p->state, &err);
        return NULL;
    }
    slot *s = p->n_idle ? p->idle[--p->n_idle] : slot_new(p);
    p->taken = s && p->model->n_states;
    return s;
}

static void slot_give(hn_py_program *p, slot *s) {
    p->taken = false;
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

void hn_py_inputs_drop(hn_py_inputs *x) {
    for (size_t i = 0; i < x->n; i++) hn_py_input_drop(&x->one[i]);
    free(x->one), free(x->array);
    *x = (hn_py_inputs){0};
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

static int refuse(const hn_py_program *p, const char *what) {
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
static int by_name(const hn_py_program *p, PyObject *dict, PyObject **out) {
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
static int sort_arguments(const hn_py_program *p, PyObject *args, PyObject *kw, PyObject **out) {
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
        if (!out[i] || out[i] == Py_None) {
            snprintf(what, sizeof what, "input '%.200s' is not given", p->model->input[i].name);
            return refuse(p, what);
        }
    return 0;
}

int hn_py_inputs_take(const hn_py_program *p, PyObject *args, PyObject *kw, bool there, hn_py_inputs *out) {
    size_t n = (size_t)p->model->n_inputs;
    PyObject **given = calloc(n + 1, sizeof *given);
    hn_py_inputs x = {.one = calloc(n + 1, sizeof *x.one), .array = calloc(n + 1, sizeof *x.array)};
    int bad = !given || !x.one || !x.array;
    if (bad) PyErr_NoMemory();
    if (!bad) bad = sort_arguments(p, args, kw, given);
    for (; !bad && x.n < n; x.n++) {
        const hone_model_port *port = &p->model->input[x.n];
        const hn_py_wanted want = {port->name, (hone_dtype)port->dtype, there ? (PyObject *)(uintptr_t)p : NULL,
                                   there ? p->cuda : -1};
        bad = hn_py_input_take(p->state, given[x.n], &want, &x.one[x.n]);
        if (bad) break;
        x.array[x.n] = x.one[x.n].array;
    }
    free(given);
    if (bad)
        hn_py_inputs_drop(&x);
    else
        *out = x;
    return bad ? -1 : 0;
}

/* --- runs -----------------------------------------------------------------------------------------------------------
 */

typedef struct task {
    const hn_py_program *p;
    slot *slot;
    hone_model_tensor *t; /* inputs, then outputs */
    size_t n_in, n_out;
    void **made; /* a buffer per output, from malloc */
    uint64_t sizes;
    bool guessed, wrong_guess;
    bool device; /* an input lies on the device: so will the outputs */
    hone_err err;
} task;

/* Memory on the device for outputs, of the instance's queue. */
static void *take_there(const task *k, size_t size_b) {
    const hone_model *m = k->p->model;
    return m->device->alloc(m->device->stream(k->slot->instance), (int64_t)size_b);
}

static void *new_buffer(size_t size_b) { return aligned_alloc(ALIGN_B, (size_b / ALIGN_B + 1) * ALIGN_B); }

static uint64_t hash_sizes(const hn_py_inputs *in) {
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < in->n; i++)
        for (uint32_t d = 0; d < in->array[i].rank; d++) h = (h ^ (uint64_t)in->array[i].dim[d]) * 1099511628211u;
    return h | 1;
}

static int task_new(hn_py_program *p, const hn_py_inputs *in, task *k) {
    *k = (task){.p = p, .n_in = in->n, .n_out = (size_t)p->model->n_outputs, .sizes = hash_sizes(in)};
    k->t = calloc(k->n_in + k->n_out + 1, sizeof *k->t);
    k->made = calloc(k->n_out + 1, sizeof *k->made);
    if (!k->t || !k->made) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < in->n; i++) {
        const hone_array *a = &in->array[i];
        k->t[i] = (hone_model_tensor){.data = a->data, .dtype = (int32_t)a->dtype, .rank = (int32_t)a->rank};
        memcpy(k->t[i].dim, a->dim, sizeof k->t[i].dim);
        k->t[i].space = in->one[i].space;
        k->device = k->device || in->one[i].space;
    }
    k->slot = slot_take(p);
    return k->slot ? 0 : -1;
}

static void task_free(hn_py_program *p, task *k) {
    for (size_t i = 0; k->made && i < k->n_out; i++) {
        if (!k->device)
            free(k->made[i]);
        else if (k->made[i])
            p->model->device->free(p->model->device->stream(k->slot->instance), k->made[i]);
    }
    if (k->slot) slot_give(p, k->slot);
    free(k->made), free(k->t);
}

/* Outputs whose size is known beforehand are written where they stay. */
static bool place_outputs(task *k) {
    k->guessed = k->p->fixed || (k->p->guess && k->slot->sizes == k->sizes);
    for (size_t i = 0; i < k->n_out; i++) {
        hone_model_tensor *t = &k->t[k->n_in + i];
        *t = (hone_model_tensor){.space = k->device};
        if (!k->guessed) continue;
        if (!k->made[i]) k->made[i] = k->device ? take_there(k, k->slot->out_b[i]) : new_buffer(k->slot->out_b[i]);
        if (!k->made[i]) return false;
        t->data = k->made[i];
        t->size_b = k->slot->out_b[i];
    }
    return true;
}

/* Output i out of the instance's memory on the device, through the host's. */
static bool copy_there(task *k, size_t i, size_t size_b) {
    const hone_model_device *d = k->p->model->device;
    hone_model_stream *t = d->stream(k->slot->instance);
    char *between = malloc(size_b + 1);
    if (k->made[i]) d->free(t, k->made[i]);
    k->made[i] = take_there(k, size_b);
    bool good = between && k->made[i];
    if (good && size_b)
        good = !d->get(t, between, k->t[k->n_in + i].data, (int64_t)size_b) &&
               !d->put(t, k->made[i], between, (int64_t)size_b);
    free(between);
    return good;
}

/* The others are copied out of the instance's memory. */
static bool copy_outputs(task *k) {
    for (size_t i = 0; i < k->n_out && !k->guessed; i++) {
        const hone_model_tensor *t = &k->t[k->n_in + i];
        size_t n = hone_dtype_size_b((hone_dtype)t->dtype);
        for (int32_t d = 0; d < t->rank; d++) n *= (size_t)t->dim[d];
        k->slot->out_b[i] = n;
        if (k->device && !copy_there(k, i, n)) return false;
        if (k->device) continue;
        free(k->made[i]);
        k->made[i] = new_buffer(n);
        if (!k->made[i]) return false;
        if (n) memcpy(k->made[i], t->data, n);
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
    static const hone_rc of[] = {HONE_OK,   HONE_E_NOMEM,  HONE_E_INPUT,       HONE_E_INPUT,   HONE_E_INPUT,
                                 HONE_E_IO, HONE_E_FAILED, HONE_E_UNSUPPORTED, HONE_E_MISMATCH};
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

/* Of arrays on the device: their memory, and copies, by the program's own queue. */
static void free_there(PyObject *owner, void *data) {
    hn_py_program *p = (hn_py_program *)owner;
    if (p->stream) p->model->device->free(p->stream, data);
}

static int no_device(const hn_py_program *p, const char *text) {
    hone_err err = {.rc = HONE_E_FAILED};
    snprintf(err.text, sizeof err.text, "%s", text);
    hn_py_raise(p->state, &err);
    return -1;
}

static int get_from_there(PyObject *owner, void *to, const void *from, size_t size_b) {
    hn_py_program *p = (hn_py_program *)owner;
    const hone_model_device *d = p->model->device;
    if (size_b && d->get(p->stream, to, from, (int64_t)size_b)) return no_device(p, d->error(p->stream));
    return 0;
}

static int open_stream(hn_py_program *p) {
    if (p->stream) return 0;
    hone_model_rc rc = p->model->device->open(0, &p->stream);
    return rc ? no_device(p, p->model->error(NULL)) : 0;
}

static PyObject *device_output(hn_py_program *p, const hone_array *a) {
    return hn_py_device_array_new(p->state, a, (PyObject *)p, p->cuda, free_there, get_from_there);
}

static PyObject *task_outputs(hn_py_program *p, task *k) {
    PyObject *all = PyTuple_New((Py_ssize_t)k->n_out);
    for (size_t i = 0; i < k->n_out && all; i++) {
        const hone_model_tensor *t = &k->t[k->n_in + i];
        hone_array a = {.dtype = (hone_dtype)t->dtype, .rank = (uint32_t)t->rank, .data = k->made[i]};
        memcpy(a.dim, t->dim, sizeof a.dim);
        k->made[i] = NULL;
        PyObject *one = k->device ? device_output(p, &a) : hn_py_array_new(p->state->array, &a);
        if (!one)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, (Py_ssize_t)i, one);
    }
    return all;
}

/* Input i on the device: what lies there already, else a copy. */
static PyObject *put_there(hn_py_program *p, const hn_py_input *in) {
    const hone_model_device *d = p->model->device;
    hone_array a = in->array;
    if (in->on_device) {
        Py_INCREF(in->on_device);
        return in->on_device;
    }
    if (in->space) return PyErr_Format(PyExc_TypeError, "an array that is on the device already can be given as it is");
    size_t n = hone_dtype_size_b(a.dtype);
    for (uint32_t k = 0; k < a.rank; k++) n *= (size_t)a.dim[k];
    a.data = d->alloc(p->stream, (int64_t)n);
    if (!a.data || (n && d->put(p->stream, a.data, in->array.data, (int64_t)n))) {
        no_device(p, d->error(p->stream));
        if (a.data) d->free(p->stream, a.data);
        return NULL;
    }
    return device_output(p, &a);
}

static PyObject *program_to_device(PyObject *self, PyObject *args, PyObject *kw) {
    hn_py_program *p = (hn_py_program *)self;
    hn_py_inputs in;
    hone_err err = {.rc = HONE_E_USAGE};
    snprintf(err.text, sizeof err.text, "model '%s' runs on the host", p->model->name);
    if (!p->model->device) return hn_py_raise(p->state, &err);
    if (open_stream(p) || hn_py_inputs_take(p, args, kw, true, &in)) return NULL;
    PyObject *all = PyTuple_New((Py_ssize_t)in.n);
    for (size_t i = 0; all && i < in.n; i++) {
        PyObject *one = put_there(p, &in.one[i]);
        if (!one)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, (Py_ssize_t)i, one);
    }
    hn_py_inputs_drop(&in);
    return all;
}

static PyObject *program_run(PyObject *self, PyObject *args, PyObject *kw) {
    hn_py_program *p = (hn_py_program *)self;
    hn_py_inputs in;
    task k;
    hone_rc rc = HONE_OK;
    PyObject *out = NULL;
    if (hn_py_inputs_take(p, args, kw, true, &in)) return NULL;
    int bad = task_new(p, &in, &k);
    if (!bad && k.device) bad = open_stream(p);
    if (!bad) {
        Py_BEGIN_ALLOW_THREADS rc = task_run(&k);
        Py_END_ALLOW_THREADS if (k.wrong_guess) p->guess = false;
        out = rc ? hn_py_raise(p->state, &k.err) : task_outputs(p, &k);
    }
    task_free(p, &k);
    hn_py_inputs_drop(&in);
    return out;
}

/* --- state -----------------------------------------------------------------------------------------------------------
 */

static PyObject *state_end(hn_py_program *p, slot *s, hone_model_rc rc, PyObject *out) {
    hone_err err = {.rc = rc == HONE_MODEL_STATE   ? HONE_E_MISMATCH
                          : rc == HONE_MODEL_NOMEM ? HONE_E_NOMEM
                                                   : HONE_E_INPUT};
    if (rc) {
        snprintf(err.text, sizeof err.text, "%s", p->model->error(s->instance));
        Py_CLEAR(out);
        hn_py_raise(p->state, &err);
    }
    slot_give(p, s);
    return out;
}

static slot *state_slot(hn_py_program *p) {
    hone_err err = {.rc = HONE_E_USAGE};
    if (p->model->n_states) return slot_take(p);
    snprintf(err.text, sizeof err.text, "model '%s' has no state; compile it with state=", p->model->name);
    hn_py_raise(p->state, &err);
    return NULL;
}

static PyObject *none_new(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *program_reset_state(PyObject *self, PyObject *none) {
    hn_py_program *p = (hn_py_program *)self;
    slot *s = state_slot(p);
    (void)none;
    return s ? state_end(p, s, p->model->reset(s->instance), none_new()) : NULL;
}

static PyObject *program_save_state(PyObject *self, PyObject *none) {
    hn_py_program *p = (hn_py_program *)self;
    slot *s = state_slot(p);
    size_t n = 0;
    (void)none;
    if (!s) return NULL;
    hone_model_rc rc = p->model->save(s->instance, NULL, &n);
    if (rc != HONE_MODEL_SMALL) return state_end(p, s, rc, NULL);
    PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
    return state_end(p, s, out ? p->model->save(s->instance, PyBytes_AS_STRING(out), &n) : HONE_MODEL_OK, out);
}

static PyObject *program_load_state(PyObject *self, PyObject *args) {
    hn_py_program *p = (hn_py_program *)self;
    Py_buffer from;
    if (!PyArg_ParseTuple(args, "y*", &from)) return NULL;
    slot *s = state_slot(p);
    PyObject *out = s ? state_end(p, s, p->model->load(s->instance, from.buf, (size_t)from.len), none_new()) : NULL;
    PyBuffer_Release(&from);
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
    const hone_model *m = ((hn_py_program *)self)->model;
    (void)none;
    return Py_BuildValue("{s:s,s:s,s:s,s:N,s:N,s:N,s:N,s:K,s:K,s:i,s:O}", "name", m->name, "hone_version",
                         m->hone_version, "target", m->target, "inputs", ports(m->input, m->n_inputs), "outputs",
                         ports(m->output, m->n_outputs), "states", ports(m->state, m->n_states), "kernels", kernels(m),
                         "weights_b", (unsigned long long)m->weights_b, "arena_b", (unsigned long long)m->arena_b,
                         "threads", (int)((hn_py_program *)self)->n_threads, "times_kernels",
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

/* Which of CUDA's devices it runs on, -1: none: as instance_device.h reads the variable. */
static int cuda_device(const hone_model *m) {
    const char *place = getenv("HONE_MODEL_PLACE"), *colon = place ? strrchr(place, ':') : NULL;
    if (!m->device || strncmp(m->target, "cuda", 4) != 0) return -1;
    return colon ? atoi(colon + 1) : 0;
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"path", "threads", NULL};
    const char *path;
    unsigned n_threads = 0;
    hone_artifact_options one = {.size = sizeof one, .n_threads = 1};
    hone_artifact *loaded = NULL;
    hone_err err;
    hone_rc rc;
    hn_py_state *state = hn_py_state_of(type);
    if (!PyArg_ParseTupleAndKeywords(args, kw, "s|I", names, &path, &n_threads)) return NULL;
    Py_BEGIN_ALLOW_THREADS rc = hone_artifact_load(path, &one, &loaded, &err);
    Py_END_ALLOW_THREADS if (rc) return hn_py_raise(state, &err);
    hn_py_program *p = (hn_py_program *)type->tp_alloc(type, 0);
    if (!p || !hn_py_lock_init(&p->lock)) {
        hone_artifact_free(loaded);
        Py_XDECREF(p);
        return NULL;
    }
    p->loaded = loaded;
    p->model = hone_artifact_model(loaded);
    p->state = state;
    p->n_threads = n_threads > HONE_MODEL_THREADS ? HONE_MODEL_THREADS : (int32_t)n_threads;
    p->fixed = all_fixed(p->model);
    p->guess = !p->model->n_states; /* a wrong guess would lose the state */
    p->cuda = cuda_device(p->model);
    return (PyObject *)p;
}

static void program_free(PyObject *self) {
    hn_py_program *p = (hn_py_program *)self;
    PyTypeObject *type = Py_TYPE(self);
    while (p->n_idle) slot_free(p->model, p->idle[--p->n_idle]);
    free(p->idle);
    if (p->stream) p->model->device->close(p->stream);
    hone_artifact_free(p->loaded);
    hn_py_lock_free(&p->lock);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))program_run, METH_VARARGS | METH_KEYWORDS,
     "Runs the model on arrays by position or name, or on a dict of them; gives a tuple of Array."},
    {"to_device", (PyCFunction)(void (*)(void))program_to_device, METH_VARARGS | METH_KEYWORDS,
     "The inputs, given as to run, as a tuple of DeviceArray."},
    {"facts", program_facts, METH_NOARGS, "What the library says of itself, as a dict."},
    {"reset_state", program_reset_state, METH_NOARGS, "The state as the model began with it."},
    {"save_state", program_save_state, METH_NOARGS, "The state as bytes."},
    {"load_state", program_load_state, METH_VARARGS, "(bytes): what save_state gave."},
    {"random", hn_py_program_random, METH_VARARGS, "(sizes, seed): random inputs, as a tuple of Array."},
    {"bench", hn_py_program_bench, METH_VARARGS,
     "(inputs, threads, seconds, seed, pattern, path of the peer's model, (path, symbols, state), sizes, steps)"},
    {"profile", hn_py_program_profile, METH_VARARGS, "As bench, on a build that times its kernels."},
    {"verify", hn_py_program_verify, METH_VARARGS,
     "((path, symbols, state), against, sizes, inputs, steps, rtol, atol)"},
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
    .name = "hone._hone.Program", .basicsize = sizeof(hn_py_program), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

int hn_py_add_model(PyObject *module) {
    hn_py_state *state = hn_py_module_state(module);
    state->array = hn_py_array_type(module);
    state->device_array = hn_py_device_array_type(module);
    if (!state->array || !state->device_array) return -1;
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    int bad = !type || PyModule_AddType(module, type) || PyModule_AddType(module, state->array) ||
              PyModule_AddType(module, state->device_array);
    Py_XDECREF(type);
    return bad ? -1 : 0;
}
