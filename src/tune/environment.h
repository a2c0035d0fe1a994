/* tune/environment.h — what a program runs in, as controls of class `environment`: the allocator (a library that is
 * loaded first), tunables of glibc's malloc, and the linker that links it.
 *
 * Names begin with "env."; all are absent by default, and the baseline has none. Discovered are allocators and linkers
 * that are installed and work here, glibc's tunables by its version. Values are texts of the space, so a change of what
 * is installed is another space. Errors: E_UNSUPPORTED (programs run on another machine, whose libraries are not
 * known), E_NOMEM.
 */
#ifndef HN_ENVIRONMENT_H
#define HN_ENVIRONMENT_H

#include "tune/plan.h"

/* The parameter that is tried before the others. */
#define HN_ENV_FIRST "env.allocator"

/* The words of `environment` in a workload file. */
enum { HN_ENV_ALLOCATOR = 1, HN_ENV_MALLOC = 2, HN_ENV_LINKER = 4, HN_ENV_ALL = 7 };

/* Adds the parameters that the workload asks for to the joined space. */
hone_rc hn_environment_add(hn_plan *plan, hone_err *err);
/* Adds what `point` chose to the recipe: variables of runs, words of the build. */
hone_rc hn_environment_apply(const hn_plan *plan, const double *point, hn_recipe *r, hone_err *err);

#endif
