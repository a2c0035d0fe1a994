/* Normalisations. Statistics of floats below 32 bits are computed in f32. */
#include "onnx/lower_util.h"

/* ---- batch ---- */

typedef struct batch {
    hn_val x, scale, shift, mean, var; /* in the working type; the last four broadcast to x */
    hone_dtype t;
    bool spatial;
    double epsilon;
} batch;

/* Parameters are [C], or [C, spatial…] where every element has its own (attribute spatial = 0, before opset 9). */
static hn_val batch_param(hn_lower *c, const batch *n, size_t i) {
    hn_builder *b = hn_lower_builder(c);
    hn_val v = hn_cast(b, hn_in(c, i), n->t);
    if (hn_rank(b, v) == 1 && (n->spatial || hn_rank(b, n->x) == 2)) return hn_along(b, v, hn_rank(b, n->x), 1);
    if (n->spatial) return hn_along(b, hn_reshape(b, v, 1, (hn_dim[]){hn_dim_of(b, n->x, 1)}), hn_rank(b, n->x), 1);
    hn_dim shape[HN_RANK_MAX];
    for (size_t k = 1; k < hn_rank(b, n->x); k++) shape[k - 1] = hn_dim_of(b, n->x, k);
    return hn_reshape(b, v, hn_rank(b, n->x) - 1, shape);
}

/* old * momentum + now * (1 - momentum), shaped and typed as input i. */
static hn_val running(hn_lower *c, hn_val old, hn_val now, size_t i) {
    hn_builder *b = hn_lower_builder(c);
    double momentum = hn_float(c, "momentum", 0.9);
    const hn_type *t = hn_t(b, hn_in(c, i));
    hn_val v = hn_bin(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, old, momentum), hn_bin_f(b, HN_OP_MUL, now, 1 - momentum));
    hn_type want = *t;
    return hn_reshape(b, hn_cast(b, v, want.dtype), want.rank, want.dim);
}

static void batch_training(hn_lower *c, const batch *n) {
    hn_builder *b = hn_lower_builder(c);
    hn_moments m;
    hn_val y = hn_batch_norm_trained(b, n->x, n->scale, n->shift, n->spatial, n->epsilon, &m);
    hn_out(c, 0, hn_cast(b, y, hn_dt(b, hn_in(c, 0))));
    if (hn_wants(c, 1)) hn_out(c, 1, running(c, n->mean, m.mean, 3));
    if (hn_wants(c, 2)) hn_out(c, 2, running(c, n->var, m.variance, 4));
    for (size_t i = 0; i < 2; i++) { /* saved statistics of this batch, before opset 14 */
        hn_type like = *hn_t(b, hn_in(c, 3 + i));
        if (!hn_wants(c, 3 + i)) continue;
        hn_val v = hn_cast(b, i ? m.variance : m.mean, like.dtype);
        hn_out(c, 3 + i, hn_reshape(b, v, like.rank, like.dim));
    }
}

/* Training is asked for by an attribute since opset 14; before, by naming more than one output, and before opset 7 by
 * the absence of is_test. Models of those opsets exported for inference name one output and set is_test or not. */
static bool trains(hn_lower *c) {
    if (hn_lower_opset(c) >= 14) return hn_int(c, "training_mode", 0) != 0;
    if (hn_lower_opset(c) < 7 && hn_int(c, "is_test", 0)) return false;
    for (size_t i = 1; i < hn_n_out(c); i++)
        if (hn_wants(c, i)) return true;
    return false;
}

static void lower_batch(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 5) || !hn_need_rank(c, 0, 2, HN_RANK_MAX)) return;
    batch n = {.spatial = hn_lower_opset(c) >= 9 || hn_int(c, "spatial", 1) != 0,
               .epsilon = hn_float(c, "epsilon", 1e-5)};
    n.x = hn_work(b, hn_in(c, 0));
    n.t = hn_dt(b, n.x);
    n.scale = batch_param(c, &n, 1);
    n.shift = batch_param(c, &n, 2);
    n.mean = batch_param(c, &n, 3);
    n.var = batch_param(c, &n, 4);
    if (trains(c))
        batch_training(c, &n);
    else
        hn_out(c, 0,
               hn_cast(b, hn_batch_norm(b, n.x, n.scale, n.shift, n.mean, n.var, n.epsilon), hn_dt(b, hn_in(c, 0))));
}

/* ---- instance, group ---- */

static void lower_instance(hn_lower *c) {
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 3, HN_RANK_MAX)) return;
    double epsilon = hn_float(c, "epsilon", 1e-5);
    hn_out(c, 0, hn_instance_norm(hn_lower_builder(c), hn_in(c, 0), hn_in(c, 1), hn_in(c, 2), epsilon));
}

/* The type of stage one: attribute stash_type, f32 where it is absent. */
static bool stash_type(hn_lower *c, hone_dtype *out) {
    *out = HONE_F32;
    if (!hn_has(c, "stash_type")) return true;
    if (!hn_dtype_attr(c, "stash_type", out)) return false;
    if (hn_is_float(*out)) return true;
    hn_wrong(c, "'stash_type' is %s; it must be a float type", hone_dtype_name(*out));
    return false;
}

static void lower_group(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t groups = hn_int(c, "num_groups", 0), channels;
    hone_dtype stash = HONE_F32;
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 2, HN_RANK_MAX) || !hn_need_rank(c, 1, 1, 1) ||
        !hn_need_rank(c, 2, 1, 1) || !stash_type(c, &stash))
        return;
    hn_val in = hn_in(c, 0);
    hone_dtype t = hn_dt(b, in);
    if (groups < 1 || (hn_dim_known(b, hn_dim_of(b, in, 1), &channels) && channels % groups)) {
        hn_wrong(c, "'num_groups' is %lld; it must divide the channels", (long long)groups);
        return;
    }
    if (t == HONE_F64 && hn_lower_opset(c) < 21) stash = t;
    hn_out(c, 0, hn_group_norm(b, in, groups, hn_in(c, 1), hn_in(c, 2), hn_float(c, "epsilon", 1e-5), stash));
}

/* ---- layer, root mean square ---- */

static bool layer_axes(hn_lower *c, size_t rank, int64_t *axes, size_t *n) {
    int64_t axis = hn_axis(c, hn_int(c, "axis", -1), rank);
    if (hn_lower_failed(c)) return false;
    for (*n = 0; (size_t)axis < rank; axis++) axes[(*n)++] = axis;
    return true;
}

/* What LayerNormalization and RMSNormalization have in common. */
static bool norm_attributes(hn_lower *c, hone_dtype *stash, int64_t *axes, size_t *n) {
    return hn_need(c, 2) && hn_need_rank(c, 0, 1, HN_RANK_MAX) && stash_type(c, stash) &&
           layer_axes(c, hn_rank(hn_lower_builder(c), hn_in(c, 0)), axes, n);
}

static void lower_layer(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t axes[HN_RANK_MAX];
    size_t n;
    hone_dtype stash;
    hn_moments m;
    if (!norm_attributes(c, &stash, axes, &n)) return;
    hn_out(c, 0,
           hn_layer_norm(b, hn_in(c, 0), n, axes, hn_in(c, 1), hn_in(c, 2), hn_float(c, "epsilon", 1e-5), stash, &m));
    hn_out(c, 1, hn_cast(b, m.mean, stash));
    hn_out(c, 2, hn_cast(b, m.inv, stash));
}

static void lower_rms(hn_lower *c) {
    int64_t axes[HN_RANK_MAX];
    size_t n;
    hone_dtype stash;
    if (!norm_attributes(c, &stash, axes, &n)) return;
    double epsilon = hn_float(c, "epsilon", 1e-5);
    hn_out(c, 0, hn_rms_norm(hn_lower_builder(c), hn_in(c, 0), n, axes, hn_in(c, 1), epsilon, stash));
}

/* ---- others ---- */

static void lower_lp(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t p = hn_int(c, "p", 2);
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 1, HN_RANK_MAX)) return;
    int64_t axis = hn_axis(c, hn_int(c, "axis", -1), hn_rank(b, hn_in(c, 0)));
    if (p != 1 && p != 2) hn_wrong(c, "'p' is %lld; it must be 1 or 2", (long long)p);
    if (!hn_lower_failed(c)) hn_out(c, 0, hn_lp_norm(b, hn_in(c, 0), (int)p, axis));
}

static void lower_mean_variance(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    static const int64_t usual[] = {0, 2, 3};
    int64_t axes[HN_RANK_MAX];
    const int64_t *given;
    if (!hn_need(c, 1)) return;
    hn_val in = hn_in(c, 0), x = hn_work(b, in);
    size_t rank = hn_rank(b, x), n = hn_ints(c, "axes", &given);
    if (!n) {
        given = usual;
        n = 3;
    }
    if (n > rank) {
        hn_wrong(c, "'axes' has %zu entries, the input rank %zu", n, rank);
        return;
    }
    for (size_t i = 0; i < n; i++) { /* insertion sort: the IR wants ascending axes */
        int64_t axis = hn_axis(c, given[i], rank);
        size_t k = i;
        for (; k > 0 && axes[k - 1] > axis; k--) axes[k] = axes[k - 1];
        axes[k] = axis;
        if (k > 0 && axes[k - 1] == axis) hn_wrong(c, "'axes' names %lld twice", (long long)axis);
    }
    if (hn_lower_failed(c)) return;
    hn_val mean = hn_mean(b, x, n, axes, true), d = hn_bin(b, HN_OP_SUB, x, mean);
    hn_val deviation = hn_un(b, HN_OP_SQRT, hn_mean(b, hn_bin(b, HN_OP_MUL, d, d), n, axes, true));
    hn_val y = hn_bin(b, HN_OP_DIV, d, hn_bin_f(b, HN_OP_ADD, deviation, 1e-9));
    hn_out(c, 0, hn_cast(b, y, hn_dt(b, in)));
}

const hn_lower_row hn_lower_norm[] = {
    {"", "BatchNormalization", 1, HN_OPSET_MAX, lower_batch, 0},
    {"", "InstanceNormalization", 1, HN_OPSET_MAX, lower_instance, 0},
    {"", "GroupNormalization", 18, HN_OPSET_MAX, lower_group, 0},
    {"", "LayerNormalization", 17, HN_OPSET_MAX, lower_layer, 0},
    {"", "RMSNormalization", 23, HN_OPSET_MAX, lower_rms, 0},
    {"", "LpNormalization", 1, HN_OPSET_MAX, lower_lp, 0},
    {"", "MeanVarianceNormalization", 9, HN_OPSET_MAX, lower_mean_variance, 0},
    {0},
};
