/* tensor_pb.c — TensorProto and SparseTensorProto to dense arrays. Which field carries which element type: the comments
 * of TensorProto in the ONNX specification. Bytes that are good as they stand are borrowed, not copied. */
#include "base/err.h"
#include "onnx/external.h"
#include "onnx/wire.h"

#include <hone/onnx.h>
#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw tensor data is little-endian and is used in place");

typedef struct reader {
    hn_onnx *m;
    const HnOnnx__Tensor *t;
    const char *what;
    hn_tensor *out;
    const hn_dtype_info *info;
    int64_t n;
    hone_err *err;
} reader;

/* TensorProto.DataType of each element type. */
static const uint8_t number_of[HONE_N_DTYPES] = {
    [HONE_F32] = 1,     [HONE_F64] = 11,        [HONE_F16] = 10, [HONE_BF16] = 16,     [HONE_I8] = 3,
    [HONE_I16] = 5,     [HONE_I32] = 6,         [HONE_I64] = 7,  [HONE_U8] = 2,        [HONE_U16] = 4,
    [HONE_U32] = 12,    [HONE_U64] = 13,        [HONE_BOOL] = 9, [HONE_F8E4M3FN] = 17, [HONE_F8E4M3FNUZ] = 18,
    [HONE_F8E5M2] = 19, [HONE_F8E5M2FNUZ] = 20, [HONE_U4] = 21,  [HONE_I4] = 22,       [HONE_F4E2M1] = 23,
    [HONE_F8E8M0] = 24, [HONE_U2] = 25,         [HONE_I2] = 26,
};

int hn_onnx_dtype(hone_dtype t) { return number_of[t]; }

bool hn_dtype_from_onnx(int code, hone_dtype *out) {
    for (int i = 0; i < HONE_N_DTYPES; i++) {
        if (number_of[i] != code || !code) continue;
        *out = (hone_dtype)i;
        return true;
    }
    return false;
}

static const char *const other_dtypes[] = {[0] = "undefined", [8] = "string", [14] = "complex64", [15] = "complex128"};

const char *hn_onnx_dtype_name(int code) {
    hone_dtype t;
    if (hn_dtype_from_onnx(code, &t)) return hn_dtype_of(t)->text;
    if (code >= 0 && code < 16 && other_dtypes[code]) return other_dtypes[code];
    return "unknown";
}

static hone_rc set_type(reader *r) {
    const HnOnnx__Tensor *t = r->t;
    hn_tensor *o = r->out;
    *o = (hn_tensor){0};
    if (!hn_dtype_from_onnx(t->data_type, &o->dtype))
        return hn_fail(
            r->err,
            t->data_type >= 0 && t->data_type < 16 && other_dtypes[t->data_type] ? HONE_E_UNSUPPORTED : HONE_E_INPUT,
            "%s has element type %s (%d), which hone lacks", r->what, hn_onnx_dtype_name(t->data_type), t->data_type);
    if (t->segment) return hn_fail(r->err, HONE_E_UNSUPPORTED, "%s is stored in segments", r->what);
    if (t->n_dims > HN_RANK_MAX)
        return hn_fail(r->err, HONE_E_UNSUPPORTED, "%s has rank %zu, more than %d", r->what, t->n_dims, HN_RANK_MAX);
    o->rank = (uint8_t)t->n_dims;
    for (size_t i = 0; i < t->n_dims; i++) o->dim[i] = t->dims[i];
    if (!hn_tensor_count(o, &r->n))
        return hn_fail(r->err, HONE_E_INPUT, "%s: its sizes are negative or too large", r->what);
    r->info = hn_dtype_of(o->dtype);
    return HONE_OK;
}

/* Bytes that n elements take in a file: below eight bits they are packed. */
static uint64_t packed_b(const reader *r) {
    uint64_t bits = r->info->bits < 8 && r->out->dtype != HONE_BOOL ? r->info->bits : 8u * r->info->size_b;
    uint64_t n = (uint64_t)r->n;
    return bits >= 8 ? n * (bits / 8) : n / (8 / bits) + (n % (8 / bits) != 0);
}

static void *room_for(reader *r) {
    void *p = hn_alloc_n(&r->m->arena, (size_t)r->n, r->info->size_b);
    if (!p) hn_fail(r->err, HONE_E_NOMEM, "out of memory reading %s", r->what);
    return p;
}

/* Elements of 2 or 4 bits, low bits first, to one byte each; signed ones are extended. */
static void unpack_bits(const reader *r, const uint8_t *in, uint8_t *out) {
    unsigned bits = r->info->bits, per = 8 / bits, mask = (1u << bits) - 1, sign = 1u << (bits - 1);
    bool is_signed = r->info->cls == HN_CLASS_INT;
    for (int64_t i = 0; i < r->n; i++) {
        unsigned x = in[i / per] >> (unsigned)(i % per) * bits & mask;
        out[i] = (uint8_t)(is_signed ? (x ^ sign) - sign : x);
    }
}

static hone_rc from_bytes(reader *r, const void *bytes) {
    bool small = r->info->bits < 8;
    if (!small && (uintptr_t)bytes % 16 == 0) {
        r->out->data = (void *)(uintptr_t)bytes; /* const tensors are never written */
        return HONE_OK;
    }
    uint8_t *to = room_for(r);
    if (!to) return HONE_E_NOMEM;
    r->out->data = to;
    if (r->out->dtype == HONE_BOOL)
        for (int64_t i = 0; i < r->n; i++) to[i] = ((const uint8_t *)bytes)[i] != 0;
    else if (small)
        unpack_bits(r, bytes, to);
    else if (r->n)
        memcpy(to, bytes, (size_t)r->n * r->info->size_b);
    return HONE_OK;
}

static hone_rc wrong_count(reader *r, const char *field, size_t has, uint64_t want) {
    return hn_fail(r->err, HONE_E_INPUT, "%s: its type takes %llu values, but its %s has %zu", r->what,
                   (unsigned long long)want, field, has);
}

/* int32_data carries most types in the low bits of each number; the small ones packed into bytes first. */
static hone_rc from_int32(reader *r) {
    const HnOnnx__Tensor *t = r->t;
    bool small = r->info->bits < 8 && r->out->dtype != HONE_BOOL;
    uint64_t want = small ? packed_b(r) : (uint64_t)r->n;
    if (t->n_int32_data != want) return wrong_count(r, "int32_data", t->n_int32_data, want);
    if (r->info->size_b == 4) return from_bytes(r, t->int32_data);
    uint8_t *bytes = hn_alloc_n(&r->m->arena, (size_t)want, r->info->size_b);
    if (!bytes) return hn_fail(r->err, HONE_E_NOMEM, "out of memory reading %s", r->what);
    for (uint64_t i = 0; i < want; i++)
        memcpy(bytes + i * r->info->size_b, &t->int32_data[i], r->info->size_b); /* the low bytes come first */
    return from_bytes(r, bytes);
}

static hone_rc from_uint64(reader *r) {
    const HnOnnx__Tensor *t = r->t;
    if (t->n_uint64_data != (uint64_t)r->n) return wrong_count(r, "uint64_data", t->n_uint64_data, (uint64_t)r->n);
    if (r->out->dtype == HONE_U64) return from_bytes(r, t->uint64_data);
    uint32_t *to = room_for(r);
    if (!to) return HONE_E_NOMEM;
    for (int64_t i = 0; i < r->n; i++) to[i] = (uint32_t)t->uint64_data[i];
    r->out->data = to;
    return HONE_OK;
}

static hone_rc from_fields(reader *r) {
    const HnOnnx__Tensor *t = r->t;
    uint64_t n = (uint64_t)r->n;
    switch (r->out->dtype) {
    case HONE_F32:
        return t->n_float_data == n ? from_bytes(r, t->float_data) : wrong_count(r, "float_data", t->n_float_data, n);
    case HONE_F64:
        return t->n_double_data == n ? from_bytes(r, t->double_data)
                                     : wrong_count(r, "double_data", t->n_double_data, n);
    case HONE_I64:
        return t->n_int64_data == n ? from_bytes(r, t->int64_data) : wrong_count(r, "int64_data", t->n_int64_data, n);
    case HONE_U32:
    case HONE_U64: return from_uint64(r);
    default: return from_int32(r);
    }
}

hone_rc hn_onnx_tensor(hn_onnx *m, const HnOnnx__Tensor *t, const char *what, hn_tensor *out, hone_err *err) {
    hn_tensor made;
    reader r = {.m = m, .t = t, .what = what, .out = &made, .err = err};
    hone_rc rc = set_type(&r);
    if (rc) return rc;
    if (t->data_location == 1) {
        const void *bytes;
        rc = hn_external_bytes(m, t, what, packed_b(&r), &bytes, err);
        if (!rc) rc = from_bytes(&r, bytes);
    } else if (t->has_raw_data) {
        rc = t->raw_data.len == packed_b(&r)
                 ? from_bytes(&r, t->raw_data.len ? (const void *)t->raw_data.data : "")
                 : hn_fail(err, HONE_E_INPUT, "%s: its type takes %llu bytes, but its raw_data has %zu", what,
                           (unsigned long long)packed_b(&r), t->raw_data.len);
    } else {
        rc = from_fields(&r);
    }
    if (rc) return rc;
    if (!made.data && !(made.data = hn_alloc(&m->arena, 16))) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *out = made;
    return HONE_OK;
}

/* Flat position of the k-th value: an index into the flat array, or one index per dimension. */
static bool sparse_at(const hn_tensor *at, int64_t k, const hn_tensor *dense, int64_t n, int64_t *out) {
    const int64_t *index = at->data;
    int64_t flat = 0;
    if (at->rank == 1) {
        flat = index[k];
    } else {
        for (size_t d = 0; d < dense->rank; d++) {
            int64_t i = index[k * at->dim[1] + (int64_t)d];
            if (i < 0 || i >= dense->dim[d]) return false;
            flat = flat * dense->dim[d] + i;
        }
    }
    *out = flat;
    return flat >= 0 && flat < n;
}

static hone_rc sparse_shape(hn_onnx *m, const HnOnnx__SparseTensor *s, const char *what, hn_tensor *dense, int64_t *n,
                            hone_err *err) {
    if (s->n_dims > HN_RANK_MAX)
        return hn_fail(err, HONE_E_UNSUPPORTED, "%s has rank %zu, more than %d", what, s->n_dims, HN_RANK_MAX);
    dense->rank = (uint8_t)s->n_dims;
    for (size_t i = 0; i < s->n_dims; i++) dense->dim[i] = s->dims[i];
    if (!hn_tensor_count(dense, n)) return hn_fail(err, HONE_E_INPUT, "%s: its sizes are negative or too large", what);
    uint64_t size_b = (uint64_t)*n * hn_dtype_of(dense->dtype)->size_b, most_b = ((uint64_t)64 << 20) + 256 * m->file_b;
    if (size_b > most_b || m->widened_b > most_b - size_b)
        return hn_fail(err, HONE_E_LIMIT, "%s: sparse tensors that take %llu bytes when dense", what,
                       (unsigned long long)(m->widened_b + size_b));
    m->widened_b += size_b;
    return HONE_OK;
}

hone_rc hn_onnx_sparse(hn_onnx *m, const HnOnnx__SparseTensor *s, const char *what, hn_tensor *out, hone_err *err) {
    hn_tensor value, at, dense = {0};
    int64_t n, flat;
    if (!s->values || !s->indices) return hn_fail(err, HONE_E_INPUT, "%s lacks its values or indices", what);
    hone_rc rc = hn_onnx_tensor(m, s->values, what, &value, err);
    if (!rc) rc = hn_onnx_tensor(m, s->indices, what, &at, err);
    if (rc) return rc;
    dense.dtype = value.dtype;
    if ((rc = sparse_shape(m, s, what, &dense, &n, err))) return rc;
    if (value.rank != 1 || at.dtype != HONE_I64 || at.rank < 1 || at.rank > 2 || at.dim[0] != value.dim[0] ||
        (at.rank == 2 && at.dim[1] != dense.rank))
        return hn_fail(err, HONE_E_INPUT, "%s: its values and indices do not fit each other", what);
    size_t size_b = hn_dtype_of(dense.dtype)->size_b;
    char *data = hn_alloc_n(&m->arena, (size_t)n, size_b);
    if (!data) return hn_fail(err, HONE_E_NOMEM, "out of memory reading %s", what);
    for (int64_t k = 0; k < value.dim[0]; k++) {
        if (!sparse_at(&at, k, &dense, n, &flat))
            return hn_fail(err, HONE_E_INPUT, "%s: index %lld is outside its shape", what, (long long)k);
        memcpy(data + (size_t)flat * size_b, (const char *)value.data + (size_t)k * size_b, size_b);
    }
    dense.data = data;
    *out = dense;
    return HONE_OK;
}

/* A copy of its own, for callers of the public interface. */
static hone_rc array_of(const hn_tensor *t, hone_array *out, hone_err *err) {
    hone_array a = {.dtype = t->dtype, .rank = t->rank};
    size_t size_b = (size_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b;
    memcpy(a.dim, t->dim, sizeof a.dim);
    if (!(a.data = malloc(size_b ? size_b : 1))) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (size_b) memcpy(a.data, t->data, size_b);
    *out = a;
    return HONE_OK;
}

hone_rc hone_import_tensor(const char *path, hone_array *out, hone_err *err) {
    hn_mapping map = {0};
    hn_onnx m = {0};
    ProtobufCMessage *message;
    hn_tensor t;
    hone_rc rc = hn_map_file(path, &map, err);
    if (rc) return rc;
    m.file_b = map.n;
    rc = hn_wire_read(&m.arena, &hn_onnx__tensor__descriptor, map.at, map.n, path, &message, err);
    if (!rc) {
        const char *what = hn_format(&m.arena, "'%s'", path);
        rc = hn_onnx_tensor(&m, (const HnOnnx__Tensor *)message, what ? what : "tensor", &t, err);
    }
    if (!rc) rc = array_of(&t, out, err);
    hn_unmap(&map);
    hn_arena_free(&m.arena);
    return rc;
}
