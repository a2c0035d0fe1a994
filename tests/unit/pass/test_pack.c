/* Pass pack: the panels give back the matrix, bit by bit, in both orders and with a last panel that is not full. */
#include "ir/build.h"
#include "ir/interp.h"
#include "pass/pass.h"
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

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int64_t width = 0; width <= 16; width += 8)
            if (width != 8 || cases[i].packed) check(i, width);
    return done_testing();
}
