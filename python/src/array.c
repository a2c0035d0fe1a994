/* python/src/array.c — see array.h. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

/* --- types ---------------------------------------------------------------------------------------------------------
 */

/* By hone_dtype: the letter of the buffer protocol, the same in NumPy or ml_dtypes. Types without a letter travel as
 * unsigned integers of their size. */
static const struct kind {
    char letter;
    bool native;
    const char *name;
} kinds[HONE_N_DTYPES] = {
    [HONE_F32] = {'f', true, "float32"},
    [HONE_F64] = {'d', true, "float64"},
    [HONE_F16] = {'e', true, "float16"},
    [HONE_BF16] = {'H', false, "bfloat16"},
    [HONE_I8] = {'b', true, "int8"},
    [HONE_I16] = {'h', true, "int16"},
    [HONE_I32] = {'i', true, "int32"},
    [HONE_I64] = {'q', true, "int64"},
    [HONE_U8] = {'B', true, "uint8"},
    [HONE_U16] = {'H', true, "uint16"},
    [HONE_U32] = {'I', true, "uint32"},
    [HONE_U64] = {'Q', true, "uint64"},
    [HONE_BOOL] = {'?', true, "bool"},
    [HONE_F8E4M3FN] = {'B', false, "float8_e4m3fn"},
    [HONE_F8E4M3FNUZ] = {'B', false, "float8_e4m3fnuz"},
    [HONE_F8E5M2] = {'B', false, "float8_e5m2"},
    [HONE_F8E5M2FNUZ] = {'B', false, "float8_e5m2fnuz"},
    [HONE_U4] = {'B', false, "uint4"},
    [HONE_I4] = {'B', false, "int4"},
    [HONE_F4E2M1] = {'B', false, "float4_e2m1fn"},
    [HONE_F8E8M0] = {'B', false, "float8_e8m0fnu"},
    [HONE_U2] = {'B', false, "uint2"},
    [HONE_I2] = {'B', false, "int2"},
};

const char *hn_py_dtype_name(int32_t dtype) { return dtype >= 0 && dtype < HONE_N_DTYPES ? kinds[dtype].name : NULL; }

/* The type that a format such as "f", "<i4"-like "<i" or "@l" stands for; HONE_N_DTYPES when there is none. */
static hone_dtype dtype_of(const Py_buffer *view) {
    static const char classes[][8] = {"bhilqn", "BHILQN"};
    static const hone_dtype by_size[2][9] = {{[1] = HONE_I8, [2] = HONE_I16, [4] = HONE_I32, [8] = HONE_I64},
                                             {[1] = HONE_U8, [2] = HONE_U16, [4] = HONE_U32, [8] = HONE_U64}};
    const char *f = view->format ? view->format : "B";
    if (*f == '@' || *f == '=' || *f == '<') f++;
    if (!*f || f[1] || view->itemsize < 1 || view->itemsize > 8) return HONE_N_DTYPES;
    for (int i = 0; i < 2; i++)
        if (strchr(classes[i], *f)) return by_size[i][view->itemsize];
    for (int i = 0; i < HONE_N_DTYPES; i++)
        if (kinds[i].native && kinds[i].letter == *f) return (hone_dtype)i;
    return HONE_N_DTYPES;
}

/* --- inputs --------------------------------------------------------------------------------------------------------
 */

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

/* Prefixes NumPy's error for an object that is not an array with the input's name. */
static void unreadable(const hn_py_state *state, const char *name, const char *want) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *why = text ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    fail(state, "input '%s' takes %s: %.300s", name, want, why ? why : "this is no array");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

/* Converts objects without a buffer: an array of ml_dtypes to its bits; another library's array through NumPy; a list
 * or a number to the wanted type. */
static PyObject *as_buffer(PyObject *o, const char *name, hone_dtype want, const hn_py_state *state) {
    PyObject *dtype = PyObject_GetAttrString(o, "dtype"), *numpy, *out = NULL;
    PyErr_Clear();
    PyObject *text = dtype ? PyObject_Str(dtype) : NULL;
    const char *theirs = text ? PyUnicode_AsUTF8(text) : NULL;
    if (theirs && !kinds[want].native && !strcmp(theirs, kinds[want].name)) {
        out = PyObject_CallMethod(o, "view", "s", kinds[want].letter == 'H' ? "uint16" : "uint8");
    } else if (theirs && PyObject_HasAttrString(o, "__array_interface__")) {
        fail(state, "input '%s' takes %s, not %s", name, kinds[want].name, theirs);
    } else if ((numpy = PyImport_ImportModule("numpy")) != NULL) {
        const char *to = kinds[want].native ? kinds[want].name : kinds[want].letter == 'H' ? "uint16" : "uint8";
        out =
            theirs ? PyObject_CallMethod(numpy, "asarray", "O", o) : PyObject_CallMethod(numpy, "asarray", "Os", o, to);
        Py_DECREF(numpy);
        if (!out && (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError)))
            unreadable(state, name, kinds[want].name);
    }
    Py_XDECREF(text);
    Py_XDECREF(dtype);
    return out;
}

static int get_view(const hn_py_state *state, PyObject *o, const char *name, hone_dtype want, Py_buffer *view) {
    if (!PyObject_GetBuffer(o, view, PyBUF_FORMAT | PyBUF_STRIDES)) return 0;
    PyErr_Clear();
    PyObject *other = as_buffer(o, name, want, state);
    int bad = !other || PyObject_GetBuffer(other, view, PyBUF_FORMAT | PyBUF_STRIDES);
    Py_XDECREF(other); /* the view holds it */
    return bad ? -1 : 0;
}

static int check_type(const hn_py_state *state, const char *name, hone_dtype want, const Py_buffer *view) {
    hone_dtype got = dtype_of(view);
    bool bits = !kinds[want].native && got == (kinds[want].letter == 'H' ? HONE_U16 : HONE_U8);
    if (got == want || bits) return 0;
    if (got == HONE_N_DTYPES)
        return fail(state, "input '%s' takes %s, not items of format '%s'", name, kinds[want].name,
                    view->format ? view->format : "B");
    return fail(state, "input '%s' takes %s, not %s: convert it, as by x.astype('%s')", name, kinds[want].name,
                kinds[got].name, kinds[want].name);
}

/* In the order and alignment that a model reads. */
static int make_contiguous(hn_py_input *in) {
    Py_buffer *v = &in->view;
    bool aligned = (uintptr_t)v->buf % (size_t)v->itemsize == 0;
    in->array.data = v->buf;
    if ((aligned && PyBuffer_IsContiguous(v, 'C')) || !v->len) return 0;
    in->copy = malloc((size_t)v->len);
    if (!in->copy) {
        PyErr_NoMemory();
        return -1;
    }
    in->array.data = in->copy;
    return PyBuffer_ToContiguous(in->copy, v, v->len, 'C');
}

static int take_buffer(const hn_py_state *state, PyObject *o, const char *name, hone_dtype want, hn_py_input *out) {
    if (get_view(state, o, name, want, &out->view)) return -1;
    const Py_buffer *v = &out->view;
    int bad = check_type(state, name, want, v);
    if (!bad && v->ndim > HONE_RANK_MAX)
        bad = fail(state, "input '%s' has %d dimensions; %d are the most", name, v->ndim, HONE_RANK_MAX);
    out->array = (hone_array){.dtype = want, .rank = (uint32_t)v->ndim};
    for (int d = 0; d < v->ndim && !bad; d++) out->array.dim[d] = v->shape[d];
    return bad ? bad : make_contiguous(out);
}

/* An array that this model has made on its device; HN_PY_NO_PACK: o is none. */
static int take_own(const hn_py_state *state, PyObject *o, const hn_py_wanted *want, hn_py_input *out) {
    PyObject *owner;
    if (!hn_py_device_array_of(state, o, &owner, &out->array) || owner != want->program) return HN_PY_NO_PACK;
    if (out->array.dtype != want->dtype)
        return fail(state, "input '%s' takes %s, not %s: convert it", want->name, kinds[want->dtype].name,
                    kinds[out->array.dtype].name);
    out->space = 1;
    out->on_device = o;
    Py_INCREF(o);
    return 0;
}

int hn_py_input_take(const hn_py_state *state, PyObject *o, const hn_py_wanted *want, hn_py_input *out) {
    *out = (hn_py_input){0};
    int bad = take_own(state, o, want, out);
    if (bad == HN_PY_NO_PACK && !PyObject_CheckBuffer(o))
        bad = hn_py_pack_take(state, o, want->name, want->dtype, want->cuda, &out->pack, &out->array, &out->space);
    if (bad == HN_PY_NO_PACK) bad = take_buffer(state, o, want->name, want->dtype, out);
    if (bad) hn_py_input_drop(out);
    return bad;
}

void hn_py_input_drop(hn_py_input *in) {
    free(in->copy);
    if (in->view.obj) PyBuffer_Release(&in->view);
    hn_py_pack_drop(&in->pack);
    Py_XDECREF(in->on_device);
    *in = (hn_py_input){0};
}

/* --- outputs -------------------------------------------------------------------------------------------------------
 */

typedef struct owned {
    PyObject_HEAD void *data;
    Py_ssize_t itemsize, len, shape[HONE_RANK_MAX], strides[HONE_RANK_MAX];
    int rank;
    hone_dtype dtype;
    char format[2];
} owned;

PyObject *hn_py_array_new(PyTypeObject *type, const hone_array *a) {
    owned *x = PyObject_New(owned, type);
    if (!x) {
        free(a->data);
        return NULL;
    }
    x->data = a->data;
    x->dtype = a->dtype;
    x->rank = (int)a->rank;
    x->itemsize = x->len = (Py_ssize_t)hone_dtype_size_b(a->dtype);
    x->format[0] = kinds[a->dtype].letter;
    x->format[1] = 0;
    for (int d = x->rank; d-- > 0; x->len *= x->shape[d]) {
        x->shape[d] = (Py_ssize_t)a->dim[d];
        x->strides[d] = x->len;
    }
    return (PyObject *)x;
}

static void array_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    free(((owned *)self)->data);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int array_buffer(PyObject *self, Py_buffer *view, int flags) {
    owned *x = (owned *)self;
    *view = (Py_buffer){.buf = x->data, .obj = self, .len = x->len, .itemsize = x->itemsize, .ndim = x->rank};
    if (flags & PyBUF_FORMAT) view->format = x->format;
    if ((flags & PyBUF_ND) == PyBUF_ND) view->shape = x->shape;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = x->strides;
    Py_INCREF(self);
    return 0;
}

static PyObject *array_dtype(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(kinds[((owned *)self)->dtype].name);
}

static PyGetSetDef array_facts[] = {{"dtype", array_dtype, NULL, "name of the element type", NULL}, {0}};
static PyType_Slot array_slots[] = {
    {Py_tp_doc, "An array that a model has made: numpy.asarray(x) looks at it without a copy."},
    {Py_tp_dealloc, array_free},
    {Py_tp_getset, array_facts},
    {Py_bf_getbuffer, array_buffer},
    {0, NULL},
};
static PyType_Spec array_spec = {
    .name = "hone._hone.Array", .basicsize = sizeof(owned), .flags = Py_TPFLAGS_DEFAULT, .slots = array_slots};

static PyObject *array_no_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    (void)args, (void)kw;
    return PyErr_Format(PyExc_TypeError, "cannot create '%s' instances", type->tp_name);
}

PyTypeObject *hn_py_array_type(PyObject *module) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &array_spec, NULL);
    if (type) type->tp_new = array_no_new;
    return type;
}
