/* backend/cpu/nest_c_divide.c — vectors of f32 divided by a number that is known, without a division, and with its
 * bits.
 *
 * 1/b = high + low + e, high and low f32, e at most half a unit of low's last place. x*high + RN(x*low), the sum and
 * its product rounded once, is RN(x/b) unless x/b lies next to the middle of two neighbouring floats. Which x do is a
 * question of a few congruences, so that a divisor is proven here or left alone (Brisebarre, Muller and Raina,
 * "Accelerating correctly rounded floating-point division when the divisor is known in advance", IEEE Transactions on
 * Computers 53(8), 2004, section 4). low has high's sign, so that zeros keep theirs and infinities stay infinite. Where
 * x*low has no full precision the vector is divided: there RN(x*low) is further off.
 */
#include "backend/cpu/nest_c.h"

#include <math.h>

/* Twice a float's middle lies between 2^24 and 2^25 units of its last place. NEAR: numerators of (x/b - middle) from
 * which on the sum is right: its error is at most 2^-23 low/high <= 2^-45 of x/b, and b times a middle is below 2^49.
 */
enum { DIGITS = 24, NEAR = 18 };
static const float DIVISOR_MIN = 0x1p-40f, DIVISOR_MAX = 0x1p40f; /* keeps high and low normal numbers */

static uint64_t inverse_of_odd(uint64_t b) { /* modulo 2^64, by Newton's iteration */
    uint64_t x = b;
    for (int i = 0; i < 6; i++) x *= 2 - b * x;
    return x;
}

static bool is_right(uint64_t x, float b, float high, float low) {
    float f = (float)x;
    return fmaf(f, high, f * low) == f / b;
}

/* All x of [2^23, 2^24) for which x * 2^s - middle * b is r, b as an integer of [2^23, 2^24) and middle odd: is the sum
 * right for them? s: 24 where x/b >= 1, else 25. */
static bool right_at(int64_t r, int s, uint64_t b, float high, float low) {
    int even = __builtin_ctzll(b);
    if (r & (((int64_t)1 << even) - 1)) return true;
    uint64_t period = (uint64_t)1 << (s - even), first = (uint64_t)1 << DIGITS;
    uint64_t middle = (uint64_t)(-r / ((int64_t)1 << even)) * inverse_of_odd(b >> even) & (period - 1);
    if (middle < first) middle += (first - middle + period - 1) / period * period;
    for (; middle < 2 * first; middle += period) {
        uint64_t x = (middle * b + (uint64_t)r) >> s;
        if (middle % 2 == 0 || x < first / 2 || x >= first || (x >= b) != (s == DIGITS)) continue;
        if (!is_right(x, (float)b, high, low)) return false;
    }
    return true;
}

/* Is high + low, high given, right for all x? */
static bool is_proven(float by, float high, float *low) {
    int exponent;
    float b = ldexpf(frexpf(by, &exponent), DIGITS);
    *low = (float)(1.0 / (double)by - (double)high);
    float h = ldexpf(high, exponent - DIGITS), l = ldexpf(*low, exponent - DIGITS); /* of b */
    if (*low <= 0) return false;
    for (int64_t r = -NEAR; r <= NEAR; r++)
        for (int s = DIGITS; r && s <= DIGITS + 1; s++)
            if (!right_at(r, s, (uint64_t)b, h, l)) return false;
    return true;
}

bool hn_c_divisor(float by, float *high, float *low) {
    float a = fabsf(by), h = 1 / a, l = 0;
    if (!(a >= DIVISOR_MIN && a <= DIVISOR_MAX)) return false;
    if ((double)h * (double)a > 1) h = nextafterf(h, 0); /* the product is exact */
    for (int units = 0; units < 2; units++, h = nextafterf(h, 0)) {
        if (!is_proven(a, h, &l)) continue; /* low: up to two units of high's last place */
        *high = copysignf(h, by);
        *low = copysignf(l, by);
        return true;
    }
    return false;
}

/* x*low is zero or subnormal, and x is no zero. */
static const char near_zero_text[] = "    return hnk_any_x@((hnk_abs_f32_x@(p) < 0x1p-126f) & (a != 0));\n#endif\n}\n";
static const char divide_text[] = "HNR hnk_f32_x@ hnk_quotient_f32_x@(hnk_f32_x@ a, float b, float high, float low) {\n"
                                  "    const hnk_f32_x@ p = a * hnk_dup_f32_x@(low);\n"
                                  "    if (__builtin_expect(hnk_near_zero_x@(a, p), 0)) return a / hnk_dup_f32_x@(b);\n"
                                  "    return hnk_fma_f32_x@(a, hnk_dup_f32_x@(high), p);\n"
                                  "}\n#endif\n";

static void need_divide(hn_c *c) {
    int w = c->width;
    hn_c_need_any(c);
    if (!hn_c_opens(c, "quotient", HONE_F32)) return;
    hn_str_addf(c->folds, "HNR int hnk_near_zero_x%d(hnk_f32_x%d a, hnk_f32_x%d p) {\n", w, w, w);
    if (!hn_c_builtins(c->folds, HN_C_NEAR_ZERO, w, HONE_F32, "#if")) hn_str_add(c->folds, "#if 0\n");
    hn_str_add(c->folds, "#else\n");
    hn_c_template(c->folds, near_zero_text, w, HONE_F32);
    hn_c_template(c->folds, divide_text, w, HONE_F32);
}

bool hn_c_quotient(hn_c *c, hn_str *out, const hn_scalar *x, const char *a) {
    const hn_scalar *by = &c->n->sv[x->arg[1]];
    float high, low;
    /* Of smaller vectors there is less to gain: on Emerald Rapids sixteen floats take 8.5 cycles, eight 4.2. */
    if (!c->fma || c->vector_b < 64 || c->width < 8 || !hn_is_float(x->dtype) || x->dtype == HONE_F64) return false;
    if (by->kind != HN_SV_CONST || !hn_c_divisor((float)by->f, &high, &low)) return false;
    need_divide(c);
    hn_str_addf(out, "hnk_quotient_f32_x%d(%s, %af, %af, %af)", c->width, a, (double)(float)by->f, (double)high,
                (double)low);
    return true;
}
