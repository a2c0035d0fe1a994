/* onnx/lower_vec.h — inputs that are integer vectors (sizes and axes, perhaps known only at run time), outputs of a
 * type.
 */
#ifndef HN_LOWER_VEC_H
#define HN_LOWER_VEC_H

#include "onnx/lower_util.h"

/* One output, cast to type t. */
void hn_out_as(hn_lower *c, size_t i, hn_val v, hone_dtype t);

bool hn_has_in(hn_lower *c, size_t i); /* input i is there */
bool hn_sparse_attr(hn_lower *c, const char *name, hn_tensor *out);

/* --- i64 vectors: more of them in compose/compose.h */
hn_val hn_vec_input(hn_lower *c, size_t i,
                    size_t *n); /* an integer input of rank <= 1 as an i64 vector of known length; 0 after a failure */
/* Sizes as dimension expressions, bound at run time where unknown; false after a failure. */
bool hn_vec_dims(hn_lower *c, hn_val v, size_t n, hn_dim *out);

#endif
