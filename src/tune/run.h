/* tune/run.h — one run of a built program on one input: under limits, pinned, checked, its quantities read.
 *
 * A run that fails is a result, never an error. Quantities are the workload's objectives, then its limit rules.
 */
#ifndef HN_RUN_H
#define HN_RUN_H

#include "tune/build.h"

/* Counting may need a slow run of its own (callgrind), so a measurement in pairs asks for one kind at a time.
 * Quantities of the other kind stay NAN. */
typedef enum hn_run_kind { HN_RUN_BOTH, HN_RUN_TIMED, HN_RUN_COUNTED } hn_run_kind;

typedef struct hn_run_config {
    const hone_workload *w;
    const hone_tune_options *options;
    const char *ref_dir; /* holds the baseline's outputs, one file per input */
    int cpu;
    double *waited_s;
    hn_run_kind kind;
} hn_run_config;

/* The core to measure on: the one asked for, or for -1 the last this process may use, which is the least likely to
 * serve interrupts and the shell. */
int hn_measuring_cpu(int asked);

/* What a run is for. */
typedef enum hn_purpose {
    HN_RUN_MEASURE, /* time it, and check parity when `check` is set */
    HN_RUN_REFER,   /* write the baseline's output as the reference */
} hn_purpose;

typedef struct hn_run {
    hone_outcome_class cls;
    double quantity[HN_MAX_QUANTITIES]; /* NAN: not measured by a run (code size, compile time) */
    double wall_s, cpu_s;
    char detail[4200];
} hn_run;

/* Samples gathered over runs, for the record; grows, free with hn_samples_free. Names are borrowed. */
typedef struct hn_samples {
    hone_sample *sample;
    size_t n, room;
    bool failed;
} hn_samples;
void hn_samples_add(hn_samples *s, const char *metric, const char *input, int side, double value);
void hn_samples_free(hn_samples *s);

size_t hn_n_quantities(const hone_workload *w);
const hn_quantity *hn_quantity_at(const hone_workload *w, size_t i);
/* Does the quantity vary from run to run (so that only ratios to a baseline beside it count)? */
bool hn_quantity_is_noisy(const hn_quantity *q);
/* Does this machine have what the workload's energy and instructions are measured with? E_UNSUPPORTED names what is
 * missing. */
hone_rc hn_counters_present(const hone_workload *w, hone_err *err);
/* Can its value be 0 (spills), so that there are differences but no ratios? */
bool hn_quantity_can_be_zero(const hn_quantity *q);
/* May it differ from build to build of one program, as the time of compiling does? */
bool hn_quantity_differs_by_build(const hn_quantity *q);
/* Is it known from the build alone? Then *value. */
bool hn_quantity_of_build(const hn_quantity *q, const hn_build *b, double *value);

/* Runs the program of `b` on input i. side: 0 candidate, 1 baseline. noise moves the stack. E_INTERRUPTED, E_IO. */
hone_rc hn_run_once(const hn_run_config *cfg, const hn_recipe *r, const hn_build *b, size_t input, int side,
                    hn_purpose purpose, bool check, uint64_t noise, hn_samples *samples, hn_run *out, hone_err *err);

/* What the supervisor saw of a run; NAN when it failed. */
typedef struct hn_run_cost {
    double cpu_s, wall_s;
} hn_run_cost;
/* An independent check of an implausibly good result: the program with a fixed number of calls (harness), or as it is.
 */
hone_rc hn_run_fixed(const hn_run_config *cfg, const hn_recipe *r, const hn_build *b, size_t input, uint64_t n_calls,
                     hn_run_cost *out, hone_err *err);

#endif
