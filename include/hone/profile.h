/* hone/profile.h — a compiled model on given inputs: where its time goes.
 *
 * Owns: results own what they point to, until their free function; names and calls in a profile are the model's.
 * Units: seconds, bytes, operations (a multiply-add is two).   Threads: a model may be in use elsewhere meanwhile, each
 * call here makes an instance of its own.   Errors: E_USAGE (no profiling build), E_INPUT (the model refuses its
 * inputs: its own text), E_INTERRUPTED, E_NOMEM.
 */
#ifndef HONE_PROFILE_H
#define HONE_PROFILE_H

#include <hone/latency.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A call, or all calls of one kernel. Rates are NAN where nothing is known. */
typedef struct hone_profile_row {
    const hone_model_call *call; /* the first */
    const hone_model_kernel *kernel;
    uint32_t n_calls;
    double begin_s;                        /* in the run that is shown */
    int64_t n_launches;                    /* in one run */
    hone_interval time_s;                  /* per run: the median over runs, and its bootstrap interval */
    double shown_s;                        /* in the run that is shown */
    double share;                          /* of the time of all kernels, in the faster half of the runs */
    double flops, bytes;                   /* per run */
    double of_peak, of_bandwidth, of_roof; /* share of what was measured on this machine */
} hone_profile_row;

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
    hone_profile_row *call, *kernel;            /* in the order of the program; by time */
} hone_profile;
/* The model must be of a build with hone_compile_options.profile (else E_USAGE): 3 runs to warm up, then 20 to 400
 * until budget_s (0: 3) is over. The options pattern, seed and peer are ignored. */
HONE_API hone_rc hone_profile_model(const hone_model *m, const hone_array *in, const hone_latency_options *options,
                                    hone_profile *out, hone_err *err);
HONE_API void hone_profile_free(hone_profile *p);

#ifdef __cplusplus
}
#endif
#endif
