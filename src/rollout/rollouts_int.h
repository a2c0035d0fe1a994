/* rollout/rollouts_int.h — the open store of deployments.
 *
 * Owns: the connection, the locks' file.   Threads: one at a time.
 */
#ifndef HN_ROLLOUTS_INT_H
#define HN_ROLLOUTS_INT_H

#include "record/deployments.h"
#include "rollout/rollout_int.h"

struct hone_rollouts {
    hone_store *store;
    char *path;
    bool write;
    int lock_fd; /* -1: nothing was taken yet */
};

/* A decision with the evidence it was made on. NULL: no memory. */
char *hn_rollout_body_json(const hone_rollout_decision *d, const hone_rollout_evidence *e);

#endif
