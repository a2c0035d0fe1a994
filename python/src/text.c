/* python/src/text.c — hone._hone.Text: an open language model.
 *
 * Owns: the model.   Threads: calls that run it wait for each other (lock); text and tokens are converted at any time.
 */
#include "text.h"
#include "options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const hn_py_option open_options[] = {
#define HN_OPEN(kind, name, field, standard, doc)                                                                      \
    {#name, standard, doc, HN_PY_##kind, offsetof(hone_text_options, field)},
#include "text_options.def"
#undef HN_OPEN
};
enum { N_OPEN = sizeof open_options / sizeof *open_options };

/* --- tokens ---------------------------------------------------------------------------------------------------------
 */

/* Of any sequence of whole numbers; *out is the caller's. 0, or -1 with an exception. */
int hn_py_tokens_take(PyObject *given, int32_t **out, size_t *n) {
    PyObject *list = PySequence_Fast(given, "tokens are a sequence of whole numbers");
    if (!list) return -1;
    *n = (size_t)PySequence_Fast_GET_SIZE(list);
    *out = malloc((*n + 1) * sizeof **out);
    if (!*out) PyErr_NoMemory();
    for (size_t i = 0; *out && i < *n; i++) {
        long x = PyLong_AsLong(PySequence_Fast_GET_ITEM(list, (Py_ssize_t)i));
        if ((x < INT32_MIN || x > INT32_MAX) && !PyErr_Occurred())
            PyErr_Format(PyExc_OverflowError, "%ld is no token", x);
        if (PyErr_Occurred()) break;
        (*out)[i] = (int32_t)x;
    }
    Py_DECREF(list);
    if (!PyErr_Occurred()) return 0;
    free(*out);
    return -1;
}

PyObject *hn_py_tokens_list(const int32_t *token, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *x = PyLong_FromLong(token[i]);
        if (!x)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, x);
    }
    return list;
}

PyObject *hn_py_reals_list(const double *x, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *item = PyFloat_FromDouble(x[i]);
        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

PyObject *hn_py_text_str(const char *text, size_t n) { return PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace"); }

/* --- calls that run the model ---------------------------------------------------------------------------------------
 */

bool hn_py_text_is_open(const hn_py_text *t) {
    if (t->m) return true;
    hone_err err = {.rc = HONE_E_USAGE};
    snprintf(err.text, sizeof err.text, "the language model is closed");
    hn_py_raise(t->state, &err);
    return false;
}

bool hn_py_text_hold(hn_py_text *t) {
    hn_py_lock_take(&t->lock);
    if (hn_py_text_is_open(t)) return true;
    hn_py_lock_give(&t->lock);
    return false;
}

void hn_py_text_release(hn_py_text *t) {
    hn_py_handles_reap(t, false);
    hn_py_lock_give(&t->lock);
}

int hn_py_text_run(hn_py_text *t, hn_py_text *other, hn_py_call *call) {
    int bad = -1;
    if (other == t) other = NULL;
    hn_py_text *first = other && other < t ? other : t, *second = first == t ? other : t;
    if (!hn_py_text_hold(first)) return -1;
    if (!second || hn_py_text_hold(second)) {
        first->active = call;
        if (second) second->active = call;
        bad = hn_py_call_long(t->state, call);
        first->active = NULL;
        if (second) second->active = NULL;
        if (second) hn_py_text_release(second);
    }
    hn_py_text_release(first);
    return bad;
}

hone_rc hn_py_text_stopped(hone_err *err) {
    snprintf(err->text, sizeof err->text, "stopped");
    return err->rc = HONE_E_INTERRUPTED;
}

/* --- opening and closing --------------------------------------------------------------------------------------------
 */

typedef struct opening {
    const char *path;
    bool tokenizer;
    hone_text_options options;
    hone_text *m;
    hn_py_call call;
} opening;

static PyObject *show_event(const void *event) {
    const hone_event *e = event;
    return Py_BuildValue("(zz)", e->stage, e->text);
}

static void progress(void *arg, const hone_event *e) {
    opening *x = arg;
    hn_py_call_event(&x->call, show_event, e);
}

static hone_rc open_model(void *arg, hone_err *err) {
    opening *x = arg;
    return x->tokenizer ? hone_text_open_tokenizer(x->path, &x->m, err)
                        : hone_text_open(x->path, &x->options, &x->m, err);
}

/* (path, tokenizer alone, options, progress) */
static PyObject *new_text(PyTypeObject *type, PyObject *args, PyObject *kw) {
    opening x = {.options = hone_text_defaults()};
    PyObject *given;
    int alone;
    (void)kw;
    if (!PyArg_ParseTuple(args, "spO!O", &x.path, &alone, &PyDict_Type, &given, &x.call.callback)) return NULL;
    if (hn_py_options_set(&x.options, open_options, N_OPEN, given, "hone.LanguageModel")) return NULL;
    hn_py_text *t = (hn_py_text *)type->tp_alloc(type, 0);
    if (!t) return NULL;
    t->state = hn_py_state_of(type);
    x.tokenizer = alone;
    x.call.run = open_model, x.call.arg = &x;
    x.options.stop = &x.call.stop;
    x.options.progress = (hone_progress){progress, &x};
    if (!hn_py_lock_init(&t->lock) || hn_py_call_long(t->state, &x.call)) {
        hone_text_close(x.m);
        Py_DECREF(t);
        return NULL;
    }
    t->m = x.m;
    return (PyObject *)t;
}

static void dealloc_text(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    hn_py_text *t = (hn_py_text *)self;
    hn_py_handles_reap(t, true);
    hone_text_close(t->m);
    hn_py_lock_free(&t->lock);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *stop_text(PyObject *self, PyObject *none) {
    hn_py_text *t = (hn_py_text *)self;
    (void)none;
    if (t->active) t->active->stop = 1;
    Py_RETURN_NONE;
}

static PyObject *close_text(PyObject *self, PyObject *none) {
    hn_py_text *t = (hn_py_text *)self;
    Py_XDECREF(stop_text(self, none));
    hn_py_lock_take(&t->lock);
    hone_text *m = t->m;
    hn_py_handles_reap(t, true);
    t->m = NULL;
    hone_text_close(m);
    hn_py_lock_give(&t->lock);
    Py_RETURN_NONE;
}

/* --- text and tokens ------------------------------------------------------------------------------------------------
 */

/* (text, frame, control) */
static PyObject *encode(PyObject *self, PyObject *args) {
    hn_py_text *t = (hn_py_text *)self;
    const char *text;
    Py_ssize_t n;
    int frame, control;
    int32_t *token = NULL;
    size_t n_token = 0;
    hone_err err;
    if (!PyArg_ParseTuple(args, "s#pp", &text, &n, &frame, &control) || !hn_py_text_is_open(t)) return NULL;
    if (hone_text_encode(t->m, text, (size_t)n, frame, control, &token, &n_token, &err))
        return hn_py_raise(t->state, &err);
    PyObject *list = hn_py_tokens_list(token, n_token);
    hone_free(token);
    return list;
}

/* (tokens, control) */
static PyObject *decode(PyObject *self, PyObject *args) {
    hn_py_text *t = (hn_py_text *)self;
    PyObject *given;
    int control;
    int32_t *token;
    size_t n_token, n;
    char *text;
    hone_err err;
    if (!PyArg_ParseTuple(args, "Op", &given, &control) || !hn_py_text_is_open(t) ||
        hn_py_tokens_take(given, &token, &n_token))
        return NULL;
    hone_rc rc = hone_text_decode(t->m, token, n_token, control, &text, &n, &err);
    free(token);
    if (rc) return hn_py_raise(t->state, &err);
    PyObject *out = hn_py_text_str(text, n);
    hone_free(text);
    return out;
}

/* (messages as JSON, with the beginning of the answer) */
static PyObject *prompt(PyObject *self, PyObject *args) {
    hn_py_text *t = (hn_py_text *)self;
    const char *messages;
    int answer;
    char *text;
    size_t n;
    hone_err err;
    if (!PyArg_ParseTuple(args, "sp", &messages, &answer) || !hn_py_text_is_open(t)) return NULL;
    if (hone_text_prompt(t->m, messages, answer, &text, &n, &err)) return hn_py_raise(t->state, &err);
    PyObject *out = hn_py_text_str(text, n);
    hone_free(text);
    return out;
}

/* --- the type -------------------------------------------------------------------------------------------------------
 */

static PyObject *get_vocabulary(PyObject *self, void *closure) {
    hn_py_text *t = (hn_py_text *)self;
    (void)closure;
    return hn_py_text_is_open(t) ? PyLong_FromSize_t(hone_text_vocabulary(t->m)) : NULL;
}

static PyObject *get_context(PyObject *self, void *closure) {
    hn_py_text *t = (hn_py_text *)self;
    (void)closure;
    return hn_py_text_is_open(t) ? PyLong_FromLongLong(hone_text_context(t->m)) : NULL;
}

static PyObject *get_closed(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(((hn_py_text *)self)->m == NULL);
}

static PyMethodDef methods[] = {
    {"encode", encode, METH_VARARGS, "(text, frame, control): tokens"},
    {"decode", decode, METH_VARARGS, "(tokens, control): text"},
    {"prompt", prompt, METH_VARARGS, "(messages as JSON, answer): the conversation as a prompt"},
    {"generate", hn_py_text_generate, METH_VARARGS, "(requests, draft, callback): an answer or an exception of each"},
    {"feed", hn_py_text_feed, METH_VARARGS, "([(session, tokens, wanted)]): an array of logits of each"},
    {"embed", hn_py_text_embed, METH_VARARGS, "(tokens, of the last one): a vector"},
    {"score", hn_py_text_score, METH_VARARGS, "(tokens): log-probabilities of all but the first"},
    {"session", hn_py_text_session, METH_NOARGS, "a session without tokens"},
    {"load", hn_py_text_load, METH_VARARGS, "(path): a session that was saved, and its note"},
    {"stop", stop_text, METH_NOARGS, "ends the call that runs on another thread"},
    {"close", close_text, METH_NOARGS, "frees the model"},
    {0},
};
static PyGetSetDef members[] = {
    {"vocabulary", get_vocabulary, NULL, "tokens that there are", NULL},
    {"context", get_context, NULL, "tokens at most, prompt and answer together", NULL},
    {"closed", get_closed, NULL, "has close been called?", NULL},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Text(path, tokenizer alone, options, progress): an open language model."},
    {Py_tp_new, new_text},
    {Py_tp_dealloc, dealloc_text},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "hone._hone.Text", .basicsize = sizeof(hn_py_text), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

int hn_py_add_text(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type) return -1;
    Py_INCREF(type);
    hn_py_module_state(module)->text = (PyTypeObject *)type;
    if (PyModule_AddObject(module, "Text", type)) {
        Py_DECREF(type);
        return -1;
    }
    if (hn_py_options_add(module, "text_options", open_options, N_OPEN)) return -1;
    return hn_py_add_text_generate(module) || hn_py_add_text_session(module) ? -1 : 0;
}
