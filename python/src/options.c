/* python/src/options.c — see options.h. */
#include "options.h"

#include <string.h>

#define PUT(type, x)                                                                                                   \
    do {                                                                                                               \
        type v_ = (type)(x);                                                                                           \
        memcpy(at, &v_, sizeof v_);                                                                                    \
    } while (0)

static int set_flag(char *at, PyObject *value, bool turned) {
    if (PyUnicode_Check(value) || value == Py_None) {
        PyErr_SetString(PyExc_TypeError, "expected a bool");
        return -1;
    }
    int on = PyObject_IsTrue(value);
    if (on < 0) return -1;
    PUT(bool, (on != 0) != turned);
    return 0;
}

static int set_number(char *at, hn_py_kind kind, PyObject *value) {
    if (kind == HN_PY_REAL)
        PUT(double, PyFloat_AsDouble(value));
    else if (kind == HN_PY_INT)
        PUT(int, PyLong_AsLong(value));
    else if (kind == HN_PY_I64)
        PUT(int64_t, PyLong_AsLongLong(value));
    else if (kind == HN_PY_U32)
        PUT(uint32_t, PyLong_AsUnsignedLong(value));
    else if (kind == HN_PY_SIZE)
        PUT(size_t, PyLong_AsSize_t(value));
    else
        PUT(uint64_t, PyLong_AsUnsignedLongLong(value));
    return PyErr_Occurred() ? -1 : 0;
}

static int set_one(char *at, hn_py_kind kind, PyObject *value) {
    if (kind == HN_PY_FLAG || kind == HN_PY_UNFLAG) return set_flag(at, value, kind == HN_PY_UNFLAG);
    if (kind != HN_PY_TEXT) return set_number(at, kind, value);
    const char *text = value == Py_None ? NULL : PyUnicode_AsUTF8(value);
    PUT(const char *, text);
    return PyErr_Occurred() ? -1 : 0;
}

/* Says which option it was. */
static int name_option(const char *function, const char *option, PyObject *value) {
    PyObject *type, *text, *trace;
    PyErr_Fetch(&type, &text, &trace);
    PyErr_NormalizeException(&type, &text, &trace);
    PyErr_Format(type, "option '%s' of %s() cannot be %R: %S", option, function, value, text ? text : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(text);
    Py_XDECREF(trace);
    return -1;
}

int hn_py_options_set(void *at, const hn_py_option *rows, size_t n, PyObject *given, const char *function) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(given, &position, &key, &value)) {
        const char *name = PyUnicode_AsUTF8(key);
        size_t i = 0;
        if (!name) return -1;
        while (i < n && strcmp(rows[i].name, name) != 0) i++;
        if (i == n) {
            PyErr_Format(PyExc_TypeError, "%s() has no option '%s'; help(%s) lists them", function, name, function);
            return -1;
        }
        if (set_one((char *)at + rows[i].at, rows[i].kind, value)) return name_option(function, name, value);
    }
    return 0;
}

/* Takes the list; NULL: it could not be made. */
static int add_list(PyObject *module, const char *name, PyObject *list) {
    if (list && !PyModule_AddObject(module, name, list)) return 0;
    Py_XDECREF(list);
    return -1;
}

int hn_py_options_add(PyObject *module, const char *name, const hn_py_option *rows, size_t n) {
    static const char *const types[] = {[HN_PY_TEXT] = "str", [HN_PY_FLAG] = "bool", [HN_PY_UNFLAG] = "bool",
                                        [HN_PY_U32] = "int",  [HN_PY_SIZE] = "int",  [HN_PY_U64] = "int",
                                        [HN_PY_INT] = "int",  [HN_PY_I64] = "int",   [HN_PY_REAL] = "float"};
    PyObject *list = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; i < n && list; i++) {
        const hn_py_option *o = &rows[i];
        PyObject *row = Py_BuildValue("(ssss)", o->name, types[o->kind], o->standard, o->doc);
        if (!row)
            Py_CLEAR(list);
        else
            PyTuple_SET_ITEM(list, (Py_ssize_t)i, row);
    }
    return add_list(module, name, list);
}

/* --- results -------------------------------------------------------------------------------------------------------
 */

void hn_py_put(PyObject **dict, const char *key, PyObject *value) {
    if (*dict && (!value || PyDict_SetItemString(*dict, key, value))) Py_CLEAR(*dict);
    Py_XDECREF(value);
}

int hn_py_fields_add(PyObject *module, const char *name, const hn_py_field *rows, size_t n) {
    PyObject *list = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; i < n && list; i++) {
        PyObject *row = Py_BuildValue("(sss)", rows[i].key, rows[i].unit, rows[i].doc);
        if (!row)
            Py_CLEAR(list);
        else
            PyTuple_SET_ITEM(list, (Py_ssize_t)i, row);
    }
    return add_list(module, name, list);
}
