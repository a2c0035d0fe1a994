/* record/deployments.h — rollouts.db: deployments, their evidence, what happened, and which version answers for a base.
 * Texts and numbers alone; what they mean is the room rollout's business. Tables: docs/store.md.
 *
 * Opened with synchronous = FULL: what was written outlives a power cut.   Owns: rows lie in the caller's arena.
 * Threads: one at a time.   Invariants: 1 of a base at most one deployment is under way (a unique index);  2 a
 * deployment's end, its event and the version that answers then are one transaction.
 */
#ifndef HN_DEPLOYMENTS_H
#define HN_DEPLOYMENTS_H

#include "base/arena.h"

#include <hone/record.h>

enum { HN_N_EVIDENCE = 9 }; /* counters; the caller's order */

typedef struct hn_deployment {
    int64_t id;
    const char *base, *base_hash, *now, *now_hash, *next, *next_hash, *rules; /* rules: JSON */
    const char *state, *why, *text;
    int64_t shadow;
    double began_s, ended_s;
    uint64_t count[HN_N_EVIDENCE];
    const float *ratio; /* log-ratios in order */
    size_t n_ratio;
} hn_deployment;

/* What answers for a base in its place. */
typedef struct hn_serving {
    const char *base, *base_hash, *path, *hash;
    int64_t deployment; /* that promoted it */
} hn_serving;

typedef struct hn_happening {
    int64_t id, deployment; /* 0: of none */
    const char *base, *kind, *text, *body;
    double at_s;
} hn_happening;

hone_rc hn_deployments_open(const char *path, bool write, hone_store **out, hone_err *err);

/* Fills d->id. E_BUSY: one of this base is under way. */
hone_rc hn_deployment_begin(hone_store *s, hn_deployment *d, const hn_happening *event, hone_err *err);
/* E_NOTFOUND. With its evidence. */
hone_rc hn_deployment_get(hone_store *s, int64_t id, hn_arena *a, hn_deployment *out, hone_err *err);
/* Ids, the newest first; base NULL: of all. */
hone_rc hn_deployment_ids(hone_store *s, const char *base, hn_arena *a, int64_t **id, size_t *n, hone_err *err);
hone_rc hn_deployment_under_way(hone_store *s, const char *base, int64_t *id, hone_err *err); /* 0: none */
hone_rc hn_deployment_add(hone_store *s, int64_t id, const uint64_t count[HN_N_EVIDENCE], const float *ratio, size_t n,
                          hone_err *err);
/* Sets state, why, text of d->id where it is under way (E_NOTFOUND otherwise); d->ended_s 0: it stays so. `serving`
 * NULL: what answers stays. */
hone_rc hn_deployment_conclude(hone_store *s, const hn_deployment *d, const hn_happening *event,
                               const hn_serving *serving, hone_err *err);

hone_rc hn_happening_add(hone_store *s, const hn_happening *event, hone_err *err);
/* In order. base NULL: those of the deployment; else those of this base that belong to none. */
hone_rc hn_happening_list(hone_store *s, int64_t deployment, const char *base, hn_arena *a, hn_happening **out,
                          size_t *n, hone_err *err);

/* out->path NULL: there is none. */
hone_rc hn_serving_get(hone_store *s, const char *base, hn_arena *a, hn_serving *out, hone_err *err);
/* path NULL: the base answers again. */
hone_rc hn_serving_put(hone_store *s, const hn_serving *serving, const hn_happening *event, hone_err *err);

/* Hashes of files by what tells that they changed. hash: "" when not known. */
hone_rc hn_file_hash_get(hone_store *s, const char *path, const char *stamp, char hash[33], hone_err *err);
hone_rc hn_file_hash_put(hone_store *s, const char *path, const char *stamp, const char *hash, hone_err *err);

/* A deployment's lock: held by this store until it is closed, however the process ends. E_BUSY. *fd: -1 before the
 * first; the caller closes it. */
hone_rc hn_deployment_lock(const char *path, int64_t id, int *fd, hone_err *err);

#endif
