/* python/src/long_call.c — see long_call.h. */
#include "long_call.h"

#include <pthread.h>
#include <time.h>

typedef struct work {
    hn_py_call *call;
    hone_rc rc;
    hone_err err;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
} work;

static void *run(void *arg) {
    work *w = arg;
    w->rc = w->call->run(w->call->arg, &w->err);
    pthread_mutex_lock(&w->lock);
    w->done = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* A tenth of a second, or until it is done. */
static bool wait_a_little(work *w) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&w->lock);
    if (!w->done) pthread_cond_timedwait(&w->changed, &w->lock, &until);
    bool done = w->done;
    pthread_mutex_unlock(&w->lock);
    return done;
}

void hn_py_call_keep(hn_py_call *call) {
    call->stop = 1;
    if (call->type)
        PyErr_Clear();
    else
        PyErr_Fetch(&call->type, &call->value, &call->trace);
}

static int finish(const hn_py_state *state, hn_py_call *call, work *w) {
    if (call->type) {
        PyErr_Restore(call->type, call->value, call->trace);
        call->type = call->value = call->trace = NULL;
        return -1;
    }
    if (!w->rc) return 0;
    w->err.rc = w->rc;
    hn_py_raise(state, &w->err);
    return -1;
}

int hn_py_call_long(const hn_py_state *state, hn_py_call *call) {
    work w = {.call = call};
    pthread_t thread;
    bool done = false;
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    if (pthread_create(&thread, NULL, run, &w)) {
        PyErr_SetString(PyExc_RuntimeError, "can't start new thread");
        return -1;
    }
    while (!done) {
        Py_BEGIN_ALLOW_THREADS done = wait_a_little(&w);
        Py_END_ALLOW_THREADS if (PyErr_CheckSignals()) hn_py_call_keep(call);
    }
    Py_BEGIN_ALLOW_THREADS pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    return finish(state, call, &w);
}

void hn_py_call_event(hn_py_call *call, PyObject *(*make)(const void *event), const void *event) {
    if (!call->callback || call->callback == Py_None || call->stop) return;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *shown = make(event), *answer = shown ? PyObject_CallOneArg(call->callback, shown) : NULL;
    if (!answer) hn_py_call_keep(call);
    Py_XDECREF(answer);
    Py_XDECREF(shown);
    PyGILState_Release(gil);
}
