/* python/src/text_feed.c — logits of tokens, in sessions of a language model or on their own; log-probabilities. */
#include "array.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 }; /* tokens of a session that go into one call: between calls a signal is looked at */

/* --- feeding --------------------------------------------------------------------------------------------------------
 */

typedef struct ration {
    hn_py_handle *handle; /* NULL: a session of its own, which ends with the call */
    int32_t *token;
    size_t n, n_want, fed,
        before; /* tokens: all, of how many of the last ones logits are wanted, fed so far, there before */
    float *out;
} ration;

typedef struct feeding {
    hone_text *m;
    size_t n, width;
    ration *ration;
    hone_text_feed *feed;
    hn_py_call call;
} feeding;

static hone_rc no_memory(hone_err *err) {
    snprintf(err->text, sizeof err->text, "out of memory for logits");
    return err->rc = HONE_E_NOMEM;
}

static hone_rc usage(hone_err *err, const char *text) {
    snprintf(err->text, sizeof err->text, "%s", text);
    return err->rc = HONE_E_USAGE;
}

/* The next tokens of each that has some; *n: of how many. */
static void next_feeds(feeding *f, hone_text_session *own, size_t *n) {
    *n = 0;
    for (size_t i = 0; i < f->n; i++) {
        ration *r = &f->ration[i];
        size_t k = r->n - r->fed < CHUNK ? r->n - r->fed : CHUNK, end = r->fed + k, first = r->n - r->n_want;
        if (!k) continue;
        hone_text_session *s = r->handle ? r->handle->s : own;
        size_t from = first > r->fed ? first : r->fed;
        f->feed[(*n)++] = (hone_text_feed){s, r->token + r->fed, k, end > from ? end - from : 0, NULL};
    }
}

/* What the feeds gave, to where it belongs. */
static void take_logits(feeding *f) {
    size_t at = 0;
    for (size_t i = 0; i < f->n; i++) {
        ration *r = &f->ration[i];
        if (r->fed == r->n) continue;
        const hone_text_feed *g = &f->feed[at++];
        size_t first = r->n - r->n_want, row = r->fed > first ? r->fed - first : 0;
        if (g->n_want) memcpy(r->out + row * f->width, g->logits, g->n_want * f->width * sizeof *r->out);
        r->fed += g->n;
    }
}

static hone_rc prepare(feeding *f, hone_err *err) {
    f->width = hone_text_logits(f->m);
    for (size_t i = 0; i < f->n; i++) {
        ration *r = &f->ration[i];
        if (r->handle && !r->handle->s) return usage(err, "the session is closed");
        if (r->handle && !r->n) return usage(err, "no tokens for a session; feed it some");
        if (r->handle) hone_text_session_tokens(r->handle->s, &r->before);
        if (!(r->out = malloc((r->n_want ? r->n_want : 1) * f->width * sizeof *r->out))) return no_memory(err);
    }
    return HONE_OK;
}

static hone_rc feed_run(void *arg, hone_err *err) {
    feeding *f = arg;
    hone_text_session *own = NULL;
    hone_err ignored;
    size_t n = 0;
    hone_rc rc = hone_text_session_open(f->m, &own, err);
    if (!rc) rc = prepare(f, err);
    for (next_feeds(f, own, &n); !rc && n; next_feeds(f, own, &n)) {
        rc = f->call.stop ? hn_py_text_stopped(err) : hone_text_feed_all(f->m, f->feed, n, err);
        if (!rc) take_logits(f);
    }
    for (size_t i = 0; rc && i < f->n; i++)
        if (f->ration[i].fed && f->ration[i].handle)
            hone_text_session_truncate(f->ration[i].handle->s, f->ration[i].before, &ignored);
    hone_text_session_close(own);
    return rc;
}

/* (session or None, tokens, wanted); wanted < 0: all */
static int read_ration(hn_py_text *t, PyObject *given, ration *r) {
    PyObject *session, *tokens;
    Py_ssize_t want;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "OOn", &session, &tokens, &want)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a feed is a tuple");
        return -1;
    }
    if (session != Py_None) {
        if (!PyObject_TypeCheck(session, t->state->text_session) || ((hn_py_session *)session)->model != t) {
            hn_py_raise(t->state, &(hone_err){.rc = HONE_E_USAGE, .text = "that is no session of this model"});
            return -1;
        }
        r->handle = ((hn_py_session *)session)->handle;
    }
    if (hn_py_tokens_take(tokens, &r->token, &r->n)) {
        r->token = NULL;
        return -1;
    }
    r->n_want = want < 0 || (size_t)want > r->n ? r->n : (size_t)want;
    return 0;
}

static PyObject *logits_list(const hn_py_state *state, feeding *f) {
    PyObject *list = PyList_New((Py_ssize_t)f->n);
    for (size_t i = 0; list && i < f->n; i++) {
        ration *r = &f->ration[i];
        hone_array a = {.data = r->out, .dtype = HONE_F32, .rank = 2};
        a.dim[0] = (int64_t)r->n_want, a.dim[1] = (int64_t)f->width;
        r->out = NULL;
        PyObject *one = hn_py_array_new(state->array, &a);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

/* ((session or None, tokens, wanted), ...) */
PyObject *hn_py_text_feed(PyObject *self, PyObject *args) {
    hn_py_text *t = (hn_py_text *)self;
    PyObject *given, *out = NULL;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &given) || !hn_py_text_is_open(t)) return NULL;
    feeding f = {.m = t->m, .n = (size_t)PyTuple_GET_SIZE(given)};
    f.ration = calloc(f.n + 1, sizeof *f.ration);
    f.feed = calloc(f.n + 1, sizeof *f.feed);
    bool good = (f.ration && f.feed) || !PyErr_NoMemory();
    for (size_t i = 0; good && i < f.n; i++)
        good = !read_ration(t, PyTuple_GET_ITEM(given, (Py_ssize_t)i), &f.ration[i]);
    f.call.run = feed_run, f.call.arg = &f;
    if (good && !hn_py_text_run(t, NULL, &f.call)) out = logits_list(t->state, &f);
    for (size_t i = 0; f.ration && i < f.n; i++) free(f.ration[i].token), free(f.ration[i].out);
    free(f.ration), free(f.feed);
    return out;
}

/* --- scores ---------------------------------------------------------------------------------------------------------
 */

typedef struct scoring {
    hone_text *m;
    int32_t *token;
    size_t n;
    double *log;
    hn_py_call call;
} scoring;

static hone_rc score_run(void *arg, hone_err *err) {
    scoring *r = arg;
    if (!(r->log = malloc((r->n + 1) * sizeof *r->log))) return no_memory(err);
    return hone_text_score(r->m, r->token, r->n, r->log, &r->call.stop, err);
}

/* (tokens) */
PyObject *hn_py_text_score(PyObject *self, PyObject *args) {
    hn_py_text *t = (hn_py_text *)self;
    scoring r = {.m = t->m};
    PyObject *given;
    if (!PyArg_ParseTuple(args, "O", &given) || !hn_py_text_is_open(t) || hn_py_tokens_take(given, &r.token, &r.n))
        return NULL;
    r.call.run = score_run, r.call.arg = &r;
    int bad = hn_py_text_run(t, NULL, &r.call);
    free(r.token);
    if (bad) {
        free(r.log);
        return NULL;
    }
    hone_array a = {.data = r.log, .dtype = HONE_F64, .rank = 1};
    a.dim[0] = r.n ? (int64_t)r.n - 1 : 0;
    return hn_py_array_new(t->state->array, &a);
}

/* --- vectors ------------------------------------------------------------------------------------------------------ */

typedef struct embedding {
    hone_text *m;
    int32_t *token;
    size_t n;
    int last;
    float *x;
    hn_py_call call;
} embedding;

static hone_rc embed_run(void *arg, hone_err *err) {
    embedding *r = arg;
    if (!(r->x = malloc((hone_text_width(r->m) + 1) * sizeof *r->x))) return no_memory(err);
    return hone_text_embed(r->m, r->token, r->n, r->last ? HONE_TEXT_LAST : HONE_TEXT_MEAN, r->x, err);
}

/* (tokens, of the last one) */
PyObject *hn_py_text_embed(PyObject *self, PyObject *args) {
    hn_py_text *t = (hn_py_text *)self;
    embedding r = {.m = t->m};
    PyObject *given;
    if (!PyArg_ParseTuple(args, "Op", &given, &r.last) || !hn_py_text_is_open(t) ||
        hn_py_tokens_take(given, &r.token, &r.n))
        return NULL;
    r.call.run = embed_run, r.call.arg = &r;
    int bad = hn_py_text_run(t, NULL, &r.call);
    free(r.token);
    if (bad) {
        free(r.x);
        return NULL;
    }
    hone_array a = {.data = r.x, .dtype = HONE_F32, .rank = 1};
    a.dim[0] = (int64_t)hone_text_width(t->m);
    return hn_py_array_new(t->state->array, &a);
}
