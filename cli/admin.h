/* admin.h — admin calls of a running server, as several commands make them. */
#ifndef CLI_ADMIN_H
#define CLI_ADMIN_H

#include "cli.h"

#include <jansson.h>

#define CLI_ADMIN_OPTIONS                                                                                              \
    {"port", 'p', CLI_COUNT, "N", 1, 65535, "the port of the server (8000)"}, {                                        \
        "admin", 0, CLI_TEXT, "PATH", 0, 0, "the server's socket, as it was given to `hone serve --admin`"             \
    }

/* body: given away; NULL: a GET. *reply: json_decref. The rc and the text are the server's. */
hone_rc cli_admin_ask(const cli *c, const char *path, json_t *body, json_t **reply, hone_err *err);
void cli_admin_print(cli *c, const json_t *o);                /* on stdout */
const char *cli_admin_text(const json_t *o, const char *key); /* "" where there is no text */

#endif
