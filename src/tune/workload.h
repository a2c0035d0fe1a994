/* tune/workload.h — a parsed workload file.
 *
 * Owns: everything in one arena.   Checker: hone_workload_parse refuses what breaks an invariant.
 * Invariants: 1 n_inputs >= 1, one of them is not held out; the weights of those tuned on sum to 1, as do those of the
 * held-out ones;  2 n_objectives >= 1;  3 every metric named in an objective or limit is built in or in `metric`;
 * 4 params is sealed;  5 every placeholder in a command is known there, and every parameter reaches a command;
 * 6 fp_min <= fp_baseline <= fp_max.
 */
#ifndef HN_WORKLOAD_H
#define HN_WORKLOAD_H

#include "base/arena.h"
#include "base/str.h"

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
    HN_FROM_CODE,         /* device code in the built file: "sass.registers", docs/gpu-metrics.md */
} hn_source;

enum { HN_MAX_QUANTITIES = HONE_MAX_OBJECTIVES + HONE_MAX_CONSTRAINTS };

/* Over samples; of device code over kernels. */
typedef enum hn_aggregate {
    HN_AGG_MEDIAN,
    HN_AGG_MEAN,
    HN_AGG_MIN,
    HN_AGG_MAX,
    HN_AGG_PERCENTILE,
    HN_AGG_SUM, /* of device code alone */
} hn_aggregate;

enum { HN_N_BESIDE = 2 }; /* METRIC_clock, METRIC_throttle of the GPU harness */

/* "p95(latency)", "code_size", "mean(throughput)": an aggregate of a metric over its samples. */
typedef struct hn_quantity {
    const char *text, *metric;
    hn_source source;
    hn_aggregate aggregate;
    double percentile;         /* 0..100 for HN_AGG_PERCENTILE */
    unsigned code;             /* hn_code_metric for HN_FROM_CODE */
    size_t slot;               /* where hn_build keeps its value */
    const char *const *beside; /* HN_N_BESIDE metrics that are recorded with it; NULL: none */
} hn_quantity;

typedef struct hn_objective {
    hn_quantity quantity;
    bool maximize;
} hn_objective;

/* quantity <= bound, >= or ==, in the metric's unit (seconds, bytes, …). `max_rel_error <= x` is parity's. */
typedef struct hn_limit_rule {
    hn_quantity quantity;
    bool at_least;    /* >=, else <= */
    bool equal;       /* == */
    bool of_baseline; /* the bound is what the baseline has */
    double bound;
    const char *text; /* as canonical text: "p99(latency) <= 0.0012" */
} hn_limit_rule;

typedef struct hn_input {
    const char *name, *args; /* args replaces {input} in the run command */
    double weight;
    bool held_out; /* used by validation only */
    unsigned line;
} hn_input;

typedef enum hn_parity_check {
    HN_PARITY_NONE,
    HN_PARITY_EXACT,
    HN_PARITY_ABS,
    HN_PARITY_REL,
    HN_PARITY_ULP,
    HN_PARITY_COMMAND
} hn_parity_check;

typedef struct hn_limits {
    double build_s, run_s, cpu_s;
    uint64_t memory_b, output_b, file_b;
    unsigned n_procs;
} hn_limits;

typedef struct hn_budget {
    size_t evaluations, plateau; /* 0: none */
    double seconds, target;      /* 0: none; target: speed-up at which to stop */
} hn_budget;

/* What hone validate asks for. */
typedef struct hn_proof_needs {
    double min_gain; /* 0.01: 1 % */
    size_t pairs, pairs_most, variants;
} hn_proof_needs;

/* Which device code is looked at, and how. */
typedef struct hn_code_choice {
    const char **kernel; /* names or patterns; none: all */
    double *weight;
    size_t n;
    const char *file; /* where the code is, in the private folder; NULL: {out} */
    uint64_t shared_b;
    unsigned sm, threads;
    bool plain_names; /* source: sass */
    bool prior;       /* its figures rank and prune what is timed */
    size_t n_slots;   /* quantities of device code */
} hn_code_choice;

enum { HN_PER_FILE_MOST = 16 };
struct hone_workload {
    hn_arena arena;
    const char *path, *dir, *name, *doc; /* dir: absolute */
    const char **source;                 /* files the build reads; relative to dir */
    size_t n_sources;
    const char *control_files; /* a file, folder or pattern: files of compiler controls, opaque; NULL: none */
    const char **control_file; /* those found, sources too */
    size_t n_control_files;
    const char *build; /* shell text with placeholders, see docs/workload.md; "" = nothing to build */
    const char *train; /* run between the two builds of PGO: shell text; NULL: the run command on each input */
    const char *run;   /* shell text with {out} {input} {output}; "": nothing runs, all quantities are of the build */
    const char **compiler; /* commands offered, the baseline's first */
    size_t n_compilers;
    const char *baseline; /* baseline flags, e.g. "-O3 -march=native" */
    /* The contract of the baseline (read off its flags unless given), the strictest and the loosest offered: with an
     * exact parity rule all three are the same unless the file says otherwise. */
    hone_fp fp_baseline, fp_min, fp_max;
    bool controls; /* tune compiler controls at all */
    bool numeric;  /* controls tagged numeric admitted (follows fp_max == fast unless set) */
    bool all_controls, lto, pgo;
    bool passes;     /* the order of LLVM's passes is searched behind the flags (pass_order.h) */
    bool bolt;       /* linked programs are laid out anew by BOLT (post_link.h) */
    size_t per_file; /* so many files may have controls of their own (by_file.h); 0: none */
    const char **file_named;
    size_t n_files_named; /* those that the workload names; 0: the hottest are looked for */
    unsigned environment; /* HN_ENV_…: what is offered of the environment; 0: nothing */
    hone_space *params;   /* the workload's own parameters, sealed */
    bool *param_define;   /* per parameter: rendered as -DNAME=value in {defines}; else only by a placeholder {NAME} */
    hn_input *input;
    size_t n_inputs;
    hn_source time_source; /* where undeclared metrics come from: HARNESS or LINES */
    const char **metric;   /* names expected from harness or lines: declared, then those only used */
    size_t n_metrics;
    hn_objective *objective;
    size_t n_objectives;
    hn_code_choice code;
    hn_limit_rule *limit_rule;
    size_t n_limit_rules;
    hn_parity_check parity;
    double parity_tol;
    const char *parity_command; /* shell text with {expected} {actual}; exit 0 = equal */
    const char *parity_output;  /* file the run writes, relative to its folder; NULL: harness outputs, else stdout */
    hn_limits limits;
    bool confine;          /* builds and runs write below their folder and `writable` alone, and have no network */
    const char **writable; /* absolute */
    size_t n_writable;
    hn_budget budget;
    hn_proof_needs proof;
    double floor;       /* results below floor * baseline are suspect; default 0.15 */
    size_t repeats;     /* runs of the process per sample set; default 1 */
    double min_run_s;   /* handed to the harness */
    const char *on;     /* "ssh://…": the machine that programs run on; NULL: this one */
    double wait_s;      /* how long it is waited for when it is lost */
    struct hn_far *far; /* of `on`; opened at the first use, whoever holds the workload */
    bool cold;          /* harness cold-cache mode */
    const char *device; /* "cuda:0", "opencl": handed to the harness; NULL: its own choice */
    const char *engine; /* NULL: auto */
    char hash[33];
};

/* "<=", ">=" or "==". */
const char *hn_limit_sign(const hn_limit_rule *rule);

/* --- commands ------------------------------------------------------------------------------------------------------
 * In a command text `{name}` is a placeholder, `{{` and `}}` are braces, `${...}` is left to the shell, and a brace
 * that encloses no name (`{}`, `{print $1}`) stands for itself. */

/* A placeholder's text, put in as it is: shell-quoted by the caller where it is a path or a value. */
typedef struct hn_binding {
    const char *name, *text;
} hn_binding;

/* Appends `text` with every placeholder replaced. E_INPUT names a placeholder that has no binding. */
hone_rc hn_workload_expand(const hone_workload *w, const char *text, const hn_binding *pair, size_t n, hn_str *out,
                           hone_err *err);
/* Appends `text` so that nothing in it is a placeholder: expanded, it is itself again. */
void hn_template_escape(hn_str *out, const char *text);
/* Length of the "${…}" that `text` starts with, 0 if it starts with none or with one that does not close. */
size_t hn_template_shell(const char *text);
/* Does a command use this placeholder? */
bool hn_template_has(const char *text, const char *name);
/* Calls seen(ctx, name, n) for every placeholder in order until it returns false; gives false then. */
bool hn_template_each(const char *text, bool (*seen)(void *ctx, const char *name, size_t n), void *ctx);

/* What {harness} stands for: "-I… …/libhonebench.a", shell-quoted; free with hone_free. Searched in the folder
 * HONE_HARNESS_DIR (or $HONE_HARNESS_DIR/lib), else in the folders above the running program and above libhone
 * itself. E_NOTFOUND lists where it looked. */
hone_rc hn_harness_flags(char **flags, hone_err *err);

/* Is a kernel on a device timed: by the ready program {gpu_bench}, or by a program whose device the workload names? */
bool hn_workload_on_gpu(const hone_workload *w);

/* Hash over names and contents of the sources. E_IO names the file that cannot be read. */
hone_rc hn_workload_source_hash(const hone_workload *w, char hex[33], hone_err *err);

#endif
