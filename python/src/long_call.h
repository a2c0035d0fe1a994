/* python/src/long_call.h — a C call that takes long: it runs on a thread of its own without the GIL, while the calling
 * thread looks for signals ten times a second. Ctrl-C, or an exception in a callback, sets `stop`, which calls that can
 * be interrupted look at; the exception is raised when the call has ended.
 */
#ifndef HN_PY_LONG_CALL_H
#define HN_PY_LONG_CALL_H

#include "hone_py.h"

typedef struct hn_py_call {
    hone_rc (*run)(void *arg, hone_err *err);
    void *arg;
    PyObject *callback; /* borrowed; NULL or None: none */
    volatile int stop;
    PyObject *type, *value, *trace; /* what is to be raised afterwards */
} hn_py_call;

/* 0, or -1 with the exception of the callback, of a signal or of the error that `run` gave. */
int hn_py_call_long(const hn_py_state *state, hn_py_call *call);
/* With the GIL and an exception set: ends the call, which raises it, unless there was one before. */
void hn_py_call_keep(hn_py_call *call);
/* From inside the call, on its thread: callback(make(event)). What it raises stops the call. */
void hn_py_call_event(hn_py_call *call, PyObject *(*make)(const void *event), const void *event);

#endif
