/* hone/process.h — a fork whose descendants cannot outlive it, a temporary folder that does not outlive its process,
 * and how far programs can be confined here.
 *
 * Threads: any.   Errors: E_IO when no process or folder can be made.
 */
#ifndef HONE_PROCESS_H
#define HONE_PROCESS_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As fork(2), with a guardian in between: *pid is 0 in the new process, else the guardian's. The guardian is a child
 * subreaper. It ends when the new process ends, when it gets SIGTERM, or when its parent is gone; before it ends, it
 * kills all remaining descendants, also those that ignore signals, changed their session or were orphaned. waitpid on
 * the guardian gives the status of the new process (exit status or signal); after SIGTERM: SIGKILL. The guardian keeps
 * no descriptor of the caller's open. The new process leads its own process group, and dumps no core. The parent counts
 * as gone when its calling *thread* ends if the kernel reports only that (PR_SET_PDEATHSIG). */
HONE_API hone_rc hone_process_fork(int *pid, hone_err *err);

/* A folder PREFIXxxxxxx in $TMPDIR where that is an absolute path, else in /tmp. hone_temp_close removes it, or a
 * guardian once this process and its forks are gone without that, also by kill -9. */
typedef struct hone_temp hone_temp;
HONE_API hone_rc hone_temp_open(const char *prefix, hone_temp **out, hone_err *err);
HONE_API const char *hone_temp_path(const hone_temp *t);
HONE_API void hone_temp_close(hone_temp *t); /* accepts NULL */

/* What candidates' builds and runs are kept from on this machine, tried out in a process of its own. */
typedef struct hone_confinement {
    bool writes;  /* outside their private folder */
    bool network; /* sockets but local ones */
    char by[64];  /* "Landlock (version 7)"; "" for neither */
} hone_confinement;
HONE_API void hone_process_confinement(hone_confinement *out);

#ifdef __cplusplus
}
#endif
#endif
