/* pass/fold.c — what depends on constants alone is computed now, by the reference interpreter.
 *
 * A node becomes a constant if that keeps the weights from growing: at most SMALL elements, or not more bytes than the
 * constants that it alone is made of, or a part of one that is all cut up; a broadcast or iota above that stays, so
 * that kernels make it on the fly. Weights that a product or convolution reads grow (dequantised, of half precision)
 * while all constants stay below WEIGHTS_MAX_B: made on the fly they would be made in every run, and could not be
 * packed. A value that is not worth keeping is computed in scratch memory when a node that is needs it
 * (a reduction over a mask of iotas). An `if` whose condition is known is replaced by its branch.
 */
#include "pass/fold.h"
#include "base/err.h"
#include "ir/interp.h"
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 64, SCRATCH_MAX_B = 64 << 20, WORK_MAX = 1 << 30, WALKS_MAX = 16, DEPTH_MAX = 200, OUT_MAX = 4 };
static const int64_t WEIGHTS_MAX_B = 1 << 30;

/* For values that depend on constants alone but are no constant nodes: they are evaluated only when a node that is
 * worth keeping needs them. */
typedef struct folder {
    uint8_t *depth;          /* nodes between v and constants; 0: v depends on more than constants */
    const hn_tensor **known; /* while one node is evaluated: in `scratch` */
    hn_val *made;            /* values that have an entry in known */
    struct cut {
        uint32_t n;   /* nodes that take a part of a value, or move it */
        int64_t size; /* bytes of what they make */
    } * cut;
    bool *factor;        /* a product or convolution reads it, which is none of bytes */
    bool widens;         /* products of bytes have been found: the weights of others may become wider types */
    int64_t constants_b; /* of all constants; those that replace larger ones are not counted again */
    uint32_t n_values, n_made;
    hn_arena scratch;
} folder;

static unsigned depth_of(const hn_rewriter *r, hn_val v) {
    const folder *f = r->arg;
    return v < f->n_values ? f->depth[v] : 0;
}

static size_t tensor_b(const hn_tensor *t) { return (size_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b; }

static bool measure_one(const hn_graph *g, hn_val v, int64_t *elements, int64_t *bytes) {
    const hn_type *type = hn_type_of(g, v);
    hn_tensor t = {.dtype = type->dtype, .rank = type->rank};
    if (!hn_type_static(g, type, t.dim) || !hn_tensor_count(&t, elements)) return false;
    *bytes = *elements * hn_dtype_of(t.dtype)->size_b;
    return *bytes <= SCRATCH_MAX_B;
}

/* Bytes and elements of the results; false where they are not known or too many. */
static bool measure(const hn_graph *g, const hn_node *n, int64_t *elements, int64_t *bytes) {
    *elements = *bytes = 0;
    for (size_t i = 0; i < n->n_out; i++) {
        int64_t k, b;
        if (!measure_one(g, n->out[i], &k, &b)) return false;
        *elements += k;
        *bytes += b;
    }
    return *bytes <= SCRATCH_MAX_B;
}

/* Products that are added up for one result of a contraction: the sizes of what is in no result. False: unknown. */
static bool summed(const hn_graph *g, const hn_node *n, int64_t *each) {
    const hn_attr *out = hn_attr_get(n, HN_A_OUT);
    *each = 1;
    for (size_t i = 0; i < n->n_in; i++) {
        const hn_attr *labels = hn_attr_get(n, i ? HN_A_RHS : HN_A_LHS), *before = hn_attr_get(n, HN_A_LHS);
        for (uint32_t d = 0; d < labels->n; d++) {
            int64_t size;
            if (hn_label_place(out, labels->ints[d]) >= 0 || (i && hn_label_place(before, labels->ints[d]) >= 0))
                continue;
            if (!hn_dim_is_int(g->dims, hn_type_of(g, n->in[i])->dim[d], &size)) return false;
            if (__builtin_mul_overflow(*each, size, each)) return false;
        }
    }
    return true;
}

/* Multiplications of a contraction or window: the interpreter takes half a second for WORK_MAX of a contraction. Of a
 * window the larger input bounds what goes into one result. */
static bool affordable(const hn_rewriter *r, const hn_node *n, int64_t elements) {
    hn_op_class cls = hn_op_of(n->op)->cls;
    int64_t each = 1;
    if (cls == HN_CONTRACT && !summed(r->g, n, &each)) return false;
    for (size_t i = 0; cls == HN_WINDOW && i < n->n_in; i++) {
        int64_t k, b;
        if (!measure_one(r->g, n->in[i], &k, &b)) return false;
        if (k > each) each = k;
    }
    return elements == 0 || each <= WORK_MAX / elements;
}

static void find_uses_of(folder *f, const hn_graph *g, const hn_node *n) {
    hn_op_class cls = hn_op_of(n->op)->cls;
    int64_t elements, bytes;
    bool moves = n->op == HN_OP_SLICE || n->op == HN_OP_TRANSPOSE || n->op == HN_OP_RESHAPE;
    for (size_t i = 0; i < n->n_in && f->widens && (cls == HN_CONTRACT || cls == HN_WINDOW); i++)
        f->factor[n->in[i]] = true;
    if (n->op == HN_OP_CONST) f->constants_b += (int64_t)tensor_b(hn_const_of(g, n->out[0]));
    if (!moves || !measure(g, n, &elements, &bytes)) return;
    f->cut[n->in[0]].n++;
    f->cut[n->in[0]].size += bytes;
}
static void find_uses(folder *f, const hn_graph *g) {
    for (hn_block b = 0; b < g->n_block; b++)
        for (uint32_t k = 0; k < g->block[b].n_node; k++) find_uses_of(f, g, &g->node[g->block[b].node[k]]);
}

/* Are all uses of a constant parts of it, together no larger than it is (the two directions of a recurrent network's
 * weights)? */
static bool cut_up(const hn_rewriter *r, hn_val v, const hn_tensor *t) {
    const folder *f = r->arg;
    return v < f->n_values && v < r->n_map && f->cut[v].n == r->n_use[v] && f->cut[v].size <= (int64_t)tensor_b(t);
}

/* Bytes of constants that nobody reads any more once the node is a constant. */
static int64_t freed_b(const hn_rewriter *r, const hn_node *n) {
    int64_t from = 0;
    for (size_t i = 0; i < n->n_in; i++) {
        const hn_tensor *t = hn_const_of(r->g, n->in[i]);
        if (t && (hn_used_once(r, n->in[i]) || cut_up(r, n->in[i], t))) from += (int64_t)tensor_b(t);
    }
    return from;
}

static bool worth_keeping(const hn_rewriter *r, const hn_node *n, int64_t elements, int64_t bytes) {
    const folder *f = r->arg;
    if (elements <= SMALL) return true;
    if (n->op == HN_OP_BROADCAST || n->op == HN_OP_IOTA) return false;
    if (bytes <= freed_b(r, n)) return true;
    return f->factor[n->out[0]] && bytes <= WEIGHTS_MAX_B - f->constants_b;
}

/* Every dimension attribute is a number. */
static bool attrs_static(const hn_graph *g, const hn_node *n) {
    for (size_t i = 0; i < n->n_attr; i++)
        for (uint32_t j = 0; n->attr[i].kind == HN_K_DIMS && j < n->attr[i].n; j++)
            if (!hn_dim_is_int(g->dims, n->attr[i].dims[j], NULL)) return false;
    return true;
}

static const hn_tensor *value_of(hn_rewriter *r, hn_val v);

/* A failure (an index out of range) is left to the run, which may never get there. */
static bool evaluate(hn_rewriter *r, const hn_node *n, hn_tensor out[OUT_MAX]) {
    folder *f = r->arg;
    size_t n_symbols = hn_dims_symbols(r->g->dims);
    hn_tensor *in = HN_NEW_N(&f->scratch, hn_tensor, n->n_in);
    int64_t *symbol = HN_NEW_N(&f->scratch, int64_t, n_symbols);
    hone_err err = {0};
    if (!in || !symbol) return false;
    for (size_t i = 0; i < n_symbols; i++) symbol[i] = INT64_MIN;
    for (size_t i = 0; i < n->n_in; i++) {
        const hn_tensor *t = value_of(r, n->in[i]);
        if (!t) return false;
        in[i] = *t;
    }
    return !hn_interpret_node(r->g, n, in, symbol, &f->scratch, out, &err) && hn_arena_ok(&f->scratch);
}

/* The value of v, which is at most DEPTH_MAX nodes away from constants. */
static const hn_tensor *value_of(hn_rewriter *r, hn_val v) {
    folder *f = r->arg;
    const hn_tensor *t = hn_const_of(r->g, v);
    if (t || f->known[v]) return t ? t : f->known[v];
    const hn_node *n = hn_def(r->g, v);
    hn_tensor *out = HN_NEW_N(&f->scratch, hn_tensor, OUT_MAX);
    if (!out || !evaluate(r, n, out)) return NULL;
    for (size_t i = 0; i < n->n_out; i++) {
        f->known[n->out[i]] = &out[i];
        f->made[f->n_made++] = n->out[i];
    }
    return f->known[v];
}

static void forget(folder *f, hn_mark before) {
    while (f->n_made) f->known[f->made[--f->n_made]] = NULL;
    hn_arena_release(&f->scratch, before);
}

static hn_val make_const(hn_rewriter *r, const hn_tensor *t) {
    hn_tensor kept;
    if (!hn_tensor_new(&r->g->arena, t->dtype, t->rank, t->dim, &kept)) return HN_KEEP;
    if (tensor_b(t)) memcpy(kept.data, t->data, tensor_b(t));
    return hn_const(&r->b, &kept);
}

static hn_val fold_pure(hn_rewriter *r, const hn_node *n) {
    folder *f = r->arg;
    int64_t elements, bytes;
    hn_tensor out[OUT_MAX];
    unsigned depth = 0;
    for (size_t i = 0; i < n->n_in; i++) {
        unsigned d = depth_of(r, n->in[i]);
        if (!d && !hn_const_of(r->g, n->in[i])) return HN_KEEP;
        if (d > depth) depth = d;
    }
    if (depth == DEPTH_MAX || n->n_out > OUT_MAX || !attrs_static(r->g, n)) return HN_KEEP;
    if (!measure(r->g, n, &elements, &bytes) || !affordable(r, n, elements)) return HN_KEEP;
    if (!worth_keeping(r, n, elements, bytes)) {
        for (size_t i = 0; i < n->n_out; i++) f->depth[n->out[i]] = (uint8_t)(depth + 1);
        return HN_KEEP;
    }
    int64_t more_b = bytes > freed_b(r, n) ? bytes : 0;
    hn_mark before = hn_arena_mark(&f->scratch);
    bool good = evaluate(r, n, out);
    for (size_t i = 0; good && i < n->n_out; i++) r->map[n->out[i]] = make_const(r, &out[i]);
    if (good) f->constants_b += more_b;
    forget(f, before);
    return good ? HN_DROPPED : HN_KEEP;
}

/* The results of the branch that is taken replace those of the node; a symbol that was created for a dimension becomes
 * equal to the branch's dimension. */
static hn_val fold_if(hn_rewriter *r, const hn_node *n) {
    const hn_tensor *condition = hn_const_of(r->g, n->in[0]);
    const hn_attr *body = hn_attr_get(n, HN_A_BODY);
    if (!condition || !body || body->n != 2) return HN_KEEP;
    hn_graph *g = r->g;
    hn_block taken = body->blocks[hn_get_i(condition, 0) ? 0 : 1];
    const hn_blk k = g->block[taken];
    hn_inline_block(r, taken);
    for (uint32_t i = 0; i < k.n_result; i++) {
        const hn_type *was = hn_type_of(g, n->out[i]), *is = hn_type_of(g, k.result[i]);
        for (size_t d = 0; d < was->rank; d++)
            if (hn_dim_equal(g->dims, was->dim[d], is->dim[d]) != HN_EQUAL)
                hn_dim_assume_equal(g->dims, was->dim[d], is->dim[d]);
        r->map[n->out[i]] = k.result[i];
    }
    return HN_DROPPED;
}

static bool is_known(const hn_rewriter *r, hn_val v) { return depth_of(r, v) || hn_const_of(r->g, v); }

/* A gather from unknown data by known indices, even by some that are not worth keeping. */
static hn_val fold_gather(hn_rewriter *r, const hn_node *n) {
    folder *f = r->arg;
    if (!is_known(r, n->in[1])) return HN_KEEP;
    hn_mark before = hn_arena_mark(&f->scratch);
    const hn_tensor *index = value_of(r, n->in[1]);
    hn_val v = index ? hn_gather_regular(r, n, index) : HN_KEEP;
    forget(f, before);
    return v;
}

static hn_val fold(hn_rewriter *r, const hn_node *n) {
    if (n->op == HN_OP_IF) return fold_if(r, n);
    if (n->op == HN_OP_CONST || n->op == HN_OP_KERNEL || !(hn_op_of(n->op)->flags & HN_PURE)) return HN_KEEP;
    return n->op == HN_OP_GATHER && !is_known(r, n->in[0]) ? fold_gather(r, n) : fold_pure(r, n);
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    for (unsigned i = 0; i < WALKS_MAX && hn_graph_ok(g); i++) {
        folder f = {.n_values = g->n_value, .widens = !ctx->bytes || ctx->have & HN_FACT_BYTES};
        f.depth = HN_NEW_N(&f.scratch, uint8_t, f.n_values);
        f.known = HN_NEW_N(&f.scratch, const hn_tensor *, f.n_values);
        f.made = HN_NEW_N(&f.scratch, hn_val, f.n_values);
        f.cut = HN_NEW_N(&f.scratch, struct cut, f.n_values);
        f.factor = HN_NEW_N(&f.scratch, bool, f.n_values);
        hn_rewriter r = {.g = g, .relaxed = ctx->relaxed, .arg = &f};
        if (hn_arena_ok(&f.scratch)) {
            find_uses(&f, g);
            hn_rewrite(&r, fold);
        } else {
            g->arena.failed = true;
        }
        hn_arena_free(&f.scratch);
        ctx->n_rewrites += r.n_rewrites;
        if (!r.n_rewrites) break;
    }
    return hn_graph_failure(g, err);
}

const hn_pass hn_pass_fold = {
    .name = "fold",
    .summary = "compute what depends on constants alone",
    .gives = HN_FACT_FOLDED,
    .breaks = HN_FACT_NO_DEAD | HN_FACT_CANONICAL,
    .run = run,
};
