/* lower_index.c — gathering, scattering, and the table of what indexes or orders. */
#include "onnx/lower_fns.h"

static void gather(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), at = hn_in(c, 1);
    if (!x || !at) return;
    int64_t axis = hn_axis(c, hn_int(c, "axis", 0), hn_rank(b, x));
    if (!hn_lower_failed(c)) hn_out(c, 0, hn_gather(b, x, at, axis));
}

static void gather_elements(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val in[] = {hn_in(c, 0), hn_in(c, 1)};
    if (!in[0] || !in[1]) return;
    hn_attr attr = hn_a_int(HN_A_AXIS, hn_axis(c, hn_int(c, "axis", 0), hn_rank(b, in[0])));
    if (!hn_lower_failed(c)) hn_out(c, 0, hn_emit(b->g, b->b, HN_OP_GATHER_ELEMENTS, 2, in, 1, &attr, 1));
}

/* How many dimensions the index vectors of input 1 select. */
static bool depth_known(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val at = hn_in(c, 1);
    int64_t n;
    size_t rank = at ? hn_rank(b, at) : 0;
    if (!at) return false;
    if (!rank) hn_wrong(c, "its indices are a scalar");
    if (rank && !hn_dim_known(b, hn_dim_of(b, at, rank - 1), &n))
        hn_refuse(c, "the last dimension of its indices has to be known at compile time");
    return !hn_lower_failed(c);
}

static void gather_nd(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val in[] = {hn_in(c, 0), hn_in(c, 1)};
    hn_attr attr = hn_a_int(HN_A_BATCH, hn_int(c, "batch_dims", 0));
    if (in[0] && depth_known(c)) hn_out(c, 0, hn_emit(b->g, b->b, HN_OP_GATHER_ND, 2, in, 1, &attr, 1));
}

/* ONNX names of scatter's modes; NULL after hn_wrong. */
static const char *scatter_mode(hn_lower *c) {
    static const char *const names[][2] = {
        {"none", "set"}, {"add", "add"}, {"mul", "mul"}, {"min", "min"}, {"max", "max"}};
    const char *given = hn_string(c, "reduction", "none");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(given, names[i][0])) return names[i][1];
    hn_wrong(c, "an unknown reduction");
    return NULL;
}

static hn_val scatter_elements(hn_builder *b, hn_val x, hn_val at, hn_val updates, int64_t axis, const char *mode) {
    hn_val in[] = {x, at, updates};
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, axis), hn_a_word(HN_A_MODE, mode)};
    return hn_emit(b->g, b->b, HN_OP_SCATTER_ELEMENTS, 3, in, 2, attr, 1);
}

static void scatter(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), at = hn_in(c, 1), updates = hn_in(c, 2);
    const char *mode = scatter_mode(c);
    if (!x || !at || !updates || !mode) return;
    int64_t axis = hn_axis(c, hn_int(c, "axis", 0), hn_rank(b, x));
    if (!hn_lower_failed(c)) hn_out(c, 0, scatter_elements(b, x, at, updates, axis, mode));
}

static void scatter_nd(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val in[] = {hn_in(c, 0), hn_in(c, 1), hn_in(c, 2)};
    const char *mode = scatter_mode(c);
    if (!in[0] || !in[2] || !mode || !depth_known(c)) return;
    hn_attr attr = hn_a_word(HN_A_MODE, mode);
    hn_out(c, 0, hn_emit(b->g, b->b, HN_OP_SCATTER_ND, 3, in, 1, &attr, 1));
}

/* A cache of keys or values takes new rows from write_indices[batch] on, around its end where circular. */
static void tensor_scatter(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), updates = hn_in(c, 1);
    const char *mode = hn_string(c, "mode", "linear");
    if (!x || !updates) return;
    hn_type t = *hn_t(b, x), u = *hn_t(b, updates);
    int64_t axis = hn_axis(c, hn_int(c, "axis", -2), t.rank);
    if (u.rank != t.rank || !t.rank) hn_wrong(c, "cache and update differ in rank");
    if (hn_lower_failed(c)) return;
    hn_val at = hn_iota(b, HONE_I64, u.rank, u.dim, (size_t)axis);
    if (hn_has_in(c, 2)) {
        hn_val from = hn_in(c, 2);
        if (!from) return;
        at = hn_bin(b, HN_OP_ADD, at, hn_along(b, hn_cast(b, from, HONE_I64), t.rank, 0));
    }
    hn_dim n = t.dim[axis];
    if (!strcmp(mode, "circular")) at = hn_bin(b, HN_OP_MOD, at, hn_scalar(b, hn_dims_value(b, 1, &n)));
    hn_out(c, 0, scatter_elements(b, x, at, updates, axis, "set"));
}

#define M HN_OPSET_MAX
const hn_lower_row hn_lower_index[] = {
    {"", "Gather", 1, M, gather, 0},
    {"", "GatherElements", 11, M, gather_elements, 0},
    {"", "GatherND", 11, M, gather_nd, 0},
    {"", "Scatter", 9, 10, scatter, 0},
    {"", "ScatterElements", 11, M, scatter, 0},
    {"", "ScatterND", 11, M, scatter_nd, 0},
    {"", "TensorScatter", 24, M, tensor_scatter, 0},
    {"", "ArgMax", 1, M, hn_lower_arg_reduce, HN_OP_ARGMAX},
    {"", "ArgMin", 1, M, hn_lower_arg_reduce, HN_OP_ARGMIN},
    {"", "TopK", 1, M, hn_lower_topk, 0},
    {"", "NonZero", 9, M, hn_lower_nonzero, 0},
    {"", "Unique", 11, M, hn_lower_unique, 0},
    {"", "NonMaxSuppression", 10, M, hn_lower_nms, 0},
    {0},
};
