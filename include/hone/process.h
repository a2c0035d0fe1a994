/* hone/process.h — a fork whose descendants cannot outlive it.
 *
 * Threads: any.   Errors: E_IO when no process can be made.
 */
#ifndef HONE_PROCESS_H
#define HONE_PROCESS_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As fork(2), with a guardian in between: *pid is 0 in the new process, else the guardian's. The guardian is a child
 * subreaper. It ends when the new process ends, when it gets SIGTERM, or when its parent is gone; before it goes, it
 * kills everything that is left below it, also what ignores signals, changed its session or was orphaned. waitpid on
 * the guardian gives what the new process ended with (exit status or signal); after SIGTERM: SIGKILL.
 * The guardian keeps no descriptor of the caller's open. The new process leads its own process group, and dumps no
 * core. A parent is gone when its *thread* that called is, where the kernel knows only that (PR_SET_PDEATHSIG). */
HONE_API hone_rc hone_guard_fork(int *pid, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
