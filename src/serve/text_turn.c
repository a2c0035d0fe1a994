/* text_turn.c — one step of a language model: who takes part in it, and what comes out.
 *
 * Answers under way take a token each. What is left of the step's tokens goes to prompts, those first that came first,
 * in pieces. A prompt longer than that does not hold up the others, and a client that goes is noticed between two
 * steps. Where the memory of keys and values runs out, the ones that came last pause; their blocks are taken by those
 * that go on, and computed again when it is their turn. */
#include "base/clock.h"
#include "base/err.h"
#include "serve/engine.h"

#include <stdlib.h>
#include <string.h>

/* --- pieces of answers -------------------------------------------------------------------------------------------- */

static bool copy_tokens(const hone_text_answer *a, size_t from, hn_event *h) {
    size_t n = a->n - from;
    h->n_top = a->n_top;
    h->token = malloc((n + 1) * sizeof *h->token);
    h->logprob = malloc((n + 1) * sizeof *h->logprob);
    h->top = malloc((n * a->n_top + 1) * sizeof *h->top);
    if (!h->token || !h->logprob || !h->top) return false;
    h->n = n;
    if (n) memcpy(h->token, a->token + from, n * sizeof *h->token);
    if (n) memcpy(h->logprob, a->logprob + from, n * sizeof *h->logprob);
    if (n && a->n_top) memcpy(h->top, a->top + from * a->n_top, n * a->n_top * sizeof *h->top);
    return true;
}

/* Text as it comes; with it go the tokens since the last one. False ends the answer: there is no memory. */
static bool on_text(void *arg, const char *text, size_t n) {
    hn_task *j = arg;
    hn_event *h = calloc(1, sizeof *h);
    if (h) h->text = malloc(n + 1);
    if (!h || !h->text || (j->want_logprobs && !copy_tokens(hn_slot_answer(j->slot), j->n_told, h))) {
        hn_event_free(h);
        return false;
    }
    memcpy(h->text, text, n);
    h->text[n] = 0;
    h->n_text = n;
    h->job = j;
    j->n_told += h->n;
    hn_runner_post(j->engine, h);
    return true;
}

/* --- coming and going --------------------------------------------------------------------------------------------- */

static void leave(hn_runner *e, hn_served *m, size_t at) {
    hn_task *j = m->running[at];
    if (at + m->n_paused >= m->n_running && m->n_paused) m->n_paused--;
    memmove(&m->running[at], &m->running[at + 1], (m->n_running - at - 1) * sizeof *m->running);
    m->n_running--;
    const hone_text_answer *so_far = hn_slot_answer(j->slot);
    if (!j->rc) hn_traffic_answer(e->traffic, m->name, so_far->n_prompt, so_far->n);
    pthread_mutex_lock(&m->figures->lock);
    m->figures->answer_tokens += so_far->n;
    pthread_mutex_unlock(&m->figures->lock);
    hone_rc rc = hn_slot_close(j->slot, j->rc ? NULL : &j->answer, &j->why);
    if (!j->rc) j->rc = rc;
    j->slot = NULL;
    hn_runner_finish(e, m, j);
}

static void send_away(hn_runner *e, hn_served *m) {
    double now_s = hn_now_s();
    for (hn_task *j; (j = hn_waiting_late(&m->waiting, now_s));) {
        hn_task_late(j, now_s);
        hn_runner_finish(e, m, j);
    }
    for (size_t i = m->n_running; i-- > 0;)
        if (hn_task_late(m->running[i], now_s)) leave(e, m, i);
    for (size_t i = m->n_embedding; i-- > 0;)
        if (hn_task_late(m->embedding[i], now_s)) hn_embedding_end(e, m, i);
}

static void begin(hn_runner *e, hn_served *m, hn_task *j) {
    hn_runner_begun(e, j);
    j->ask.no_logprobs = !j->want_logprobs;
    if (j->stream) j->ask.on_text = on_text, j->ask.on_text_arg = j;
    j->rc = hn_slot_open(m->text, &j->ask, &j->slot, &j->why);
    if (j->rc) {
        hn_runner_finish(e, m, j);
        return;
    }
    j->n_found = hn_slot_found(j->slot);
    pthread_mutex_lock(&m->figures->lock);
    m->figures->prompt_tokens += hn_slot_answer(j->slot)->n_prompt;
    m->figures->found_tokens += j->n_found;
    pthread_mutex_unlock(&m->figures->lock);
    m->running[m->n_running++] = j;
    if (hn_slot_over(j->slot)) leave(e, m, m->n_running - 1);
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

typedef struct step {
    hone_text_feed feed[HN_AT_ONCE];
    size_t at[HN_AT_ONCE]; /* in m->running */
    size_t n;
} step;

static void fill(const hn_runner *e, const hn_served *m, step *s) {
    size_t left = e->o->step_tokens, live = m->n_running - m->n_paused;
    hone_text_feed f;
    s->n = 0;
    for (size_t i = 0; i < live; i++) /* answers */
        if (!hn_slot_next(m->running[i]->slot, 1, &f)) {
            s->at[s->n] = i;
            s->feed[s->n++] = f;
            left -= left > 0;
        }
    for (size_t i = 0; i < live && (left || !s->n); i++) { /* prompts */
        if (!hn_slot_next(m->running[i]->slot, left ? left : 1, &f)) continue;
        s->at[s->n] = i;
        s->feed[s->n++] = f;
        left -= f.n < left ? f.n : left;
    }
}

/* Feeds; the ones that came last pause while memory is short. */
static hone_rc feed(hn_runner *e, hn_served *m, step *s, hone_err *err) {
    hone_rc rc;
    for (;;) {
        fill(e, m, s);
        rc = hone_text_feed_all(m->text, s->feed, s->n, err);
        if (rc != HONE_E_LIMIT || m->n_running - m->n_paused <= 1) break;
        m->n_paused++;
        pthread_mutex_lock(&m->figures->lock);
        m->figures->preempted++;
        pthread_mutex_unlock(&m->figures->lock);
    }
    return rc;
}

static void note_token(hn_served *m, hn_task *j, double now_s) {
    hn_rate_add(&m->figures->tokens_now, now_s);
    if (j->first_s > 0)
        hn_histogram_add(&m->figures->between_s, hn_bounds_s, now_s - j->last_s);
    else {
        j->first_s = now_s;
        hn_histogram_add(&m->figures->first_s, hn_bounds_s, now_s - j->arrived_s);
    }
    j->last_s = now_s;
}

static void take_one(hn_task *j, const hone_text_feed *fed, hone_rc rc) {
    j->rc = rc ? rc : hn_slot_take(j->slot, fed, &j->why);
    if (!j->rc && fed->n_want) j->prompt_done = true;
}

/* What a step gave. One that failed is taken apart: only those fail that fail alone. */
static void take(hn_runner *e, hn_served *m, step *s, hone_rc rc, const hone_err *err) {
    size_t before = m->n_running;
    for (size_t i = 0; i < s->n; i++) {
        hn_task *j = m->running[s->at[i]];
        hone_rc own = rc;
        if (rc && s->n > 1)
            own = hone_text_feed_all(m->text, &s->feed[i], 1, &j->why);
        else if (rc)
            j->why = *err;
        take_one(j, &s->feed[i], own);
    }
    double now_s = hn_now_s();
    pthread_mutex_lock(&m->figures->lock);
    for (size_t i = 0; i < s->n; i++)
        if (!m->running[s->at[i]]->rc && s->feed[i].n_want) note_token(m, m->running[s->at[i]], now_s);
    m->figures->steps++;
    hn_histogram_add(&m->figures->batch, hn_bounds_batch, (double)s->n);
    pthread_mutex_unlock(&m->figures->lock);
    for (size_t i = m->n_running; i-- > 0;)
        if (m->running[i]->rc || hn_slot_over(m->running[i]->slot)) leave(e, m, i);
    if (m->n_running < before) m->n_paused = 0;
}

static void tell(hn_served *m) {
    size_t used, most;
    hn_slot_memory(m->text, &used, &most);
    pthread_mutex_lock(&m->figures->lock);
    m->figures->waiting = m->waiting.n;
    m->figures->running = m->n_running;
    m->figures->cache_used = used;
    m->figures->cache_blocks = most;
    pthread_mutex_unlock(&m->figures->lock);
}

bool hn_text_turn(hn_runner *e, hn_served *m) {
    step s;
    hone_err err = {0};
    send_away(e, m);
    while (m->n_running + m->n_embedding < e->o->at_once && !m->n_paused && !m->embedding_waits) {
        hn_task *j = hn_waiting_next(&m->waiting);
        if (!j) break;
        if (j->embed)
            hn_embedding_begin(e, m, j);
        else
            begin(e, m, j);
    }
    tell(m);
    if (m->n_running) {
        double began_s = hn_now_s();
        hone_rc rc = feed(e, m, &s, &err);
        if (!rc) hn_traffic_step(e->traffic, m->name, s.feed, s.n, hn_now_s() - began_s);
        if (hn_served_lost(m)) return true;
        take(e, m, &s, rc, &err);
    }
    hn_embedding_turn(e, m);
    tell(m);
    return m->n_running > 0 || m->n_embedding > 0 || m->waiting.n > 0;
}
