/* Softmax and kin, and the table of the family. */
#include "onnx/lower_nn_int.h"

/* Before opset 13 softmax works over all dimensions from `axis` on, flattened into one. Gives x as [front, back], or x
 * itself where axis is the last, and the axis to work over. */
static hn_val flattened(hn_lower *c, hn_val x, int64_t *axis) {
    hn_builder *b = hn_lower_builder(c);
    size_t rank = hn_rank(b, x), at = (size_t)*axis;
    if (hn_lower_opset(c) >= 13 || at + 1 == rank) return x;
    hn_dim shape[2] = {hn_dim_product(b, x, 0, at), hn_dim_product(b, x, at, rank)};
    *axis = 1;
    return hn_reshape(b, x, 2, shape);
}

typedef hn_val row_fn(hn_builder *b, hn_val x, int64_t axis);

/* arg: index of the function. Floats below 32 bits are computed in f32. */
static void lower_softmax(hn_lower *c) {
    static row_fn *const fn[] = {hn_softmax, hn_log_softmax, hn_hardmax};
    hn_builder *b = hn_lower_builder(c);
    hn_dim shape[HN_RANK_MAX];
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 1, HN_RANK_MAX)) return;
    hn_val in = hn_in(c, 0);
    size_t rank = hn_rank(b, in);
    int64_t axis = hn_axis(c, hn_int(c, "axis", hn_lower_opset(c) < 13 ? 1 : -1), rank);
    if (hn_lower_failed(c)) return;
    for (size_t i = 0; i < rank; i++) shape[i] = hn_dim_of(b, in, i);
    hn_val x = flattened(c, hn_work(b, in), &axis);
    hn_val y = fn[hn_lower_arg(c)](b, x, axis);
    if (hn_rank(b, y) != rank || hn_lower_opset(c) < 13) y = hn_reshape(b, y, rank, shape);
    hn_out(c, 0, hn_cast(b, y, hn_dt(b, in)));
}

/* One row serves several versions where the attributes of later opsets are just absent in earlier models. */
const hn_lower_row hn_lower_nn[] = {
    {"", "Conv", 1, HN_OPSET_MAX, hn_lower_conv, 0},
    {"", "ConvTranspose", 1, HN_OPSET_MAX, hn_lower_conv_transpose, 0},
    {"", "CausalConvWithState", 27, HN_OPSET_MAX, hn_lower_causal_conv, 0},
    {"", "MaxPool", 1, HN_OPSET_MAX, hn_lower_max_pool, 0},
    {"", "AveragePool", 1, HN_OPSET_MAX, hn_lower_average_pool, 0},
    {"", "LpPool", 1, HN_OPSET_MAX, hn_lower_lp_pool, 0},
    {"", "GlobalAveragePool", 1, HN_OPSET_MAX, hn_lower_global_pool, HN_OP_RSUM},
    {"", "GlobalMaxPool", 1, HN_OPSET_MAX, hn_lower_global_pool, HN_OP_RMAX},
    {"", "GlobalLpPool", 1, HN_OPSET_MAX, hn_lower_global_pool, HN_OP_POW},
    {"", "MaxRoiPool", 1, HN_OPSET_MAX, hn_lower_max_roi_pool, 0},
    {"", "LRN", 1, HN_OPSET_MAX, hn_lower_lrn, 0},
    {"", "Softmax", 1, HN_OPSET_MAX, lower_softmax, 0},
    {"", "LogSoftmax", 1, HN_OPSET_MAX, lower_softmax, 1},
    {"", "Hardmax", 1, HN_OPSET_MAX, lower_softmax, 2},
    {0},
};
