/* compile/driver.h — the stages of a compilation, one after the other.   Threads: one at a time. */
#ifndef HN_DRIVER_H
#define HN_DRIVER_H

#include "artifact/artifact.h"
#include "precision/precision.h"

/* What l->options->precision says, where it is given: plan, and narrow, a copy of g with it applied, else NULL. l
 * borrows texts of the plan. hn_plan_free and hone_graph_free in any case. */
hone_rc hn_library_narrow(hn_library *l, const hn_graph *g, hn_narrow_plan *plan, hn_graph **narrow, hone_err *err);
/* All stages on g, which stays as it is, under l->options. hn_library_free in any case. */
hone_rc hn_compile_library(hn_library *l, const hn_graph *g, const char *name, hone_err *err);
/* The first part of it: names, targets, passes, and kernels with their default code; for tuning. */
hone_rc hn_compile_kernels(hn_library *l, const hn_graph *g, const char *name, hone_err *err);

#endif
