/* python/src/serve.c — the server of models, run by a thread of Python's without the GIL. */
#include "options.h"

#include <hone/serve.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const hn_py_option options[] = {
#define OPTION(kind, name, field, standard, doc)                                                                       \
    { #name, standard, doc, HN_PY_##kind, offsetof(hone_serve_options, field) }
    OPTION(TEXT, host, host, "None", "address to listen on; None: 127.0.0.1"),
    OPTION(U32, threads, n_threads, "0", "of each model's kernels; 0: processors"),
    OPTION(U32, at_once, at_once, "0", "answers that share a step of a language model at most; 0: 32"),
    OPTION(U32, step_tokens, step_tokens, "0", "tokens of a step at most; 0: 256"),
    OPTION(U32, max_queue, max_queue, "0", "requests that wait; more are answered 429. 0: 256"),
    OPTION(I64, context, context, "0", "tokens of prompt and answer at most; 0: the model's, at most 8,192"),
    OPTION(I64, cached_tokens, cached_tokens, "0", "tokens whose keys and values there is room for; 0: 16 contexts"),
    OPTION(I64, kept_tokens, kept_tokens, "0",
           "of these, tokens of ended requests that stay; 0: all that are given, else 512 MiB"),
    OPTION(TEXT, cache, cache, "None", "keys and values as f32, f16, bf16 or q8; None: f16, with exact f32"),
    OPTION(FLAG, exact, exact, "False", "round nothing in products with packed weights"),
    OPTION(UNFLAG, parity, no_parity, "True", "check kernels against the interpreter"),
    OPTION(REAL, batch_delay_s, batch_delay_s, "0.0", "other models: how long a request waits to share its run"),
    OPTION(U32, max_batch, max_batch, "0", "rows of such a run at most; 0: 32"),
    OPTION(TEXT, key_file, key_file, "None", "API keys, as `hone serve --api-key-file`; None: none are asked for"),
    OPTION(TEXT, log, log, "None", "file of a line of JSON for each call; None: none"),
    OPTION(SIZE, max_body_b, max_body_b, "0", "a request's body at most; 0: 32 MiB"),
    OPTION(REAL, read_timeout_s, read_timeout_s, "0.0", "a request that is not whole by then ends; 0: 30"),
    OPTION(REAL, idle_timeout_s, idle_timeout_s, "0.0", "a connection without a request ends; 0: 300"),
    OPTION(REAL, drain_s, drain_s, "0.0", "how long answers under way may take at the end; 0: 30"),
    OPTION(FLAG, require_all, require_all, "False", "a model that cannot be loaded ends the server"),
#undef OPTION
};
enum { N_OPTIONS = sizeof options / sizeof *options };

/* callback(what, name, port, text); what it raises is printed, as there is nobody to give it to. */
static void tell(PyObject *callback, const char *what, const char *name, int port, const char *text) {
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *done = PyObject_CallFunction(callback, "ssis", what, name, port, text);
    if (!done) PyErr_WriteUnraisable(callback);
    Py_XDECREF(done);
    PyGILState_Release(gil);
}

static void on_ready(void *arg, const char *host, uint16_t port) { tell(arg, "ready", host, port, ""); }
static void on_broken(void *arg, const char *model, const hone_err *why) { tell(arg, "broken", model, 0, why->text); }

/* A view of at least an int, which stays where it is while it is held. */
static int take_flag(PyObject *object, Py_buffer *view) {
    if (PyObject_GetBuffer(object, view, PyBUF_WRITABLE)) return -1;
    if (view->len >= (Py_ssize_t)sizeof(int) && (uintptr_t)view->buf % _Alignof(int) == 0) return 0;
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_ValueError, "stop is a writable buffer of an int");
    return -1;
}

/* (models, options, port, stop, callback): until an int in stop is no longer 0 */
static PyObject *serve_run(PyObject *module, PyObject *args) {
    hone_serve_options o = hone_serve_defaults();
    PyObject *models, *given, *flag, *callback;
    unsigned short port;
    Py_buffer view;
    hone_err err;
    if (!PyArg_ParseTuple(args, "O!O!HOO", &PyTuple_Type, &models, &PyDict_Type, &given, &port, &flag, &callback))
        return NULL;
    size_t n = (size_t)PyTuple_GET_SIZE(models);
    const char **model = calloc(n + 1, sizeof *model);
    bool good = model || !PyErr_NoMemory();
    for (size_t i = 0; i < n && good; i++)
        good = (model[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(models, (Py_ssize_t)i))) != NULL;
    good = good && !hn_py_options_set(&o, options, N_OPTIONS, given, "hone.Server") && !take_flag(flag, &view);
    if (!good) return free(model), NULL;
    o.model = model, o.n_model = n, o.port = port;
    o.stop = view.buf;
    o.on_ready = on_ready, o.on_broken = on_broken, o.on_ready_arg = callback;
    hone_rc rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = hone_serve_run(&o, &err);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&view);
    free(model);
    if (rc) return hn_py_raise(hn_py_module_state(module), &err);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"serve_run", serve_run, METH_VARARGS, "(models, options, port, stop, callback): serves until stop is set"},
    {0},
};

int hn_py_add_serve(PyObject *module) {
    if (PyModule_AddFunctions(module, functions)) return -1;
    return hn_py_options_add(module, "serve_options", options, N_OPTIONS);
}
