/* Pass pack: the panels give back the matrix, bit by bit, in both orders and with a last panel that is not full; those
 * of pairs of bf16 have neighbours along the sum side by side, zeros behind an odd number of them. */
#include "ir/build.h"
#include "ir/interp.h"
#include "pass/pass.h"
#include "pass/rewrite.h"
#include "tap.h"

#include <stdlib.h>

static const struct {
    const char *name;
    int64_t rows, depth, columns;
    bool columns_first, packed;
    int uses; /* further contractions, one behind the other, with the same matrix; negative: read the other way round */
    int64_t heads; /* so many matrices in one tensor, their number in the middle where columns are first; 0: one */
} cases[] = {
    {"whole_panels", 3, 64, 64, false, true, 0, 0},
    {"whole_panels_columns_first", 3, 64, 96, true, true, 0, 0},
    {"last_panel_in_part", 3, 70, 75, false, true, 0, 0},
    {"last_panel_in_part_columns_first", 3, 130, 37, true, true, 0, 0},
    {"narrow_matrix_stays", 3, 1000, 15, false, false, 0, 0},
    {"small_matrix_stays", 3, 32, 64, false, false, 0, 0},
    {"one_row", 1, 64, 96, true, true, 0, 0},
    {"shared_by_layers", 3, 64, 64, false, true, 2, 0},
    {"shared_but_turned", 3, 64, 64, false, false, -1, 0},
    {"heads", 3, 32, 48, false, true, 0, 4},
    {"heads_in_the_middle", 5, 20, 37, true, true, 0, 6},
    {"heads_of_one_row", 1, 32, 48, false, true, 0, 4},
};

static void fill(hn_tensor *w) {
    for (int64_t k = 0; k < hn_tensor_n(w); k++) ((float *)w->data)[k] = (float)(k * 7919 % 1009) - 500;
}

static hn_graph *make_heads(size_t i) {
    hn_graph *g = hn_graph_new();
    hn_builder b = {g, 0};
    int64_t heads = cases[i].heads, rows = cases[i].rows, depth = cases[i].depth, columns = cases[i].columns;
    bool turned = cases[i].columns_first;
    hn_type x = {.dtype = HONE_F32, .rank = 3, .dim = {hn_lit(&b, heads), hn_lit(&b, rows), hn_lit(&b, depth)}};
    const int64_t plain[] = {heads, depth, columns}, middle[] = {columns, heads, depth};
    const int64_t lhs[] = {0, 1, 2}, rhs[] = {turned ? 3 : 0, turned ? 0 : 2, turned ? 2 : 3}, out[] = {0, 1, 3};
    hn_tensor w;
    hn_tensor_new(&g->arena, HONE_F32, 3, turned ? middle : plain, &w);
    fill(&w);
    hn_result(g, 0, hn_contract(&b, hn_param(g, 0, "x", &x), hn_const(&b, &w), lhs, rhs, 3, out, HONE_F32), "y");
    return g;
}

static hn_graph *make(size_t i) {
    if (cases[i].heads) return make_heads(i);
    hn_graph *g = hn_graph_new();
    hn_builder b = {g, 0};
    int64_t depth = cases[i].depth, columns = cases[i].columns;
    bool turned = cases[i].columns_first;
    hn_type x = {.dtype = HONE_F32, .rank = 2, .dim = {hn_lit(&b, cases[i].rows), hn_lit(&b, depth)}};
    hn_tensor w;
    const int64_t shape[] = {turned ? columns : depth, turned ? depth : columns};
    const int64_t lhs[] = {0, 1}, rhs[] = {turned ? 2 : 1, turned ? 1 : 2}, out[] = {0, 2};
    hn_tensor_new(&g->arena, HONE_F32, 2, shape, &w);
    fill(&w);
    hn_val v = hn_contract(&b, hn_param(g, 0, "x", &x), hn_const(&b, &w), lhs, rhs, 2, out, HONE_F32);
    const int64_t back[] = {rhs[1], rhs[0]}; /* square: any order of its dimensions fits */
    hn_val matrix = hn_def(g, v)->in[1];
    for (int k = 0; k < abs(cases[i].uses); k++)
        v = hn_contract(&b, v, matrix, lhs, cases[i].uses < 0 ? back : rhs, 2, out, HONE_F32);
    hn_result(g, 0, v, "y");
    return g;
}

/* One constant, and that in panels of so many columns. */
static bool has_panels(const hn_graph *g, size_t i, int64_t width) {
    uint32_t constants = 0;
    for (uint32_t k = 0; k < g->block[0].n_node; k++) constants += g->node[g->block[0].node[k]].op == HN_OP_CONST;
    for (uint32_t k = 0; k < g->block[0].n_node; k++) {
        const hn_node *n = &g->node[g->block[0].node[k]];
        const hn_type *t = n->op == HN_OP_CONST ? hn_type_of(g, n->out[0]) : NULL;
        int64_t last;
        if (t && t->rank == (cases[i].heads ? 4 : 3) && hn_dim_is_int(g->dims, t->dim[t->rank - 1], &last))
            return constants == 1 && last == width;
    }
    return false;
}

static void check(size_t i, int64_t width) {
    const hn_layout_facts layout = {.panel = width, .channels_last = true};
    hn_graph *g = make(i);
    hn_arena a = {0};
    hn_tensor x, before, after;
    hone_err err = {0};
    unsigned have = 0;
    const int64_t shape[] = {cases[i].heads, cases[i].rows, cases[i].depth};
    hn_tensor_new(&a, HONE_F32, cases[i].heads ? 3 : 2, cases[i].heads ? shape : shape + 1, &x);
    for (int64_t k = 0; k < hn_tensor_n(&x); k++) ((float *)x.data)[k] = (float)(k * 31 % 57) / 8;
    hone_rc rc = hn_interpret(g, &x, &a, &before, NULL, &err);
    if (!rc) rc = hn_run_pass(g, hn_pass_named("pack"), (hn_pass_how){.layout = &layout}, &have, NULL, &err);
    if (!rc) rc = hn_verify(g, &err);
    if (!rc) rc = hn_interpret(g, &x, &a, &after, NULL, &err);
    ok(!rc && hn_tensor_compare(&after, &before, (hn_match_rule){0, 0}).same, "pack/%s_%d: %s", cases[i].name,
       (int)width, err.text);
    ok(has_panels(g, i, width) == (cases[i].packed && width > 0), "pack/%s_%d_form", cases[i].name, (int)width);
    hn_arena_free(&a);
    hn_graph_free(g);
}

/* -- pairs of bf16 */
static const struct {
    const char *name;
    bool conv, columns_first, packed; /* conv: of 3 x 3, columns are results and depth channels */
    int64_t depth, columns;
} pairs[] = {
    {"whole", false, false, true, 64, 64},
    {"columns_first", false, true, true, 64, 70},
    {"odd_depth", false, false, true, 129, 70},
    {"odd_depth_columns_first", false, true, true, 129, 48},
    {"small_stays", false, false, false, 33, 64},
    {"conv", true, true, true, 16, 48},
    {"conv_of_odd_channels", true, true, true, 9, 70},
};

/* The place of column c, step k, in panels of 16; taps: of a window. */
static int64_t place(int64_t depth, int64_t taps, int64_t c, int64_t tap, int64_t k) {
    int64_t words = (depth + 1) / 2;
    return ((c / 16 * taps + tap) * words + k / 2) * 32 + c % 16 * 2 + k % 2;
}

static hn_graph *make_pairs(size_t i, hn_tensor *w) {
    hn_graph *g = hn_graph_new();
    hn_builder b = {g, 0};
    int64_t depth = pairs[i].depth, columns = pairs[i].columns;
    bool turned = pairs[i].columns_first, conv = pairs[i].conv;
    const int64_t shape[] = {turned ? columns : depth, turned ? depth : columns, 3, 3}, one[] = {1, 1};
    const int64_t lhs[] = {0, 1}, rhs[] = {turned ? 2 : 1, turned ? 1 : 2}, out[] = {0, 2};
    hn_type x = {.dtype = HONE_F32, .rank = 2, .dim = {hn_lit(&b, 3), hn_lit(&b, depth)}};
    if (conv) x = (hn_type){HONE_F32, 4, {hn_lit(&b, 1), hn_lit(&b, 5), hn_lit(&b, 4), hn_lit(&b, depth)}};
    hn_dim side[] = {hn_lit(&b, 1), hn_lit(&b, 1)};
    hn_attr attr[] = {{.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = HONE_F32},
                      {.id = HN_A_LOW, .kind = HN_K_DIMS, .n = 2, .dims = side},
                      {.id = HN_A_HIGH, .kind = HN_K_DIMS, .n = 2, .dims = side},
                      {.id = HN_A_STRIDE, .kind = HN_K_INTS, .n = 2, .ints = one},
                      {.id = HN_A_DILATION, .kind = HN_K_INTS, .n = 2, .ints = one},
                      {.id = HN_A_INFLATE, .kind = HN_K_INTS, .n = 2, .ints = one},
                      {.id = HN_A_GROUPS, .kind = HN_K_INT, .i = 1},
                      {.id = HN_A_CHANNELS_LAST, .kind = HN_K_INT, .i = 1}};
    hn_tensor_new(&g->arena, HONE_BF16, conv ? 4 : 2, shape, w);
    for (int64_t k = 0; k < hn_tensor_n(w); k++) hn_set_f(w, k, (double)(k * 7919 % 253) - 126);
    hn_val in[] = {hn_cast(&b, hn_param(g, 0, "x", &x), HONE_BF16), hn_const(&b, w)};
    hn_val y =
        conv ? hn_emit(g, 0, HN_OP_CONV, 2, in, 8, attr, 1) : hn_contract(&b, in[0], in[1], lhs, rhs, 2, out, HONE_F32);
    hn_result(g, 0, y, "y");
    return g;
}

/* The constant of so many dimensions; NULL. */
static const hn_tensor *constant_of_rank(const hn_graph *g, size_t rank) {
    for (uint32_t k = 0; k < g->block[0].n_node; k++) {
        const hn_node *n = &g->node[g->block[0].node[k]];
        const hn_tensor *t = n->op == HN_OP_CONST ? hn_const_of(g, n->out[0]) : NULL;
        if (t && t->rank == rank) return t;
    }
    return NULL;
}

static bool in_pairs(size_t i, const hn_tensor *panels, const hn_tensor *w) {
    int64_t depth = pairs[i].depth, taps = pairs[i].conv ? 9 : 1;
    bool fine = panels && panels->dtype == HONE_BF16 && panels->dim[panels->rank - 1] == 2;
    for (int64_t c = 0; fine && c < pairs[i].columns; c++)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t k = 0; k < depth + depth % 2; k++) {
                int64_t from = pairs[i].columns_first ? (c * depth + k) * taps + tap : k * pairs[i].columns + c;
                double want = k < depth ? hn_get_f(w, from) : 0;
                fine &= hn_get_f(panels, place(depth, taps, c, tap, k)) == want;
            }
    return fine;
}

static void check_pairs(size_t i, bool in_layout) {
    const hn_layout_facts layout = {.panel = 16, .channels_last = true, .halves = true, .pairs = in_layout};
    hn_arena a = {0};
    hn_tensor x, w, before, after;
    hone_err err = {0};
    unsigned have = HN_FACT_FOLDED;
    hn_graph *g = make_pairs(i, &w);
    const int64_t matrix[] = {3, pairs[i].depth}, image[] = {1, 5, 4, pairs[i].depth};
    hn_tensor_new(&a, HONE_F32, pairs[i].conv ? 4 : 2, pairs[i].conv ? image : matrix, &x);
    for (int64_t k = 0; k < hn_tensor_n(&x); k++) ((float *)x.data)[k] = (float)(k * 31 % 57) / 8;
    hone_rc rc = hn_interpret(g, &x, &a, &before, NULL, &err);
    if (!rc) rc = hn_run_pass(g, hn_pass_named("pack"), (hn_pass_how){.layout = &layout}, &have, NULL, &err);
    if (!rc) rc = hn_verify(g, &err);
    if (!rc) rc = hn_interpret(g, &x, &a, &after, NULL, &err);
    const hn_tensor *panels = constant_of_rank(g, pairs[i].conv ? 7 : 4);
    ok(!rc && hn_tensor_compare(&after, &before, (hn_match_rule){0, 0}).same, "pack/pairs_%s_%d: %s", pairs[i].name,
       in_layout, err.text);
    ok(in_layout && pairs[i].packed ? in_pairs(i, panels, &w) : !panels, "pack/pairs_%s_%d_form", pairs[i].name,
       in_layout);
    hn_arena_free(&a);
    hn_graph_free(g);
}

int main(void) {
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int in_layout = 0; in_layout < 2; in_layout++) check_pairs(i, in_layout);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int64_t width = 0; width <= 16; width += 8)
            if (width != 8 || cases[i].packed) check(i, width);
    return done_testing();
}
