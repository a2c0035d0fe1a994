/* onnx/import_int.h — the private part of the importer: names and what they stand for, calls of functions, the node
 * being lowered.
 *
 * Owns: everything lives in the arena of the model (im->m), which the graph keeps alive (g->hold).
 * Threads: one at a time.
 * Errors: the first hn_wrong (or sticky failure of the graph) ends an import: im->err. Refusals are collected in
 * im->report, one line each.
 */
#ifndef HN_IMPORT_INT_H
#define HN_IMPORT_INT_H

#include "base/names.h"
#include "base/str.h"
#include "onnx/choices.h"
#include "onnx/lower.h"
#include "onnx/onnx.h"

struct HnOnnx__Node;
struct HnOnnx__Graph;
struct HnOnnx__Function;
struct HnOnnx__Opset;
struct HnOnnx__Attribute;
struct HnOnnx__Type;

/* --- what a name stands for ------------------------------------------------------------------------------------- */
typedef enum hn_bound_kind {
    HN_BOUND_TENSOR,
    HN_BOUND_SEQUENCE, /* its items are known one by one */
    HN_BOUND_OPTIONAL, /* n = 0 or 1 items */
    HN_BOUND_POISON,   /* the output of a refused node, or made of one */
    HN_BOUND_ABSENT,   /* a function's input that its call leaves out */
} hn_bound_kind;
typedef struct hn_bound {
    hn_bound_kind kind;
    hn_val v;
    uint32_t n;
    const struct hn_bound *const *item;
} hn_bound;

typedef struct hn_frame { /* whose opsets and attributes hold: the model, or one call of a function */
    struct HnOnnx__Opset *const *opset;
    size_t n_opset;
    const struct HnOnnx__Function *function; /* NULL: the model */
    const struct HnOnnx__Node *call;
    const struct hn_frame *outer;
    uint32_t depth;
} hn_frame;

typedef struct hn_scope {          /* one graph or function body */
    const struct hn_scope *parent; /* whose names are visible too */
    const hn_frame *frame;
    hn_block block;
    hn_names value, hint;              /* name -> hn_bound *, name -> HnOnnx__Type * */
    const struct HnOnnx__Graph *graph; /* whose nodes stand in it; NULL: the body of frame->function */
    bool done;                         /* an If took the nodes behind it into its branches: choices.h */
} hn_scope;

typedef struct hn_importer {
    hn_onnx *m;
    hn_arena *arena;
    hn_graph *g;
    hn_names symbol, function; /* dim_param -> hn_dim *, "domain:name:overload" -> HnOnnx__Function * */
    hn_symbol_options options;
    hn_str report;
    size_t n_refused, n_lowered;
    hone_err err; /* rc OK while the model is all right */
    hn_choices choices;
} hn_importer;

struct hn_lower {
    hn_importer *im;
    hn_scope *scope;
    const struct HnOnnx__Node *node;
    const hn_lower_row *row;
    hn_builder b;
    int opset;
    const char *shown;    /* "node 'conv1' (Conv)" */
    const hn_bound **in;  /* one per input; NULL: absent */
    const hn_bound **out; /* one per output; NULL: not set */
    bool refused;
    struct HnOnnx__Node *const *later; /* the node itself, then those behind it in its graph */
    size_t n_later;
};

/* --- lower.c ----------------------------------------------------------------------------------------------------- */
bool hn_import_ok(const hn_importer *im);
void hn_import_wrong(hn_importer *im, hone_rc rc, const char *fmt, ...) HONE_PRINTF(3, 4);
void hn_import_refuse(hn_importer *im, const char *fmt, ...) HONE_PRINTF(2, 3);
const hn_bound *hn_scope_find(const hn_scope *s, const char *name);
void hn_scope_bind(hn_importer *im, hn_scope *s, const char *name, const hn_bound *b);
const hn_bound *hn_bound_tensor(hn_importer *im, hn_val v);
const hn_bound *hn_bound_poison(void);
const hn_bound *hn_bound_absent(void);
/* Initialisers, then nodes of a graph, into s->block. */
void hn_import_graph(hn_importer *im, hn_scope *s, const struct HnOnnx__Graph *g);
void hn_import_nodes(hn_importer *im, hn_scope *s, struct HnOnnx__Node *const *node, size_t n);
/* Reads the operators of nodes that are not lowered, so that what is unknown among them is listed too. */
void hn_import_scan(hn_importer *im, const hn_scope *s, const struct HnOnnx__Node *node);
/* "node 'conv1' (Conv)", also for a node without a name. */
const char *hn_node_shown(hn_importer *im, const struct HnOnnx__Node *node);

/* --- types.. of the model: shapes.c ------------------------------------------------------------------------------ */
/* A declared tensor type; dimensions that are not known are 0 unless `make` is a name to make symbols of. False: no
 * tensor of a known rank; *why says what it is. */
bool hn_import_type(hn_importer *im, const struct HnOnnx__Type *t, const char *make, hn_type *out, const char **why);
bool hn_import_names_dim(const char *text); /* false: NULL, "", and what stands for an unknown size, such as "?" */
hone_rc hn_check_symbol_options(const hn_importer *im, hone_err *err);

/* --- functions.c -------------------------------------------------------------------------------------------------- */
void hn_list_functions(hn_importer *im);
const struct HnOnnx__Function *hn_function_of(const hn_importer *im, const struct HnOnnx__Node *node);
void hn_call_function(hn_lower *c, const struct HnOnnx__Function *f);
/* The attribute of a node as it holds inside a call: references are resolved. NULL when absent. */
const struct HnOnnx__Attribute *hn_attribute(const hn_frame *f, const struct HnOnnx__Node *node, const char *name);

/* --- registry.c --------------------------------------------------------------------------------------------------- */
/* The row that holds; NULL with *why set. domain: "" for ai.onnx. */
const hn_lower_row *hn_row_find(const char *domain, const char *op, int opset);
bool hn_row_known(const char *domain, const char *op, int *since, int *until); /* any opset; the range of all rows */
const char *hn_domain(const char *domain);                                     /* "ai.onnx" and NULL are "" */
int hn_opset_newest(const char *domain);                                       /* 0: a domain that hone does not know */

/* --- inspect.c ---------------------------------------------------------------------------------------------------- */
hone_rc hn_onnx_inspect(const hn_front_source *from, hn_model_summary *out, hone_err *err);

/* --- for the families that see more than tensors ------------------------------------------------------------------ */
const hn_bound *hn_in_bound(hn_lower *c, size_t i); /* NULL where absent */
void hn_out_bound(hn_lower *c, size_t i, const hn_bound *b);
const char *hn_out_name(const hn_lower *c, size_t i);
/* As hn_subgraph, but parameters and results may be anything. */
bool hn_subgraph_bound(hn_lower *c, const char *name, hn_block block, size_t n_param, const hn_bound *const *param,
                       size_t room, const hn_bound **result, size_t *n_result);
const struct HnOnnx__Graph *hn_graph_attr(hn_lower *c, const char *name);
size_t hn_scope_outputs(const hn_scope *s);
const char *hn_scope_output(const hn_scope *s, size_t i); /* of the graph or function whose scope it is */

#endif
