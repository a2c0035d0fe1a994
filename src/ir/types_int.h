/* ir/types_int.h — what the type rules share; for src/ir/types*.c alone.
 *
 * A rule reads the inputs' types and attributes of one call of hn_infer and fills its results. The first failure is
 * kept; after it the helpers give harmless values, so a rule needs few checks.
 */
#ifndef HN_TYPES_INT_H
#define HN_TYPES_INT_H

#include "ir/graph.h"

typedef struct hn_typing {
    hn_graph *g;
    hn_dims *d;
    hn_op op;
    size_t n_in, n_attr, n_out;
    const hn_type *const *in;
    const hn_attr *attr;
    hn_type *out;
    hone_err *err;
    hone_rc rc;
} hn_typing;
typedef void hn_type_rule(hn_typing *c);

/* What is wrong, without the operation and its inputs' types: hn_emit puts those in front. */
void hn_type_wrong(hn_typing *c, const char *fmt, ...) HONE_PRINTF(2, 3);
const char *hn_dim_brief(hn_typing *c, hn_dim d, char buf[100]);

const hn_attr *hn_type_attr(hn_typing *c, hn_attr_id id);       /* wrong and NULL when it is missing */
const hn_attr *hn_type_attr_maybe(hn_typing *c, hn_attr_id id); /* NULL when it is missing */
/* As above, a list of exactly n. */
const int64_t *hn_type_ints(hn_typing *c, hn_attr_id id, size_t n);
const hn_dim *hn_type_dims(hn_typing *c, hn_attr_id id, size_t n);
int64_t hn_type_int(hn_typing *c, hn_attr_id id, int64_t low, int64_t high); /* wrong and low when out of range */
size_t hn_type_axis(hn_typing *c, size_t rank);
hone_dtype hn_type_dtype(hn_typing *c);
void hn_type_word(hn_typing *c, hn_attr_id id, const char *const *words); /* one of these, NULL-terminated */
/* Symbol i of `defines`. */
hn_dim hn_type_symbol(hn_typing *c, size_t i);

/* Wrong unless the two can be equal; where that is not provable it becomes a relation. */
void hn_type_equal(hn_typing *c, hn_dim a, hn_dim b, const char *what);
void hn_type_one_shape(hn_typing *c, const hn_type *a, const hn_type *b, const char *what);
void hn_type_rank(hn_typing *c, size_t i, size_t low, size_t high); /* of input i */
void hn_type_push(hn_typing *c, hn_type *t, hn_dim d);              /* one more dimension */
bool hn_type_is(hn_typing *c, size_t i, unsigned classes);          /* wrong unless input i's class is among them */
void hn_type_want(hn_typing *c, size_t i, hone_dtype t);
enum {
    HN_ANY_FLOAT = 1 << HN_CLASS_FLOAT,
    HN_ANY_INT = 1 << HN_CLASS_INT | 1 << HN_CLASS_UINT,
    HN_ANY_BOOL = 1 << HN_CLASS_BOOL,
    HN_ANY_NUMBER = HN_ANY_FLOAT | HN_ANY_INT,
    HN_ANY = HN_ANY_NUMBER | HN_ANY_BOOL
};

/* Rules that live outside types.c, named as in ops.def. */
hn_type_rule hn_rule_gather, hn_rule_like1, hn_rule_gather_nd, hn_rule_reduce, hn_rule_arg, hn_rule_contract,
    hn_rule_conv, hn_rule_window, hn_rule_window_arg, hn_rule_topk, hn_rule_det, hn_rule_attend;
hn_type_rule hn_rule_unpack, hn_rule_quantize_blocks, hn_rule_packed_dot, hn_rule_packed_rows; /* types_packed.c */
hn_type_rule hn_rule_none, hn_rule_nonzero, hn_rule_unique, hn_rule_nms, hn_rule_if, hn_rule_loop, hn_rule_block;
void hn_check_scatter(hn_typing *c);

#endif
