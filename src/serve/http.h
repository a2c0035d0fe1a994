/* serve/http.h — a call of a client: who asks, the jobs it became, the reply.
 *
 * Threads: the HTTP thread alone.
 */
#ifndef HN_SERVE_HTTP_H
#define HN_SERVE_HTTP_H

#include "serve/canary.h"
#include "serve/engine.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <hone/rollout.h>
#include <jansson.h>

typedef struct hn_key {
    char *key, *name;
    uint64_t most, now; /* answers at once; most 0: any number */
} hn_key;

typedef struct hn_server {
    hone_serve_options o;
    hn_runner *engine;
    struct event_base *base;
    struct evhttp *http;
    struct evhttp_bound_socket *bound;
    struct hn_guard *guard;
    struct hn_tls *tls; /* NULL: none */
    int reloaded;
    struct event *on_event, *tick;
    struct evhttp *admin; /* the socket of admin calls; NULL: none */
    char *admin_path;
    hn_nursery nursery;
    hone_rollouts *store;           /* NULL: not open yet */
    struct hn_ongoing **deployment; /* under way, of each of the engine's models; NULL: none */
    struct hn_http_call *calls;
    size_t n_calls, n_writing; /* under way; replies whose last bytes are not out */
    hn_key *key;
    size_t n_key;
    FILE *log;
    hn_figures figures;       /* of calls without a model */
    bool told, ending, drain; /* drain: it is to end */
    double begin_s, end_s, looked_s;
    uint64_t next_id, n_asked; /* n_asked: calls that were handed to a model */
    hone_err why;              /* why it ended */
} hn_server;

typedef enum hn_http_form { HN_FORM_COMPLETION, HN_FORM_CHAT, HN_FORM_EMBEDDING, HN_FORM_TENSOR } hn_http_form;

/* Tools of a chat. */
typedef enum hn_tool_style { HN_TOOLS_NONE, HN_TOOLS_TAGGED, HN_TOOLS_BARE, HN_TOOLS_FORCED } hn_tool_style;

typedef struct hn_choice {
    hn_str text;    /* of a stream, so far */
    size_t n_given; /* bytes that the client has; of chats with tools */
    size_t n_tokens;
    bool begun, called;
    hn_str sent;   /* of a stream that NEXT gave, */
    size_t n_skip; /* its last bytes that NOW, which began again, has not given yet */
    bool torn;     /* and gives others */
    bool failed;   /* NEXT did, without a crash */
} hn_choice;

typedef struct hn_http_call {
    hn_server *server;
    struct evhttp_request *request; /* NULL: the client is gone */
    struct hn_http_call *next, **at;
    hn_http_form form;
    hn_served *model;
    const char *version; /* of the one that answered, where it is NEXT; NULL: the model's */
    hn_figures *figures; /* likewise */
    hn_key *key;
    char id[48], *path, *why;
    double arrived_s, created_s;
    int status;
    json_t *body;
    /* what jobs point to */
    char *prompt_text, *schema;
    int32_t **token;
    size_t n_token;
    const char **stop;
    hone_text_bias *bias;
    hn_task **job;
    hn_choice *choice;
    size_t n_job, n_done, n_per_prompt, charged;
    bool stream, started, usage, binary, quiet;
    bool held; /* an admin call that waits for something that is no job */
    uint32_t n_top;
    size_t n_dimension; /* of vectors */
    bool base64;
    hn_tool_style tools;
} hn_http_call;

/* --- call.c --- */
int hn_status_of(hone_rc rc);
/* Replies and ends the call; `json` is given away. */
void hn_http_reply(hn_http_call *c, int status, json_t *json);
void hn_http_reply_data(hn_http_call *c, int status, const char *type, struct evbuffer *data);
void hn_http_fail(hn_http_call *c, int status, const char *text);
/* One event of a stream; the first begins the reply. */
void hn_http_event(hn_http_call *c, json_t *json);
void hn_http_end_stream(hn_http_call *c);
/* Hands the jobs over, or replies why not. */
void hn_http_submit(hn_http_call *c);
void hn_http_use(hn_http_call *c, hn_served *m); /* the version that answers it; NULL is accepted */
hn_task *hn_http_job(hn_http_call *c);           /* one more; NULL: no memory */
void hn_http_watch(hn_http_call *c); /* from its request on: that the client goes, or never reads, is seen */
void hn_http_end(hn_http_call *c);   /* the reply is out, or nobody is there to have it, and no job is under way */
/* --- page.c --- */
void hn_page_call(hn_http_call *c);
/* --- status.c --- */
void hn_status_live(hn_http_call *c);
void hn_status_all_ready(hn_http_call *c);
void hn_status_health(hn_http_call *c);
void hn_status_ready(hn_http_call *c);
void hn_status_call(hn_http_call *c);
hn_http_call *hn_http_begin(hn_server *s, struct evhttp_request *request); /* NULL: replied that there is no memory */
/* --- routes.c --- */
bool hn_http_broken(hn_http_call *c); /* true: its model answers nothing, and the reply says why */
void hn_http_route(hn_http_call *c, bool post);
bool hn_http_read_body(hn_http_call *c); /* a JSON object; false: replied that it is none */
/* --- admin.c: calls on a socket of its own --- */
hone_rc hn_admin_open(hn_server *s, uint16_t port, hone_err *err);
void hn_admin_close(hn_server *s);
void hn_admin_fail(hn_http_call *c, hone_rc rc, const hone_err *why);
json_t *hn_admin_model(hn_server *s, size_t at); /* its versions */
/* --- trial.c: requests to the process that runs both versions, and what comes back --- */
typedef struct hn_tryout hn_tryout;
/* What a trial tells, on the HTTP thread; it must not be closed from there. `died` is its last word. */
typedef struct hn_tryout_ear {
    void (*opened)(void *arg, hone_rc rc, const char *text_or_now, const char *next); /* versions, or why not */
    void (*sampled)(void *arg, const hn_wire_sample *x);
    void (*answered)(void *arg, size_t runs); /* a client's request; one that failed is NOW's again */
    /* version: that ran, -1 none; signal 0: it was killed, or hung (why says so). */
    void (*died)(void *arg, int version, int signal, const char *why);
    void *arg;
} hn_tryout_ear;
hone_rc hn_tryout_open(hn_server *s, const hn_canary_plan *plan, const hn_tryout_ear *ear, hn_tryout **out,
                       hone_err *err);
void hn_tryout_close(hn_tryout *t); /* its requests are NOW's again; NULL is accepted */
bool hn_tryout_ready(const hn_tryout *t);
bool hn_tryout_take(hn_tryout *t, hn_http_call *c);    /* false: it has enough to do, and NOW is to answer */
bool hn_tryout_sample(hn_tryout *t, const hn_task *j); /* false: not now */
void hn_tryout_tick(hn_tryout *t, double now_s);
/* A piece of NOW's answer in place of NEXT's: without what the client has. False: they differ. */
bool hn_tryout_merge(hn_choice *x, hn_event *h);
/* --- deploy.c: of the engine's model number `at` --- */
void hn_deploy_open(hn_server *s);                    /* the store, where there is one */
char *hn_deploy_path(void *server, const char *base); /* of the version that is to answer; NULL: the base */
void hn_deploy_resume(hn_server *s); /* what was under way when a server ended; once the models are loaded */
void hn_deploy_close(hn_server *s);
void hn_deploy_begin(hn_http_call *c, size_t at);
void hn_deploy_revert(hn_http_call *c, size_t at);
void hn_deploy_history(hn_http_call *c);
void hn_deploy_tick(hn_server *s, double now_s);
bool hn_deploy_take(hn_http_call *c);                       /* true: NEXT answers this call */
json_t *hn_deploy_json(const hn_server *s, size_t at);      /* what is under way; null */
void hn_deploy_retried(const hn_http_call *c, bool failed); /* NOW answered, or failed, where NEXT failed */
void hn_deploy_figures(const hn_server *s, hn_str *out);
/* --- server.c --- */
void hn_server_take(hn_server *s, hn_event *h);                            /* frees it */
void hn_server_note(hn_server *s, const char *fmt, ...) HONE_PRINTF(2, 3); /* for people, and into the log */
/* --- keys.c --- */
hone_rc hn_keys_read(const char *path, hn_key **out, size_t *n, hone_err *err);
void hn_keys_free(hn_key *key, size_t n);
hn_key *hn_keys_find(hn_key *key, size_t n, const char *bearer);
/* --- guard.c: connections whose requests take too long to come are ended --- */
typedef struct hn_guard hn_guard;
struct hn_tls;
hn_guard *hn_guard_new(double limit_s, struct hn_tls *tls); /* tls: NULL: none */
void hn_guard_free(hn_guard *g);
void hn_guard_listener(hn_guard *g,
                       struct evconnlistener *listener); /* it rests while there are too many; NULL: closed */
struct bufferevent *hn_guard_watch(struct event_base *base, void *guard); /* for evhttp_set_bevcb */
void hn_guard_whole(hn_guard *g, struct evhttp_connection *con);          /* a request is there */
void hn_guard_gone(hn_guard *g, struct evhttp_connection *con);           /* before its socket is closed */
void hn_guard_between(hn_guard *g, struct evhttp_connection *con);        /* no request: the guard is told of its end */
void hn_guard_sweep(hn_guard *g, double now_s);
/* --- request.c: the body of /v1/completions or /v1/chat/completions becomes jobs --- */
hone_rc hn_request_text(hn_http_call *c, hone_err *err);
/* A text or a list of tokens, which the body has by the name `key`. */
hone_rc hn_request_prompt(hn_http_call *c, const char *key, const json_t *v, hone_text_generate_options *r,
                          hone_err *err);
/* Is it a list of texts or of lists of tokens? */
bool hn_request_several(const json_t *v);
/* n jobs of one prompt; those behind the first find what it computed. */
hone_rc hn_request_jobs(hn_http_call *c, const hone_text_generate_options *r, bool want_logprobs, int64_t n,
                        hone_err *err);
/* --- embeddings.c --- */
hone_rc hn_embeddings_request(hn_http_call *c, hone_err *err);
void hn_embeddings_end(hn_http_call *c);
/* --- answer.c --- */
void hn_answer_piece(hn_http_call *c, const hn_event *h);
void hn_answer_end(hn_http_call *c, hn_task *j); /* of one job; the reply behind the last one */
/* --- tensors.c: the Open Inference Protocol --- */
void hn_tensors_call(hn_http_call *c, const char *path);
/* The body as a job; length: of the JSON in front of binary tensors, as the header says; NULL: it is all JSON. */
hone_rc hn_tensors_read(hn_http_call *c, const char *text, size_t n, const char *length, hone_err *err);
const char *hn_tensors_type(int32_t dtype); /* "FP32"; "UNKNOWN" */
json_t *hn_tensors_ports(const hone_model_port *p, int32_t n);
void hn_tensors_end(hn_http_call *c, hn_task *j);
/* --- triton.c: what clients of Triton ask beyond that protocol --- */
void hn_triton_config(hn_http_call *c);
void hn_triton_stats(hn_http_call *c); /* of the call's model; NULL: of all */
void hn_triton_index(hn_http_call *c);
/* --- tools.c --- */
hone_rc hn_tools_prompt(hn_http_call *c, char **prompt, size_t *n_prompt, hone_err *err);
/* Calls in the text of one choice as OpenAI writes them, NULL: none; *n_front: bytes of text in front of them. */
json_t *hn_tools_calls(const hn_http_call *c, size_t choice, const char *text, size_t n, size_t *n_front);
size_t hn_tools_certain(const hn_http_call *c, const char *text, size_t n); /* bytes that are no call, whatever comes */

#endif
