/* quantise.c — numbers as small integers or small floats with a scale and a zero point. Results are rounded half to
 * even in f32, shifted by the zero point there (exact wherever the target's range is), and saturate in the cast. */
#include "compose/compose.h"

bool hn_is_small_float(hone_dtype t) {
    const hn_dtype_info *d = hn_dtype_of(t);
    return d->cls == HN_CLASS_FLOAT && d->bits <= 8;
}

bool hn_is_int(hone_dtype t) {
    hn_dclass k = hn_dtype_of(t)->cls;
    return k == HN_CLASS_INT || k == HN_CLASS_UINT;
}

static hn_val cast_how(hn_builder *b, hn_val x, hone_dtype t, bool saturate) {
    hn_attr attr[] = {{.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = t},
                      {.id = HN_A_SATURATE, .kind = HN_K_INT, .i = saturate}};
    return saturate ? hn_cast(b, x, t) : hn_emit(b->g, b->b, HN_OP_CAST, 1, &x, 2, attr, 1);
}

/* Blocked: [.., S, ..] repeated `block` times along axis and cut to the size of x. */
hn_val hn_spread_blocks(hn_builder *b, hn_val v, hn_val x, size_t axis, int64_t block) {
    hn_dims *t = b->g->dims;
    size_t rank = hn_rank(b, v);
    hn_dim wide[HN_RANK_MAX], merged[HN_RANK_MAX], n = hn_dim_of(b, x, axis), size = hn_lit(b, block);
    for (size_t i = 0; i < rank; i++) {
        merged[i] = hn_dim_of(b, v, i);
        wide[i < axis + 1 ? i : i + 1] = merged[i];
    }
    wide[axis + 1] = size;
    merged[axis] = hn_dim_mul(t, merged[axis], size);
    v = hn_broadcast_to(b, hn_unsqueeze(b, v, (int64_t)axis + 1), rank + 1, wide);
    v = hn_reshape(b, v, rank, merged);
    return hn_dim_equal(t, merged[axis], n) == HN_EQUAL ? v : hn_slice_axis(b, v, (int64_t)axis, hn_lit(b, 0), n, 1);
}

hn_val hn_to_quantised(hn_builder *b, hn_val x, hn_val zero, hone_dtype t) {
    x = hn_cast(b, hn_un(b, HN_OP_ROUND, x), HONE_F32);
    if (zero) x = hn_bin(b, HN_OP_ADD, x, hn_cast(b, zero, HONE_F32));
    return hn_cast(b, x, t);
}

hn_dynamic hn_quantise_dynamic(hn_builder *b, hn_val x) {
    int64_t axes[HN_RANK_MAX];
    hn_dynamic q;
    hn_val low = x, high = x;
    size_t rank = hn_rank(b, x);
    for (size_t i = 0; i < rank; i++) axes[i] = (int64_t)i;
    if (rank) {
        low = hn_reduce(b, HN_OP_RMIN, x, rank, axes, false);
        high = hn_reduce(b, HN_OP_RMAX, x, rank, axes, false);
    }
    low = hn_bin_f(b, HN_OP_MIN, low, 0);
    hn_val range = hn_bin(b, HN_OP_SUB, hn_bin_f(b, HN_OP_MAX, high, 0), low);
    q.scale =
        hn_where(b, hn_bin_f(b, HN_OP_EQ, range, 0), hn_const_f(b, HONE_F32, 1), hn_bin_f(b, HN_OP_DIV, range, 255));
    q.zero = hn_un(b, HN_OP_NEG, hn_bin(b, HN_OP_DIV, low, q.scale));
    q.zero = hn_cast(b, hn_un(b, HN_OP_ROUND, q.zero), HONE_U8);
    q.y = hn_to_quantised(b, hn_bin(b, HN_OP_DIV, x, q.scale), q.zero, HONE_U8);
    return q;
}

hn_val hn_centred(hn_builder *b, hn_val x, hn_val zero) {
    if (!hn_is_int(hn_dt(b, x))) return hn_cast(b, x, HONE_F32);
    x = hn_cast(b, x, HONE_I32);
    return zero ? hn_bin(b, HN_OP_SUB, x, hn_cast(b, zero, HONE_I32)) : x;
}

hn_val hn_per_row(hn_builder *b, hn_val v) {
    if (!v || hn_rank(b, v) != 1) return v;
    return hn_dim_is(b, hn_dim_of(b, v, 0), 1) ? hn_scalar(b, v) : hn_unsqueeze(b, v, 1);
}

hn_val hn_per_column(hn_builder *b, hn_val v) {
    if (!v || hn_rank(b, v) != 1) return v;
    return hn_dim_is(b, hn_dim_of(b, v, 0), 1) ? hn_scalar(b, v) : v;
}

static hn_val as_f32(hn_builder *b, hn_val v) { return hn_cast(b, v, HONE_F32); }

hn_val hn_requantised(hn_builder *b, hn_val acc, hn_val sx, hn_val sw, hn_val sy, hn_val zero) {
    hn_val factor = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_MUL, as_f32(b, sx), as_f32(b, sw)), as_f32(b, sy));
    hn_val y = hn_bin(b, HN_OP_MUL, as_f32(b, acc), factor);
    return hn_is_int(hn_dt(b, zero)) ? hn_to_quantised(b, y, zero, hn_dt(b, zero)) : hn_cast(b, y, hn_dt(b, zero));
}

hn_val hn_quantise(hn_builder *b, hn_val x, hn_val scale, hn_val zero, hone_dtype t, bool saturate) {
    hn_val q = hn_bin(b, HN_OP_DIV, hn_cast(b, x, hn_dt(b, scale)), scale);
    if (hn_is_int(t)) return hn_to_quantised(b, q, zero, t);
    if (t == HONE_F4E2M1 && zero)
        return hn_cast(b, hn_bin(b, HN_OP_ADD, hn_cast(b, q, HONE_F32), hn_cast(b, zero, HONE_F32)), t);
    return cast_how(b, q, t, t == HONE_F4E2M1 || saturate); /* the zero point of an 8-bit float is 0 */
}

hn_val hn_dequantise(hn_builder *b, hn_val x, hn_val scale, hn_val zero, hone_dtype t) {
    hone_dtype work = hn_dt(b, scale);
    hn_val y;
    if (hn_is_int(hn_dt(b, x))) {
        y = hn_cast(b, x, HONE_I32);
        if (zero) y = hn_bin(b, HN_OP_SUB, y, hn_cast(b, zero, HONE_I32));
        y = hn_cast(b, y, work);
    } else {
        y = hn_cast(b, x, work);
        if (zero && hn_dt(b, x) == HONE_F4E2M1) y = hn_bin(b, HN_OP_SUB, y, hn_cast(b, zero, work));
    }
    return hn_cast(b, hn_bin(b, HN_OP_MUL, y, scale), t);
}
