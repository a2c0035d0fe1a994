/* bench/bench_time.c — the timing loop.
 *
 * Calls per sample are doubled until one sample lasts the minimum time (the method of FFTW's planner: Frigo & Johnson
 * 2005, section IV.C); doubling also warms up. Samples that must start from a prepared state (reset, cold caches) are
 * one call each, and what reading the clock costs is taken off them.
 */
#include "bench_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CLOCK_TRIES = 201, LINE_B = 64, COLD_MIB = 256 };

int64_t hn_bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

double hn_bench_clock_cost(void) {
    int64_t d[CLOCK_TRIES];
    for (int i = 0; i < CLOCK_TRIES; i++) {
        int64_t t = hn_bench_now_ns();
        d[i] = hn_bench_now_ns() - t;
    }
    qsort(d, CLOCK_TRIES, sizeof *d, by_value);
    return d[CLOCK_TRIES / 2] > 0 ? 1e-9 * (double)d[CLOCK_TRIES / 2] : 0;
}

/* Seconds for all calls; 0 or less when the clock is broken. */
static double time_calls(void (*fn)(void *), void *ctx, uint64_t calls) {
    int64_t t = hn_bench_now_ns();
    for (uint64_t i = 0; i < calls; i++) fn(ctx);
    return 1e-9 * (double)(hn_bench_now_ns() - t);
}

static size_t evict_size(const hn_bench_options *o) {
    if (o->cold_mib > 0) return (size_t)o->cold_mib << 20;
    long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t want = 2 * (size_t)(l3 > l2 ? l3 : l2 > 0 ? l2 : 32 << 20), most = (size_t)COLD_MIB << 20;
    return want < most ? want : most;
}

/* Writes one byte of every line of a buffer larger than the caches, so that everything else is pushed out. */
static const char *evict(hone_bench *b) {
    if (!b->evict) {
        b->evict_b = evict_size(&b->opt);
        b->evict = malloc(b->evict_b);
        if (!b->evict) return "no memory for cold-cache eviction; use a smaller --hone-cold-mib";
        memset(b->evict, 1, b->evict_b);
    }
    for (size_t i = 0; i < b->evict_b; i += LINE_B) b->evict[i]++;
    hone_bench_sink(b->evict);
    return NULL;
}

static const char *prepare(hone_bench *b, void (*reset)(void *), void *ctx) {
    if (reset) reset(ctx);
    return b->opt.cold ? evict(b) : NULL;
}

static const char *warm_up(hone_bench *b, void (*fn)(void *), void (*reset)(void *), void *ctx) {
    int64_t from = hn_bench_now_ns(), until = from + (int64_t)(b->opt.warm_s * 1e9);
    do {
        if (reset) reset(ctx);
        fn(ctx);
        if (hn_bench_now_ns() < from) return "the clock went backwards";
    } while (hn_bench_now_ns() < until && !b->opt.cold);
    return NULL;
}

static const char *find_calls(const hn_bench_options *o, void (*fn)(void *), void *ctx, uint64_t *calls) {
    *calls = o->calls > 0 ? (uint64_t)o->calls : 1;
    if (o->calls > 0) return NULL;
    for (;;) {
        double s = time_calls(fn, ctx, *calls);
        if (s < 0) return "the clock went backwards";
        if (s >= o->min_s) return NULL;
        if (*calls >= (uint64_t)1 << 50) return "the function takes no time";
        *calls *= 2;
    }
}

static const char *take_samples(hone_bench *b, void (*fn)(void *), void (*reset)(void *), void *ctx,
                                hn_bench_timing *out) {
    bool single = reset || b->opt.cold;
    int64_t until = hn_bench_now_ns() + (int64_t)(b->opt.max_s * 1e9);
    while (out->n < (size_t)b->opt.samples && (out->n == 0 || hn_bench_now_ns() < until)) {
        const char *error = single ? prepare(b, reset, ctx) : NULL;
        if (error) return error;
        double s = time_calls(fn, ctx, out->calls) - (out->calls == 1 ? b->clock_s : 0);
        if (s <= 0) return out->calls == 1 ? "a call is shorter than reading the clock takes" : "the clock stood still";
        out->sample[out->n++] = s / (double)out->calls;
    }
    return NULL;
}

void hn_bench_time(hone_bench *b, void (*fn)(void *), void (*reset)(void *), void *ctx, hn_bench_timing *out) {
    *out = (hn_bench_timing){.calls = 1};
    out->sample = malloc((size_t)b->opt.samples * sizeof *out->sample);
    if (!out->sample) hn_bench_die(b, "out of memory for %.0f samples", b->opt.samples);
    out->error = warm_up(b, fn, reset, ctx);
    if (!out->error && !reset && !b->opt.cold) out->error = find_calls(&b->opt, fn, ctx, &out->calls);
    if (!out->error) out->error = take_samples(b, fn, reset, ctx, out);
}
