/* serve/engine.h — the thread that runs models: jobs come in, pieces and ends of answers go out.
 *
 * Owns:    its models; a job from hn_runner_submit on until the event of its end is taken.
 * Threads: one hands jobs in and takes events; `fd` becomes readable when there are some.
 * Errors:  E_BUSY (the queue is full), E_NOMEM, and those of opening the models.
 */
#ifndef HN_SERVE_ENGINE_H
#define HN_SERVE_ENGINE_H

#include "serve/figures.h"
#include "serve/waiting.h"

#include <hone/artifact.h>
#include <hone/serve.h>

enum { HN_AT_ONCE = 64 };

/* Why a model answers nothing: it was never loaded, or its file is not what it was. */
typedef enum hn_broken { HN_WHOLE, HN_NOT_LOADED, HN_DAMAGED } hn_broken;

/* A model that is served. */
typedef struct hn_served {
    char *name, *path;
    char version[40]; /* of what was loaded: size and time of the file */
    bool language;
    hone_text *text;
    hone_artifact *library;
    const hone_model *model;
    bool joins; /* requests may share a run: the first dimension of all inputs and outputs is one symbol */
    double loaded_s;
    atomic_int broken; /* a hn_broken; `why` was written before */
    hone_err why;
    bool told; /* of the HTTP thread: who started the server knows that it is broken */
    hn_figures figures;
    /* of the engine's thread */
    hn_waiting waiting;
    hn_task *running[HN_AT_ONCE];
    size_t n_running, n_paused;     /* the last n_paused wait for memory */
    hn_task *embedding[HN_AT_ONCE]; /* the first is under way */
    size_t n_embedding;
    bool embedding_waits; /* for memory of keys and values, which answers have */
} hn_served;

/* What happened to a job, for the HTTP thread. */
typedef struct hn_event {
    struct hn_event *next;
    hn_task *job;
    bool done; /* nothing comes behind it: the job is the HTTP thread's again */
    char *text;
    size_t n_text;
    size_t n, n_top; /* tokens, where log-probabilities are wanted: */
    int32_t *token;
    double *logprob;
    hone_text_top *top;
} hn_event;

typedef struct hn_runner {
    const hone_serve_options *o;
    hn_served *model;
    size_t n_model;
    int fd;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    hn_task *in;
    hn_event *out, *out_last;
    bool stop, loaded, dead;
    uint32_t n_queued; /* submitted, not begun */
    hone_err why;      /* dead: why */
} hn_runner;

/* o is borrowed; its defaults are filled in. */
hone_rc hn_runner_start(const hone_serve_options *o, hn_runner **out, hone_err *err);
/* Ends what is under way, and frees what nobody took. */
void hn_runner_free(hn_runner *e);
/* All n or none. */
hone_rc hn_runner_submit(hn_runner *e, hn_task **jobs, size_t n, hone_err *err);
void hn_runner_wake(hn_runner *e);
/* The list of what is new, to be freed with hn_event_free each; NULL: nothing. */
hn_event *hn_runner_events(hn_runner *e);
void hn_event_free(hn_event *h);
/* Whether loading is over, and a model at least is there; *why: or that none is (rc is not 0 then). */
bool hn_runner_ready(hn_runner *e, hone_err *why);
hn_served *hn_runner_model(hn_runner *e, const char *name);             /* NULL: no such one */
void hn_served_break(hn_served *m, hn_broken how, const hone_err *why); /* of the engine's thread */
uint32_t hn_runner_queued(hn_runner *e);                                /* handed in, not begun */
/* From any thread; HN_WHOLE leaves *why as it is. */
hn_broken hn_served_broken(const hn_served *m, hone_err *why);

/* --- between the engine's files --- */

void hn_runner_post(hn_runner *e, hn_event *h);
void hn_runner_begun(hn_runner *e, hn_task *j); /* it waits no longer */
/* The job's end, by its rc and why. */
void hn_runner_finish(hn_runner *e, hn_served *m, hn_task *j);
/* E_INTERRUPTED or E_LIMIT as rc, for a job that hn_waiting_late would take; false: it is neither gone nor late. */
bool hn_task_late(hn_task *j, double now_s);
/* open.c */
hone_rc hn_served_open(hn_served *m, const hone_serve_options *o, hone_err *err);
void hn_served_close(hn_served *m);
/* embedding_turn.c: one step of the vector that came first. */
void hn_embedding_begin(hn_runner *e, hn_served *m, hn_task *j);
void hn_embedding_turn(hn_runner *e, hn_served *m);
void hn_embedding_end(hn_runner *e, hn_served *m, size_t at); /* by its rc and why */
/* text_turn.c, tensor_turn.c: one run of the model for those who are there. True: there is more to do at once; *due_s:
 * lowered to when there will be. */
bool hn_text_turn(hn_runner *e, hn_served *m);
bool hn_tensor_turn(hn_runner *e, hn_served *m, double *due_s);

#endif
