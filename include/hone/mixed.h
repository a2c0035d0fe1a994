/* hone/mixed.h — which products of a model are computed in bytes, as a search: error, latency and size of weights are
 * objectives, one of the tuner's engines looks for their front.
 *
 * A point says for each product whether it is narrow, and by which way ranges are taken. Its error is measured on
 * samples; its latency is predicted from what each product takes in f32 and in bytes here; its size is counted. Every
 * fourth sample (3, 7, 11, …) is held out: on those each point of the front is proven, and none else is looked at.
 * Owns: results own what they point to, until their free function.   Threads: one call at a time.
 * Errors: those of hone/precision.h; E_USAGE (fewer than 8 samples); E_MISMATCH (options.points is of something else);
 * those of options.metric.
 */
#ifndef HONE_MIXED_H
#define HONE_MIXED_H

#include <hone/precision.h>
#include <hone/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The error of a model that answered samples: out[k * n_outputs + i] is output i of sample index[k], names of outputs
 * as in the graph. Less is better. It must be the same whenever the outputs are. */
typedef hone_rc hone_mixed_metric(void *arg, const hone_array *out, size_t n_outputs, const size_t *index, size_t n,
                                  double *error, hone_err *err);

typedef struct hone_mixed_options {
    size_t size;           /* hone_mixed_defaults() sets it */
    const char *calibrate; /* as hone_precision_options; NULL: the way is searched, too */
    double percentile;     /* these as there */
    bool no_smooth;
    const char *compiler;
    uint32_t n_jobs, n_threads;
    hone_progress progress; /* stages: those of hone_compile_options, "samples", "profile", "ranges", "products",
                               "points", "proof" */
    const volatile int *stop;
    const char *keep;
    const char *engine; /* NULL: "auto" */
    uint64_t seed;
    uint32_t n_points;         /* evaluated after each product alone; 0: 64 */
    double max_error;          /* of the point that is chosen; below 0: .01, with a metric 1.01 times that of f32 */
    hone_mixed_metric *metric; /* NULL: root mean square of the differences from f32 by that of f32, of the output where
                                  it is largest, the mean over samples */
    void *metric_arg;
    const char *metric_name; /* what its values depend on besides, a command line, say; NULL: "" */
    const char *points;      /* file where evaluated points are kept, and looked up; NULL: none */
    bool replace;            /* a file of something else is written anew, else it is E_MISMATCH */
    double budget_s; /* of the whole search, from the call on to the proof. What has begun is finished: compilations, of
                        the model of floats, of two that are timed and of one with both versions of each product, and
                        the samples run once. Then f32, all products narrow and four more points are evaluated in any
                        case; from parts of the time on no other way to take ranges, no product alone and no point of
                        the engine is begun, and only points that may be chosen are proven. 0: n_points alone count */
} hone_mixed_options;
static inline hone_mixed_options hone_mixed_defaults(void) {
    hone_mixed_options o = HONE_ZERO;
    o.size = sizeof o;
    o.max_error = -1;
    return o;
}

typedef struct hone_mixed_point {
    const char *calibrate;
    const bool *narrow; /* by product */
    uint32_t n_narrow;
    double error;       /* on the samples that were searched on */
    double latency;     /* predicted, by that of f32 */
    uint64_t weights_b; /* of the products */
    double held_error;  /* on those held out; NAN: there was no time for it, and it could not be chosen */
    double held_bound;  /* its upper end, 95 %, one-sided (Student's t over samples, or over parts with a metric) */
    bool proven;        /* held_bound is within max_error */
} hone_mixed_point;

typedef struct hone_mixed_front {
    hone_mixed_point *point; /* not dominated, error ascending; the first is f32 */
    size_t n;
    size_t
        chosen; /* tested from the first on, the last before one is not proven, of those with error up to max_error */
    double max_error;           /* that was applied */
    const char *const *product; /* names */
    uint32_t n_products;
    uint32_t n_evaluated, n_reused; /* points that were run, and taken from the file */
    size_t n_samples, n_held;
    char *text; /* of the choice, as hone_precision_choose gives it */
    void *owned;
    bool late;         /* budget_s left something out: less was done than the next four numbers could have been */
    uint32_t n_ranges; /* ways to take ranges that were tried, of n_ranges_all */
    uint32_t n_ranges_all;
    uint32_t n_alone; /* products that were tried alone, of n_products */
    uint32_t n_asked; /* points that the engine was asked for */
} hone_mixed_front;
HONE_API hone_rc hone_mixed_search(const hone_graph *g, const hone_array *sample, size_t n_samples,
                                   const hone_mixed_options *options, hone_mixed_front *out, hone_err *err);
HONE_API void hone_mixed_free(hone_mixed_front *f);

/* Time of `narrow` by that of `exact`: runs on the samples in turn, in pairs in ABBA order, for budget_s seconds (0: 5)
 * and at least 24 pairs. ratio: the median and its interval, 95 % (docs/proof.md): below 1 is faster, and proven where
 * hi is. Both have the same inputs. stop: may be NULL. */
HONE_API hone_rc hone_mixed_time(hone_artifact *narrow, hone_artifact *exact, const hone_array *sample,
                                 size_t n_samples, double budget_s, const volatile int *stop, hone_interval *ratio,
                                 size_t *n_pairs, hone_err *err);

/* Of a budget for a choice and the kernels that are tuned for it: the choice's part, a half; what kernels have when
 * spent_s have passed: all but a tenth, which is left for judging the tuned model (judged: there are samples for that),
 * and a tenth in any case, as compilations of the choice are not cut short. */
HONE_API double hone_mixed_choice_s(double budget_s);
HONE_API double hone_mixed_kernels_s(double budget_s, double spent_s, bool judged);

#ifdef __cplusplus
}
#endif
#endif
