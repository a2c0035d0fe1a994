/* python/src/array.h — arrays between Python and hone_array: inputs by the buffer protocol or DLPack, without a copy
 * where they lie as a model reads them; outputs as objects that own their memory.
 */
#ifndef HN_PY_ARRAY_H
#define HN_PY_ARRAY_H

#include "dlpack.h"

#include <hone/ir.h>

/* NumPy's name of a type ("float32"), or that of ml_dtypes ("bfloat16"); NULL for a number that is none. */
const char *hn_py_dtype_name(int32_t dtype);

typedef struct hn_py_input {
    Py_buffer view;
    hn_py_pack pack;
    PyObject *on_device; /* an array that a model has made there, held */
    void *copy;          /* NULL: data is the view's, the pack's, or the device's */
    hone_array array;
    int32_t space; /* as hone_model_tensor */
} hn_py_input;
/* What takes an input: its name, for messages; its type; the program, and which CUDA device it is on (-1: none). */
typedef struct hn_py_wanted {
    const char *name;
    hone_dtype dtype;
    PyObject *program;
    int cuda;
} hn_py_wanted;
/* What o holds as an array of that type. 0, or -1 with an exception. */
int hn_py_input_take(const hn_py_state *state, PyObject *o, const hn_py_wanted *want, hn_py_input *out);
void hn_py_input_drop(hn_py_input *in);

/* The type whose objects own an array; made once per module. */
PyTypeObject *hn_py_array_type(PyObject *module);
/* A new object that takes a->data (from malloc) over, also where it fails. */
PyObject *hn_py_array_new(PyTypeObject *type, const hone_array *a);

#endif
