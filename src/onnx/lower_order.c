/* lower_order.c — what orders elements, and what makes tensors whose size depends on data. */
#include "onnx/lower_fns.h"

#include <math.h>

void hn_lower_arg_reduce(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) return;
    int64_t axis = hn_axis(c, hn_int(c, "axis", 0), hn_rank(b, x));
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, axis), hn_a_int(HN_A_KEEP, hn_int(c, "keepdims", 1) != 0),
                      hn_a_int(HN_A_LAST, hn_int(c, "select_last_index", 0) != 0)};
    if (!hn_lower_failed(c)) hn_out(c, 0, hn_emit(b->g, b->b, (hn_op)hn_lower_arg(c), 1, &x, 3, attr, 1));
}

void hn_lower_topk(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    hn_dim k;
    size_t n;
    if (!x) return;
    hn_type t = *hn_t(b, x);
    int64_t axis = hn_axis(c, hn_int(c, "axis", -1), t.rank);
    if (hn_has(c, "k"))
        k = hn_lit(b, hn_int(c, "k", 0));
    else if (!hn_in_dims(c, 1, &k, 1, &n))
        return;
    int64_t known;
    if (hn_dim_known(b, k, &known) && known < 0) hn_wrong(c, "%lld elements are asked for", (long long)known);
    if (hn_lower_failed(c)) return;
    t.dim[axis] = k;
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, axis), hn_a_int(HN_A_LARGEST, hn_int(c, "largest", 1) != 0),
                      hn_a_dims(HN_A_SHAPE, t.rank, t.dim)};
    hn_val v = hn_emit(b->g, b->b, HN_OP_TOPK, 1, &x, 3, attr, 2);
    if (!v) return;
    hn_out(c, 0, v);
    hn_out(c, 1, v + 1);
}

static hn_attr defines(hn_builder *b, const char *name, hn_dim *room) {
    *room = hn_dim_symbol(b->g->dims, name, 0, INT64_MAX);
    return hn_a_dims(HN_A_DEFINES, 1, room);
}

hn_val hn_lower_where_true(hn_builder *b, hn_val x) {
    hn_dim s;
    hn_attr attr = defines(b, "nonzero", &s);
    return hn_emit(b->g, b->b, HN_OP_NONZERO, 1, &x, 1, &attr, 1);
}

void hn_lower_nonzero(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (x) hn_out(c, 0, hn_lower_where_true(b, x));
}

void hn_lower_unique(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    hn_dim s;
    int64_t axis = 0;
    if (!x) return;
    hn_type t = *hn_t(b, x);
    if (hn_has(c, "axis")) {
        axis = hn_axis(c, hn_int(c, "axis", 0), t.rank);
    } else {
        hn_dim n = hn_type_count(b->g, &t);
        x = hn_reshape(b, x, 1, &n);
    }
    if (hn_lower_failed(c)) return;
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, axis), hn_a_int(HN_A_SORTED, hn_int(c, "sorted", 1) != 0),
                      defines(b, "unique", &s)};
    hn_val v = hn_emit(b->g, b->b, HN_OP_UNIQUE, 1, &x, 3, attr, 4);
    for (size_t i = 0; i < 4 && v; i++) hn_out(c, i, v + (hn_val)i);
}

void hn_lower_nms(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val in[5], boxes = hn_in(c, 0), scores = hn_in(c, 1);
    hn_dim s;
    if (!boxes || !scores) return;
    in[0] = boxes, in[1] = scores;
    in[2] = hn_has_in(c, 2) ? hn_in(c, 2) : hn_const_i(b, HONE_I64, 0);
    in[3] = hn_has_in(c, 3) ? hn_in(c, 3) : hn_const_f(b, HONE_F32, 0);
    in[4] = hn_has_in(c, 4) ? hn_in(c, 4) : hn_const_f(b, HONE_F32, -INFINITY);
    for (size_t i = 2; i < 5; i++) {
        if (!in[i]) return;
        in[i] = hn_scalar(b, in[i]);
    }
    hn_attr attr[] = {hn_a_int(HN_A_CENTER, hn_int(c, "center_point_box", 0) != 0), defines(b, "selected", &s)};
    hn_out(c, 0, hn_emit(b->g, b->b, HN_OP_NMS, 5, in, 2, attr, 1));
}
