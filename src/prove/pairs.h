/* prove/pairs.h — measuring in pairs: one pair runs a variant of each side on every input, close in time.
 *
 * Pairs come in ABBA order and go through the variants in random order; every process has a stack of its own random
 * depth. What fails on the tuned side is the candidate's failure (hn_failure), on the baseline's side E_BASELINE.
 */
#ifndef HN_PAIRS_H
#define HN_PAIRS_H

#include "prove/variant.h"
#include "prove/verdict.h"
#include "tune/trial.h"

typedef struct hn_failure {
    hone_outcome_class cls; /* HONE_RUN_OK: none */
    char detail[4200];
} hn_failure;

typedef struct hn_pairing {
    hn_bench_ctx *bench;
    const hn_side *baseline, *tuned;
    uint64_t seed;
    hn_evidence *evidence;
    hn_failure failure;
    size_t *order; /* of variants in this round, n_variants */
    bool *checked; /* per variant: parity was looked at on every input */
    hn_samples samples;
    bool no_tail[HONE_MAX_OBJECTIVES]; /* too few samples in a run */
} hn_pairing;

hone_rc hn_pairing_open(hn_pairing *p, hn_bench_ctx *bench, const hn_side *baseline, const hn_side *tuned,
                        uint64_t seed, hn_evidence *evidence, hone_err *err);
void hn_pairing_close(hn_pairing *p);
/* One more pair of the timed quantities, of the evidence's first n_variants of both sides. Stops early when the
 * candidate fails. */
hone_rc hn_pair(hn_pairing *p, hone_err *err);
/* What needs no pairs: sizes of variant 0, compile times of all, instructions once per variant. */
hone_rc hn_pair_fixed(hn_pairing *p, hone_err *err);
/* Does any quantity vary from run to run? */
bool hn_needs_pairs(const hone_workload *w);

#endif
