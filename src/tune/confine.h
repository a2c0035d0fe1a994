/* tune/confine.h — how a candidate's builds and runs are confined: what they may write beside their private folder,
 * and the environment that sends temporary files and caches there.
 *
 * Where the kernel confines nothing, only the environment changes. `stages.confine` of the workload loosens it.
 */
#ifndef HN_CONFINE_H
#define HN_CONFINE_H

#include "proc/proc.h"
#include "tune/workload.h"

/* What is confined: on a far machine the run alone. */
typedef enum hn_confined { HN_CONFINE_BUILD, HN_CONFINE_TRAINING, HN_CONFINE_RUN } hn_confined;

/* Sets spec's confine, write and env (spec->cwd, the private folder, is set; its env so far comes first), in the
 * arena. A build may write a compiler's cache, too. E_NOMEM. */
hone_rc hn_confine_run(const hone_workload *w, hn_confined what, hn_arena *a, hn_proc_spec *spec, hone_err *err);
/* "; it may write …" when a run that failed was confined and says that something was refused; else "". */
const char *hn_confine_hint(const hn_proc_result *r);

#endif
