/* prove/verdict.h — from paired samples to a verdict: arithmetic only, no processes, no clock, so that it can be tested
 * and simulated. The rules and their reasons: docs/proof.md.
 *
 * Owns: series own their rows (hn_series_free); everything in a proof lies in the caller's arena.
 * Errors: E_NOMEM only.   Threads: re-entrant, pure for a seed.
 * Invariants: 1 rows of a series of pairs come in the order they were measured;  2 the weights of inputs tuned on sum
 * to 1, as do those of the held-out ones.
 */
#ifndef HN_VERDICT_H
#define HN_VERDICT_H

#include "base/arena.h"
#include "tune/workload.h"

#include <hone/prove.h>

/* Values of one quantity: row r of baseline and tuned holds n_inputs values, measured close together. */
typedef struct hn_series {
    size_t n, room, n_inputs;
    unsigned *variant; /* per row */
    double *baseline, *tuned;
} hn_series;
hone_rc hn_series_add(hn_series *s, size_t n_inputs, unsigned variant, const double *baseline, const double *tuned,
                      hone_err *err);
void hn_series_free(hn_series *s);

typedef struct hn_goal {
    const char *quantity, *tail_quantity;
    bool maximize;
    bool plain; /* can be 0 or less: differences instead of ratios */
    bool noisy; /* measured in pairs; else once per variant or build */
    hn_series value;
    hn_series tail; /* the 95th (maximised: 5th) percentile within each run; without rows: taken over the runs */
} hn_goal;

typedef struct hn_evidence {
    size_t n_objectives, n_limits, n_inputs, n_pairs, n_variants;
    hn_goal goal[HONE_MAX_OBJECTIVES];
    const hn_limit_rule *limit;
    hn_series bound[HONE_MAX_CONSTRAINTS];
    const hn_input *input;
    double noise; /* standard deviation of the baseline's log-ratio to itself, one pair; NAN: not known */
} hn_evidence;
void hn_evidence_free(hn_evidence *e);

typedef struct hn_rules {
    double min_gain; /* 0.01: 1 % */
    size_t pairs_least, pairs_most;
    uint64_t seed;
} hn_rules;

/* No gain is kept on fewer pairs than this, nor on fewer than two of each variant; where `pairs_least` is more, on
 * fewer than that only if it is large or nothing could still speak against it. */
enum { HN_PAIRS_FEWEST = 20 };

/* Sequential looks: the numbers of pairs at which to ask hn_decided, rising; 0 after the last. */
size_t hn_next_look(const hn_rules *rules, size_t n_pairs);
/* Is the answer clear enough to stop? *gain: the first objective's interval so far. */
bool hn_decided(const hn_evidence *e, const hn_rules *rules, hone_interval *gain);

/* Fills *p from the evidence: comparisons, spread, samples, kept, why; carries[k]: objective k alone would have it
 * kept. A broken limit gets its sentence here, all else from hn_conclude. */
hone_rc hn_judge_evidence(const hn_evidence *e, const hn_rules *rules, hn_arena *a, hone_proof *p,
                          bool carries[HONE_MAX_OBJECTIVES], hone_err *err);
/* Over all candidates: Holm's adjustment (what does not survive it is no longer kept), then the sentences of those that
 * have none. carries: n rows as above. */
hone_rc hn_conclude(hone_proof *proof, bool (*carries)[HONE_MAX_OBJECTIVES], size_t n, const hn_rules *rules,
                    hn_arena *a, hone_err *err);
/* The sentence alone. NULL: out of memory (sticky in the arena). */
const char *hn_sentence(const hone_proof *p, const hn_rules *rules, hn_arena *a);

/* Robust standard deviation of one row of objective k: of a baseline against itself. */
double hn_noise_of(const hn_evidence *e, size_t k);
/* How far an interval's ends may be from its middle after `pairs_most` pairs, from the noise of one pair alone. */
double hn_reach(double noise, const hn_rules *rules, size_t n_objectives, size_t n_variants);

#endif
