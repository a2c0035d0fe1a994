/* hone/tune.h — the workload file and the driver: from `hone.yaml` to the best controls.
 *
 * Errors: E_INPUT with path:line:column and the nearest known key; E_BASELINE when the plain build fails, is wrong
 * or disagrees with itself; E_TOOL, E_STORE, E_BUSY, E_MISMATCH, E_INTERRUPTED.
 */
#ifndef HONE_TUNE_H
#define HONE_TUNE_H

#include <hone/record.h>
#include <hone/search.h>
#include <hone/space.h>
#include <hone/target.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- the workload file (docs/workload.md) ---------------------------------------------------------------------- */

typedef struct hone_workload hone_workload;

HONE_API hone_rc hone_workload_load(const char *path, hone_workload **out, hone_err *err);
/* As load, from text; relative paths in it are taken from `dir` (NULL: the current folder). */
HONE_API hone_rc hone_workload_parse(const char *text, size_t n, const char *label, const char *dir,
                                     hone_workload **out, hone_err *err);
HONE_API void hone_workload_free(hone_workload *workload);
HONE_API const char *hone_workload_name(const hone_workload *workload);
HONE_API const char *hone_workload_dir(const hone_workload *workload);
/* Stable hash of all that gives measurements their meaning (not name, budget or comments). */
HONE_API void hone_workload_hash(const hone_workload *workload, char hex[33]);
HONE_API size_t hone_workload_n_objectives(const hone_workload *workload);
/* "p50(latency)", direction. */
HONE_API const char *hone_workload_objective(const hone_workload *workload, size_t i, bool *maximize);

/* A workload file's text for a C file (with or without main and harness) or a build command, commented, to start
 * from. Exactly one of source and build is set. Free with hone_free. */
HONE_API hone_rc hone_workload_draft(const char *source, const char *build, char **text, hone_err *err);

/* --- the driver ------------------------------------------------------------------------------------------------ */

typedef struct hone_tune_options {
    size_t size;           /* hone_tune_defaults() sets it */
    const char *store_dir; /* NULL: DIR/.hone beside the workload */
    const char *cache_dir; /* of targets; NULL: default */
    const char *engine;    /* NULL: the workload's, else "auto" */
    uint64_t seed;
    size_t max_evals; /* 0: the workload's budget */
    double budget_s;  /* 0: the workload's budget */
    uint32_t n_jobs;  /* builds at once; 0: cores */
    int cpu;          /* core to measure on; -1, the default: the last usable one */
    int64_t resume;   /* session to go on with; 0: the unfinished newest if there is one; -1: a new one */
    bool warm_start;  /* seed with the winners of earlier sessions of the same space */
    bool keep_builds; /* leave the private build folders */
    /* JSON points of the joined space, tried first, right after the baseline; NULL-terminated; may be NULL. */
    const char *const *seeds;
    const char *const *engine_options;
    const volatile int *stop; /* ends after the running trial */
    hone_progress progress;   /* is given a hone_tune_event */
} hone_tune_options;
static inline hone_tune_options hone_tune_defaults(void) {
    hone_tune_options o = HONE_ZERO;
    o.size = sizeof o;
    o.cpu = -1;
    return o;
}

typedef enum hone_tune_stage {
    HONE_TUNE_DISCOVER, /* targets: done of total controls probed */
    HONE_TUNE_BASELINE, /* building and measuring the baseline */
    HONE_TUNE_TRIAL,    /* a trial was finished and recorded */
    HONE_TUNE_RACE,     /* the final race of the best: done of total */
    HONE_TUNE_DONE,
    HONE_TUNE_WARNING, /* text says what (noise, governor, suspect result …) */
    HONE_TUNE_EFFECTS, /* the big choices were tried: text has what each brought, one a line */
    HONE_TUNE_HINT,    /* text says what the workload might allow and what that would bring */
    HONE_TUNE_UNREAD,  /* text says which controls are offered or not for what the program reads, one a line */
} hone_tune_stage;

typedef struct hone_tune_event {
    hone_event base; /* done, total: evaluations, or as the stage says */
    hone_tune_stage stage;
    double best_speedup; /* baseline / best of the first objective (or the inverse when maximised); NAN */
    double speedup;      /* TRIAL: that of this trial; NAN when it failed */
    size_t n_class[HONE_N_CLASSES];
    size_t n_reused;         /* trials whose object was known */
    const hone_trial *trial; /* TRIAL: the one finished */
    int64_t session;         /* its number in the record; 0: not begun yet */
} hone_tune_event;

typedef struct hone_tune_result {
    int64_t session;
    size_t n_trials, n_reused, n_class[HONE_N_CLASSES];
    double speedup; /* from the final race; 1 when nothing beat the baseline, < 1 when the baseline is beyond a limit
                     * and the best within is slower, NAN for values that can be 0 or less, which have no ratio */
    double speedup_lo, speedup_hi; /* its interval over the race's pairs (95 %, bootstrap); not yet a proof */
    char *best_point;              /* JSON; free with hone_tune_result_free */
    char *best_argv;               /* one line, shell-quoted */
    const char *reason;            /* why it ended (static) */
    double elapsed_s, own_s;       /* wall time; hone's own share of it, beyond compilers and programs */
    double hint_gain; /* of the baseline under fast floating point, which the workload does not allow; 0: no hint */
} hone_tune_result;

/* What a big choice brought, in words: "fast floating point: 1.92x (1.85 to 1.99)". As snprintf: returns the length
 * that it has in full. */
HONE_API size_t hone_tune_effect_text(const hone_effect *effect, char *buf, size_t n);

HONE_API hone_rc hone_tune_run(const hone_workload *workload, const hone_tune_options *options, hone_tune_result *out,
                               hone_err *err);
HONE_API void hone_tune_result_free(hone_tune_result *result);

/* The whole space of a workload: its parameters, `compiler`, `fp`, and each compiler's controls. Opens and probes the
 * targets. Free with hone_space_free. */
HONE_API hone_rc hone_workload_space(const hone_workload *workload, const hone_tune_options *options, hone_space **out,
                                     hone_err *err);
/* A point of that space as the full build command line (shell-quoted text); free with hone_free. */
HONE_API hone_rc hone_workload_command(const hone_workload *workload, const hone_space *space, const double *point,
                                       const hone_tune_options *options, char **text, hone_err *err);
/* The controls alone of a point of that space: flags, environment and defines as its target renders them, without the
 * workload's own build text. Free with hone_command_free; hone_command_rsp makes a response file of it. */
HONE_API hone_rc hone_workload_flags(const hone_workload *workload, const hone_space *space, const double *point,
                                     const hone_tune_options *options, hone_command *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
