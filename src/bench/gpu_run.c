/* bench/gpu_run.c — how a call is timed and checked, the same on every device.
 *
 * Operands rotate over as many sets as it takes to touch twice the last-level cache between two uses of one; in cold
 * mode the cache is flushed before every call, outside the timed region. Samples taken at less than three quarters of
 * the default clock are dropped, as nvbench does (github.com/NVIDIA/nvbench, option --throttle-threshold).
 */
#include "gpu_int.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum { CALLS_MOST = 1 << 20, COLD_CALLS_MOST = 32, SAMPLES_LEAST = 3, STILL_MOST = 10000 };
static const double clock_least = 0.75, gpu_warm_s = 0.25, cold_sample_s = 200e-6;

static double now_s(void) { return 1e-9 * (double)hn_bench_now_ns(); }

/* --- memory ----------------------------------------------------------------------------------------------------------
 */

static void refuse_constants(hone_gpu *g) {
    for (size_t i = 0; i < g->n_buffers; i++) {
        const hn_gpu_buffer *x = &g->buffer[i];
        if (!x->data || x->constant_ok || !hn_gpu_one_value(x->data, x->n, hone_gpu_type_size(x->type))) continue;
        hn_bench_die(g->b,
                     "input '%s' holds one value only: arithmetic on it draws less power and runs up to 13 %% faster "
                     "than on real data; give it random data, or say that it is meant (constant … anyway, "
                     "hone_gpu_allow_constant)",
                     x->name);
    }
}

static size_t sets_wanted(const hone_gpu *g) {
    const hn_bench_options *o = &g->b->opt;
    double bytes = 0, padded = 0;
    if (o->cold || o->warm || o->once) return 1;
    for (size_t i = 0; i < g->n_buffers; i++) {
        bytes += (double)g->buffer[i].size_b;
        padded += (double)(g->buffer[i].size_b + 2 * HN_GPU_GUARD_B);
    }
    if (!(bytes > 0)) return 1;
    double sets = 1 + ceil(2 * (double)g->info.cache_b / bytes), fit = 0.5 * (double)g->info.memory_b / padded;
    if (sets > fit) sets = floor(fit);
    return sets > HN_GPU_SETS_MOST ? HN_GPU_SETS_MOST : sets < 1 ? 1 : (size_t)sets;
}

/* Inputs as they were given, outputs poisoned. */
static void restore(hone_gpu *g, const hn_gpu_buffer *x, size_t set) {
    if (x->data)
        g->api->write(g, &x->mem[set], 0, x->data, x->size_b);
    else
        g->api->fill(g, &x->mem[set], 0, x->size_b, HN_GPU_POISON);
}

static void place(hone_gpu *g) {
    for (size_t i = 0; i < g->n_buffers; i++) {
        hn_gpu_buffer *x = &g->buffer[i];
        for (; x->n_mem < g->n_sets; x->n_mem++) {
            hn_gpu_mem *m = &x->mem[x->n_mem];
            *m = g->api->alloc(g, x->size_b);
            g->api->fill(g, m, -HN_GPU_GUARD_B, HN_GPU_GUARD_B, HN_GPU_GUARD);
            g->api->fill(g, m, (ptrdiff_t)x->size_b, HN_GPU_GUARD_B, HN_GPU_GUARD);
        }
        for (size_t k = 0; k < g->n_sets; k++) restore(g, x, k);
    }
}

static void check_guard(hone_gpu *g, const hn_gpu_buffer *x, size_t set, bool behind) {
    unsigned char seen[HN_GPU_GUARD_B];
    g->api->read(g, &x->mem[set], behind ? (ptrdiff_t)x->size_b : -HN_GPU_GUARD_B, seen, sizeof seen);
    size_t from = 0, n = 0;
    for (size_t i = 0; i < sizeof seen; i++) {
        if (seen[i] == HN_GPU_GUARD) continue;
        if (!n++) from = i;
    }
    if (!n) return;
    if (behind)
        hn_gpu_fault(g, HN_GPU_MEMORY_FAULT,
                     "the kernel wrote %zu bytes behind the end of buffer '%s', from byte %zu on", n, x->name,
                     x->size_b + from);
    hn_gpu_fault(g, HN_GPU_MEMORY_FAULT,
                 "the kernel wrote %zu bytes before the start of buffer '%s', from byte -%zu on", n, x->name,
                 sizeof seen - from);
}

static void check_guards(hone_gpu *g, size_t n_sets) {
    for (size_t i = 0; i < g->n_buffers; i++)
        for (size_t k = 0; k < n_sets && k < g->buffer[i].n_mem; k++) {
            check_guard(g, &g->buffer[i], k, false);
            check_guard(g, &g->buffer[i], k, true);
        }
}

/* --- outputs ---------------------------------------------------------------------------------------------------------
 */

static void hand_out(hone_gpu *g, const hn_gpu_buffer *x, const void *data) {
    static const hone_bench_type plain[] = {
        [HONE_GPU_F32] = HONE_BENCH_F32, [HONE_GPU_F64] = HONE_BENCH_F64, [HONE_GPU_I8] = HONE_BENCH_I8,
        [HONE_GPU_U8] = HONE_BENCH_U8,   [HONE_GPU_I16] = HONE_BENCH_I16, [HONE_GPU_U16] = HONE_BENCH_U16,
        [HONE_GPU_I32] = HONE_BENCH_I32, [HONE_GPU_U32] = HONE_BENCH_U32, [HONE_GPU_I64] = HONE_BENCH_I64,
        [HONE_GPU_U64] = HONE_BENCH_U64,
    };
    if (!g->b->data) return;
    if (x->type == HONE_GPU_F16 || x->type == HONE_GPU_BF16) {
        float *wide = hn_gpu_memory(g, x->n, sizeof *wide);
        hn_gpu_widen(data, x->type, x->n, wide);
        hone_bench_output(g->b, x->name, wide, x->n, HONE_BENCH_F32);
        free(wide);
    } else
        hone_bench_output(g->b, x->name, data, x->n, plain[x->type]);
}

static void look_at(hone_gpu *g, const hn_gpu_buffer *x) {
    unsigned char *data = hn_gpu_memory(g, x->size_b, 1);
    g->api->read(g, &x->mem[0], 0, data, x->size_b);
    if (!(x->use & HONE_GPU_OUT) && memcmp(data, x->data, x->size_b) != 0)
        hn_gpu_fault(g, HN_GPU_MEMORY_FAULT, "the kernel changed buffer '%s', which is an input only", x->name);
    if (x->use == HONE_GPU_OUT && x->size_b >= 8 && data[0] == HN_GPU_POISON && hn_gpu_one_value(data, x->size_b, 1))
        hn_gpu_fault(g, HN_GPU_RUN_CRASH, "the kernel wrote nothing to output '%s': it still holds the poison 0x%02x",
                     x->name, HN_GPU_POISON);
    if (x->use & HONE_GPU_OUT) hand_out(g, x, data);
    free(data);
}

/* Exactly one call on fresh inputs, however many the timing took. */
static void final_call(hone_gpu *g) {
    for (size_t i = 0; i < g->n_buffers; i++) restore(g, &g->buffer[i], 0);
    g->api->call(g, 0);
    check_guards(g, 1);
    for (size_t i = 0; i < g->n_buffers; i++) look_at(g, &g->buffer[i]);
}

/* --- timing ----------------------------------------------------------------------------------------------------------
 */

static bool is_slow(const hone_gpu *g, const hn_gpu_reading *r) {
    return r->clock_known && g->info.clock_mhz > 0 && r->clock_mhz < clock_least * g->info.clock_mhz;
}

static uint64_t in_sets(const hone_gpu *g, double calls) {
    uint64_t n = calls < 1            ? 1
                 : calls > CALLS_MOST ? CALLS_MOST
                                      : (uint64_t)calls,
             sets = g->api->whole_sets ? g->n_sets : 1;
    return (n + sets - 1) / sets * sets;
}

static void pause_s(double s) {
    struct timespec t = {(time_t)s, (long)(1e9 * (s - floor(s)))};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR) {
    }
}

/* Also waits, a second at most, for the clock to come up. */
static double warm_up(hone_gpu *g, hn_gpu_plan *plan) {
    const hn_bench_options *o = &g->b->opt;
    double least = o->warm_s > 0 && o->warm_s < gpu_warm_s && g->info.clock_mhz > 0 ? gpu_warm_s : o->warm_s;
    double from = now_s();
    hn_gpu_reading r;
    do {
        g->api->sample(g, plan, &r);
    } while (now_s() < from + least || (least > 0 && is_slow(g, &r) && now_s() < from + least + 1));
    return r.s;
}

static void must_move(hone_gpu *g, const hn_gpu_reading *r) {
    if (!(r->s > 0)) hn_gpu_fault(g, HN_GPU_DEVICE_FAULT, "the device's clock stood still during a sample");
}

/* Calls of a sample, so that it lasts the minimum time. */
static void find_calls(hone_gpu *g, hn_gpu_plan *plan, double s) {
    const hn_bench_options *o = &g->b->opt;
    if (plan->cold) {
        double n = s > 0 ? ceil(cold_sample_s / s) : COLD_CALLS_MOST;
        plan->calls = o->calls > 0 ? in_sets(g, o->calls) : n > COLD_CALLS_MOST ? COLD_CALLS_MOST : (uint64_t)n;
        return;
    }
    if (o->calls > 0) {
        plan->calls = in_sets(g, o->calls);
        return;
    }
    for (hn_gpu_reading r = {.s = s}; plan->calls < CALLS_MOST && r.s * (double)plan->calls < o->min_s;) {
        double grow = r.s > 0 ? ceil(1.2 * o->min_s / (r.s * (double)plan->calls)) : 10;
        plan->calls = in_sets(g, (double)plan->calls * (grow < 2 ? 2 : grow > 10 ? 10 : grow));
        if (plan->calls > STILL_MOST) must_move(g, &r);
        g->api->sample(g, plan, &r);
    }
}

typedef struct taken {
    hn_gpu_reading *r;
    size_t n, dropped;
} taken;

static taken take_samples(hone_gpu *g, const hn_gpu_plan *plan) {
    const hn_bench_options *o = &g->b->opt;
    size_t want = (size_t)o->samples, least = want < SAMPLES_LEAST ? want : SAMPLES_LEAST;
    taken t = {.r = hn_gpu_memory(g, want, sizeof *t.r)};
    double until = now_s() + o->max_s;
    hn_gpu_reading last = {0};
    while (t.n < want && t.dropped <= 3 * want && (t.n + t.dropped < least || now_s() < until)) {
        g->api->sample(g, plan, &last);
        must_move(g, &last);
        if (is_slow(g, &last)) {
            t.dropped++;
            pause_s(0.02);
        } else
            t.r[t.n++] = last;
    }
    if (t.n < least)
        hn_gpu_fault(g, HN_GPU_THROTTLED,
                     "the clock stayed at %.0f of %.0f MHz (reasons 0x%llx): of %zu samples %zu were taken at 75 %% of "
                     "the default clock or more; let the device cool, or see what limits its power",
                     last.clock_mhz, g->info.clock_mhz, last.throttle, t.n + t.dropped, t.n);
    return t;
}

typedef double value_of(const hn_gpu_reading *r);
static double seconds(const hn_gpu_reading *r) { return r->s; }
static double cycles(const hn_gpu_reading *r) { return r->s * r->clock_mhz * 1e6; }
static double clock_mhz(const hn_gpu_reading *r) { return r->clock_mhz; }
static double throttle(const hn_gpu_reading *r) { return (double)r->throttle; }

static void report_as(hone_gpu *g, const char *metric, const char *suffix, const char *unit, const taken *t,
                      const hn_gpu_plan *plan, value_of *value) {
    char name[HN_BENCH_NAME_B];
    double *x = hn_gpu_memory(g, t->n, sizeof *x);
    for (size_t i = 0; i < t->n; i++) x[i] = value(&t->r[i]);
    snprintf(name, sizeof name, "%s%s", metric, suffix);
    hn_bench_report(g->b, name, unit, x, t->n, plan->calls, NULL);
}

/* The counter moves in steps of up to a tenth of a second, so it takes a run of its own. */
static void report_energy(hone_gpu *g, const char *metric, const hn_gpu_plan *plan) {
    double want = g->b->opt.energy_s, from = now_s(), calls = 0;
    if (!(want > 0)) return;
    double before = g->api->energy ? g->api->energy(g) : NAN;
    for (hn_gpu_reading r; isfinite(before) && now_s() < from + want; calls += r.ran) g->api->sample(g, plan, &r);
    double joules = isfinite(before) ? g->api->energy(g) - before : NAN;
    double *x = hn_gpu_memory(g, 1, sizeof *x);
    char name[HN_BENCH_NAME_B];
    snprintf(name, sizeof name, "%s_energy", metric);
    *x = calls > 0 ? joules / calls : NAN;
    hn_bench_report(g->b, name, "J", x, 1, (uint64_t)calls, *x > 0 ? NULL : "the device has no counter of energy");
}

static void time_calls(hone_gpu *g, const char *metric) {
    hn_gpu_plan plan = {.calls = in_sets(g, 1), .cold = g->b->opt.cold};
    find_calls(g, &plan, warm_up(g, &plan));
    taken t = take_samples(g, &plan);
    char extra[200];
    snprintf(extra, sizeof extra, ",\"api\":\"%s\",\"sets\":%zu,\"dropped\":%zu", g->api->name, g->n_sets, t.dropped);
    g->b->extra = extra;
    report_as(g, metric, "", "s", &t, &plan, seconds);
    g->b->extra = NULL;
    if (t.n && t.r[0].clock_known) {
        report_as(g, metric, "_cycles", "", &t, &plan, cycles);
        report_as(g, metric, "_clock", "MHz", &t, &plan, clock_mhz);
        report_as(g, metric, "_throttle", "", &t, &plan, throttle);
    }
    free(t.r);
    report_energy(g, metric, &plan);
}

void hone_gpu_run(hone_gpu *g, const char *metric) {
    hn_bench_help_instead(g->b);
    if (!g->state) hn_bench_die(g->b, "nothing was loaded before '%s' was to be timed", metric);
    if (!g->n_launches) hn_bench_die(g->b, "'%s' has no launch", metric);
    refuse_constants(g);
    for (size_t i = 0; i < g->n_launches; i++) g->launch[i].kernel = g->api->kernel(g, &g->launch[i]);
    g->n_sets = sets_wanted(g);
    place(g);
    if (!g->b->opt.once) {
        g->api->call(g, 0);
        check_guards(g, 1);
        time_calls(g, metric);
        check_guards(g, g->n_sets);
    }
    final_call(g);
    hn_gpu_launches_free(g);
}
