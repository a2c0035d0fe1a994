/* hone/verify.h — whether a compiled model is right: against the interpreter on its graph, or against a peer.
 *
 * A model with state is run step by step; the reference is handed the state that its own last step left.
 * Errors: E_USAGE (a size, a state), E_INPUT (the model refuses its inputs: its own text), E_INTERRUPTED, E_NOMEM.
 */
#ifndef HONE_VERIFY_H
#define HONE_VERIFY_H

#include <hone/artifact.h>
#include <hone/ir.h>
#include <hone/peer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_verify_options {
    size_t size;             /* hone_verify_defaults() sets it */
    const hone_graph *graph; /* of the model: tolerances follow from it. The reference is the interpreter on it … */
    hone_peer *peer;         /* … or, where there is one, a peer that has opened the model; then graph may be NULL */
    const char *sizes;       /* as hone_inputs_random */
    uint64_t n_inputs;       /* seeds 1 … n_inputs; 0: 3 */
    double rtol, atol; /* as hone_array_compare; both negative, the default: 1e-3 and 1e-4, or what the types ask for */
    hone_progress progress; /* before each input */
    const volatile int *stop;
    const char *const *state; /* of a model with state: as hone_compile_options; graph is needed, beside a peer too */
    size_t n_state;
    uint64_t n_steps; /* of a model with state: runs from a reset on, for each seed; 0: 4 */
    bool plain; /* sizes and integers as hone_inputs_random has them; else, with a graph, hone_inputs_sizes and _fill */
    char **shape; /* NULL, or room for a text per output, which hone_verify_run sets: "f32[5], not f32[6]" where type or
                   * shape was another one, else NULL; each free with hone_free */
} hone_verify_options;
static inline hone_verify_options hone_verify_defaults(void) {
    hone_verify_options o = HONE_ZERO;
    o.size = sizeof o;
    o.rtol = -1, o.atol = -1;
    return o;
}

/* An output, over all inputs. Where its values are rounded to 16 bits or fewer on the way, another order of a sum flips
 * such roundings: then elements may differ by `tolerance` times the largest finite element of the reference, and the
 * differences by as much of it in root mean square (docs/compile.md). */
typedef struct hone_verify_output {
    hone_array_difference worst;
    double tolerance;   /* 0: rtol and atol alone */
    hone_dtype through; /* the type that it follows from */
    double of_largest,
        of_rms; /* the largest, and the root mean square of the differences, as parts of the reference's */
    uint64_t n_elements, n_nan; /* of the reference; where both have NaN they agree, and nothing is known */
} hone_verify_output;
/* outputs: one per output of the program. *same: every output was within the tolerance every time. */
HONE_API hone_rc hone_verify_run(hone_artifact *p, const hone_verify_options *options, hone_verify_output *outputs,
                                 bool *same, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
