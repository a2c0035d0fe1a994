/* python/src/hone_py.h — what the parts of the extension hone._hone share.
 *
 * The extension is thin: a type or function of Python per object or function of the public C API, no logic of its own.
 * Owns:    the module owns its state (types, exceptions); an object owns the C object behind it.
 * Threads: a call that may take long lets go of the GIL and holds its object's lock meanwhile, as a C
 *          object may be used by one thread at a time.
 * Errors:  every failure becomes the exception of its hone_rc by hn_py_raise; exceptions stand in module.c.
 */
#ifndef HN_PY_H
#define HN_PY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <hone/base.h>

enum { HN_PY_MAX_RC = 64 };

typedef struct hn_py_state {
    PyObject *error;            /* hone.Error */
    PyObject *of[HN_PY_MAX_RC]; /* its subclass for each hone_rc */
    PyTypeObject *space, *search, *store, *array, *device_array, *text, *text_session;
} hn_py_state;

/* The state of the module that `type` (or a base of it, for subclasses made in Python) belongs to. */
hn_py_state *hn_py_state_of(PyTypeObject *type);
static inline hn_py_state *hn_py_module_state(PyObject *module) { return PyModule_GetState(module); }

/* Sets the exception of err->rc with its text; gives NULL. An exception that is set already stays. */
PyObject *hn_py_raise(const hn_py_state *state, const hone_err *err);

/* --- locks: one per object, waited for without the GIL ------------------------------------------------------------ */

typedef struct hn_py_lock {
    PyThread_type_lock lock;
} hn_py_lock;
bool hn_py_lock_init(hn_py_lock *lock); /* false: MemoryError is set */
void hn_py_lock_free(hn_py_lock *lock);
void hn_py_lock_take(hn_py_lock *lock); /* with the GIL; lets go of it while it waits */
void hn_py_lock_give(hn_py_lock *lock);

/* --- the parts: each adds its types and functions to the module; -1 with an exception set ----------------------------
 */

int hn_py_add_space(PyObject *module);
int hn_py_add_search(PyObject *module);
int hn_py_add_store(PyObject *module);
int hn_py_add_process(PyObject *module);
int hn_py_add_model(PyObject *module);
int hn_py_add_judge(PyObject *module);
int hn_py_add_raises(PyObject *module);
int hn_py_add_compile(PyObject *module);
int hn_py_add_compilers(PyObject *module);
int hn_py_add_controls(PyObject *module);
int hn_py_add_winners(PyObject *module);
int hn_py_add_precision(PyObject *module);
int hn_py_add_serve(PyObject *module);
int hn_py_add_text(PyObject *module);

#endif
