/* hone/profile.h — a compiled model on random inputs: how fast it is, where its time goes, whether it is right.
 *
 * Owns: results own what they point to, until their free function; names and calls in a profile are the model's.
 * Units: seconds, bytes, operations (a multiply-add is two).   Threads: a model may be in use elsewhere meanwhile, each
 * call here makes an instance of its own.   Errors: E_USAGE (a size, a pattern), E_INPUT (the model refuses its inputs:
 * its own text), E_INTERRUPTED, E_NOMEM.
 */
#ifndef HONE_PROFILE_H
#define HONE_PROFILE_H

#include <hone/compile.h>
#include <hone/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Inputs for a model, the same for the same seed everywhere: floats N(0, 1), integers and bools 0 or 1; symbolic sizes
 * from "name=N,..." (sizes, may be NULL), else their smallest, at least 1. out: room for one array per input; each data
 * is the caller's afterwards: hone_free. */
HONE_API hone_rc hone_inputs_random(const hone_model *m, const char *sizes, uint64_t seed, hone_array *out,
                                    hone_err *err);
/* For a run on such inputs that ended with rc: where the model refused them and has symbolic sizes, their names are put
 * behind err's text. Returns rc. err may be NULL. */
HONE_API hone_rc hone_inputs_refused(const hone_model *m, hone_rc rc, hone_err *err);

/* --- how fast ----------------------------------------------------------------------------------------------------- */

/* How requests come, i from 0; false past the end: "steady" back to back, "single" after idleness, "bursty". */
typedef struct hone_latency_pattern {
    const char *name;
    size_t burst;  /* requests back to back */
    double idle_s; /* before each burst */
} hone_latency_pattern;
HONE_API bool hone_latency_pattern_at(size_t i, hone_latency_pattern *out);

typedef struct hone_latency_options {
    const char *pattern; /* NULL: "steady" */
    uint32_t n_threads;  /* 0: processors */
    double max_s;        /* how long to measure, after the warm-up; 0: 3. At least 20 runs are made */
    uint64_t seed;       /* of the order of turns */
    hone_peer *peer; /* NULL: alone. Given: has run the same inputs once; its bursts are interleaved in random order */
    const volatile int *stop; /* set asynchronously to end with E_INTERRUPTED; may be NULL */
} hone_latency_options;

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

/* --- where the time goes ------------------------------------------------------------------------------------------ */

/* A call, or all calls of one kernel. Rates are NAN where nothing is known. */
typedef struct hone_timed {
    const hone_model_call *call; /* the first */
    const hone_model_kernel *kernel;
    uint32_t n_calls;
    int64_t begin_ns;                      /* in the run that is shown */
    int64_t n_launches;                    /* in one run */
    hone_interval time_s;                  /* per run: the median over runs, and its bootstrap interval */
    double shown_s;                        /* in the run that is shown */
    double share;                          /* of the time of all kernels, in the faster half of the runs */
    double flops, bytes;                   /* per run */
    double of_peak, of_bandwidth, of_roof; /* of what this machine was measured to do */
} hone_timed;

typedef struct hone_profile {
    const hone_model *model;
    uint32_t n_threads, n_runs, n_calls, n_kernels;
    int32_t version;                            /* of the model, that these sizes take; calls and kernels are its own */
    hone_interval run_s;                        /* whole runs */
    double kernels_s;                           /* median over runs of what all calls took */
    double shown_s;                             /* the run whose calls a trace shows: nearest to the median */
    double f32_flops, f64_flops, bandwidth_bps; /* of so many threads; 0: not measured */
    double i8_ops;                              /* likewise, products of bytes */
    double l2_bps, l3_bps;                      /* of as many cores out of these caches */
    hone_timed *call, *kernel;                  /* in the order of the program; by time */
} hone_profile;
/* The model must be of a build with hone_compile_options.profile (else E_USAGE): 3 runs to warm up, then 20 to 400
 * until max_s (0: 3) is over. Of the options, pattern, seed and peer are not looked at. */
HONE_API hone_rc hone_profile_model(const hone_model *m, const hone_array *in, const hone_latency_options *options,
                                    hone_profile *out, hone_err *err);
HONE_API void hone_profile_free(hone_profile *p);

/* --- is it right -------------------------------------------------------------------------------------------------- */

typedef struct hone_verify_options {
    const hone_graph *graph; /* of the model: tolerances follow from it. The judge is the interpreter on it … */
    hone_peer *peer;         /* … or, where there is one, a peer that has opened the model; then graph may be NULL */
    const char *sizes;       /* as hone_inputs_random */
    uint64_t n_inputs;       /* seeds 1 … n_inputs; 0: 3 */
    double rtol, atol;       /* as hone_array_compare; both negative: 1e-3 and 1e-4, or what the types ask for */
    void (*progress)(void *arg, uint64_t done, uint64_t total); /* before each input; may be NULL */
    void *progress_arg;
    const volatile int *stop;
} hone_verify_options;

/* An output, over all inputs. Where its values are rounded to 16 bits or fewer on the way, another order of a sum flips
 * such roundings: then elements may differ by `tolerance` times the largest finite element of the judge's, and the
 * differences by as much of it in root mean square (docs/compile.md). */
typedef struct hone_verify_output {
    hone_array_difference worst;
    double tolerance;           /* 0: rtol and atol alone */
    hone_dtype through;         /* the type that it follows from */
    double of_largest, of_rms;  /* the largest, and the root mean square of the differences, as parts of the judge's */
    uint64_t n_elements, n_nan; /* of the judge's; where both have NaN they agree, and nothing is known */
} hone_verify_output;
/* outputs: one per output of the program. *same: every output was within the tolerance every time. */
HONE_API hone_rc hone_verify_run(hone_artifact *p, const hone_verify_options *options, hone_verify_output *outputs,
                                 bool *same, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
