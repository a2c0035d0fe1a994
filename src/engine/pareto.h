/* engine/pareto.h — orders of several minimised objectives. */
#ifndef HN_PARETO_H
#define HN_PARETO_H

#include <hone/search.h>

/* a is at least as good everywhere and better somewhere. */
bool hn_dominates(const double *a, const double *b, size_t m);
/* Crowding distance (Deb et al. 2002, section III B) of each row within its rank; INFINITY at the ends. */
hone_rc hn_crowding(const double *values, size_t n, size_t m, const uint32_t *rank, double *crowding, hone_err *err);

#endif
