/* hone/latency.h — how fast a compiled model answers on given inputs, alone or beside a peer.
 *
 * Owns: results own what they point to, until their free function.   Units: seconds.   Threads: a model may be in use
 * elsewhere meanwhile, each call makes an instance of its own.   Errors: E_USAGE (a pattern), E_INPUT (the model
 * refuses its inputs: its own text), E_INTERRUPTED, E_NOMEM.
 */
#ifndef HONE_LATENCY_H
#define HONE_LATENCY_H

#include <hone/ir.h>
#include <hone/model.h>
#include <hone/peer.h>
#include <hone/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How requests come, i from 0; false past the end: "steady" back to back, "single" after idleness, "bursty". */
typedef struct hone_latency_pattern {
    const char *name;
    size_t burst;  /* requests back to back */
    double idle_s; /* before each burst */
} hone_latency_pattern;
HONE_API bool hone_latency_pattern_at(size_t i, hone_latency_pattern *out);

typedef struct hone_latency_options {
    size_t size;         /* hone_latency_defaults() sets it */
    const char *pattern; /* NULL: "steady" */
    uint32_t n_threads;  /* 0: processors */
    int32_t device;      /* 0 */
    double budget_s;     /* how long to measure, after the warm-up; 0: 3. At least 20 runs are made */
    uint64_t seed;       /* of the order of turns */
    hone_peer *peer; /* NULL: alone. Given: has run the same inputs once; its bursts are interleaved with the model's in
                        random order */
    const volatile int *stop; /* ends with E_INTERRUPTED */
    /* Of a model with state: every run begins with the same one, as a reset leaves it, or with a graph as n_steps runs
     * on random inputs leave it. Then `in` is not used (NULL), and the peer need not have run. */
    const hone_graph *graph;
    const char *const *state; /* as hone_compile_options */
    size_t n_state;
    const char *sizes; /* as hone_inputs_random */
    uint64_t n_steps;
    int64_t state_rows; /* without a graph: the first size of each state, which no input gives; 0: the smallest */
} hone_latency_options;
static inline hone_latency_options hone_latency_defaults(void) {
    hone_latency_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

typedef struct hone_latency_series {
    double *time_s; /* of each run, in order */
    size_t n;
    hone_interval p50_s;             /* median, with the bootstrap's interval, 95 % */
    double p95_s, p99_s, throughput; /* runs per second of running: idleness does not count */
} hone_latency_series;

typedef struct hone_latency {
    hone_latency_series mine, peer; /* peer.n 0: there was none */
} hone_latency;
/* in: one array per input, as hone_artifact_run takes them. options: NULL for the defaults. */
HONE_API hone_rc hone_latency_measure(const hone_model *m, const hone_array *in, const hone_latency_options *options,
                                      hone_latency *out, hone_err *err);
HONE_API void hone_latency_free(hone_latency *b);

#ifdef __cplusplus
}
#endif
#endif
