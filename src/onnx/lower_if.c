/* lower_if.c — If. A condition that constants or sizes decide is decided here. Another becomes an `if` with a region
 * for each branch, where their results have one type and rank; where they have not, choices.h says what is tried. */
#include "onnx/import_int.h"
#include "onnx/lower_fns.h"

#include <onnx.pb-c.h>
#include <stdint.h>

enum { MAX_RESULTS = 256, MOST_DEPTH = 40 };
static const char *const branch_name[2] = {"else_branch", "then_branch"};

/* --- what decides a condition --------------------------------------------------------------------------------------
 */

/* Whether v is true, where constants or the ranges of sizes say it: 1, 0, or -1. */
static int decided(hn_builder *b, hn_val v) {
    const hn_tensor *known = hn_known_tensor(b, v);
    hn_dim d;
    size_t n;
    int64_t truth;
    if (known) return hn_tensor_n(known) == 1 ? hn_get_i(known, 0) != 0 : -1;
    return hn_known_dims(b, v, &d, 1, &n) && n == 1 && hn_dim_is_int(b->g->dims, d, &truth) ? truth != 0 : -1;
}

/* Is v made of sizes and constants alone? */
static bool from_sizes(const hn_graph *g, hn_val v, unsigned depth) {
    const hn_node *n = v ? hn_def(g, v) : NULL;
    if (!n || depth > MOST_DEPTH) return false;
    if (n->op == HN_OP_DIMS || n->op == HN_OP_CONST) return true;
    if (n->n_out != 1 || !n->n_in || !(hn_op_of(n->op)->flags & HN_PURE)) return false;
    for (size_t i = 0; i < n->n_in; i++)
        if (!from_sizes(g, n->in[i], depth + 1)) return false;
    return true;
}

static bool one_size(hn_builder *b, hn_val v, hn_dim *d) {
    size_t n;
    return hn_known_dims(b, v, d, 1, &n) && n == 1;
}

/* States that v, one bool made of sizes, is `truth`, as facts about the sizes; false where that cannot be said so. */
static bool state_sizes(hn_builder *b, hn_val v, bool truth, unsigned depth) {
    const hn_node *n = hn_def(b->g, v);
    hn_dim x, y;
    if (!n || depth > MOST_DEPTH || !n->n_in) return false;
    switch (n->op) {
    case HN_OP_NOT: return state_sizes(b, n->in[0], !truth, depth + 1);
    case HN_OP_RESHAPE: return state_sizes(b, n->in[0], truth, depth + 1);
    case HN_OP_CAST:
        if (hn_dt(b, n->in[0]) == HONE_BOOL) return state_sizes(b, n->in[0], truth, depth + 1);
        if (truth || !one_size(b, n->in[0], &x)) return false;
        hn_dim_assume_equal(b->g->dims, x, hn_lit(b, 0));
        return true;
    case HN_OP_EQ:
    case HN_OP_NE:
        if ((n->op == HN_OP_EQ) != truth || hn_dt(b, n->in[0]) == HONE_BOOL || !one_size(b, n->in[0], &x) ||
            !one_size(b, n->in[1], &y))
            return false;
        hn_dim_assume_equal(b->g->dims, x, y);
        return true;
    case HN_OP_AND:
    case HN_OP_OR:
        if ((n->op == HN_OP_AND) != truth || hn_dt(b, v) != HONE_BOOL) return false;
        for (size_t i = 0; i < 2; i++) {
            const hn_val side = hn_def(b->g, v)->in[i];
            if (decided(b, side) < 0 && !state_sizes(b, side, truth, depth + 1)) return false;
        }
        return true;
    default: return false;
    }
}

/* A name for the symbol that says that a branch is taken. */
static const char *hint_of(hn_lower *c, bool truth) {
    const char *name = c->node->name && c->node->name[0] ? c->node->name : hn_n_out(c) ? hn_out_name(c, 0) : "";
    const char *hint = hn_format(c->im->arena, "%s_of_%.80s_", truth ? "then_branch" : "else_branch", name);
    return hint ? hint : "branch";
}

/* From here on cond is `truth`, in every legal run. A fact about sizes where it can be said so and all runs come by
 * here; else a symbol takes the value while the model runs, and is said to be 1. */
static void rule(hn_lower *c, hn_val cond, bool truth) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim one = hn_lit(b, 1), symbol;
    size_t n;
    if (!b->b && from_sizes(b->g, cond, 0) && state_sizes(b, cond, truth, 0)) return;
    hn_val v = hn_reshape(b, hn_cast(b, truth ? cond : hn_un(b, HN_OP_NOT, cond), HONE_I64), 1, &one);
    if (hn_bind_dims(b, v, hint_of(c, truth), &symbol, 1, &n)) hn_dim_assume_equal(b->g->dims, symbol, one);
}

/* --- branches ------------------------------------------------------------------------------------------------------
 */

static void inline_branch(hn_lower *c, const char *name) {
    const hn_bound *result[MAX_RESULTS];
    size_t n = 0;
    if (!hn_subgraph_bound(c, name, c->b.b, 0, NULL, MAX_RESULTS, result, &n)) return;
    for (size_t i = 0; i < n; i++) hn_out_bound(c, i, result[i]);
}

typedef struct regions {
    hn_block block[2];                      /* else, then */
    const hn_bound *result[2][MAX_RESULTS]; /* of the branches, or of what follows them */
    size_t n;                               /* results of each */
    hn_val tensor[2][MAX_RESULTS];          /* those and the items of their sequences, one by one */
    size_t n_tensor;
} regions;

/* Adds the tensors of one result; false where the two have another kind, length, type or rank. */
static bool add_pair(hn_lower *c, regions *r, const hn_bound *no, const hn_bound *yes) {
    if (no->kind != yes->kind || no->n != yes->n || r->n_tensor == MAX_RESULTS) return false;
    if (no->kind != HN_BOUND_TENSOR) {
        for (size_t i = 0; i < no->n; i++)
            if (!add_pair(c, r, no->item[i], yes->item[i])) return false;
        return no->kind == HN_BOUND_SEQUENCE || no->kind == HN_BOUND_OPTIONAL;
    }
    const hn_type *a = hn_type_of(c->b.g, no->v), *b = hn_type_of(c->b.g, yes->v);
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    r->tensor[0][r->n_tensor] = no->v;
    r->tensor[1][r->n_tensor++] = yes->v;
    return true;
}

static bool fit(hn_lower *c, regions *r) {
    r->n_tensor = 0;
    for (size_t i = 0; i < r->n; i++)
        if (!add_pair(c, r, r->result[0][i], r->result[1][i])) return false;
    return true;
}

/* Symbols for the dimensions in which the branches differ; false where they are too many. */
static bool differences(hn_lower *c, const regions *r, hn_dim *out, size_t *n_out) {
    hn_graph *g = c->b.g;
    *n_out = 0;
    for (size_t i = 0; i < r->n_tensor; i++) {
        hn_type a = *hn_type_of(g, r->tensor[1][i]), b = *hn_type_of(g, r->tensor[0][i]);
        for (size_t k = 0; k < a.rank; k++) {
            if (hn_dim_equal(g->dims, a.dim[k], b.dim[k]) == HN_EQUAL) continue;
            if (*n_out == MAX_RESULTS) return false;
            out[(*n_out)++] = hn_dim_symbol(g->dims, "if", 0, INT64_MAX);
        }
    }
    return true;
}

/* `like` with the next results of the `if` in place of its tensors. */
static const hn_bound *rebound(hn_lower *c, const hn_bound *like, hn_val *next) {
    if (like->kind == HN_BOUND_TENSOR) return hn_bound_tensor(c->im, (*next)++);
    const hn_bound **item = HN_NEW_N(c->im->arena, const hn_bound *, like->n);
    hn_bound *b = HN_NEW(c->im->arena, hn_bound);
    if (!b || !item) return hn_bound_poison();
    for (size_t i = 0; i < like->n; i++) item[i] = rebound(c, like->item[i], next);
    *b = *like;
    b->item = item;
    return b;
}

/* The `if` of two regions that fit; out[i] is what result i has become. */
static bool join(hn_lower *c, hn_val cond, regions *r, const hn_bound **out) {
    hn_graph *g = c->b.g;
    hn_dim symbol[MAX_RESULTS];
    const hn_block block[2] = {r->block[1], r->block[0]}; /* the IR has `then` first */
    size_t n_symbol;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < r->n_tensor; i++) hn_result(g, block[k], r->tensor[1 - k][i], NULL);
    if (!hn_graph_ok(g) || !differences(c, r, symbol, &n_symbol)) return false;
    hn_attr attr[] = {hn_a_blocks(2, block), hn_a_dims(HN_A_DEFINES, n_symbol, symbol)};
    hn_val v = r->n_tensor ? hn_emit(g, c->b.b, HN_OP_IF, 1, &cond, n_symbol ? 2 : 1, attr, r->n_tensor) : 0;
    if (r->n_tensor && !v) return false;
    for (size_t i = 0; i < r->n; i++) out[i] = rebound(c, r->result[1][i], &v);
    return true;
}

/* --- two versions --------------------------------------------------------------------------------------------------
 */

/* Branch k, then all nodes behind the If: the outputs of the graph around it. */
static bool version(hn_lower *c, regions *r, size_t k) {
    const hn_bound *result[MAX_RESULTS];
    size_t n;
    hn_block block = r->block[k] = hn_block_new(c->b.g, c->b.b);
    if (!hn_graph_ok(c->b.g)) return false;
    hn_scope rest = {
        .parent = c->scope, .frame = c->scope->frame, .block = block, .hint = c->scope->hint, .graph = c->scope->graph};
    if (!hn_subgraph_bound(c, branch_name[k], block, 0, NULL, MAX_RESULTS, result, &n)) return false;
    for (size_t i = 0; i < n && i < hn_n_out(c); i++)
        if (hn_wants(c, i)) hn_scope_bind(c->im, &rest, hn_out_name(c, i), result[i]);
    hn_import_nodes(c->im, &rest, c->later + 1, c->n_later - 1);
    r->n = hn_scope_outputs(c->scope);
    for (size_t i = 0; i < r->n && hn_import_ok(c->im); i++) {
        r->result[k][i] = hn_scope_find(&rest, hn_scope_output(c->scope, i));
        if (!r->result[k][i])
            hn_wrong(c, "nothing defines output '%s'", hn_shown(c->im->arena, hn_scope_output(c->scope, i)));
    }
    return hn_import_ok(c->im) && !c->im->n_refused;
}

static void two_versions(hn_lower *c, hn_val cond) {
    regions r = {0};
    const hn_bound *out[MAX_RESULTS];
    if (hn_scope_outputs(c->scope) > MAX_RESULTS) {
        hn_refuse(c, "more than %d outputs behind it", MAX_RESULTS);
        return;
    }
    if (!version(c, &r, 1) || !version(c, &r, 0)) return;
    if (!fit(c, &r) || !join(c, cond, &r, out)) {
        if (!hn_lower_failed(c)) hn_refuse(c, "its branches lead to outputs of another element type or rank");
        return;
    }
    for (size_t i = 0; i < r.n; i++) {
        const char *name = hn_scope_output(c->scope, i);
        if (!hn_names_get(&c->scope->value, name)) hn_scope_bind(c->im, c->scope, name, out[i]);
    }
    c->scope->done = true;
}

/* --- If ------------------------------------------------------------------------------------------------------------
 */

static bool branch(hn_lower *c, regions *r, size_t k) {
    size_t n;
    r->block[k] = hn_block_new(c->b.g, c->b.b);
    if (!hn_subgraph_bound(c, branch_name[k], r->block[k], 0, NULL, MAX_RESULTS, r->result[k], &n)) return false;
    if (n != hn_n_out(c)) hn_wrong(c, "its branches have other numbers of outputs than the node's %zu", hn_n_out(c));
    r->n = n;
    return hn_import_ok(c->im);
}

/* Both branches as regions. Open where they do not fit, or where sizes decide which one runs and one cannot be read. */
static void both_branches(hn_lower *c, hn_val cond, uint32_t at) {
    regions r = {0};
    const hn_bound *out[MAX_RESULTS];
    bool read = branch(c, &r, 1) && branch(c, &r, 0);
    if (c->im->choices.open || !hn_arena_ok(c->im->arena) || c->b.g->arena.failed) return;
    if (read ? !fit(c, &r) : from_sizes(c->b.g, cond, 0))
        hn_choices_open(c->im, at, c->shown);
    else if (read && join(c, cond, &r, out))
        for (size_t i = 0; i < r.n; i++) hn_out_bound(c, i, out[i]);
}

void hn_lower_if(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val cond = hn_in(c, 0);
    uint32_t at;
    if (!cond) return;
    int known = decided(b, cond);
    if (known >= 0) {
        inline_branch(c, branch_name[known]);
        return;
    }
    cond = hn_scalar(b, cond);
    hn_take take = hn_choices_next(c->im, &at);
    if (take == HN_TAKE_OPEN) {
        both_branches(c, cond, at);
    } else if (take == HN_TAKE_BOTH) {
        two_versions(c, cond);
    } else {
        rule(c, cond, take == HN_TAKE_THEN);
        inline_branch(c, branch_name[take == HN_TAKE_THEN]);
    }
}
