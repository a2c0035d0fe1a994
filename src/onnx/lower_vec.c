/* lower_vec.c — see lower_vec.h. */
#include "onnx/lower_vec.h"

void hn_out_as(hn_lower *c, size_t i, hn_val v, hone_dtype t) { hn_out(c, i, hn_cast(hn_lower_builder(c), v, t)); }

hn_val hn_vec_input(hn_lower *c, size_t i, size_t *n) {
    hn_builder *b = hn_lower_builder(c);
    hn_val v = hn_in(c, i);
    int64_t length = 1;
    if (!v) return 0;
    if (hn_is_float(hn_dt(b, v)) || hn_rank(b, v) > 1) {
        hn_wrong(c, "input %zu is no vector of integers", i);
        return 0;
    }
    if (hn_rank(b, v) == 0) v = hn_unsqueeze(b, v, 0);
    if (!v || !hn_dim_is_int(b->g->dims, hn_dim_of(b, v, 0), &length) || length > 2 * HN_RANK_MAX) {
        if (!hn_lower_failed(c)) hn_refuse(c, "input %zu has a length that is not known at compile time", i);
        return 0;
    }
    *n = (size_t)length;
    return hn_cast(b, v, HONE_I64);
}

bool hn_vec_dims(hn_lower *c, hn_val v, size_t n, hn_dim *out) {
    size_t got = 0;
    if (!v || hn_lower_failed(c)) return false;
    if (hn_bind_dims(hn_lower_builder(c), v, "n", out, n, &got) && got == n) return true;
    if (!hn_lower_failed(c)) hn_refuse(c, "sizes that are computed in a way hone cannot follow");
    return false;
}
