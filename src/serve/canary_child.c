/* canary_child.c — the process that runs both versions, one request after another.
 *
 * A request that a client waits for goes first, also between the runs of a sample. The times of a sample are those of
 * the runs alone. A language model forgets prompts before each run, so that no run finds what another has computed. */
#include "assess/agree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "language/language_int.h"
#include "serve/canary.h"
#include "serve/engine.h"

#include <errno.h>
#include <hone/import.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    QUEUE = 8,
    LEGS = 4,
    MOST_RUNS = 16,
    TOKENS = 24,
    TOPS = 8,
    CHANNEL = 3 /* the socket */,
    STACK_B = 1 << 16,
    HANG_UP = 0x2000 /* POLLRDHUP */
};
static const double leg_s = 0.5e-3; /* short runs are repeated until a leg takes so long */
static const double slow_s = 5e-3;
static const double logprob_tolerance = 0.1;

typedef struct request {
    uint32_t id;
    hn_str frame; /* what the task's texts point into */
    hn_task task;
    hn_task_keep keep;
    bool taken;
} request;

/* A request that both run. What each run gave is kept until all are compared. */
typedef struct trial {
    request r;
    int order[LEGS], leg;
    size_t runs;                       /* of a leg */
    double seconds[2];                 /* of all runs of a version */
    int64_t steps[2];                  /* of all answers of a version */
    hone_array *out[2][2 * MOST_RUNS]; /* by version */
    hone_text_answer text[2][2];
    size_t n_out[2];
    bool ran[2];
    hone_rc rc[2];
    hone_err why;
} trial;

typedef struct child {
    int fd;
    hn_served *model[2];
    double *tolerance, atol_rtol; /* of outputs; what the plan says */
    hn_str in;
    request queue[QUEUE];
    size_t n_queue;
    trial t;
    bool busy; /* with a trial */
    bool slow; /* the last run took so long that it needs no warm-up */
    uint32_t cancelled;
    hn_rng coin;
} child;

/* --- frames ------------------------------------------------------------------------------------------------------- */

static void send_bytes(int fd, const void *data, size_t n) {
    for (const char *p = data; n;) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) _exit(0); /* the server is gone */
        p += k;
        n -= (size_t)k;
    }
}

static void send_frame(const child *c, hn_frame_kind kind, uint32_t id, const hn_str *body) {
    hn_wire_head f = {kind, id, body ? body->n : 0};
    if (body && body->failed) _exit(5);
    send_bytes(c->fd, &f, sizeof f);
    if (body && body->n) send_bytes(c->fd, body->text, body->n);
}

static void note_begin(const child *c, int version) { send_frame(c, HN_FRAME_BEGIN, (uint32_t)version, NULL); }

static void take_request(child *c, const hn_wire_head *f, const char *body) {
    request q = {.id = f->id};
    hn_put(&q.frame, body, f->n);
    hn_wire_reader r = {q.frame.text, q.frame.text + q.frame.n, q.frame.failed};
    if (!hn_get_task(&r, &q.task, &q.keep) || c->n_queue == QUEUE) _exit(3);
    if (f->kind == HN_FRAME_SAMPLE) {
        c->t = (trial){.r = q, .runs = 1};
        int first = hn_rng_unit(&c->coin) < 0.5;
        for (int i = 0; i < LEGS; i++) c->t.order[i] = i == 0 || i == 3 ? first : !first;
        c->busy = true;
    } else
        c->queue[c->n_queue++] = q;
}

static void drop_request(request *q) {
    hn_task_drop(&q->task, &q->keep);
    hn_str_free(&q->frame);
}

/* All whole frames that are there; waits for one where there is nothing to do. */
static void receive(child *c, bool wait) {
    char piece[1 << 16];
    struct pollfd p = {c->fd, POLLIN, 0};
    for (bool first = wait; poll(&p, 1, first ? -1 : 0) > 0; first = false) {
        ssize_t n = recv(c->fd, piece, sizeof piece, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(0);
        hn_put(&c->in, piece, (size_t)n);
        if (c->in.failed) _exit(5);
    }
    for (hn_wire_head f; c->in.n >= sizeof f;) {
        memcpy(&f, c->in.text, sizeof f);
        if (c->in.n - sizeof f < f.n) break;
        if (f.kind == HN_FRAME_CANCEL)
            c->cancelled = f.id;
        else
            take_request(c, &f, c->in.text + sizeof f);
        c->in.n -= sizeof f + f.n;
        memmove(c->in.text, c->in.text + sizeof f + f.n, c->in.n);
    }
}

/* --- language models ---------------------------------------------------------------------------------------------- */

typedef struct telling {
    child *c;
    int version;
    request *q; /* NULL: nobody listens */
    hn_slot *slot;
    double told_s; /* when the server last heard of it */
    int64_t steps;
} telling;

/* A long answer is no hang: that it goes on is said now and then. */
static void say_alive(telling *t) {
    static const double often_s = 0.2;
    double now_s = hn_now_s();
    if (now_s < t->told_s + often_s) return;
    note_begin(t->c, t->version);
    t->told_s = now_s;
}

static bool tell(void *arg, const char *text, size_t n) {
    telling *t = arg;
    hn_task *j = &t->q->task;
    receive(t->c, false);
    if (t->c->cancelled == t->q->id) return false;
    if (!j->stream) return true;
    const hone_text_answer *a = hn_slot_answer(t->slot);
    size_t from = j->n_told, new = j->want_logprobs ? a->n - from : 0;
    hn_str s = {0};
    hn_put_bytes(&s, text, n);
    hn_put_bytes(&s, a->token + from, new * sizeof *a->token);
    hn_put_bytes(&s, a->logprob + from, new * sizeof *a->logprob);
    hn_put_bytes(&s, a->top ? a->top + from * a->n_top : NULL, a->top ? new * a->n_top * sizeof *a->top : 0);
    hn_put_int(&s, a->n_top);
    send_frame(t->c, HN_FRAME_PIECE, t->q->id, &s);
    hn_str_free(&s);
    j->n_told += new;
    return true;
}

/* One answer alone; as the server's own steps give it. */
static hone_rc answer_text(hone_text *m, const hone_text_generate_options *o, telling *t, hone_text_answer *out,
                           hone_err *err) {
    hone_text_feed feed;
    hn_kv_forget(&m->pool);
    hone_rc rc = hn_slot_open(m, o, &t->slot, err);
    if (rc) return rc;
    while (!rc && !hn_slot_over(t->slot)) {
        hn_slot_next(t->slot, 256, &feed);
        rc = hone_text_feed_all(m, &feed, 1, err);
        if (!rc) rc = hn_slot_take(t->slot, &feed, err);
        t->steps++;
        say_alive(t);
    }
    hone_rc closed = hn_slot_close(t->slot, rc ? NULL : out, rc ? NULL : err);
    t->slot = NULL;
    return rc ? rc : closed;
}

/* --- requests that a client waits for ----------------------------------------------------------------------------- */

static void answer(child *c, request *q) {
    hn_served *m = c->model[1];
    hn_task *j = &q->task;
    telling t = {.c = c, .version = 1, .q = q, .told_s = hn_now_s()};
    note_begin(c, 1);
    double begin_s = hn_now_s();
    if (j->in)
        j->rc = hone_artifact_run(m->library, j->in, j->n_in, j->out, j->n_out, &j->why);
    else {
        j->ask.on_text = tell;
        j->ask.on_text_arg = &t;
        j->rc = answer_text(m->text, &j->ask, &t, &j->answer, &j->why);
    }
    hn_str s = {0};
    hn_put_int(&s, j->rc);
    hn_put_text(&s, j->why.text);
    hn_put_real(&s, hn_now_s() - begin_s);
    hn_put_real(&s, j->answer.first_s);
    if (!j->rc) hn_put_answer(&s, j);
    send_frame(c, HN_FRAME_DONE, q->id, &s);
    hn_str_free(&s);
    drop_request(q);
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

static hone_rc run_tensors(child *c, trial *t, int v, size_t at) {
    hn_task *j = &t->r.task;
    hone_array *out = calloc(j->n_out + 1, sizeof *out);
    if (!out) _exit(5);
    hone_rc rc = hone_artifact_run(c->model[v]->library, j->in, j->n_in, out, j->n_out, &t->why);
    if (rc)
        free(out);
    else
        t->out[v][at] = out;
    t->n_out[v] += !rc;
    return rc;
}

static hone_rc run_text(child *c, trial *t, int v, size_t at) {
    hone_text_generate_options o = hone_text_generate_defaults();
    telling nobody = {.c = c, .version = v, .told_s = hn_now_s()};
    const hone_text_generate_options *asked = &t->r.task.ask;
    o.prompt = asked->prompt;
    o.n_prompt = asked->n_prompt;
    o.token = asked->token;
    o.n_token = asked->n_token;
    o.temperature = 0;
    o.ignore_end = true;
    o.max_tokens = asked->max_tokens && asked->max_tokens < TOKENS ? asked->max_tokens : TOKENS;
    o.n_top = TOPS;
    hone_rc rc = answer_text(c->model[v]->text, &o, &nobody, &t->text[v][at], &t->why);
    t->steps[v] += nobody.steps;
    return rc;
}

static double now_seconds(child *c, trial *t, int v, size_t n) {
    double begin_s = hn_now_s();
    t->ran[v] = true;
    for (size_t i = 0; i < n && !t->rc[v]; i++)
        t->rc[v] = t->r.task.in ? run_tensors(c, t, v, t->n_out[v]) : run_text(c, t, v, t->leg > 1);
    return hn_now_s() - begin_s;
}

/* A run of short ones that does not count, before the first leg of each version; it tells how many make a leg. */
static void warm_up(child *c, trial *t, int v) {
    double took_s = now_seconds(c, t, v, 1);
    if (t->rc[v]) return;
    hn_arrays_free(t->out[v][0], t->r.task.n_out);
    t->out[v][0] = NULL;
    t->n_out[v] = 0;
    double n = leg_s / (took_s + 1e-9);
    if (t->leg == 0) t->runs = n > MOST_RUNS ? MOST_RUNS : n < 1 ? 1 : (size_t)n;
}

/* One leg: runs of one version. */
static void step(child *c, trial *t) {
    int v = t->order[t->leg];
    note_begin(c, v);
    if (t->leg < 2 && t->r.task.in && !c->slow) warm_up(c, t, v);
    double took_s = now_seconds(c, t, v, t->runs);
    t->seconds[v] += took_s;
    t->leg++;
    c->slow = took_s > slow_s * (double)t->runs;
}

static bool same_outputs(const child *c, const trial *t, const hone_array *got, const hone_array *want,
                         hn_wire_sample *x, char *text, size_t n_text) {
    const hone_model *m = c->model[0]->model;
    double rtol = c->atol_rtol, atol = rtol < 0 ? -1 : rtol / 10;
    for (size_t i = 0; i < t->r.task.n_out; i++) {
        bool same = false;
        hone_array_difference d = {0};
        size_t n = 1;
        for (uint32_t k = 0; k < want[i].rank; k++) n *= (size_t)want[i].dim[k];
        if (x) x->elements += (int64_t)n;
        if (hn_agree(&got[i], &want[i], c->tolerance ? c->tolerance[i] : 0, rtol, atol, &same, &d, NULL)) continue;
        if (same) continue;
        if (d.at < 0)
            snprintf(text, n_text, "output '%s' has another shape", m->output[i].name);
        else
            snprintf(text, n_text, "output '%s': %lld of %zu elements out of tolerance, the worst at %lld by %.3g",
                     m->output[i].name, (long long)d.n_wrong, n, (long long)d.at, d.max_abs);
        return false;
    }
    return true;
}

static bool near_tie(const hone_text_answer *now, size_t i, int32_t token, double tolerance) {
    for (size_t k = 0; now->top && k < now->n_top; k++)
        if (now->top[i * now->n_top + k].token == token)
            return now->logprob[i] - now->top[i * now->n_top + k].logprob <= tolerance;
    return false;
}

/* Tokens of greedy answers, until one of two that are as likely makes them part. */
static bool same_text(const child *c, const hone_text_answer *now, const hone_text_answer *next, hn_wire_sample *x,
                      char *text, size_t n_text) {
    double tolerance = c->atol_rtol < 0 ? logprob_tolerance : c->atol_rtol;
    for (size_t i = 0; i < now->n && i < next->n; i++) {
        double differs = fabs(now->logprob[i] - next->logprob[i]);
        if (x) x->elements++;
        if (now->token[i] != next->token[i]) {
            if (near_tie(now, i, next->token[i], tolerance)) return true;
            snprintf(text, n_text, "token %zu of a greedy answer is %d, not %d", i, next->token[i], now->token[i]);
            return false;
        }
        if (!(differs <= tolerance)) {
            snprintf(text, n_text, "the log-probability of token %zu of a greedy answer is %.4g, not %.4g", i,
                     next->logprob[i], now->logprob[i]);
            return false;
        }
    }
    return true;
}

static void compare(child *c, trial *t, hn_wire_sample *x, char *text, size_t n_text) {
    char ignored[200];
    bool words = !t->r.task.in;
    size_t n = words ? 2 : t->n_out[1];
    bool steady = words ? same_text(c, &t->text[0][0], &t->text[0][1], NULL, ignored, sizeof ignored)
                        : same_outputs(c, t, t->out[0][t->n_out[0] - 1], t->out[0][0], NULL, ignored, sizeof ignored);
    for (size_t i = 0; i < n; i++) {
        bool same = words ? same_text(c, &t->text[0][0], &t->text[1][i], x, text, n_text)
                          : same_outputs(c, t, t->out[1][i], t->out[0][0], x, text, n_text);
        x->compared++;
        x->differing += !same && steady;
    }
}

static void end_trial(child *c) {
    trial *t = &c->t;
    char text[400] = "", why[sizeof t->why.text];
    snprintf(why, sizeof why, "%s", t->why.text);
    if (t->rc[1] && !t->ran[0]) { /* is it the request's fault? */
        note_begin(c, 0);
        now_seconds(c, t, 0, 1);
    }
    hn_wire_sample x = {.rc_now = t->rc[0],
                        .rc_next = t->rc[1],
                        .runs = t->r.task.in ? 2 * (int64_t)t->runs : t->steps[0] + !t->steps[0],
                        .now_s = t->seconds[0],
                        .next_s = t->seconds[1],
                        .text = t->rc[1] ? why : text};
    if (!t->rc[0] && !t->rc[1]) compare(c, t, &x, text, sizeof text);
    hn_str s = {0};
    hn_put_sample(&s, &x);
    send_frame(c, HN_FRAME_SAMPLED, t->r.id, &s);
    hn_str_free(&s);
    for (int v = 0; v < 2; v++) {
        for (size_t i = 0; i < t->n_out[v]; i++) hn_arrays_free(t->out[v][i], t->r.task.n_out);
        for (int i = 0; i < 2; i++) hone_text_answer_free(&t->text[v][i]);
    }
    drop_request(&t->r);
    c->busy = false;
}

/* --- the process -------------------------------------------------------------------------------------------------- */

/* The server closes its end: then this process ends, in the middle of a run too. */
static void *watch(void *arg) {
    struct pollfd p = {*(const int *)arg, HANG_UP, 0};
    while (poll(&p, 1, -1) < 0 && errno == EINTR) continue;
    _exit(0);
}

static void on_death(int sig) {
    hn_wire_head f = {HN_FRAME_DIED, (uint32_t)sig, 0};
    if (send(CHANNEL, &f, sizeof f, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) _exit(128 + sig);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void watch_signals(void) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    const stack_t own = {.ss_sp = malloc(STACK_B), .ss_size = STACK_B};
    const struct sigaction act = {.sa_handler = on_death, .sa_flags = SA_ONSTACK | SA_NODEFER};
    if (own.ss_sp) sigaltstack(&own, NULL);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) sigaction(deadly[i], &act, NULL);
}

static hone_rc open_one(const char *path, const hone_serve_options *o, hn_served **out, hone_err *err) {
    hn_served *m = calloc(1, sizeof *m);
    if (m) m->path = strdup(path);
    if (!m || !m->path) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *out = m;
    return hn_served_open(m, o, err);
}

/* What the types of NOW's graph allow, where it is there to be read. */
static void read_tolerances(child *c) {
    const hn_served *m = c->model[0];
    hone_graph *g = NULL;
    size_t n = strlen(m->path);
    if (m->language || c->atol_rtol >= 0 || (n > 3 && !strcmp(m->path + n - 3, ".so"))) return;
    c->tolerance = calloc((size_t)m->model->n_outputs + 1, sizeof *c->tolerance);
    if (!c->tolerance || hone_import_model(m->path, NULL, &g, NULL, NULL)) return;
    if (hn_agree_tolerances(g, c->tolerance, (size_t)m->model->n_outputs, NULL)) {
        free(c->tolerance);
        c->tolerance = NULL;
    }
    hone_graph_free(g);
}

static hone_rc open_both(child *c, const hn_canary_plan *p, hone_err *err) {
    hone_serve_options o = hone_serve_defaults();
    o.n_threads = p->n_threads;
    o.context = p->context;
    o.cached_tokens = p->context;
    o.cache = p->cache;
    o.exact = p->exact;
    o.no_parity = p->no_parity;
    c->atol_rtol = p->tolerance;
    note_begin(c, 0);
    hone_rc rc = open_one(p->now, &o, &c->model[0], err);
    note_begin(c, 1);
    if (!rc) rc = open_one(p->next, &o, &c->model[1], err);
    if (!rc) rc = hn_served_fits(c->model[0], c->model[1], err);
    if (!rc && c->model[0]->model && (c->model[0]->model->n_states || c->model[1]->model->n_states))
        rc = hn_fail(err, HONE_E_UNSUPPORTED,
                     "'%s' keeps a state between runs, which a trial would change; deploy it with --replace", p->next);
    if (!rc) read_tolerances(c);
    return rc;
}

static void begin(child *c) {
    hn_canary_plan plan = {0};
    hn_wire_head f = {0};
    hone_err why = {0};
    while (c->in.n < sizeof f || c->in.n - sizeof f < f.n) {
        char piece[4096];
        ssize_t n = recv(c->fd, piece, sizeof piece, 0);
        if (n <= 0) _exit(0);
        hn_put(&c->in, piece, (size_t)n);
        if (c->in.n >= sizeof f) memcpy(&f, c->in.text, sizeof f);
    }
    hn_str body = {0}, s = {0};
    hn_put(&body, c->in.text + sizeof f, f.n);
    c->in.n -= sizeof f + f.n;
    memmove(c->in.text, c->in.text + sizeof f + f.n, c->in.n);
    hn_wire_reader r = {body.text, body.text + body.n, body.failed};
    if (f.kind != HN_FRAME_OPEN || !hn_get_plan(&r, &plan)) _exit(3);
    hone_rc rc = open_both(c, &plan, &why);
    hn_put_int(&s, rc);
    hn_put_text(&s, rc ? why.text : c->model[0]->version);
    hn_put_text(&s, rc ? "" : c->model[1]->version);
    send_frame(c, HN_FRAME_READY, 0, &s);
    hn_str_free(&body);
    hn_str_free(&s);
    if (rc) _exit(0);
}

_Noreturn void hn_canary_child(int fd) {
    pthread_t watcher;
    child *c = calloc(1, sizeof *c);
    if (!c || dup2(fd, CHANNEL) < 0) _exit(5);
    if (fd != CHANNEL) close(fd);
    c->fd = CHANNEL;
    c->coin = hn_rng_make((uint64_t)(1e6 * hn_now_s()), (uint64_t)getpid());
    prctl(PR_SET_NAME, "hone-canary", 0, 0, 0);
    watch_signals();
    if (pthread_create(&watcher, NULL, watch, &c->fd)) _exit(5);
    begin(c);
    for (;;) {
        receive(c, !c->n_queue && !c->busy);
        if (c->n_queue) {
            request q = c->queue[0];
            memmove(c->queue, c->queue + 1, --c->n_queue * sizeof *c->queue);
            answer(c, &q);
        } else if (c->busy) {
            step(c, &c->t);
            if (c->t.leg == LEGS || c->t.rc[0] || c->t.rc[1]) end_trial(c);
        }
    }
}
