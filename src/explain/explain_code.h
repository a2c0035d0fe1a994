/* explain/explain_code.h — two builds' device code compared: facts by the names of metrics, sentences for a reviewer.
 * Pure. */
#ifndef HN_EXPLAIN_CODE_H
#define HN_EXPLAIN_CODE_H

#include "cubin/cubin.h"

#include <hone/explain.h>

/* Fills sentence, fact, function and listing of *out; everything is in the arena. Kernels are paired by name; where
 * each side has one of its own left, these two are a pair (a control may change a kernel's name). all: facts that are
 * the same on both sides too. */
hone_rc hn_explain_code(const hn_cubin side[2], bool all, hn_arena *a, hone_explanation *out, hone_err *err);

#endif
