/* flags.h — what a point sets other than the baseline, as flags. */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include "session.h"

#include <hone/tune.h>

typedef struct cli_lines {
    char **line; /* "+ -funroll-loops", "- -O3", "tile=16" */
    size_t n, room;
} cli_lines;

/* Compares two points of the record's space (JSON; base may be NULL): flags that come and go, then parameters that are
 * no flags. Where flags cannot be made any more (the compiler is gone, the file changed) the settings themselves are
 * listed. */
void cli_flags_compare(const hone_workload *workload, const cli_record *r, const char *point, const char *base,
                       cli_lines *out);
void cli_lines_free(cli_lines *l);

#endif
