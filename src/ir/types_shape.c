/* ir/types_shape.c — type rules of indexing, reductions, contraction, windows and order. */
#include "ir/types_int.h"

#include <inttypes.h>
#include <string.h>

/* --- indexing ---------------------------------------------------------------------------------------------------- */

static void check_index(hn_typing *c, size_t i) {
    hone_dtype t = c->in[i]->dtype;
    if (t != HONE_I64 && t != HONE_I32) hn_type_wrong(c, "indices are %s instead of i64 or i32", hone_dtype_name(t));
}

void hn_rule_gather(hn_typing *c) {
    const hn_type *x = c->in[0], *index = c->in[1];
    size_t axis = hn_type_axis(c, x->rank), batch = 0;
    check_index(c, 1);
    if (hn_type_attr_maybe(c, HN_A_BATCH))
        batch = (size_t)hn_type_int(c, HN_A_BATCH, 0, axis < index->rank ? (int64_t)axis : index->rank);
    c->out->dtype = x->dtype;
    for (size_t i = 0; i < batch; i++) hn_type_equal(c, x->dim[i], index->dim[i], "batch dimension");
    for (size_t i = 0; i < axis; i++) hn_type_push(c, c->out, x->dim[i]);
    for (size_t i = batch; i < index->rank; i++) hn_type_push(c, c->out, index->dim[i]);
    for (size_t i = axis + 1; i < x->rank; i++) hn_type_push(c, c->out, x->dim[i]);
}

void hn_rule_like1(hn_typing *c) {
    check_index(c, 1);
    hn_type_rank(c, 1, c->in[0]->rank, c->in[0]->rank);
    hn_type_axis(c, c->in[0]->rank);
    *c->out = *c->in[1];
    c->out->dtype = c->in[0]->dtype;
}

/* How many leading dimensions behind the batch ones the last index dimension addresses; 0 after a failure. */
static size_t index_depth(hn_typing *c, const hn_type *x, const hn_type *index, size_t batch) {
    int64_t k = 0;
    check_index(c, 1);
    hn_type_rank(c, 1, batch + 1, HN_RANK_MAX);
    if (c->rc) return 0;
    if (!hn_dim_is_int(c->d, index->dim[index->rank - 1], &k))
        hn_type_wrong(c, "the last dimension of the indices must be known");
    else if (k < 0 || (size_t)k + batch > x->rank)
        hn_type_wrong(c, "the indices address %" PRId64 " dimensions of rank %u", k, x->rank);
    return c->rc ? 0 : (size_t)k;
}

void hn_rule_gather_nd(hn_typing *c) {
    const hn_type *x = c->in[0], *index = c->in[1];
    size_t batch = 0;
    if (hn_type_attr_maybe(c, HN_A_BATCH))
        batch = (size_t)hn_type_int(c, HN_A_BATCH, 0, x->rank < index->rank ? x->rank : index->rank);
    size_t k = index_depth(c, x, index, batch);
    if (c->rc) return;
    c->out->dtype = x->dtype;
    for (size_t i = 0; i < batch; i++) hn_type_equal(c, x->dim[i], index->dim[i], "batch dimension");
    for (size_t i = 0; i + 1 < index->rank; i++) hn_type_push(c, c->out, index->dim[i]);
    for (size_t i = batch + k; i < x->rank; i++) hn_type_push(c, c->out, x->dim[i]);
}

void hn_check_scatter(hn_typing *c) {
    static const char *const word[] = {"set", "add", "mul", "min", "max", NULL};
    const hn_type *x = c->in[0], *index = c->in[1], *update = c->in[2];
    hn_type want = *index;
    hn_type_word(c, HN_A_MODE, word);
    hn_type_want(c, 2, x->dtype);
    check_index(c, 1);
    if (c->op == HN_OP_SCATTER_ELEMENTS) {
        hn_type_rank(c, 1, x->rank, x->rank);
        hn_type_axis(c, x->rank);
    } else {
        size_t k = index_depth(c, x, index, 0);
        if (hn_type_attr_maybe(c, HN_A_BLOCK)) {
            const hn_attr *mode = hn_type_attr_maybe(c, HN_A_MODE);
            hn_type_int(c, HN_A_BLOCK, 1, 1 << 16);
            if (k != 1 || !mode || strcmp(mode->name, "set") != 0)
                hn_type_wrong(c, "rows in transposed blocks are set, one at each index");
        }
        if (c->rc) return;
        want.rank--;
        for (size_t i = k; i < x->rank; i++) hn_type_push(c, &want, x->dim[i]);
    }
    hn_type_one_shape(c, update, &want, "shape of the updates");
}

/* --- reductions -------------------------------------------------------------------------------------------------- */

/* Fills *out with x's dimensions, those in `axes` left out or 1. */
static void drop_axes(hn_typing *c, const hn_type *x, unsigned axes, bool keep) {
    c->out->dtype = x->dtype;
    for (size_t i = 0; i < x->rank; i++) {
        if (!(axes >> i & 1))
            hn_type_push(c, c->out, x->dim[i]);
        else if (keep)
            hn_type_push(c, c->out, hn_dim_int(c->d, 1));
    }
}

void hn_rule_reduce(hn_typing *c) {
    const hn_attr *axes = hn_type_attr(c, HN_A_AXES);
    bool keep = hn_type_int(c, HN_A_KEEP, 0, 1);
    unsigned set = 0;
    hn_type_is(c, 0, c->op == HN_OP_RSUM || c->op == HN_OP_RPROD ? HN_ANY_NUMBER : HN_ANY);
    for (size_t i = 0; axes && i < axes->n && !c->rc; i++) {
        if (axes->ints[i] < 0 || axes->ints[i] >= c->in[0]->rank || (i && axes->ints[i] <= axes->ints[i - 1]))
            hn_type_wrong(c, "attribute 'axes' is not ascending inside the input's rank");
        else
            set |= 1u << axes->ints[i];
    }
    drop_axes(c, c->in[0], set, keep);
}

void hn_rule_arg(hn_typing *c) {
    size_t axis = hn_type_axis(c, c->in[0]->rank);
    hn_type_int(c, HN_A_LAST, 0, 1);
    drop_axes(c, c->in[0], 1u << axis, hn_type_int(c, HN_A_KEEP, 0, 1));
    c->out->dtype = HONE_I64;
}

/* --- contraction ------------------------------------------------------------------------------------------------- */

enum { LABELS = 64 };

static void read_labels(hn_typing *c, hn_attr_id id, const hn_type *x, hn_dim size[LABELS]) {
    const int64_t *label = hn_type_ints(c, id, x->rank);
    uint64_t seen = 0;
    for (size_t i = 0; i < x->rank && !c->rc; i++) {
        if (label[i] < 0 || label[i] >= LABELS || seen >> label[i] & 1) {
            hn_type_wrong(c, "attribute '%s' has a label twice, or none of 0 to %d", hn_attr_of(id)->text, LABELS - 1);
            return;
        }
        seen |= UINT64_C(1) << label[i];
        if (size[label[i]])
            hn_type_equal(c, size[label[i]], x->dim[i], "dimensions of one label");
        else
            size[label[i]] = x->dim[i];
    }
}

void hn_rule_contract(hn_typing *c) {
    hn_dim size[LABELS] = {0};
    uint64_t seen = 0;
    const hn_attr *out = hn_type_attr(c, HN_A_OUT);
    hn_type_is(c, 0, HN_ANY_NUMBER);
    hn_type_is(c, 1, HN_ANY_NUMBER);
    c->out->dtype = hn_type_dtype(c);
    read_labels(c, HN_A_LHS, c->in[0], size);
    read_labels(c, HN_A_RHS, c->in[1], size);
    for (size_t i = 0; out && i < out->n && !c->rc; i++) {
        int64_t label = out->ints[i];
        if (label < 0 || label >= LABELS || !size[label] || seen >> label & 1) {
            hn_type_wrong(c, "attribute 'out' has a label twice, or one of no input");
        } else {
            seen |= UINT64_C(1) << label;
            hn_type_push(c, c->out, size[label]);
        }
    }
}

/* --- windows ----------------------------------------------------------------------------------------------------- */

/* floordiv((in - 1) * inflate + 1 + low + high - ((kernel - 1) * dilation + 1), stride) + 1 */
static hn_dim window_steps(hn_typing *c, hn_dim in, int64_t inflate, hn_dim pads, hn_dim kernel, int64_t dilation,
                           int64_t stride) {
    hn_dim one = hn_dim_int(c->d, 1);
    hn_dim wide = hn_dim_mul(c->d, hn_dim_sub(c->d, in, one), hn_dim_int(c->d, inflate));
    hn_dim reach = hn_dim_mul(c->d, hn_dim_sub(c->d, kernel, one), hn_dim_int(c->d, dilation));
    hn_dim room = hn_dim_sub(c->d, hn_dim_add(c->d, wide, pads), reach);
    return hn_dim_add(c->d, hn_dim_floordiv(c->d, room, hn_dim_int(c->d, stride)), one);
}

/* The spatial dimensions of the result; kernel[i] as dimensions. */
static void push_windows(hn_typing *c, const hn_dim *kernel, bool inflates, bool last) {
    const hn_type *x = c->in[0];
    size_t n = x->rank - 2u, from = hn_spatial_dim(last);
    const int64_t *stride = hn_type_ints(c, HN_A_STRIDE, n), *dilation = hn_type_ints(c, HN_A_DILATION, n);
    const int64_t *inflate = inflates ? hn_type_ints(c, HN_A_INFLATE, n) : NULL;
    const hn_dim *low = hn_type_dims(c, HN_A_LOW, n), *high = hn_type_dims(c, HN_A_HIGH, n);
    for (size_t i = 0; i < n && !c->rc; i++) {
        int64_t least, most, spread = inflate ? inflate[i] : 1;
        char text[100];
        if (stride[i] < 1 || dilation[i] < 1 || spread < 1) {
            hn_type_wrong(c, "stride, dilation and inflate must be positive");
            return;
        }
        hn_dim pads = hn_dim_add(c->d, low[i], high[i]);
        hn_dim d = window_steps(c, x->dim[from + i], spread, pads, kernel[i], dilation[i], stride[i]);
        hn_dim_range(c->d, d, &least, &most);
        if (most < 0)
            hn_type_wrong(c, "spatial dimension %zu of the result is negative: %s", i, hn_dim_brief(c, d, text));
        hn_type_push(c, c->out, d);
    }
}

static bool channels_last(hn_typing *c) {
    return hn_type_attr_maybe(c, HN_A_CHANNELS_LAST) && hn_type_int(c, HN_A_CHANNELS_LAST, 0, 1);
}
static hn_dim channels_of(hn_typing *c) { return c->in[0]->dim[hn_channel_dim(channels_last(c), c->in[0]->rank)]; }

/* The result's dimensions; kernel[i] as dimensions. */
static void push_image(hn_typing *c, hn_dim channels, const hn_dim *kernel, bool inflates) {
    bool last = channels_last(c);
    hn_type_push(c, c->out, c->in[0]->dim[0]);
    if (!last) hn_type_push(c, c->out, channels);
    push_windows(c, kernel, inflates, last);
    if (last) hn_type_push(c, c->out, channels);
}

/* Windows of 3 x 3, evaluated for Winograd's tiles (ir/winograd.h). */
static void check_evaluated(hn_typing *c) {
    static const hn_attr_id ones[] = {HN_A_STRIDE, HN_A_DILATION, HN_A_INFLATE};
    const hn_type *w = c->in[1], *u = c->in[2];
    int64_t results = 0, n = 0;
    hn_type_want(c, 2, HONE_F32);
    hn_type_rank(c, 2, 4, 4);
    hn_type_rank(c, 1, 4, 4);
    bool fine = !c->rc && channels_last(c) && hn_type_int(c, HN_A_GROUPS, 1, INT64_MAX) == 1 && w->dtype == HONE_F32;
    for (size_t d = 2; fine && d < 4; d++) fine = hn_dim_is_int(c->d, w->dim[d], &n) && n == 3;
    for (size_t i = 0; fine && i < 3; i++) {
        const int64_t *by = hn_type_attr_maybe(c, ones[i]) ? hn_type_ints(c, ones[i], 2) : NULL;
        fine = !by || (by[0] == 1 && by[1] == 1);
    }
    fine = fine && hn_dim_is_int(c->d, w->dim[0], &results) && hn_dim_is_int(c->d, u->dim[0], &n) &&
           n == (results + 15) / 16 && hn_dim_is_int(c->d, u->dim[1], &n) && (n == 16 || n == 36) &&
           hn_dim_is_int(c->d, u->dim[3], &n) && n == 16;
    if (!fine && !c->rc) hn_type_wrong(c, "input 2 is for f32 windows of 3 x 3: [ceil(M/16), 16 or 36, C, 16]");
    if (!c->rc) hn_type_equal(c, w->dim[1], u->dim[2], "channels");
}

void hn_rule_conv(hn_typing *c) {
    const hn_type *x = c->in[0], *w = c->in[1];
    int64_t groups = hn_type_int(c, HN_A_GROUPS, 1, INT64_MAX), n;
    hn_type_rank(c, 0, 2, HN_RANK_MAX);
    hn_type_rank(c, 1, x->rank, x->rank);
    hn_type_is(c, 0, HN_ANY_NUMBER);
    hn_type_is(c, 1, HN_ANY_NUMBER);
    c->out->dtype = hn_type_dtype(c);
    if (c->rc) return;
    hn_type_equal(c, channels_of(c), hn_dim_mul(c->d, w->dim[1], hn_dim_int(c->d, groups)), "channels");
    if (hn_dim_is_int(c->d, w->dim[0], &n) && n % groups != 0)
        hn_type_wrong(c, "%" PRId64 " output channels are not a multiple of %" PRId64 " groups", n, groups);
    push_image(c, w->dim[0], w->dim + 2, true);
    if (c->n_in > 2 && !c->rc) check_evaluated(c);
}

void hn_rule_window(hn_typing *c) {
    const hn_type *x = c->in[0];
    hn_dim kernel[HN_RANK_MAX];
    hn_type_rank(c, 0, 2, HN_RANK_MAX);
    hn_type_is(c, 0, HN_ANY_NUMBER);
    if (c->rc) return;
    const int64_t *size = hn_type_ints(c, HN_A_KERNEL, x->rank - 2u);
    for (size_t i = 0; i + 2 < x->rank && !c->rc; i++) {
        if (size[i] < 1) hn_type_wrong(c, "the window's size must be positive");
        kernel[i] = hn_dim_int(c->d, size[i]);
    }
    if (c->rc) return;
    c->out->dtype = x->dtype;
    push_image(c, channels_of(c), kernel, false);
}

void hn_rule_window_arg(hn_typing *c) {
    hn_rule_window(c);
    c->out->dtype = HONE_I64;
}

/* --- order and the odd ------------------------------------------------------------------------------------------- */

void hn_rule_topk(hn_typing *c) {
    const hn_type *x = c->in[0];
    size_t axis = hn_type_axis(c, x->rank);
    const hn_dim *shape = hn_type_dims(c, HN_A_SHAPE, x->rank);
    hn_type_int(c, HN_A_LARGEST, 0, 1);
    hn_type_is(c, 0, HN_ANY_NUMBER);
    if (c->rc) return;
    c->out[0] = *x;
    c->out[0].dim[axis] = shape[axis];
    for (size_t i = 0; i < x->rank; i++)
        if (i != axis) hn_type_equal(c, x->dim[i], shape[i], "dimension beside the axis");
    int64_t low, high;
    hn_dim_range(c->d, hn_dim_sub(c->d, x->dim[axis], shape[axis]), &low, &high);
    if (high < 0) hn_type_wrong(c, "more elements are asked for than the axis has");
    c->out[1] = c->out[0];
    c->out[1].dtype = HONE_I64;
}

void hn_rule_det(hn_typing *c) {
    const hn_type *x = c->in[0];
    hn_type_rank(c, 0, 2, HN_RANK_MAX);
    hn_type_is(c, 0, HN_ANY_FLOAT);
    if (c->rc) return;
    hn_type_equal(c, x->dim[x->rank - 2], x->dim[x->rank - 1], "sides of the matrix");
    *c->out = *x;
    c->out->rank = (uint8_t)(x->rank - 2);
}

/* Rows of keys or values, or their scales: [rows, kv heads, ...]. */
static void pool(hn_typing *c, size_t i, size_t rank) {
    hn_type_rank(c, i, rank, rank);
    for (size_t d = 0; d < rank && !c->rc; d++)
        hn_type_equal(c, c->in[1]->dim[d], c->in[i]->dim[d], "rows of keys and values");
}

static void per_token(hn_typing *c, size_t i) {
    hn_type_want(c, i, HONE_I64);
    hn_type_rank(c, i, 1, 1);
    if (!c->rc) hn_type_equal(c, c->in[0]->dim[0], c->in[i]->dim[0], "numbers of tokens");
}

void hn_rule_attend(hn_typing *c) {
    hone_dtype t = c->in[1]->dtype;
    int64_t heads, shared;
    hn_type_want(c, 0, HONE_F32);
    hn_type_rank(c, 0, 3, 3);
    if (t != HONE_F32 && t != HONE_F16 && t != HONE_BF16 && t != HONE_I8)
        hn_type_wrong(c, "keys are f32, f16, bf16 or i8");
    hn_type_want(c, 2, t);
    hn_type_rank(c, 1, 3, 3);
    pool(c, 2, 3);
    hn_type_want(c, 3, HONE_I64);
    hn_type_rank(c, 3, 2, 2);
    per_token(c, 4);
    per_token(c, 5);
    if (c->n_in == 7) hn_type_wrong(c, "scales of keys and of values come together");
    for (size_t i = 6; i < c->n_in && !c->rc; i++) {
        hn_type_want(c, i, HONE_F32);
        pool(c, i, 2);
    }
    hn_type_int(c, HN_A_BLOCK, 1, 1 << 16);
    if (hn_type_attr_maybe(c, HN_A_WINDOW)) hn_type_int(c, HN_A_WINDOW, 0, INT64_MAX / 4);
    if (c->rc) return;
    hn_type_equal(c, c->in[0]->dim[2], c->in[1]->dim[2], "sizes of heads");
    if (!hn_dim_is_int(c->d, c->in[0]->dim[1], &heads) || !hn_dim_is_int(c->d, c->in[1]->dim[1], &shared) ||
        shared < 1 || heads % shared)
        hn_type_wrong(c, "the heads of queries are no multiple of those of keys");
    *c->out = *c->in[0];
}
