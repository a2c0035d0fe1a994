/* hone/array.h — element types and dense arrays; comparing arrays.
 *
 * Threads: all functions are re-entrant.
 */
#ifndef HONE_ARRAY_H
#define HONE_ARRAY_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types: rows of src/ir/dtypes.def, in that order; the numbers are part of the ABI of compiled models. */
typedef enum hone_dtype {
    HONE_F32,
    HONE_F64,
    HONE_F16,
    HONE_BF16,
    HONE_I8,
    HONE_I16,
    HONE_I32,
    HONE_I64,
    HONE_U8,
    HONE_U16,
    HONE_U32,
    HONE_U64,
    HONE_BOOL,
    HONE_F8E4M3FN,
    HONE_F8E4M3FNUZ,
    HONE_F8E5M2,
    HONE_F8E5M2FNUZ,
    HONE_U4,
    HONE_I4,
    HONE_F4E2M1,
    HONE_F8E8M0,
    HONE_U2,
    HONE_I2,
    HONE_N_DTYPES
} hone_dtype;
/* "f32" …; NULL for a number that is none. Size of an element in memory: types below 8 bits take one byte each. */
HONE_API const char *hone_dtype_name(hone_dtype t);
HONE_API size_t hone_dtype_size_b(hone_dtype t);

#define HONE_RANK_MAX 16

/* A dense row-major array. Each function says who owns data. */
typedef struct hone_array {
    hone_dtype dtype;
    uint32_t rank;
    int64_t dim[HONE_RANK_MAX];
    void *data;
} hone_array;

typedef struct hone_array_difference {
    bool same;               /* shape and type agree and no element is outside |got - want| <= atol + rtol * |want| */
    double max_abs, max_rel; /* over pairs of finite elements */
    int64_t n_wrong, at;     /* elements outside; flat index of the worst, -1 where shapes or types differ */
} hone_array_difference;
/* NaN equals NaN, infinities by sign, integers and bools exactly. */
HONE_API hone_rc hone_array_compare(const hone_array *got, const hone_array *want, double rtol, double atol,
                                    hone_array_difference *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
