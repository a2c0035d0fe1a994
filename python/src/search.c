/* python/src/search.c — hone._hone.Search (one engine behind ask and tell), fronts, statistics, listings.
 *
 * Owns: the C search; a reference to its Space, which the C search borrows.   Threads: any; a lock per object.
 */
#include "space.h"

#include <hone/search.h>
#include <hone/stat.h>

#include <math.h>
#include <string.h>

typedef struct py_search {
    PyObject_HEAD hone_search *search;
    hn_py_space *space;
    hn_py_lock lock;
    size_t n_objectives, n_constraints;
} py_search;

static PyObject *fail(py_search *s, const hone_err *err) {
    return hn_py_raise(hn_py_state_of(Py_TYPE((PyObject *)s)), err);
}

/* --- opening -------------------------------------------------------------------------------------------------------
 */

static int read_directions(PyObject *tuple, hone_search_options *c) {
    c->n_objectives = (size_t)PyTuple_GET_SIZE(tuple);
    if (c->n_objectives > HONE_MAX_OBJECTIVES) return 0; /* hone_search_open reports this error */
    for (size_t k = 0; k < c->n_objectives; k++) {
        int truth = PyObject_IsTrue(PyTuple_GET_ITEM(tuple, (Py_ssize_t)k));
        if (truth < 0) return -1;
        c->maximize[k] = truth != 0;
    }
    return 0;
}

static double *read_seeds(const hn_py_space *space, PyObject *tuple, size_t *n) {
    size_t slots = hone_space_slots(space->space);
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    double *seeds = PyMem_Malloc((*n * slots + 1) * sizeof *seeds);
    if (!seeds) return PyErr_NoMemory(), NULL;
    for (size_t i = 0; i < *n; i++) {
        const double *x = hn_py_point(space, PyTuple_GET_ITEM(tuple, (Py_ssize_t)i));
        if (!x) {
            PyMem_Free(seeds);
            return NULL;
        }
        memcpy(seeds + i * slots, x, slots * sizeof *x);
    }
    return seeds;
}

static const char **read_options(PyObject *tuple) {
    size_t n = (size_t)PyTuple_GET_SIZE(tuple);
    const char **text = PyMem_Calloc(n + 1, sizeof *text);
    if (!text) return PyErr_NoMemory(), NULL;
    for (size_t k = 0; k < n; k++) {
        text[k] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, (Py_ssize_t)k));
        if (!text[k]) {
            PyMem_Free(text);
            return NULL;
        }
    }
    return text;
}

static int open_search(py_search *s, hone_search_options *c, PyObject *seeds, PyObject *options) {
    hone_err err = {HONE_OK, ""};
    double *points = read_seeds(s->space, seeds, &c->n_seeds);
    const char **texts = points ? read_options(options) : NULL;
    int bad = -1;
    if (texts) {
        c->seeds = points;
        c->options = texts;
        hone_rc rc;
        Py_BEGIN_ALLOW_THREADS rc = hone_search_open(s->space->space, c, &s->search, &err);
        Py_END_ALLOW_THREADS if (rc) fail(s, &err);
        bad = rc ? -1 : 0;
    }
    PyMem_Free(points);
    PyMem_Free((void *)texts);
    return bad;
}

static PyObject *new_search(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"space",  "maximize", "engine",  "seed",       "constraints", "budget",
                            "memory", "seeds",    "options", "no_default", NULL};
    hone_search_options c = hone_search_defaults();
    PyObject *space, *maximize, *seeds = NULL, *options = NULL;
    unsigned long long seed = 0;
    Py_ssize_t constraints = 0, budget = 0, memory = 0;
    int no_default = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "OO!|zKnnnO!O!p", names, &space, &PyTuple_Type, &maximize, &c.engine,
                                     &seed, &constraints, &budget, &memory, &PyTuple_Type, &seeds, &PyTuple_Type,
                                     &options, &no_default))
        return NULL;
    hn_py_space *sealed = hn_py_sealed(hn_py_state_of(type), space);
    if (!sealed || read_directions(maximize, &c)) return NULL;
    py_search *s = (py_search *)type->tp_alloc(type, 0);
    if (!s) return NULL;
    Py_INCREF(space);
    s->space = sealed;
    c.seed = seed;
    s->n_objectives = c.n_objectives ? c.n_objectives : 1;
    s->n_constraints = c.n_constraints = (size_t)constraints;
    c.budget = (size_t)budget;
    c.memory_b = (size_t)memory;
    c.no_default = no_default != 0;
    PyObject *none = PyTuple_New(0);
    int bad = !none || !hn_py_lock_init(&s->lock) || open_search(s, &c, seeds ? seeds : none, options ? options : none);
    Py_XDECREF(none);
    if (bad) Py_CLEAR(s);
    return (PyObject *)s;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((py_search *)self)->space);
    return 0;
}

static void dealloc(PyObject *self) {
    py_search *s = (py_search *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    hone_search_close(s->search);
    hn_py_lock_free(&s->lock);
    Py_XDECREF((PyObject *)s->space);
    type->tp_free(self);
    Py_DECREF(type);
}

/* --- asking and telling --------------------------------------------------------------------------------------------
 */

static PyObject *ask(PyObject *self, PyObject *unused) {
    (void)unused;
    py_search *s = (py_search *)self;
    double *x;
    hone_err err = {HONE_OK, ""};
    hone_rc rc;
    PyObject *point = hn_py_new_point(s->space, &x);
    if (!point) return NULL;
    hn_py_lock_take(&s->lock);
    Py_BEGIN_ALLOW_THREADS rc = hone_search_ask(s->search, x, &err);
    Py_END_ALLOW_THREADS hn_py_lock_give(&s->lock);
    if (!rc) return point;
    Py_DECREF(point);
    return fail(s, &err);
}

/* Numbers of a tuple; missing ones are NAN. */
static int read_numbers(PyObject *tuple, double *out, size_t n) {
    for (size_t k = 0; k < n; k++) {
        out[k] = k < (size_t)PyTuple_GET_SIZE(tuple) ? PyFloat_AsDouble(PyTuple_GET_ITEM(tuple, (Py_ssize_t)k))
                                                     : (double)NAN;
        if (out[k] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

static PyObject *tell(PyObject *self, PyObject *args) {
    py_search *s = (py_search *)self;
    PyObject *point, *values, *violations = NULL;
    const char *name;
    hone_outcome seen = {0};
    hone_err err = {HONE_E_USAGE, ""};
    if (!PyArg_ParseTuple(args, "OsO!|O!", &point, &name, &PyTuple_Type, &values, &PyTuple_Type, &violations))
        return NULL;
    const double *x = hn_py_point(s->space, point);
    if (!x || read_numbers(values, seen.value, s->n_objectives)) return NULL;
    if (violations && read_numbers(violations, seen.violation, s->n_constraints)) return NULL;
    if (!hone_outcome_class_parse(name, &seen.cls)) {
        snprintf(err.text, sizeof err.text, "'%.60s' is no class of outcomes", name);
        return fail(s, &err);
    }
    hone_rc rc;
    hn_py_lock_take(&s->lock);
    Py_BEGIN_ALLOW_THREADS rc = hone_search_tell(s->search, x, &seen, &err);
    Py_END_ALLOW_THREADS hn_py_lock_give(&s->lock);
    if (rc) return fail(s, &err);
    Py_RETURN_NONE;
}

static PyObject *forget(PyObject *self, PyObject *point) {
    py_search *s = (py_search *)self;
    const double *x = hn_py_point(s->space, point);
    if (!x) return NULL;
    hn_py_lock_take(&s->lock);
    hone_search_forget(s->search, x);
    hn_py_lock_give(&s->lock);
    Py_RETURN_NONE;
}

static PyObject *skip(PyObject *self, PyObject *args) {
    py_search *s = (py_search *)self;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "n", &n)) return NULL;
    hn_py_lock_take(&s->lock);
    hone_search_skip(s->search, n > 0 ? (size_t)n : 0);
    hn_py_lock_give(&s->lock);
    Py_RETURN_NONE;
}

static PyObject *best(PyObject *self, PyObject *unused) {
    (void)unused;
    py_search *s = (py_search *)self;
    double *x;
    hone_outcome seen;
    PyObject *point = hn_py_new_point(s->space, &x);
    if (!point) return NULL;
    hn_py_lock_take(&s->lock);
    bool found = hone_search_best(s->search, x, &seen);
    hn_py_lock_give(&s->lock);
    if (found) return point;
    Py_DECREF(point);
    Py_RETURN_NONE;
}

static PyObject *get_origin(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_InternFromString(hone_search_origin(((py_search *)self)->search));
}

static PyObject *get_n_told(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(hone_search_n_told(((py_search *)self)->search));
}

static PyObject *get_n_pending(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(hone_search_n_pending(((py_search *)self)->search));
}

static PyMethodDef methods[] = {
    {"ask", ask, METH_NOARGS, "ask(): the next point, legal and new. ExhaustedError when none is left."},
    {"tell", tell, METH_VARARGS, "tell(point, class, values, violations=()): what was seen there."},
    {"forget", forget, METH_O, "forget(point): gives up a pending point; it may be proposed again."},
    {"skip", skip, METH_VARARGS, "skip(n): sets the number of asks made so far, to resume."},
    {"best", best, METH_NOARGS, "best(): the best feasible point by the first objective; None when there is none."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"origin", get_origin, NULL, "who made the last proposal", NULL},
    {"n_told", get_n_told, NULL, "distinct points told", NULL},
    {"n_pending", get_n_pending, NULL, "points asked and not yet told", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Search(space, maximize, engine=None, seed=0, constraints=0, budget=0, memory=0, seeds=(), options=(), "
                "no_default=False): an engine behind ask and tell."},
    {Py_tp_new, new_search},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "hone._hone.Search",
    .basicsize = sizeof(py_search),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

/* --- functions -----------------------------------------------------------------------------------------------------
 */

/* The doubles of a buffer of them (array.array('d'), NumPy float64): how many, or -1 with an exception. */
static Py_ssize_t numbers_of(PyObject *o, Py_buffer *view) {
    if (PyObject_GetBuffer(o, view, PyBUF_CONTIG_RO | PyBUF_FORMAT)) return -1;
    if (view->itemsize == (Py_ssize_t)sizeof(double) && view->format && !strcmp(view->format, "d"))
        return view->len / (Py_ssize_t)sizeof(double);
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_TypeError, "expected a buffer of doubles: array('d') or a NumPy array of float64");
    return -1;
}

static PyObject *rank_list(hn_py_state *state, const double *x, size_t n, size_t m) {
    hone_err err = {HONE_OK, ""};
    uint32_t *rank = PyMem_Malloc((n + 1) * sizeof *rank);
    if (!rank) return PyErr_NoMemory();
    hone_rc rc;
    Py_BEGIN_ALLOW_THREADS rc = hone_pareto_rank(x, n, m, rank, &err);
    Py_END_ALLOW_THREADS PyObject *list = rc ? hn_py_raise(state, &err) : PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *value = PyLong_FromUnsignedLong(rank[i]);
        if (!value) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, value);
    }
    PyMem_Free(rank);
    return list;
}

static PyObject *pareto_rank(PyObject *module, PyObject *args) {
    PyObject *values;
    Py_ssize_t m;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "On", &values, &m)) return NULL;
    Py_ssize_t n = numbers_of(values, &view);
    if (n < 0) return NULL;
    PyObject *list = NULL;
    if (m < 1 || n % m)
        PyErr_SetString(PyExc_ValueError, "the buffer holds no whole number of rows");
    else
        list = rank_list(hn_py_module_state(module), view.buf, (size_t)(n / m), (size_t)m);
    PyBuffer_Release(&view);
    return list;
}

static PyObject *hypervolume(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *values, *reference;
    Py_buffer view, ref;
    if (!PyArg_ParseTuple(args, "OO", &values, &reference)) return NULL;
    Py_ssize_t n = numbers_of(values, &view);
    if (n < 0) return NULL;
    Py_ssize_t m = numbers_of(reference, &ref);
    if (m < 0) {
        PyBuffer_Release(&view);
        return NULL;
    }
    double volume = 0;
    if (m < 1 || n % m)
        PyErr_SetString(PyExc_ValueError, "the buffer holds no whole number of rows");
    else
        volume = hone_pareto_hypervolume(view.buf, (size_t)(n / m), (size_t)m, ref.buf);
    PyBuffer_Release(&view);
    PyBuffer_Release(&ref);
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(volume);
}

static PyObject *statistic(PyObject *args, double (*of)(const double *, size_t)) {
    PyObject *values;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "O", &values)) return NULL;
    Py_ssize_t n = numbers_of(values, &view);
    if (n < 0) return NULL;
    double out = n ? of(view.buf, (size_t)n) : 0;
    PyBuffer_Release(&view);
    if (n) return PyFloat_FromDouble(out);
    PyErr_SetString(PyExc_ValueError, "an empty sample has no statistics");
    return NULL;
}

static PyObject *median(PyObject *module, PyObject *args) { return (void)module, statistic(args, hone_stat_median); }
static PyObject *mad(PyObject *module, PyObject *args) { return (void)module, statistic(args, hone_stat_mad); }

static PyObject *floats(const double *x, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *value = PyFloat_FromDouble(x[i]);
        if (!value) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, value);
    }
    return list;
}

/* points: a list of n of them. */
static PyObject *importance_of(hn_py_state *state, const hn_py_space *space, PyObject *points, const double *values) {
    size_t n = (size_t)PyList_GET_SIZE(points), n_slots = hone_space_slots(space->space),
           m = hone_space_n_params(space->space);
    double *x = PyMem_Malloc((n * n_slots + m + 1) * sizeof *x), *share = x ? x + n * n_slots : NULL;
    if (!x) return PyErr_NoMemory();
    for (size_t i = 0; i < n; i++) {
        const double *point = hn_py_point(space, PyList_GET_ITEM(points, (Py_ssize_t)i));
        if (!point) {
            PyMem_Free(x);
            return NULL;
        }
        memcpy(x + i * n_slots, point, n_slots * sizeof *x);
    }
    hone_err err = {HONE_OK, ""};
    hone_rc rc;
    Py_BEGIN_ALLOW_THREADS rc = hone_search_importance(space->space, x, values, n, share, &err);
    Py_END_ALLOW_THREADS PyObject *list = rc ? hn_py_raise(state, &err) : floats(share, m);
    PyMem_Free(x);
    return list;
}

static PyObject *importance(PyObject *module, PyObject *args) {
    PyObject *space, *points, *values;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "OO!O", &space, &PyList_Type, &points, &values)) return NULL;
    hn_py_state *state = hn_py_module_state(module);
    hn_py_space *sealed = hn_py_sealed(state, space);
    if (!sealed) return NULL;
    Py_ssize_t n = numbers_of(values, &view);
    if (n < 0) return NULL;
    PyObject *list = NULL;
    if (n == PyList_GET_SIZE(points))
        list = importance_of(state, sealed, points, view.buf);
    else
        PyErr_SetString(PyExc_ValueError, "there are not as many values as points");
    PyBuffer_Release(&view);
    return list;
}

static PyObject *engines(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    hone_engine_info e;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && hone_engine_at(i, &e); i++) {
        PyObject *row = Py_BuildValue("(sss)", e.name, e.summary, e.options);
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *classes(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *tuple = PyTuple_New(HONE_N_CLASSES);
    for (int i = 0; tuple && i < HONE_N_CLASSES; i++) {
        PyObject *name = PyUnicode_InternFromString(hone_outcome_class_name((hone_outcome_class)i));
        if (!name) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, i, name);
    }
    return tuple;
}

static PyMethodDef functions[] = {
    {"pareto_rank", pareto_rank, METH_VARARGS,
     "pareto_rank(values, m): non-dominated rank of each row of m minimised."},
    {"hypervolume", hypervolume, METH_VARARGS, "hypervolume(values, reference): what the rows dominate within it."},
    {"importance", importance, METH_VARARGS,
     "importance(space, points, values): how much of the values' ranking each parameter explains."},
    {"median", median, METH_VARARGS, "median(values)"},
    {"mad", mad, METH_VARARGS, "mad(values): median absolute deviation, scaled to a normal's standard deviation."},
    {"engines", engines, METH_NOARGS, "engines(): name, summary, options of each search engine."},
    {"classes", classes, METH_NOARGS, "classes(): how a trial can end."},
    {NULL, NULL, 0, NULL},
};

int hn_py_add_search(PyObject *module) {
    hn_py_state *state = hn_py_module_state(module);
    if (PyModule_AddFunctions(module, functions)) return -1;
    state->search = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->search ? PyModule_AddType(module, state->search) : -1;
}
