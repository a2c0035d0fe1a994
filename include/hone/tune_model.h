/* hone/tune_model.h — tuning a model's kernels: schedules and compiler controls of those that take the time, as one
 * space per kernel, searched by measuring the real kernel; what is proven faster and right becomes a winner
 * (hone/winners.h) that later compilations take.
 *
 * Units: seconds, ratios.   Threads: one call at a time per process; it pins the calling thread while it runs.
 * Errors: those of hone_compile_graph, E_STORE (the file of winners), E_UNSUPPORTED (this machine does not run the
 * target), E_NOTFOUND (no kernel of that name). Being stopped is no error: the result says so.
 */
#ifndef HONE_TUNE_MODEL_H
#define HONE_TUNE_MODEL_H

#include <hone/compile.h>
#include <hone/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_tune_model_stage {
    HONE_TUNE_MODEL_PROFILE, /* the default model is compiled and its kernels are timed */
    HONE_TUNE_MODEL_SEARCH,  /* a candidate was measured */
    HONE_TUNE_MODEL_PROOF,   /* candidates against the default, on fresh builds */
    HONE_TUNE_MODEL_WINNER,  /* a kernel has a new winner: gain */
    HONE_TUNE_MODEL_CHECK,   /* the whole model, tuned against default */
    HONE_TUNE_MODEL_WARNING, /* text says what */
} hone_tune_model_stage;

typedef struct hone_tune_model_event {
    hone_event base; /* done, total: kernels whose search has ended, and all */
    hone_tune_model_stage stage;
    const char *kernel, *kind; /* NULL where no kernel is meant */
    double share;              /* of the model's time in default kernels */
    double default_s, best_s;  /* of one call; NAN while unknown */
    hone_interval gain;        /* WINNER, CHECK */
    size_t n_candidates;       /* measured or known, in this run */
    double rate;               /* of them, per second of search */
} hone_tune_model_event;

typedef struct hone_tune_model_options {
    size_t size; /* hone_tune_model_defaults() sets it */
    /* target, compiler, relaxed, precision (kernels are those of the model with that choice), winners, n_jobs
     * (compilers at once; 0: all cores but those that measure), symbols and n_threads (kernels are measured on so many;
     * 0: one per usable processor, as models run) count; output, emit and the rest do not. */
    const hone_compile_options *compile;
    int32_t device;    /* 0 */
    double budget_s;   /* 0: 60 */
    const char *sizes; /* "batch=1,seq=128": of symbolic sizes; NULL: 1 for what inputs have first, 128 for others. Of a
                          language model's step "tokens=1,past=512,wanted=1": so many tokens, of `wanted` sequences,
                          behind so many of each; NULL: a token behind 512 (128, where keys and values are no blocks),
                          and also a prompt of 128 and a token behind 4,096 */
    const char *kernels; /* "k1,k4" or kinds ("contract"), separated by commas; NULL: all that take time */
    const char *engine;  /* NULL: "auto" */
    uint64_t seed;
    int cpu;                  /* measure on this one, and those before it; -1, the default: the last usable */
    bool fresh;               /* do not go on from what earlier runs measured */
    bool exhaust;             /* go on until time ends or all is tried, whatever gain a search expects */
    double min_gain;          /* what a winner must prove; 0: 0.01 */
    const volatile int *stop; /* ends with what is proven */
    hone_progress progress;   /* is given a hone_tune_model_event */
    const char *also;         /* sizes at which the tuned model must not be slower either, with ";" between them:
                                 "tokens=256,past=0"; NULL: none, of a language model whose sizes are not given as said there */
} hone_tune_model_options;
static inline hone_tune_model_options hone_tune_model_defaults(void) {
    hone_tune_model_options o = HONE_ZERO;
    o.size = sizeof o;
    o.cpu = -1;
    return o;
}

typedef struct hone_tune_model_kernel {
    const char *name, *kind, *source, *shape;
    uint32_t n_uses;
    double share, default_s, tuned_s; /* tuned_s: of the winner; NAN */
    hone_interval
        gain; /* of the winner, proven; else what the proof saw of the best candidate; NANs where there was none */
    const char *schedule, *flags; /* of the winner, else the default's; flags with the compiler in front */
    size_t n_candidates;          /* all that are known of it, earlier runs included */
    bool winner, is_new;          /* new: found by this run */
    const char
        *end; /* why its search ended: "patience", "exhausted", "roofline", "time", "stopped", "left out", "none" */
} hone_tune_model_kernel;

typedef struct hone_tune_model_result {
    hone_tune_model_kernel *kernel; /* by share */
    size_t n_kernels;
    hone_interval gain;     /* of the whole model, one thread: default / tuned; NANs where it was not compared */
    hone_interval gain_all; /* the same on n_threads; NANs where that is one */
    uint32_t n_threads;
    bool dropped; /* the tuned model was slower, so that this run's winners were taken out again */
    bool stopped;
    size_t n_candidates;
    double rate, elapsed_s;
    const char *winners; /* path of their file */
    void *block;
    hone_interval gain_also; /* as gain, at options.also, the worst of them; NANs where it was not compared */
} hone_tune_model_result;
HONE_API hone_rc hone_tune_model_run(const hone_graph *g, const char *name, const hone_tune_model_options *options,
                                     hone_tune_model_result *out, hone_err *err);
HONE_API void hone_tune_model_result_free(hone_tune_model_result *m);

#ifdef __cplusplus
}
#endif
#endif
