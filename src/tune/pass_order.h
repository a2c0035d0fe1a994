/* tune/pass_order.h — LLVM's pass order (`controls: {passes: true}`): parameters "passes.COMPILER", whether opt runs
 * the passes of -O3 at all, and "passes.COMPILER.N.NAME", an edit that begins with pass N, absent by default.
 *
 * They are searched behind everything else, around the best point (pass_search.c), and stand at the end of the space.
 * Owns: texts and spaces, in the plan.   Errors: E_NOMEM, those of hone_space.
 */
#ifndef HN_PASS_ORDER_H
#define HN_PASS_ORDER_H

#include "tune/plan.h"

/* Finds opt for each compiler; none serves the workload: plan->no_passes says why. The plan has its space. */
hone_rc hn_pass_order_look(hn_plan *plan, hone_err *err);
/* Puts the parameters behind those of the sealed space. */
hone_rc hn_pass_order_add(hn_plan *plan, hone_err *err);
void hn_pass_order_close(hn_plan *plan);
/* Adds what the point chose of target t's passes to the recipe. */
hone_rc hn_pass_order_apply(const hn_plan *plan, size_t t, const double *point, hn_recipe *r, hone_err *err);

/* Does opt run the passes at this point? */
bool hn_pass_order_used(const hn_plan *plan, const double *point);
/* The parameters of target t, as a space of their own, whose slots are n from *at on in the plan's; its first parameter
 * is whether opt runs the passes, then comes one for each pass. NULL: it has none. */
const hone_space *hn_pass_order_space(const hn_plan *plan, size_t t, size_t *at, size_t *n);

#endif
