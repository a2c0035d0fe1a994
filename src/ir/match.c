/* match.c — the public side of comparing arrays. */
#include "ir/interp.h"

#include <string.h>

static hn_tensor tensor_of(const hone_array *a) {
    hn_tensor t = {.dtype = a->dtype, .rank = (uint8_t)a->rank, .data = a->data};
    memcpy(t.dim, a->dim, sizeof t.dim);
    return t;
}

hone_match hone_array_match(const hone_array *got, const hone_array *want, double rtol, double atol) {
    hn_tensor g = tensor_of(got), w = tensor_of(want);
    hn_match m = hn_tensor_compare(&g, &w, (hn_match_rule){rtol, atol});
    return (hone_match){m.same, m.max_abs, m.max_rel, m.at, m.n_wrong};
}

double hone_array_number(const hone_array *a, int64_t at) {
    hn_tensor t = tensor_of(a);
    return hn_get_f(&t, at);
}
