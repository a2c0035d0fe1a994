/* learn.h — `hone serve --learn`: a process beside the server that tunes its models in idle time, for what they are
 * asked for, and puts what it found on trial.
 *
 * Threads: cli_learn_start is called before the server has any.
 */
#ifndef CLI_LEARN_H
#define CLI_LEARN_H

#include "cli.h"

#include <hone/serve.h>

typedef struct cli_learner {
    int pid; /* of its guardian; 0: there is none */
    int fd;  /* it waits here for the server's port */
} cli_learner;

/* o is borrowed until cli_learn_end. */
hone_rc cli_learn_start(const cli *c, const hone_serve_options *o, cli_learner *out, hone_err *err);
void cli_learn_ready(cli_learner *l, uint16_t port);
void cli_learn_end(cli_learner *l);

#endif
