/* tune/by_file.h — controls of single files over those of the program: parameters "file.NAME.COMPILER.CONTROL", each
 * absent by default. What a file has of its own stands behind the program's flags where that file is compiled.
 *
 * They are searched behind everything else, around the best point (window.c), and stand at the end of the space, by
 * compiler, then by file. Owns: texts and spaces, in the plan.   Errors: E_NOMEM, those of hone_target_space.
 */
#ifndef HN_BY_FILE_H
#define HN_BY_FILE_H

#include "tune/plan.h"

/* Puts the parameters of plan->file behind those of the sealed space; plan->global is what the space was. */
hone_rc hn_by_file_add(hn_plan *plan, const hone_target_options *of_target, hone_err *err);
void hn_by_file_close(hn_plan *plan);
/* Adds what `point` chose for single files to the recipe. */
hone_rc hn_by_file_apply(const hn_plan *plan, size_t t, const double *point, hn_recipe *r, hone_err *err);

/* Does the point set anything of a single file? */
bool hn_by_file_used(const hn_plan *plan, const double *point);
/* The parameters of target t, as a space of their own, whose slots are n from *at on in the plan's. */
const hone_space *hn_by_file_space(const hn_plan *plan, size_t t, size_t *at, size_t *n);
/* The targets' rule seeds and plain levels for each file alone, over `around`, in the space of hn_by_file_space: *n
 * points, malloc'ed. */
hone_rc hn_by_file_seeds(const hn_plan *plan, size_t t, double **points, size_t *n, hone_err *err);

#endif
