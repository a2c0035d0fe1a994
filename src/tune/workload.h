/* tune/workload.h — a parsed workload file.
 *
 * Owns: everything in one arena.   Checker: hone_workload_parse refuses what breaks an invariant.
 * Invariants: 1 n_inputs >= 1, weights sum to 1;  2 n_objectives >= 1;  3 every metric named in an objective or
 * constraint can be produced (declared under metrics, or built in);  4 params is sealed.
 */
#ifndef HN_WORKLOAD_H
#define HN_WORKLOAD_H

#include "base/arena.h"

#include <hone/tune.h>

/* Where a metric's samples come from. */
typedef enum hn_source {
    HN_FROM_HARNESS,      /* JSON lines of hone/bench.h */
    HN_FROM_LINES,        /* "name: value" (or name=value, name value unit) lines on stdout */
    HN_FROM_WALL,         /* wall time of the process, seconds: "time" */
    HN_FROM_CPU,          /* user + system seconds: "cpu_time" */
    HN_FROM_RSS,          /* bytes: "memory" */
    HN_FROM_CODE_SIZE,    /* bytes of loaded code and constants in the built file: "code_size" */
    HN_FROM_FILE_SIZE,    /* bytes of the built file: "file_size" */
    HN_FROM_COMPILE_TIME, /* seconds: "compile_time" */
    HN_FROM_INSTRUCTIONS, /* count: "instructions" */
    HN_FROM_ENERGY,       /* joules: "energy" */
} hn_source;

typedef enum hn_aggregate { HN_AGG_MEDIAN, HN_AGG_MEAN, HN_AGG_MIN, HN_AGG_MAX, HN_AGG_PERCENTILE } hn_aggregate;

/* "p95(latency)", "code_size", "mean(throughput)": an aggregate of a metric over its samples. */
typedef struct hn_quantity {
    const char *text, *metric;
    hn_source source;
    hn_aggregate aggregate;
    double percentile; /* 0..100 for HN_AGG_PERCENTILE */
} hn_quantity;

typedef struct hn_objective {
    hn_quantity quantity;
    bool maximize;
} hn_objective;

/* quantity <= bound or >= bound, in the metric's unit (seconds, bytes, …). `max_rel_error <= x` is parity's. */
typedef struct hn_limit_rule {
    hn_quantity quantity;
    bool at_least; /* >=, else <= */
    double bound;
    const char *text;
} hn_limit_rule;

typedef struct hn_input {
    const char *name, *args; /* args replaces {input} in the run command */
    double weight;
    bool held_out; /* used by validation only */
    unsigned line;
} hn_input;

typedef enum hn_parity {
    HN_PARITY_NONE,
    HN_PARITY_EXACT,
    HN_PARITY_ABS,
    HN_PARITY_REL,
    HN_PARITY_ULP,
    HN_PARITY_COMMAND
} hn_parity;

typedef struct hn_limits {
    double build_s, run_s, cpu_s;
    uint64_t memory_b, output_b, file_b;
    unsigned n_procs;
} hn_limits;

typedef struct hn_budget {
    size_t evaluations, plateau; /* 0: none */
    double seconds, target;      /* 0: none; target: speed-up at which to stop */
} hn_budget;

struct hone_workload {
    hn_arena arena;
    const char *path, *dir, *name, *doc;
    const char **source; /* files the build reads; relative to dir */
    size_t n_sources;
    const char *build;     /* shell text with placeholders, see docs/workload.md; "" = nothing to build */
    const char *train;     /* run between the two builds of PGO: shell text; NULL: the run command on each input */
    const char *run;       /* shell text with {out} {input} {output} */
    const char **compiler; /* commands offered, the baseline's first */
    size_t n_compilers;
    const char *baseline;        /* baseline flags, e.g. "-O3 -march=native" */
    hone_fp fp_baseline, fp_max; /* the contract of the baseline, the loosest offered */
    bool controls;               /* tune compiler controls at all */
    bool numeric;                /* controls tagged numeric admitted (follows fp_max == fast unless set) */
    bool all_controls, lto, pgo;
    hone_space *params; /* the workload's own parameters, sealed; rendered as -DNAME=value unless named in
                           a placeholder {NAME} of build or run */
    hn_input *input;
    size_t n_inputs;
    hn_source time_source; /* where undeclared metrics come from: HARNESS or LINES */
    const char **metric;   /* declared metric names of harness or lines */
    size_t n_metrics;
    hn_objective *objective;
    size_t n_objectives;
    hn_limit_rule *limit_rule;
    size_t n_limit_rules;
    hn_parity parity;
    double parity_tol;
    const char *parity_command; /* shell text with {expected} {actual}; exit 0 = equal */
    const char *parity_output;  /* file the run writes, relative to its folder; NULL: harness outputs, else stdout */
    hn_limits limits;
    hn_budget budget;
    double floor;       /* results below floor * baseline are suspect; default 0.15 */
    size_t repeats;     /* runs of the process per sample set; default 1 */
    double min_run_s;   /* handed to the harness */
    bool cold;          /* harness cold-cache mode */
    const char *engine; /* NULL: auto */
    char hash[33];
};

#endif
