/* Attention of few queries over many keys takes the keys in parts where the layout says that there are many processors:
 * which graphs do, and that what they compute stays, with parts that a mask hides, rows that it hides whole, infinite
 * scores and values that are no numbers. */
#include "ir/interp.h"
#include "pass_text.h"

#include <math.h>

typedef struct split_case {
    const char *name, *in;
    int contracts; /* afterwards */
} split_case;

#define HEADS(queries, keys, mask, from)                                                                               \
    "input %0 : f32[2, 3, " queries ", 8] \"q\"\ninput %1 : f32[2, 3, " keys ", 8] \"k\"\n"                            \
    "input %2 : f32[2, 3, " keys ", 5] \"v\"\ninput %3 : f32[2, 3, " queries ", " keys "] \"m\"\n"                     \
    "%4 = contract %0, %1 {lhs = [0, 1, 2, 4], rhs = [0, 1, 3, 4], out = [0, 1, 2, 3], dtype = f32}\n" mask            \
    "%6 = reduce_max " from " {axes = [3], keep = 1}\n"                                                                \
    "%7 = broadcast %6 {shape = [2, 3, " queries ", " keys "], map = [0, 1, 2, 3]}\n%8 = sub " from ", %7\n"           \
    "%9 = exp %8\n%10 = sum %9 {axes = [3], keep = 1}\n"                                                               \
    "%11 = broadcast %10 {shape = [2, 3, " queries ", " keys "], map = [0, 1, 2, 3]}\n%12 = div %9, %11\n"             \
    "%13 = contract %12, %2 {lhs = [0, 1, 2, 4], rhs = [0, 1, 4, 3], out = [0, 1, 2, 3], dtype = f32}\n"               \
    "output %13 \"y\"\n"
#define MASKED "%5 = add %4, %3\n"
static const split_case cases[] = {
    {"one_query", HEADS("1", "1024", MASKED, "%5"), 3},
    {"seven_queries", HEADS("7", "1536", MASKED, "%5"), 3},
    {"a_part_of_odd_length", HEADS("2", "1026", MASKED, "%5"), 3}, /* 2 of 513 keys */
    {"many_queries", HEADS("8", "1024", MASKED, "%5"), 2},
    {"few_keys", HEADS("1", "1000", MASKED, "%5"), 2},
    {"no_parts", HEADS("1", "1031", MASKED, "%5"), 2}, /* a prime number */
    {"turned",
     "input %0 : f32[1, 8] \"q\"\ninput %1 : f32[8, 1024] \"k\"\ninput %2 : f32[5, 1024] \"v\"\n"
     "input %3 : f32[1, 1024] \"m\"\n"
     "%4 = contract %0, %1 {lhs = [0, 2], rhs = [2, 1], out = [0, 1], dtype = f32}\n%5 = add %4, %3\n"
     "%6 = reduce_max %5 {axes = [1], keep = 1}\n%7 = broadcast %6 {shape = [1, 1024], map = [0, 1]}\n"
     "%8 = sub %5, %7\n%9 = exp %8\n%10 = sum %9 {axes = [1], keep = 1}\n"
     "%11 = broadcast %10 {shape = [1, 1024], map = [0, 1]}\n%12 = div %9, %11\n"
     "%13 = contract %12, %2 {lhs = [0, 2], rhs = [1, 2], out = [1, 0], dtype = f32}\noutput %13 \"y\"\n",
     3},
};

static int contracts_in(const hn_graph *g) {
    int n = 0;
    for (uint32_t k = 0; k < g->block[0].n_node; k++) n += g->node[g->block[0].node[k]].op == HN_OP_CONTRACT;
    return n;
}

static uint64_t state = 88172645463325252u;
static double next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 40) / 8388608.0 - 1;
}

/* Inputs; by `hidden`: a mask that hides the first 600 keys, hides a whole row, makes a score infinite, a value NaN. */
static bool make_inputs(const hn_graph *g, hn_arena *a, hn_tensor *in, int hidden) {
    const hn_blk *b = &g->block[0];
    bool good = true;
    for (uint32_t i = 0; i < b->n_param && good; i++) {
        const hn_type *t = hn_type_of(g, b->param[i]);
        int64_t dim[HN_RANK_MAX];
        for (size_t d = 0; d < t->rank; d++) hn_dim_is_int(g->dims, t->dim[d], &dim[d]);
        good = hn_tensor_new(a, t->dtype, t->rank, dim, &in[i]);
        for (int64_t e = 0; good && e < hn_tensor_n(&in[i]); e++) hn_set_f(&in[i], e, next_random());
        int64_t keys = dim[t->rank - 1];
        if (i == 2 && hidden == 4) hn_set_f(&in[i], 7, NAN);
        if (i != 3) continue;
        for (int64_t e = 0; hidden == 1 && e < hn_tensor_n(&in[i]); e++)
            if (e % keys < 600) hn_set_f(&in[i], e, -INFINITY);
        for (int64_t e = 0; hidden == 2 && e < keys; e++) hn_set_f(&in[i], e, -INFINITY);
        if (hidden == 3) hn_set_f(&in[i], 3, INFINITY);
    }
    return good;
}

static void check(const split_case *c) {
    hn_graph *before = NULL, *after = NULL;
    hn_str in = {0};
    hone_err err = {0};
    hn_layout_facts layout = hn_usual_layout;
    layout.many_processors = true;
    unsigned have = 0;
    hn_str_addf(&in, "ir 1\n%s", c->in);
    hone_rc rc = hn_parse(in.text, in.n, NULL, &before, &err);
    if (!rc) rc = hn_parse(in.text, in.n, NULL, &after, &err);
    if (!rc) rc = hn_run_pass(after, hn_pass_named("attention"), (hn_pass_how){.layout = &layout}, &have, NULL, &err);
    if (!rc) rc = hn_verify(after, &err);
    if (!ok(!rc && contracts_in(after) == c->contracts, "split_keys/%s", c->name)) {
        printf("# %s, %d products\n", err.text, rc ? 0 : contracts_in(after));
    } else if (c->contracts > 2) {
        for (int hidden = 0; hidden < 5; hidden++) {
            hn_arena a = {0};
            hn_tensor x[4], want, got;
            bool same = make_inputs(before, &a, x, hidden) &&
                        !hn_interpret_block(before, 0, x, NULL, &a, &want, &err) &&
                        !hn_interpret_block(after, 0, x, NULL, &a, &got, &err) &&
                        hn_tensor_compare(&got, &want, (hn_match_rule){2e-5, 2e-6}).same;
            ok(same, "split_keys/%s_computes_the_same_%d", c->name, hidden);
            hn_arena_free(&a);
        }
    }
    if (before) hn_graph_free(before);
    if (after) hn_graph_free(after);
    hn_str_free(&in);
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
    return done_testing();
}
