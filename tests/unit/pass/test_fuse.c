/* The pass fuse: which nodes become one kernel, as one line per node of the main block, "kind: operations -> results";
 * and that the fused graph computes the same bits as the one before. */
#include "ir/interp.h"
#include "pass_text.h"

#include <math.h>

typedef struct fuse_case {
    const char *name, *in, *want;
} fuse_case;

static const fuse_case cases[] = {
#include "fuse_cases.inc"
};

static void summary(const hn_graph *g, hn_block b, hn_str *out) {
    for (uint32_t k = 0; k < g->block[b].n_node; k++) {
        const hn_node *n = &g->node[g->block[b].node[k]];
        const hn_attr *kind = hn_attr_get(n, HN_A_KIND), *body = hn_attr_get(n, HN_A_BODY);
        if (n->op == HN_OP_CONST) continue;
        hn_str_add(out, kind ? kind->name : hn_op_of(n->op)->text);
        for (uint32_t r = 0; body && r < body->n; r++) {
            const hn_blk *x = &g->block[body->blocks[r]];
            hn_str_add(out, kind ? ":" : " {");
            if (!kind) summary(g, body->blocks[r], out);
            for (uint32_t i = 0; kind && i < x->n_node; i++) {
                const char *op = hn_op_of(g->node[x->node[i]].op)->text;
                if (strcmp(op, "const") && strcmp(op, "broadcast")) hn_str_addf(out, " %s", op);
            }
            if (!kind) hn_str_add(out, "}");
        }
        if (n->n_out > 1) hn_str_addf(out, " -> %u", n->n_out);
        hn_str_add(out, "\n");
    }
}

static uint64_t state = 88172645463325252u;
static double next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(int64_t)(state >> 40) / 2097152.0 - 4;
}

/* Inputs with every symbol 3. */
static bool inputs(const hn_graph *g, hn_arena *a, hn_tensor *in) {
    int64_t symbol[16];
    for (int k = 0; k < 16; k++) symbol[k] = 3;
    for (uint32_t i = 0; i < g->block[0].n_param; i++) {
        const hn_type *t = hn_type_of(g, g->block[0].param[i]);
        int64_t dim[HN_RANK_MAX];
        for (size_t d = 0; d < t->rank; d++)
            if (!hn_dim_eval(g->dims, t->dim[d], symbol, &dim[d])) return false;
        if (!hn_tensor_new(a, t->dtype, t->rank, dim, &in[i])) return false;
        for (int64_t k = 0; k < hn_tensor_n(&in[i]); k++) {
            if (hn_is_float(t->dtype))
                hn_set_f(&in[i], k, next_random());
            else
                hn_set_i(&in[i], k, k % 2);
        }
    }
    return true;
}

static bool same_bits(const hn_graph *before, const hn_graph *after) {
    hn_arena a = {0};
    hn_tensor in[16], want[16], got[16];
    hone_err err = {0};
    bool same = inputs(before, &a, in) && hn_interpret(before, in, &a, want, NULL, &err) == HONE_OK &&
                hn_interpret(after, in, &a, got, NULL, &err) == HONE_OK;
    if (!same) printf("# %s\n", err.text);
    for (uint32_t k = 0; same && k < before->block[0].n_result; k++)
        same = !memcmp(want[k].data, got[k].data, (size_t)hn_tensor_n(&want[k]) * hn_dtype_of(want[k].dtype)->size_b);
    hn_arena_free(&a);
    return same;
}

static void check(const fuse_case *c) {
    hn_graph *g = NULL, *before = NULL;
    hone_err err = {0};
    hn_str in = {0}, got = {0};
    char name[100];
    hn_str_addf(&in, "ir 1\n%s", c->in);
    hone_rc rc = hn_parse(in.text, in.n, NULL, &g, &err);
    if (!rc) rc = hn_parse(in.text, in.n, NULL, &before, &err);
    if (!rc) rc = run_named(g, "fuse", &err);
    if (!rc) rc = hn_verify(g, &err);
    snprintf(name, sizeof name, "fuse/%s", c->name);
    if (rc) {
        ok(0, "%s", name);
        printf("# %s\n", err.text);
    } else {
        summary(g, 0, &got);
        is_text(got.text ? got.text : "", c->want, name);
        ok(same_bits(before, g), "%s_same_bits", name);
    }
    hn_graph_free(g);
    hn_graph_free(before);
    hn_str_free(&in);
    hn_str_free(&got);
}

/* One in full: parameters in order of use, scalar constants inside, the results' names stay. */
static const pass_case full = {
    "fuse/text", "fuse",
    "symbol n in 0..\ninput %0 : f32[n] \"x\"\ninput %1 : f32[n] \"y\"\n%2 = const {value = f32[] (0x1p+1)}\n"
    "%3 = broadcast %2 {shape = [n], map = []}\n%4 = mul %1, %3\n%5 = add %0, %4\noutput %5 \"z\"\n",
    "symbol n in 0..\ninput %0 : f32[n] \"x\"\ninput %1 : f32[n] \"y\"\n"
    "%2 = kernel %1, %0 {kind = map} : f32[n] do (%3 : f32[n], %4 : f32[n]) {\n"
    "  %5 = const {value = f32[] (0x1p+1)}\n  %6 = broadcast %5 {shape = [n], map = []} : f32[n]\n"
    "  %7 = mul %3, %6 : f32[n]\n  %8 = add %4, %7 : f32[n]\n  yield %8\n}\noutput %2 \"z\"\n"};

int main(void) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) check(&cases[k]);
    return check_passes(&full, 1);
}
