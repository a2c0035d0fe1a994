/* hone/exactness.h — how much rounding a compiled model adds, and how much a model makes of it.
 *
 * The reference is the model's graph evaluated in double throughout: every value and constant of f32 becomes f64. Types
 * below f32 keep their roundings, which are the model's own.
 * Errors: E_USAGE (a size), E_INPUT, E_UNSUPPORTED (the graph draws random numbers, takes floats apart, or has state),
 * E_INTERRUPTED, E_NOMEM.
 */
#ifndef HONE_EXACTNESS_H
#define HONE_EXACTNESS_H

#include <hone/artifact.h>
#include <hone/ir.h>
#include <hone/peer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_exactness_options {
    size_t size;            /* hone_exactness_defaults() sets it */
    hone_peer *peer;        /* NULL: none */
    const char *sizes;      /* as hone_inputs_sizes */
    uint64_t n_inputs;      /* seeds 1 … n_inputs; 0: 3 */
    hone_progress progress; /* before each input */
    const volatile int *stop;
} hone_exactness_options;
static inline hone_exactness_options hone_exactness_defaults(void) {
    hone_exactness_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

/* Differences from the reference: root mean square by that of the reference, and the largest by the largest element. */
typedef struct hone_exactness_part {
    double rms, largest;
} hone_exactness_part;
/* An output, over all inputs. */
typedef struct hone_exactness_output {
    bool is_float; /* else there is nothing to say, and all is 0 */
    hone_exactness_part hone, peer;
    hone_exactness_part
        moved;            /* the reference itself, where each float of the inputs moves by one unit in its last place */
    double amplification; /* moved.rms by half a unit of f32: how many roundings of its inputs the model makes of one */
} hone_exactness_output;
/* From this amplification on a model is chaotic: what rounding does to it says nothing of who rounds. */
#define HONE_EXACTNESS_CHAOTIC 1e4

/* outputs: one per output of the program. *by_constants: the model has no inputs of floats, and its constants moved. */
HONE_API hone_rc hone_exactness_run(hone_artifact *p, const hone_graph *g, const hone_exactness_options *options,
                                    hone_exactness_output *outputs, bool *by_constants, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
