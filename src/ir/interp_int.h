/* ir/interp_int.h — what the parts of the interpreter share.
 *
 * One function per operation (or class of operations) computes the results of one node from dense inputs; the driver
 * (interp.c) has evaluated the sizes of the results and allocated them, except for operations that define symbols,
 * which size their results themselves (hn_call_out). Scratch memory is taken from `scratch` and given back by the
 * driver after the node.   Threads: everything a call reaches belongs to one run.
 */
#ifndef HN_INTERP_INT_H
#define HN_INTERP_INT_H

#include "base/err.h"
#include "ir/interp.h"

typedef struct hn_call {
    const hn_graph *g;
    const hn_node *node;
    const hn_tensor *const *in; /* n_in of the node; NULL where absent */
    hn_tensor *out;             /* n_out of the node; data is zeroed */
    int64_t *symbol;            /* values of all symbols, INT64_MIN where unknown */
    hn_arena *scratch;
    hone_err *err;
} hn_call;
typedef hone_rc hn_eval_fn(hn_call *c);

/* interp_pointwise.c */
hn_eval_fn hn_eval_unary, hn_eval_binary, hn_eval_select, hn_eval_cast, hn_eval_bitcast;
/* The scalar semantics, over n elements: floats in double before rounding, integers in 64 bits before wrapping.
 * uns: the element type is u64, whose bits stand in an int64; bits: of the element type. */
void hn_unary_f(hn_op op, int64_t n, const double *x, double *out);
void hn_unary_i(hn_op op, hone_dtype t, int64_t n, const int64_t *x, int64_t *out);
void hn_binary_f(hn_op op, int64_t n, const double *x, const double *y, double *out);
void hn_binary_i(hn_op op, bool uns, int bits, int64_t n, const int64_t *x, const int64_t *y, int64_t *out);
void hn_compare_f(hn_op op, int64_t n, const double *x, const double *y, int64_t *out);
void hn_compare_i(hn_op op, bool uns, int64_t n, const int64_t *x, const int64_t *y, int64_t *out);
bool hn_op_compares(hn_op op);
bool hn_op_needs_float(hn_op op); /* unary operations on integers that are computed as double */
/* interp_move.c */
hn_eval_fn hn_eval_const, hn_eval_iota, hn_eval_dims, hn_eval_random, hn_eval_reshape, hn_eval_transpose,
    hn_eval_broadcast, hn_eval_slice, hn_eval_pad, hn_eval_concat;
double hn_random_at(int64_t seed, bool normal, hone_dtype t, int64_t i);
int64_t hn_pad_source(const char *mode, int64_t i, int64_t n); /* position i (may lie outside) of a dimension of n */
/* interp_index.c */
hn_eval_fn hn_eval_gather, hn_eval_gather_elements, hn_eval_gather_nd, hn_eval_scatter_elements, hn_eval_scatter_nd;
/* interp_reduce.c */
hn_eval_fn hn_eval_reduce, hn_eval_arg, hn_eval_prefix;
double hn_reduce_start_f(hn_op op, hone_dtype t);
int64_t hn_reduce_start_i(hn_op op, hone_dtype t);
double hn_reduce_step_f(hn_op op, double acc, double x);
int64_t hn_reduce_step_i(hn_op op, bool uns, int64_t acc, int64_t x);
/* interp_contract.c */
hn_eval_fn hn_eval_contract, hn_eval_conv;
/* interp_window.c */
hn_eval_fn hn_eval_window;
/* A convolution or window whose images have their channels last, by means of copies of them. */
hone_rc hn_eval_channels_first(hn_call *c, hn_eval_fn *eval);
/* interp_order.c */
hn_eval_fn hn_eval_topk, hn_eval_nonzero, hn_eval_unique;
/* interp_packed.c */
hn_eval_fn hn_eval_unpack, hn_eval_quantize_blocks, hn_eval_packed_dot, hn_eval_packed_rows;
/* interp_odd.c */
hn_eval_fn hn_eval_det, hn_eval_bind, hn_eval_nms;
/* interp_attend.c */
hn_eval_fn hn_eval_attend;

/* interp_sizes.c */
/* The sizes of a type under the known symbols; E_UNSUPPORTED when one is not known, E_INPUT when it is negative. */
hone_rc hn_sizes_of(const hn_call *c, const hn_type *type, int64_t *dim);
/* Finds the symbols that make `type` have the sizes of t, and checks those that are known. `what` names t in messages:
 * "input 'x'". Several types together: call for each in turn until *found no longer grows, then with final = true. */
hone_rc hn_sizes_match(const hn_graph *g, const hn_type *type, const hn_tensor *t, int64_t *symbol, bool final,
                       size_t *found, const char *what, hone_err *err);
hone_rc hn_sizes_relations(const hn_graph *g, int64_t *symbol, size_t *found, const char *what, hone_err *err);

/* interp.c */
const char *hn_call_name(const hn_call *c); /* "node 'conv1' (Conv)", or the operation's text */
hone_rc hn_call_out(hn_call *c, size_t i, hone_dtype t, size_t rank, const int64_t *dim);
hone_rc hn_call_define(hn_call *c, size_t k, int64_t value); /* symbol k of DEFINES */
hone_rc hn_call_nomem(const hn_call *c);
hone_rc hn_eval_node(hn_call *c); /* dispatch; results are allocated by malloc: the caller frees out[i].data */

/* Elements [at, at + n) as numbers, and back with one rounding (floats) or the low bits (integers). */
enum { HN_CHUNK = 512 };
void hn_load_f(const hn_tensor *t, int64_t at, int64_t step, int64_t n, double *x);
void hn_load_i(const hn_tensor *t, int64_t at, int64_t step, int64_t n, int64_t *x);
void hn_store_f(hn_tensor *t, int64_t at, int64_t n, const double *x);
void hn_store_i(hn_tensor *t, int64_t at, int64_t n, const int64_t *x);

static inline int64_t hn_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t hn_max64(int64_t a, int64_t b) { return a > b ? a : b; }
int64_t hn_product(const int64_t *dim, size_t from, size_t to);
/* Next index in row-major order; false after the last. */
bool hn_next_index(size_t rank, const int64_t *dim, int64_t *index);
double hn_int_to_double_odd(int64_t x, bool uns); /* rounds to odd: a further rounding below 52 bits is right */

static inline int64_t hn_wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t hn_wrap_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t hn_wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

#endif
