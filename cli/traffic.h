/* traffic.h — what served models are asked for, for the commands that show it and tune for it. */
#ifndef CLI_TRAFFIC_H
#define CLI_TRAFFIC_H

#include "cli.h"

#include <hone/traffic.h>

/* Rows of a model: from a store, from a file of JSON, or where `from` is NULL from the user's store. hone_free. */
hone_rc cli_traffic_open(const char *model, const char *from, hone_traffic_row **row, size_t *n, hone_err *err);

#endif
