/* ir/interp_compare.c — parity of two tensors. */
#include "ir/interp_int.h"

#include <math.h>
#include <string.h>

/* How far a pair is outside: 0 when it agrees, infinite when the difference is no finite number. */
static double excess(double a, double b, hn_match_rule rule) {
    if (a != a || b != b) return a != a && b != b ? 0 : (double)INFINITY;
    if (a == b) return 0;
    if (isinf(a) || isinf(b)) return INFINITY;
    double room = rule.atol + rule.rtol * fabs(b), d = fabs(a - b);
    return d <= room ? 0 : d / (room > 0 ? room : 5e-324);
}

static void add_distance(hn_match *m, double a, double b) {
    if (!isfinite(a) || !isfinite(b)) return;
    double d = fabs(a - b);
    m->max_abs = fmax(m->max_abs, d);
    if (b != 0) m->max_rel = fmax(m->max_rel, d / fabs(b));
}

static hn_match compare(const hn_tensor *got, const hn_tensor *want, hn_match_rule rule, bool exact) {
    hn_match m = {.same = true};
    int64_t n = hn_tensor_n(want);
    double worst = -1;
    if (got->dtype != want->dtype || got->rank != want->rank ||
        memcmp(got->dim, want->dim, want->rank * sizeof *want->dim) != 0)
        return (hn_match){.same = false, .at = -1, .n_wrong = n};
    for (int64_t i = 0; i < n; i++) {
        double a = hn_get_f(got, i), b = hn_get_f(want, i);
        double e = !exact ? excess(a, b, rule) : hn_get_i(got, i) == hn_get_i(want, i) ? 0 : fabs(a - b) + 1;
        add_distance(&m, a, b);
        m.n_wrong += e > 0;
        if (e > worst) {
            worst = e;
            m.at = i;
        }
    }
    m.same = m.n_wrong == 0;
    return m;
}

hn_match hn_tensor_compare(const hn_tensor *got, const hn_tensor *want, hn_match_rule rule) {
    return compare(got, want, rule, !hn_is_float(want->dtype));
}

hn_match hn_tensor_compare_steps(const hn_tensor *got, const hn_tensor *want, hn_match_rule rule) {
    const hn_dtype_info *t = hn_dtype_of(want->dtype);
    bool steps = (t->cls == HN_CLASS_INT || t->cls == HN_CLASS_UINT) && t->bits <= 8;
    return compare(got, want, rule, !steps && t->cls != HN_CLASS_FLOAT);
}
