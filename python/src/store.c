/* python/src/store.c — hone._hone.Store: sessions and trials on disk (hone/record.h).
 *
 * Owns: the C store, until close.   Threads: any; a lock per object.
 */
#include "hone_py.h"

#include <hone/record.h>

#include <math.h>
#include <string.h>

typedef struct py_store {
    PyObject_HEAD hone_store *store;
    hn_py_lock lock;
} py_store;

static PyObject *fail(py_store *s, const hone_err *err) {
    return hn_py_raise(hn_py_state_of(Py_TYPE((PyObject *)s)), err);
}

static bool is_open(py_store *s) {
    static const hone_err err = {HONE_E_USAGE, "the store is closed"};
    if (!s->store) fail(s, &err);
    return s->store != NULL;
}

static PyObject *new_store(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"folder", "write", NULL};
    PyObject *folder;
    int write = 0;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O&|p", names, PyUnicode_FSConverter, &folder, &write)) return NULL;
    py_store *s = (py_store *)type->tp_alloc(type, 0);
    bool good = s && hn_py_lock_init(&s->lock);
    if (good && hone_store_open(PyBytes_AS_STRING(folder), write != 0, &s->store, &err)) {
        fail(s, &err);
        good = false;
    }
    Py_DECREF(folder);
    if (!good) Py_CLEAR(s);
    return (PyObject *)s;
}

static PyObject *close_store(PyObject *self, PyObject *unused) {
    (void)unused;
    py_store *s = (py_store *)self;
    hn_py_lock_take(&s->lock);
    hone_store_close(s->store);
    s->store = NULL;
    hn_py_lock_give(&s->lock);
    Py_RETURN_NONE;
}

static void dealloc(PyObject *self) {
    py_store *s = (py_store *)self;
    PyTypeObject *type = Py_TYPE(self);
    hone_store_close(s->store);
    hn_py_lock_free(&s->lock);
    type->tp_free(self);
    Py_DECREF(type);
}

/* --- sessions ------------------------------------------------------------------------------------------------------
 */

/* Reads name, objective, space_hash, space, objectives, engine, seed; fields that a Python objective does not have are
 * "". Borrowed from the arguments. */
static bool read_session(PyObject *args, hone_session *out) {
    unsigned long long seed;
    hone_session w = {
        .source_hash = "", .machine_hash = "", .machine = "", .compilers = "[]", .state = "", .reason = ""};
    if (!PyArg_ParseTuple(args, "ssssssK", &w.workload, &w.workload_hash, &w.space_hash, &w.space_text, &w.objectives,
                          &w.engine, &seed))
        return false;
    w.seed = seed;
    w.version = hone_version();
    *out = w;
    return true;
}

static PyObject *begin(PyObject *self, PyObject *args) {
    py_store *s = (py_store *)self;
    hone_session w;
    hone_err err = {HONE_OK, ""};
    if (!read_session(args, &w) || !is_open(s)) return NULL;
    hone_rc rc;
    hn_py_lock_take(&s->lock);
    Py_BEGIN_ALLOW_THREADS rc = hone_session_begin(s->store, &w, &err);
    Py_END_ALLOW_THREADS hn_py_lock_give(&s->lock);
    return rc ? fail(s, &err) : PyLong_FromLongLong(w.id);
}

static PyObject *resume(PyObject *self, PyObject *args) {
    py_store *s = (py_store *)self;
    PyObject *fields;
    long long id;
    hone_session w;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTuple(args, "LO!", &id, &PyTuple_Type, &fields)) return NULL;
    if (!read_session(fields, &w) || !is_open(s)) return NULL;
    hone_rc rc;
    hn_py_lock_take(&s->lock);
    Py_BEGIN_ALLOW_THREADS rc = hone_session_resume(s->store, id, &w, &err);
    Py_END_ALLOW_THREADS hn_py_lock_give(&s->lock);
    if (rc) return fail(s, &err);
    Py_RETURN_NONE;
}

static PyObject *end(PyObject *self, PyObject *args) {
    py_store *s = (py_store *)self;
    long long id;
    const char *state, *reason;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTuple(args, "Lss", &id, &state, &reason) || !is_open(s)) return NULL;
    hone_rc rc;
    hn_py_lock_take(&s->lock);
    Py_BEGIN_ALLOW_THREADS rc = hone_session_end(s->store, id, state, reason, &err);
    Py_END_ALLOW_THREADS hn_py_lock_give(&s->lock);
    if (rc) return fail(s, &err);
    Py_RETURN_NONE;
}

static PyObject *session_dict(const hone_session *w) {
    return Py_BuildValue("{s:L,s:s,s:s,s:s,s:s,s:s,s:s,s:K,s:s,s:s,s:d,s:d,s:L,s:L,s:s}", "id", (long long)w->id,
                         "name", w->workload, "objective", w->workload_hash, "space_hash", w->space_hash, "space",
                         w->space_text, "objectives", w->objectives, "engine", w->engine, "seed",
                         (unsigned long long)w->seed, "state", w->state, "reason", w->reason, "started_s", w->started_s,
                         "ended_s", w->ended_s, "n_trials", (long long)w->n_trials, "n_asked", (long long)w->n_asked,
                         "version", w->version);
}

static PyObject *get(PyObject *self, PyObject *args) {
    py_store *s = (py_store *)self;
    long long id;
    const char *name = NULL;
    hone_session w;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTuple(args, "L|z", &id, &name) || !is_open(s)) return NULL;
    hone_rc rc;
    hn_py_lock_take(&s->lock);
    Py_BEGIN_ALLOW_THREADS rc = hone_session_get(s->store, id, name, &w, &err);
    Py_END_ALLOW_THREADS hn_py_lock_give(&s->lock);
    if (rc) return fail(s, &err);
    PyObject *dict = session_dict(&w);
    hone_session_free(&w);
    return dict;
}

static PyObject *sessions(PyObject *self, PyObject *unused) {
    (void)unused;
    py_store *s = (py_store *)self;
    hone_session *list;
    size_t n;
    hone_err err = {HONE_OK, ""};
    if (!is_open(s)) return NULL;
    hone_rc rc;
    hn_py_lock_take(&s->lock);
    Py_BEGIN_ALLOW_THREADS rc = hone_session_list(s->store, &list, &n, &err);
    Py_END_ALLOW_THREADS hn_py_lock_give(&s->lock);
    if (rc) return fail(s, &err);
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < n; i++) {
        PyObject *dict = session_dict(&list[i]);
        if (!dict || PyList_Append(out, dict)) Py_CLEAR(out);
        Py_XDECREF(dict);
    }
    hone_session_list_free(list, n);
    return out;
}

/* --- trials --------------------------------------------------------------------------------------------------------
 */

static int read_numbers(PyObject *tuple, double *out, size_t most, size_t *n) {
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    if (*n > most) *n = most;
    for (size_t k = 0; k < *n; k++) {
        out[k] = PyFloat_AsDouble(PyTuple_GET_ITEM(tuple, (Py_ssize_t)k));
        if (out[k] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

/* What was measured besides the objectives, as (metric, value) pairs. Free with PyMem_Free. */
static hone_sample *read_samples(PyObject *tuple, size_t *n) {
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    hone_sample *list = PyMem_Calloc(*n + 1, sizeof *list);
    if (!list) return PyErr_NoMemory(), NULL;
    for (size_t k = 0; k < *n; k++) {
        list[k].input = "";
        if (PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, (Py_ssize_t)k), "sd", &list[k].metric, &list[k].value)) continue;
        PyMem_Free(list);
        return NULL;
    }
    return list;
}

static PyObject *write_trial(py_store *s, long long session, hone_trial *t) {
    hone_err err = {HONE_OK, ""};
    hone_rc rc;
    bool written = false;
    hn_py_lock_take(&s->lock);
    Py_BEGIN_ALLOW_THREADS rc = hone_trial_add(s->store, session, t, &written, &err);
    Py_END_ALLOW_THREADS hn_py_lock_give(&s->lock);
    return rc ? fail(s, &err) : PyLong_FromLongLong(t->id);
}

static PyObject *add(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = {"session", "phase",  "point", "hash", "cls",     "values",  "violations",
                            "origin",  "detail", "run_s", "at_s", "n_asked", "samples", NULL};
    py_store *s = (py_store *)self;
    hone_trial t = {.object_hash = "", .detail = ""};
    PyObject *values, *violations, *samples;
    unsigned long long hash;
    long long session, n_asked;
    const char *cls;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "LssKsO!O!ssddLO!", names, &session, &t.phase, &t.point, &hash, &cls,
                                     &PyTuple_Type, &values, &PyTuple_Type, &violations, &t.origin, &t.detail, &t.run_s,
                                     &t.at_s, &n_asked, &PyTuple_Type, &samples))
        return NULL;
    if (!is_open(s)) return NULL;
    t.point_hash = hash;
    t.n_asked = n_asked;
    if (!hone_outcome_class_parse(cls, &t.outcome.cls)) return PyErr_Format(PyExc_ValueError, "'%s' is no class", cls);
    if (read_numbers(values, t.outcome.value, HONE_MAX_OBJECTIVES, &t.n_objectives)) return NULL;
    if (read_numbers(violations, t.outcome.violation, HONE_MAX_CONSTRAINTS, &t.n_constraints)) return NULL;
    hone_sample *list = read_samples(samples, &t.n_samples);
    if (!list) return NULL;
    t.sample = list;
    PyObject *id = write_trial(s, session, &t);
    PyMem_Free(list);
    return id;
}

static PyObject *tuple_of(const double *x, size_t n) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t k = 0; tuple && k < n; k++) {
        PyObject *value = PyFloat_FromDouble(x[k]);
        if (!value) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, (Py_ssize_t)k, value);
    }
    return tuple;
}

static PyObject *samples_of(const hone_trial *t) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)t->n_samples);
    for (size_t k = 0; tuple && k < t->n_samples; k++) {
        PyObject *pair = Py_BuildValue("(sd)", t->sample[k].metric, t->sample[k].value);
        if (!pair) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, (Py_ssize_t)k, pair);
    }
    return tuple;
}

static PyObject *trial_dict(const hone_trial *t) {
    return Py_BuildValue(
        "{s:L,s:s,s:s,s:s,s:N,s:N,s:s,s:s,s:d,s:d,s:L,s:N}", "id", (long long)t->id, "phase", t->phase, "point",
        t->point, "cls", hone_outcome_class_name(t->outcome.cls), "values", tuple_of(t->outcome.value, t->n_objectives),
        "violations", tuple_of(t->outcome.violation, t->n_constraints), "origin", t->origin, "detail", t->detail,
        "run_s", t->run_s, "at_s", t->at_s, "n_asked", (long long)t->n_asked, "samples", samples_of(t));
}

static PyObject *trials(PyObject *self, PyObject *args) {
    py_store *s = (py_store *)self;
    long long session;
    hone_trials list;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTuple(args, "L", &session) || !is_open(s)) return NULL;
    hone_rc rc;
    hn_py_lock_take(&s->lock);
    Py_BEGIN_ALLOW_THREADS rc = hone_trials_load(s->store, session, true, &list, &err);
    Py_END_ALLOW_THREADS hn_py_lock_give(&s->lock);
    if (rc) return fail(s, &err);
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < list.n; i++) {
        PyObject *dict = trial_dict(&list.trial[i]);
        if (!dict || PyList_Append(out, dict)) Py_CLEAR(out);
        Py_XDECREF(dict);
    }
    hone_trials_free(&list);
    return out;
}

static PyMethodDef methods[] = {
    {"close", close_store, METH_NOARGS, "close(): lets go of the file and of a session's lock."},
    {"begin", begin, METH_VARARGS,
     "begin(name, objective, space_hash, space, objectives, engine, seed): a new session's id."},
    {"resume", resume, METH_VARARGS, "resume(id, fields): takes a session up again; fields as begin takes them."},
    {"end", end, METH_VARARGS, "end(id, state, reason)"},
    {"get", get, METH_VARARGS, "get(id, name=None): a session as a dict; id 0: the newest."},
    {"sessions", sessions, METH_NOARGS, "sessions(): all of them."},
    {"add", (PyCFunction)(void (*)(void))add, METH_VARARGS | METH_KEYWORDS,
     "add(…): one finished trial; on disk when it returns."},
    {"trials", trials, METH_VARARGS, "trials(session): a dict per trial, in order."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Store(folder, write=False): sessions and trials in FOLDER/hone.db."},
    {Py_tp_new, new_store},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "hone._hone.Store", .basicsize = sizeof(py_store), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

int hn_py_add_store(PyObject *module) {
    hn_py_state *state = hn_py_module_state(module);
    state->store = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->store ? PyModule_AddType(module, state->store) : -1;
}
