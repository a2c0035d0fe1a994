/* hone/prove.h — from a claimed gain to a proven one: validation, reduction, explanation, canary, checks.
 *
 * A search's best score is the most favourable of many. Nothing here uses a sample of the search: everything is
 * built afresh and measured again, against the baseline, in interleaved pairs.
 * Owns: results own what they point to, until their free function.   Units: seconds, bytes, ratios.
 * Errors: E_INPUT, E_BASELINE (fails, disagrees with itself), E_TOOL, E_IO, E_STORE, E_MISMATCH, E_INTERRUPTED,
 * E_NOMEM. Verdicts are results, never errors.
 */
#ifndef HONE_PROVE_H
#define HONE_PROVE_H

#include <hone/controls.h>
#include <hone/tune.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_prove_stage {
    HONE_PROVE_BUILD,   /* variants built: done of total */
    HONE_PROVE_MEASURE, /* pairs measured: done of total; gain is the interval so far */
    HONE_PROVE_REDUCE,  /* measurements of subsets: done of the most that may be needed */
    HONE_PROVE_WARNING, /* text says what */
} hone_prove_stage;
typedef struct hone_prove_event {
    hone_event base;
    hone_prove_stage stage;
    size_t candidate, n_candidates; /* validate: which one, from 0 */
    hone_interval gain;             /* NANs while unknown */
} hone_prove_event;

typedef struct hone_prove_options {
    size_t size;           /* hone_prove_defaults() sets it */
    const char *store_dir; /* NULL: DIR/.hone beside the workload */
    const char *cache_dir; /* of targets; NULL: default */
    uint64_t seed;
    uint32_t n_jobs;                /* builds at once; 0: cores */
    int cpu;                        /* core to measure on; -1, the default: the last usable one */
    size_t pairs_least, pairs_most; /* 0: the workload's `proof` section (100, 400) */
    size_t variants;                /* builds of each side; 0: the workload's (10) */
    double min_gain;                /* 0.01 = 1 %; negative: the workload's (0.01) */
    double budget_s;                /* 0: no limit */
    const volatile int *stop;
    hone_progress progress; /* is given a hone_prove_event */
    const char *objective;  /* minimize: the one whose gain is to be kept ("p50(latency)"); NULL: the first */
    double keep_gain; /* minimize: share of the gain's logarithm that must stay, to 1; 0: what its interval says */
} hone_prove_options;
static inline hone_prove_options hone_prove_defaults(void) {
    hone_prove_options o = HONE_ZERO;
    o.size = sizeof o;
    o.cpu = -1, o.min_gain = -1;
    return o;
}

/* --- validate ------------------------------------------------------------------------------------------------------
 */

typedef enum hone_proof_finding { HONE_EVEN, HONE_GAINS, HONE_LOSES } hone_proof_finding;

/* The candidate against the baseline in one quantity on one input, or over all of them by weight. */
typedef struct hone_comparison {
    const char *quantity; /* "p50(latency)" */
    const char *input;    /* "": the inputs tuned on, by weight; "held out": those, by weight */
    bool held_out;
    hone_interval gain; /* > 1 is better, whatever the direction; clustered bootstrap of the paired log-ratio */
    hone_distribution baseline, tuned; /* per-run values; for "" and "held out": weighted geometric means over inputs */
    double p_wilcoxon, p_mann_whitney, p_welch; /* two-sided; NAN where a test does not apply */
    double p_adjusted;                          /* p_wilcoxon by Holm over the candidates */
    double effect;                              /* Cliff's delta, -1 … 1, positive is better */
    hone_proof_finding finding;
} hone_comparison;

/* One pair's runs on one input. */
typedef struct hone_proof_sample {
    unsigned variant, pair, input, objective;
    double baseline, tuned;
} hone_proof_sample;

typedef enum hone_proof_reject {
    HONE_NOT_REJECTED,
    HONE_REJECT_FAILS,     /* does not build, crashes, no metric … */
    HONE_REJECT_PARITY,    /* wrong result on some input */
    HONE_REJECT_GAIN,      /* the interval's lower end is not above the minimum gain */
    HONE_REJECT_UNDECIDED, /* as GAIN, but more pairs could have decided it */
    HONE_REJECT_TAIL,      /* p95 is worse */
    HONE_REJECT_SPREAD,    /* grows by more than a quarter */
    HONE_REJECT_HELD_OUT,  /* loses on held-out inputs */
    HONE_REJECT_LIMIT,     /* breaks a limit of the workload */
    HONE_REJECT_SAME,      /* the same object as the baseline's: nothing to prove */
    HONE_N_REJECT
} hone_proof_reject;
HONE_API const char *
hone_proof_reject_name(hone_proof_reject why); /* "gain", "tail" …; "" for NOT_REJECTED: stored, never renamed */

typedef struct hone_proof {
    const char *point, *argv; /* JSON of the joined space; shell-quoted flags with the compiler first */
    bool kept;
    hone_proof_reject why;
    const char *verdict; /* one sentence for people, with numbers, and the inputs that lose */
    size_t n_objectives, n_inputs;
    hone_comparison *overall; /* n_objectives */
    hone_comparison *tail; /* n_objectives: the 95th percentile; quantity NULL where a metric has no samples per run */
    hone_comparison *held_out; /* n_objectives, or NULL when no input is held out */
    hone_comparison *by_input; /* n_objectives * n_inputs, inputs inside */
    double spread;             /* tuned / baseline spread from run to run, relative, of the first objective */
    size_t n_pairs, n_variants;
    double noise;       /* standard deviation of the baseline's log ratio to itself, one pair */
    const char *layout; /* how variants of one side differ: "function order, padding" */
    double seconds;
    hone_proof_sample *sample;
    size_t n_samples;
} hone_proof;
typedef struct hone_proofs {
    hone_proof *proof; /* in the order of the candidates */
    size_t n;
    void *block;
} hone_proofs;

/* Judges candidates (JSON points of the workload's joined space) against the baseline, by the rules of
 * docs/proof.md. Every verdict is recorded in the store under `session` (0: of no session). */
HONE_API hone_rc hone_prove_validate(const hone_workload *workload, const char *const *point, size_t n_points,
                                     int64_t session, const hone_prove_options *options, hone_proofs *out,
                                     hone_err *err);
HONE_API void hone_proofs_free(hone_proofs *proofs);
/* The kept one with the highest lower end of an interval, over all its objectives; NULL: none was kept. */
HONE_API const hone_proof *hone_proofs_best(const hone_proofs *proofs);
/* A proof as JSON (with_samples: raw pairs too) and back; free with hone_free, hone_proofs_free. */
HONE_API hone_rc hone_proof_to_json(const hone_proof *proof, bool with_samples, char **text, hone_err *err);
HONE_API hone_rc hone_proofs_from_json(const char *const *text, size_t n, hone_proofs *out, hone_err *err);
/* Recorded proofs of a session, the newest first. */
HONE_API hone_rc hone_proofs_load(hone_store *store, int64_t session, hone_proofs *out, hone_err *err);

/* --- minimise, explain ---------------------------------------------------------------------------------------------
 */

typedef struct hone_reduction {
    const char *point; /* JSON: the reduced one */
    const char *argv;
    size_t n_before, n_after; /* controls and parameters that differ from the baseline */
    size_t n_measurements;
    hone_interval gain_before, gain_after; /* of the objective whose gain is kept */
    hone_share *share; /* n_after, the largest first; controls without the prefix of their compiler */
    bool complete; /* false: time, measurements or `stop` ended it early; a smaller set may exist, or shares are missing
                    */
    void *block;
} hone_reduction;
/* The fewest parts of a point that keep its gain, within the gain's interval, and do not worsen the other objectives;
 * docs/minimize.md. A point without a gain is reduced to the baseline. It is a measurement, not a proof: the reduced
 * point is for hone_prove_validate to judge. variants: layouts of each program (0: 4). Stopped once the point itself is
 * measured, it gives the smallest set known by then to keep the gain; before, E_INTERRUPTED. */
HONE_API hone_rc hone_prove_minimize(const hone_workload *workload, const char *point,
                                     const hone_prove_options *options, hone_reduction *out, hone_err *err);
HONE_API void hone_reduction_free(hone_reduction *reduction);

/* What changed in the machine code: size, vector width, spills, inlining, calls …, as objdump (binutils) shows it.
 * Functions of the program alone; clones (".constprop.0") count with the function of the source. docs/explain.md. */
typedef struct hone_code_fact {
    const char *function;   /* "": the whole program */
    const char *what;       /* "bytes", "vector instructions, 512 bit", "stack accesses in loops" … */
    double baseline, tuned; /* NAN: there is no such function on that side */
} hone_code_fact;
typedef struct hone_explanation {
    const char **sentence; /* for people, the most important first; the last is about the whole program */
    size_t n_sentences;
    hone_code_fact *fact; /* of the program; then of each function that differs what differs */
    size_t n_facts;
    const char *function;   /* the differing function with most instructions in loops; NULL: none on both sides */
    const char *listing[2]; /* its instructions, baseline and tuned, one a line without addresses */
    void *block;
} hone_explanation;
HONE_API hone_rc hone_prove_explain(const hone_workload *workload, const char *point, const hone_prove_options *options,
                                    hone_explanation *out, hone_err *err);
HONE_API void hone_explanation_free(hone_explanation *explanation);

/* --- canary --------------------------------------------------------------------------------------------------------
 */

typedef struct hone_canary_result {
    bool passed;
    bool applies;          /* false: nothing is built or no controls are tuned; passed is true then */
    bool default_same;     /* the baseline's flags, as a point, give the baseline's object */
    bool o0_differs;       /* -O0 changes the object */
    hone_interval o0_gain; /* of -O0 over the baseline in the first timed objective: below 1 as it should be */
    const char *text;      /* what is wrong and what to look at; "" when passed */
    void *block;
} hone_canary_result;
HONE_API hone_rc hone_canary_run(const hone_workload *workload, const hone_prove_options *options,
                                 hone_canary_result *out, hone_err *err);
HONE_API void hone_canary_free(hone_canary_result *result);

/* --- controls files: made, checked ----------------------------------------------------------------------------------
 */

/* The controls file of a kept proof (reduction: may be NULL), ready for hone_controls_write. dir: folder it will be
 * written to, for relative paths. The proof must be of the point that is written: with a reduction, of the reduced one
 * (E_MISMATCH). What the search claimed is looked up in the store. Free with hone_controls_free. */
HONE_API hone_rc hone_controls_make(const hone_workload *workload, const hone_proof *proof,
                                    const hone_reduction *reduction, int64_t session, const char *dir,
                                    const hone_prove_options *options, hone_controls **out, hone_err *err);
/* The point of a controls file in the workload's present space; E_MISMATCH names each control that it no longer has. */
HONE_API hone_rc hone_controls_point(const hone_controls *c, const hone_workload *workload,
                                     const hone_prove_options *options, char **point, hone_err *err);
/* As above, but controls that no longer exist are left out: *dropped lists them, one per line ("": none). Both:
 * hone_free. The point may break a constraint; the search repairs it. */
HONE_API hone_rc hone_controls_nearest(const hone_controls *c, const hone_workload *workload,
                                       const hone_prove_options *options, char **point, char **dropped, hone_err *err);

typedef enum hone_check_status {
    HONE_CHECK_VALID,
    HONE_CHECK_STALE,
    HONE_CHECK_REGRESSED,
    HONE_CHECK_TAMPERED,
    HONE_CHECK_BROKEN, /* cannot be read */
    HONE_N_CHECK
} hone_check_status;
HONE_API const char *hone_check_name(hone_check_status status);
/* One part of the key that differs. */
typedef struct hone_difference {
    const char
        *part; /* "source", "workload", "input", "compiler", "baseline", "cpu", "driver", "format", "response file" … */
    const char *what; /* which: "softmax.c", "classifier" */
    const char *then, *now;
} hone_difference;
typedef struct hone_check_options {
    size_t size;            /* hone_check_defaults() sets it */
    const char *workload;   /* path; NULL: the one the file names */
    const char *public_key; /* NULL: a signature is checked against the key it names; given: required */
    const char *ignore;     /* parts of the key that do not count, "cpu,compiler"; NULL: none. E_INPUT: no such part */
    bool measure;           /* measure again: HONE_CHECK_REGRESSED when the gain is gone */
    const hone_prove_options *prove; /* how to measure; NULL: the defaults */
} hone_check_options;
static inline hone_check_options hone_check_defaults(void) {
    hone_check_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}
typedef struct hone_check_result {
    hone_check_status status;
    hone_difference *difference;
    size_t n_differences;
    hone_interval gain; /* measured now; NANs without `measure` */
    const char *text;   /* one sentence */
    void *block;
} hone_check_result;
/* Judges one controls file; only failures of hone itself are errors. */
HONE_API hone_rc hone_check_controls(const char *path, const hone_check_options *options, hone_check_result *out,
                                     hone_err *err);
HONE_API void hone_check_free(hone_check_result *result);

#ifdef __cplusplus
}
#endif
#endif
