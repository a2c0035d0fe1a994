/* chosen.h — the one point that a command works on: of a session, a controls file, or given by itself.
 *
 * Owns: everything, until cli_chosen_free.
 */
#ifndef CLI_CHOSEN_H
#define CLI_CHOSEN_H

#include "session.h"

#include <hone/prove.h>

typedef struct cli_chosen {
    hone_workload *workload;
    char *store;     /* folder of the record */
    char *point;     /* JSON */
    char *from;      /* for people: "session 3, the newest proof that was kept" */
    char *controls;  /* path of the controls file it came from; NULL: none */
    int64_t session; /* 0: none */
    double claimed;  /* what the search saw of it as a gain; NAN */
} cli_chosen;

/* --point; else the operand: a file that ends in .hone, or a session, by default the newest. Of a session it is the
 * newest kept proof, else its best trial. The workload is --workload, else the controls file's own, else hone.yaml;
 * E_MISMATCH when a session was recorded with another one. */
hone_rc cli_chosen_open(const cli *c, cli_chosen *out, hone_err *err);
void cli_chosen_free(cli_chosen *x);

#define CLI_CHOSEN_OPTIONS                                                                                             \
    {"point", 0, CLI_TEXT, "FILE|JSON", 0, 0, "this point instead (`hone best --point` prints one)"}, CLI_RECORD_OPTIONS

#endif
