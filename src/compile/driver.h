/* compile/driver.h — the stages of a compilation, one after the other.   Threads: one at a time. */
#ifndef HN_DRIVER_H
#define HN_DRIVER_H

#include "artifact/artifact.h"

/* All stages on g, which stays as it is, under l->options. hn_library_free in any case. */
hone_rc hn_compile_library(hn_library *l, const hn_graph *g, const char *name, hone_err *err);
/* The first part of it: names, targets, passes, and kernels with their default code; for tuning. */
hone_rc hn_compile_kernels(hn_library *l, const hn_graph *g, const char *name, hone_err *err);

#endif
