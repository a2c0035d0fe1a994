/* python/src/process.c — guard_fork: a fork of the interpreter whose descendants cannot outlive it (hone/process.h). */
#include "hone_py.h"

#include <hone/process.h>

static PyObject *guard_fork(PyObject *module, PyObject *unused) {
    (void)unused;
    int pid = -1;
    hone_err err = {HONE_OK, ""};
    PyOS_BeforeFork();
    hone_rc rc = hone_guard_fork(&pid, &err);
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

int hn_py_add_process(PyObject *module) { return PyModule_AddFunctions(module, functions); }
