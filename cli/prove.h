/* prove.h — what the commands that prove share: their options, their progress, the files they keep. */
#ifndef CLI_PROVE_H
#define CLI_PROVE_H

#include "progress.h"
#include "signals.h"

#include <hone/prove.h>
#include <hone/reduce.h>

/* --seed, --jobs, --cpu, --pairs, --pairs-most, --variants and --time, as far as the command has them, with progress on
 * `live`. store: folder of the record; NULL: beside the workload. */
hone_prove_options cli_prove_options(const cli *c, const char *store, cli_live *live, cli_signals on);
/* An option's "1%", "0.5 %" or "0.01", 0 to `most`; *out as it was where the option is not given. */
hone_rc cli_share(const cli *c, const char *option, double most, double *out, hone_err *err);
/* A hone_prove_options.progress; live: the cli_live. */
void cli_prove_event(void *live, const hone_event *event);

/* Writes the controls file of a kept proof to `path`, with its response file. reduction may be NULL; claimed: what the
 * search saw as a gain, NAN. */
hone_rc cli_controls_keep(const char *path, const hone_workload *w, const hone_proof *proof,
                          const hone_reduction *reduction, int64_t session, double claimed, const hone_prove_options *o,
                          hone_err *err);
/* --workload, else the workload file that a controls file names, seen from where we are; malloc'ed. */
char *cli_controls_workload(const cli *c, const char *file, const hone_controls *controls);

/* "kept", or "rejected: " and why in a word. */
void cli_verdict_cell(cli_table *t, const hone_proof *p);

#endif
