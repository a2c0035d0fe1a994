/* serve/deploy.h — a deployment under way: between deploy.c, which keeps it going, and deploy_calls.c. */
#ifndef HN_SERVE_DEPLOY_H
#define HN_SERVE_DEPLOY_H

#include "base/rng.h"
#include "serve/http.h"

typedef struct hn_ongoing {
    hn_server *s;
    size_t at; /* the engine's model */
    int64_t id;
    bool shadow;
    hone_rollout_rules rules;
    double began_s;                     /* Unix time */
    char *now, *next;                   /* paths */
    char version[40];                   /* of NEXT */
    hn_figures *figures;                /* of NEXT */
    hn_tryout *trial;                   /* NULL: it is to be started again */
    hone_rollout_evidence total, fresh; /* fresh: counts that are not stored yet */
    double *ratio;
    size_t room, n_stored;
    hone_rollout_decision last;
    bool opened, dead, news, loading, held, stopped;
    hone_rollout_reason held_why;
    hone_rc refused; /* NEXT cannot be tried: why */
    hone_err why;
    double looked_s, stored_s, again_s;
    hn_http_call *call; /* that began it, and waits until both versions are open */
    hn_rng coin;
} hn_ongoing;

hn_ongoing *hn_ongoing_new(hn_server *s, size_t at);
void hn_ongoing_free(hn_ongoing *d);
hone_rc hn_ongoing_start(hn_ongoing *d, hone_err *err); /* the trial; d is of the server then */
hone_rc hn_ongoing_conclude(hn_ongoing *d, const hone_rollout_decision *x, hone_err *err);
void hn_ongoing_event(hn_ongoing *d, const char *kind, const char *text);
void hn_ongoing_began(hn_ongoing *d); /* replies to the call that waits */

#endif
