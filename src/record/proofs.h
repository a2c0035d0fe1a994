/* record/proofs.h — recorded proofs: this room stores them as rows of text; only the prove room interprets them.
 *
 * Errors: E_STORE, E_BUSY, E_NOMEM.   Threads: one at a time per store.
 */
#ifndef HN_PROOFS_H
#define HN_PROOFS_H

#include "base/arena.h"

#include <hone/record.h>

typedef struct hn_proof_row {
    int64_t session; /* 0: of no session */
    const char *workload_hash, *point;
    bool kept;
    const char *why, *verdict;
    double at_s;      /* Unix time */
    const char *body; /* JSON, all of the proof */
} hn_proof_row;

/* Appends a row in one transaction; needs no session lock, as nothing of the session is changed. */
hone_rc hn_proofs_add(hone_store *store, const hn_proof_row *row, hone_err *err);
/* Bodies of a session's proofs, the newest first, in the arena. */
hone_rc hn_proofs_texts(hone_store *store, int64_t session, hn_arena *a, const char ***text, size_t *n, hone_err *err);

#endif
