/* space_diff.h — comparing two spaces, for `hone space diff`. */
#ifndef CLI_SPACE_DIFF_H
#define CLI_SPACE_DIFF_H

#include "cli.h"

#include <hone/space.h>

const char *cli_kind_name(hone_kind kind);
/* Prints how the space named `other` differs from a; c->exit_code becomes 1 when it does. */
hone_rc cli_space_diff(cli *c, const hone_space *a, const char *other, hone_err *err);

#endif
