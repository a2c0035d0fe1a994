/* serve/lost.h — weights that are mapped, and whose file is cut or changed under the server.
 *
 * Reading what a cut file no longer has raises SIGBUS. The host's handler calls hone_serve_lost, which puts zeros
 * there and notes whose pages they were, so that one model fails, and the others go on. It acts for what hn_lost_watch
 * was told of alone.
 * Threads: any.   Errors: none. What cannot be watched is not.
 */
#ifndef HN_SERVE_LOST_H
#define HN_SERVE_LOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum { HN_LOST_AREAS = 4 };
/* A file, and where it is mapped. Zeroed: nothing is watched. */
typedef struct hn_lost_file {
    char *path;
    dev_t device;
    ino_t inode;
    off_t size_b;
    struct timespec changed;
    int area[HN_LOST_AREAS]; /* number + 1 */
} hn_lost_file;

/* All places where this process has the file mapped. */
void hn_lost_watch(hn_lost_file *f, const char *path);
/* Whether pages were lost, or the file is another one than it was in size or time. A file that was replaced by rename
 * is still there for who has it mapped. */
bool hn_lost_is(const hn_lost_file *f);
void hn_lost_free(hn_lost_file *f);

#endif
