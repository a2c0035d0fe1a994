/* Pass layout: convolutions with their channels last, and their packed weights, give the same bits on numbers whose
 * sums are exact; texts show where the transposes end up. */
#include "ir/build.h"
#include "ir/interp.h"
#include "pass_text.h"

#include <math.h>

static const struct {
    const char *name;
    int64_t image[2], channels[2], kernel[2], stride[2], dilation[2], inflate[2], low[2], high[2], groups;
    bool infinite;
    const char *form; /* of the node that takes its place */
} cases[] = {
    {"one_element", {5, 7}, {4, 6}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, false, "contract"},
    {"one_element_strided", {6, 7}, {4, 6}, {1, 1}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, false, "conv"},
    {"padded", {5, 7}, {3, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, "conv"},
    {"whole_vectors", {5, 7}, {3, 32}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, "conv"},
    {"vectors_and_more", {5, 7}, {3, 37}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, "conv"},
    {"uneven_padding", {5, 7}, {3, 5}, {3, 2}, {1, 1}, {1, 1}, {1, 1}, {2, 0}, {0, 1}, 1, false, "conv"},
    {"strided", {9, 8}, {3, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, "conv"},
    {"dilated", {9, 8}, {2, 3}, {3, 2}, {1, 2}, {2, 3}, {1, 1}, {2, 1}, {1, 2}, 1, false, "conv"},
    {"cropped", {9, 8}, {2, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {-1, 0}, {0, -2}, 1, false, "conv"},
    {"transposed", {5, 4}, {3, 5}, {3, 3}, {1, 1}, {1, 1}, {2, 3}, {1, 2}, {2, 1}, 1, false, "contract"},
    {"transposed_even", {5, 4}, {3, 5}, {4, 4}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, 1, false, "conv"},
    {"transposed_as_long_as_the_stride",
     {5, 4},
     {3, 5},
     {2, 3},
     {1, 1},
     {1, 1},
     {2, 3},
     {1, 2},
     {1, 2},
     1,
     false,
     "contract"},
    {"transposed_one_dimension", {5, 4}, {3, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 2}, {1, 2}, {1, 1}, 1, false, "conv"},
    {"transposed_dilated", {5, 4}, {3, 5}, {4, 3}, {1, 1}, {3, 2}, {2, 4}, {1, 2}, {2, 5}, 1, false, "conv"},
    {"transposed_cropped", {5, 4}, {3, 5}, {5, 4}, {1, 1}, {1, 1}, {2, 3}, {-1, 1}, {1, -2}, 1, false, "conv"},
    {"transposed_own_weights", {5, 4}, {12, 12}, {4, 4}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, 12, false, "conv"},
    {"transposed_groups", {5, 4}, {12, 40}, {2, 2}, {1, 1}, {1, 1}, {2, 2}, {1, 1}, {1, 1}, 2, false, "conv"},
    {"transposed_shorter_than_the_stride",
     {5, 4},
     {3, 5},
     {1, 2},
     {1, 1},
     {1, 1},
     {2, 3},
     {0, 1},
     {0, 1},
     1,
     false,
     "conv"},
    {"few_results_of_many", {5, 18}, {20, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, "contract"},
    {"few_results_of_many_dilated",
     {9, 20},
     {16, 1},
     {3, 2},
     {1, 1},
     {2, 3},
     {1, 1},
     {3, 0},
     {1, 2},
     1,
     false,
     "contract"},
    {"few_results_of_many_cropped",
     {9, 21},
     {17, 2},
     {2, 3},
     {1, 1},
     {1, 1},
     {1, 1},
     {-1, 2},
     {3, -2},
     1,
     false,
     "contract"},
    {"few_results_of_many_transposed",
     {5, 18},
     {16, 3},
     {4, 4},
     {1, 1},
     {1, 1},
     {2, 2},
     {2, 2},
     {2, 2},
     1,
     false,
     "contract"},
    {"few_results_of_many_strided", {9, 18}, {16, 3}, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, NULL},
    {"few_results_of_many_large_window",
     {9, 18},
     {16, 3},
     {5, 5},
     {1, 1},
     {1, 1},
     {1, 1},
     {2, 2},
     {2, 2},
     1,
     false,
     NULL},
    {"few_results", {5, 18}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, NULL},
    {"few_results_cropped", {7, 20}, {2, 1}, {3, 2}, {2, 1}, {1, 3}, {1, 1}, {-1, 2}, {1, -1}, 1, false, NULL},
    {"few_results_transposed", {5, 18}, {3, 3}, {4, 4}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, 1, false, NULL},
    {"few_results_weights_not_finite",
     {5, 18},
     {3, 3},
     {3, 3},
     {1, 1},
     {1, 1},
     {1, 1},
     {1, 1},
     {1, 1},
     1,
     true,
     "conv"},
    {"own_weights", {5, 7}, {12, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 12, false, "conv"},
    {"groups", {5, 7}, {12, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2, false, "conv"},
    {"groups_too_narrow_stay", {5, 7}, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3, false, NULL},
    {"weights_not_finite", {5, 7}, {3, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, true, "conv"},
};
enum { BATCH = 2 };

static hn_attr ints(hn_attr_id id, const int64_t *x) {
    return (hn_attr){.id = id, .kind = HN_K_INTS, .n = 2, .ints = x};
}

static hn_graph *make(size_t i) {
    hn_graph *g = hn_graph_new();
    hn_builder b = {g, 0};
    hn_type x = {.dtype = HONE_F32, .rank = 4};
    x.dim[0] = hn_lit(&b, BATCH), x.dim[1] = hn_lit(&b, cases[i].channels[0]);
    hn_dim low[2], high[2];
    hn_tensor w;
    for (int k = 0; k < 2; k++) {
        x.dim[k + 2] = hn_lit(&b, cases[i].image[k]);
        low[k] = hn_lit(&b, cases[i].low[k]);
        high[k] = hn_lit(&b, cases[i].high[k]);
    }
    const int64_t shape[] = {cases[i].channels[1], cases[i].channels[0] / cases[i].groups, cases[i].kernel[0],
                             cases[i].kernel[1]};
    hn_tensor_new(&g->arena, HONE_F32, 4, shape, &w);
    for (int64_t k = 0, n = hn_tensor_n(&w); k < n; k++) ((float *)w.data)[k] = (float)(k * 7919 % 101) - 50;
    if (cases[i].infinite) ((float *)w.data)[0] = INFINITY;
    const hn_val in[] = {hn_param(g, 0, "x", &x), hn_const(&b, &w)};
    const hn_attr attr[] = {ints(HN_A_STRIDE, cases[i].stride),
                            ints(HN_A_DILATION, cases[i].dilation),
                            ints(HN_A_INFLATE, cases[i].inflate),
                            {.id = HN_A_GROUPS, .kind = HN_K_INT, .i = cases[i].groups},
                            {.id = HN_A_LOW, .kind = HN_K_DIMS, .n = 2, .dims = low},
                            {.id = HN_A_HIGH, .kind = HN_K_DIMS, .n = 2, .dims = high},
                            {.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = HONE_F32}};
    hn_result(g, 0, hn_emit(g, 0, HN_OP_CONV, 2, in, sizeof attr / sizeof *attr, attr, 1), "y");
    return g;
}

/* The operation that convolves with its channels last; NULL: none does. */
static const char *form(const hn_graph *g) {
    for (uint32_t k = 0; k < g->block[0].n_node; k++) {
        const hn_node *n = &g->node[g->block[0].node[k]];
        if (n->op == HN_OP_CONTRACT || hn_attr_i(n, HN_A_CHANNELS_LAST, 0)) return hn_op_of(n->op)->text;
    }
    return NULL;
}

static void check(size_t i) {
    hn_graph *g = make(i);
    hn_arena a = {0};
    hn_tensor x, before, after, packed;
    hone_err err = {0};
    const int64_t shape[] = {BATCH, cases[i].channels[0], cases[i].image[0], cases[i].image[1]};
    hn_tensor_new(&a, HONE_F32, 4, shape, &x);
    for (int64_t k = 0, n = hn_tensor_n(&x); k < n; k++) ((float *)x.data)[k] = (float)(k * 31 % 57) / 8;
    hone_rc rc = hn_graph_ok(g) ? hn_interpret(g, &x, &a, &before, NULL, &err) : g->err.rc;
    if (!rc) rc = run_named(g, "layout", &err);
    if (!rc) rc = hn_verify(g, &err);
    if (!rc) rc = hn_interpret(g, &x, &a, &after, NULL, &err);
    ok(!rc && hn_tensor_compare(&after, &before, (hn_match_rule){0, 0}).same, "layout/%s: %s%s", cases[i].name,
       err.text, g->err.text);
    const char *is = form(g), *want = cases[i].form;
    ok(is && want ? !strcmp(is, want) : !is && !want, "layout/%s_form", cases[i].name);
    if (!rc) rc = run_named(g, "pack", &err);
    if (!rc) rc = hn_verify(g, &err);
    if (!rc) rc = hn_interpret(g, &x, &a, &packed, NULL, &err);
    ok(!rc && hn_tensor_compare(&packed, &before, (hn_match_rule){0, 0}).same, "pack/%s: %s", cases[i].name, err.text);
    hn_arena_free(&a);
    hn_graph_free(g);
}

#define W                                                                                                              \
    "%1 = const {value = f32[4, 4, 1, 1] "                                                                             \
    "x3f800000000000000000000000000000000000003f8000000000000000000000000000000000000000000000000000000000803f0000000" \
    "0000000000000000000000000803f}\n"
static const pass_case texts[] = {
#include "layout_cases.inc"
};

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(i);
    return check_passes(texts, sizeof texts / sizeof *texts);
}
