/* hone/check.h — controls files made from a proof, taken up again, checked; docs/controls-file.md. hone/controls.h
 * reads and writes them.
 *
 * Owns, units, errors: as hone/prove.h.
 */
#ifndef HONE_CHECK_H
#define HONE_CHECK_H

#include <hone/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

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
