/* carry.h — are controls found for one workload a gain on others? A matrix of validations. */
#ifndef CLI_CARRY_H
#define CLI_CARRY_H

#include "progress.h"

#include <hone/prove.h>

/* Validates each of `files` (controls files, separated by commas) on each of `workloads` (workload files, likewise) and
 * prints the matrix, or JSON. The options' store_dir is not used: each workload has its own. Exit code E_REJECTED
 * unless all are kept everywhere. live: progress, ended before anything is printed. */
hone_rc cli_carry(cli *c, const char *files, const char *workloads, hone_prove_options options, cli_live *live,
                  hone_err *err);

#endif
