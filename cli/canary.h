/* canary.h — the canary as `hone canary` and `hone tune` run it. */
#ifndef CLI_CANARY_H
#define CLI_CANARY_H

#include "progress.h"

#include <hone/prove.h>

/* Runs the canary with progress on `live` (NULL: none). E_CANARY with what to look at when it fails; *out is filled
 * then too (and on success), unless NULL. */
hone_rc cli_canary(const hone_workload *workload, hone_prove_options options, cli_live *live, hone_canary_result *out,
                   hone_err *err);

#endif
