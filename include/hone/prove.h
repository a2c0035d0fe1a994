/* hone/prove.h — from a claimed gain to a proven one: validation, and the canary that shows a workload fit to be tuned.
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
    HONE_REJECT_UNREACHED, /* no verdict: the time was over before anything could be decided; not recorded */
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

#ifdef __cplusplus
}
#endif
#endif
