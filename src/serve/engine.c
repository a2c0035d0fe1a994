/* engine.c — the thread that runs models, and the lists between it and the HTTP thread. */
#include "serve/engine.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* --- out ---------------------------------------------------------------------------------------------------------- */

void hn_event_free(hn_event *h) {
    if (!h) return;
    free(h->text);
    free(h->token);
    free(h->logprob);
    free(h->top);
    free(h);
}

hn_event *hn_event_new(void) {
    hn_event *h;
    while (!(h = calloc(1, sizeof *h))) usleep(10000);
    return h;
}

void hn_runner_post(hn_runner *e, hn_event *h) {
    const uint64_t one = 1;
    pthread_mutex_lock(&e->lock);
    if (e->out_last)
        e->out_last->next = h;
    else
        e->out = h;
    e->out_last = h;
    pthread_mutex_unlock(&e->lock);
    if (write(e->fd, &one, sizeof one) < 0) return; /* the counter is full: it is readable */
}

hn_event *hn_runner_events(hn_runner *e) {
    uint64_t n;
    if (read(e->fd, &n, sizeof n) < 0 && errno != EAGAIN) return NULL;
    pthread_mutex_lock(&e->lock);
    hn_event *list = e->out;
    e->out = e->out_last = NULL;
    pthread_mutex_unlock(&e->lock);
    return list;
}

void hn_runner_begun(hn_runner *e, hn_task *j) {
    if (j->begun) return;
    j->begun = true;
    pthread_mutex_lock(&e->lock);
    e->n_queued--;
    pthread_mutex_unlock(&e->lock);
}

bool hn_task_late(hn_task *j, double now_s) {
    if (atomic_load(&j->gone)) {
        j->rc = hn_fail(&j->why, HONE_E_INTERRUPTED, "the client is gone");
        return true;
    }
    if (!(j->deadline_s > 0) || now_s <= j->deadline_s) return false;
    j->rc = hn_fail(&j->why, HONE_E_EXHAUSTED, "the answer was not ready by its deadline");
    return true;
}

void hn_runner_finish(hn_runner *e, hn_served *m, hn_task *j) {
    hn_runner_begun(e, j);
    j->ended = true;
    double now_s = hn_now_s();
    pthread_mutex_lock(&m->figures->lock);
    m->figures->cancelled += j->rc == HONE_E_INTERRUPTED;
    if (!j->rc) hn_histogram_add(&m->figures->whole_s, hn_bounds_s, now_s - j->arrived_s);
    pthread_mutex_unlock(&m->figures->lock);
    hn_event *h = hn_event_new();
    h->job = j;
    h->done = true;
    hn_runner_post(e, h);
}

/* --- in ----------------------------------------------------------------------------------------------------------- */

/* E_BUSY: more than `most` would wait. */
static hone_rc hand_in(hn_runner *e, hn_task **jobs, size_t n, uint32_t most) {
    pthread_mutex_lock(&e->lock);
    bool full = e->n_queued + n > most, dead = e->dead || e->stop;
    if (!full && !dead) {
        hn_task **at = &e->in;
        while (*at) at = &(*at)->next;
        for (size_t i = 0; i < n; i++) {
            jobs[i]->engine = e;
            jobs[i]->next = NULL;
            *at = jobs[i];
            at = &jobs[i]->next;
        }
        e->n_queued += (uint32_t)n;
        pthread_cond_signal(&e->wake);
    }
    pthread_mutex_unlock(&e->lock);
    return dead ? HONE_E_FAILED : full ? HONE_E_BUSY : HONE_OK;
}

hone_rc hn_runner_submit(hn_runner *e, hn_task **jobs, size_t n, hone_err *err) {
    uint32_t most = e->o->max_queue;
    hone_rc rc = hand_in(e, jobs, n, most);
    if (rc == HONE_E_FAILED) return hn_fail(err, rc, "the server is ending");
    if (rc && n > most)
        return hn_fail(err, HONE_E_USAGE, "%zu answers are asked for, and the queue holds %u; ask for fewer", n, most);
    return rc ? hn_fail(err, rc, "%u requests wait already; try again later", most) : HONE_OK;
}

hone_rc hn_runner_again(hn_runner *e, hn_task *j, hone_err *err) {
    j->begun = j->prompt_done = j->ended = false;
    return hand_in(e, &j, 1, UINT32_MAX) ? hn_fail(err, HONE_E_FAILED, "the server is ending") : HONE_OK;
}

void hn_runner_wake(hn_runner *e) {
    pthread_mutex_lock(&e->lock);
    pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->lock);
}

uint32_t hn_runner_queued(hn_runner *e) {
    pthread_mutex_lock(&e->lock);
    uint32_t n = e->n_queued;
    pthread_mutex_unlock(&e->lock);
    return n;
}

bool hn_runner_ready(hn_runner *e, hone_err *why) {
    pthread_mutex_lock(&e->lock);
    bool ready = e->loaded && !e->dead;
    *why = e->dead ? e->why : (hone_err){0};
    pthread_mutex_unlock(&e->lock);
    return ready;
}

void hn_served_break(hn_served *m, hn_broken how, const hone_err *why) {
    m->why = *why;
    atomic_store(&m->broken, how);
}

hn_broken hn_served_broken(const hn_served *m, hone_err *why) {
    int broken = atomic_load(&m->broken);
    if (broken) *why = m->why;
    return (hn_broken)broken;
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static hone_rc open_base(hn_runner *e, size_t i, hone_err *err) {
    hn_served *m = e->model[i];
    char *base = strdup(e->base[i]);
    if (!base) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    free(m->path);
    m->path = base;
    hn_served_close(m);
    return hn_served_open(m, e->o, err);
}

static hone_rc load_all(hn_runner *e) {
    hone_rc rc = HONE_OK;
    hone_err why = {0};
    size_t n_whole = 0;
    for (size_t i = 0; !rc && i < e->n_model; i++) {
        hn_served *m = e->model[i];
        hone_err own = {0};
        rc = hn_served_open(m, e->o, &own);
        if (rc && strcmp(m->path, e->base[i])) rc = open_base(e, i, &own); /* what was promoted does not open */
        pthread_mutex_lock(&m->figures->lock);
        strcpy(m->figures->version, m->version);
        pthread_mutex_unlock(&m->figures->lock);
        m->next = e->live;
        e->live = m;
        n_whole += !rc;
        if (!rc) continue;
        why = own;
        hn_served_break(m, HN_NOT_LOADED, &own);
        if (!e->o->require_all && rc != HONE_E_INTERRUPTED && (n_whole || i + 1 < e->n_model)) rc = HONE_OK;
    }
    pthread_mutex_lock(&e->lock);
    e->loaded = !rc;
    e->dead = rc != HONE_OK;
    e->why = why;
    pthread_mutex_unlock(&e->lock);
    return rc;
}

static void wait_until(hn_runner *e, double due_s) {
    struct timespec t;
    if (isinf(due_s)) {
        pthread_cond_wait(&e->wake, &e->lock);
        return;
    }
    t.tv_sec = (time_t)due_s;
    t.tv_nsec = (long)((due_s - (double)t.tv_sec) * 1e9);
    pthread_cond_timedwait(&e->wake, &e->lock, &t);
}

static void take_up(hn_runner *e, hn_served *coming) {
    for (hn_served *m; (m = coming);) {
        coming = m->next;
        m->next = e->live;
        e->live = m;
    }
}

/* A version without calls. What it held goes here, the rest with the event. */
static void close_one(hn_runner *e, hn_served *m) {
    for (hn_served **at = &e->live; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    hn_served_close(m);
    pthread_mutex_lock(&m->figures->lock);
    m->figures->waiting = m->figures->running = m->figures->cache_blocks = m->figures->cache_used = 0;
    pthread_mutex_unlock(&m->figures->lock);
    hn_event *h = hn_event_new();
    h->closed = m;
    hn_runner_post(e, h);
}

/* Jobs that came, to their models; versions that come and go. False: the engine stops. */
static bool take_in(hn_runner *e, bool busy, double due_s) {
    pthread_mutex_lock(&e->lock);
    if (!e->stop && !e->in && !e->coming && !e->going && !busy && hn_now_s() < due_s) wait_until(e, due_s);
    hn_task *list = e->in;
    hn_served *coming = e->coming, *going = e->stop ? NULL : e->going;
    bool stop = e->stop;
    e->in = NULL;
    e->coming = NULL;
    if (!stop) e->going = NULL;
    pthread_mutex_unlock(&e->lock);
    take_up(e, coming);
    for (hn_served *m; (m = going);) {
        going = m->gone_next;
        close_one(e, m);
    }
    while (list) {
        hn_task *j = list;
        list = j->next;
        hn_waiting_add(&j->model->waiting, j);
    }
    return !stop;
}

static double next_deadline(const hn_served *m, double due_s) {
    for (const hn_task *j = m->waiting.first; j; j = j->next)
        if (j->deadline_s > 0 && j->deadline_s < due_s) due_s = j->deadline_s;
    return due_s;
}

/* All that is asked of a model fails, and why. */
static void end_model(hn_runner *e, hn_served *m, const char *why) {
    for (hn_task *j; (j = m->waiting.first);) {
        m->waiting.first = j->next;
        if (!m->waiting.first) m->waiting.last = NULL;
        m->waiting.n--;
        j->rc = hn_fail(&j->why, HONE_E_FAILED, "%s", why);
        hn_runner_finish(e, m, j);
    }
    for (size_t k = 0; k < m->n_running; k++) {
        hn_task *j = m->running[k];
        hn_slot_close(j->slot, NULL, NULL);
        j->slot = NULL;
        j->rc = hn_fail(&j->why, HONE_E_FAILED, "%s", why);
        hn_runner_finish(e, m, j);
    }
    m->n_running = m->n_paused = 0;
    while (m->n_embedding) {
        hn_task *j = m->embedding[0];
        j->rc = hn_fail(&j->why, HONE_E_FAILED, "%s", why);
        hn_embedding_end(e, m, 0);
    }
}

static void *work(void *arg) {
    hn_runner *e = arg;
    bool busy = false;
    double due_s = INFINITY;
    const uint64_t one = 1;
    hone_err why = {0};
    hone_rc rc = load_all(e);
    if (write(e->fd, &one, sizeof one) < 0) return NULL;
    while (!rc && take_in(e, busy, due_s)) {
        busy = false;
        due_s = INFINITY;
        for (hn_served *m = e->live; m; m = m->next) {
            if (hn_served_broken(m, &why) || (!m->n_running && hn_served_lost(m) && hn_served_broken(m, &why))) {
                end_model(e, m, why.text);
                continue;
            }
            busy |= m->language ? hn_text_turn(e, m) : hn_tensor_turn(e, m, &due_s);
            due_s = next_deadline(m, due_s);
        }
    }
    for (hn_served *m = e->live; m; m = m->next) end_model(e, m, "the server is ending");
    return NULL;
}

/* --- start and end ------------------------------------------------------------------------------------------------ */

static void resolve(hn_runner *e, char *(*answers)(void *arg, const char *base), void *arg) {
    for (size_t i = 0; answers && i < e->n_model; i++) {
        char *path = answers(arg, e->base[i]);
        if (!path) continue;
        free(e->model[i]->path);
        e->model[i]->path = path;
    }
}

hone_rc hn_runner_start(const hone_serve_options *o, char *(*answers)(void *arg, const char *base), void *arg,
                        hn_runner **out, hone_err *err) {
    pthread_condattr_t how;
    hn_runner *e = calloc(1, sizeof *e);
    if (!e) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    e->o = o;
    e->traffic = hn_traffic_open(o);
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&e->wake, &how);
    pthread_condattr_destroy(&how);
    e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    hone_rc rc = e->fd < 0 ? hn_fail(err, HONE_E_IO, "cannot make an event counter: %s", strerror(errno)) : HONE_OK;
    if (!rc) rc = hn_runner_name(e, err);
    if (!rc) resolve(e, answers, arg);
    if (!rc && pthread_create(&e->thread, NULL, work, e)) rc = hn_fail(err, HONE_E_NOMEM, "cannot start a thread");
    e->started = !rc;
    if (rc) {
        hn_runner_free(e);
        return rc;
    }
    *out = e;
    return HONE_OK;
}

void hn_runner_free(hn_runner *e) {
    if (!e) return;
    hn_runner_stop_load(e);
    if (e->started) {
        pthread_mutex_lock(&e->lock);
        e->stop = true;
        pthread_cond_signal(&e->wake);
        pthread_mutex_unlock(&e->lock);
        pthread_join(e->thread, NULL);
    }
    for (hn_event *h = e->out, *next; h; h = next) {
        next = h->next;
        hn_served_free(h->closed);
        hn_event_free(h);
    }
    hn_runner_close(e);
    hn_traffic_close(e->traffic);
    if (e->fd >= 0) close(e->fd);
    pthread_cond_destroy(&e->wake);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
