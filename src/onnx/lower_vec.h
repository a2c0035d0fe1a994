/* onnx/lower_vec.h — what the families of lowerings share beyond lower.h: attributes of primitives and integer
 * vectors computed in the graph (sizes and axes that are known only at run time).
 */
#ifndef HN_LOWER_VEC_H
#define HN_LOWER_VEC_H

#include "onnx/lower_util.h"

/* Attributes of hn_emit. */
static inline hn_attr hn_a_int(hn_attr_id id, int64_t i) { return (hn_attr){.id = id, .kind = HN_K_INT, .i = i}; }
static inline hn_attr hn_a_dtype(hone_dtype t) { return (hn_attr){.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = t}; }
static inline hn_attr hn_a_word(hn_attr_id id, const char *word) {
    return (hn_attr){.id = id, .kind = HN_K_NAME, .name = word};
}
static inline hn_attr hn_a_ints(hn_attr_id id, size_t n, const int64_t *list) {
    return (hn_attr){.id = id, .kind = HN_K_INTS, .n = (uint32_t)n, .ints = list};
}
static inline hn_attr hn_a_dims(hn_attr_id id, size_t n, const hn_dim *list) {
    return (hn_attr){.id = id, .kind = HN_K_DIMS, .n = (uint32_t)n, .dims = list};
}
static inline hn_attr hn_a_blocks(size_t n, const hn_block *list) {
    return (hn_attr){.id = HN_A_BODY, .kind = HN_K_BLOCKS, .n = (uint32_t)n, .blocks = list};
}

/* One output, cast to type t. */
void hn_out_as(hn_lower *c, size_t i, hn_val v, hone_dtype t);

bool hn_has_in(hn_lower *c, size_t i); /* input i is there */
bool hn_sparse_attr(hn_lower *c, const char *name, hn_tensor *out);

/* --- i64 vectors in the graph ------------------------------------------------------------------------------------- */
hn_val hn_vec_at(hn_builder *b, hn_val v, size_t i);             /* element i as a scalar */
hn_val hn_vec_of(hn_builder *b, size_t n, const hn_val *scalar); /* scalars as a vector */
hn_val hn_vec_input(hn_lower *c, size_t i,
                    size_t *n); /* an integer input of rank <= 1 as an i64 vector of known length; 0 after a failure */
/* `otherwise`, a vector, with value[k] at axis[k] (negative ones count from the end). */
hn_val hn_vec_spread(hn_builder *b, hn_val axis, hn_val value, hn_val otherwise);
/* Sizes as dimension expressions, bound at run time where unknown; false after a failure. */
bool hn_vec_dims(hn_lower *c, hn_val v, size_t n, hn_dim *out);

#endif
