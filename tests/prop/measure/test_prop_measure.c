/* Properties of the measuring room on random input: statistics, racing, and readers that must survive any bytes. */
#include "base/fs.h"
#include "base/rng.h"
#include "experiment/race.h"
#include "measure/outcome.h"

#include <math.h>
#include <unistd.h>

#include "tap.h"

enum { ROUNDS = 300, MOST = 40 };
static const uint64_t seed = 20240611;

static size_t sample(hn_rng *r, double x[MOST]) {
    size_t n = 1 + (size_t)hn_rng_below(r, MOST);
    for (size_t i = 0; i < n; i++) x[i] = exp(hn_rng_normal(r)) * (hn_rng_below(r, 4) ? 1 : 0.5);
    return n;
}

static void test_statistics(void) {
    hn_rng r = hn_rng_make(seed, 1);
    bool ordered = true, scales = true, inside = true, shuffles = true;
    for (int k = 0; k < ROUNDS; k++) {
        double x[MOST], y[MOST];
        size_t n = sample(&r, x);
        double was = hone_stat_percentile(x, n, 0);
        for (int p = 1; p <= 100; p += 9) {
            double now = hone_stat_percentile(x, n, p);
            ordered = ordered && now >= was;
            was = now;
        }
        for (size_t i = 0; i < n; i++) y[i] = 4 * x[n - 1 - i];
        scales = scales && hone_stat_median(y, n) == 4 * hone_stat_median(x, n) &&
                 hone_stat_mad(y, n) == 4 * hone_stat_mad(x, n);
        hone_interval a = hone_stat_bootstrap_median(x, n, 0.9, 100, (uint64_t)k);
        inside = inside && a.lo <= a.mid && a.mid <= a.hi && a.mid == hone_stat_median(x, n);
        for (size_t i = 0; i < n; i++) y[i] /= 4;
        hone_interval b = hone_stat_bootstrap_median(y, n, 0.9, 100, (uint64_t)k);
        shuffles = shuffles && a.lo == b.lo && a.hi == b.hi;
    }
    ok(ordered, "stats/percentiles_are_ordered (seed %llu)", (unsigned long long)seed);
    ok(scales, "stats/median_and_mad_scale");
    ok(inside, "stats/interval_holds_the_median");
    ok(shuffles, "stats/order_of_samples_does_not_matter");
}

/* A race between equals hardly ever drops or keeps; one against a clearly slower candidate hardly ever keeps it. */
static void test_races(void) {
    hn_rng r = hn_rng_make(seed, 2);
    int apart = 0, kept = 0, too_long = 0;
    for (int k = 0; k < ROUNDS; k++)
        for (int slower = 0; slower < 2; slower++) {
            double inc[8], cand[8];
            size_t n = 1;
            for (int i = 0; i < 8; i++) {
                inc[i] = exp(0.02 * hn_rng_normal(&r));
                cand[i] = exp(0.02 * hn_rng_normal(&r)) * (slower ? 1.1 : 1);
            }
            hn_race_result got = hn_race_decide(inc, 8, cand, n, NULL);
            for (; got.verdict == HN_RACE_MORE; got = hn_race_decide(inc, 8, cand, n, NULL)) n += got.n_more;
            too_long += n > 8;
            apart += !slower && got.verdict != HN_RACE_DONE;
            kept += slower && got.verdict == HN_RACE_KEEP;
        }
    ok(too_long == 0, "race/ends_at_eight");
    ok(apart < ROUNDS / 4, "race/equals_are_rarely_told_apart: %d of %d", apart, ROUNDS);
    ok(kept == 0, "race/ten_percent_slower_is_never_kept");
}

/* Without the sync of hn_write_file: these files are many and of no value. */
static void put(const char *path, const char *data, size_t n) {
    FILE *f = fopen(path, "w");
    if (!f) return;
    fwrite(data, 1, n, f);
    fclose(f);
}

/* Bytes in, no fault out (ASan and UBSan watch). */
static void test_readers(void) {
    static const char *const start[] = {
        "\177ELF\2\1\1", "!<arch>\nx.o/            0           0     0     644     40        `\n",
        "HONEBD1\n\4\3\2\1\0\0\0\0", "{\"hone-bench\":1,\"metric\":\"t\",\"samples\":[1,2",
        "latency: 3 ms\nx = nan\n0x1p3 "};
    char dir[] = "/tmp/hone-prop-measure-XXXXXX", a[64], b[64], hex[33];
    if (!mkdtemp(dir)) return;
    snprintf(a, sizeof a, "%s/a", dir);
    snprintf(b, sizeof b, "%s/b", dir);
    hn_rng r = hn_rng_make(seed, 3);
    int bad = 0;
    for (int k = 0; k < ROUNDS; k++) {
        char data[600] = {0};
        const char *s = start[hn_rng_below(&r, sizeof start / sizeof *start)];
        size_t n = 60 + (size_t)hn_rng_below(&r, 500);
        for (size_t i = 0; i < n; i++)
            data[i] = (char)(hn_rng_below(&r, 3) ? hn_rng_below(&r, 64) : hn_rng_below(&r, 256));
        memcpy(data, s, s == start[2] ? 16 : strlen(s));
        put(a, data, n);
        data[hn_rng_below(&r, n)] ^= (char)(1u << hn_rng_below(&r, 7));
        put(b, data, n - hn_rng_below(&r, 2));
        hn_arena arena = {0};
        hn_metrics m;
        hn_parity_result p;
        uint64_t code, file;
        size_t n_bad;
        bad += hn_metrics_from_lines(&arena, data, n, &m, &n_bad, NULL) ||
               hn_metrics_from_harness(&arena, data, n, &m, &n_bad, NULL);
        bad += hn_object_hash(a, hex, NULL) || hn_object_size(a, &code, &file, NULL);
        for (int rule = HN_SAME_BYTES; rule <= HN_MAX_ULP; rule++) {
            hn_parity_files(a, b, (hn_parity_rule)rule, 1e-3, &p, NULL);
            hone_rc rc = hn_parity_files(a, a, (hn_parity_rule)rule, 0, &p, NULL);
            bad += rc ? rc != HONE_E_INPUT : !p.equal;
        }
        hn_arena_free(&arena);
    }
    ok(bad == 0, "readers/any_bytes_and_every_file_equals_itself");
    hn_remove_tree(dir, NULL);
}

int main(void) {
    test_statistics();
    test_races();
    test_readers();
    return done_testing();
}
