/* hone/inputs.h — random inputs for a compiled model.
 *
 * Errors: E_USAGE (a size), E_NOMEM.
 */
#ifndef HONE_INPUTS_H
#define HONE_INPUTS_H

#include <hone/array.h>
#include <hone/ir.h>
#include <hone/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Inputs for a model, the same for the same seed everywhere: floats N(0, 1), integers and bools 0 or 1; symbolic sizes
 * from "name=N,..." (sizes, may be NULL), else their smallest, at least 1. out: room for one array per input; each data
 * is the caller's afterwards: hone_free. */
HONE_API hone_rc hone_inputs_random(const hone_model *m, const char *sizes, uint64_t seed, hone_array *out,
                                    hone_err *err);
/* Sizes for the inputs of a graph, as text "name=N,...": those of `sizes` (may be NULL), and for the others usual ones,
 * by name and place, that the relations of the graph allow. Where none are found: `sizes` as they are. Free with
 * hone_free. */
HONE_API hone_rc hone_inputs_sizes(const hone_graph *g, const char *sizes, char **out, hone_err *err);
/* As hone_inputs_sizes, of a compiled model, whose relations are its own: usual sizes are tried in turn on an instance
 * of it, with inputs of hone_inputs_random (seed), until a run accepts them. */
HONE_API hone_rc hone_inputs_accepted(const hone_model *m, const char *sizes, uint64_t seed, char **out, hone_err *err);
/* Makes the integers and bools of random inputs (in: one array per input of the graph) what the model is given: ids
 * below the number of rows that they choose, lengths and masks of rows that end at different places, positions,
 * scalars that the graph compares with a constant. *said (may be NULL): a line for each such input, free with
 * hone_free. */
HONE_API hone_rc hone_inputs_fill(const hone_graph *g, uint64_t seed, hone_array *in, char **said, hone_err *err);
/* For a run on such inputs that ended with rc: where the model refused them and has symbolic sizes, their names are
 * appended to err's text. Returns rc. err may be NULL. */
HONE_API hone_rc hone_inputs_refused(const hone_model *m, hone_rc rc, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
