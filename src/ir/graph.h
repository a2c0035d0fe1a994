/* ir/graph.h — the graph IR: SSA values, nodes in blocks, one arena per graph.
 *
 * Owns: nodes, types, names, dimension table; constants' data, or borrows it from a mapping kept alive by `hold`.
 * Threads: one at a time.   Errors: building is sticky (`g->err`): check once with hn_graph_ok.
 * Invariants (hn_verify): 1 every value is defined once, by a node or as a block's parameter, before its uses in list
 * order; regions may use values of the blocks around them, kernels capture nothing; 2 inputs and attributes are what
 * ops.def says; 3 the types of outputs are what the type rule gives; 4 a symbol of a dimension is an input's or is
 * defined by a node in front of its use; 5 names in `inputs`/`outputs` are unique.
 */
#ifndef HN_GRAPH_H
#define HN_GRAPH_H

#include "base/arena.h"
#include "ir/dim.h"
#include "ir/tensor.h"
#include <hone/ir.h>

typedef uint32_t hn_val;   /* value; 0: none (an absent optional input) */
typedef uint32_t hn_block; /* 0: the main block */

typedef enum hn_op {
#define HN_OP(id, text, imin, imax, outs, cls, kind, flags, takes, result, doc) HN_OP_##id,
#include "ir/ops.def"
#undef HN_OP
    HN_N_OPS
} hn_op;
/* Kinds of kernels, ir/kinds.def. */
typedef enum hn_kernel_kind {
    HN_KIND_NONE, /* no kernel */
#define HN_KIND(id, text, doc) HN_KIND_##id,
#include "ir/kinds.def"
#undef HN_KIND
    HN_N_KINDS
} hn_kernel_kind;
typedef enum hn_attr_id {
#define HN_ATTR(id, text, kind, doc) HN_A_##id,
#include "ir/attrs.def"
#undef HN_ATTR
    HN_N_ATTRS
} hn_attr_id;
typedef enum hn_attr_kind {
    HN_K_INT,
    HN_K_FLOAT,
    HN_K_INTS,
    HN_K_DIMS,
    HN_K_NAME,
    HN_K_TENSOR,
    HN_K_BLOCKS,
    HN_K_DTYPE
} hn_attr_kind;
typedef enum hn_op_class {
    HN_SOURCE,
    HN_UNARY,
    HN_BINARY,
    HN_TERNARY,
    HN_MOVE,
    HN_INDEX,
    HN_REDUCE,
    HN_ARG,
    HN_PREFIX,
    HN_CONTRACT,
    HN_WINDOW,
    HN_ORDER,
    HN_OPAQUE,
    HN_BIND,
    HN_CONTROL,
    HN_KERNEL
} hn_op_class;
enum { HN_PURE = 1, HN_COMMUTES = 2, HN_ASSOCIATES = 4, HN_EASY = 8, HN_FUNCTION = 16, HN_DOMAIN = 32 };
typedef struct hn_op_info {
    const char *text;
    int in_min, in_max, outs; /* -1: any */
    hn_op_class cls;
    hn_kernel_kind kind; /* of the kernel that one node alone is */
    unsigned flags;
    unsigned takes; /* 1 << hn_dclass of input 0 of pointwise and prefix operations */
} hn_op_info;
const hn_op_info *hn_op_of(hn_op op); /* graph.c, as the next ones; NULL for a number that is none */
bool hn_op_named(const char *text, hn_op *out);
bool hn_op_is_easy(hn_op op);                   /* cheaper to compute again than to store */
const char *hn_kind_text(hn_kernel_kind kind);  /* "map" …; "" for NONE */
hn_kernel_kind hn_kind_named(const char *text); /* NONE where it is no kind */
typedef struct hn_attr_info {
    const char *text;
    hn_attr_kind kind;
} hn_attr_info;
const hn_attr_info *hn_attr_of(hn_attr_id id);
bool hn_attr_named(const char *text, hn_attr_id *out);
bool hn_op_takes(hn_op op, hn_attr_id id); /* is it among the capitals of the op's row? `name` always is */

typedef struct hn_attr {
    hn_attr_id id;
    hn_attr_kind kind; /* of the id, see attrs.def */
    uint32_t n;        /* length of a list */
    union {
        int64_t i; /* INT, DTYPE */
        double f;
        const int64_t *ints;
        const hn_dim *dims;
        const char *name;
        const hn_tensor *tensor;
        const hn_block *blocks;
    };
} hn_attr;

typedef struct hn_type {
    hone_dtype dtype;
    uint8_t rank;
    hn_dim dim[HN_RANK_MAX];
} hn_type;

typedef struct hn_node {
    hn_op op;
    uint16_t n_in, n_out, n_attr;
    hn_val *in, *out;
    hn_attr *attr;   /* ascending by id */
    uint32_t source; /* index of the model's node it came from + 1, 0 unknown; see g->source */
} hn_node;

typedef struct hn_value {
    hn_type type;
    hn_block block;   /* where it is defined */
    uint32_t node;    /* node id + 1, or 0 for a parameter */
    uint16_t index;   /* which output, or which parameter */
    const char *name; /* of graph inputs and outputs, else NULL or a hint */
} hn_value;

typedef struct hn_blk {
    hn_val *param, *result;
    uint32_t *node; /* ids in order */
    uint32_t n_param, n_result, n_node, room;
    hn_block parent;
} hn_blk;

typedef struct hone_graph hn_graph;
struct hone_graph {
    hn_arena arena;
    hn_dims *dims;
    hn_node *node;
    hn_value *value; /* [0] is none */
    hn_blk *block;   /* [0] main: parameters are the graph's inputs, results its outputs */
    uint32_t n_node, n_value, n_block, room_node, room_value, room_block;
    const char **output_name; /* of block 0's results */
    const char **port_shape;  /* of inputs, then outputs, as text; see hn_graph_seal */
    const char **source;      /* "node 'conv1' (Conv)" of the model's nodes, for messages */
    uint32_t n_source;
    uint32_t at_source; /* what hn_emit writes into node.source: set it before lowering a node of the model */
    hone_err err;       /* first failure of a build; rc OK while all is well */
    void *hold;         /* what keeps borrowed constants alive, and how to let it go */
    void (*let_go)(void *hold);
};

hn_graph *hn_graph_new(void); /* NULL: out of memory */
static inline bool hn_graph_ok(const hn_graph *g) { return g->err.rc == HONE_OK && hn_arena_ok(&g->arena); }
hn_block hn_block_new(hn_graph *g, hn_block parent);
hn_val hn_param(hn_graph *g, hn_block b, const char *name, const hn_type *type); /* of block 0: an input */
void hn_result(hn_graph *g, hn_block b, hn_val v, const char *name);             /* of block 0: an output */
/* "[batch, 4]"; sizes of inputs have the names that the model gave them. */
void hn_port_shape(const hn_graph *g, hn_val v, struct hn_str *out);
/* Dimensions of all values but the graph's inputs become those that stand for them since the last equality, so that
 * equal ids are equal sizes; values made later have them from the start. */
void hn_graph_settle(hn_graph *g);

uint32_t hn_source(hn_graph *g, const char *text); /* appends to g->source; its number for node.source */

/* Appends a node to block b. Arrays may move: a hn_node * or hn_value * taken before still shows the old state, but is
 * not written through any more; take it again (lists inside a node stay where they are). The type rule of the op
 * computes output types; what is wrong is sticky in g->err with the op, the source and the offending types. attr need
 * not be sorted; lists and tensors in it are copied (a tensor's data is borrowed). Returns the first output (further
 * ones are consecutive ids), 0 after a failure. */
hn_val hn_emit(hn_graph *g, hn_block b, hn_op op, size_t n_in, const hn_val *in, size_t n_attr, const hn_attr *attr,
               size_t n_out);

const hn_attr *hn_attr_get(const hn_node *n, hn_attr_id id); /* NULL when absent */
int64_t hn_attr_i(const hn_node *n, hn_attr_id id, int64_t otherwise);
/* Of the images of conv and windows: the dimension of the channels, the first spatial one. */
static inline size_t hn_channel_dim(bool channels_last, size_t rank) { return channels_last ? rank - 1 : 1; }
static inline size_t hn_spatial_dim(bool channels_last) { return channels_last ? 1 : 2; }
static inline const hn_type *hn_type_of(const hn_graph *g, hn_val v) { return &g->value[v].type; }
static inline const hn_node *hn_def(const hn_graph *g, hn_val v) {
    return g->value[v].node ? &g->node[g->value[v].node - 1] : NULL;
}
bool hn_type_static(const hn_graph *g, const hn_type *t, int64_t dim[HN_RANK_MAX]); /* all dimensions constant */
hn_dim hn_type_count(hn_graph *g, const hn_type *t);                                /* number of elements */
bool hn_type_same(const hn_graph *g, const hn_type *a, const hn_type *b);
/* The last step of making a graph for users of hone/ir.h: what is handed out later is made now, so that reading is
 * safe in several threads. */
void hn_graph_seal(hn_graph *g);
struct hn_str;
void hn_type_print(const hn_graph *g, const hn_type *t, struct hn_str *out); /* f32[n, 3]; f32[] is a scalar */
/* First failure of a build: kept in g->err with the place (the model's node) in front. Returns 0. */
hn_val hn_graph_fail(hn_graph *g, hone_rc rc, const char *fmt, ...) HONE_PRINTF(3, 4);

/* The type rules alone (src/ir/types.c). Fills out[n_out]; the graph is not const because dimensions are interned. */
hone_rc hn_infer(hn_graph *g, hn_op op, size_t n_in, const hn_type *const *in, size_t n_attr, const hn_attr *attr,
                 size_t n_out, hn_type *out, hone_err *err);

hone_rc hn_verify(const hn_graph *g, hone_err *err);
/* Text (docs/ir.md). Values are numbered from 0 in the order of their definition. */
void hn_print(const hn_graph *g, struct hn_str *out);
void hn_print_block(const hn_graph *g, hn_block b, struct hn_str *out); /* without sources: equal text = equal code */
/* Constants of more than `above` elements are printed as offsets into a side file called `name` (raw, aligned to 64);
 * hn_write_weights writes that file. */
void hn_print_weights(const hn_graph *g, int64_t above, const char *name, struct hn_str *out);
hone_rc hn_write_weights(const hn_graph *g, int64_t above, const char *path, hone_err *err);
/* path: for messages, and where to look for a side file (beside it); NULL refuses side files. E_INPUT:
 * path:line:column: … */
hone_rc hn_parse(const char *text, size_t n, const char *path, hn_graph **out, hone_err *err);
void hn_graph_free(hn_graph *g);

/* Copies node `id` of `from` (which may be `to`) to the end of block b of `to`: map[value of from] = value of to, read
 * for its inputs and what its regions capture, filled for its outputs. Regions are copied with it. Symbols of another
 * table are found by name. */
void hn_copy_node(hn_graph *to, hn_block b, const hn_graph *from, uint32_t id, hn_val *map);
hn_graph *hn_copy_graph(const hn_graph *from);    /* constants' data is shared: keep `from`; check with hn_graph_ok */
void hn_graph_adopt(hn_graph *g, hn_graph *from); /* `from` is freed with g, whose constants borrow from it */
/* Replaces every use of `old` (also in regions and results) by `with`, in place: a walk over the whole graph. */
void hn_replace(hn_graph *g, hn_val old, hn_val with);
/* Many at once: map[v] = 0 or v stays, else replaced; chains are followed. n entries. */
void hn_remap(hn_graph *g, const hn_val *map, uint32_t n);
/* Removes nodes whose outputs nobody uses (keeps symbol-defining ones whose symbols are used), in place, in all blocks;
 * and results of `if` and `loop` that nobody uses with what makes them; compacts lists. Gives the number of nodes and
 * results removed. */
size_t hn_sweep(hn_graph *g);

#endif
