/* python/src/text.c — hone._hone.Text: an open language model.
 *
 * Owns: the model.   Threads: calls that run it wait for each other (lock); text and tokens are converted at any time.
 */
#include "array.h"
#include "long_call.h"
#include "options.h"

#include <hone/text.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const hn_py_option open_options[] = {
#define HN_OPEN(kind, name, field, standard, doc)                                                                      \
    {#name, standard, doc, HN_PY_##kind, offsetof(hone_text_options, field)},
#include "text_options.def"
#undef HN_OPEN
};
static const hn_py_option generate_options[] = {
#define HN_GENERATE(kind, name, field, standard, doc)                                                                  \
    {#name, standard, doc, HN_PY_##kind, offsetof(hone_text_generate_options, field)},
#include "text_options.def"
#undef HN_GENERATE
};
enum {
    N_OPEN = sizeof open_options / sizeof *open_options,
    N_GENERATE = sizeof generate_options / sizeof *generate_options
};

typedef struct py_text {
    PyObject_HEAD hone_text *m; /* NULL: closed */
    hn_py_state *state;
    hn_py_lock lock;    /* of calls that run the model */
    hn_py_call *active; /* the GIL's: the call that runs now, for stop() */
} py_text;

/* --- tokens ---------------------------------------------------------------------------------------------------------
 */

/* Of any sequence of whole numbers; *out is the caller's. 0, or -1 with an exception. */
static int take_tokens(PyObject *given, int32_t **out, size_t *n) {
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

static PyObject *token_list(const int32_t *token, size_t n) {
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

static PyObject *real_list(const double *x, size_t n) {
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

static PyObject *text_of(const char *text, size_t n) { return PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace"); }

/* --- calls that run the model ---------------------------------------------------------------------------------------
 */

static bool is_open(const py_text *t) {
    if (t->m) return true;
    hone_err err = {.rc = HONE_E_USAGE};
    snprintf(err.text, sizeof err.text, "the language model is closed");
    hn_py_raise(t->state, &err);
    return false;
}

/* One at a time; 0, or -1 with an exception. */
static int run_long(py_text *t, hn_py_call *call) {
    int bad = -1;
    hn_py_lock_take(&t->lock);
    if (is_open(t)) {
        t->active = call;
        bad = hn_py_call_long(t->state, call);
        t->active = NULL;
    }
    hn_py_lock_give(&t->lock);
    return bad;
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
    py_text *t = (py_text *)type->tp_alloc(type, 0);
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
    py_text *t = (py_text *)self;
    hone_text_close(t->m);
    hn_py_lock_free(&t->lock);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *stop_text(PyObject *self, PyObject *none) {
    py_text *t = (py_text *)self;
    (void)none;
    if (t->active) t->active->stop = 1;
    Py_RETURN_NONE;
}

static PyObject *close_text(PyObject *self, PyObject *none) {
    py_text *t = (py_text *)self;
    Py_XDECREF(stop_text(self, none));
    hn_py_lock_take(&t->lock);
    hone_text *m = t->m;
    t->m = NULL;
    hone_text_close(m);
    hn_py_lock_give(&t->lock);
    Py_RETURN_NONE;
}

/* --- text and tokens ------------------------------------------------------------------------------------------------
 */

/* (text, frame, control) */
static PyObject *encode(PyObject *self, PyObject *args) {
    py_text *t = (py_text *)self;
    const char *text;
    Py_ssize_t n;
    int frame, control;
    int32_t *token = NULL;
    size_t n_token = 0;
    hone_err err;
    if (!PyArg_ParseTuple(args, "s#pp", &text, &n, &frame, &control) || !is_open(t)) return NULL;
    if (hone_text_encode(t->m, text, (size_t)n, frame, control, &token, &n_token, &err))
        return hn_py_raise(t->state, &err);
    PyObject *list = token_list(token, n_token);
    hone_free(token);
    return list;
}

/* (tokens, control) */
static PyObject *decode(PyObject *self, PyObject *args) {
    py_text *t = (py_text *)self;
    PyObject *given;
    int control;
    int32_t *token;
    size_t n_token, n;
    char *text;
    hone_err err;
    if (!PyArg_ParseTuple(args, "Op", &given, &control) || !is_open(t) || take_tokens(given, &token, &n_token))
        return NULL;
    hone_rc rc = hone_text_decode(t->m, token, n_token, control, &text, &n, &err);
    free(token);
    if (rc) return hn_py_raise(t->state, &err);
    PyObject *out = text_of(text, n);
    hone_free(text);
    return out;
}

/* (messages as JSON, with the beginning of the answer) */
static PyObject *prompt(PyObject *self, PyObject *args) {
    py_text *t = (py_text *)self;
    const char *messages;
    int answer;
    char *text;
    hone_err err;
    if (!PyArg_ParseTuple(args, "sp", &messages, &answer) || !is_open(t)) return NULL;
    if (hone_text_prompt(t->m, messages, answer, &text, &err)) return hn_py_raise(t->state, &err);
    PyObject *out = text_of(text, strlen(text));
    hone_free(text);
    return out;
}

/* --- generating -----------------------------------------------------------------------------------------------------
 */

typedef struct generation {
    hone_text *m;
    hone_text_generate_options options;
    hone_text_answer answer;
    hn_py_call call;
} generation;

typedef struct piece {
    const char *text;
    size_t n;
} piece;

static PyObject *show_piece(const void *event) {
    const piece *p = event;
    return text_of(p->text, p->n);
}

static bool on_text(void *arg, const char *text, size_t n) {
    generation *g = arg;
    hn_py_call_event(&g->call, show_piece, &(piece){text, n});
    return !g->call.stop;
}

static hone_rc generate_run(void *arg, hone_err *err) {
    generation *g = arg;
    return hone_text_generate(g->m, &g->options, &g->answer, err);
}

static PyObject *answer_dict(const hone_text_answer *a) {
    return Py_BuildValue("{s:N,s:N,s:N,s:s,s:n,s:d,s:d,s:d}", "text", text_of(a->text, a->n_text), "tokens",
                         token_list(a->token, a->n), "logprobs", real_list(a->logprob, a->n), "end",
                         hone_text_end_name(a->end), "prompt_tokens", (Py_ssize_t)a->n_prompt, "prompt_s", a->prompt_s,
                         "first_token_s", a->first_s, "generate_s", a->generate_s);
}

/* A tuple of str as borrowed texts. */
static const char **stop_texts(PyObject *tuple, size_t *n) {
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    const char **list = calloc(*n + 1, sizeof *list);
    if (!list) PyErr_NoMemory();
    for (size_t i = 0; list && i < *n; i++)
        if (!(list[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i)))) {
            free(list);
            return NULL;
        }
    return list;
}

/* (prompt or None, tokens or None, stop texts, options, callback or None) */
static PyObject *generate(PyObject *self, PyObject *args) {
    py_text *t = (py_text *)self;
    generation g = {.options = hone_text_generate_defaults()};
    PyObject *tokens, *stops, *given, *out = NULL;
    int32_t *token = NULL;
    if (!PyArg_ParseTuple(args, "zOO!O!O", &g.options.prompt, &tokens, &PyTuple_Type, &stops, &PyDict_Type, &given,
                          &g.call.callback) ||
        hn_py_options_set(&g.options, generate_options, N_GENERATE, given, "generate"))
        return NULL;
    if (tokens != Py_None && take_tokens(tokens, &token, &g.options.n_token)) return NULL;
    const char **stop = stop_texts(stops, &g.options.n_stop_text);
    g.m = t->m;
    g.options.token = token;
    g.options.stop_text = stop;
    g.options.stop = &g.call.stop;
    if (g.call.callback != Py_None) g.options.on_text = on_text, g.options.on_text_arg = &g;
    g.call.run = generate_run, g.call.arg = &g;
    if (stop && !run_long(t, &g.call)) out = answer_dict(&g.answer);
    hone_text_answer_free(&g.answer);
    free(stop);
    free(token);
    return out;
}

/* --- logits ---------------------------------------------------------------------------------------------------------
 */

enum { CHUNK = 256 };

typedef struct reading {
    hone_text *m;
    int32_t *token;
    size_t n, width;
    bool last;   /* logits of the last token alone */
    float *out;  /* logits */
    double *log; /* or log-probabilities */
    hn_py_call call;
} reading;

static hone_rc no_memory(hone_err *err) {
    err->rc = HONE_E_NOMEM;
    snprintf(err->text, sizeof err->text, "out of memory for logits");
    return HONE_E_NOMEM;
}

static hone_rc logits_run(void *arg, hone_err *err) {
    reading *r = arg;
    const float *row;
    hone_text_session *s;
    hone_rc rc = hone_text_session_open(r->m, &s, err);
    if (rc) return rc;
    r->width = hone_text_logits(r->m);
    if (!(r->out = malloc((r->last ? 1 : r->n) * r->width * sizeof *r->out))) rc = no_memory(err);
    for (size_t at = 0; !rc && at < r->n && !r->call.stop; at += CHUNK) {
        size_t n = r->n - at < CHUNK ? r->n - at : CHUNK, want = r->last ? 1 : n;
        rc = hone_text_session_feed(s, r->token + at, n, want, &row, err);
        if (!rc) memcpy(r->out + (r->last ? 0 : at * r->width), row, want * r->width * sizeof *row);
    }
    hone_text_session_close(s);
    return rc;
}

static hone_rc score_run(void *arg, hone_err *err) {
    reading *r = arg;
    if (!(r->log = malloc((r->n + 1) * sizeof *r->log))) return no_memory(err);
    return hone_text_score(r->m, r->token, r->n, r->log, &r->call.stop, err);
}

static PyObject *stopped_error(const py_text *t) {
    hone_err err = {.rc = HONE_E_INTERRUPTED};
    snprintf(err.text, sizeof err.text, "stopped");
    return hn_py_raise(t->state, &err);
}

/* (tokens, last) */
static PyObject *logits(PyObject *self, PyObject *args) {
    py_text *t = (py_text *)self;
    reading r = {.m = t->m};
    PyObject *given;
    int last;
    if (!PyArg_ParseTuple(args, "Op", &given, &last) || !is_open(t) || take_tokens(given, &r.token, &r.n)) return NULL;
    r.last = last;
    r.call.run = logits_run, r.call.arg = &r;
    int bad = run_long(t, &r.call);
    free(r.token);
    if (!bad && r.call.stop) bad = 1, stopped_error(t);
    if (bad) {
        free(r.out);
        return NULL;
    }
    hone_array a = {.data = r.out, .dtype = HONE_F32, .rank = 2};
    a.dim[0] = last ? (r.n > 0) : (int64_t)r.n;
    a.dim[1] = (int64_t)r.width;
    return hn_py_array_new(t->state->array, &a);
}

/* (tokens) */
static PyObject *score(PyObject *self, PyObject *args) {
    py_text *t = (py_text *)self;
    reading r = {.m = t->m};
    PyObject *given;
    if (!PyArg_ParseTuple(args, "O", &given) || !is_open(t) || take_tokens(given, &r.token, &r.n)) return NULL;
    r.call.run = score_run, r.call.arg = &r;
    int bad = run_long(t, &r.call);
    free(r.token);
    if (bad) {
        free(r.log);
        return NULL;
    }
    hone_array a = {.data = r.log, .dtype = HONE_F64, .rank = 1};
    a.dim[0] = r.n ? (int64_t)r.n - 1 : 0;
    return hn_py_array_new(t->state->array, &a);
}

/* --- the type -------------------------------------------------------------------------------------------------------
 */

static PyObject *get_vocabulary(PyObject *self, void *closure) {
    py_text *t = (py_text *)self;
    (void)closure;
    return is_open(t) ? PyLong_FromSize_t(hone_text_vocabulary(t->m)) : NULL;
}

static PyObject *get_context(PyObject *self, void *closure) {
    py_text *t = (py_text *)self;
    (void)closure;
    return is_open(t) ? PyLong_FromLongLong(hone_text_context(t->m)) : NULL;
}

static PyObject *get_closed(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(((py_text *)self)->m == NULL);
}

static PyMethodDef methods[] = {
    {"encode", encode, METH_VARARGS, "(text, frame, control): tokens"},
    {"decode", decode, METH_VARARGS, "(tokens, control): text"},
    {"prompt", prompt, METH_VARARGS, "(messages as JSON, answer): the conversation as a prompt"},
    {"generate", generate, METH_VARARGS, "(prompt, tokens, stop texts, options, callback): an answer"},
    {"logits", logits, METH_VARARGS, "(tokens, last): an array"},
    {"score", score, METH_VARARGS, "(tokens): log-probabilities of all but the first"},
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
    .name = "hone._hone.Text", .basicsize = sizeof(py_text), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

int hn_py_add_text(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type) return -1;
    if (PyModule_AddObject(module, "Text", type)) {
        Py_DECREF(type);
        return -1;
    }
    if (hn_py_options_add(module, "text_options", open_options, N_OPEN)) return -1;
    return hn_py_options_add(module, "generate_options", generate_options, N_GENERATE);
}
