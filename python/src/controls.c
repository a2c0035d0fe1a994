/* python/src/controls.c — controls files as Python objects: read, rendered, their signatures checked. */
#include "hone_py.h"

#include <hone/controls.h>

static PyObject *text(const char *s) { return PyUnicode_FromString(s ? s : ""); }

static PyObject *pairs(const hone_pair *p, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n && list; i++) {
        PyObject *one = Py_BuildValue("(ss)", p[i].name, p[i].value);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *words(const char **w, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n && list; i++) {
        PyObject *one = text(w[i]);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *interval(hone_interval i) { return Py_BuildValue("(ddd)", i.lo, i.mid, i.hi); }

static PyObject *distribution(const hone_distribution *d) {
    if (!d->n) Py_RETURN_NONE;
    return Py_BuildValue("{s:n,s:d,s:d,s:d,s:d,s:d,s:d,s:d}", "n", (Py_ssize_t)d->n, "p5", d->p5, "p25", d->p25, "p50",
                         d->p50, "p75", d->p75, "p95", d->p95, "mean", d->mean, "sd", d->sd);
}

static PyObject *results(const hone_controls *c) {
    PyObject *list = PyList_New((Py_ssize_t)c->n_rows);
    for (size_t i = 0; i < c->n_rows && list; i++) {
        const hone_controls_row *r = &c->row[i];
        PyObject *one = Py_BuildValue("{s:s,s:s,s:O,s:N,s:N,s:N}", "objective", r->objective, "input", r->input,
                                      "held_out", r->held_out ? Py_True : Py_False, "gain", interval(r->gain),
                                      "baseline", distribution(&r->baseline), "tuned", distribution(&r->tuned));
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *shares(const hone_controls *c) {
    PyObject *list = PyList_New((Py_ssize_t)c->n_shares);
    for (size_t i = 0; i < c->n_shares && list; i++) {
        PyObject *one = Py_BuildValue("(sN)", c->share[i].name, interval(c->share[i].gain));
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *what_to_do(const hone_controls *c) {
    return Py_BuildValue("{s:s,s:s,s:N,s:N,s:N,s:N,s:O,s:s}", "compiler", c->compiler, "floating_point",
                         c->floating_point, "controls", pairs(c->control, c->n_controls), "parameters",
                         pairs(c->parameter, c->n_parameters), "flags", words(c->flag, c->n_flags), "environment",
                         pairs(c->environment, c->n_environment), "pgo", c->pgo ? Py_True : Py_False, "point",
                         c->point);
}

static PyObject *where_it_holds(const hone_controls *c) {
    return Py_BuildValue("{s:s,s:s,s:N,s:N,s:N,s:N,s:N,s:N}", "workload", c->workload, "baseline", c->baseline, "rules",
                         pairs(c->rule, c->n_rules), "sources", pairs(c->source, c->n_sources), "inputs",
                         pairs(c->input, c->n_inputs), "compiler", pairs(c->tool, c->n_tool), "baseline_compiler",
                         pairs(c->baseline_tool, c->n_baseline_tool), "machine", pairs(c->machine, c->n_machine));
}

static PyObject *what_was_proven(const hone_controls *c) {
    return Py_BuildValue("{s:s,s:n,s:n,s:d,s:N,s:N,s:n,s:L}", "verdict", c->verdict, "pairs", (Py_ssize_t)c->n_pairs,
                         "variants", (Py_ssize_t)c->n_variants, "claimed", c->claimed, "results", results(c), "shares",
                         shares(c), "controls_before", (Py_ssize_t)c->n_before, "session", (long long)c->session);
}

static PyObject *read_controls(PyObject *module, PyObject *args) {
    const char *path;
    hone_controls *c = NULL;
    char *rsp = NULL;
    hone_err err;
    PyObject *out = NULL;
    if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
    hone_rc rc = hone_controls_read(path, &c, &err);
    if (!rc) rc = hone_controls_rsp(c, &rsp, &err);
    if (rc)
        hn_py_raise(hn_py_module_state(module), &err);
    else
        out = Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:N,s:N,s:N}", "name", c->name, "hone_version", c->version, "created",
                            c->created, "signer", c->signer, "rsp", rsp, "do", what_to_do(c), "key", where_it_holds(c),
                            "proof", what_was_proven(c));
    hone_free(rsp);
    hone_controls_free(c);
    return out;
}

static PyObject *verify_controls(PyObject *module, PyObject *args) {
    const char *path, *key;
    hone_err err;
    if (!PyArg_ParseTuple(args, "sz", &path, &key)) return NULL;
    if (hone_controls_verify(path, key, &err)) return hn_py_raise(hn_py_module_state(module), &err);
    Py_RETURN_NONE;
}

static PyObject *sign_controls(PyObject *module, PyObject *args) {
    const char *path, *key;
    hone_err err;
    if (!PyArg_ParseTuple(args, "ss", &path, &key)) return NULL;
    if (hone_controls_sign(path, key, &err)) return hn_py_raise(hn_py_module_state(module), &err);
    Py_RETURN_NONE;
}

static PyObject *keygen(PyObject *module, PyObject *args) {
    const char *path, *comment;
    hone_err err;
    if (!PyArg_ParseTuple(args, "sz", &path, &comment)) return NULL;
    if (hone_key_generate(path, comment, &err)) return hn_py_raise(hn_py_module_state(module), &err);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"read_controls", read_controls, METH_VARARGS, "(path): a controls file as a dict"},
    {"verify_controls", verify_controls, METH_VARARGS, "(path, public key or None): raises unless the signature fits"},
    {"sign_controls", sign_controls, METH_VARARGS, "(path, secret key): signs a controls file in place"},
    {"keygen", keygen, METH_VARARGS, "(path, comment or None): writes a secret key and PATH.pub"},
    {0},
};

int hn_py_add_controls(PyObject *module) { return PyModule_AddFunctions(module, functions); }
