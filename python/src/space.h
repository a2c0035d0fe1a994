/* python/src/space.h — hone._hone.Space: a search space and how its points become Python values and back.
 *
 * A point is `bytes` of one double per slot. A *config* is what an objective receives: the root is a dict (or a list
 * of n items), containers are dicts within it, every present parameter stands in one container under its key. Outputs
 * are what compilers in the space give instead of their single parameters: the rendered flags, by calling `make`. Owns:
 * the C space, the Python values of choices, the target of a compiler.   Borrows: nothing. Threads: sealed spaces are
 * read-only.   Errors: hone's, TypeError.
 */
#ifndef HN_PY_SPACE_H
#define HN_PY_SPACE_H

#include "hone_py.h"

#include <hone/space.h>
#include <hone/target.h>

typedef struct hn_py_param {
    PyObject *key;     /* in its container; NULL: part of an output */
    PyObject *objects; /* tuple: what stands for values[k]; NULL: numbers and flags */
    size_t container;
} hn_py_param;

typedef struct hn_py_container {
    PyObject *key;
    size_t parent; /* an earlier one; 0 is the root */
    size_t before; /* the parameter that it stands in front of, so that configs keep their order */
} hn_py_container;

typedef struct hn_py_output {
    PyObject *owner; /* the Space that holds the target */
    PyObject *key;
    PyObject *make; /* callable(flags, environment, pgo, genes) */
    char *prefix;   /* of the target's parameters; NULL: none */
    size_t container, before, slot, n_slots;
    hone_fp fp;
} hn_py_output;

typedef struct hn_py_space {
    PyObject_HEAD hone_space *space;
    hone_target *target; /* of ss.compiler; NULL: none */
    bool sealed;
    Py_ssize_t n_items; /* of a list at the root; -1: a dict */
    hn_py_param *param; /* one per parameter of the C space */
    hn_py_container *container;
    hn_py_output *output;
    size_t n_containers, n_outputs;
} hn_py_space;

/* Checked access: sets an exception and gives NULL when `o` is no sealed Space. Borrowed. */
hn_py_space *hn_py_sealed(hn_py_state *state, PyObject *o);
/* The doubles of a point of this space; NULL with an exception when it has another length. */
const double *hn_py_point(const hn_py_space *s, PyObject *bytes);
/* A new, unset point and where its doubles go. */
PyObject *hn_py_new_point(const hn_py_space *s, double **x);

/* space_config.c */
PyObject *hn_py_config(const hn_py_space *s, const double *x);
/* A parameter's value; None when absent. */
PyObject *hn_py_value(const hn_py_space *s, size_t i, const double *x);
/* Writes the canonical point of a config; 0, or -1 with an exception. */
int hn_py_from_config(const hn_py_space *s, PyObject *config, double *x);

#endif
