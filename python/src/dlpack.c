/* python/src/dlpack.c — see dlpack.h. The structs are those of DLPack 1.0, and of the versions before it. */
#include "dlpack.h"

#include "array.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { ON_CPU = 1, ON_CUDA = 2, ON_CUDA_HOST = 3, ALIGN_B = 16 };
enum { CODE_INT, CODE_UINT, CODE_FLOAT, CODE_HANDLE, CODE_BFLOAT, CODE_COMPLEX, CODE_BOOL };

typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides NULL: C order */
    uint64_t offset_b;
} dl_tensor;
typedef struct dl_managed {
    dl_tensor t;
    void *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed;
typedef struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor t;
} dl_versioned;

static const struct kind {
    uint8_t code, bits;
} kinds[HONE_N_DTYPES] = {
    [HONE_F32] = {CODE_FLOAT, 32},   [HONE_F64] = {CODE_FLOAT, 64}, [HONE_F16] = {CODE_FLOAT, 16},
    [HONE_BF16] = {CODE_BFLOAT, 16}, [HONE_I8] = {CODE_INT, 8},     [HONE_I16] = {CODE_INT, 16},
    [HONE_I32] = {CODE_INT, 32},     [HONE_I64] = {CODE_INT, 64},   [HONE_U8] = {CODE_UINT, 8},
    [HONE_U16] = {CODE_UINT, 16},    [HONE_U32] = {CODE_UINT, 32},  [HONE_U64] = {CODE_UINT, 64},
    [HONE_BOOL] = {CODE_BOOL, 8},    [HONE_F8E4M3FN] = {10, 8},     [HONE_F8E4M3FNUZ] = {11, 8},
    [HONE_F8E5M2] = {12, 8},         [HONE_F8E5M2FNUZ] = {13, 8},
};

static int fail(const hn_py_state *state, const char *fmt, ...) HONE_PRINTF(2, 3);
static int fail(const hn_py_state *state, const char *fmt, ...) {
    hone_err err = {.rc = HONE_E_INPUT};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err.text, sizeof err.text, fmt, ap);
    va_end(ap);
    hn_py_raise(state, &err);
    return -1;
}

/* --- taking ----------------------------------------------------------------------------------------------------------
 */

/* (type, id) of o.__dlpack_device__(); false: it has none. */
static bool device_of(PyObject *o, int *type, int *id) {
    PyObject *pair = PyObject_CallMethod(o, "__dlpack_device__", NULL);
    bool good = pair && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2;
    if (good) {
        *type = (int)PyLong_AsLong(PyTuple_GET_ITEM(pair, 0));
        *id = (int)PyLong_AsLong(PyTuple_GET_ITEM(pair, 1));
        good = !PyErr_Occurred();
    }
    Py_XDECREF(pair);
    PyErr_Clear();
    return good;
}

/* The producer makes CUDA's default stream wait for what it still does; the host waits for that. */
static void wait_for_producer(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    union {
        void *p;
        int (*call)(void *stream);
    } wait = {library ? dlsym(library, "cuStreamSynchronize") : NULL};
    enum { DEFAULT_STREAM = 1 };
    if (!wait.p) return;
    Py_BEGIN_ALLOW_THREADS wait.call((void *)(uintptr_t)DEFAULT_STREAM);
    Py_END_ALLOW_THREADS dlclose(library);
}

static PyObject *capsule_of(PyObject *o, bool cuda) {
    PyObject *capsule, *none = PyTuple_New(0), *method = PyObject_GetAttrString(o, "__dlpack__");
    PyObject *how = cuda ? Py_BuildValue("{s:i}", "stream", 1) : NULL;
    capsule = method && none && (how || !cuda) ? PyObject_Call(method, none, how) : NULL;
    Py_XDECREF(method), Py_XDECREF(none), Py_XDECREF(how);
    return capsule;
}

/* The tensor of a capsule, which is used up; NULL: none that is known. */
static dl_tensor *open_capsule(PyObject *capsule, hn_py_pack *out) {
    bool plain = PyCapsule_IsValid(capsule, "dltensor"), new = PyCapsule_IsValid(capsule, "dltensor_versioned");
    if (!plain && !new) return NULL;
    void *p = PyCapsule_GetPointer(capsule, plain ? "dltensor" : "dltensor_versioned");
    if (!p || (new && ((dl_versioned *)p)->major > 1)) return NULL;
    if (PyCapsule_SetName(capsule, plain ? "used_dltensor" : "used_dltensor_versioned")) return NULL;
    *out = (hn_py_pack){p, new};
    return plain ? &((dl_managed *)p)->t : &((dl_versioned *)p)->t;
}

/* A deleter may run Python, which must not meet an exception that is on its way. */
void hn_py_pack_drop(hn_py_pack *p) {
    dl_managed *plain = p->managed;
    dl_versioned *versioned = p->managed;
    PyObject *type, *value, *trace;
    if (!p->managed) return;
    PyErr_Fetch(&type, &value, &trace);
    if (p->versioned && versioned->deleter) versioned->deleter(versioned);
    if (!p->versioned && plain->deleter) plain->deleter(plain);
    *p = (hn_py_pack){0};
    PyErr_Restore(type, value, trace);
}

static bool in_order(const dl_tensor *t) {
    int64_t step = 1;
    for (int32_t d = t->rank; d-- > 0 && t->strides; step *= t->shape[d])
        if (t->shape[d] != 1 && t->strides[d] != step) return false;
    return true;
}

static bool is_type(const dl_tensor *t, hone_dtype want) {
    return t->lanes == 1 && kinds[want].bits && t->code == kinds[want].code && t->bits == kinds[want].bits;
}

static int refuse_type(const hn_py_state *state, const dl_tensor *t, const char *name, hone_dtype want) {
    for (int i = 0; i < HONE_N_DTYPES; i++)
        if (is_type(t, (hone_dtype)i))
            return fail(state, "input '%s' takes %s, not %s: convert it", name, hn_py_dtype_name((int32_t)want),
                        hn_py_dtype_name(i));
    return fail(state, "input '%s' takes %s, not a type that DLPack numbers %u with %u bits", name,
                hn_py_dtype_name((int32_t)want), t->code, t->bits);
}

/* 0; HN_PY_NO_PACK: it must be copied; -1. */
static int read_tensor(const hn_py_state *state, const dl_tensor *t, const char *name, hone_dtype want, bool cuda,
                       hone_array *out) {
    if (!is_type(t, want)) return refuse_type(state, t, name, want);
    if (t->rank < 0 || t->rank > HONE_RANK_MAX)
        return fail(state, "input '%s' has %d dimensions; %d are the most", name, t->rank, HONE_RANK_MAX);
    hone_array a = {.dtype = want, .rank = (uint32_t)t->rank, .data = (char *)t->data + t->offset_b};
    for (int32_t d = 0; d < t->rank; d++) a.dim[d] = t->shape[d];
    size_t align = cuda ? ALIGN_B : hone_dtype_size_b(want);
    bool aligned = (uintptr_t)a.data % align == 0;
    if (cuda && !in_order(t))
        return fail(state, "input '%s' is not contiguous on the device: x.contiguous() makes it so", name);
    if (cuda && !aligned)
        return fail(state, "input '%s' does not begin at a multiple of %d bytes on the device: x.clone() does", name,
                    ALIGN_B);
    if (!in_order(t) || !aligned) return HN_PY_NO_PACK;
    *out = a;
    return 0;
}

static int check_device(const hn_py_state *state, const char *name, int type, int id, int device) {
    if (type == ON_CPU || type == ON_CUDA_HOST) return 0;
    if (type != ON_CUDA)
        return fail(state, "input '%s' lies on a device of DLPack's type %d; the host's memory and CUDA's are taken",
                    name, type);
    if (device < 0)
        return fail(state,
                    "input '%s' lies on cuda:%d, where this model does not run: copy it to the host, or compile "
                    "the model for CUDA",
                    name, id);
    if (id != device) return fail(state, "input '%s' lies on cuda:%d, but the model runs on cuda:%d", name, id, device);
    return 0;
}

int hn_py_pack_take(const hn_py_state *state, PyObject *o, const char *name, hone_dtype want, int device,
                    hn_py_pack *out, hone_array *array, int32_t *space) {
    int type = 0, id = 0;
    *out = (hn_py_pack){0};
    if (!PyObject_HasAttrString(o, "__dlpack__") || !device_of(o, &type, &id)) return HN_PY_NO_PACK;
    bool cuda = type == ON_CUDA;
    if (check_device(state, name, type, id, device)) return -1;
    PyObject *capsule = capsule_of(o, cuda);
    if (!capsule && !cuda) { /* as of a tensor that needs a gradient: NumPy's way says why */
        PyErr_Clear();
        return HN_PY_NO_PACK;
    }
    if (!capsule) return -1;
    const dl_tensor *t = open_capsule(capsule, out);
    Py_DECREF(capsule);
    int bad = t ? read_tensor(state, t, name, want, cuda, array)
                : fail(state, "input '%s' gives no DLPack capsule that is known", name);
    if (bad) hn_py_pack_drop(out);
    if (bad) return bad;
    *space = cuda;
    if (cuda) wait_for_producer();
    return 0;
}

/* --- arrays on a device ----------------------------------------------------------------------------------------------
 */

typedef struct device_array {
    PyObject_HEAD hone_array a;
    PyObject *owner;
    int cuda;
    hn_py_device_free *free_it;
    hn_py_device_get *get;
} device_array;

/* What a capsule holds: the tensor with its sizes, and the array that it is of. */
typedef struct given {
    dl_managed m;
    int64_t shape[HONE_RANK_MAX];
} given;

static void given_free(dl_managed *m) {
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_XDECREF((PyObject *)m->context);
    PyGILState_Release(gil);
    free(m);
}

static void capsule_free(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    m->deleter(m);
}

static PyObject *need_cuda(const device_array *x) {
    if (x->cuda >= 0) return NULL;
    PyErr_SetString(PyExc_BufferError, "addresses of this device mean nothing outside of its driver; to_host() copies");
    return PyErr_Occurred();
}

static PyObject *device_dlpack(PyObject *self, PyObject *args, PyObject *kw) {
    device_array *x = (device_array *)self;
    (void)args, (void)kw; /* what was computed is there when a call returns, for every stream */
    if (need_cuda(x)) return NULL;
    given *g = calloc(1, sizeof *g);
    if (!g) return PyErr_NoMemory();
    for (uint32_t d = 0; d < x->a.rank; d++) g->shape[d] = x->a.dim[d];
    g->m.t = (dl_tensor){.data = x->a.data,
                         .device_type = ON_CUDA,
                         .device_id = x->cuda,
                         .rank = (int32_t)x->a.rank,
                         .code = kinds[x->a.dtype].code,
                         .bits = kinds[x->a.dtype].bits,
                         .lanes = 1,
                         .shape = g->shape};
    g->m.deleter = given_free;
    g->m.context = self;
    Py_INCREF(self);
    PyObject *capsule = PyCapsule_New(&g->m, "dltensor", capsule_free);
    if (!capsule) given_free(&g->m);
    return capsule;
}

static PyObject *device_device(PyObject *self, PyObject *none) {
    device_array *x = (device_array *)self;
    (void)none;
    return need_cuda(x) ? NULL : Py_BuildValue("(ii)", ON_CUDA, x->cuda);
}

static size_t size_b(const hone_array *a) {
    size_t n = hone_dtype_size_b(a->dtype);
    for (uint32_t d = 0; d < a->rank; d++) n *= (size_t)a->dim[d];
    return n;
}

static PyObject *device_to_host(PyObject *self, PyObject *none) {
    device_array *x = (device_array *)self;
    hone_array a = x->a;
    (void)none;
    if (!(a.data = malloc(size_b(&a) + 1))) return PyErr_NoMemory();
    if (x->get(x->owner, a.data, x->a.data, size_b(&a))) {
        free(a.data);
        return NULL;
    }
    const hn_py_state *state = hn_py_state_of(Py_TYPE(self));
    return hn_py_array_new(state->array, &a);
}

static PyObject *device_dtype(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(hn_py_dtype_name((int32_t)((device_array *)self)->a.dtype));
}

static PyObject *device_shape(PyObject *self, void *closure) {
    const hone_array *a = &((device_array *)self)->a;
    PyObject *all = PyTuple_New(a->rank);
    (void)closure;
    for (uint32_t d = 0; all && d < a->rank; d++) PyTuple_SET_ITEM(all, d, PyLong_FromLongLong((long long)a->dim[d]));
    return all;
}

static void device_array_free(PyObject *self) {
    device_array *x = (device_array *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (x->free_it) x->free_it(x->owner, x->a.data);
    Py_XDECREF(x->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))device_dlpack, METH_VARARGS | METH_KEYWORDS,
     "A capsule of the array where it lies, for CUDA devices."},
    {"__dlpack_device__", device_device, METH_NOARGS, "(2, number): CUDA's device of that number."},
    {"to_host", device_to_host, METH_NOARGS, "A copy in the host's memory, as an Array."},
    {0},
};
static PyGetSetDef facts[] = {{"dtype", device_dtype, NULL, "name of the element type", NULL},
                              {"shape", device_shape, NULL, "its sizes", NULL},
                              {0}};
static PyType_Slot slots[] = {
    {Py_tp_doc, "An array that lies on the device of the model that made it."},
    {Py_tp_dealloc, device_array_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, facts},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "hone._hone.DeviceArray", .basicsize = sizeof(device_array), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

static PyObject *no_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    (void)args, (void)kw;
    return PyErr_Format(PyExc_TypeError, "cannot create '%s' instances", type->tp_name);
}

PyTypeObject *hn_py_device_array_type(PyObject *module) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (type) type->tp_new = no_new;
    return type;
}

PyObject *hn_py_device_array_new(const hn_py_state *state, const hone_array *a, PyObject *owner, int cuda,
                                 hn_py_device_free *free_it, hn_py_device_get *get) {
    device_array *x = PyObject_New(device_array, state->device_array);
    if (!x) {
        free_it(owner, a->data);
        return NULL;
    }
    x->a = *a, x->owner = owner, x->cuda = cuda, x->free_it = free_it, x->get = get;
    Py_INCREF(owner);
    return (PyObject *)x;
}

bool hn_py_device_array_of(const hn_py_state *state, PyObject *o, PyObject **owner, hone_array *out) {
    if (!state->device_array || !PyObject_TypeCheck(o, state->device_array)) return false;
    *owner = ((device_array *)o)->owner;
    *out = ((device_array *)o)->a;
    return true;
}
