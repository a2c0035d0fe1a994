/* pass/fold.c — what depends on constants alone is computed now, by the reference interpreter.
 *
 * A node becomes a constant if that keeps the weights from growing: at most SMALL elements, or not more bytes than the
 * constants that it alone is made of; a broadcast or iota above that stays, so that kernels make it on the fly. Values
 * that are not worth keeping are still known here, in scratch memory, so that what shrinks them again (a reduction over
 * a mask of iotas) is folded. An `if` whose condition is known gives way to its branch.
 */
#include "base/err.h"
#include "ir/interp.h"
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 64, SCRATCH_MAX_B = 64 << 20, WORK_MAX = 1 << 26, WALKS_MAX = 16 };

typedef struct folder {
    const hn_tensor **known; /* of values that are not constants; by value, in `scratch` */
    uint32_t n_known;
    hn_arena scratch;
} folder;

static const hn_tensor *known_of(const hn_rewriter *r, hn_val v) {
    const folder *f = r->arg;
    const hn_tensor *t = hn_const_of(r->g, v);
    return t ? t : v < f->n_known ? f->known[v] : NULL;
}

static size_t tensor_b(const hn_tensor *t) { return (size_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b; }

/* Bytes and elements of the results; false where they are not known or beyond all limits. */
static bool measure(const hn_graph *g, const hn_node *n, int64_t *elements, int64_t *bytes) {
    *elements = *bytes = 0;
    for (size_t i = 0; i < n->n_out; i++) {
        const hn_type *type = hn_type_of(g, n->out[i]);
        hn_tensor t = {.dtype = type->dtype, .rank = type->rank};
        int64_t k;
        if (!hn_type_static(g, type, t.dim) || !hn_tensor_count(&t, &k) || k > SCRATCH_MAX_B) return false;
        *elements += k;
        *bytes += k * hn_dtype_of(t.dtype)->size_b;
    }
    return *bytes <= SCRATCH_MAX_B;
}

/* Multiplications of a contraction or window: the interpreter takes about a second for WORK_MAX. */
static bool affordable(const hn_rewriter *r, const hn_node *n, int64_t elements) {
    hn_op_class cls = hn_op_of(n->op)->cls;
    int64_t each = 1;
    if (cls == HN_CONTRACT || cls == HN_WINDOW)
        for (size_t i = 0; i < n->n_in; i++) {
            int64_t k = hn_tensor_n(known_of(r, n->in[i]));
            if (k > each) each = k;
        }
    return elements == 0 || each <= WORK_MAX / elements;
}

static bool worth_keeping(const hn_rewriter *r, const hn_node *n, int64_t elements, int64_t bytes) {
    if (elements <= SMALL) return true;
    if (n->op == HN_OP_BROADCAST || n->op == HN_OP_IOTA) return false;
    int64_t from = 0;
    for (size_t i = 0; i < n->n_in; i++) {
        const hn_tensor *t = hn_const_of(r->g, n->in[i]);
        if (t && hn_used_once(r, n->in[i])) from += (int64_t)tensor_b(t);
    }
    return bytes <= from;
}

/* Every dimension attribute is a number. */
static bool attrs_static(const hn_graph *g, const hn_node *n) {
    for (size_t i = 0; i < n->n_attr; i++)
        for (uint32_t j = 0; n->attr[i].kind == HN_K_DIMS && j < n->attr[i].n; j++)
            if (!hn_dim_is_int(g->dims, n->attr[i].dims[j], NULL)) return false;
    return true;
}

static bool evaluate(hn_rewriter *r, const hn_node *n, hn_tensor *out) {
    folder *f = r->arg;
    hn_tensor few[4], *in = n->n_in <= 4 ? few : malloc(n->n_in * sizeof *in);
    size_t n_symbols = hn_dims_symbols(r->g->dims);
    int64_t *symbol = malloc((n_symbols + 1) * sizeof *symbol);
    hone_err err = {0};
    bool good = in && symbol;
    for (size_t i = 0; good && i < n->n_in; i++) in[i] = *known_of(r, n->in[i]);
    for (size_t i = 0; good && i < n_symbols; i++) symbol[i] = INT64_MIN;
    /* a failure (an index out of range) is left to the run, which may never get there */
    good = good && !hn_interpret_node(r->g, n, in, symbol, &f->scratch, out, &err);
    if (in != few) free(in);
    free(symbol);
    return good && hn_arena_ok(&f->scratch);
}

static hn_val make_const(hn_rewriter *r, const hn_tensor *t) {
    hn_tensor kept;
    if (!hn_tensor_new(&r->g->arena, t->dtype, t->rank, t->dim, &kept)) return HN_KEEP;
    if (tensor_b(t)) memcpy(kept.data, t->data, tensor_b(t));
    return hn_const(&r->b, &kept);
}

static bool remember(hn_rewriter *r, hn_val v, const hn_tensor *t) {
    folder *f = r->arg;
    if (v >= f->n_known || f->scratch.total_b > 4 * (size_t)SCRATCH_MAX_B) return false;
    hn_tensor *kept = HN_NEW(&f->scratch, hn_tensor);
    if (kept) *kept = *t;
    f->known[v] = kept;
    return kept != NULL;
}

static hn_val fold_pure(hn_rewriter *r, const hn_node *n) {
    int64_t elements, bytes;
    hn_tensor out[4];
    for (size_t i = 0; i < n->n_in; i++)
        if (!known_of(r, n->in[i])) return HN_KEEP;
    if (n->n_out > 4 || !attrs_static(r->g, n) || !measure(r->g, n, &elements, &bytes)) return HN_KEEP;
    if (!affordable(r, n, elements)) return HN_KEEP;
    folder *f = r->arg;
    hn_mark before = hn_arena_mark(&f->scratch);
    bool good = evaluate(r, n, out), kept = good && worth_keeping(r, n, elements, bytes);
    for (size_t i = 0; kept && i < n->n_out; i++) r->map[n->out[i]] = make_const(r, &out[i]);
    if (good && !kept) {
        for (size_t i = 0; i < n->n_out; i++) remember(r, n->out[i], &out[i]);
        return HN_KEEP;
    }
    hn_arena_release(&f->scratch, before);
    return kept ? HN_DROPPED : HN_KEEP;
}

/* The results of the branch that is taken stand for those of the node; where a symbol was made up for a dimension, it
 * is the branch's dimension now. */
static hn_val fold_if(hn_rewriter *r, const hn_node *n) {
    const hn_tensor *condition = known_of(r, n->in[0]);
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

static hn_val fold(hn_rewriter *r, const hn_node *n) {
    if (n->op == HN_OP_IF) return fold_if(r, n);
    if (n->op == HN_OP_CONST || n->op == HN_OP_KERNEL || !(hn_op_of(n->op)->flags & HN_PURE)) return HN_KEEP;
    return fold_pure(r, n);
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    for (unsigned i = 0; i < WALKS_MAX && hn_graph_ok(g); i++) {
        folder f = {.n_known = g->n_value, .known = calloc(g->n_value, sizeof(hn_tensor *))};
        if (!f.known) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        hn_rewriter r = {.g = g, .relaxed = ctx->relaxed, .arg = &f};
        hn_rewrite(&r, fold);
        free(f.known);
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
