/* nest/body_reduce.c — reductions, contractions, convolutions and windows: loops around an accumulator.
 *
 * The accumulator is a register of at least 32 bits, set at the scope of the result's own indices and updated in
 * row-major order of the reduced dimensions; schedules may change that order, always the same way for every run.
 */
#include "nest/body.h"

#include <math.h>

/* An accumulation under way: from begin to end the reduced loops are open. */
typedef struct fold {
    hn_body_scope *saved;
    hn_buf acc;
    hone_dtype dtype; /* of the accumulator */
    hn_op op;
    int loops;
} fold;

static hone_dtype wide(hone_dtype t) {
    if (t == HONE_F64) return t;
    if (hn_is_float(t)) return HONE_F32;
    return t == HONE_BOOL ? HONE_U8 : t;
}

static void begin(hn_nest_lowering *l, fold *f, hn_op op, hone_dtype t, size_t rank, const hn_ix *at) {
    hn_body_scope *home = hn_home_of_guards(l);
    for (size_t d = 0; d < rank; d++) home = hn_deeper(home, hn_home_of_ix(l, at[d]));
    const hn_dtype_info *info = hn_dtype_of(t);
    int64_t lowest = info->cls == HN_CLASS_INT ? (int64_t)(UINT64_MAX << (info->bits - 1)) : 0;
    uint64_t high = UINT64_MAX >> (64 - (info->bits > 64 ? 64 : info->bits) + (info->cls == HN_CLASS_INT));
    *f = (fold){.saved = l->scope, .dtype = t, .op = op};
    l->scope = home;
    f->acc = hn_register(l, t);
    hn_sv init;
    switch (op) {
    case HN_OP_MUL: init = hn_place_number(l, t, 1, 1); break;
    case HN_OP_MIN: init = hn_place_number(l, t, (double)INFINITY, (int64_t)high); break;
    case HN_OP_MAX: init = hn_place_number(l, t, -(double)INFINITY, lowest); break;
    default: init = hn_place_number(l, t, 0, 0); break;
    }
    hn_store(l, f->acc, hn_ix_int(l->n, 0), init);
}
static hn_ix loop(hn_nest_lowering *l, fold *f, hn_dim extent) {
    f->loops++;
    return hn_ix_var(l->n, hn_open_loop(l, hn_ix_dim(l->n, extent), HN_SERIAL));
}
static hn_sv finish(hn_nest_lowering *l, fold *f, hn_sv x, hone_dtype t) {
    if (x) hn_update(l, f->acc, hn_ix_int(l->n, 0), f->op, x);
    for (int i = 0; i < f->loops; i++) hn_close_loop(l);
    hn_sv sum = x ? hn_place_load(l, f->acc, hn_ix_int(l->n, 0)) : 0;
    if (sum) sum = hn_place_cast(l, sum, t, false);
    l->scope = f->saved;
    return sum;
}

static hn_sv eval_reduction(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at) {
    static const hn_op ops[] = {[HN_OP_RSUM - HN_OP_RSUM] = HN_OP_ADD,
                                [HN_OP_RPROD - HN_OP_RSUM] = HN_OP_MUL,
                                [HN_OP_RMIN - HN_OP_RSUM] = HN_OP_MIN,
                                [HN_OP_RMAX - HN_OP_RSUM] = HN_OP_MAX};
    const hn_type *t = hn_type_of(l->g, x->in[0]), *u = hn_type_of(l->g, v);
    const hn_attr *axes = hn_attr_get(x, HN_A_AXES);
    bool keep = hn_attr_i(x, HN_A_KEEP, 0) != 0;
    hone_dtype acc = wide(t->dtype);
    hn_ix in[HN_RANK_MAX];
    fold f;
    begin(l, &f, ops[x->op - HN_OP_RSUM], acc, u->rank, at);
    for (size_t d = 0, from = 0, a = 0; d < t->rank; d++) {
        bool reduced = axes && a < axes->n && axes->ints[a] == (int64_t)d;
        in[d] = reduced ? loop(l, &f, t->dim[d]) : at[from];
        a += reduced;
        from += !reduced || keep;
    }
    hn_sv e = hn_value_at(l, x->in[0], in);
    return finish(l, &f, e ? hn_place_cast(l, e, acc, false) : 0, u->dtype);
}

static hn_sv product(hn_nest_lowering *l, hn_sv a, hn_sv b, hone_dtype t) {
    if (!a || !b) return 0;
    hn_scalar x = {.kind = HN_SV_OP, .dtype = t, .op = HN_OP_MUL, .n_arg = 2, .fused = true};
    x.arg[0] = hn_place_cast(l, a, t, false);
    x.arg[1] = hn_place_cast(l, b, t, false);
    return hn_place(l, &x);
}

/* Index of the dimension with a label among a result's or an operand's labels; -1. */
static int label_at(const hn_attr *labels, int64_t label) {
    for (uint32_t k = 0; k < labels->n; k++)
        if (labels->ints[k] == label) return (int)k;
    return -1;
}

static hn_sv eval_contract(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at) {
    const hn_attr *side[2] = {hn_attr_get(x, HN_A_LHS), hn_attr_get(x, HN_A_RHS)}, *out = hn_attr_get(x, HN_A_OUT);
    const hn_type *u = hn_type_of(l->g, v);
    hone_dtype acc = wide(u->dtype);
    hn_ix in[2][HN_RANK_MAX];
    fold f;
    begin(l, &f, HN_OP_ADD, acc, u->rank, at);
    for (int s = 0; s < 2; s++)
        for (uint32_t d = 0; d < side[s]->n; d++) {
            int o = label_at(out, side[s]->ints[d]), before = s ? label_at(side[0], side[s]->ints[d]) : -1;
            if (o >= 0)
                in[s][d] = at[o];
            else if (before >= 0)
                in[s][d] = in[0][before];
            else
                in[s][d] = loop(l, &f, hn_type_of(l->g, x->in[s])->dim[d]);
        }
    hn_sv a = hn_value_at(l, x->in[0], in[0]), b = a ? hn_value_at(l, x->in[1], in[1]) : 0;
    return finish(l, &f, product(l, a, b, acc), u->dtype);
}

/* The input's position of output o, tap k in one spatial dimension, and the guards that it lies inside. */
static hn_ix tap(hn_nest_lowering *l, const hn_node *x, uint32_t d, hn_ix o, hn_ix k, hn_dim size, hn_ix *guard,
                 uint32_t *n_guard) {
    const hn_attr *stride = hn_attr_get(x, HN_A_STRIDE), *dilation = hn_attr_get(x, HN_A_DILATION);
    const hn_attr *inflate = hn_attr_get(x, HN_A_INFLATE), *low = hn_attr_get(x, HN_A_LOW);
    hn_nest *n = l->n;
    hn_ix i = hn_ix_add(n, hn_ix_scale(n, o, hn_dim_int(n->dims, stride ? stride->ints[d] : 1)),
                        hn_ix_scale(n, k, hn_dim_int(n->dims, dilation ? dilation->ints[d] : 1)));
    if (low) i = hn_ix_sub(n, i, hn_ix_dim(n, low->dims[d]));
    if (inflate && inflate->ints[d] > 1) {
        hn_dim by = hn_dim_int(n->dims, inflate->ints[d]);
        guard[(*n_guard)++] = hn_ix_sub(n, hn_ix_int(n, 0), hn_ix_mod(n, i, by)); /* lands on an element */
        i = hn_ix_div(n, i, by);
    }
    guard[(*n_guard)++] = i;
    guard[(*n_guard)++] = hn_ix_sub(n, hn_ix_dim(n, hn_dim_sub(n->dims, size, hn_dim_int(n->dims, 1))), i);
    return i;
}

/* Which dimension of the image is what. */
typedef struct image_dims {
    size_t channel, spatial;
} image_dims;
static image_dims dims_of_image(const hn_node *x, size_t rank) {
    bool last = hn_attr_i(x, HN_A_CHANNELS_LAST, 0) != 0;
    return (image_dims){hn_channel_dim(last, rank), hn_spatial_dim(last)};
}

/* Loops over the window and the channels of a group, in the order in which the image lies in memory. */
static void conv_loops(hn_nest_lowering *l, fold *f, const hn_type *w, bool last, hn_ix *k) {
    for (size_t d = 1; d < w->rank; d++) {
        size_t axis = !last ? d : d + 1 < w->rank ? d + 1 : 1;
        k[axis] = loop(l, f, w->dim[axis]);
    }
}

static hn_sv eval_conv(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at) {
    const hn_type *t = hn_type_of(l->g, x->in[0]), *w = hn_type_of(l->g, x->in[1]), *u = hn_type_of(l->g, v);
    const image_dims i = dims_of_image(x, t->rank);
    hn_nest *n = l->n;
    hn_dim groups = hn_dim_int(n->dims, hn_attr_i(x, HN_A_GROUPS, 1));
    hone_dtype acc = wide(u->dtype);
    hn_ix in[HN_RANK_MAX], k[HN_RANK_MAX], guard[3 * HN_RANK_MAX];
    uint32_t n_guard = 0;
    fold f;
    begin(l, &f, HN_OP_ADD, acc, u->rank, at);
    conv_loops(l, &f, w, i.channel != 1, k);
    hn_ix group = hn_ix_div(n, at[i.channel], hn_dim_floordiv(n->dims, w->dim[0], groups));
    k[0] = at[i.channel];
    in[0] = at[0];
    in[i.channel] = hn_ix_add(n, hn_ix_scale(n, group, w->dim[1]), k[1]);
    for (uint32_t d = 0; d + 2 < t->rank; d++)
        in[i.spatial + d] = tap(l, x, d, at[i.spatial + d], k[d + 2], t->dim[i.spatial + d], guard, &n_guard);
    uint32_t from = l->n_guard, pushed = hn_push_guards(l, n_guard, guard);
    hn_ix kept[3 * HN_RANK_MAX];
    memcpy(kept, &l->guard[from], pushed * sizeof *kept);
    hn_sv a = hn_value_at(l, x->in[0], in);
    l->n_guard = from;
    hn_sv p = product(l, a, a ? hn_value_at(l, x->in[1], k) : 0, acc);
    if (p) p = hn_place_pick(l, pushed, kept, p, hn_place_number(l, acc, 0, 0));
    return finish(l, &f, p, u->dtype);
}

static hn_sv eval_window(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at) {
    const hn_type *t = hn_type_of(l->g, x->in[0]), *u = hn_type_of(l->g, v);
    const hn_attr *kernel = hn_attr_get(x, HN_A_KERNEL);
    const hn_dtype_info *info = hn_dtype_of(t->dtype);
    bool max = x->op == HN_OP_WMAX;
    hone_dtype acc = wide(u->dtype);
    const image_dims i = dims_of_image(x, t->rank);
    hn_ix in[HN_RANK_MAX] = {at[0]}, guard[3 * HN_RANK_MAX];
    uint32_t n_guard = 0;
    fold f;
    in[i.channel] = at[i.channel];
    if (x->op == HN_OP_WARGMAX) return hn_decline(l, "'%s' has no loop nest", hn_op_of(x->op)->text);
    begin(l, &f, max ? HN_OP_MAX : HN_OP_ADD, acc, u->rank, at);
    for (uint32_t d = 0; d + 2 < t->rank; d++) {
        hn_ix k = loop(l, &f, hn_dim_int(l->n->dims, kernel->ints[d]));
        in[i.spatial + d] = tap(l, x, d, at[i.spatial + d], k, t->dim[i.spatial + d], guard, &n_guard);
    }
    uint32_t from = l->n_guard, pushed = hn_push_guards(l, n_guard, guard);
    hn_sv e = hn_value_at(l, x->in[0], in);
    l->n_guard = from;
    if (!e) return finish(l, &f, 0, u->dtype);
    e = hn_place_cast(l, e, acc, false);
    int64_t lowest = info->cls == HN_CLASS_INT ? (int64_t)(UINT64_MAX << (info->bits - 1)) : 0;
    hn_sv outside = max ? hn_place_number(l, acc, -(double)INFINITY, lowest) : hn_place_number(l, acc, 0, 0);
    return finish(l, &f, hn_place_pick(l, pushed, &l->guard[from], e, outside), u->dtype);
}

hn_sv hn_reduce_at(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at) {
    if (hn_op_of(x->op)->cls == HN_REDUCE) return eval_reduction(l, v, x, at);
    if (x->op == HN_OP_CONTRACT) return eval_contract(l, v, x, at);
    if (x->op == HN_OP_CONV) return eval_conv(l, v, x, at);
    return eval_window(l, v, x, at);
}
