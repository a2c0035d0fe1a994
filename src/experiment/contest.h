/* experiment/contest.h — candidates held against a baseline, round after round, until it is known which is better.
 *
 * In a round the experiment builds what it needs and measures each candidate that is still in beside the baseline; then
 * losers are eliminated, and it is decided whether another round is needed. What a candidate is, where it runs and how
 * it is timed is decided by the experiment: programs, kernels and synthetic numbers (tests) use the same contest.
 *
 * Scale: z, the logarithm of the gain; above 0 is better.   Owns: readings, until hn_contest_close.
 * Threads: one at a time.   Errors: those of the experiment's functions; E_NOMEM.
 * Invariants: 1 no two contenders have one key, and none has the baseline's;  2 who has failed or is out stays so.
 */
#ifndef HN_CONTEST_H
#define HN_CONTEST_H

#include "base/rng.h"
#include "experiment/gain.h"
#include "experiment/race.h"

enum { HN_CONTENDERS = 16 };

typedef struct hn_contender {
    size_t candidate; /* the experiment's number */
    uint64_t key;
    double *z;
    unsigned *round; /* that a reading was taken in */
    size_t n, room;
    hone_interval gain; /* of the middle of z, once judged */
    hn_finding finding; /* gain against the least that counts */
    bool failed, out;   /* out: eliminated or decided, not measured any more */
} hn_contender;

typedef struct hn_contest hn_contest;
typedef struct hn_experiment {
    /* Of the program that a candidate is, HN_BASELINE among them; 0: like no other. NULL: all differ. */
    uint64_t (*key)(void *ctx, size_t candidate);
    /* Builds all contenders that are in, at the beginning of a round; marks those that fail. NULL: all are built. */
    hone_rc (*build)(void *ctx, hn_contest *c, hone_err *err);
    /* Measures one beside the baseline; readings come by hn_contest_add. A candidate that fails is marked. */
    hone_rc (*pair)(void *ctx, hn_contest *c, hn_contender *x, hone_err *err);
    /* After every round; true: the contest is decided. NULL: all rounds are run. */
    bool (*judge)(void *ctx, hn_contest *c);
} hn_experiment;
#define HN_BASELINE SIZE_MAX

typedef struct hn_contest_rules {
    unsigned least, most; /* fewest and most rounds */
    double until_s;       /* monotonic: no round begins after it, once there were the least; INFINITY: any */
    double last_s;        /* the contest ends early when `least` rounds cannot be finished by then at the pace so far;
                             INFINITY: any */
    double margin, alpha; /* of hn_judge_gains: the least z that counts; of all intervals together */
    unsigned early;       /* rounds after which losers are eliminated */
    uint64_t seed;        /* of the intervals, and of the order of turns */
} hn_contest_rules;

struct hn_contest {
    const hn_experiment *of;
    void *ctx;
    hn_contest_rules rules;
    hn_contender x[HN_CONTENDERS];
    size_t n;
    unsigned n_rounds; /* finished */
};

/* Takes a candidate in. False: its program is the baseline's or a contender's, or there is no room. */
bool hn_contest_enter(hn_contest *c, size_t candidate);
hone_rc hn_contest_run(hn_contest *c, hone_err *err);
hone_rc hn_contest_add(hn_contest *c, hn_contender *x, double z, hone_err *err);
bool hn_contest_is_in(const hn_contender *x);
void hn_contest_close(hn_contest *c);

/* Gains against the margin, in intervals that hold together (Bonferroni). Out: what loses, or is behind the least of
 * another's gain. True when all are decided. */
bool hn_judge_gains(hn_contest *c);
/* Who has the greatest median, NULL where none has a reading. */
hn_contender *hn_contest_leader(hn_contest *c);
/* From `least` readings on, those clearly behind the leader are out. */
void hn_judge_race(hn_contest *c, size_t least, const hn_race_config *config);

/* Does the baseline run first in pair i? AB BA BA AB: what drifts steadily cancels within four pairs. */
static inline bool hn_base_first(size_t i) { return i % 4 == 0 || i % 4 == 3; }
/* 0 … n - 1 in random order. */
void hn_shuffled(hn_rng *rng, size_t *order, size_t n);

#endif
