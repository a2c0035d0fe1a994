/* ir/tensor.h — a dense, row-major array on the host with concrete sizes.
 *
 * Elements are stored as ir/dtypes.def says: at least one byte each. A tensor of rank 0 has one element.
 * Owns: nothing by itself; `data` belongs to the arena or mapping it was made from.
 */
#ifndef HN_TENSOR_H
#define HN_TENSOR_H

#include "base/arena.h"
#include <hone/ir.h>

#define HN_RANK_MAX 16

typedef struct hn_tensor {
    hone_dtype dtype;
    uint8_t rank;
    int64_t dim[HN_RANK_MAX];
    void *data; /* n * size_b bytes, aligned to 16; const tensors are never written */
} hn_tensor;

typedef enum hn_dclass { HN_CLASS_FLOAT, HN_CLASS_INT, HN_CLASS_UINT, HN_CLASS_BOOL } hn_dclass;
typedef struct hn_dtype_info {
    const char *text;
    uint8_t bits, size_b;
    hn_dclass cls;
    double lowest, highest, epsilon; /* of finite values; epsilon: distance from 1 to the next (floats) */
} hn_dtype_info;
const hn_dtype_info *hn_dtype_of(hone_dtype t); /* NULL for a number that is none */
int hn_random_bits(hone_dtype t); /* of a random number of this type: what its significand holds (ir/philox.h) */
bool hn_dtype_named(const char *text, hone_dtype *out);
static inline bool hn_is_float(hone_dtype t) { return hn_dtype_of(t)->cls == HN_CLASS_FLOAT; }
static inline bool hn_is_half(hone_dtype t) { return t == HONE_F16 || t == HONE_BF16; }

/* Number of elements; false when a dimension is negative or the product of sizes in bytes overflows int64. */
bool hn_tensor_count(const hn_tensor *t, int64_t *n);
int64_t hn_tensor_n(const hn_tensor *t); /* of a tensor that was checked */
/* Sets dtype, rank, dims and allocates zeroed data. False: too large or out of memory (sticky in the arena). */
bool hn_tensor_new(hn_arena *a, hone_dtype dtype, size_t rank, const int64_t *dim, hn_tensor *out);
/* Row-major strides in elements. */
void hn_strides(const hn_tensor *t, int64_t *stride);
/* Copies a box of `dim` elements of size_b bytes between two strided places (strides in elements, 0 repeats). */
void hn_copy_box(size_t size_b, size_t rank, const int64_t *dim, char *to, const int64_t *to_stride, const char *from,
                 const int64_t *from_stride);

/* Element i as a number of another kind. Floats are exact in double; 64-bit integers need the integer pair. */
double hn_get_f(const hn_tensor *t, int64_t i);
int64_t hn_get_i(const hn_tensor *t, int64_t i);   /* floats truncate; u64 by its bits */
void hn_set_f(hn_tensor *t, int64_t i, double x);  /* rounds to nearest even once; integers truncate and saturate */
void hn_set_i(hn_tensor *t, int64_t i, int64_t x); /* integers keep the low bits */

/* Conversions between double and the small floats; saturate as in ONNX Cast. bits in the low end. */
uint32_t hn_float_encode(hone_dtype t, double x, bool saturate);
double hn_float_decode(hone_dtype t, uint32_t bits);
/* f8e8m0, a power of two: mode 'u' up, 'd' down, 'n' nearest (what hn_float_encode takes; ties up). As ONNX has it the
 * value is rounded to f32 first, the sign is dropped, and 0 becomes the smallest power. */
uint32_t hn_e8m0_encode(double x, char mode, bool saturate);

#endif
