/* hone/bench.h — the benchmark harness: times a function of yours, with timing code that no candidate's flags touch.
 *
 * The functions below live in libhonebench.a, compiled once with fixed flags. A program with its own main:
 *
 *     #include <hone/bench.h>
 *     static void work(void *ctx) { softmax(ctx); }
 *     int main(int argc, char **argv) {
 *         hone_bench *b = hone_bench_open(argc, argv);
 *         struct problem *p = make_problem(hone_bench_arg_int(b, "n", 1024));
 *         hone_bench_run(b, "latency", work, p);                  // warm-up, iteration doubling, samples
 *         hone_bench_output(b, "y", p->y, p->n, HONE_BENCH_F32);  // what parity is judged on
 *         return hone_bench_close(b);
 *     }
 *
 * It is useful without hone: run by hand it prints a table. See docs/harness.md.
 */
#ifndef HONE_BENCH_H
#define HONE_BENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_bench hone_bench;

typedef enum hone_bench_type {
    HONE_BENCH_F32,
    HONE_BENCH_F64,
    HONE_BENCH_I8,
    HONE_BENCH_U8,
    HONE_BENCH_I16,
    HONE_BENCH_U16,
    HONE_BENCH_I32,
    HONE_BENCH_U32,
    HONE_BENCH_I64,
    HONE_BENCH_U64,
} hone_bench_type;

/* Reads the options: --hone-… arguments (listed by --hone-help) and HONE_BENCH_… variables. Never NULL: on lack of
 * memory or a wrong option it prints why and exits with status 2, as only a program's own main may. */
hone_bench *hone_bench_open(int argc, char **argv);

/* A program argument "name=value" as number or text, with its default. */
long long hone_bench_arg_int(hone_bench *b, const char *name, long long dflt);
double hone_bench_arg_double(hone_bench *b, const char *name, double dflt);
const char *hone_bench_arg_text(hone_bench *b, const char *name, const char *dflt);

/* Times fn(ctx): warm-up, then doubles the calls per sample until one sample lasts the minimum time, then takes
 * samples (seconds per call). reset, when not NULL, runs untimed before every sample (then a sample is one call).
 * Cold-cache mode (--hone-cold) evicts the caches before every sample, likewise one call each. */
void hone_bench_run(hone_bench *b, const char *metric, void (*fn)(void *ctx), void *ctx);
void hone_bench_run_reset(hone_bench *b, const char *metric, void (*fn)(void *ctx), void (*reset)(void *ctx),
                          void *ctx);

/* Reports a number of your own (lower or higher is better as the workload's objective says). unit may be NULL. */
void hone_bench_metric(hone_bench *b, const char *metric, double value, const char *unit);

/* Names output data that the parity rule compares with the baseline's. Written only when asked for. */
void hone_bench_output(hone_bench *b, const char *name, const void *data, size_t n, hone_bench_type type);

/* Makes the compiler believe that *p is read and written, so that a computation is not removed. */
void hone_bench_sink(const void *p);

/* Writes what is left; frees b; 0 on success, else the exit status to return from main. */
int hone_bench_close(hone_bench *b);

#ifdef __cplusplus
}
#endif
#endif
