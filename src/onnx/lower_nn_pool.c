/* Pools, local response normalisation, region pools. */
#include "compose/image.h"
#include "onnx/lower_nn_int.h"

/* Flat index inside a plane, counted with the first spatial dimension fastest (storage_order 1). */
static hn_val column_major(hn_builder *b, hn_val x, hn_val index) {
    size_t rank = hn_rank(b, x);
    hn_val sum = 0;
    for (size_t i = rank; i-- > 2;) {
        hn_dim n = hn_dim_of(b, x, i), step = hn_dim_product(b, x, 2, i);
        hn_val size = hn_scalar(b, hn_dims_value(b, 1, &n));
        hn_val at = i > 2 ? hn_bin(b, HN_OP_REM, index, size) : index;
        at = hn_bin(b, HN_OP_MUL, at, hn_scalar(b, hn_dims_value(b, 1, &step)));
        sum = sum ? hn_bin(b, HN_OP_ADD, sum, at) : at;
        if (i > 2) index = hn_bin(b, HN_OP_DIV, index, size);
    }
    return sum;
}

/* ONNX counts Indices over the whole tensor: (n * C + c) planes come before. */
static hn_val whole_index(hn_builder *b, hn_val x, hn_val index) {
    hn_dims *t = b->g->dims;
    hn_dim plane = hn_dim_product(b, x, 2, hn_rank(b, x)), shape[HN_RANK_MAX];
    hn_dim planes = hn_dim_mul(t, hn_dim_of(b, x, 0), hn_dim_of(b, x, 1));
    hn_val first = hn_bin(b, HN_OP_MUL, hn_iota(b, HONE_I64, 1, &planes, 0), hn_scalar(b, hn_dims_value(b, 1, &plane)));
    for (size_t i = 0; i < hn_rank(b, x); i++) shape[i] = i < 2 ? hn_dim_of(b, x, i) : hn_lit(b, 1);
    return hn_bin(b, HN_OP_ADD, index, hn_reshape(b, first, hn_rank(b, x), shape));
}

void hn_lower_max_pool(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_window w;
    if (!hn_need(c, 1) || !hn_window_read(c, hn_in(c, 0), NULL, &w)) return;
    hn_val x = hn_in(c, 0);
    hn_out(c, 0, hn_window_emit(b, HN_OP_WMAX, x, &w));
    if (!hn_wants(c, 1)) return;
    hn_val index = hn_window_emit(b, HN_OP_WARGMAX, x, &w);
    if (hn_int(c, "storage_order", 0)) index = column_major(b, x, index);
    hn_out(c, 1, whole_index(b, x, index));
}

void hn_lower_average_pool(hn_lower *c) {
    hn_window w;
    if (!hn_need(c, 1) || !hn_window_read(c, hn_in(c, 0), NULL, &w)) return;
    hn_out(c, 0, hn_average_pool(hn_lower_builder(c), hn_in(c, 0), &w, hn_int(c, "count_include_pad", 0) != 0));
}

/* p of an Lp norm: a float in opset 1, an integer since. */
static double norm_order(hn_lower *c) {
    double p = hn_lower_opset(c) < 2 ? hn_float(c, "p", 2) : (double)hn_int(c, "p", 2);
    if (!(p > 0)) hn_wrong(c, "'p' is %g; it must be positive", p);
    return p;
}

void hn_lower_lp_pool(hn_lower *c) {
    hn_window w;
    double p = norm_order(c);
    if (!hn_need(c, 1) || !hn_window_read(c, hn_in(c, 0), NULL, &w)) return;
    hn_out(c, 0, hn_lp_pool(hn_lower_builder(c), hn_in(c, 0), &w, p));
}

void hn_lower_global_pool(hn_lower *c) {
    hn_op op = (hn_op)hn_lower_arg(c);
    double p = op == HN_OP_POW ? norm_order(c) : 0;
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 3, HN_RANK_MAX)) return;
    hn_out(c, 0, hn_global_pool(hn_lower_builder(c), op, hn_in(c, 0), p));
}

void hn_lower_lrn(hn_lower *c) {
    int64_t size = hn_int(c, "size", 0);
    double alpha = hn_float(c, "alpha", 1e-4), beta = hn_float(c, "beta", 0.75), bias = hn_float(c, "bias", 1);
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 2, HN_RANK_MAX)) return;
    if (size < 1 || size > INT32_MAX) {
        hn_wrong(c, "'size' is %lld; it must be at least 1", (long long)size);
        return;
    }
    hn_out(c, 0, hn_response_norm(hn_lower_builder(c), hn_in(c, 0), size, alpha, beta, bias));
}

void hn_lower_max_roi_pool(hn_lower *c) {
    const int64_t *pooled;
    double scale = hn_float(c, "spatial_scale", 1);
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 4, 4) || !hn_need_rank(c, 1, 2, 2)) return;
    if (hn_ints(c, "pooled_shape", &pooled) != 2 || pooled[0] < 1 || pooled[1] < 1) {
        hn_wrong(c, "'pooled_shape' must be two positive sizes");
        return;
    }
    hn_out(c, 0, hn_max_roi_pool(hn_lower_builder(c), hn_in(c, 0), hn_in(c, 1), pooled, scale));
}
