/* python/src/options.h — options of a C struct by name: a table of rows converts them, checks their names and writes
 * their documentation.
 */
#ifndef HN_PY_OPTIONS_H
#define HN_PY_OPTIONS_H

#include "hone_py.h"

#include <hone/stat.h>

typedef enum hn_py_kind {
    HN_PY_TEXT,   /* const char *; None: NULL. Borrowed from the value */
    HN_PY_FLAG,   /* bool */
    HN_PY_UNFLAG, /* bool, the other way round */
    HN_PY_U32,
    HN_PY_SIZE,
    HN_PY_U64,
    HN_PY_INT,
    HN_PY_I64,
    HN_PY_REAL,
} hn_py_kind;

typedef struct hn_py_option {
    const char *name, *standard, *doc; /* standard: the default as text of Python */
    hn_py_kind kind;
    size_t at; /* offset in the struct */
} hn_py_option;

/* Sets what the dict gives; function is for messages. 0, or -1 with TypeError for a name that no row has. */
int hn_py_options_set(void *at, const hn_py_option *rows, size_t n, PyObject *given, const char *function);
/* What a result holds: a table of rows fills a dict and writes its documentation. */
typedef struct hn_py_field {
    const char *key, *unit, *doc; /* unit "": none */
} hn_py_field;
/* Adds the rows to the module as tuples of (key, unit, doc). */
int hn_py_fields_add(PyObject *module, const char *name, const hn_py_field *rows, size_t n);
/* Sets an item, taking value over; clears *dict where that fails. */
void hn_py_put(PyObject **dict, const char *key, PyObject *value);
static inline PyObject *hn_py_of_U32(uint32_t x) { return PyLong_FromUnsignedLong(x); }
static inline PyObject *hn_py_of_U64(uint64_t x) { return PyLong_FromUnsignedLongLong(x); }
static inline PyObject *hn_py_of_I64(int64_t x) { return PyLong_FromLongLong(x); }
static inline PyObject *hn_py_of_REAL(double x) { return PyFloat_FromDouble(x); }
static inline PyObject *hn_py_of_FLAG(bool x) { return PyBool_FromLong(x); }
static inline PyObject *hn_py_of_TEXT(const char *x) { return PyUnicode_FromString(x ? x : ""); }
static inline PyObject *hn_py_of_INTERVAL(hone_interval i) { return Py_BuildValue("(ddd)", i.lo, i.mid, i.hi); }
#define HN_PY_PUT(dict, kind, key, value) hn_py_put(&(dict), #key, hn_py_of_##kind(value))

/* Adds the rows to the module as tuples of (name, type, default, doc). */
int hn_py_options_add(PyObject *module, const char *name, const hn_py_option *rows, size_t n);

#endif
