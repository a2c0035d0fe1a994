/* pass/fuse.c — the last pass: every block becomes kernels, constants, views and control.
 *
 * Greedy over the edges in list order, until nothing changes: a producer joins its consumer where the rules allow it
 * (fuse_rules.c) and no cycle would close (fuse_graph.c); then whole attention is put together, then contracts of one
 * shape that share an input. Work is never done twice, except cheap operations on small operands.
 */
#include "pass/fuse.h"
#include "base/err.h"
#include "pass/passes.h"

enum { ROUNDS_MAX = 8 };

static uint64_t one_round(hn_fuse *f) {
    const hn_blk *b = &f->g->block[f->b];
    uint64_t n = 0;
    for (uint32_t k = 0; k < f->n; k++) {
        const hn_node *x = &f->g->node[b->node[k]];
        for (uint16_t i = 0; i < x->n_in; i++) {
            bool spread = false;
            hn_val v = x->in[i] ? hn_fuse_behind(f, x->in[i], &spread) : 0;
            hn_fgroup *p = v ? hn_fuse_group_of(f, v) : NULL, *c = &f->group[f->in[k]];
            if (p && c->n_node && hn_fuse_try(f, p, c, v)) n++;
        }
    }
    return n;
}

static hone_rc fuse_block(hn_graph *g, hn_block b, const bool *reached, hn_pass_ctx *ctx, hone_err *err) {
    hn_arena a = {0};
    hn_fuse f;
    bool fine = hn_fuse_open(&f, g, b, reached, &a);
    uint64_t n = 0, more = 1;
    for (int round = 0; fine && more && round < ROUNDS_MAX; round++) n += more = one_round(&f);
    if (fine) hn_fuse_attention(&f);
    if (fine) n += hn_fuse_side_by_side(&f);
    if (fine) hn_fuse_build(&f);
    ctx->n_rewrites += n;
    fine &= hn_arena_ok(&a);
    hn_arena_free(&a);
    if (g->err.rc) return hn_fail(err, g->err.rc, "%s", g->err.text);
    return fine && hn_graph_ok(g) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory in fusion");
}

/* Blocks that run: the main one and regions of the nodes in it; bodies of kernels stay as they are. */
static void reach(const hn_graph *g, hn_block b, bool *reached) {
    reached[b] = true;
    for (uint32_t k = 0; k < g->block[b].n_node; k++) {
        const hn_node *n = &g->node[g->block[b].node[k]];
        const hn_attr *body = hn_attr_get(n, HN_A_BODY);
        for (uint32_t i = 0; body && n->op != HN_OP_KERNEL && i < body->n; i++) reach(g, body->blocks[i], reached);
    }
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    hn_arena a = {0};
    uint32_t n_block = g->n_block;
    bool *reached = HN_NEW_N(&a, bool, n_block + 2 * (size_t)g->n_node + 1); /* kernels add blocks */
    if (!reached) return hn_fail(err, HONE_E_NOMEM, "out of memory in fusion");
    reach(g, 0, reached);
    hone_rc rc = HONE_OK;
    for (hn_block b = 0; b < n_block && rc == HONE_OK; b++)
        if (reached[b]) rc = fuse_block(g, b, reached, ctx, err);
    hn_arena_free(&a);
    if (rc == HONE_OK) hn_sweep(g);
    return rc;
}

const hn_pass hn_pass_fuse = {.name = "fuse",
                              .summary = "partitions the graph into kernels",
                              .needs = HN_FACT_NO_DEAD,
                              .gives = HN_FACT_FUSED,
                              .run = run};
