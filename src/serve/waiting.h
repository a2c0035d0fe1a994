/* serve/waiting.h — jobs that wait for a model: which comes next.
 *
 * The lowest priority number first; among those the client that was served longest ago; among its jobs the one that
 * came first. A job whose `first` has not got its prompt through yet is passed over: its prompt is found then.
 * Owns: nothing of the jobs.   Threads: one.
 */
#ifndef HN_SERVE_WAITING_H
#define HN_SERVE_WAITING_H

#include "serve/job.h"

typedef struct hn_turn {
    uint64_t client, served;
} hn_turn;
enum { HN_TURNS = 256 }; /* clients that are remembered; of others the one served longest ago is forgotten */

typedef struct hn_waiting {
    hn_task *first, *last;
    size_t n;
    hn_turn turn[HN_TURNS];
    uint64_t clock;
} hn_waiting;

void hn_waiting_add(hn_waiting *w, hn_task *j);
/* Takes the next one out; NULL: there is none that may go. */
hn_task *hn_waiting_next(hn_waiting *w);
/* Takes one out that is gone or too late by now; NULL: none is. */
hn_task *hn_waiting_late(hn_waiting *w, double now_s);

#endif
