/* python/src/options.h — options of a C struct by name: a table of rows converts them, checks their names and writes
 * their documentation.
 */
#ifndef HN_PY_OPTIONS_H
#define HN_PY_OPTIONS_H

#include "hone_py.h"

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
/* Adds the rows to the module as tuples of (name, type, default, doc). */
int hn_py_options_add(PyObject *module, const char *name, const hn_py_option *rows, size_t n);

#endif
