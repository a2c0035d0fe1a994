/* signals.h — Ctrl-C and a resized window, for the commands that run long. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

typedef struct cli_signals {
    const volatile int *stop;    /* set by the first SIGINT or SIGTERM; the second ends hone at once */
    const volatile int *resized; /* set by SIGWINCH */
} cli_signals;
/* From now on. recorded: the note on the first signal may say that what is finished is recorded. */
cli_signals cli_catch_signals(bool recorded);
/* From now on a model whose weights are cut fails alone: hone_serve_lost. */
void cli_catch_lost_weights(void);
/* From now on: how often SIGHUP came. */
const volatile int *cli_catch_hangup(void);

#endif
