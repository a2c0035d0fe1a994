/* python/src/module.c — the module hone._hone: exceptions from the table of failures, locks, its parts. */
#include "hone_py.h"

#include <ctype.h>
#include <string.h>

#if PY_VERSION_HEX < 0x03090000
#error "hone needs Python 3.9 or later"
#endif

/* --- exceptions ----------------------------------------------------------------------------------------------------
 */

/* Names that cannot be derived from the id, and further base classes, so that `except OSError` works. Without a
 * row: E_BASELINE is hone.BaselineError. */
static const struct row {
    hone_rc rc;
    const char *name;
    PyObject **also;
} rows[] = {
    {HONE_E_USAGE, "UsageError", &PyExc_ValueError},
    {HONE_E_INPUT, "InputError", &PyExc_ValueError},
    {HONE_E_IO, "IOFailure", &PyExc_OSError},
    {HONE_E_NOMEM, "OutOfMemory", &PyExc_MemoryError},
    {HONE_E_NOTFOUND, "NotFoundError", &PyExc_LookupError},
    {HONE_E_UNSUPPORTED, "UnsupportedError", &PyExc_NotImplementedError},
};

static void class_name(hone_rc rc, char out[64]) {
    const char *id = hone_rc_name(rc) + 2; /* behind "E_" */
    size_t n = 0;
    for (; id[n] && n < 50; n++) out[n] = (char)(n ? tolower((unsigned char)id[n]) : id[n]);
    memcpy(out + n, "Error", sizeof "Error");
}

static const struct row *find_row(hone_rc rc) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].rc == rc) return &rows[i];
    return NULL;
}

static int set_text(PyObject *type, const char *name, const char *text) {
    PyObject *value = PyUnicode_FromString(text);
    int bad = !value || PyObject_SetAttrString(type, name, value);
    Py_XDECREF(value);
    return bad ? -1 : 0;
}

static int set_facts(PyObject *type, hone_rc rc) {
    PyObject *exit = PyLong_FromLong(hone_rc_exit(rc));
    int bad = !exit || PyObject_SetAttrString(type, "exit_code", exit);
    Py_XDECREF(exit);
    return bad || set_text(type, "id", hone_rc_name(rc)) ? -1 : 0;
}

static int add_exception(PyObject *module, hn_py_state *state, hone_rc rc) {
    char name[64], full[80];
    const struct row *row = find_row(rc);
    if (row)
        strcpy(name, row->name);
    else
        class_name(rc, name);
    snprintf(full, sizeof full, "hone.%s", name);
    PyObject *bases = row ? PyTuple_Pack(2, state->error, *row->also) : PyTuple_Pack(1, state->error);
    if (!bases) return -1;
    state->of[rc] = PyErr_NewExceptionWithDoc(full, hone_rc_text(rc), bases, NULL);
    Py_DECREF(bases);
    if (!state->of[rc] || set_facts(state->of[rc], rc)) return -1;
    Py_INCREF(state->of[rc]);
    if (!PyModule_AddObject(module, name, state->of[rc])) return 0;
    Py_DECREF(state->of[rc]);
    return -1;
}

/* Ids run without a gap from HONE_E_FAILED to the last one that has a name. */
static int add_exceptions(PyObject *module, hn_py_state *state) {
    state->error = PyErr_NewExceptionWithDoc("hone.Error",
                                             "What every failure of hone is. `id` is its name in the table of errors "
                                             "(\"E_INPUT\"), `exit_code` what the command exits with.",
                                             NULL, NULL);
    if (!state->error || set_facts(state->error, HONE_E_FAILED)) return -1;
    Py_INCREF(state->error);
    if (PyModule_AddObject(module, "Error", state->error)) {
        Py_DECREF(state->error);
        return -1;
    }
    for (int rc = HONE_E_FAILED; rc < HN_PY_MAX_RC && strcmp(hone_rc_name((hone_rc)rc), "E_UNKNOWN"); rc++)
        if (add_exception(module, state, (hone_rc)rc)) return -1;
    return 0;
}

PyObject *hn_py_raise(const hn_py_state *state, const hone_err *err) {
    if (PyErr_Occurred()) return NULL;
    PyObject *type = (unsigned)err->rc < HN_PY_MAX_RC && state->of[err->rc] ? state->of[err->rc] : state->error;
    PyObject *text = PyUnicode_DecodeUTF8(err->text, (Py_ssize_t)strlen(err->text), "replace");
    if (text) PyErr_SetObject(type, text);
    Py_XDECREF(text);
    return NULL;
}

/* --- locks ---------------------------------------------------------------------------------------------------------
 */

bool hn_py_lock_init(hn_py_lock *lock) {
    lock->lock = PyThread_allocate_lock();
    if (!lock->lock) PyErr_NoMemory();
    return lock->lock != NULL;
}

void hn_py_lock_free(hn_py_lock *lock) {
    if (lock->lock) PyThread_free_lock(lock->lock);
    lock->lock = NULL;
}

void hn_py_lock_take(hn_py_lock *lock) {
    if (PyThread_acquire_lock(lock->lock, NOWAIT_LOCK)) return;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(lock->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS
}

void hn_py_lock_give(hn_py_lock *lock) { PyThread_release_lock(lock->lock); }

/* --- what raises them: rows of raises.def ------------------------------------------------------------------------- */

/* Adds them as tuples of (call, class, text of the table of errors, when). */
int hn_py_add_raises(PyObject *module) {
    static const struct {
        const char *call;
        hone_rc rc;
        const char *when;
    } raises[] = {
#define HN_RAISES(call, error, when) {#call, HONE_E_##error, when},
#include "raises.def"
#undef HN_RAISES
    };
    enum { N = sizeof raises / sizeof *raises };
    PyObject *list = PyTuple_New(N);
    for (size_t i = 0; i < N && list; i++) {
        hn_py_state *state = hn_py_module_state(module);
        PyObject *row = Py_BuildValue("(sOss)", raises[i].call, state->of[raises[i].rc], hone_rc_text(raises[i].rc),
                                      raises[i].when);
        if (!row)
            Py_CLEAR(list);
        else
            PyTuple_SET_ITEM(list, (Py_ssize_t)i, row);
    }
    if (!list) return -1;
    if (!PyModule_AddObject(module, "raises", list)) return 0;
    Py_DECREF(list);
    return -1;
}

/* --- the module ----------------------------------------------------------------------------------------------------
 */

static int traverse(PyObject *module, visitproc visit, void *arg) {
    hn_py_state *s = PyModule_GetState(module);
    if (!s) return 0;
    Py_VISIT(s->error);
    for (int i = 0; i < HN_PY_MAX_RC; i++) Py_VISIT(s->of[i]);
    Py_VISIT(s->space);
    Py_VISIT(s->search);
    Py_VISIT(s->store);
    Py_VISIT(s->array);
    Py_VISIT(s->device_array);
    Py_VISIT(s->text);
    Py_VISIT(s->text_session);
    return 0;
}

static int clear(PyObject *module) {
    hn_py_state *s = PyModule_GetState(module);
    if (!s) return 0;
    Py_CLEAR(s->error);
    for (int i = 0; i < HN_PY_MAX_RC; i++) Py_CLEAR(s->of[i]);
    Py_CLEAR(s->space);
    Py_CLEAR(s->search);
    Py_CLEAR(s->store);
    Py_CLEAR(s->array);
    Py_CLEAR(s->device_array);
    Py_CLEAR(s->text);
    Py_CLEAR(s->text_session);
    return 0;
}

static void free_module(void *module) { clear(module); }

static int (*const parts[])(PyObject *) = {
    hn_py_add_space,   hn_py_add_search,    hn_py_add_store,    hn_py_add_process, hn_py_add_model,
    hn_py_add_compile, hn_py_add_compilers, hn_py_add_controls, hn_py_add_winners, hn_py_add_precision,
    hn_py_add_text,    hn_py_add_judge,     hn_py_add_serve,    hn_py_add_raises};

static int exec_module(PyObject *module) {
    if (add_exceptions(module, PyModule_GetState(module))) return -1;
    if (PyModule_AddStringConstant(module, "__version__", hone_version())) return -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i](module)) return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec_module}, {0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "hone._hone",
    .m_doc = "The C API of hone as Python objects; the package hone is what people use.",
    .m_size = sizeof(hn_py_state),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = free_module,
};

/* The module that a type made by PyType_FromModuleAndSpec belongs to, also for subclasses (3.9 and 3.10 have no
 * PyType_GetModuleByDef). */
hn_py_state *hn_py_state_of(PyTypeObject *type) {
    for (PyTypeObject *t = type; t; t = t->tp_base) {
        PyObject *module = t->tp_flags & Py_TPFLAGS_HEAPTYPE ? ((PyHeapTypeObject *)t)->ht_module : NULL;
        if (module && PyModule_GetDef(module) == &definition) return PyModule_GetState(module);
    }
    return NULL;
}

PyMODINIT_FUNC PyInit__hone(void);
PyMODINIT_FUNC PyInit__hone(void) { return PyModuleDef_Init(&definition); }
