/* tune/confine.h — how a candidate's builds and runs are confined: what they may write beside their private folder,
 * and the environment that sends temporary files and caches there.
 *
 * Where the kernel confines nothing, only the environment changes. `stages.confine` of the workload loosens it.
 */
#ifndef HN_CONFINE_H
#define HN_CONFINE_H

#include "proc/proc.h"
#include "tune/workload.h"

/* Sets spec's confine, write and env (spec->cwd, the private folder, is set; its env so far comes first), in the
 * arena. builds: a compiler's cache may be written, too. E_NOMEM. */
hone_rc hn_confine_run(const hone_workload *w, bool builds, hn_arena *a, hn_proc_spec *spec, hone_err *err);
/* "; it may write …" when a run that failed was confined and says that something was refused; else "". */
const char *hn_confine_hint(const hn_proc_result *r);

#endif
