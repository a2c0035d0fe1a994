/* assess/narrow.h — how exactly the outputs of a model are determined at all. */
#ifndef HN_NARROW_H
#define HN_NARROW_H

#include "ir/graph.h"

/* For each output of g: the coarsest type that its values are rounded to on the way from the inputs; HONE_F32 where
 * none is coarser. What depends on constants alone does not count, as it is the same on every run. A float that becomes
 * an integer of at most 8 bits is a step of quantisation. */
hone_rc hn_narrowest(const hn_graph *g, hone_dtype *through, hone_err *err);

/* Half the distance of neighbours, as a part of the largest value. */
double hn_rounding_unit(hone_dtype t);

#endif
