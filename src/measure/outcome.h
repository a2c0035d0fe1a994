/* measure/outcome.h — from a finished process to samples, parity and sizes.
 *
 * Errors: E_IO, E_NOMEM for failures of hone itself; a fault of the candidate is a result, never an error.
 */
#ifndef HN_OUTCOME_H
#define HN_OUTCOME_H

#include "base/arena.h"

/* One metric as printed: n samples in base units (seconds, bytes, counts). */
typedef struct hn_metric {
    const char *name;
    const double *sample;
    size_t n;
} hn_metric;
typedef struct hn_metrics {
    hn_metric *metric;
    size_t n;
} hn_metrics;

/* Harness output (JSON lines, docs/harness.md) and "name: value [unit]" / "name = value" lines found in a program's
 * stdout. Malformed lines and non-finite values are skipped and counted. A name seen several times gathers samples.
 * Known time units (ns us ms s) are turned into seconds, sizes (B kB KiB MiB …) into bytes. */
hone_rc hn_metrics_from_harness(hn_arena *a, const char *text, size_t n, hn_metrics *out, size_t *n_bad, hone_err *err);
hone_rc hn_metrics_from_lines(hn_arena *a, const char *text, size_t n, hn_metrics *out, size_t *n_bad, hone_err *err);
/* The last line {"hone-bench":1,"fault":CLASS,"detail":TEXT} of a harness that gave up: false when there is none. */
bool hn_fault_from_harness(const char *text, size_t n, char *cls, size_t n_cls, char *detail, size_t n_detail);
/* NULL when there is no such metric. */
const hn_metric *hn_metrics_find(const hn_metrics *m, const char *name);

/* Parity of two output files. Both harness data (HONE_BENCH_DATA files) or both plain text: in text, numbers are
 * compared as numbers under the rule and everything else exactly. NaN equals NaN only; infinities must be equal. */
typedef enum hn_parity_rule { HN_SAME_BYTES, HN_MAX_ABS, HN_MAX_REL, HN_MAX_ULP } hn_parity_rule;
typedef struct hn_parity_result {
    bool equal;
    double worst_abs, worst_rel, worst_ulp;
    char where[200]; /* "y[17]: expected 0.25, got 0.5 (rel 1)" for the worst or first difference; "" if none */
} hn_parity_result;
hone_rc hn_parity_files(const char *expected, const char *actual, hn_parity_rule rule, double tol,
                        hn_parity_result *out, hone_err *err);

/* Hash of what a built file would load: ELF sections with SHF_ALLOC except build-id notes (so that paths, dates and
 * debug data do not count); an archive or a file that is no ELF: all its bytes. */
hone_rc hn_object_hash(const char *path, char hex[33], hone_err *err);
/* Bytes of executable and read-only sections; of the whole file. */
hone_rc hn_object_size(const char *path, uint64_t *code_b, uint64_t *file_b, hone_err *err);

#endif
