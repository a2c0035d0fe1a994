/* hone/explain.h — what a point changes in the machine code, or one build's device code against another's;
 * docs/explain.md.
 *
 * Owns, units, errors: as hone/prove.h.
 */
#ifndef HONE_EXPLAIN_H
#define HONE_EXPLAIN_H

#include <hone/prove.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What changed in the machine code: size, vector width, spills, inlining, calls …, as objdump (binutils) shows it.
 * Functions of the program alone; clones (".constprop.0") count with the function of the source. docs/explain.md. */
typedef struct hone_code_fact {
    const char *function;   /* "": the whole program */
    const char *what;       /* "bytes", "vector instructions, 512 bit", "stack accesses in loops" … */
    double baseline, tuned; /* NAN: there is no such function on that side */
} hone_code_fact;
typedef struct hone_explanation {
    const char **sentence; /* for people, the most important first; the last is about the whole program */
    size_t n_sentences;
    hone_code_fact *fact; /* of the program; then of each function that differs what differs */
    size_t n_facts;
    const char *function;   /* the differing function with most instructions in loops; NULL: none on both sides */
    const char *listing[2]; /* its instructions, baseline and tuned, one a line without addresses */
    void *block;
} hone_explanation;
HONE_API hone_rc hone_prove_explain(const hone_workload *workload, const char *point, const hone_prove_options *options,
                                    hone_explanation *out, hone_err *err);
/* Device code for NVIDIA's GPUs: cubins, fatbins, programs that hold them, PTX. `what` in the facts is then a metric of
 * docs/gpu-metrics.md without "sass."; a program built with such code is explained like that too. */
typedef struct hone_code_options {
    size_t size;       /* hone_code_defaults() sets it */
    uint32_t sm;       /* 90: the code for sm_90; 0: the only one in the file */
    uint32_t threads;  /* of a block, for occupancy; 0: launch bounds, else 256 */
    uint64_t shared_b; /* dynamic shared memory of a block */
    const volatile int *stop;
} hone_code_options;
static inline hone_code_options hone_code_defaults(void) {
    hone_code_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}
/* tuned NULL: all figures of one file, as both sides. E_TOOL when cuobjdump or nvdisasm is missing, E_INPUT when a file
 * holds no device code. */
HONE_API hone_rc hone_explanation_of_code(const char *baseline, const char *tuned, const hone_code_options *options,
                                          hone_explanation *out, hone_err *err);
HONE_API void hone_explanation_free(hone_explanation *explanation);

#ifdef __cplusplus
}
#endif
#endif
