/* Rotary position embedding (Su et al. 2021): pairs of elements are rotated by an angle of their position. */
#include "onnx/lower_attention_int.h"

/* cos_cache or sin_cache as [batch, length, half] with one more dimension for the heads. */
static hn_val angles(hn_lower *c, size_t i, hone_dtype t, bool packed) {
    hn_builder *b = hn_lower_builder(c);
    hn_val v = hn_in(c, i), at = hn_in(c, 3);
    if (at) v = hn_gather(b, v, at, 0);
    return hn_unsqueeze(b, hn_cast(b, v, t), packed ? 2 : 1);
}

void hn_lower_rotary(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t heads = hn_int(c, "num_heads", 0), turned = hn_int(c, "rotary_embedding_dim", 0), size;
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 3, 4)) return;
    size_t caches = hn_in(c, 3) ? 2 : 3;
    if (!hn_need_rank(c, 1, caches, caches) || !hn_need_rank(c, 2, caches, caches)) return;
    if (hn_in(c, 3) && !hn_need_rank(c, 3, 2, 2)) return;
    hn_val in = hn_in(c, 0), x = hn_work(b, in);
    bool packed = hn_rank(b, in) == 3;
    if (packed && heads < 1) {
        hn_wrong(c, "'num_heads' is %lld; inputs of rank 3 need at least 1", (long long)heads);
        return;
    }
    hn_dim shape[3] = {hn_dim_of(b, x, 0), hn_dim_of(b, x, 1), hn_dim_of(b, x, 2)};
    if (packed) { /* [batch, length, heads, size]: the heads stay where they are */
        hn_dim n = hn_lit(b, heads), wide[4] = {shape[0], shape[1], n, hn_dim_floordiv(b->g->dims, shape[2], n)};
        x = hn_reshape(b, x, 4, wide);
    }
    hn_dim last = hn_dim_of(b, x, 3), half = hn_dim_floordiv(b->g->dims, last, hn_lit(b, 2));
    if (turned < 0 || turned % 2 || (hn_dim_known(b, last, &size) && turned > size)) {
        hn_wrong(c, "'rotary_embedding_dim' is %lld; it must be even and no more than the head size",
                 (long long)turned);
        return;
    }
    if (turned) half = hn_lit(b, turned / 2);
    hone_dtype t = hn_dt(b, x);
    hn_val y =
        hn_rotate(b, x, angles(c, 1, t, packed), angles(c, 2, t, packed), half, hn_int(c, "interleaved", 0) != 0);
    if (packed) y = hn_reshape(b, y, 3, shape);
    hn_out(c, 0, hn_cast(b, y, hn_dt(b, in)));
}
