/* rotary.c — see rotary.h. */
#include "compose/rotary.h"
#include "base/err.h"

#include <math.h>

static const double turn = 6.283185307179586476925286766559;

static double original_of(const hn_rotary_scaling *r, double context) {
    return r->original > 0 ? r->original : context;
}

/* Between the waves: 0 where the pair keeps its speed, 1 where it is divided. */
static double wavelength_share(const hn_rotary_scaling *r, double speed, double original) {
    double turns = original * speed / turn; /* original context / wavelength */
    double keep = (turns - r->low) / (r->high - r->low);
    return keep < 0 ? 1 : keep > 1 ? 0 : 1 - keep;
}

/* The pair, as a fraction, that makes so many turns within the original context. */
static double pair_of(double turns, double base, double original, int64_t size) {
    return (double)size * log(original / (turns * turn)) / (2 * log(base));
}

static double yarn_share(const hn_rotary_scaling *r, double base, double original, int64_t size, int64_t k) {
    double fast = r->high > 0 ? r->high : 32, slow = r->low > 0 ? r->low : 1;
    double first = floor(pair_of(fast, base, original, size)), last = ceil(pair_of(slow, base, original, size));
    if (first < 0) first = 0;
    if (last > (double)(size - 1)) last = (double)(size - 1);
    double span = last - first > 0.001 ? last - first : 0.001, share = ((double)k - first) / span;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

void hn_rotary_speeds(const hn_rotary_scaling *r, double base, double factor, double context, int64_t size,
                      float *out) {
    double original = original_of(r, context), by = factor > 0 ? factor : 1;
    for (int64_t k = 0; k < size / 2; k++) {
        double speed = pow(base, -2.0 * (double)k / (double)size), share = 1;
        if (r->kind == HN_ROTARY_LONG) share = 0;
        if (r->kind == HN_ROTARY_WAVELENGTH) share = wavelength_share(r, speed, original);
        if (r->kind == HN_ROTARY_YARN) share = yarn_share(r, base, original, size, k);
        out[k] = (float)(share == 1 ? speed / by : speed * (1 - share) + speed / by * share);
    }
}

double hn_rotary_length(const hn_rotary_scaling *r, double factor, double context) {
    if (r->attention > 0) return r->attention;
    double original = original_of(r, context), by = factor > 0 ? factor : context / original;
    if (r->kind == HN_ROTARY_YARN) return by > 1 ? 0.1 * log(by) + 1 : 1;
    if (r->kind == HN_ROTARY_LONG) return by > 1 ? sqrt(1 + log(by) / log(original)) : 1;
    return 1;
}

hone_rc hn_rotary_check(const hn_rotary_scaling *r, double factor, double context, hone_err *err) {
    bool positive = factor >= 0 && r->low >= 0 && r->high >= 0 && r->original >= 0 && r->attention >= 0;
    if (!positive || !isfinite(factor + r->low + r->high + r->original + r->attention) || original_of(r, context) < 2 ||
        r->original > 1e15)
        return hn_fail(err, HONE_E_INPUT, "the scaling of rotary positions has a number that is negative or no number");
    if (r->kind == HN_ROTARY_WAVELENGTH && !(r->high > r->low))
        return hn_fail(err, HONE_E_INPUT,
                       "the scaling of rotary positions by wavelength needs a low factor below the high one, not %g "
                       "and %g",
                       r->low, r->high);
    return HONE_OK;
}
