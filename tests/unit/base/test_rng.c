/* Random numbers: the vector of an independent model, moments, bounds, independence of streams. Seeds are fixed, so the
 * statistical limits (about five standard errors) hold or fail for ever. */
#include "base/rng.h"
#include "tap.h"

static void test_vector(void) {
    static const uint64_t want[] = {0x8509aea577a7cb9au, 0x1df1ac9fead20f4au, 0x3b32ceed4c4b6074u, 0xc2b27bc2b6fd6092u};
    hn_rng r = hn_rng_make(1, 2);
    bool same = true;
    for (int i = 0; i < 4; i++) same = same && hn_rng_next(&r) == want[i];
    ok(same, "rng/xoshiro_vector");
}

static void test_unit(void) {
    enum { N = 200000 };
    hn_rng r = hn_rng_make(42, 0);
    double sum = 0, squares = 0, lo = 1, hi = 0;
    for (int i = 0; i < N; i++) {
        double u = hn_rng_unit(&r);
        sum += u;
        squares += u * u;
        lo = fmin(lo, u);
        hi = fmax(hi, u);
    }
    ok(lo >= 0 && hi < 1, "rng/unit_in_range");
    ok(fabs(sum / N - 0.5) < 5 * sqrt(1.0 / 12 / N), "rng/unit_mean");
    ok(fabs(squares / N - 1.0 / 3) < 5 * sqrt(4.0 / 45 / N), "rng/unit_second_moment");
}

static void test_normal(void) {
    enum { N = 200000 };
    hn_rng r = hn_rng_make(43, 0);
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
    for (int i = 0; i < N; i++) {
        double x = hn_rng_normal(&r);
        m1 += x / N;
        m2 += x * x / N;
        m3 += x * x * x / N;
        m4 += x * x * x * x / N;
    }
    ok(fabs(m1) < 5 / sqrt(N), "rng/normal_mean");
    ok(fabs(m2 - 1) < 5 * sqrt(2.0 / N), "rng/normal_variance");
    ok(fabs(m3) < 5 * sqrt(15.0 / N), "rng/normal_skewness");
    ok(fabs(m4 - 3) < 5 * sqrt(96.0 / N), "rng/normal_kurtosis");
}

/* Chi-squared over all residues; limit: mean + 5 standard deviations. */
static void test_below(uint64_t n) {
    enum { PER = 2000, MOST = 64 };
    size_t seen[MOST] = {0};
    hn_rng r = hn_rng_make(44, n);
    bool inside = true;
    for (uint64_t i = 0; i < PER * n; i++) {
        uint64_t x = hn_rng_below(&r, n);
        inside = inside && x < n;
        if (x < n) seen[x]++;
    }
    double chi2 = 0;
    for (uint64_t k = 0; k < n; k++) chi2 += ((double)seen[k] - PER) * ((double)seen[k] - PER) / PER;
    double df = (double)n - 1;
    ok(inside && chi2 <= df + 5 * sqrt(2 * df), "rng/below_%llu_is_uniform", (unsigned long long)n);
}

static void test_large_bounds(void) {
    hn_rng r = hn_rng_make(45, 0);
    uint64_t n = 3ull << 62; /* scaling alone would map two of four draws to the multiples of three */
    size_t hits = 0, total = 30000;
    for (size_t i = 0; i < total; i++) hits += hn_rng_below(&r, n) % 3 == 0;
    ok(fabs((double)hits / (double)total - 1.0 / 3) < 5 * sqrt(2.0 / 9 / (double)total), "rng/below_is_unbiased");
    ok(hn_rng_below(&r, 1) == 0, "rng/below_one_is_zero");
    ok(hn_rng_below(&r, UINT64_MAX) < UINT64_MAX, "rng/below_the_largest");
}

static void test_streams(void) {
    enum { N = 100000 };
    double worst = 0;
    bool distinct = true;
    for (uint64_t s = 0; s < 5; s++) {
        hn_rng a = hn_rng_make(7, s), b = hn_rng_make(7, s + 1), c = hn_rng_make(8, s);
        double ab = 0, ac = 0;
        for (int i = 0; i < N; i++) {
            double x = hn_rng_unit(&a) - 0.5, y = hn_rng_unit(&b) - 0.5, z = hn_rng_unit(&c) - 0.5;
            distinct = distinct && x != y && x != z;
            ab += x * y;
            ac += x * z;
        }
        worst = fmax(worst, fmax(fabs(ab), fabs(ac)) * 12 / N);
    }
    ok(distinct, "rng/streams_and_seeds_differ");
    ok(worst < 5 / sqrt(N), "rng/streams_are_uncorrelated");
    hn_rng a = hn_rng_make(7, 3), b = hn_rng_make(7, 3);
    ok(hn_rng_next(&a) == hn_rng_next(&b), "rng/same_seed_same_stream");
    /* First draws of consecutive streams, the way a search uses them. */
    double mean = 0;
    for (uint64_t s = 0; s < N; s++) {
        hn_rng r = hn_rng_make(9, s);
        mean += hn_rng_unit(&r) / N;
    }
    ok(fabs(mean - 0.5) < 5 * sqrt(1.0 / 12 / N), "rng/first_draws_of_streams_are_uniform");
}

int main(void) {
    static const uint64_t bounds[] = {2, 3, 7, 10, 64};
    test_vector();
    test_unit();
    test_normal();
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) test_below(bounds[i]);
    test_large_bounds();
    test_streams();
    return done_testing();
}
