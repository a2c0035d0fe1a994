/* front/weights.h — weights of model files as values of a graph: as they lie in the file where products can read them
 * so (compose/packed.h), else as floats. For front ends of language models, whatever their format.
 */
#ifndef HN_FRONT_WEIGHTS_H
#define HN_FRONT_WEIGHTS_H

#include "compose/packed.h"
#include "ir/blocks.h"
#include "ir/build.h"

/* Memory of weights that do not stay where the file has them; the graph needs it as long as it lives. */
typedef struct hn_weights {
    void **made;
    size_t n, room;
} hn_weights;
void *hn_weights_room(hn_weights *w, uint64_t size_b); /* aligned to 64; NULL: out of memory */
void hn_weights_free(hn_weights *w);

/* A tensor of a file. */
typedef struct hn_weight {
    const char *name;
    const hn_block_type *type; /* with a decode */
    const void *data;          /* lives as long as the graph */
    size_t rank;
    const uint64_t *dim; /* the outermost first */
    uint64_t n_elements;
} hn_weight;
/* Weights of a type that no product reads, of another type that one does, with the same values. */
hone_rc hn_weight_readable(hn_weights *w, hn_weight *t, hone_err *err);
/* A matrix, or several in one tensor, as it lies in the file; 0: its type or its rows do not allow it. how: as
 * hn_unpack. */
hn_val hn_weight_packed(hn_builder *b, const hn_weight *t, hn_activations how);
/* Its elements as f32; add: to each of them. */
hn_val hn_weight_floats(hn_weights *w, hn_builder *b, const hn_weight *t, float add);
/* n matrices of one shape, n > 0, as one tensor [n, rows, columns]: as they lie in the file where all can, else as f32.
 * A shape that differs fails and names the tensor. */
hn_val hn_weight_stack(hn_weights *w, hn_builder *b, const hn_weight *t, uint64_t n, hn_activations how);

#endif
