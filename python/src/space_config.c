/* python/src/space_config.c — points to configs and back. See space.h. */
#include "space.h"

#include <math.h>
#include <string.h>

/* --- a point as Python values --------------------------------------------------------------------------------------
 */

static PyObject *item(const hn_py_param *q, double index) {
    PyObject *value = PyTuple_GetItem(q->objects, (Py_ssize_t)index);
    Py_XINCREF(value);
    return value;
}

static PyObject *permutation(const hone_param *p, const hn_py_param *q, const double *x) {
    PyObject *list = PyList_New((Py_ssize_t)p->n_slots);
    for (size_t k = 0; list && k < p->n_slots; k++) {
        PyObject *value = item(q, x[p->slot + k]);
        if (!value) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, (Py_ssize_t)k, value);
    }
    return list;
}

PyObject *hn_py_value(const hn_py_space *s, size_t i, const double *x) {
    const hone_param *p = hone_space_param(s->space, i);
    double gene = x[p->slot];
    if (isnan(gene)) Py_RETURN_NONE;
    switch (p->kind) {
    case HONE_FLAG: return PyBool_FromLong(gene != 0);
    case HONE_INT: return PyLong_FromDouble(gene);
    case HONE_FLOAT: return PyFloat_FromDouble(gene);
    case HONE_PERMUTATION: return permutation(p, &s->param[i], x);
    default: return item(&s->param[i], gene);
    }
}

static PyObject *texts(const char **text, size_t n) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *word = PyUnicode_DecodeFSDefault(text[i]);
        if (!word) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, word);
    }
    return tuple;
}

static PyObject *pgo_texts(const hone_command *c) {
    if (!c->pgo) Py_RETURN_NONE;
    return Py_BuildValue("(ss)", c->pgo_generate, c->pgo_use);
}

static PyObject *render(const hn_py_space *s, const hn_py_output *o, const double *x) {
    const hn_py_space *owner = (const hn_py_space *)o->owner;
    hone_err err = {HONE_OK, ""};
    hone_command c;
    if (hone_target_render(owner->target, s->space, o->prefix, x, o->fp, &c, &err))
        return hn_py_raise(hn_py_state_of(Py_TYPE((PyObject *)owner)), &err);
    PyObject *flags = texts(c.argv, c.n_argv), *env = texts(c.env, c.n_env), *pgo = pgo_texts(&c);
    PyObject *genes = PyBytes_FromStringAndSize((const char *)(x + o->slot), (Py_ssize_t)(o->n_slots * sizeof *x));
    hone_command_free(&c);
    PyObject *out = NULL;
    if (flags && env && pgo && genes) out = PyObject_CallFunctionObjArgs(o->make, flags, env, pgo, genes, NULL);
    Py_XDECREF(flags);
    Py_XDECREF(env);
    Py_XDECREF(pgo);
    Py_XDECREF(genes);
    return out;
}

/* Puts `value` (a new reference, may be NULL after a failure) into a container; -1 with an exception. */
static int put(PyObject *into, PyObject *key, PyObject *value) {
    int bad = !value || PyObject_SetItem(into, key, value);
    Py_XDECREF(value);
    return bad ? -1 : 0;
}

static PyObject *new_root(const hn_py_space *s) {
    if (s->n_items < 0) return PyDict_New();
    PyObject *list = PyList_New(s->n_items);
    for (Py_ssize_t i = 0; list && i < s->n_items; i++) {
        Py_INCREF(Py_None);
        PyList_SET_ITEM(list, i, Py_None);
    }
    return list;
}

/* Where a config is being filled: held[c] is borrowed from the root, which holds all. */
typedef struct filling {
    const hn_py_space *s;
    const double *x;
    PyObject **held;
    size_t container, output; /* done so far */
} filling;

/* Containers and outputs that stand in front of parameter i. */
static int fill_up_to(filling *f, size_t i) {
    const hn_py_space *s = f->s;
    for (; f->container < s->n_containers && s->container[f->container].before <= i; f->container++) {
        const hn_py_container *box = &s->container[f->container];
        PyObject *dict = f->held[f->container] = PyDict_New();
        if (put(f->held[box->parent], box->key, dict)) return -1; /* which keeps it alive */
    }
    for (; f->output < s->n_outputs && s->output[f->output].before <= i; f->output++) {
        const hn_py_output *o = &s->output[f->output];
        if (o->key && put(f->held[o->container], o->key, render(s, o, f->x))) return -1;
    }
    return 0;
}

static int fill(filling *f) {
    const hn_py_space *s = f->s;
    for (size_t i = 0; i < hone_space_n_params(s->space); i++) {
        const hn_py_param *q = &s->param[i];
        if (fill_up_to(f, i)) return -1;
        if (!q->key || isnan(f->x[hone_space_param(s->space, i)->slot])) continue;
        if (put(f->held[q->container], q->key, hn_py_value(s, i, f->x))) return -1;
    }
    return fill_up_to(f, SIZE_MAX);
}

PyObject *hn_py_config(const hn_py_space *s, const double *x) {
    if (s->n_outputs == 1 && !s->output[0].key) return render(s, &s->output[0], x);
    PyObject *few[16], **held = few;
    if (s->n_containers > 16) held = PyMem_Malloc(s->n_containers * sizeof *held);
    if (!held) return PyErr_NoMemory();
    held[0] = new_root(s);
    PyObject *root = held[0];
    filling f = {s, x, held, 1, 0};
    if (root && fill(&f)) Py_CLEAR(root);
    if (held != few) PyMem_Free(held);
    return root;
}

/* --- Python values as a point --------------------------------------------------------------------------------------
 */

static int wrong(const hn_py_space *s, const hone_param *p, PyObject *value, const char *want) {
    hone_err err = {HONE_E_INPUT, ""};
    PyObject *text = PyObject_Repr(value);
    const char *shown = text ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    snprintf(err.text, sizeof err.text, "parameter '%s': expected %s, found %.200s", p->name, want,
             shown ? shown : "something else");
    Py_XDECREF(text);
    hn_py_raise(hn_py_state_of(Py_TYPE((PyObject *)s)), &err);
    return -1;
}

/* Index of a value: the same object or one that is equal and of its type, else one that is equal. -1: none, -2:
 * exception. */
static Py_ssize_t find(PyObject *objects, PyObject *value) {
    Py_ssize_t n = PyTuple_GET_SIZE(objects), loose = -1;
    for (Py_ssize_t k = 0; k < n; k++)
        if (PyTuple_GET_ITEM(objects, k) == value) return k; /* first by identity, as == of arrays gives no boolean */
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *one = PyTuple_GET_ITEM(objects, k);
        int same = PyObject_RichCompareBool(one, value, Py_EQ);
        if (same < 0) return -2;
        if (same && Py_TYPE(one) == Py_TYPE(value)) return k;
        if (same && loose < 0) loose = k;
    }
    return loose;
}

static int read_listed(const hn_py_space *s, const hone_param *p, const hn_py_param *q, PyObject *value, double *out) {
    Py_ssize_t k = find(q->objects, value);
    if (k == -2) return -1;
    if (k < 0) return wrong(s, p, value, "one of its values");
    *out = (double)k;
    return 0;
}

static int read_permutation(const hn_py_space *s, const hone_param *p, const hn_py_param *q, PyObject *value,
                            double *x) {
    static const char want[] = "a list of all its items, each once";
    if (!PyList_Check(value) && !PyTuple_Check(value)) return wrong(s, p, value, want);
    if (PySequence_Size(value) != (Py_ssize_t)p->n_slots) return wrong(s, p, value, want);
    uint64_t used = 0; /* at most 64 items */
    for (size_t k = 0; k < p->n_slots; k++) {
        PyObject *one = PySequence_GetItem(value, (Py_ssize_t)k);
        Py_ssize_t at = one ? find(q->objects, one) : -2;
        Py_XDECREF(one);
        if (at == -2) return -1;
        if (at < 0 || used >> at & 1) return wrong(s, p, value, want);
        used |= (uint64_t)1 << at;
        x[p->slot + k] = (double)at;
    }
    return 0;
}

static int read_number(const hn_py_space *s, const hone_param *p, PyObject *value, double *out) {
    double v = PyFloat_AsDouble(value);
    if (v == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        return wrong(s, p, value, "a number");
    }
    if (!(v >= p->lo && v <= p->hi)) return wrong(s, p, value, "a number within its range");
    *out = v;
    return 0;
}

static int read_flag(const hn_py_space *s, const hone_param *p, PyObject *value, double *out) {
    int truth = PyObject_IsTrue(value);
    if (truth < 0) return -1;
    if (!PyBool_Check(value) && !PyLong_Check(value)) return wrong(s, p, value, "True or False");
    *out = truth;
    return 0;
}

static int read_value(const hn_py_space *s, size_t i, PyObject *value, double *x) {
    const hone_param *p = hone_space_param(s->space, i);
    if (value == Py_None && !s->param[i].objects) return 0; /* absent */
    switch (p->kind) {
    case HONE_FLAG: return read_flag(s, p, value, &x[p->slot]);
    case HONE_INT:
    case HONE_FLOAT: return read_number(s, p, value, &x[p->slot]);
    case HONE_PERMUTATION: return read_permutation(s, p, &s->param[i], value, x);
    default: return read_listed(s, p, &s->param[i], value, &x[p->slot]);
    }
}

/* What stands in a container under a key; NULL without an exception when nothing does. New reference. */
static PyObject *look(PyObject *in, PyObject *key) {
    if (!in) return NULL;
    PyObject *value = PyObject_GetItem(in, key);
    if (!value && PyErr_ExceptionMatches(PyExc_LookupError)) PyErr_Clear();
    return value;
}

static int read_output(const hn_py_space *s, const hn_py_output *o, PyObject *flags, double *x) {
    hone_err err = {HONE_E_INPUT, "a compiler's place in a config takes the flags of a config that hone made"};
    PyObject *genes = PyObject_GetAttrString(flags, "genes");
    if (genes && PyBytes_Check(genes) && PyBytes_GET_SIZE(genes) == (Py_ssize_t)(o->n_slots * sizeof *x)) {
        memcpy(x + o->slot, PyBytes_AS_STRING(genes), o->n_slots * sizeof *x);
        Py_DECREF(genes);
        return 0;
    }
    PyErr_Clear();
    Py_XDECREF(genes);
    hn_py_raise(hn_py_state_of(Py_TYPE((PyObject *)s)), &err);
    return -1;
}

static int unknown(const hn_py_space *s, PyObject *config) {
    hone_err err = {HONE_E_INPUT, ""};
    PyObject *text = PyObject_Repr(config);
    const char *shown = text ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    snprintf(err.text, sizeof err.text, "config %.300s holds keys that space '%s' does not have", shown ? shown : "",
             hone_space_name(s->space));
    Py_XDECREF(text);
    hn_py_raise(hn_py_state_of(Py_TYPE((PyObject *)s)), &err);
    return -1;
}

/* Containers are dicts, or what has keys as they do; the root may be a list, or all of it a compiler's flags. */
static int check_container(const hn_py_space *s, size_t c, PyObject *o) {
    bool list = c == 0 && s->n_items >= 0, alone = c == 0 && s->n_outputs == 1 && !s->output[0].key;
    bool good = PyDict_Check(o) || PyObject_HasAttrString(o, "keys");
    if (list) good = PyList_Check(o) || PyTuple_Check(o);
    if (good || alone) return 0;
    hone_err err = {HONE_E_INPUT, ""};
    PyObject *text = c ? PyObject_Str(s->container[c].key) : NULL;
    const char *key = text ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    snprintf(err.text, sizeof err.text, "%s%.200s%s of space '%s' is a %s, not %.100s", c ? "'" : "a config",
             key ? key : "", c ? "' in a config" : "", hone_space_name(s->space), list ? "list" : "dict",
             Py_TYPE(o)->tp_name);
    Py_XDECREF(text);
    hn_py_raise(hn_py_state_of(Py_TYPE((PyObject *)s)), &err);
    return -1;
}

/* Reads everything; held[c] is owned, size[c] counts what was found in it. */
static int read_all(const hn_py_space *s, PyObject **held, Py_ssize_t *size, double *x) {
    if (check_container(s, 0, held[0])) return -1;
    for (size_t c = 1; c < s->n_containers; c++) {
        held[c] = look(held[s->container[c].parent], s->container[c].key);
        if (!held[c] && PyErr_Occurred()) return -1;
        if (!held[c]) continue;
        if (check_container(s, c, held[c])) return -1;
        size[s->container[c].parent]++;
    }
    for (size_t i = 0; i < hone_space_n_params(s->space); i++) {
        const hn_py_param *q = &s->param[i];
        PyObject *value = q->key ? look(held[q->container], q->key) : NULL;
        if (!value && PyErr_Occurred()) return -1;
        if (!value) continue;
        size[q->container]++;
        int bad = read_value(s, i, value, x);
        Py_DECREF(value);
        if (bad) return -1;
    }
    for (size_t i = 0; i < s->n_outputs; i++) {
        const hn_py_output *o = &s->output[i];
        PyObject *value = o->key ? look(held[o->container], o->key) : held[0];
        if (!value && PyErr_Occurred()) return -1;
        if (!value) continue;
        size[o->container]++;
        int bad = read_output(s, o, value, x);
        if (o->key) Py_DECREF(value);
        if (bad) return -1;
    }
    return 0;
}

static int check_sizes(const hn_py_space *s, PyObject *const *held, const Py_ssize_t *size) {
    if (s->n_outputs == 1 && !s->output[0].key) return 0;
    for (size_t c = 0; c < s->n_containers; c++) {
        Py_ssize_t n = held[c] ? PyObject_Size(held[c]) : 0;
        if (n < 0) return -1;
        if (n > size[c]) return unknown(s, held[0]);
    }
    return 0;
}

/* A value that canonisation moved was not on its grid. */
static int check_grid(const hn_py_space *s, const double *given, const double *x) {
    for (size_t i = 0; i < hone_space_n_params(s->space); i++) {
        const hone_param *p = hone_space_param(s->space, i);
        if (isnan(given[p->slot]) || isnan(x[p->slot]) || given[p->slot] == x[p->slot]) continue;
        PyObject *value = PyFloat_FromDouble(given[p->slot]);
        if (value && fabs(given[p->slot] - x[p->slot]) > 1e-9 * fabs(p->step))
            wrong(s, p, value, "a value on its grid");
        Py_XDECREF(value);
        if (PyErr_Occurred()) return -1;
    }
    return 0;
}

int hn_py_from_config(const hn_py_space *s, PyObject *config, double *x) {
    size_t slots = hone_space_slots(s->space), n = s->n_containers;
    PyObject **held = PyMem_Calloc(n, sizeof *held);
    Py_ssize_t *size = PyMem_Calloc(n, sizeof *size);
    double *given = PyMem_Malloc((slots + 1) * sizeof *given);
    int bad = -1;
    if (!held || !size || !given) {
        PyErr_NoMemory();
    } else {
        for (size_t k = 0; k < slots; k++) given[k] = NAN;
        held[0] = config;
        bad = read_all(s, held, size, given) || check_sizes(s, held, size) ? -1 : 0;
    }
    if (!bad) {
        memcpy(x, given, slots * sizeof *x);
        hone_point_canon(s->space, x);
        bad = check_grid(s, given, x);
    }
    for (size_t c = 1; held && c < n; c++) Py_XDECREF(held[c]);
    PyMem_Free(held);
    PyMem_Free(size);
    PyMem_Free(given);
    return bad;
}
