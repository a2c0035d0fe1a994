/* tune/code.h — device code of builds: figures for objectives, limits and the prior.
 *
 * Figures are read for a batch of builds at once. A build whose code cannot be read, or lacks a kernel that the
 * workload names, has failed; the return code is for missing tools and hone's own troubles. */
#ifndef HN_TUNE_CODE_H
#define HN_TUNE_CODE_H

#include "tune/build.h"

/* Does the workload look at device code? */
bool hn_code_is_read(const hone_workload *w);
/* Makes a build command keep what it says on stderr (spills and warnings of ptxas) in a file of its folder. */
void hn_code_keep_log(hn_str *command);
/* What the build said, in `a`; NULL: nothing was kept. */
const char *hn_code_log(const hn_build *b, hn_arena *a);
/* Fills figure and prior of the builds that succeeded. */
hone_rc hn_code_of_builds(const hn_build_config *cfg, hn_build *const *b, size_t n, hone_err *err);

/* In which order to time a batch: the most promising first. Without a prior: as it is. */
void hn_prior_order(const hone_workload *w, const hn_build *base, const hn_build *b, size_t n, size_t *order);
/* Is it not worth timing? Then *why says what speaks against it. */
bool hn_prior_prunes(const hone_workload *w, const hn_build *base, const hn_build *b, char *why, size_t n_why);

#endif
