/* The conversions that go into artifacts against those of the library: every code of every small type, and doubles at
 * and around every midpoint between two neighbours. */
#include "tap.h"

#include "backend/cpu/rt/base.h"
#include "backend/cpu/rt/convert.h"
#include "base/rng.h"
#include "ir/tensor.h"

typedef struct format {
    const char *name;
    hone_dtype t;
    uint32_t codes;
    double (*get)(uint32_t code);
    uint32_t (*put)(double x), (*cut)(double x);
} format;

#define FORMAT(n, mask)                                                                                                \
    static double get_##n(uint32_t code) { return hnr_get_##n((hnr_##n)code); }                                        \
    static uint32_t put_##n(double x) { return hnr_put_##n(x) & mask; }                                                \
    static uint32_t cut_##n(double x) { return hnr_cut_##n(x) & mask; }
FORMAT(f16, 0xffff)
FORMAT(bf16, 0xffff)
FORMAT(f8e4m3fn, 0xff)
FORMAT(f8e4m3fnuz, 0xff)
FORMAT(f8e5m2, 0xff)
FORMAT(f8e5m2fnuz, 0xff)
FORMAT(f4e2m1, 0xf)
static double get_f8e8m0(uint32_t code) { return hnr_get_f8e8m0((hnr_f8e8m0)code); }
static uint32_t put_f8e8m0(double x) { return hnr_put_f8e8m0(x); }

#define ROW(n, T, codes)                                                                                               \
    { #n, HONE_##T, codes, get_##n, put_##n, cut_##n }
static const format formats[] = {
    ROW(f16, F16, 65536),         ROW(bf16, BF16, 65536),
    ROW(f8e4m3fn, F8E4M3FN, 256), ROW(f8e4m3fnuz, F8E4M3FNUZ, 256),
    ROW(f8e5m2, F8E5M2, 256),     ROW(f8e5m2fnuz, F8E5M2FNUZ, 256),
    ROW(f4e2m1, F4E2M1, 16),      {"f8e8m0", HONE_F8E8M0, 256, get_f8e8m0, put_f8e8m0, NULL},
};

static int same(double a, double b) { return a == b ? signbit(a) == signbit(b) : a != a && b != b; }

/* As numbers: a NaN has many codes. */
static int encodes_alike(const format *f, double x) {
    double put = f->get(f->put(x)), want = hn_float_decode(f->t, hn_float_encode(f->t, x, true));
    int good = same(put, want);
    if (good && f->cut) good = same(f->get(f->cut(x)), hn_float_decode(f->t, hn_float_encode(f->t, x, false)));
    if (!good) printf("# %s of %a: %a instead of %a\n", f->name, x, put, want);
    return good;
}

static int decodes_alike(const format *f) {
    for (uint32_t c = 0; c < f->codes; c++)
        if (!same(f->get(c), hn_float_decode(f->t, c))) return 0;
    return 1;
}

/* Each value, the midpoint to the one with the next code, and their neighbours as doubles. */
static int rounds_alike(const format *f) {
    for (uint32_t c = 0; c + 1 < f->codes; c++) {
        double x = f->get(c), mid = x / 2 + f->get(c + 1) / 2, list[] = {x, mid};
        for (int i = 0; i < 2; i++) {
            if (!encodes_alike(f, list[i]) || !encodes_alike(f, nextafter(list[i], INFINITY)) ||
                !encodes_alike(f, nextafter(list[i], -INFINITY)))
                return 0;
        }
    }
    return 1;
}

static int random_alike(const format *f) {
    hn_rng r = hn_rng_make(1, 2);
    for (int i = 0; i < 20000; i++)
        if (!encodes_alike(f, hnr_bits_f64(hn_rng_next(&r))) ||
            !encodes_alike(f, ldexp(hn_rng_unit(&r) - 0.5, (int)hn_rng_below(&r, 300) - 150)))
            return 0;
    return 1;
}

static int keys_sort(void) {
    static const double x[] = {-INFINITY, -1e300, -1, -1e-320, 0, 1e-320, 1, 1e300, INFINITY, NAN};
    for (size_t i = 0; i + 1 < sizeof x / sizeof *x; i++)
        if (hnr_key_f(x[i]) >= hnr_key_f(x[i + 1])) return 0;
    return hnr_key_f(-0.0) == hnr_key_f(0.0) && hnr_key_f(-NAN) == hnr_key_f(NAN) &&
           hnr_key_i(INT64_MIN) < hnr_key_i(-1) && hnr_key_i(-1) < hnr_key_i(0) && hnr_key_i(0) < hnr_key_i(INT64_MAX);
}

/* A float made of an integer by way of hnr_i_to_f is the integer rounded once. */
static int integers_round_once(void) {
    hn_rng r = hn_rng_make(3, 4);
    for (int i = 0; i < 20000; i++) {
        int64_t x = (int64_t)(hn_rng_next(&r) >> hn_rng_below(&r, 64));
        if (hn_rng_below(&r, 2)) x = -x;
        if ((float)hnr_i_to_f(x) != (float)x || (float)hnr_u_to_f((uint64_t)x) != (float)(uint64_t)x) return 0;
    }
    return 1;
}

int main(void) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const format *f = &formats[i];
        ok(decodes_alike(f), "convert/%s: every code is read alike", f->name);
        ok(rounds_alike(f), "convert/%s: values and midpoints round alike", f->name);
        ok(random_alike(f), "convert/%s: random doubles round alike", f->name);
    }
    ok(keys_sort(), "convert/keys sort as the numbers do");
    ok(integers_round_once(), "convert/integers become floats with one rounding");
    ok(hnr_f_to_i(NAN, -5, 5) == 0 && hnr_f_to_i(1e30, -5, 5) == 5 && hnr_f_to_i(-7.9, -5, 5) == -5 &&
           hnr_f_to_i(-3.9, -5, 5) == -3 && hnr_f_to_u(-1, 9) == 0 && hnr_f_to_u(1e30, UINT64_MAX) == UINT64_MAX,
       "convert/floats become integers clipped");
    return done_testing();
}
