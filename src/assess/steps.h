/* assess/steps.h — random inputs for a model step after step, with the state that a reference needs as inputs.
 *
 * Sizes that nothing gives are the smallest; those that follow from the state (past + seq of a mask) are computed anew
 * for every step. A model without state is one whose steps do not depend on each other.
 * Owns: the arrays it hands out, until the next step.   Errors: E_USAGE (states, sizes), E_UNSUPPORTED, E_NOMEM.
 */
#ifndef HN_ASSESS_STEPS_H
#define HN_ASSESS_STEPS_H

#include <hone/ir.h>
#include <hone/model.h>

typedef struct hn_steps hn_steps;
/* state: the pairs INPUT=OUTPUT that m was compiled with, of graph g. Both are borrowed, as is sizes. */
hone_rc hn_steps_open(const hone_model *m, const hone_graph *g, const char *const *state, size_t n_state,
                      const char *sizes, uint64_t seed, hn_steps **out, hone_err *err);
/* The inputs of the next step, one per input of the model. */
hone_rc hn_steps_next(hn_steps *s, const hone_array **in, hone_err *err);
/* Those of the graph: the state is zero in the first step, then what was carried; what was not is zero, too, but has
 * the right sizes. */
const hone_array *hn_steps_all(const hn_steps *s, size_t *n);
/* Takes the new state out of all outputs of the graph; their data is NULL then. */
void hn_steps_carry(hn_steps *s, hone_array *out);
/* The graph's output that is number `output` of the model. */
uint32_t hn_steps_result(const hn_steps *s, uint32_t output);
void hn_steps_free(hn_steps *s); /* accepts NULL */

#endif
