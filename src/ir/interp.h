/* ir/interp.h — the plain reference interpreter: every primitive, one after the other, double accumulation. All other
 * code is compared with it.
 *
 * Slow and simple on purpose: no fusion, no reassociation, no vector code; float results are computed in double and
 * rounded once to the element type, integers exactly.   Threads: any number of runs of one graph at once.
 */
#ifndef HN_INTERP_H
#define HN_INTERP_H

#include "ir/graph.h"

/* Runs block 0. in[i] matches input i in type and rank (sizes bind the symbols and are checked: E_INPUT names input and
 * dimension). Results are allocated in `a`. `symbols`: NULL, or receives the values of all symbols (hn_dims_symbols
 * many). */
hone_rc hn_interpret(const hn_graph *g, const hn_tensor *in, hn_arena *a, hn_tensor *out, int64_t *symbols,
                     hone_err *err);
/* Runs one block (a kernel's body) on concrete inputs: its parameters in order. symbols: the values that its dimensions
 * need. */
hone_rc hn_interpret_block(const hn_graph *g, hn_block b, const hn_tensor *in, const int64_t *symbols, hn_arena *a,
                           hn_tensor *out, hone_err *err);
/* One node without regions on concrete inputs: for constant folding. */
hone_rc hn_interpret_node(const hn_graph *g, const hn_node *n, const hn_tensor *in, int64_t *symbols, hn_arena *a,
                          hn_tensor *out, hone_err *err);

/* One element of one result of a block, evaluated on demand and recursively from the parameters (memoising small
 * intermediates): the same value as hn_interpret_block gives, for sampling large kernels. E_UNSUPPORTED for ops without
 * a pointwise definition (order, opaque, control, scatter): use the whole. */
hone_rc hn_interpret_at(const hn_graph *g, hn_block b, const hn_tensor *in, const int64_t *symbols, size_t result,
                        const int64_t *index, double *value, hone_err *err);

/* Parity of two tensors of one type: integers, bools exactly; floats |a-b| <= atol + rtol*|b|, NaN = NaN, infinities by
 * sign. */
typedef struct hn_match_rule {
    double rtol, atol;
} hn_match_rule;
typedef struct hn_match {
    bool same;
    double max_abs, max_rel; /* over finite pairs */
    int64_t at, n_wrong;     /* flat index of the worst; number of elements outside */
} hn_match;
/* An array as a tensor that borrows its data; E_INPUT: it has no legal type or shape. */
hone_rc hn_array_tensor(const hone_array *a, hn_tensor *out, hone_err *err);
hn_match hn_tensor_compare(const hn_tensor *got, const hn_tensor *want, hn_match_rule rule);
/* Integers of up to 8 bits as floats: of values that were quantised. */
hn_match hn_tensor_compare_steps(const hn_tensor *got, const hn_tensor *want, hn_match_rule rule);

#endif
