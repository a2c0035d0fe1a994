/* serve/canary.h — a process of its own that runs two versions of a model: NOW, which the server answers with, and
 * NEXT, which is on trial. What NEXT does to its process is not done to the server.
 *
 * The process is a fork of the nursery, which is itself forked before the server has threads, models or clients.
 */
#ifndef HN_SERVE_CANARY_H
#define HN_SERVE_CANARY_H

#include "serve/wire.h"

#include <hone/serve.h>

/* nursery.c */
typedef struct hn_nursery {
    int fd;  /* -1: there is none */
    int pid; /* of its guardian */
} hn_nursery;
hone_rc hn_nursery_open(hn_nursery *n, hone_err *err);
void hn_nursery_close(hn_nursery *n);
/* A process that runs hn_canary_child on one end of a pair of sockets; *fd: the other end, that does not block. When it
 * is closed the process ends, whatever it does. */
hone_rc hn_nursery_child(hn_nursery *n, int *fd, hone_err *err);

/* canary_child.c: what the process does. Reads frames from fd. */
_Noreturn void hn_canary_child(int fd);

/* What it is told to open. */
typedef struct hn_canary_plan {
    const char *now, *next; /* paths */
    double tolerance;       /* of outputs: rtol, and a tenth of it atol; of log-probabilities. Negative: the usual */
    uint32_t n_threads;
    int64_t context;
    const char *cache;
    bool exact, no_parity;
} hn_canary_plan;
void hn_put_plan(hn_str *s, const hn_canary_plan *p);
bool hn_get_plan(hn_wire_reader *r, hn_canary_plan *p);

/* What came of a request that both ran, in turns: NOW NEXT NEXT NOW, or the other way round. */
typedef struct hn_wire_sample {
    int64_t rc_now, rc_next;    /* of runs that failed */
    int64_t runs;               /* of each version; of a language model steps */
    double now_s, next_s;       /* of all of them */
    int64_t compared, elements; /* answers of NEXT, and elements in them */
    int64_t differing;          /* of these; 0 where NOW does not agree with itself */
    const char *text;           /* what differs, or why NEXT failed */
} hn_wire_sample;
void hn_put_sample(hn_str *s, const hn_wire_sample *x);
bool hn_get_sample(hn_wire_reader *r, hn_wire_sample *x);

#endif
