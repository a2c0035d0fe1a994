/* What the tests of math functions put behind the emitted text, compiled for each dialect: the functions by number, on
 * whole vectors and on single floats, judged in units in the last place. No program by itself. */

enum { CHUNK = 4096 };
typedef struct judged {
    double worst; /* units in the last place of the exact result, rounded to float */
    float worst_at, wrong_at, other_at;
    uint64_t n_wrong; /* not a number, an infinity or the sign of a zero where there should be none, or none */
    uint64_t n_other; /* a single float gives other bits than a vector */
} judged;

static double sigmoid(double x) {
    double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : x < 0 ? e / (1 + e) : x;
}
static double rsqrt(double x) { return 1 / sqrt(x); }

#define ROWS                                                                                                           \
    ROW(rsqrt, rsqrt)                                                                                                  \
    ROW(exp, exp)                                                                                                      \
    ROW(expm1, expm1)                                                                                                  \
    ROW(sigmoid, sigmoid)                                                                                              \
    ROW(tanh, tanh)                                                                                                    \
    ROW(log, log)                                                                                                      \
    ROW(log1p, log1p)                                                                                                  \
    ROW(sin, sin)                                                                                                      \
    ROW(cos, cos)                                                                                                      \
    ROW(erf, erf)                                                                                                      \
    ROW(quick_exp, exp)                                                                                                \
    ROW(quick_sigmoid, sigmoid)                                                                                        \
    ROW(quick_log, log)                                                                                                \
    ROW(quick_erf, erf)                                                                                                \
    ROW(quick_sin, sin)                                                                                                \
    ROW(quick_cos, cos)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(hnk_f32_x, WIDTH)
#define ROW(name, exact)                                                                                               \
    static void name##_lanes(const float *x, float *y, float *z) {                                                     \
        for (int at = 0; at < CHUNK; at += WIDTH) {                                                                    \
            VECTOR v;                                                                                                  \
            memcpy(&v, x + at, sizeof v);                                                                              \
            v = JOIN(hnk_##name##_f32_x, WIDTH)(v);                                                                    \
            memcpy(y + at, &v, sizeof v);                                                                              \
        }                                                                                                              \
        for (int at = 0; at < CHUNK; at++) z[at] = hnk_##name##_f32_x1(x[at]);                                         \
    }
ROWS
#undef ROW
    static const struct {
    const char *name;
    void (*lanes)(const float *x, float *y, float *z);
    double (*exact)(double);
} rows[] = {
#define ROW(name, exact) {#name, name##_lanes, exact},
    ROWS
#undef ROW
};

const char *math_name(unsigned k);
void math_exact(unsigned k, const float *x, double *y);
void math_judge(unsigned k, const float *x, const double *exact, judged *j);
void math_pow(const float *x, const float *y, judged *j);

const char *math_name(unsigned k) { return k < sizeof rows / sizeof *rows ? rows[k].name : NULL; }

void math_exact(unsigned k, const float *x, double *y) {
    for (int at = 0; at < CHUNK; at++) y[at] = rows[k].exact(x[at]);
}

/* Infinity counts as 2^128, the float that would follow. */
static double bounded(double x) { return x > 0x1p128 ? 0x1p128 : x < -0x1p128 ? -0x1p128 : x; }

/* least: the exponent whose unit counts for smaller results. */
static double units(double got, double want, int least) {
    uint64_t bits;
    memcpy(&bits, &want, sizeof bits);
    int exponent = (int)(bits >> 52 & 2047) - 1023;
    bits = (uint64_t)((exponent < least ? -least : exponent > 127 ? -127 : -exponent) + 23 + 1023) << 52;
    double per_unit;
    memcpy(&per_unit, &bits, sizeof per_unit);
    return fabs(got - want) * per_unit;
}

/* y of a vector, z of a single float. */
static void judge(judged *j, float x, float y, float z, double exact, bool quick, int least) {
    double want = bounded(exact), got = bounded(y);
    if (memcmp(&y, &z, sizeof y) && (y == y || z == z)) j->n_other++, j->other_at = x;
    if (quick && fabs(want) < 0x1p-124 && got == 0) return;
    bool wrong = (want != want) != (got != got) || ((got == 0 || want == 0) && signbit(got) != signbit(want)) ||
                 (isinf(exact) && !isinf(y));
    if (wrong) j->n_wrong++, j->wrong_at = x;
    double by = want != want || wrong ? 0 : units(got, want, least);
    if (by > j->worst) j->worst = by, j->worst_at = x;
}

void math_judge(unsigned k, const float *x, const double *exact, judged *j) {
    float y[CHUNK], z[CHUNK];
    bool quick = !strncmp(rows[k].name, "quick", 5);
    int least = quick && (rows[k].exact == sin || rows[k].exact == cos) ? -12 : -126;
    rows[k].lanes(x, y, z);
    for (int at = 0; at < CHUNK; at++) judge(j, x[at], y[at], z[at], exact[at], quick, least);
}

/* With zeros and infinities nothing is near. */
void math_pow(const float *x, const float *y, judged *j) {
    for (int at = 0; at < CHUNK; at += WIDTH) {
        VECTOR a, b;
        memcpy(&a, x + at, sizeof a);
        memcpy(&b, y + at, sizeof b);
        a = JOIN(hnk_pow_f32_x, WIDTH)(a, b);
        for (int l = at; l < at + WIDTH; l++) {
            double exact = pow(x[l], y[l]);
            bool ends = x[l] == 0 || y[l] == 0 || isinf(x[l]) || isinf(y[l]);
            judge(j, x[l], a[l - at], hnk_pow_f32_x1(x[l], y[l]), exact, false, -126);
            if (ends && exact == exact && a[l - at] != (float)exact) j->n_wrong++, j->wrong_at = x[l];
        }
    }
}

/* Parts of sums, against division: how many quotients differ. From 2^-20 to 1 on, the sums around powers of two more
 * often. */
uint64_t math_parts(void);
uint64_t math_parts(void) {
    uint64_t n = 0, state = 0x9e3779b97f4a7c15u;
    for (int k = 0; k < (1 << 20) / WIDTH; k++) {
        float b, a[WIDTH];
        VECTOR v;
        for (int l = -1; l < WIDTH; l++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint32_t bits = (uint32_t)(state >> 41), sum = k % 3 ? bits : k % 2 ? bits & 15 : 0x7ffff0 | (bits & 15);
            bits = l < 0 ? sum | (127 + (uint32_t)k % 18) << 23 : bits | (uint32_t)(107 + (state >> 8) % 20) << 23;
            memcpy(l < 0 ? &b : &a[l], &bits, sizeof b);
        }
        if (k % 100 == 0) a[0] = 0, a[WIDTH - 1] = NAN;
        if (k % 1000 == 0) b = NAN;
        memcpy(&v, a, sizeof v);
        v = JOIN(hnk_part_f32_x, WIDTH)(v, b);
        for (int l = 0; l < WIDTH; l++) {
            float got = v[l], want = a[l] / b;
            n += memcmp(&got, &want, sizeof got) && (got == got || want == want);
        }
    }
    return n;
}

/* Conversions of vectors of f16 and bf16, against rt/convert.h: `bits` and floats; what differs, but for NaN's bits. */
uint64_t math_halves(const uint16_t *bits, const float *x);

#define HALVES JOIN(hnk_u16_x, WIDTH)
#define HALF(name)                                                                                                     \
    static uint64_t name##_wrong(const uint16_t *bits, const float *x) {                                               \
        uint64_t n = 0;                                                                                                \
        for (int at = 0; at < CHUNK; at += WIDTH) {                                                                    \
            VECTOR v, wide, round;                                                                                     \
            HALVES h, narrow;                                                                                          \
            memcpy(&v, x + at, sizeof v);                                                                              \
            memcpy(&h, bits + at, sizeof h);                                                                           \
            wide = JOIN(hnk_widen_##name##_x, WIDTH)(h);                                                               \
            narrow = JOIN(hnk_narrow_##name##_x, WIDTH)(v);                                                            \
            round = JOIN(hnk_round_##name##_x, WIDTH)(v);                                                              \
            for (int l = 0; l < WIDTH; l++) {                                                                          \
                float same = (float)hnr_get_##name(h[l]), put = (float)hnr_get_##name(hnr_put_##name(v[l]));           \
                float w = wide[l], r = round[l];                                                                       \
                n += memcmp(&w, &same, sizeof w) && (w == w || same == same);                                          \
                n += memcmp(&r, &put, sizeof r) && (r == r || put == put);                                             \
                n += narrow[l] != hnr_put_##name(v[l]) && (put == put || hnr_get_##name(narrow[l]) == put);            \
                n += (put != put) != (hnr_get_##name(narrow[l]) != hnr_get_##name(narrow[l]));                         \
            }                                                                                                          \
        }                                                                                                              \
        return n;                                                                                                      \
    }
HALF(f16)
HALF(bf16)
uint64_t math_halves(const uint16_t *bits, const float *x) { return f16_wrong(bits, x) + bf16_wrong(bits, x); }

/* Functions of f64, on vectors and single ones, against long double where that has more digits. */
double math_wide(unsigned k, const double *x, uint64_t *n_wrong, double *worst_at);
const char *math_wide_name(unsigned k);

static long double sigmoid_long(long double x) {
    long double e = expl(-fabsl(x));
    return x >= 0 ? 1 / (1 + e) : x < 0 ? e / (1 + e) : x;
}
#define WIDE_VECTOR JOIN(hnk_f64_x, WIDTH)
#define WIDE_ROWS                                                                                                      \
    ROW(exp, expl)                                                                                                     \
    ROW(expm1, expm1l)                                                                                                 \
    ROW(sigmoid, sigmoid_long)                                                                                         \
    ROW(tanh, tanhl)                                                                                                   \
    ROW(log, logl)
#define ROW(name, exact)                                                                                               \
    static void name##_wide(const double *x, double *y, double *z) {                                                   \
        for (int at = 0; at < CHUNK; at += WIDTH) {                                                                    \
            WIDE_VECTOR v;                                                                                             \
            memcpy(&v, x + at, sizeof v);                                                                              \
            v = JOIN(hnk_##name##_f64_x, WIDTH)(v);                                                                    \
            memcpy(y + at, &v, sizeof v);                                                                              \
        }                                                                                                              \
        for (int at = 0; at < CHUNK; at++) z[at] = hnk_##name##_f64_x1(x[at]);                                         \
    }
WIDE_ROWS
#undef ROW
static const struct {
    const char *name;
    void (*lanes)(const double *x, double *y, double *z);
    long double (*exact)(long double);
} wide_rows[] = {
#define ROW(name, exact) {#name, name##_wide, exact},
    WIDE_ROWS
#undef ROW
};
const char *math_wide_name(unsigned k) { return k < sizeof wide_rows / sizeof *wide_rows ? wide_rows[k].name : NULL; }
/* The worst error in units in the last place; wrong: as n_wrong and n_other of a judged. */
double math_wide(unsigned k, const double *x, uint64_t *n_wrong, double *worst_at) {
    double y[CHUNK], z[CHUNK], worst = 0;
    wide_rows[k].lanes(x, y, z);
    for (int at = 0; at < CHUNK; at++) {
        long double want = wide_rows[k].exact(x[at]);
        double near = (double)want, got = y[at];
        int exponent;
        *n_wrong += memcmp(&y[at], &z[at], sizeof *y) && (y[at] == y[at] || z[at] == z[at]);
        *n_wrong += (near != near) != (got != got) || ((got == 0 || near == 0) && signbit(got) != signbit(near)) ||
                    (isinf(x[at]) && near == near && got != near);
        if (near != near || isinf(near) || isinf(got)) continue;
        frexpl(want, &exponent);
        double by = (double)fabsl(ldexpl((long double)got - want, 53 - (exponent < -1021 ? -1021 : exponent)));
        if (by > worst) worst = by, *worst_at = x[at];
    }
    return worst;
}

/* Remainders against those of single numbers, all bits: how many differ. Half of the divisors are within 2^30 of what
 * they divide, so that quotients are small and large; the others are anything. */
uint64_t math_remainders(void);
static double mod_of(double x, double y) {
    double r = fmod(x, y);
    if (r == 0) return copysign(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}
#define REMAINDERS(name, type, word, mantissa, top)                                                                    \
    static uint64_t remainders_##name(void) {                                                                          \
        uint64_t n = 0, state = 0x9e3779b97f4a7c15u;                                                                   \
        for (int k = 0; k < (1 << 19) / WIDTH; k++) {                                                                  \
            type x[WIDTH], y[WIDTH];                                                                                   \
            JOIN(hnk_##name##_x, WIDTH) a, b, r, m;                                                                    \
            for (int l = 0; l < WIDTH; l++) {                                                                          \
                word bits[2];                                                                                          \
                for (int i = 0; i < 2; i++) {                                                                          \
                    state = state * 6364136223846793005u + 1442695040888963407u;                                       \
                    bits[i] = (word)((state ^ state >> 29) >> (64 - 8 * sizeof(word)));                                \
                }                                                                                                      \
                if (k % 2) {                                                                                           \
                    word below = (word)(state >> 8) % 30, from = bits[0] >> mantissa & top;                            \
                    bits[1] &= ~((word)top << mantissa);                                                               \
                    bits[1] |= (from > below ? from - below : 0) << mantissa;                                          \
                }                                                                                                      \
                if (k % 7 == 3) bits[1] &= ~(word)0 << (mantissa - 2); /* many multiples of it, and no remainder */    \
                if (k % 7 == 3) bits[0] &= ~(word)0 << (mantissa - 3);                                                 \
                memcpy(&x[l], &bits[0], sizeof *x);                                                                    \
                memcpy(&y[l], &bits[1], sizeof *y);                                                                    \
            }                                                                                                          \
            memcpy(&a, x, sizeof a);                                                                                   \
            memcpy(&b, y, sizeof b);                                                                                   \
            r = JOIN(hnk_rem_##name##_x, WIDTH)(a, b);                                                                 \
            m = JOIN(hnk_mod_##name##_x, WIDTH)(a, b);                                                                 \
            for (int l = 0; l < WIDTH; l++) {                                                                          \
                type got[2] = {r[l], m[l]}, want[2] = {(type)fmod(x[l], y[l]), (type)mod_of(x[l], y[l])};              \
                for (int i = 0; i < 2; i++)                                                                            \
                    n += memcmp(&got[i], &want[i], sizeof *got) && (got[i] == got[i] || want[i] == want[i]);           \
            }                                                                                                          \
        }                                                                                                              \
        return n;                                                                                                      \
    }
REMAINDERS(f32, float, uint32_t, 23, 255)
REMAINDERS(f64, double, uint64_t, 52, 2047)
uint64_t math_remainders(void) { return remainders_f32() + remainders_f64(); }
