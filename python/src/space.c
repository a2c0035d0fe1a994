/* python/src/space.c — the type hone._hone.Space. See space.h. */
#include "space.h"

#include <hone/tune.h>

#include <math.h>
#include <string.h>

static hn_py_state *state_of(const hn_py_space *s) { return hn_py_state_of(Py_TYPE((PyObject *)s)); }

static PyObject *fail(const hn_py_space *s, hone_rc rc, const char *text) {
    hone_err err = {rc, ""};
    snprintf(err.text, sizeof err.text, "%s", text);
    return hn_py_raise(state_of(s), &err);
}

static bool check_sealed(const hn_py_space *s, bool want) {
    if (s->sealed == want) return true;
    fail(s, HONE_E_USAGE,
         want ? "the space is not finished: call seal() first" : "the space is sealed: nothing can be added");
    return false;
}

hn_py_space *hn_py_sealed(hn_py_state *state, PyObject *o) {
    if (!PyObject_TypeCheck(o, state->space)) {
        PyErr_Format(PyExc_TypeError, "expected a Space, found %s", Py_TYPE(o)->tp_name);
        return NULL;
    }
    hn_py_space *s = (hn_py_space *)o;
    return check_sealed(s, true) ? s : NULL;
}

const double *hn_py_point(const hn_py_space *s, PyObject *bytes) {
    size_t want = hone_space_slots(s->space) * sizeof(double);
    if (PyBytes_Check(bytes) && (size_t)PyBytes_GET_SIZE(bytes) == want)
        return (const double *)(const void *)PyBytes_AS_STRING(bytes);
    PyErr_Format(PyExc_TypeError, "a point of this space is bytes of length %zu", want);
    return NULL;
}

PyObject *hn_py_new_point(const hn_py_space *s, double **x) {
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(hone_space_slots(s->space) * sizeof(double)));
    if (bytes) *x = (double *)(void *)PyBytes_AS_STRING(bytes);
    return bytes;
}

/* --- life ----------------------------------------------------------------------------------------------------------
 */

static int traverse(PyObject *self, visitproc visit, void *arg) {
    hn_py_space *s = (hn_py_space *)self;
    Py_VISIT(Py_TYPE(self));
    for (size_t i = 0; s->param && i < hone_space_n_params(s->space); i++) {
        Py_VISIT(s->param[i].key);
        Py_VISIT(s->param[i].objects);
    }
    for (size_t i = 0; i < s->n_containers; i++) Py_VISIT(s->container[i].key);
    for (size_t i = 0; i < s->n_outputs; i++) {
        if (s->output[i].owner != self) Py_VISIT(s->output[i].owner);
        Py_VISIT(s->output[i].key);
        Py_VISIT(s->output[i].make);
    }
    return 0;
}

static int clear(PyObject *self) {
    hn_py_space *s = (hn_py_space *)self;
    for (size_t i = 0; s->param && i < hone_space_n_params(s->space); i++) {
        Py_CLEAR(s->param[i].key);
        Py_CLEAR(s->param[i].objects);
    }
    for (size_t i = 0; i < s->n_containers; i++) Py_CLEAR(s->container[i].key);
    for (size_t i = 0; i < s->n_outputs; i++) {
        if (s->output[i].owner != self) Py_XDECREF(s->output[i].owner);
        Py_CLEAR(s->output[i].key);
        Py_CLEAR(s->output[i].make);
        PyMem_Free(s->output[i].prefix);
    }
    s->n_containers = s->n_outputs = 0;
    return 0;
}

static void dealloc(PyObject *self) {
    hn_py_space *s = (hn_py_space *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear(self);
    PyMem_Free(s->param);
    PyMem_Free(s->container);
    PyMem_Free(s->output);
    hone_space_free(s->space);
    hone_target_close(s->target);
    type->tp_free(self);
    Py_DECREF(type);
}

static bool add_container(hn_py_space *s, size_t parent, PyObject *key, size_t before) {
    hn_py_container *more = PyMem_Realloc(s->container, (s->n_containers + 1) * sizeof *more);
    if (!more) return PyErr_NoMemory(), false;
    s->container = more;
    Py_XINCREF(key);
    more[s->n_containers++] = (hn_py_container){key, parent, before};
    return true;
}

static hn_py_space *make(PyTypeObject *type, Py_ssize_t n_items) {
    hn_py_space *s = (hn_py_space *)type->tp_alloc(type, 0);
    if (!s) return NULL;
    s->n_items = n_items;
    if (!add_container(s, 0, NULL, 0)) Py_CLEAR(s);
    return s;
}

static PyObject *new_space(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"name", "n_items", NULL};
    const char *name = "";
    Py_ssize_t n_items = -1;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|sn", names, &name, &n_items)) return NULL;
    hn_py_space *s = make(type, n_items);
    if (s && hone_space_new(name, &s->space, &err)) {
        hn_py_raise(state_of(s), &err);
        Py_CLEAR(s);
    }
    return (PyObject *)s;
}

/* --- what an included or loaded parameter is in Python ------------------------------------------------------------ */

/* A value's text as an int, a float or a str. */
static PyObject *object_of(const char *text) {
    double v;
    if (!hone_space_number(text, &v)) return PyUnicode_FromString(text);
    return strpbrk(text, ".eE") || fabs(v) > 0x1p53 ? PyFloat_FromDouble(v) : PyLong_FromDouble(v);
}

static PyObject *objects_of(const hone_param *p) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)p->n_values);
    for (size_t k = 0; tuple && k < p->n_values; k++) {
        PyObject *value = object_of(p->values[k]);
        if (!value) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, (Py_ssize_t)k, value);
    }
    return tuple;
}

/* Makes room for `room` parameters where n are; the new ones are zero. Done before the C space grows, so that the two
 * never disagree. */
static bool grow(hn_py_space *s, size_t n, size_t room) {
    hn_py_param *more = PyMem_Realloc(s->param, (room + 1) * sizeof *more);
    if (!more) return PyErr_NoMemory(), false;
    memset(more + n, 0, (room + 1 - n) * sizeof *more);
    s->param = more;
    return true;
}

/* A file's parameter "inner.WIDTH" stands in the container "inner": finds or makes it. */
static bool place(hn_py_space *s, const char *name, size_t i, hn_py_param *q) {
    size_t at = 0;
    for (const char *dot; (dot = strchr(name, '.')) && dot[1] && dot > name; name = dot + 1) {
        PyObject *key = PyUnicode_FromStringAndSize(name, dot - name);
        size_t c = 1;
        while (key && c < s->n_containers &&
               (s->container[c].parent != at || PyUnicode_Compare(s->container[c].key, key)))
            c++;
        bool good = key && (c < s->n_containers || add_container(s, at, key, i));
        Py_XDECREF(key);
        if (!good) return false;
        at = c;
    }
    q->container = at;
    q->key = PyUnicode_FromString(name);
    return q->key != NULL;
}

static bool describe_all(hn_py_space *s) {
    if (!grow(s, 0, hone_space_n_params(s->space))) return false;
    for (size_t i = 0; i < hone_space_n_params(s->space); i++) {
        const hone_param *p = hone_space_param(s->space, i);
        if (!place(s, p->name, i, &s->param[i])) return false;
        if (p->n_values && !(s->param[i].objects = objects_of(p))) return false;
    }
    return true;
}

static PyObject *finished(hn_py_space *s, hone_rc rc, const hone_err *err) {
    if (rc) hn_py_raise(state_of(s), err);
    if (rc || !describe_all(s)) {
        Py_DECREF(s);
        return NULL;
    }
    s->sealed = true;
    return (PyObject *)s;
}

static PyObject *load(PyObject *type, PyObject *args) {
    PyObject *path;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path)) return NULL;
    hn_py_space *s = make((PyTypeObject *)type, -1);
    hone_rc rc = s ? hone_space_load(PyBytes_AS_STRING(path), &s->space, &err) : HONE_OK;
    Py_DECREF(path);
    return s ? finished(s, rc, &err) : NULL;
}

static PyObject *parse(PyObject *type, PyObject *args) {
    const char *text, *label = "space";
    Py_ssize_t n;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTuple(args, "s#|s", &text, &n, &label)) return NULL;
    hn_py_space *s = make((PyTypeObject *)type, -1);
    hone_rc rc = s ? hone_space_parse(text, (size_t)n, label, &s->space, &err) : HONE_OK;
    return s ? finished(s, rc, &err) : NULL;
}

/* The joined space of a workload file; its compilers are opened and probed. */
static PyObject *workload(PyObject *type, PyObject *args) {
    PyObject *path;
    hone_workload *w = NULL;
    hone_tune_options o = hone_tune_defaults();
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path)) return NULL;
    hn_py_space *s = make((PyTypeObject *)type, -1);
    hone_rc rc = HONE_OK;
    if (s) {
        Py_BEGIN_ALLOW_THREADS rc = hone_workload_load(PyBytes_AS_STRING(path), &w, &err);
        if (!rc) rc = hone_workload_space(w, &o, &s->space, &err);
        hone_workload_free(w);
        Py_END_ALLOW_THREADS
    }
    Py_DECREF(path);
    return s ? finished(s, rc, &err) : NULL;
}

/* --- compilers -----------------------------------------------------------------------------------------------------
 */

static bool add_output(hn_py_space *s, const hn_py_output *from) {
    hn_py_output *more = PyMem_Realloc(s->output, (s->n_outputs + 1) * sizeof *more);
    char *prefix = from->prefix ? PyMem_Malloc(strlen(from->prefix) + 1) : NULL;
    if (more) s->output = more;
    if (!more || (from->prefix && !prefix)) {
        PyMem_Free(prefix);
        PyErr_NoMemory();
        return false;
    }
    more[s->n_outputs] = *from;
    if (prefix) more[s->n_outputs].prefix = strcpy(prefix, from->prefix);
    if (from->owner != (PyObject *)s) Py_INCREF(from->owner);
    Py_XINCREF(from->key);
    Py_INCREF(from->make);
    s->n_outputs++;
    return true;
}

static bool read_fp(const hn_py_space *s, const char *name, hone_fp *fp) {
    for (int k = 0; k < HONE_N_FP; k++)
        if (!strcmp(name, hone_fp_name((hone_fp)k))) return *fp = (hone_fp)k, true;
    fail(s, HONE_E_USAGE, "'floating_point' is one of 'strict', 'contract', 'fast'");
    return false;
}

static hone_rc open_compiler(hn_py_space *s, const char *command, const char *cache, const hone_target_options *o,
                             hone_err *err) {
    hone_rc rc;
    Py_BEGIN_ALLOW_THREADS rc = hone_target_open(command, cache, &s->target, err);
    if (!rc) rc = hone_target_space(s->target, o, &s->space, err);
    Py_END_ALLOW_THREADS return rc;
}

static PyObject *compiler(PyObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"command", "make", "floating_point", "all", "cache_dir", NULL};
    const char *command, *fp = "strict", *cache = NULL;
    PyObject *make_flags;
    int all = 0;
    hone_err err = {HONE_OK, ""};
    hn_py_output o = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "sO|spz", names, &command, &make_flags, &fp, &all, &cache)) return NULL;
    hn_py_space *s = make((PyTypeObject *)type, -1);
    if (!s || !read_fp(s, fp, &o.fp)) {
        Py_XDECREF(s);
        return NULL;
    }
    hone_target_options options = {
        .size = sizeof(hone_target_options), .numeric = o.fp == HONE_FP_FAST, .all = all != 0};
    hone_rc rc = open_compiler(s, command, cache, &options, &err);
    if (rc) hn_py_raise(state_of(s), &err);
    o.owner = (PyObject *)s;
    o.make = make_flags;
    o.n_slots = rc ? 0 : hone_space_slots(s->space);
    if (rc || !grow(s, 0, hone_space_n_params(s->space)) || !add_output(s, &o)) {
        Py_DECREF(s);
        return NULL;
    }
    s->sealed = true;
    return (PyObject *)s;
}

/* The compiler's seeds: points that are known to give gains, as bytes. */
static PyObject *seeds(PyObject *self, PyObject *unused) {
    (void)unused;
    hn_py_space *s = (hn_py_space *)self;
    hone_err err = {HONE_OK, ""};
    double *points = NULL, *x;
    size_t n = 0, slots = s->space ? hone_space_slots(s->space) : 0;
    if (!s->target) return PyList_New(0);
    if (hone_target_seeds(s->target, s->space, &points, &n, &err)) return hn_py_raise(state_of(s), &err);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *point = hn_py_new_point(s, &x);
        if (point) memcpy(x, points + i * slots, slots * sizeof *x);
        if (!point || PyList_Append(list, point)) Py_CLEAR(list);
        Py_XDECREF(point);
    }
    hone_free(points);
    return list;
}

/* --- building ------------------------------------------------------------------------------------------------------
 */

static const char *const kind_names[] = {"flag", "int", "float", "choice", "ordinal", "permutation", "literal"};

static bool read_kind(const char *name, hone_kind *kind) {
    for (size_t k = 0; k < sizeof kind_names / sizeof *kind_names; k++)
        if (!strcmp(name, kind_names[k])) return *kind = (hone_kind)k, true;
    PyErr_Format(PyExc_ValueError, "'%s' is no kind of parameter", name);
    return false;
}

/* The texts of a tuple of str, borrowed from it; free the array with PyMem_Free. */
static const char **read_texts(PyObject *tuple, size_t *n) {
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    const char **text = PyMem_Calloc(*n + 1, sizeof *text);
    if (!text) PyErr_NoMemory();
    for (size_t k = 0; text && k < *n; k++) {
        text[k] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, (Py_ssize_t)k));
        if (!text[k]) {
            PyMem_Free(text);
            return NULL;
        }
    }
    return text;
}

static PyObject *add_read(hn_py_space *s, hone_param *p, const hn_py_param *q) {
    hone_err err = {HONE_OK, ""};
    if (q->container >= s->n_containers) return fail(s, HONE_E_USAGE, "there is no such container");
    size_t n = hone_space_n_params(s->space);
    if (!grow(s, n, n + 1)) return NULL;
    if (hone_space_add(s->space, p, &err)) return hn_py_raise(state_of(s), &err);
    s->param[n] = *q;
    Py_INCREF(q->key);
    Py_XINCREF(q->objects);
    Py_RETURN_NONE;
}

static PyObject *add(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = {"name",    "kind",    "key",      "container", "lo",   "hi",   "step", "log", "texts",
                            "objects", "default", "optional", "knockout",  "seed", "when", "doc",  "tag", NULL};
    hn_py_space *s = (hn_py_space *)self;
    hone_param p = {0};
    hn_py_param q = {0};
    const char *kind;
    PyObject *texts = NULL, *seed = Py_None, *dflt = Py_None;
    Py_ssize_t container = 0;
    int log = 0, optional = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "ssO|ndddpO!O!OpdOzzz", names, &p.name, &kind, &q.key, &container, &p.lo,
                                     &p.hi, &p.step, &log, &PyTuple_Type, &texts, &PyTuple_Type, &q.objects, &dflt,
                                     &optional, &p.knockout, &seed, &p.when, &p.doc, &p.tag))
        return NULL;
    if (!check_sealed(s, false) || !read_kind(kind, &p.kind)) return NULL;
    q.container = (size_t)container;
    p.log = log != 0;
    p.optional = optional != 0;
    p.dflt = dflt == Py_None ? (double)NAN : PyFloat_AsDouble(dflt);
    p.has_seed = seed != Py_None;
    if (PyErr_Occurred() || (p.has_seed && !PyArg_ParseTuple(seed, "dd", &p.seed_lo, &p.seed_hi))) return NULL;
    if (texts && !(p.values = read_texts(texts, &p.n_values))) return NULL;
    PyObject *done = add_read(s, &p, &q);
    PyMem_Free((void *)p.values);
    return done;
}

static PyObject *constrain(PyObject *self, PyObject *args) {
    hn_py_space *s = (hn_py_space *)self;
    const char *text;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTuple(args, "s", &text) || !check_sealed(s, false)) return NULL;
    if (hone_space_constrain(s->space, text, &err)) return hn_py_raise(state_of(s), &err);
    Py_RETURN_NONE;
}

static PyObject *full_prefix(const char *outer, const char *inner) {
    if (outer && inner) return PyUnicode_FromFormat("%s.%s", outer, inner);
    return outer || inner ? PyUnicode_FromString(outer ? outer : inner) : PyUnicode_FromString("");
}

/* Takes over one output of a part whose root became container `root`, under `key` when it is the root itself. */
static bool include_output(hn_py_space *s, const hn_py_space *part, const hn_py_output *from, const char *prefix,
                           size_t root, PyObject *key, size_t n_before, size_t n_params, size_t slot) {
    hn_py_output o = *from;
    PyObject *text = full_prefix(prefix, from->prefix);
    if (!text) return false;
    const char *whole = PyUnicode_AsUTF8(text);
    o.prefix = whole && *whole ? (char *)whole : NULL;
    o.owner = from->owner ? from->owner : (PyObject *)part;
    if (from->key) {
        o.container = from->container ? n_before + from->container - 1 : root;
    } else { /* the part is a compiler: its flags stand where the part would */
        o.container = s->container[root].parent;
        o.key = key;
    }
    o.slot = from->slot + slot;
    o.before = from->before + n_params;
    bool good = whole && add_output(s, &o);
    Py_DECREF(text);
    return good;
}

/* Containers and parameters of a part: its root is container `root` here. */
static bool include_parts(hn_py_space *s, const hn_py_space *part, size_t root, size_t n_params) {
    size_t n_before = s->n_containers;
    for (size_t c = 1; c < part->n_containers; c++) {
        size_t parent = part->container[c].parent;
        size_t before = n_params + part->container[c].before;
        if (!add_container(s, parent ? n_before + parent - 1 : root, part->container[c].key, before)) return false;
    }
    for (size_t i = 0; i < hone_space_n_params(part->space); i++) {
        hn_py_param q = part->param[i];
        q.container = q.container ? n_before + q.container - 1 : root;
        Py_XINCREF(q.key);
        Py_XINCREF(q.objects);
        s->param[n_params + i] = q;
    }
    return true;
}

static PyObject *include_read(hn_py_space *s, const hn_py_space *part, PyObject *key, const char *prefix,
                              const char *when) {
    hone_err err = {HONE_OK, ""};
    size_t n_params = hone_space_n_params(s->space), slot = hone_space_slots(s->space);
    bool compiler_alone = part->n_outputs == 1 && !part->output[0].key;
    if (!grow(s, n_params, n_params + hone_space_n_params(part->space))) return NULL;
    if (hone_space_include(s->space, part->space, prefix, when, &err)) return hn_py_raise(state_of(s), &err);
    size_t root = 0, n_before;
    if (!compiler_alone && !add_container(s, 0, key, n_params)) return NULL;
    if (!compiler_alone) root = s->n_containers - 1;
    n_before = s->n_containers;
    if (!include_parts(s, part, root, n_params)) return NULL;
    for (size_t i = 0; i < part->n_outputs; i++)
        if (!include_output(s, part, &part->output[i], prefix, root, key, n_before, n_params, slot)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *include(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = {"part", "key", "prefix", "when", NULL};
    hn_py_space *s = (hn_py_space *)self;
    PyObject *part, *key;
    const char *prefix, *when = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "OOz|z", names, &part, &key, &prefix, &when)) return NULL;
    hn_py_state *state = state_of(s);
    if (!PyObject_TypeCheck(part, state->space) || part == self)
        return fail(s, HONE_E_USAGE, "a part is another Space");
    return check_sealed(s, false) ? include_read(s, (hn_py_space *)part, key, prefix, when) : NULL;
}

static PyObject *seal(PyObject *self, PyObject *unused) {
    (void)unused;
    hn_py_space *s = (hn_py_space *)self;
    hone_err err = {HONE_OK, ""};
    if (s->sealed) Py_RETURN_NONE;
    if (hone_space_seal(s->space, &err)) return hn_py_raise(state_of(s), &err);
    s->sealed = true;
    Py_RETURN_NONE;
}

/* --- points --------------------------------------------------------------------------------------------------------
 */

typedef hone_rc make_point(const hn_py_space *s, uint64_t seed, bool initial, double *x, hone_err *err);

/* A new point made without the GIL. */
static PyObject *made(hn_py_space *s, make_point *how, const double *from, uint64_t seed, bool initial) {
    double *x;
    hone_err err = {HONE_OK, ""};
    PyObject *point = hn_py_new_point(s, &x);
    if (!point) return NULL;
    if (from) memcpy(x, from, hone_space_slots(s->space) * sizeof *x);
    hone_rc rc;
    Py_BEGIN_ALLOW_THREADS rc = how(s, seed, initial, x, &err);
    Py_END_ALLOW_THREADS if (!rc) return point;
    Py_DECREF(point);
    return hn_py_raise(state_of(s), &err);
}

static hone_rc make_sample(const hn_py_space *s, uint64_t seed, bool initial, double *x, hone_err *err) {
    return hone_space_sample(s->space, seed, initial, x, err);
}

static hone_rc make_repaired(const hn_py_space *s, uint64_t seed, bool initial, double *x, hone_err *err) {
    (void)initial;
    return hone_point_legal(s->space, x, NULL) ? HONE_OK : hone_point_repair(s->space, seed, x, err);
}

static PyObject *sample(PyObject *self, PyObject *args) {
    hn_py_space *s = (hn_py_space *)self;
    unsigned long long seed;
    int initial = 0;
    if (!PyArg_ParseTuple(args, "K|p", &seed, &initial) || !check_sealed(s, true)) return NULL;
    return made(s, make_sample, NULL, seed, initial != 0);
}

static PyObject *repair(PyObject *self, PyObject *args) {
    hn_py_space *s = (hn_py_space *)self;
    PyObject *point;
    unsigned long long seed;
    if (!PyArg_ParseTuple(args, "OK", &point, &seed) || !check_sealed(s, true)) return NULL;
    const double *x = hn_py_point(s, point);
    return x ? made(s, make_repaired, x, seed, false) : NULL;
}

static PyObject *default_point(PyObject *self, PyObject *unused) {
    (void)unused;
    hn_py_space *s = (hn_py_space *)self;
    double *x;
    if (!check_sealed(s, true)) return NULL;
    PyObject *point = hn_py_new_point(s, &x);
    if (point) hone_space_default(s->space, x);
    return point;
}

/* Each takes one point. */
static const double *argument(PyObject *self, PyObject *point) {
    hn_py_space *s = (hn_py_space *)self;
    return check_sealed(s, true) ? hn_py_point(s, point) : NULL;
}

static PyObject *why(PyObject *self, PyObject *point) {
    hone_err err = {HONE_OK, ""};
    const double *x = argument(self, point);
    if (!x) return NULL;
    if (hone_point_legal(((hn_py_space *)self)->space, x, &err)) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(err.text, (Py_ssize_t)strlen(err.text), "replace");
}

static PyObject *config(PyObject *self, PyObject *point) {
    const double *x = argument(self, point);
    return x ? hn_py_config((hn_py_space *)self, x) : NULL;
}

static PyObject *values(PyObject *self, PyObject *point) {
    hn_py_space *s = (hn_py_space *)self;
    const double *x = argument(self, point);
    if (!x) return NULL;
    PyObject *list = PyList_New((Py_ssize_t)hone_space_n_params(s->space));
    for (size_t i = 0; list && i < hone_space_n_params(s->space); i++) {
        char text[512];
        bool shown = s->param[i].objects || !hone_space_param(s->space, i)->n_values;
        if (!shown) hone_point_text(s->space, x, i, text, sizeof text);
        bool absent = isnan(x[hone_space_param(s->space, i)->slot]);
        PyObject *value = shown || absent ? hn_py_value(s, i, x) : PyUnicode_FromString(text);
        if (!value) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, value);
    }
    return list;
}

static PyObject *hash_point(PyObject *self, PyObject *point) {
    const double *x = argument(self, point);
    return x ? PyLong_FromUnsignedLongLong(hone_point_hash(((hn_py_space *)self)->space, x)) : NULL;
}

static PyObject *to_json(PyObject *self, PyObject *point) {
    hone_err err = {HONE_OK, ""};
    char *json;
    const double *x = argument(self, point);
    if (!x) return NULL;
    hn_py_space *s = (hn_py_space *)self;
    if (hone_point_to_json(s->space, x, &json, &err)) return hn_py_raise(state_of(s), &err);
    PyObject *text = PyUnicode_FromString(json);
    hone_free(json);
    return text;
}

static PyObject *from_json(PyObject *self, PyObject *args) {
    hn_py_space *s = (hn_py_space *)self;
    const char *json;
    double *x;
    hone_err err = {HONE_OK, ""};
    if (!PyArg_ParseTuple(args, "s", &json) || !check_sealed(s, true)) return NULL;
    PyObject *point = hn_py_new_point(s, &x);
    if (!point || !hone_point_from_json(s->space, json, x, &err)) return point;
    Py_DECREF(point);
    return hn_py_raise(state_of(s), &err);
}

static PyObject *from_config(PyObject *self, PyObject *given) {
    hn_py_space *s = (hn_py_space *)self;
    double *x;
    if (!check_sealed(s, true)) return NULL;
    PyObject *point = hn_py_new_point(s, &x);
    if (point && hn_py_from_config(s, given, x)) Py_CLEAR(point);
    return point;
}

/* --- looking -------------------------------------------------------------------------------------------------------
 */

static PyObject *size(PyObject *self, PyObject *args) {
    hn_py_space *s = (hn_py_space *)self;
    unsigned long long seed = 0;
    hone_err err = {HONE_OK, ""};
    hone_count count;
    if (!PyArg_ParseTuple(args, "|K", &seed) || !check_sealed(s, true)) return NULL;
    hone_rc rc;
    Py_BEGIN_ALLOW_THREADS rc = hone_space_size(s->space, seed, &count, &err);
    Py_END_ALLOW_THREADS if (rc) return hn_py_raise(state_of(s), &err);
    return Py_BuildValue("(ddd)", count.n, count.lo, count.hi);
}

static PyObject *to_yaml(PyObject *self, PyObject *unused) {
    (void)unused;
    hn_py_space *s = (hn_py_space *)self;
    char *text;
    hone_err err = {HONE_OK, ""};
    if (!check_sealed(s, true)) return NULL;
    if (hone_space_print(s->space, &text, &err)) return hn_py_raise(state_of(s), &err);
    PyObject *out = PyUnicode_FromString(text);
    hone_free(text);
    return out;
}

static PyObject *get_hash(PyObject *self, void *unused) {
    (void)unused;
    hn_py_space *s = (hn_py_space *)self;
    char hex[33];
    if (!check_sealed(s, true)) return NULL;
    hone_space_hash(s->space, hex);
    return PyUnicode_FromString(hex);
}

static PyObject *get_names(PyObject *self, void *unused) {
    (void)unused;
    hn_py_space *s = (hn_py_space *)self;
    size_t n = hone_space_n_params(s->space);
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *name = PyUnicode_FromString(hone_space_param(s->space, i)->name);
        if (!name) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, name);
    }
    return tuple;
}

static PyObject *get_kinds(PyObject *self, void *unused) {
    (void)unused;
    hn_py_space *s = (hn_py_space *)self;
    size_t n = hone_space_n_params(s->space);
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *name = PyUnicode_FromString(kind_names[hone_space_param(s->space, i)->kind]);
        if (!name) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, name);
    }
    return tuple;
}

static PyObject *get_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(hone_space_name(((hn_py_space *)self)->space));
}

static PyObject *get_slots(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(hone_space_slots(((hn_py_space *)self)->space));
}

static PyMethodDef methods[] = {
    {"load", load, METH_VARARGS | METH_CLASS, "load(path): the sealed space of a YAML file (docs/space-file.md)."},
    {"parse", parse, METH_VARARGS | METH_CLASS, "parse(text, label='space'): as load, from text."},
    {"workload", workload, METH_VARARGS | METH_CLASS, "workload(path): the joined space of a workload file."},
    {"compiler", (PyCFunction)(void (*)(void))compiler, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "compiler(command, make, floating_point='strict', all=False, cache_dir=None): the sealed space of a compiler's "
     "controls; make(flags, environment, pgo, genes) gives what objectives receive."},
    {"seeds", seeds, METH_NOARGS, "seeds(): points of a compiler's space that are known to pay."},
    {"add", (PyCFunction)(void (*)(void))add, METH_VARARGS | METH_KEYWORDS, "add(name, kind, key, …): one parameter."},
    {"constrain", constrain, METH_VARARGS, "constrain(expression): what every point must fulfil."},
    {"include", (PyCFunction)(void (*)(void))include, METH_VARARGS | METH_KEYWORDS,
     "include(part, key, prefix, when=None): another space's parameters, under `key` of the config."},
    {"seal", seal, METH_NOARGS, "seal(): checks everything; from then on the space is read-only."},
    {"sample", sample, METH_VARARGS, "sample(seed, initial=False): a random legal point."},
    {"repair", repair, METH_VARARGS, "repair(point, seed): a legal point near this one."},
    {"default", default_point, METH_NOARGS, "default(): the default point, legal or not."},
    {"why", why, METH_O, "why(point): what makes it illegal; None when it is legal."},
    {"config", config, METH_O, "config(point): what an objective receives."},
    {"values", values, METH_O, "values(point): one value per parameter; None where it is absent."},
    {"point", from_config, METH_O, "point(config): the canonical point of a config."},
    {"hash_point", hash_point, METH_O, "hash_point(point): its 64-bit hash."},
    {"to_json", to_json, METH_O, "to_json(point): one line of JSON."},
    {"from_json", from_json, METH_VARARGS, "from_json(text): a point."},
    {"size", size, METH_VARARGS, "size(seed=0): number of legal points and its 95 % interval."},
    {"to_yaml", to_yaml, METH_NOARGS, "to_yaml(): a space file that says the same."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"hash", get_hash, NULL, "of all that gives points their meaning", NULL},
    {"names", get_names, NULL, "of the parameters", NULL},
    {"kinds", get_kinds, NULL, "of the parameters", NULL},
    {"name", get_name, NULL, "of the space", NULL},
    {"slots", get_slots, NULL, "doubles of a point", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A search space. Points are bytes; configs are what objectives receive."},
    {Py_tp_new, new_space},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "hone._hone.Space",
    .basicsize = sizeof(hn_py_space),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

int hn_py_add_space(PyObject *module) {
    hn_py_state *state = hn_py_module_state(module);
    state->space = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->space ? PyModule_AddType(module, state->space) : -1;
}
