/* far/far.h — another machine on which programs run: `measure: {on: "ssh://user@host:port/path"}`.
 *
 * Over the user's own ssh goes an agent, a static program carried inside hone; it keeps a folder there, takes the files
 * of a private folder (contents that it has already are not sent again), runs commands under hone's supervisor, one at
 * a time on that machine, and sends back what they left. Where the connection breaks, the run is made again once the
 * machine is back; how long that is waited for is bounded. A run during which the machine is lost three times counts as
 * failed. Owns: the connection, from the first use to hn_far_free.   Threads: one at a time. Errors: E_INPUT: not such
 * a URL; E_TOOL: there is no ssh; E_IO: the machine cannot be reached, or cannot do it; E_INTERRUPTED.
 */
#ifndef HN_FAR_H
#define HN_FAR_H

#include "proc/proc.h"

#include <hone/far.h>
#include <hone/machine.h>

typedef struct hn_far hn_far;

/* Connects to nothing yet. wait_s: how long a machine that was lost is waited for. */
hone_rc hn_far_new(const char *url, double wait_s, hn_far **out, hone_err *err);
void hn_far_free(hn_far *far); /* accepts NULL */
const char *hn_far_url(const hn_far *far);
/* Who is told when the machine is lost and regained. */
void hn_far_watch(hn_far *far, void (*tell)(void *arg, const char *text), void *arg);

/* What that machine is; asked once. */
hone_rc hn_far_get(hn_far *far, const volatile int *stop, hone_far_info *out, hone_err *err);

/* In the text of a run's environment: the folder there. */
#define HN_FAR_HERE "@HONE-FAR-FOLDER@"

/* Runs spec->shell there in a copy of the folder `dir` of this machine; `version` tells contents of the folder apart:
 * while it is the same, the copy is used again. spec->cwd is ignored; HN_FAR_HERE in env is replaced; cpu -1 is the
 * last core of that machine. The files `back` (relative, NULL-terminated) are removed there before and brought into
 * `dir` after the run. As hn_proc_run otherwise. */
hone_rc hn_far_run(hn_far *far, const char *dir, uint64_t version, const hn_proc_spec *spec, const char *const *back,
                   const volatile int *stop, hn_proc_result *out, hone_err *err);

#endif
