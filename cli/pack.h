/* pack.h — a pack mapped into a workload's space, as `hone pack try` and `hone tune --pack` use it. */
#ifndef CLI_PACK_H
#define CLI_PACK_H

#include "session.h"

#include <hone/pack.h>

typedef struct cli_pack {
    hone_pack pack;
    hone_pack_fits fits;
    const char **point; /* those to try, in order; NULL-terminated */
} cli_pack;
/* Says on stderr which files are skipped, and why. */
hone_rc cli_pack_open(const cli *c, const char *dir, const hone_workload *w, cli_pack *out, hone_err *err);
void cli_pack_close(cli_pack *k);

#endif
