/* serve/job.h — one answer that is asked of a model, on its way from the HTTP thread to the engine's and back.
 *
 * The HTTP thread makes a job and hands it over with hn_runner_submit. From then on it may set `gone` alone, until it
 * has taken the event of its end: then it is the HTTP thread's again.
 */
#ifndef HN_SERVE_JOB_H
#define HN_SERVE_JOB_H

#include "language/slot.h"

#include <hone/array.h>
#include <stdatomic.h>

struct hn_served;
struct hn_http_call;

typedef struct hn_task {
    struct hn_served *model;
    struct hn_http_call *call; /* of the HTTP thread */
    size_t index;              /* among the call's */
    uint32_t trial_id;         /* where NEXT is to answer it: its number there; else 0 */
    atomic_int gone;           /* nobody waits for the answer */
    /* Order: */
    uint64_t client;
    int64_t priority;               /* the lower, the earlier */
    double arrived_s, deadline_s;   /* by hn_now_s; deadline 0: none */
    const struct hn_task *first;    /* goes before this one, which has the same prompt; NULL: none */
    bool begun, prompt_done, ended; /* of the engine */
    /* A language model's: */
    hone_text_generate_options ask;
    bool stream, want_logprobs;
    hn_slot *slot;
    size_t n_told, n_found;
    double first_s, last_s;
    hone_text_answer answer; /* of an embedding n_prompt alone */
    bool embed;              /* a vector is asked for */
    hone_text_pooling pooling;
    struct hn_embedding *embedding;
    int32_t *token; /* that it is of */
    float *vector;  /* hone_text_width */
    /* Another model's: */
    hone_array *in, *out;
    size_t n_in, n_out;
    int64_t rows; /* in the symbolic batch; 0: cannot be joined with others */
    /* The end: */
    hone_rc rc;
    hone_err why;
    struct hn_task *next; /* in a list of the engine's */
    struct hn_runner *engine;
} hn_task;

#endif
