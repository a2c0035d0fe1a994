/* verify.c — arrays compared for users: a whole model against the interpreter or a peer. */
#include "base/err.h"
#include "ir/interp.h"

#include <hone/compile.h>

#include <string.h>

static bool as_tensor(const hone_array *a, hn_tensor *out) {
    int64_t n;
    if (a->rank > HN_RANK_MAX || !hn_dtype_of(a->dtype)) return false;
    *out = (hn_tensor){.dtype = a->dtype, .rank = (uint8_t)a->rank, .data = a->data};
    memcpy(out->dim, a->dim, a->rank * sizeof *out->dim);
    return hn_tensor_count(out, &n);
}

hone_rc hone_array_compare(const hone_array *got, const hone_array *want, double rtol, double atol,
                           hone_difference *out, hone_err *err) {
    hn_tensor a, b;
    if (!as_tensor(got, &a) || !as_tensor(want, &b))
        return hn_fail(err, HONE_E_INPUT, "an array has no legal type or shape");
    if (a.dtype != b.dtype || a.rank != b.rank || memcmp(a.dim, b.dim, a.rank * sizeof *a.dim) != 0) {
        *out = (hone_difference){.n_wrong = hn_tensor_n(&b), .at = -1};
        return HONE_OK;
    }
    hn_match m = hn_tensor_compare(&a, &b, (hn_match_rule){rtol, atol});
    *out = (hone_difference){m.same, m.max_abs, m.max_rel, m.n_wrong, m.at};
    return HONE_OK;
}
