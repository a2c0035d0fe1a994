/* python/src/model.h — hone._hone.Program and its inputs, which running (model.c) and judging (model_judge.c) share. */
#ifndef HN_PY_MODEL_H
#define HN_PY_MODEL_H

#include "array.h"

#include <hone/artifact.h>
#include <hone/import.h>
#include <hone/inputs.h>
#include <hone/profile.h>
#include <hone/verify.h>

struct hn_py_slot;
typedef struct hn_py_program {
    PyObject_HEAD hone_artifact *loaded;
    const hone_model *model;
    hn_py_state *state;
    int32_t n_threads;
    bool taken;        /* with state: its one instance is in a call */
    bool fixed, guess; /* outputs have one size; sizes of the last run are a good guess for the next */
    struct hn_py_slot **idle;
    size_t n_idle, room;
    hn_py_lock lock;           /* of loaded, which verification runs */
    int cuda;                  /* number of the CUDA device that it runs on, or -1 */
    hone_model_stream *stream; /* of memory on the device that Python holds; the GIL's; NULL: none yet */
} hn_py_program;

/* The arrays of one call, in the order of the model's inputs. */
typedef struct hn_py_inputs {
    hn_py_input *one;
    hone_array *array;
    size_t n;
} hn_py_inputs;
/* From arrays by position, names, or one dict: 0, or -1 with an exception that names what differs. there: they may lie
 * on the model's device. */
int hn_py_inputs_take(const hn_py_program *p, PyObject *args, PyObject *kw, bool there, hn_py_inputs *out);
void hn_py_inputs_drop(hn_py_inputs *x);

/* Methods. */
PyObject *hn_py_program_random(PyObject *self, PyObject *args);
PyObject *hn_py_program_bench(PyObject *self, PyObject *args);
PyObject *hn_py_program_profile(PyObject *self, PyObject *args);
PyObject *hn_py_program_verify(PyObject *self, PyObject *args);

#endif
