/* proc/temp.h — a temporary folder that is removed when the process that made it ends, however it ends.
 *
 * A guardian (a shell in a session of its own, which ignores the signals of a terminal) waits at the other end of a
 * pipe that this process, and forks of it, hold open: when the last of them is gone without hn_temp_free, also by kill
 * -9, it removes the folder. Without a shell the folder is an ordinary one.
 * hone_temp of hone/process.h is the same behind a pointer.
 * Owns: folder and guardian, until hn_temp_free.   Threads: one at a time.   Errors: E_IO names folder and reason.
 */
#ifndef HN_TEMP_H
#define HN_TEMP_H

#include <hone/process.h>

#include <sys/types.h>

typedef struct hn_temp {
    char *path; /* NULL: none */
    pid_t guardian;
    int fd; /* its pipe */
} hn_temp;
/* Makes DIR/PREFIXxxxxxx; dir NULL: $TMPDIR where it is an absolute path, else /tmp. */
hone_rc hn_temp_make(const char *dir, const char *prefix, hn_temp *out, hone_err *err);
/* Removes it; zeroes are fine. */
void hn_temp_free(hn_temp *t);
/* Environment variables that make a program put its own temporary files into this folder. */
extern const char *const hn_temp_here[];

#endif
