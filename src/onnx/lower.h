/* onnx/lower.h — how an ONNX operator becomes primitives: one row per operator and range of opsets, in a table per
 * family.
 *
 * A lowering reads inputs and attributes of one node through the calls below and sets every output that the node names.
 * It never looks at protobuf. Failures: hn_refuse (unsupported: collected, import goes on with typed placeholders where
 * it can, so that all is listed at once) or hn_wrong (the model is wrong: import stops). After either, what the
 * lowering returns does not matter.
 */
#ifndef HN_LOWER_H
#define HN_LOWER_H

#include "ir/build.h"

typedef struct hn_lower hn_lower; /* one node being lowered; opaque, see import_int.h */

typedef void hn_lower_fn(hn_lower *c);
typedef struct hn_lower_row {
    const char *domain; /* "" for ai.onnx */
    const char *op;
    int since, until; /* opset versions of the domain, both included; HN_OPSET_MAX where it still holds */
    hn_lower_fn *lower;
    int arg; /* for functions shared by several rows: e.g. the hn_op of a pointwise operator */
} hn_lower_row;
enum { HN_OPSET_MAX = 27 };
/* Families; each table ends with a zeroed row. Registered in src/onnx/registry.c. */
extern const hn_lower_row hn_lower_math[], hn_lower_shape[], hn_lower_index[], hn_lower_reduce[], hn_lower_logic[],
    hn_lower_nn[], hn_lower_quant[], hn_lower_norm[], hn_lower_loss[], hn_lower_attention[], hn_lower_rnn[],
    hn_lower_image[], hn_lower_signal[], hn_lower_control[], hn_lower_misc[], hn_lower_ml[], hn_lower_training[],
    hn_lower_contrib[];

hn_builder *hn_lower_builder(hn_lower *c); /* where to emit */
int hn_lower_opset(const hn_lower *c);     /* version of the node's domain that the model imports */
int hn_lower_arg(const hn_lower *c);
const char *hn_lower_op(const hn_lower *c); /* operator name, for messages */

size_t hn_n_in(const hn_lower *c);
size_t hn_n_out(const hn_lower *c);
hn_val hn_in(hn_lower *c, size_t i);          /* 0 where absent ("" or past the end) */
bool hn_wants(const hn_lower *c, size_t i);   /* output i has a name */
void hn_out(hn_lower *c, size_t i, hn_val v); /* outputs that are not wanted may be set too */
/* The type that the model declares for output i (value_info or graph output), if any: a hint, never trusted over
 * inference. */
bool hn_declared(hn_lower *c, size_t i, hn_type *out);

/* Attributes; a wrong kind is hn_wrong. Strings and lists live as long as the import. */
bool hn_has(const hn_lower *c, const char *name);
int64_t hn_int(hn_lower *c, const char *name, int64_t otherwise);
double hn_float(hn_lower *c, const char *name, double otherwise);
const char *hn_string(hn_lower *c, const char *name, const char *otherwise);
size_t hn_ints(hn_lower *c, const char *name, const int64_t **out); /* 0 when absent */
size_t hn_floats(hn_lower *c, const char *name, const float **out);
size_t hn_strings(hn_lower *c, const char *name, const char *const **out);
const hn_tensor *hn_tensor_attr(hn_lower *c, const char *name);     /* NULL when absent */
bool hn_dtype_attr(hn_lower *c, const char *name, hone_dtype *out); /* an INT that is an ONNX DataType */
/* A graph attribute: imports its nodes into a new block below the current one, its inputs bound to `param` values made
 * by the caller in that block; results in order. False after a failure. */
bool hn_subgraph(hn_lower *c, const char *name, hn_block block, size_t n_param, const hn_val *param, size_t room,
                 hn_val *result, size_t *n_result);
size_t hn_subgraph_inputs(hn_lower *c, const char *name, hn_type *type,
                          size_t room); /* declared types where given, else rank 0 f32 */

/* Small helpers used everywhere. */
int64_t hn_axis(hn_lower *c, int64_t axis,
                size_t rank); /* negative counts from the end; out of range is hn_wrong and gives 0 */
/* Axes from attribute `axes` (old opsets) or input i (newer): sorted, made positive. False: not known at compile time
 * (refused). n = 0 when absent. */
bool hn_axes(hn_lower *c, size_t input, size_t rank, int64_t *axes, size_t *n);
/* An integer vector input as dimension expressions; bound at run time where unknown (hn_bind_dims). */
bool hn_in_dims(hn_lower *c, size_t i, hn_dim *out, size_t room, size_t *n);
/* Input i as a compile-time constant; refused with the input's index and name when it is not. */
const hn_tensor *hn_in_const(hn_lower *c, size_t i);

void hn_refuse(hn_lower *c, const char *reason, ...) HONE_PRINTF(2, 3);
void hn_wrong(hn_lower *c, const char *what, ...) HONE_PRINTF(2, 3);
bool hn_lower_failed(const hn_lower *c);

#endif
