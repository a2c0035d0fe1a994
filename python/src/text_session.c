/* python/src/text_session.c — hone._hone.TextSession: tokens and what a model computed of them.
 *
 * Owns: an object owns its handle in the list of its model until the model closes or the handle is left.
 */
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* --- handles ------------------------------------------------------------------------------------------------------ */

void hn_py_handles_reap(hn_py_text *t, bool all) {
    for (hn_py_handle **at = &t->handles; *at;) {
        hn_py_handle *handle = *at;
        if (all || handle->left) {
            hone_text_session_close(handle->s);
            handle->s = NULL;
        }
        if (!handle->left) {
            at = &handle->next;
            continue;
        }
        *at = handle->next;
        free(handle);
    }
}

/* Takes s over, which is of a model that is held. */
static PyObject *new_session(hn_py_text *t, hone_text_session *s) {
    PyTypeObject *type = t->state->text_session;
    hn_py_handle *handle = calloc(1, sizeof *handle);
    hn_py_session *x = handle ? (hn_py_session *)type->tp_alloc(type, 0) : NULL;
    if (!x) {
        if (!handle) PyErr_NoMemory();
        free(handle);
        hone_text_session_close(s);
        return NULL;
    }
    *handle = (hn_py_handle){.s = s, .next = t->handles};
    t->handles = handle;
    Py_INCREF(t);
    x->model = t, x->handle = handle;
    return (PyObject *)x;
}

static void dealloc_session(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    hn_py_session *x = (hn_py_session *)self;
    if (x->handle) x->handle->left = true;
    if (x->model && PyThread_acquire_lock(x->model->lock.lock, NOWAIT_LOCK)) hn_py_text_release(x->model);
    Py_XDECREF(x->model);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Its model is held; false: an exception is set. */
static bool hold(hn_py_session *x) {
    if (!hn_py_text_hold(x->model)) return false;
    if (x->handle->s) return true;
    hn_py_raise(x->model->state, &(hone_err){.rc = HONE_E_USAGE, .text = "the session is closed"});
    hn_py_text_release(x->model);
    return false;
}

/* --- making, keeping -------------------------------------------------------------------------------------------------
 */

PyObject *hn_py_text_session(PyObject *self, PyObject *none) {
    hn_py_text *t = (hn_py_text *)self;
    hone_text_session *s;
    hone_err err;
    PyObject *out = NULL;
    (void)none;
    if (!hn_py_text_hold(t)) return NULL;
    if (hone_text_session_open(t->m, &s, &err))
        hn_py_raise(t->state, &err);
    else
        out = new_session(t, s);
    hn_py_text_release(t);
    return out;
}

static PyObject *fork_session(PyObject *self, PyObject *none) {
    hn_py_session *x = (hn_py_session *)self;
    hone_text_session *s;
    hone_err err;
    PyObject *out = NULL;
    (void)none;
    if (!hold(x)) return NULL;
    if (hone_text_session_fork(x->handle->s, &s, &err))
        hn_py_raise(x->model->state, &err);
    else
        out = new_session(x->model, s);
    hn_py_text_release(x->model);
    return out;
}

typedef struct keeping {
    hone_text *m;
    hn_py_handle *handle;
    const char *path, *note;
    hone_text_session *s;
    char *found; /* the note of a file */
    hn_py_call call;
} keeping;

static hone_rc save_run(void *arg, hone_err *err) {
    keeping *k = arg;
    if (k->handle->s) return hone_text_session_save(k->handle->s, k->note, k->path, err);
    snprintf(err->text, sizeof err->text, "the session is closed");
    return err->rc = HONE_E_USAGE;
}

static hone_rc load_run(void *arg, hone_err *err) {
    keeping *k = arg;
    return hone_text_session_load(k->m, k->path, &k->s, &k->found, err);
}

/* (path, note) */
static PyObject *save_session(PyObject *self, PyObject *args) {
    hn_py_session *x = (hn_py_session *)self;
    keeping k = {.handle = x->handle};
    if (!PyArg_ParseTuple(args, "ss", &k.path, &k.note)) return NULL;
    k.call.run = save_run, k.call.arg = &k;
    if (hn_py_text_run(x->model, NULL, &k.call)) return NULL;
    Py_RETURN_NONE;
}

/* (path): the session and its note */
PyObject *hn_py_text_load(PyObject *self, PyObject *args) {
    hn_py_text *t = (hn_py_text *)self;
    keeping k = {.m = t->m};
    PyObject *session = NULL;
    if (!PyArg_ParseTuple(args, "s", &k.path) || !hn_py_text_is_open(t)) return NULL;
    k.call.run = load_run, k.call.arg = &k;
    if (hn_py_text_run(t, NULL, &k.call)) {
        if (k.s && hn_py_text_hold(t)) { /* an exception of a signal behind a success */
            hone_text_session_close(k.s);
            hn_py_text_release(t);
        }
        hone_free(k.found);
        return NULL;
    }
    if (hn_py_text_hold(t)) {
        session = new_session(t, k.s);
        hn_py_text_release(t);
    }
    PyObject *note = hn_py_text_str(k.found ? k.found : "", k.found ? strlen(k.found) : 0);
    hone_free(k.found);
    if (session && note) return Py_BuildValue("(NN)", session, note);
    Py_XDECREF(session);
    Py_XDECREF(note);
    return NULL;
}

static PyObject *truncate_session(PyObject *self, PyObject *args) {
    hn_py_session *x = (hn_py_session *)self;
    Py_ssize_t n;
    hone_err err;
    if (!PyArg_ParseTuple(args, "n", &n) || !hold(x)) return NULL;
    bool bad = hone_text_session_truncate(x->handle->s, (size_t)n, &err);
    if (bad) hn_py_raise(x->model->state, &err);
    hn_py_text_release(x->model);
    if (bad) return NULL;
    Py_RETURN_NONE;
}

static PyObject *session_tokens(PyObject *self, PyObject *none) {
    hn_py_session *x = (hn_py_session *)self;
    size_t n;
    (void)none;
    if (!hold(x)) return NULL;
    const int32_t *token = hone_text_session_tokens(x->handle->s, &n);
    PyObject *list = hn_py_tokens_list(token, n);
    hn_py_text_release(x->model);
    return list;
}

static PyObject *close_session(PyObject *self, PyObject *none) {
    hn_py_session *x = (hn_py_session *)self;
    (void)none;
    hn_py_lock_take(&x->model->lock);
    hone_text_session_close(x->handle->s);
    x->handle->s = NULL;
    hn_py_text_release(x->model);
    Py_RETURN_NONE;
}

static PyObject *get_closed(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(((hn_py_session *)self)->handle->s == NULL);
}

/* --- the type -------------------------------------------------------------------------------------------------------
 */

static PyMethodDef methods[] = {
    {"fork", fork_session, METH_NOARGS, "another session with the same tokens"},
    {"truncate", truncate_session, METH_VARARGS, "(n): forgets all but the first n tokens"},
    {"save", save_session, METH_VARARGS, "(path, note): writes a file"},
    {"tokens", session_tokens, METH_NOARGS, "the tokens so far"},
    {"close", close_session, METH_NOARGS, "frees it"},
    {0},
};
static PyGetSetDef members[] = {{"closed", get_closed, NULL, "has close been called, of it or of its model?", NULL},
                                {0}};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Tokens, and what an open language model computed of them."},
    {Py_tp_dealloc, dealloc_session},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "hone._hone.TextSession", .basicsize = sizeof(hn_py_session), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

static PyObject *no_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    (void)args, (void)kw;
    return PyErr_Format(PyExc_TypeError, "cannot create '%s' instances", type->tp_name);
}

int hn_py_add_text_session(PyObject *module) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type) return -1;
    type->tp_new = no_new;
    hn_py_module_state(module)->text_session = type;
    Py_INCREF(type);
    if (!PyModule_AddObject(module, "TextSession", (PyObject *)type)) return 0;
    Py_DECREF(type);
    return -1;
}
