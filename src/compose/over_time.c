/* over_time.c — see compose.h. */
#include "compose/compose.h"

hn_val hn_at_time(hn_builder *b, hn_val x, hn_moment at) {
    if (at.k < 0) return hn_gather(b, x, at.index, 0);
    return hn_squeeze(b, hn_slice_axis(b, x, 0, hn_lit(b, at.k), hn_lit(b, 1), 1), 0);
}

static void written_out(hn_builder *b, int64_t steps, bool reversed, hn_val *state, size_t n_scan, hn_val *scan,
                        hn_step_fn *step, void *arg) {
    hn_val part[HN_STATES_MAX], all[HN_STATES_MAX][HN_UNROLL_STEPS];
    for (int64_t i = 0; i < steps; i++) {
        hn_moment at = {.k = reversed ? steps - 1 - i : i};
        at.index = hn_const_i(b, HONE_I64, at.k);
        step(arg, b, at, state, part);
        for (size_t j = 0; j < n_scan; j++) all[j][at.k] = hn_unsqueeze(b, part[j], 0);
    }
    for (size_t j = 0; j < n_scan; j++) scan[j] = hn_concat(b, (size_t)steps, all[j], 0);
}

/* The loop's scan results have its number of iterations as a new symbol; it is `steps`, so they are seen as that. */
static hn_val counted(hn_builder *b, hn_val scan, hn_dim steps) {
    hn_dim shape[HN_RANK_MAX];
    for (size_t i = 0; i < hn_rank(b, scan); i++) shape[i] = i ? hn_dim_of(b, scan, i) : steps;
    return hn_reshape(b, scan, hn_rank(b, scan), shape);
}

static hn_block loop_body(hn_builder *b, hn_dim steps, bool reversed, size_t n_state, const hn_val *state,
                          size_t n_scan, hn_step_fn *step, void *arg) {
    hn_graph *g = b->g;
    hn_builder in = {g, hn_block_new(g, b->b)};
    hn_val own[HN_STATES_MAX], part[HN_STATES_MAX] = {0};
    hn_type count = {.dtype = HONE_I64}, flag = {.dtype = HONE_BOOL};
    hn_val i = hn_param(g, in.b, NULL, &count), go = hn_param(g, in.b, NULL, &flag);
    for (size_t j = 0; j < n_state; j++) {
        hn_type t = *hn_t(b, state[j]);
        own[j] = hn_param(g, in.b, NULL, &t);
    }
    if (reversed) {
        hn_dim last = hn_dim_sub(g->dims, steps, hn_lit(b, 1));
        i = hn_bin(&in, HN_OP_SUB, hn_scalar(&in, hn_dims_value(&in, 1, &last)), i);
    }
    step(arg, &in, (hn_moment){.index = i, .k = -1}, own, part);
    hn_result(g, in.b, go, NULL);
    for (size_t j = 0; j < n_state; j++) hn_result(g, in.b, own[j], NULL);
    for (size_t j = 0; j < n_scan; j++) hn_result(g, in.b, part[j], NULL);
    return in.b;
}

static void looped(hn_builder *b, hn_dim steps, bool reversed, size_t n_state, hn_val *state, size_t n_scan,
                   hn_val *scan, hn_step_fn *step, void *arg) {
    hn_block body = loop_body(b, steps, reversed, n_state, state, n_scan, step, arg);
    hn_dim done = hn_dim_symbol(b->g->dims, "steps", 0, INT64_MAX);
    hn_attr attr[] = {{.id = HN_A_BODY, .kind = HN_K_BLOCKS, .n = 1, .blocks = &body},
                      {.id = HN_A_COUNT, .kind = HN_K_INT, .i = (int64_t)n_scan},
                      {.id = HN_A_DEFINES, .kind = HN_K_DIMS, .n = 1, .dims = &done}};
    hn_val in[2 + HN_STATES_MAX] = {hn_scalar(b, hn_dims_value(b, 1, &steps)), hn_const_i(b, HONE_BOOL, 1)};
    for (size_t j = 0; j < n_state; j++) in[2 + j] = state[j];
    hn_val out = hn_emit(b->g, b->b, HN_OP_LOOP, 2 + n_state, in, 3, attr, n_state + n_scan);
    for (size_t j = 0; j < n_state; j++) state[j] = out ? out + (hn_val)j : 0;
    for (size_t j = 0; j < n_scan; j++) {
        scan[j] = out ? counted(b, out + (hn_val)(n_state + j), steps) : 0;
        if (reversed) scan[j] = hn_flip(b, scan[j], 0);
    }
}

void hn_over_time(hn_builder *b, hn_dim steps, bool reversed, size_t n_state, hn_val *state, size_t n_scan,
                  hn_val *scan, hn_step_fn *step, void *arg) {
    int64_t n;
    if (hn_dim_known(b, steps, &n) && n >= 1 && n <= HN_UNROLL_STEPS)
        written_out(b, n, reversed, state, n_scan, scan, step, arg);
    else
        looped(b, steps, reversed, n_state, state, n_scan, scan, step, arg);
}
