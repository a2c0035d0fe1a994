/* Pass winograd: which convolutions get evaluated windows, and that these say what the weights say, as far as rounding
 * lets them. */
#include "ir/build.h"
#include "ir/winograd.h"
#include "pass/pass.h"
#include "tap.h"

#include <math.h>

typedef struct convolution {
    const char *name;
    int64_t channels, results, size, kernel, stride, dilation, groups, images; /* images 0: a symbol */
    double tolerance;
    int64_t tile; /* that is wanted; 0: it stays */
} convolution;

static const convolution cases[] = {
    {"wide", 64, 64, 56, 3, 1, 1, 1, 1, 1e-3, 4},
    {"odd_size", 48, 80, 37, 3, 1, 1, 1, 2, 1e-3, 4},
    {"any_batch", 64, 64, 56, 3, 1, 1, 1, 0, 1e-3, 4},
    {"rounds_little", 64, 64, 56, 3, 1, 1, 1, 1, 3e-6, 2},
    {"rounds_nothing_more", 64, 64, 56, 3, 1, 1, 1, 1, 1e-8, 0},
    {"exact", 64, 64, 56, 3, 1, 1, 1, 1, 0, 0},
    {"few_channels", 16, 64, 56, 3, 1, 1, 1, 1, 1e-3, 0},
    {"few_results", 64, 16, 56, 3, 1, 1, 1, 1, 1e-3, 0},
    {"few_tiles", 128, 128, 4, 3, 1, 1, 1, 1, 1e-3, 0},
    {"strided", 64, 64, 56, 3, 2, 1, 1, 1, 1e-3, 0},
    {"dilated", 64, 64, 56, 3, 1, 2, 1, 1, 1e-3, 0},
    {"larger_window", 64, 64, 56, 5, 1, 1, 1, 1, 1e-3, 0},
    {"grouped", 128, 128, 56, 3, 1, 1, 2, 1, 1e-3, 0},
};

static void fill(hn_tensor *w) {
    for (int64_t k = 0; k < hn_tensor_n(w); k++)
        ((float *)w->data)[k] = (float)((k * 7919 + k / 7) % 1009 - 504) / 2000;
}

static hn_graph *make(const convolution *c, hn_tensor *w) {
    hn_graph *g = hn_graph_new();
    hn_builder b = {g, 0};
    hn_dim one[2] = {hn_lit(&b, 1), hn_lit(&b, 1)};
    int64_t shape[] = {c->results, c->channels / c->groups, c->kernel, c->kernel}, stride[] = {c->stride, c->stride},
            dilation[] = {c->dilation, c->dilation}, inflate[] = {1, 1};
    hn_dim images = c->images ? hn_lit(&b, c->images) : hn_dim_symbol(g->dims, "n", 1, INT64_MAX);
    hn_type x = {.dtype = HONE_F32,
                 .rank = 4,
                 .dim = {images, hn_lit(&b, c->channels), hn_lit(&b, c->size), hn_lit(&b, c->size)}};
    const hn_attr attr[] = {{.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = HONE_F32},
                            {.id = HN_A_LOW, .kind = HN_K_DIMS, .n = 2, .dims = one},
                            {.id = HN_A_HIGH, .kind = HN_K_DIMS, .n = 2, .dims = one},
                            {.id = HN_A_STRIDE, .kind = HN_K_INTS, .n = 2, .ints = stride},
                            {.id = HN_A_DILATION, .kind = HN_K_INTS, .n = 2, .ints = dilation},
                            {.id = HN_A_INFLATE, .kind = HN_K_INTS, .n = 2, .ints = inflate},
                            {.id = HN_A_GROUPS, .kind = HN_K_INT, .i = c->groups}};
    hn_tensor_new(&g->arena, HONE_F32, 4, shape, w);
    fill(w);
    const hn_val in[] = {hn_param(g, 0, "x", &x), hn_const(&b, w)};
    hn_result(g, 0, hn_emit(g, 0, HN_OP_CONV, 2, in, sizeof attr / sizeof *attr, attr, 1), "y");
    return g;
}

/* The only convolution's tile. */
static int64_t tile_of(const hn_graph *g) {
    for (uint32_t k = 0; k < g->block[0].n_node; k++) {
        const hn_node *n = &g->node[g->block[0].node[k]];
        if (n->op == HN_OP_CONV) return hn_winograd_tile(g, n);
    }
    return -1;
}

static void check(const convolution *c) {
    hn_tensor w;
    hn_graph *g = make(c, &w);
    hone_err err = {0};
    hone_rc rc = hn_run_passes(g, "winograd", (hn_pass_how){.tolerance = c->tolerance}, NULL, NULL, &err);
    if (!rc) rc = hn_verify(g, &err);
    int64_t tile = tile_of(g);
    ok(!rc && tile == c->tile, "winograd/%s: tile %lld %s", c->name, (long long)tile, err.text);
    hn_graph_free(g);
}

/* As the pass takes it, behind all of them: fusion keeps the windows a parameter of the kernel. */
static void check_fused(void) {
    hn_tensor w;
    hn_graph *g = make(&cases[0], &w);
    hone_err err = {0};
    hone_rc rc = hn_run_passes(g, NULL, (hn_pass_how){.relaxed = true, .tolerance = hn_tolerance_of(true, -1)}, NULL,
                               NULL, &err);
    int64_t tile = 0;
    for (uint32_t i = 0; i < g->n_node && !rc; i++)
        if (g->node[i].op == HN_OP_CONV && g->value[g->node[i].out[0]].block != 0 && hn_winograd_tile(g, &g->node[i]))
            tile = hn_winograd_tile(g, &g->node[i]);
    ok(tile == 4, "winograd/fused: %s", err.text);
    hn_graph_free(g);
}

/* What it rounds: more with larger tiles, far within 1e-3; wrong windows are seen; weights that are no numbers, too. */
static void check_error(void) {
    hn_arena a = {0};
    hn_tensor w, u[2];
    const int64_t shape[] = {40, 96, 3, 3};
    hn_tensor_new(&a, HONE_F32, 4, shape, &w);
    fill(&w);
    double error[2];
    for (int k = 0; k < 2; k++) {
        hn_winograd_windows(&a, &w, 2 + 2 * k, &u[k]);
        error[k] = hn_winograd_error(&a, &w, &u[k], 2 + 2 * k);
    }
    ok(error[0] > 1e-8 && error[0] < error[1] && error[1] < 1e-4, "winograd/error: %.3g and %.3g", error[0], error[1]);
    ((float *)u[1].data)[36 * 96 * 16 / 2] += 1;
    ok(hn_winograd_error(&a, &w, &u[1], 4) > 1e-3, "winograd/error_of_wrong_windows");
    ((float *)w.data)[5] = (float)NAN;
    hn_winograd_windows(&a, &w, 4, &u[1]);
    ok(isnan(hn_winograd_error(&a, &w, &u[1], 4)), "winograd/error_of_nan");
    hn_arena_free(&a);
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
    check_fused();
    check_error();
    ok(hn_tolerance_of(true, -1) == 1e-3 && hn_tolerance_of(false, -1) == 0 && hn_tolerance_of(true, 0) == 0 &&
           hn_tolerance_of(false, 0.5) == 0.5,
       "winograd/tolerance");
    return done_testing();
}
