/* backend/cpu/reference_int.h — what the parts of the reference emitter share: names of values, sizes as C, loops over
 * elements, loads and stores in an element type's domain (src/backend/cpu/rt/base.h).
 *
 * Every row emits one node as statements that fill its outputs. Loops over the elements of a result go over [LO, HI)
 * of its flat index `i`: the kernel's [begin, end) when the body is one node whose elements stand alone, else all.
 * Index variables of the result are x0, x1, …; loops inside use k0, k1, ….   Owns: its strings; text made on the way is
 * in the arena.   Errors: sticky in `err` and the arena.
 */
#ifndef HN_REFERENCE_INT_H
#define HN_REFERENCE_INT_H

#include "backend/backend.h"
#include "base/err.h"
#include "base/str.h"

/* The language of the text: that of this processor's compiler, or of devices, whose kernels begin otherwise and which
 * tell memories apart. */
typedef struct hn_ref hn_ref;
typedef void hn_ref_fn(hn_ref *e);
typedef struct hn_ref_language {
    bool device;
    const char *global,  /* in front of what buffers and scratch hold */
        *constant,       /* … what a kernel's tables hold */
        *table;          /* in front of such a table */
    const char *make[2]; /* around the type of a value of a struct */
    /* The whole function, of e->tables and the statements e->text; sets what else a kernel's code has. */
    void (*assemble)(hn_ref *e, const char *name, hn_str *out, hn_kernel_code *code);
    /* Attention over blocks of keys, and its work items. */
    hn_ref_fn *attend;
    hn_dim (*attend_work)(hn_ref *e, const hn_node *n);
    const int64_t *attend_setting; /* of its knobs; NULL: the usual */
} hn_ref_language;
/* The body node by node, in that language: the function of hn_backend. */
hone_rc hn_reference(hn_graph *g, hn_block body, const char *name, const hn_ref_language *language, hn_arena *a,
                     hn_kernel_code *out, hone_err *err);

typedef enum hn_ref_kind { HN_DOM_F, HN_DOM_I, HN_DOM_U } hn_ref_kind;
struct hn_ref {
    hn_graph *g;
    const hn_ref_language *language;
    const char *name; /* of the kernel */
    const hn_blk *body;
    const hn_node *n; /* the node being emitted */
    hn_arena *a;
    hn_str tables, text;
    const char **at; /* by value: C name of its elements */
    bool *used;      /* by symbol */
    hn_str guard;    /* conditions of the next loop: all must hold, else the result is 0 and the error slot set */
    hn_dim scratch;
    const char *parts;
    bool alone; /* the body is one node, beside constants */
    bool split; /* loops go over [begin, end) */
    bool rows;  /* … of the outermost dimension, inside a loop over rows `row` */
    uint32_t n_temp, n_table;
    const char *shared; /* of devices: an item is a block of `threads`; declarations of its shared memory */
    int threads;
    int64_t shared_b;
    bool guarded;
    hone_rc rc;
    hone_err *err;
};
typedef enum hn_ref_unit {
    HN_UNIT_NONE,    /* the whole node at once */
    HN_UNIT_ELEMENT, /* an element of output 0 */
    HN_UNIT_LINE,    /* a line along AXIS of input 0 */
    HN_UNIT_TOKENS,  /* of attend: a few tokens and one head of keys */
    HN_UNIT_ROW      /* a row of output 0: along its last dimension */
} hn_ref_unit;
typedef struct hn_ref_row {
    hn_ref_fn *emit; /* NULL: control */
    hn_ref_unit unit;
    const char *parts; /* of the runtime, beside base and convert */
} hn_ref_row;

/* reference.c: a reshape that keeps its elements where they are. */
bool hn_ref_is_view(const hn_ref *e, const hn_node *n);
/* reference_rows.c */
bool hn_ref_by_rows(const hn_ref *e, hn_dim *work);
size_t hn_ref_lead(const hn_ref *e, const hn_type *t); /* number of the dimension that rows go over */

/* reference_point.c */
hn_ref_fn hn_ref_unary, hn_ref_binary, hn_ref_select, hn_ref_cast, hn_ref_bitcast;
/* reference_move.c */
hn_ref_fn hn_ref_iota, hn_ref_dims, hn_ref_random, hn_ref_reshape, hn_ref_transpose, hn_ref_broadcast, hn_ref_slice,
    hn_ref_pad, hn_ref_concat;
/* reference_index.c */
hn_ref_fn hn_ref_gather, hn_ref_gather_elements, hn_ref_gather_nd, hn_ref_scatter_elements, hn_ref_scatter_nd;
/* reference_sum.c */
hn_ref_fn hn_ref_reduce, hn_ref_arg, hn_ref_prefix, hn_ref_contract, hn_ref_conv, hn_ref_window;
/* reference_order.c */
hn_ref_fn hn_ref_topk, hn_ref_det, hn_ref_nonzero, hn_ref_unique, hn_ref_nms;
extern const hn_ref_language hn_ref_c; /* reference.c */

/* reference_attend.c */
hn_ref_fn hn_ref_attend;
hn_dim hn_ref_attend_work(hn_ref *e, const hn_node *n);
/* reference_packed.c */
hn_ref_fn hn_ref_unpack, hn_ref_quantize_blocks, hn_ref_packed_dot, hn_ref_packed_rows;

/* -- reference_text.c */
void hn_ref_add(hn_ref *e, const char *fmt, ...) HONE_PRINTF(2, 3); /* to the statements */
void hn_ref_decline(hn_ref *e, const char *fmt, ...) HONE_PRINTF(2, 3);
const hn_type *hn_ref_type(const hn_ref *e, hn_val v);
const char *hn_ref_dtype(const hn_ref *e, hn_val v); /* "f32" */
size_t hn_ref_size_b(const hn_ref *e, hn_val v);
hn_ref_kind hn_ref_domain(hone_dtype t);
/* A dimension expression as C, in brackets where it needs them. */
const char *hn_ref_dim(hn_ref *e, hn_dim d);
hn_dim hn_ref_product(hn_ref *e, const hn_type *t, size_t from, size_t to);
const char *hn_ref_count(hn_ref *e, const hn_type *t);
/* Flat index from one index text per dimension. */
const char *hn_ref_offset(hn_ref *e, const hn_type *t, const char *const *index);
void hn_ref_index(hn_ref *e, const hn_type *t, const char **index); /* x0, x1, … */
/* Element idx of v: raw bits as an lvalue; its value in its domain; that as a double. */
const char *hn_ref_raw(hn_ref *e, hn_val v, const char *idx);
const char *hn_ref_load(hn_ref *e, hn_val v, const char *idx);
const char *hn_ref_load_f(hn_ref *e, hn_val v, const char *idx);
/* v[idx] = expr; expr is of domain d; rounds once, clips floats that become integers. */
void hn_ref_store(hn_ref *e, hn_val v, const char *idx, hn_ref_kind d, const char *expr);
const char *hn_ref_c_type(hn_ref_kind d);
const char *hn_ref_int(hn_ref *e, int64_t x); /* a literal of type int64_t */
/* What stands in front of the element type in a pointer to v. */
const char *hn_ref_space(const hn_ref *e, hn_val v);
/* Adds the lines of `text`, indented by its braces. */
void hn_ref_add_indented(hn_str *out, const char *text);

/* A condition that must hold for the loop that is opened next. */
void hn_ref_guard(hn_ref *e, const char *fmt, ...) HONE_PRINTF(2, 3);
void hn_ref_guard_equal(hn_ref *e, hn_dim a, hn_dim b); /* nothing where that is proven */
/* Opens a block that is entered where the conditions hold, else the error slot is set. */
void hn_ref_guarded_open(hn_ref *e);
/* The loop over the elements of v. with_index: keeps x0, x1, … for the loop's body, which must not `continue`. */
void hn_ref_loop(hn_ref *e, hn_val v, bool with_index);
void hn_ref_end(hn_ref *e, hn_val v, bool with_index);
/* The loop over the lines of v along `axis`: `first` is the flat index of a line's first element. */
void hn_ref_lines(hn_ref *e, hn_val v, size_t axis);
void hn_ref_lines_end(hn_ref *e);
hn_dim hn_ref_n_lines(hn_ref *e, hn_val v, size_t axis);
/* `scratch` bytes for the node being emitted: declares `char *name`. */
void hn_ref_scratch(hn_ref *e, const char *name, hn_dim size_b);

#endif
