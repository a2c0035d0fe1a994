/* python/src/dlpack.h — arrays of other libraries by DLPack (dmlc.github.io/dlpack): read where they lie, in the host's
 * memory or in that of a CUDA device; and arrays on the device that models have made, given in the same way.
 */
#ifndef HN_PY_DLPACK_H
#define HN_PY_DLPACK_H

#include "hone_py.h"

#include <hone/ir.h>
#include <hone/model.h>

/* A tensor that was taken; zeroed: none. */
typedef struct hn_py_pack {
    void *managed; /* the producer's, until hn_py_pack_drop */
    bool versioned;
} hn_py_pack;
enum { HN_PY_NO_PACK = 1 };
/* What o gives by __dlpack__, as an array of type `want`; *space is 1 where it lies on CUDA device number `device`
 * (-1: the model takes none). HN_PY_NO_PACK: it gives nothing that can be read as it lies; 0; -1 with an exception. */
int hn_py_pack_take(const hn_py_state *state, PyObject *o, const char *name, hone_dtype want, int device,
                    hn_py_pack *out, hone_array *array, int32_t *space);
void hn_py_pack_drop(hn_py_pack *p);

/* The type of arrays on a device; made once per module. */
PyTypeObject *hn_py_device_array_type(PyObject *module);
/* A new one: a->data is an address there. free_it(owner, data) is called with it at the end, also where this fails;
 * owner is kept until then. cuda: number of the CUDA device, -1: none whose addresses others follow. */
typedef void hn_py_device_free(PyObject *owner, void *data);
typedef int hn_py_device_get(PyObject *owner, void *to, const void *from, size_t size_b); /* -1 with an exception */
PyObject *hn_py_device_array_new(const hn_py_state *state, const hone_array *a, PyObject *owner, int cuda,
                                 hn_py_device_free *free_it, hn_py_device_get *get);
/* Is o one of owner's? Then its array. */
bool hn_py_device_array_of(const hn_py_state *state, PyObject *o, PyObject **owner, hone_array *out);

#endif
