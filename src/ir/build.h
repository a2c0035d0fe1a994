/* ir/build.h — short ways to write IR: numpy-style helpers over hn_emit. Used by the importer and by passes.
 *
 * A builder is a place (graph, block). All calls return a value id, 0 after a failure (sticky in the graph, and 0 is
 * accepted as an input then).
 */
#ifndef HN_BUILD_H
#define HN_BUILD_H

#include "ir/graph.h"

typedef struct hn_builder {
    hn_graph *g;
    hn_block b;
} hn_builder;

/* -- types */
const hn_type *hn_t(const hn_builder *b, hn_val v);
size_t hn_rank(const hn_builder *b, hn_val v);
hone_dtype hn_dt(const hn_builder *b, hn_val v);
hn_dim hn_dim_of(const hn_builder *b, hn_val v, size_t axis);
hn_dim hn_lit(hn_builder *b, int64_t n); /* constant dimension */

/* -- constants */
hn_val hn_const(hn_builder *b, const hn_tensor *t);
hn_val hn_const_f(hn_builder *b, hone_dtype t, double x); /* scalar, rank 0 */
hn_val hn_const_i(hn_builder *b, hone_dtype t, int64_t x);
hn_val hn_const_ints(hn_builder *b, size_t n, const int64_t *x);                         /* i64 vector */
hn_val hn_full(hn_builder *b, hone_dtype t, size_t rank, const hn_dim *shape, double x); /* broadcast scalar */
hn_val hn_iota(hn_builder *b, hone_dtype t, size_t rank, const hn_dim *shape, size_t axis);
hn_val hn_dims_value(hn_builder *b, size_t n, const hn_dim *d); /* i64 vector of dimension values */
hn_val hn_shape_value(hn_builder *b, hn_val x);                 /* ONNX Shape */

/* -- pointwise, with numpy broadcasting done by explicit `broadcast` nodes; element types must agree */
hn_val hn_un(hn_builder *b, hn_op op, hn_val x);
hn_val hn_bin(hn_builder *b, hn_op op, hn_val x, hn_val y);
hn_val hn_bin_f(hn_builder *b, hn_op op, hn_val x, double y); /* y as a scalar of x's type */
hn_val hn_f_bin(hn_builder *b, hn_op op, double x, hn_val y);
hn_val hn_where(hn_builder *b, hn_val c, hn_val x, hn_val y);
hn_val hn_cast(hn_builder *b, hn_val x, hone_dtype t); /* no node when it has that type already; saturate = 1 */
/* The common shape of n values by numpy's rule (unknown pairs are assumed equal, as a relation). False: cannot be. */
bool hn_common_shape(hn_builder *b, size_t n, const hn_val *v, size_t *rank, hn_dim *shape);
hn_val hn_broadcast_to(hn_builder *b, hn_val x, size_t rank,
                       const hn_dim *shape); /* right-aligned; no node when equal */

/* -- movement; axes may be negative here */
hn_val hn_reshape(hn_builder *b, hn_val x, size_t rank, const hn_dim *shape);
hn_val hn_transpose(hn_builder *b, hn_val x, const int64_t *perm);
hn_val hn_swap(hn_builder *b, hn_val x, int64_t axis1, int64_t axis2);
hn_val hn_unsqueeze(hn_builder *b, hn_val x, int64_t axis); /* axis of the result */
hn_val hn_squeeze(hn_builder *b, hn_val x, int64_t axis);
hn_val hn_slice_axis(hn_builder *b, hn_val x, int64_t axis, hn_dim start, hn_dim length, int64_t step);
hn_val hn_pad(hn_builder *b, hn_val x, const hn_dim *low, const hn_dim *high, hn_val value); /* value: rank 0 */
hn_val hn_pad_axis(hn_builder *b, hn_val x, int64_t axis, hn_dim low, hn_dim high, double value);
hn_val hn_concat(hn_builder *b, size_t n, const hn_val *x, int64_t axis);
hn_val hn_flip(hn_builder *b, hn_val x, int64_t axis);
hn_val hn_gather(hn_builder *b, hn_val x, hn_val index, int64_t axis);

/* -- reductions and contractions */
hn_val hn_reduce(hn_builder *b, hn_op op, hn_val x, size_t n_axes, const int64_t *axes, bool keep);
hn_val hn_reduce1(hn_builder *b, hn_op op, hn_val x, int64_t axis, bool keep);
hn_val hn_mean(hn_builder *b, hn_val x, size_t n_axes, const int64_t *axes,
               bool keep);                                           /* sum / number, also for symbolic sizes */
hn_val hn_matmul(hn_builder *b, hn_val x, hn_val y, hone_dtype out); /* numpy.matmul: ranks >= 1, batch broadcast */
hn_val hn_contract(hn_builder *b, hn_val x, hn_val y, const int64_t *lhs, const int64_t *rhs, size_t n_out,
                   const int64_t *out, hone_dtype t);
hn_val hn_softmax(hn_builder *b, hn_val x,
                  int64_t axis); /* exp(x - max) / sum: five primitives, recognised again by fusion */

/* -- what is known at compile time */
/* v as a constant tensor: a const node, or a pure tree over const nodes of at most 2^20 elements, which is evaluated
 * (and cached). NULL: not constant. */
const hn_tensor *hn_known_tensor(hn_builder *b, hn_val v);
/* v, an integer tensor of rank <= 1 with at most 64 elements, as dimension expressions: constants, dims, and add, sub,
 * mul, div, min, max, mod, concat, gather, slice, reshape, cast, select over such. False: some element is not known. */
bool hn_known_dims(hn_builder *b, hn_val v, hn_dim *out, size_t room, size_t *n);
/* As above; elements that are not known become new symbols `hint0…` that a bind node defines at run time. The length of
 * v must be known. */
bool hn_bind_dims(hn_builder *b, hn_val v, const char *hint, hn_dim *out, size_t room, size_t *n);

#endif
