/* tune/trial.h — a candidate measured beside the baseline, pass by pass, into an outcome.
 *
 * One pass runs the candidate and the baseline on every input, close in time and in random order, and gives one ratio
 * per quantity: the geometric mean over inputs, weighted, of candidate / baseline. Drift of the machine cancels in it.
 * An objective's value is the median ratio times the baseline's reference value, so it stays in its own unit.
 * Quantities that can be zero or negative (the baseline's is) are compared as they are, without ratios.
 */
#ifndef HN_TRIAL_H
#define HN_TRIAL_H

#include "experiment/race.h"
#include "tune/run.h"

enum { HN_MAX_PASSES = 64 };

typedef struct hn_baseline {
    hn_recipe recipe;
    hn_build build;
    bool plain[HN_MAX_QUANTITIES];  /* compare without ratios */
    bool steady[HN_MAX_QUANTITIES]; /* values repeat to the last bit, so it is not a timing */
    double ref[HN_MAX_QUANTITIES];  /* reference value, aggregated over inputs */
    double *recent;                 /* n_inputs * n_quantities: the last run's values */
    bool infeasible;                /* breaks a limit itself */
    double noise;                   /* standard deviation of one pass's log-ratio, baseline against itself */
} hn_baseline;

typedef struct hn_bench_ctx {
    hn_run_config run;
    hn_baseline base;
    uint64_t seed;
    uint64_t n_runs; /* counter behind the random order and stack padding */
    bool any_noisy;  /* some quantity needs the baseline beside it */
    bool all_inputs; /* references of held-out inputs too */
} hn_bench_ctx;

typedef struct hn_measured {
    hone_outcome_class cls;
    char detail[4200];
    size_t n_pass;
    double ratio[HN_MAX_QUANTITIES][HN_MAX_PASSES]; /* or plain values, see base.plain */
    double worst[HN_MAX_QUANTITIES][HN_MAX_PASSES]; /* the worst input's own value: what limit rules look at */
    double run_s;
    bool suspect;
    hn_samples samples;
} hn_measured;

/* Builds nothing: base.build must be built. Writes reference outputs, checks that the baseline agrees with itself,
 * measures reference values and noise. E_BASELINE says what is wrong. samples may be NULL. */
hone_rc hn_bench_open(hn_bench_ctx *ctx, hn_samples *samples, hone_err *err);
void hn_bench_close(hn_bench_ctx *ctx);

/* One more pass. check: compare outputs. give_up > 0: skip the baseline's run on an input where the candidate is
 * already that many times worse than the baseline's last run (the ratio then stands on that run). A candidate that
 * fails ends up in m->cls; the return code is for hone's own troubles and for a baseline that fails (E_BASELINE). */
hone_rc hn_measure_pass(hn_bench_ctx *ctx, const hn_recipe *r, const hn_build *b, bool check, double give_up,
                        hn_measured *m, hone_err *err);
/* Objective k's ratio of the given pass as log, lower = better. */
double hn_log_ratio(const hn_bench_ctx *ctx, const hn_measured *m, size_t k, size_t pass);
/* The first objective's ratios of all passes, lower = better; gives their number. */
size_t hn_ratios(const hn_bench_ctx *ctx, const hn_measured *m, double ratio[HN_MAX_PASSES]);
/* How candidates are raced on this machine: with the baseline's own noise. */
hn_race_config hn_race_rules(const hn_bench_ctx *ctx, size_t most);
/* The median log-ratio over passes. */
double hn_median_log_ratio(const hn_bench_ctx *ctx, const hn_measured *m, size_t k);

/* A timing below the workload's physical floor is measured again by the CPU time of whole processes; one that is not
 * confirmed becomes HONE_NO_METRIC with the reason. Steady quantities are no timings and stay as they are. */
hone_rc hn_confirm(hn_bench_ctx *ctx, const hn_recipe *r, const hn_build *b, hn_measured *m, hone_err *err);

/* How far the value is beyond the limit, relative to it; <= 0 within it. base: the baseline's value, for limits that
 * are relative to it. */
double hn_violation(const hn_limit_rule *rule, double value, double base);
/* The outcome of what was measured. */
void hn_outcome_of(const hn_bench_ctx *ctx, const hn_build *b, const hn_measured *m, hone_outcome *out);
/* Quantities of the build itself (its time, the sizes) are stored directly, not as ratios, also where all others are
 * copied from an equal object. */
void hn_outcome_of_build(const hn_bench_ctx *ctx, const hn_build *b, hone_outcome *out);
void hn_measured_free(hn_measured *m);

#endif
