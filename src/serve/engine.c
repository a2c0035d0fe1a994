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
    pthread_mutex_lock(&m->figures.lock);
    m->figures.cancelled += j->rc == HONE_E_INTERRUPTED;
    if (!j->rc) hn_histogram_add(&m->figures.whole_s, hn_bounds_s, now_s - j->arrived_s);
    pthread_mutex_unlock(&m->figures.lock);
    hn_event *h = calloc(1, sizeof *h);
    while (!h) { /* the end of a job must arrive */
        usleep(10000);
        h = calloc(1, sizeof *h);
    }
    h->job = j;
    h->done = true;
    hn_runner_post(e, h);
}

/* --- in ----------------------------------------------------------------------------------------------------------- */

hone_rc hn_runner_submit(hn_runner *e, hn_task **jobs, size_t n, hone_err *err) {
    uint32_t most = e->o->max_queue;
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
    if (dead) return hn_fail(err, HONE_E_FAILED, "the server is ending");
    if (full && n > most)
        return hn_fail(err, HONE_E_USAGE, "%zu answers are asked for, and the queue holds %u; ask for fewer", n, most);
    return full ? hn_fail(err, HONE_E_BUSY, "%u requests wait already; try again later", most) : HONE_OK;
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

hn_served *hn_runner_model(hn_runner *e, const char *name) {
    for (size_t i = 0; i < e->n_model; i++)
        if (!strcmp(e->model[i].name, name)) return &e->model[i];
    return NULL;
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static hone_rc load_all(hn_runner *e) {
    hone_rc rc = HONE_OK;
    hone_err why = {0};
    size_t n_whole = 0;
    for (size_t i = 0; !rc && i < e->n_model; i++) {
        hone_err own = {0};
        rc = hn_served_open(&e->model[i], e->o, &own);
        n_whole += !rc;
        if (!rc) continue;
        why = own;
        hn_served_break(&e->model[i], HN_NOT_LOADED, &own);
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

/* Jobs that came, to their models. False: the engine stops. */
static bool take_in(hn_runner *e, bool busy, double due_s) {
    pthread_mutex_lock(&e->lock);
    if (!e->stop && !e->in && !busy && hn_now_s() < due_s) wait_until(e, due_s);
    hn_task *list = e->in;
    bool stop = e->stop;
    e->in = NULL;
    pthread_mutex_unlock(&e->lock);
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
        for (size_t i = 0; i < e->n_model; i++) {
            hn_served *m = &e->model[i];
            if (hn_served_broken(m, &why)) {
                end_model(e, m, why.text);
                continue;
            }
            busy |= m->language ? hn_text_turn(e, m) : hn_tensor_turn(e, m, &due_s);
            due_s = next_deadline(m, due_s);
        }
    }
    for (size_t i = 0; i < e->n_model; i++) end_model(e, &e->model[i], "the server is ending");
    return NULL;
}

/* --- start and end ------------------------------------------------------------------------------------------------ */

/* NAME=PATH, or PATH, whose last part without its ending is the name. */
static hone_rc name_model(hn_served *m, const char *text, hone_err *err) {
    const char *equals = strchr(text, '='), *slash = strchr(text, '/');
    bool named = equals && equals > text && (!slash || equals < slash);
    m->path = strdup(named ? equals + 1 : text);
    if (named)
        m->name = strndup(text, (size_t)(equals - text));
    else if (m->path) {
        size_t n = strlen(m->path);
        while (n > 1 && m->path[n - 1] == '/') m->path[--n] = 0;
        const char *base = strrchr(m->path, '/');
        base = base ? base + 1 : m->path;
        const char *dot = strrchr(base, '.');
        m->name = strndup(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    }
    if (!m->path || !m->name) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    m->figures.name = m->name;
    m->figures.version = m->version;
    return HONE_OK;
}

static hone_rc name_all(hn_runner *e, hone_err *err) {
    for (size_t i = 0; i < e->n_model; i++) {
        hone_rc rc = name_model(&e->model[i], e->o->model[i], err);
        if (rc) return rc;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(e->model[k].name, e->model[i].name))
                return hn_fail(err, HONE_E_USAGE, "two models are named '%s'; give one another name: NAME=%s",
                               e->model[i].name, e->model[i].path);
    }
    return HONE_OK;
}

hone_rc hn_runner_start(const hone_serve_options *o, hn_runner **out, hone_err *err) {
    pthread_condattr_t how;
    hn_runner *e = calloc(1, sizeof *e);
    if (e && !(e->model = calloc(o->n_model + 1, sizeof *e->model))) {
        free(e);
        e = NULL;
    }
    if (!e) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    e->o = o;
    e->n_model = o->n_model;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&e->wake, &how);
    pthread_condattr_destroy(&how);
    for (size_t i = 0; i < e->n_model; i++) pthread_mutex_init(&e->model[i].figures.lock, NULL);
    e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    hone_rc rc = e->fd < 0 ? hn_fail(err, HONE_E_IO, "cannot make an event counter: %s", strerror(errno)) : HONE_OK;
    if (!rc) rc = name_all(e, err);
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
    if (e->started) {
        pthread_mutex_lock(&e->lock);
        e->stop = true;
        pthread_cond_signal(&e->wake);
        pthread_mutex_unlock(&e->lock);
        pthread_join(e->thread, NULL);
    }
    for (hn_event *h = e->out, *next; h; h = next) {
        next = h->next;
        hn_event_free(h);
    }
    for (size_t i = 0; i < e->n_model; i++) {
        hn_served_close(&e->model[i]);
        pthread_mutex_destroy(&e->model[i].figures.lock);
    }
    if (e->fd >= 0) close(e->fd);
    pthread_cond_destroy(&e->wake);
    pthread_mutex_destroy(&e->lock);
    free(e->model);
    free(e);
}
