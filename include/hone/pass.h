/* hone/pass.h — the passes that rewrite a graph: listed, run. docs/ir.md describes them.
 */
#ifndef HONE_PASS_H
#define HONE_PASS_H

#include <hone/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The passes, in the order of the pipeline; i from 0. False past the end. Strings are static. */
typedef struct hone_pass {
    const char *name, *summary;
} hone_pass;
HONE_API bool hone_pass_at(size_t i, hone_pass *out);
typedef struct hone_pass_stat {
    const char *name;
    uint64_t n_rewrites, n_nodes; /* n_nodes: afterwards, in all blocks */
    double time_s;
} hone_pass_stat;
/* What passes may do, and for which machine. */
typedef struct hone_pass_options {
    size_t size;  /* hone_pass_defaults() sets it */
    bool relaxed; /* rewrites that change rounding: float reassociation, folding of normalisations into weights */
    bool bytes;   /* the machine multiplies bytes and adds them up (x86-64-v4-vnni, x86-64-v3): products of quantised
                     values are   products of bytes */
    double tolerance; /* what a convolution may round more than its sum does, as a part of the root mean square of its
                         results: within it windows of 3 x 3 take fewer multiplications. 0: nothing; negative: 1e-3 with
                         `relaxed`, else nothing */
} hone_pass_options;
static inline hone_pass_options hone_pass_defaults(void) {
    hone_pass_options o = HONE_ZERO;
    o.size = sizeof o;
    o.tolerance = -1;
    return o;
}
/* Runs the pipeline up to and including `after` (NULL: all of it), in place. stat: NULL, or room for that many rows;
 * *n_stat receives how many passes ran. E_NOTFOUND names the nearest pass. After a failure the graph can only be freed.
 */
HONE_API hone_rc hone_graph_run_passes(hone_graph *g, const char *after, const hone_pass_options *options,
                                       hone_pass_stat *stat, size_t room, size_t *n_stat, hone_err *err);
/* Runs passes by name, in this order, in place. After a failure *g is as it was. */
HONE_API hone_rc hone_graph_optimise(hone_graph **g, const char *const *pass, size_t n,
                                     const hone_pass_options *options, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
