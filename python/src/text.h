/* python/src/text.h — what the files of hone._hone.Text share: text.c (the type), text_generate.c, text_session.c,
 * text_feed.c.
 *
 * Threads: a model is used by one call at a time (lock). Sessions that Python lets go of are freed when the lock is
 * free: that may happen in a callback of a call that holds it.
 */
#ifndef HN_PY_TEXT_H
#define HN_PY_TEXT_H

#include "long_call.h"

#include <hone/text.h>

/* A session of a model, whose object of Python may be gone already. */
typedef struct hn_py_handle {
    hone_text_session *s; /* NULL: closed */
    bool left;            /* nobody has it any more */
    struct hn_py_handle *next;
} hn_py_handle;

typedef struct hn_py_text {
    PyObject_HEAD hone_text *m; /* NULL: closed */
    hn_py_state *state;
    hn_py_lock lock;       /* of calls that run the model */
    hn_py_call *active;    /* the GIL's: the call that runs now, for stop() */
    hn_py_handle *handles; /* the GIL's and the lock's */
} hn_py_text;

typedef struct hn_py_session {
    PyObject_HEAD hn_py_text *model;
    hn_py_handle *handle;
} hn_py_session;

/* Tokens of any sequence of whole numbers; *out is the caller's. 0, or -1 with an exception. */
int hn_py_tokens_take(PyObject *given, int32_t **out, size_t *n);
PyObject *hn_py_tokens_list(const int32_t *token, size_t n);
PyObject *hn_py_reals_list(const double *x, size_t n);
PyObject *hn_py_text_str(const char *text, size_t n);

/* Else an exception is set. */
bool hn_py_text_is_open(const hn_py_text *t);
/* Runs a call with the model, and another one (NULL: none), for itself; 0, or -1 with an exception. */
int hn_py_text_run(hn_py_text *t, hn_py_text *other, hn_py_call *call);
/* The same for a few instructions, under the GIL. false: an exception is set, and there is nothing to give back. */
bool hn_py_text_hold(hn_py_text *t);
void hn_py_text_release(hn_py_text *t);
/* E_INTERRUPTED: what a call says that stop() ended. */
hone_rc hn_py_text_stopped(hone_err *err);

/* text_generate.c, text_feed.c, text_session.c */
PyObject *hn_py_text_generate(PyObject *self, PyObject *args);
PyObject *hn_py_text_feed(PyObject *self, PyObject *args);
PyObject *hn_py_text_score(PyObject *self, PyObject *args);
PyObject *hn_py_text_embed(PyObject *self, PyObject *args);
PyObject *hn_py_text_session(PyObject *self, PyObject *none);
PyObject *hn_py_text_load(PyObject *self, PyObject *args);
/* Frees the sessions that nobody has; all: every one of them. With the lock. */
void hn_py_handles_reap(hn_py_text *t, bool all);
int hn_py_add_text_generate(PyObject *module);
int hn_py_add_text_session(PyObject *module);

#endif
