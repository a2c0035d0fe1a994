/* progress.h — how far a search is, on stderr: one live line on a terminal, else plain lines now and then.
 *
 * Draws only when the search reports something: a timer would interrupt the program that is being measured.
 *
 * Where the variable HONE_PROGRESS_FD names an open descriptor, each report goes there too, as a JSON object on a line
 * (docs/commands.md), also with --quiet. `hone mcp` reads it.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli.h"

#include <hone/tune.h>

typedef struct cli_live {
    const cli *c;
    bool quiet, verbose, terminal, drawn;
    int width;
    const volatile int *resized; /* set by SIGWINCH */
    double best, last_s;         /* last_s: when the last line was drawn, as elapsed time of the search */
    hone_tune_event event;       /* the latest with counts */
    char stage[160];             /* "" during trials */
    FILE *told;                  /* where reports go as JSON; NULL: nowhere */
} cli_live;

void cli_live_begin(cli_live *l, const cli *c, const volatile int *resized);
void cli_live_event(void *live, const hone_event *event); /* a hone_tune_options.progress */
/* For what is no search: a line of one's own, with the elapsed time; a warning that stays. */
void cli_live_say(cli_live *l, double elapsed_s, bool now, const char *fmt, ...) HONE_PRINTF(4, 5);
void cli_live_warn(cli_live *l, const char *text);
void cli_live_end(cli_live *l); /* leaves the cursor on an empty line */

#endif
