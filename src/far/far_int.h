/* far/far_int.h — what the parts of this room share. */
#ifndef HN_FAR_INT_H
#define HN_FAR_INT_H

#include "far/far.h"
#include "far/wire.h"

#include <sys/types.h>

/* image.c: the agent as a static program. Empty (n = 0) in builds that left it out. */
const void *hn_far_image(size_t *n);

/* --- link.c: one connection: ssh as a child, its standard input and output a socket --------------------------------
 */

typedef struct hn_link {
    int fd, err_fd; /* -1: not connected */
    pid_t ssh;
    char said[1024]; /* the tail of what ssh wrote to its standard error */
} hn_link;

typedef enum hn_link_end { HN_LINK_GOOD, HN_LINK_LOST, HN_LINK_STOPPED, HN_LINK_NOMEM } hn_link_end;

/* Runs `argv` and has the agent there, bringing it first where it is missing. */
hn_link_end hn_link_open(hn_link *l, char *const *argv, const volatile int *stop);
void hn_link_close(hn_link *l);
hn_link_end hn_link_send(hn_link *l, char kind, const void *data, size_t n, const volatile int *stop);
/* The next frame, its contents malloc'ed with a NUL behind them. Lost after 30 s of silence. */
hn_link_end hn_link_receive(hn_link *l, char *kind, char **data, size_t *n, const volatile int *stop);

#endif
