/* profile.h — the output of `hone profile`. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "cli.h"
#include "drawn.h"

#include <hone/profile.h>

void cli_profile_text(const cli *c, const hone_profile *p, bool calls);
/* name: of the file; drawn: its inputs. */
void cli_profile_json(cli *c, const hone_profile *p, const char *name, const cli_drawn *drawn);
/* A page with the roofline, for a browser; written as PATH. */
hone_rc cli_profile_page(const hone_profile *p, const char *name, const cli_drawn *drawn, const char *path,
                         hone_err *err);
/* Chrome's trace event format: load it at ui.perfetto.dev or chrome://tracing. */
hone_rc cli_profile_trace(const hone_profile *p, const char *name, const char *path, hone_err *err);

#endif
