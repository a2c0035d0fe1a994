/* trial.c — the server's end of a trial: requests go to the process that runs both versions, answers come back, and
 * whatever happens there, a client's request is answered: by NOW, where NEXT does not.
 *
 * Frames that make no sense end the process, as a crash does. */
#include "base/clock.h"
#include "base/err.h"
#include "serve/http.h"

#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIVE = 2, OPEN_S = 1800 };
/* Without a sign of life; or PATIENCE times as long as the longest pause so far. A language model gives one between two
 * steps, and a step may read 256 tokens of a prompt. */
static const double patience_s = 5, text_patience_s = 60, patience = 20;

struct hn_tryout {
    hn_server *s;
    struct bufferevent *bev;
    hn_tryout_ear ear;
    bool ready, dead;
    int running, signal;               /* the version; what it died of */
    double heard_s, longest_s, open_s; /* the last frame; the longest pause while it had something to do */
    double least_s;                    /* the least that is waited for */
    uint32_t next_id, sample;          /* sample: its id; 0: none */
    hn_task *live[LIVE];
    double sent_s[LIVE], rest_until_s;
    double sample_s; /* when it was sent */
};

/* --- out ---------------------------------------------------------------------------------------------------------- */

static bool send_frame(hn_tryout *t, hn_frame_kind kind, uint32_t id, hn_str *body) {
    hn_wire_head f = {kind, id, body ? body->n : 0};
    struct evbuffer *out = bufferevent_get_output(t->bev);
    bool fine = !(body && body->failed) && !evbuffer_add(out, &f, sizeof f);
    if (fine && body && body->n) fine = !evbuffer_add(out, body->text, body->n);
    if (body) hn_str_free(body);
    return fine;
}

static bool idle(const hn_tryout *t) {
    bool none = !t->sample;
    for (size_t i = 0; i < LIVE; i++) none &= !t->live[i];
    return none;
}

/* The pause since the last frame counts from here where there was nothing to do. */
static void wake(hn_tryout *t, const hn_task *j) {
    if (idle(t)) t->heard_s = hn_now_s();
    t->least_s = j->in ? patience_s : text_patience_s;
}

bool hn_tryout_ready(const hn_tryout *t) { return t && t->ready; }

bool hn_tryout_take(hn_tryout *t, hn_http_call *c) {
    size_t i = 0;
    hn_task *j = c->job[0];
    hn_str body = {0};
    while (i < LIVE && t->live[i]) i++;
    if (!t->ready || i == LIVE || c->n_job != 1 || j->embed) return false;
    hn_put_task(&body, j);
    wake(t, j);
    if (!send_frame(t, HN_FRAME_RUN, ++t->next_id, &body)) return false;
    t->live[i] = j;
    t->sent_s[i] = hn_now_s();
    j->trial_id = t->next_id;
    return true;
}

/* Samples are taken one at a time, with a pause as long as the last one behind it: half of a processor at most. */
bool hn_tryout_sample(hn_tryout *t, const hn_task *j) {
    hn_str body = {0};
    double now_s = hn_now_s();
    if (!t->ready || t->sample || j->embed || now_s < t->rest_until_s) return false;
    hn_put_task(&body, j);
    wake(t, j);
    if (!send_frame(t, HN_FRAME_SAMPLE, ++t->next_id, &body)) return false;
    t->sample = t->next_id;
    t->sample_s = now_s;
    return true;
}

/* --- NOW again ---------------------------------------------------------------------------------------------------- */

static void forget_answer(hn_task *j) {
    for (size_t i = 0; i < j->n_out; i++) {
        hone_free(j->out[i].data);
        j->out[i] = (hone_array){0};
    }
    hone_text_answer_free(&j->answer);
    j->answer = (hone_text_answer){0};
    j->rc = HONE_OK;
    j->why = (hone_err){0};
    j->n_told = j->n_found = 0;
    j->first_s = 0;
    j->trial_id = 0;
}

static void end_job(hn_server *s, hn_task *j) {
    hn_event *h = hn_event_new();
    h->job = j;
    h->done = true;
    hn_server_take(s, h);
}

static void answer_by_now(hn_tryout *t, size_t at) {
    hn_task *j = t->live[at];
    hn_http_call *c = j->call;
    hn_choice *x = &c->choice[j->index];
    hone_err why = {0};
    t->live[at] = NULL;
    forget_answer(j);
    c->version = NULL;
    c->figures = NULL;
    x->n_skip = x->sent.n;
    hone_rc rc = atomic_load(&j->gone) ? hn_fail(&why, HONE_E_INTERRUPTED, "the client is gone")
                                       : hn_runner_again(t->s->engine, j, &why);
    if (!rc) return; /* the job is the engine's */
    j->rc = rc;
    j->why = why;
    end_job(t->s, j);
}

bool hn_tryout_merge(hn_choice *x, hn_event *h) {
    size_t n = x->n_skip < h->n_text ? x->n_skip : h->n_text;
    if (!x->n_skip) return true;
    if (memcmp(x->sent.text + x->sent.n - x->n_skip, h->text, n)) return false;
    memmove(h->text, h->text + n, h->n_text - n + 1);
    h->n_text -= n;
    x->n_skip -= n;
    return true;
}

/* --- in ----------------------------------------------------------------------------------------------------------- */

static size_t live_at(const hn_tryout *t, uint32_t id) {
    size_t i = 0;
    while (i < LIVE && !(t->live[i] && t->live[i]->trial_id == id)) i++;
    return i;
}

static bool take_ready(hn_tryout *t, hn_wire_reader *r) {
    hone_rc rc = (hone_rc)hn_get_int(r);
    const char *a = hn_get_text(r), *b = hn_get_text(r);
    if (r->failed || !a || !b) return false;
    t->ready = !rc;
    t->open_s = hn_now_s();
    t->ear.opened(t->ear.arg, rc, a, b);
    return true;
}

static bool take_piece(hn_tryout *t, uint32_t id, hn_wire_reader *r) {
    size_t at = live_at(t, id), n_text, n_token, n_logprob, n_top;
    const char *text = hn_get_bytes(r, &n_text), *token = hn_get_bytes(r, &n_token),
               *logprob = hn_get_bytes(r, &n_logprob), *top = hn_get_bytes(r, &n_top);
    int64_t tops = hn_get_int(r);
    if (at == LIVE) return true; /* given up meanwhile */
    hn_task *j = t->live[at];
    size_t n = n_token / sizeof(int32_t);
    if (r->failed || tops < 0 || tops > 1000 || n_logprob != n * sizeof(double) ||
        (n_top && n_top != n * (size_t)tops * sizeof(hone_text_top)))
        return false;
    hn_event *h = hn_event_new();
    h->job = j;
    h->text = malloc(n_text + 1);
    h->token = malloc(n_token + 1);
    h->logprob = malloc(n_logprob + 1);
    h->top = malloc(n_top + 1);
    if (!h->text || !h->token || !h->logprob || !h->top) {
        hn_event_free(h);
        return false;
    }
    memcpy(h->text, text, n_text);
    if (n_token) memcpy(h->token, token, n_token);
    if (n_logprob) memcpy(h->logprob, logprob, n_logprob);
    if (n_top) memcpy(h->top, top, n_top);
    h->text[n_text] = 0;
    h->n_text = n_text;
    h->n = n;
    h->n_top = n_top ? (size_t)tops : 0;
    j->n_told += n;
    hn_str_add_n(&j->call->choice[j->index].sent, text, n_text);
    hn_server_take(t->s, h);
    return true;
}

static void note_answer(hn_tryout *t, const hn_task *j, double run_s) {
    hn_figures *f = j->call->figures;
    (void)t;
    (void)run_s;
    if (!f) return;
    pthread_mutex_lock(&f->lock);
    hn_histogram_add(&f->whole_s, hn_bounds_s, hn_now_s() - j->arrived_s);
    if (j->first_s > 0) hn_histogram_add(&f->first_s, hn_bounds_s, j->first_s - j->arrived_s);
    f->prompt_tokens += j->answer.n_prompt;
    f->answer_tokens += j->answer.n;
    f->steps++;
    pthread_mutex_unlock(&f->lock);
}

static bool take_done(hn_tryout *t, uint32_t id, hn_wire_reader *r) {
    size_t at = live_at(t, id);
    hone_rc rc = (hone_rc)hn_get_int(r);
    const char *why = hn_get_text(r);
    double run_s = hn_get_real(r), first_s = hn_get_real(r);
    if (r->failed || !why) return false;
    t->running = -1;
    if (at == LIVE) return true;
    hn_task *j = t->live[at];
    if (rc || atomic_load(&j->gone)) {
        j->call->choice[j->index].failed = rc != HONE_OK;
        answer_by_now(t, at);
        return true;
    }
    size_t told = j->n_told;
    if (!hn_get_answer(r, j)) return false;
    if (j->n_told != told) return false;
    if (first_s > 0) j->first_s = t->sent_s[at] + first_s;
    t->live[at] = NULL;
    j->trial_id = 0;
    note_answer(t, j, run_s);
    t->ear.answered(t->ear.arg, j->in || !j->answer.n ? 1 : j->answer.n);
    end_job(t->s, j);
    return true;
}

static bool take_sampled(hn_tryout *t, uint32_t id, hn_wire_reader *r) {
    hn_wire_sample x = {0};
    if (!hn_get_sample(r, &x)) return false;
    t->running = -1;
    if (id != t->sample) return true;
    double now_s = hn_now_s();
    t->rest_until_s = now_s + (now_s - t->sample_s);
    t->sample = 0;
    t->ear.sampled(t->ear.arg, &x);
    return true;
}

/* False: it is no frame of ours. */
static bool take_frame(hn_tryout *t, const hn_wire_head *f, const char *body) {
    hn_wire_reader r = {body, body + f->n, false};
    double now_s = hn_now_s();
    if (t->ready && !idle(t) && now_s - t->heard_s > t->longest_s) t->longest_s = now_s - t->heard_s;
    t->heard_s = now_s;
    switch ((hn_frame_kind)f->kind) {
    case HN_FRAME_READY: return !t->ready && take_ready(t, &r);
    case HN_FRAME_BEGIN: return t->running = f->id ? 1 : 0, f->id <= 1;
    case HN_FRAME_PIECE: return take_piece(t, f->id, &r);
    case HN_FRAME_DONE: return take_done(t, f->id, &r);
    case HN_FRAME_SAMPLED: return take_sampled(t, f->id, &r);
    case HN_FRAME_DIED: return t->signal = (int)(f->id & 127), true;
    default: return false;
    }
}

static void die(hn_tryout *t, const char *why) {
    if (t->dead) return;
    t->dead = true;
    t->ready = false;
    bufferevent_disable(t->bev, EV_READ | EV_WRITE);
    t->ear.died(t->ear.arg, t->running, t->signal, why);
}

static void on_read(struct bufferevent *bev, void *arg) {
    hn_tryout *t = arg;
    struct evbuffer *in = bufferevent_get_input(bev);
    hn_wire_head f;
    while (evbuffer_copyout(in, &f, sizeof f) == (ssize_t)sizeof f) {
        if (f.n > HN_FRAME_MOST) {
            die(t, "it sent what makes no sense");
            return;
        }
        if (evbuffer_get_length(in) < sizeof f + f.n) return;
        evbuffer_drain(in, sizeof f);
        char *body = malloc(f.n + 1);
        bool fine = body && evbuffer_remove(in, body, f.n) == (ssize_t)f.n;
        if (fine) fine = take_frame(t, &f, body);
        free(body);
        if (!fine) {
            die(t, "it sent what makes no sense");
            return;
        }
    }
}

static void on_over(struct bufferevent *bev, short what, void *arg) {
    (void)bev;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) die(arg, NULL);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

hone_rc hn_tryout_open(hn_server *s, const hn_canary_plan *plan, const hn_tryout_ear *ear, hn_tryout **out,
                       hone_err *err) {
    int fd = -1;
    hn_str body = {0};
    hn_tryout *t = calloc(1, sizeof *t);
    hone_rc rc = t ? hn_nursery_child(&s->nursery, &fd, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) {
        *t = (hn_tryout){.s = s, .ear = *ear, .running = -1, .heard_s = hn_now_s(), .open_s = hn_now_s()};
        t->bev = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
        hn_put_plan(&body, plan);
        if (!t->bev || !send_frame(t, HN_FRAME_OPEN, 0, &body)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    if (rc) {
        if (t && t->bev)
            bufferevent_free(t->bev);
        else if (fd >= 0)
            close(fd);
        free(t);
        return rc;
    }
    bufferevent_setcb(t->bev, on_read, NULL, on_over, t);
    bufferevent_enable(t->bev, EV_READ | EV_WRITE);
    *out = t;
    return HONE_OK;
}

void hn_tryout_close(hn_tryout *t) {
    if (!t) return;
    t->ready = false;
    bufferevent_free(t->bev);
    for (size_t i = 0; i < LIVE; i++)
        if (t->live[i]) answer_by_now(t, i);
    free(t);
}

/* Requests that nobody waits for any more, or too long. */
static void send_away(hn_tryout *t, double now_s) {
    for (size_t i = 0; i < LIVE; i++) {
        hn_task *j = t->live[i];
        if (!j || !hn_task_late(j, now_s)) continue;
        send_frame(t, HN_FRAME_CANCEL, j->trial_id, NULL);
        t->live[i] = NULL;
        end_job(t->s, j);
    }
}

void hn_tryout_tick(hn_tryout *t, double now_s) {
    double limit_s = patience * t->longest_s > t->least_s ? patience * t->longest_s : t->least_s;
    if (t->dead) return;
    send_away(t, now_s);
    if (!t->ready && now_s - t->open_s > OPEN_S)
        die(t, "it took too long to open");
    else if (t->ready && !idle(t) && now_s - t->heard_s > limit_s)
        die(t, "it hung");
}
