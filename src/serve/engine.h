/* serve/engine.h — the thread that runs models: jobs come in, pieces and ends of answers go out.
 *
 * Owns:    its models; a job from hn_runner_submit on until the event of its end is taken.
 * Threads: one hands jobs in and takes events; `fd` becomes readable when there are some.
 * Errors:  E_BUSY (the queue is full), E_NOMEM, and those of opening the models.
 */
#ifndef HN_SERVE_ENGINE_H
#define HN_SERVE_ENGINE_H

#include "serve/figures.h"
#include "serve/lost.h"
#include "serve/traffic_count.h"
#include "serve/waiting.h"

#include <hone/artifact.h>
#include <hone/serve.h>

enum { HN_AT_ONCE = 64 };

/* Why a model answers nothing: it was never loaded, or its file is not what it was. */
typedef enum hn_broken { HN_WHOLE, HN_NOT_LOADED, HN_DAMAGED } hn_broken;

/* One version of a model that is served. Several versions of one name may be open at a time: the one that answers, the
 * one before it, and those that still have calls under way. */
typedef struct hn_served {
    char *name, *path;
    char version[40]; /* of what was loaded: hone_rollout_version_name */
    bool language;
    hone_text *text;
    hone_artifact *library;
    const hone_model *model;
    bool joins; /* requests may share a run: the first dimension of all inputs and outputs is one symbol */
    double loaded_s;
    hn_lost_file weights; /* that its library maps */
    atomic_int broken;    /* a hn_broken; `why` was written before */
    hone_err why;
    bool told;           /* of the HTTP thread: who started the server knows that it is broken */
    hn_figures *figures; /* the runner's */
    /* of the HTTP thread */
    size_t n_calls; /* that point to it */
    bool retired;   /* no call will be given to it any more: it is closed when its last one has ended */
    /* of the engine's thread */
    struct hn_served *next, *gone_next; /* in its lists */
    hn_waiting waiting;
    hn_task *running[HN_AT_ONCE];
    size_t n_running, n_paused;     /* the last n_paused wait for memory */
    hn_task *embedding[HN_AT_ONCE]; /* the first is under way */
    size_t n_embedding;
    bool embedding_waits; /* for memory of keys and values, which answers have */
} hn_served;

/* A version that a thread of its own opens; compiling it may take minutes. */
typedef struct hn_load {
    struct hn_runner *engine;
    hn_served *model;
    char *base;     /* where the store of deployments is to know the contents of both: the base's path, else NULL */
    bool read_only; /* for that alone: the model is not opened */
    hone_rc rc;
    hone_err why;
    double seconds;
    pthread_t thread;
    /* On the HTTP thread, when it is over; takes the model by setting it to NULL, else it is closed. */
    void (*then)(void *arg, struct hn_load *l);
    void *arg;
} hn_load;

/* What happened to a job, for the HTTP thread; or to a version. */
typedef struct hn_event {
    struct hn_event *next;
    hn_task *job; /* NULL: the event is of a version */
    hn_load *load;
    hn_served *closed; /* it is to be freed */
    bool done;         /* nothing comes behind it: the job is the HTTP thread's again */
    char *text;
    size_t n_text;
    size_t n, n_top; /* tokens, where log-probabilities are wanted: */
    int32_t *token;
    double *logprob;
    hone_text_top *top;
} hn_event;

typedef struct hn_runner {
    const hone_serve_options *o;
    /* of the HTTP thread, once all are loaded: of each name the version that answers, and the one that answered before
     * and stays open, so that it can answer again at once; NULL: none */
    hn_served **model, **before;
    char **base; /* of each name the path that o->model has */
    size_t n_model;
    hn_figures **figures; /* of all versions that there were */
    size_t n_figures;
    hn_load *load; /* under way; NULL: none */
    hone_serve_options load_o;
    volatile int stop_load;
    hn_served *live;           /* of the engine's thread */
    hn_traffic_count *traffic; /* NULL: nothing is counted */
    int fd;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    hn_task *in;
    hn_event *out, *out_last;
    hn_served *coming, *going; /* versions that the engine's thread takes up, and closes */
    bool stop, loaded, dead;
    uint32_t n_queued; /* submitted, not begun */
    hone_err why;      /* dead: why */
} hn_runner;

/* o is borrowed; its defaults are filled in. answers: the path of what answers in place of one that o names, malloc'ed;
 * NULL: that. */
hone_rc hn_runner_start(const hone_serve_options *o, char *(*answers)(void *arg, const char *base), void *arg,
                        hn_runner **out, hone_err *err);
/* Ends what is under way, and frees what nobody took. */
void hn_runner_free(hn_runner *e);
/* All n or none. */
hone_rc hn_runner_submit(hn_runner *e, hn_task **jobs, size_t n, hone_err *err);
hone_rc hn_runner_again(hn_runner *e, hn_task *j, hone_err *err); /* as submit, of what was let in before */
void hn_runner_wake(hn_runner *e);
/* The list of what is new, to be freed with hn_event_free each; NULL: nothing. */
hn_event *hn_runner_events(hn_runner *e);
void hn_event_free(hn_event *h);
/* Whether loading is over, and a model at least is there; *why: or that none is (rc is not 0 then). */
bool hn_runner_ready(hn_runner *e, hone_err *why);
void hn_served_break(hn_served *m, hn_broken how, const hone_err *why); /* of the engine's thread */
uint32_t hn_runner_queued(hn_runner *e);                                /* handed in, not begun */
/* From any thread; HN_WHOLE leaves *why as it is. */
hn_broken hn_served_broken(const hn_served *m, hone_err *why);

/* --- replace.c: of the HTTP thread --- */

hone_rc hn_runner_name(hn_runner *e, hone_err *err);        /* the versions that o->model names, not open yet */
void hn_runner_close(hn_runner *e);                         /* the engine's thread has ended */
hn_served *hn_runner_model(hn_runner *e, const char *name); /* that answers; NULL: no such name */
hn_figures *hn_runner_figures(hn_runner *e, const char *name, const char *version); /* NULL: no memory */
size_t hn_runner_at(const hn_runner *e, const char *name);                          /* n_model: no such name */
/* Calls that a version has. When the last call of one that is retired ends, it is closed. */
void hn_served_use(hn_served *m);
void hn_served_release(hn_runner *e, hn_served *m);
/* Begins to open a version. base: NULL, or where the store is to know the contents of both. E_BUSY: another is being
 * opened. `then` is called from hn_runner_take. */
hone_rc hn_runner_load(hn_runner *e, const char *name, const char *base, const char *path,
                       void (*then)(void *arg, hn_load *l), void *arg, hone_err *err);
/* The same, but the contents of base and path are read alone, for the store: nothing that follows waits for them. */
hone_rc hn_runner_read(hn_runner *e, const char *name, const char *base, const char *path,
                       void (*then)(void *arg, hn_load *l), void *arg, hone_err *err);
/* Can m take the calls of `now`? E_MISMATCH says what differs. */
hone_rc hn_served_fits(const hn_served *now, const hn_served *m, hone_err *err);
/* From now on m answers calls for e->model[at], and what answered is e->before[at]. m: opened by hn_runner_load, or
 * e->before[at]. */
hone_rc hn_runner_put(hn_runner *e, size_t at, hn_served *m, hone_err *err);
void hn_runner_forget(hn_runner *e, size_t at); /* closes e->before[at] */
void hn_runner_take(hn_runner *e, hn_event *h); /* an event without a job */

/* --- between the engine's files --- */

hn_event *hn_event_new(void); /* waits for memory: the end of a job must arrive */
void hn_runner_post(hn_runner *e, hn_event *h);
void hn_runner_stop_load(hn_runner *e);         /* and waits for it */
void hn_runner_begun(hn_runner *e, hn_task *j); /* it waits no longer */
/* The job's end, by its rc and why. */
void hn_runner_finish(hn_runner *e, hn_served *m, hn_task *j);
/* E_INTERRUPTED or E_LIMIT as rc, for a job that hn_waiting_late would take; false: it is neither gone nor late. */
bool hn_task_late(hn_task *j, double now_s);
/* open.c */
hone_rc hn_served_open(hn_served *m, const hone_serve_options *o, hone_err *err);
void hn_served_close(hn_served *m); /* what is large; the engine's thread */
void hn_served_free(hn_served *m);  /* closed before */
/* Behind a run: true where its weights were cut or changed, so that what it gave is not to be used. It is broken then.
 */
bool hn_served_lost(hn_served *m);
/* embedding_turn.c: one step of the vector that came first. */
void hn_embedding_begin(hn_runner *e, hn_served *m, hn_task *j);
void hn_embedding_turn(hn_runner *e, hn_served *m);
void hn_embedding_end(hn_runner *e, hn_served *m, size_t at); /* by its rc and why */
/* text_turn.c, tensor_turn.c: one run of the model for those who are there. True: there is more to do at once; *due_s:
 * lowered to when there will be. */
bool hn_text_turn(hn_runner *e, hn_served *m);
bool hn_tensor_turn(hn_runner *e, hn_served *m, double *due_s);

#endif
