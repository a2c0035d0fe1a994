/* hone/serve.h — models behind HTTP: language models by OpenAI's calls, other models by the Open Inference Protocol.
 *
 *     hone_serve_options o = hone_serve_defaults();
 *     o.model = (const char *const[]){"model.gguf"}, o.n_model = 1, o.port = 8000;
 *     hone_serve_run(&o, &err);                                   returns when *o.stop was set and all answers are out
 *
 * One thread speaks HTTP, one runs the models (with their kernels' threads). docs/serve.md has the calls.
 * Units:   seconds, bytes, tokens.   Threads: the calling one speaks HTTP.
 * Errors:  E_IO (the address is taken, a file cannot be read), E_USAGE (names), E_INPUT (a keys file), and those of
 *          opening the models.
 */
#ifndef HONE_SERVE_H
#define HONE_SERVE_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_serve_options {
    size_t size;
    const char *const *model; /* paths, or NAME=PATH: GGUF files and folders of language models, ONNX, libraries */
    size_t n_model;
    const char *host;               /* NULL: 127.0.0.1 */
    uint16_t port;                  /* 0: a free one, which on_ready is told */
    uint32_t n_threads;             /* of each model's kernels; 0: processors */
    uint32_t at_once;               /* requests in a language model's step at most; 0: 32 */
    uint32_t step_tokens;           /* tokens of a step at most, answers first, then prompts; 0: 256 */
    uint32_t max_queue;             /* requests that wait, of all models together; beyond: 429. 0: 256 */
    int64_t context, cached_tokens; /* as hone_text_options */
    const char *cache;
    bool exact, no_parity;
    double batch_delay_s;  /* other models: how long a request waits for others to share its run; 0: not at all */
    uint32_t max_batch;    /* rows of such a run; 0: 32 */
    const char *key_file;  /* a key a line, `KEY [NAME [REQUESTS_AT_ONCE]]`; NULL: no keys are asked for */
    const char *log;       /* a file, "-" for stderr: a line of JSON a request; NULL: none */
    size_t max_body_b;     /* 0: 32 MiB */
    double read_timeout_s; /* a request that is not whole by then ends its connection; 0: 30 */
    double idle_timeout_s; /* 0: 300 */
    double drain_s;        /* how long answers may take when *stop is set; 0: 30 */
    const volatile int *stop;
    /* Called once, when loading is over. */
    void (*on_ready)(void *arg, const char *host, uint16_t port);
    void *on_ready_arg;
    bool require_all; /* a model that cannot be loaded ends the server; else the others are served, if there are any */
    /* A model answers nothing: it could not be loaded, or its file was changed. Gets on_ready_arg. */
    void (*on_broken)(void *arg, const char *model, const hone_err *why);
    const char *admin; /* the socket of admin calls; NULL: hone_serve_admin_path, "": none */
    /* Words for people: what became of deployments, and why there is no socket at the usual path. On the HTTP thread.
     */
    void (*on_note)(void *arg, const char *text);
    void *on_note_arg;
    const char *tls_cert, *tls_key; /* files in PEM, the certificate with its chain: HTTPS alone; NULL: no TLS */
    const volatile int *reload;     /* whenever it changes, the certificate is read and the log opened anew */
    void (*on_reload)(void *arg, const hone_err *why); /* when that was done; why NULL: it went well */
    const char *store;   /* of deployments and of what is asked for (hone/rollout.h); NULL: hone_rollouts_path() */
    bool no_traffic;     /* sizes and times of requests are not counted there */
    int64_t kept_tokens; /* as hone_text_options */
} hone_serve_options;
static inline hone_serve_options hone_serve_defaults(void) {
    hone_serve_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

/* For the host's handler of SIGBUS, with the address that faulted: a page of weights whose file was cut is replaced by
 * zeros, its model fails, and the others go on. false: it was something else, and is to end the process. Installs
 * nothing; safe in a handler, from any thread. */
HONE_API bool hone_serve_lost(const void *address);

HONE_API hone_rc hone_serve_run(const hone_serve_options *options, hone_err *err);

/* --- admin calls: HTTP and JSON on a UNIX socket that its owner alone can open (docs/serve.md lists the calls) --- */

/* Where a server on this port has its socket: $XDG_RUNTIME_DIR/hone/serve-PORT.sock, else in the cache folder,
 * ~/.cache/hone/serve-PORT.sock. Free with hone_free; NULL: no memory. */
HONE_API char *hone_serve_admin_path(uint16_t port);
/* One call: body NULL is a GET, else a POST of this JSON text. *reply: JSON; hone_free. Waits for the answer, which
 * takes as long as a version needs to open. A failure of the call is one of this function: the same rc and text.
 * E_NOTFOUND: no server has that socket. */
HONE_API hone_rc hone_serve_ask(const char *socket, const char *path, const char *body, char **reply, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
