/* hone/search.h — search engines behind one ask/tell contract.
 *
 *     hone_search_open(space, &options, &search, &err);
 *     while (budget) { hone_search_ask(search, point, &err); ... hone_search_tell(search, point, &outcome, &err); }
 *
 * Asynchronous: any number of points may be asked before the first is told; engines know what is pending.
 * Deterministic: the same space, options and sequence of ask/tell calls give the same points.
 * Resumable: tell a fresh search everything in the recorded order (points never asked are accepted as known
 *            results), then hone_search_skip to the number of asks made so far, then go on.
 * A point that was asked or told is never proposed again; E_EXHAUSTED when none is left.
 * Owns: its copies of everything told.   Borrows: the space, from open to close.
 */
#ifndef HONE_SEARCH_H
#define HONE_SEARCH_H

#include <hone/space.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_MAX_OBJECTIVES 8
#define HONE_MAX_CONSTRAINTS 16

/* How a trial ended. Names (hone_outcome_class_name) are stored: never rename, never reuse. */
typedef enum hone_outcome_class {
    HONE_RUN_OK,
    HONE_BUILD_ERROR,
    HONE_BUILD_TIMEOUT,
    HONE_RUN_CRASH,
    HONE_RUN_TIMEOUT,
    HONE_WRONG_RESULT,
    HONE_NO_METRIC,
    HONE_OVER_LIMIT,
    HONE_MEMORY_FAULT,   /* of a GPU kernel: wrote or read where it must not */
    HONE_LAUNCH_REFUSED, /* the device does not take the kernel or its launch */
    HONE_DEVICE_FAULT,   /* the device or its context is broken */
    HONE_NO_DEVICE,      /* no device, no driver, or too old a one */
    HONE_THROTTLED,      /* the device's clock stayed too low to measure */
    HONE_N_CLASSES,
} hone_outcome_class;
HONE_API const char *hone_outcome_class_name(hone_outcome_class c); /* "ok", "build_error", ... */
HONE_API bool hone_outcome_class_parse(const char *name, hone_outcome_class *out);

/* The result measured at a point. Objectives in the caller's own direction and unit; NAN or infinite values in an `ok`
 * outcome are treated as `no_metric`. violation[k] > 0: by how much outcome constraint k is broken (any scale,
 * 0 or less: satisfied). */
typedef struct hone_outcome {
    hone_outcome_class cls;
    double value[HONE_MAX_OBJECTIVES];
    double violation[HONE_MAX_CONSTRAINTS];
} hone_outcome;

typedef struct hone_search_options {
    size_t size;        /* hone_search_defaults() sets it */
    const char *engine; /* NULL: "auto" */
    uint64_t seed;
    size_t n_objectives; /* 0 means 1 */
    bool maximize[HONE_MAX_OBJECTIVES];
    size_t n_constraints;
    size_t budget;   /* evaluations planned, 0 = unknown; optional information for engines */
    size_t memory_b; /* cap on observations kept in full, bytes; 0 = 64 MiB */
    /* Points to propose first, in order, after the default: n_seeds * slots doubles; may be NULL. Illegal ones are
     * repaired. Rule seeds and past winners come in here. Copied. */
    const double *seeds;
    size_t n_seeds;
    bool no_default; /* do not propose the default point first (the caller measured it and tells it) */
    /* Engine options as "name=value" texts, NULL-terminated, may be NULL; `hone engines` lists them. Unknown names
     * are E_USAGE. */
    const char *const *options;
    /* Extra legality beyond the space's own constraints (e.g. a recorded table), may be NULL; must be pure.
     * draw, when set, must give uniformly random legal points. Borrowed until close. */
    bool (*legal)(void *ctx, const double *point);
    void (*draw)(void *ctx, uint64_t seed, double *point);
    void *ctx;
} hone_search_options;
static inline hone_search_options hone_search_defaults(void) {
    hone_search_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

typedef struct hone_search hone_search;

HONE_API hone_rc hone_search_open(const hone_space *space, const hone_search_options *options, hone_search **out,
                                  hone_err *err);
/* Proposes the next point (slots doubles, legal, canonical, new) and marks it pending. */
HONE_API hone_rc hone_search_ask(hone_search *search, double *point, hone_err *err);
/* Appends points to those that are proposed first (options.seeds), as if they had been given at the beginning. Copied.
 */
HONE_API hone_rc hone_search_add_seeds(hone_search *search, const double *points, size_t n, hone_err *err);
/* Reports an outcome, for a pending point or for one measured elsewhere. A point told twice: the later outcome
 * replaces the earlier. */
HONE_API hone_rc hone_search_tell(hone_search *search, const double *point, const hone_outcome *seen, hone_err *err);
/* The same where it is known what was built: code is a key of the program, equal for points that became the same one
 * (such as a hash of its object), 0 where it is not known. Engines learn from it which parameters do nothing to the
 * program, and move in the others. */
HONE_API hone_rc hone_search_tell_built(hone_search *search, const double *point, const hone_outcome *seen,
                                        uint64_t code, hone_err *err);
/* Gives up a pending point without an outcome (it may be proposed again). */
HONE_API void hone_search_forget(hone_search *search, const double *point);
/* Sets the number of asks made so far (the counter that determines the random streams), for resumption. */
HONE_API void hone_search_skip(hone_search *search, size_t n_asked);
HONE_API void hone_search_close(hone_search *search);

HONE_API size_t hone_search_n_told(const hone_search *search);
HONE_API size_t hone_search_n_pending(const hone_search *search);
/* Best feasible point so far (first objective; single objective use). False when there is none. */
HONE_API bool hone_search_best(const hone_search *search, double *point, hone_outcome *seen);
/* Name of the engine or, for auto, of the part that made the last proposal ("seed", "lfbo", "gp", ...). */
HONE_API const char *hone_search_origin(const hone_search *search);

/* The registry, for listings: i from 0 until false. Strings are static. */
typedef struct hone_engine_info {
    const char *name, *summary, *options; /* options: "pool=32 parents=24 ..." with defaults, may be "" */
} hone_engine_info;
HONE_API bool hone_engine_at(size_t i, hone_engine_info *out);

/* --- fronts -------------------------------------------------------------------------------------------------- */

/* Non-dominated rank (0 = front) of n rows of m objectives, row-major, all minimised (Deb et al. 2002, fast
 * non-dominated sort). rank has room for n. */
HONE_API hone_rc hone_pareto_rank(const double *values, size_t n, size_t m, uint32_t *rank, hone_err *err);
/* Hypervolume dominated by n rows of m minimised objectives within `ref` (m values). Exact for any m, O(n log n)
 * for m = 2 (WFG, While et al. 2012, beyond). Rows outside ref are ignored. */
HONE_API double hone_pareto_hypervolume(const double *values, size_t n, size_t m, const double *ref);

/* --- which parameters matter ---------------------------------------------------------------------------------- */

/* For each parameter of the space (share has room for all) how much of the ranking of n values it alone explains, 0..1:
 * epsilon squared of Kruskal and Wallis's test over its levels (numbers: eight bins). points: n * slots, canonical;
 * values: finite. A permutation counts by the item whose place explains most. */
HONE_API hone_rc hone_search_importance(const hone_space *space, const double *points, const double *values, size_t n,
                                        double *share, hone_err *err);

/* --- judging an engine on a recorded space (docs/replay.md) -------------------------------------------------- */

typedef struct hone_recording hone_recording;
/* Reads SPACE.tsv or .tsv.xz (format: docs/replay.md). */
HONE_API hone_rc hone_recording_load(const char *path, hone_recording **out, hone_err *err);
HONE_API void hone_recording_free(hone_recording *rec);
HONE_API const hone_space *hone_recording_space(const hone_recording *rec);
HONE_API const char *hone_recording_label(const hone_recording *rec); /* "gemm-RTX3090" */
HONE_API size_t hone_recording_rows(const hone_recording *rec);
HONE_API double hone_recording_best(const hone_recording *rec); /* seconds */
/* Looks a point up, in seconds: false when no such configuration was recorded (it breaks a constraint). sd and compile
 * are NAN where unknown. */
HONE_API bool hone_recording_lookup(const hone_recording *rec, const double *point, hone_outcome_class *cls,
                                    double *time_s, double *sd_s, double *compile_s);

typedef struct hone_replay_options {
    size_t size; /* hone_replay_defaults() sets it */
    const char *engine;
    const char *const *options; /* as in hone_search_options */
    size_t n_evals;             /* evaluations per run; 0 = 200 */
    size_t n_seeds;             /* runs, seeds first_seed ... ; 0 = 50 */
    uint64_t first_seed;
    bool constraints_known; /* the engine is told which configurations exist */
    bool noisy;             /* one noisy sample per evaluation instead of the mean */
    bool two_objectives;    /* time and compile time; score = share of the true front's hypervolume */
    size_t batch;           /* points asked before the first is told; 0 = 1 */
} hone_replay_options;
static inline hone_replay_options hone_replay_defaults(void) {
    hone_replay_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

typedef struct hone_replay_result {
    double fraction[4];    /* mean over seeds of best/found at 25, 50, 100, 200 evaluations (NAN beyond n_evals) */
    double fraction_sd[4]; /* standard deviation over seeds */
    double evals_to_95; /* mean number of evaluations until 95 % of the best; runs that never reach it count as n_evals
                           + 1 */
    double ask_s;       /* mean time of one ask + tell */
    double *curve;      /* n_evals means; free with hone_free */
    size_t n_evals, n_seeds;
} hone_replay_result;
HONE_API hone_rc hone_replay_run(const hone_recording *rec, const hone_replay_options *options, hone_replay_result *out,
                                 hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
