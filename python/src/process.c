/* python/src/process.c — hone/process.h: a fork of the interpreter whose descendants cannot outlive it, and a temporary
 * folder that does not outlive the interpreter. */
#include "hone_py.h"

#include <hone/process.h>

#include <unistd.h>

static PyObject *guard_fork(PyObject *module, PyObject *unused) {
    (void)unused;
    int pid = -1;
    hone_err err = {HONE_OK, ""};
    PyOS_BeforeFork();
    hone_rc rc = hone_process_fork(&pid, &err);
    if (!rc && pid == 0)
        PyOS_AfterFork_Child();
    else
        PyOS_AfterFork_Parent();
    return rc ? hn_py_raise(hn_py_module_state(module), &err) : PyLong_FromLong(pid);
}

static PyMethodDef functions[] = {
    {"guard_fork", guard_fork, METH_NOARGS,
     "guard_fork(): as os.fork(), but the pid is that of a guardian, which kills all that is left below it when the "
     "new "
     "process ends, when it gets SIGTERM, or when this process is gone."},
    {NULL, NULL, 0, NULL},
};

/* --- a temporary folder ------------------------------------------------------------------------------------------- */

typedef struct py_temp {
    PyObject_HEAD hone_temp *temp; /* NULL: closed */
    pid_t owner;
} py_temp;

/* A fork has a copy of the object, but must not remove the folder; its descriptor closes when it exits. */
static void close_temp(py_temp *t) {
    hone_temp *temp = t->temp;
    t->temp = NULL;
    if (temp && t->owner == getpid()) {
        Py_BEGIN_ALLOW_THREADS hone_temp_close(temp);
        Py_END_ALLOW_THREADS
    }
}

static PyObject *new_temp(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *prefix;
    hone_err err;
    static char *names[] = {"prefix", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s", names, &prefix)) return NULL;
    py_temp *t = (py_temp *)type->tp_alloc(type, 0);
    if (!t) return NULL;
    t->owner = getpid();
    hone_rc rc = hone_temp_open(prefix, &t->temp, &err);
    if (!rc) return (PyObject *)t;
    Py_DECREF(t);
    return hn_py_raise(hn_py_state_of(type), &err);
}

static void dealloc_temp(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    close_temp((py_temp *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *temp_close(PyObject *self, PyObject *unused) {
    (void)unused;
    close_temp((py_temp *)self);
    Py_RETURN_NONE;
}

static PyObject *temp_path(PyObject *self, void *unused) {
    (void)unused;
    const hone_temp *t = ((py_temp *)self)->temp;
    if (t) return PyUnicode_DecodeFSDefault(hone_temp_path(t));
    PyErr_SetString(PyExc_ValueError, "the folder is closed");
    return NULL;
}

static PyMethodDef temp_methods[] = {{"close", temp_close, METH_NOARGS, "close(): removes the folder now."},
                                     {NULL, NULL, 0, NULL}};
static PyGetSetDef temp_members[] = {{"path", temp_path, NULL, "The folder; a ValueError once it is closed.", NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot temp_slots[] = {
    {Py_tp_doc, "Temp(prefix): a folder in $TMPDIR or /tmp that goes with this object, or with the process, by "
                "whatever that ends."},
    {Py_tp_new, new_temp},
    {Py_tp_dealloc, dealloc_temp},
    {Py_tp_methods, temp_methods},
    {Py_tp_getset, temp_members},
    {0, NULL},
};
static PyType_Spec temp_spec = {
    .name = "hone._hone.Temp", .basicsize = sizeof(py_temp), .flags = Py_TPFLAGS_DEFAULT, .slots = temp_slots};

int hn_py_add_process(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &temp_spec, NULL);
    if (!type) return -1;
    int rc = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return rc ? rc : PyModule_AddFunctions(module, functions);
}
