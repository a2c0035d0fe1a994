/* assess/agree.h — whether two versions of a model agree on an output, as hone_verify_run judges. */
#ifndef HN_AGREE_H
#define HN_AGREE_H

#include <hone/array.h>
#include <hone/ir.h>

/* For each of n outputs the tolerance as a part of the largest element that follows from the types of the graph; 0:
 * rtol and atol alone. */
hone_rc hn_agree_tolerances(const hone_graph *g, double *tolerance, size_t n, hone_err *err);
/* rtol, atol: negative for the usual ones. *same; *at: flat index of the worst element, -1 where shapes differ. */
hone_rc hn_agree(const hone_array *got, const hone_array *want, double tolerance, double rtol, double atol, bool *same,
                 hone_array_difference *worst, hone_err *err);

#endif
