/* replace.c — which version of a model answers: versions are opened by a thread of their own while the old one
 * answers, take over between two calls, and are closed when their last call has ended. */
#include "base/clock.h"
#include "base/err.h"
#include "serve/engine.h"

#include <hone/rollout.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { LOADER_NICE = 5 };

/* --- figures ------------------------------------------------------------------------------------------------------ */

static void free_figures(hn_figures *f) {
    if (!f) return;
    pthread_mutex_destroy(&f->lock);
    free(f->name);
    free(f);
}

/* Those of a version; made when there are none. version NULL: not known yet. NULL: no memory. */
hn_figures *hn_runner_figures(hn_runner *e, const char *name, const char *version) {
    for (size_t i = 0; version && i < e->n_figures; i++)
        if (!strcmp(e->figures[i]->name, name) && !strcmp(e->figures[i]->version, version)) return e->figures[i];
    hn_figures **more = realloc(e->figures, (e->n_figures + 1) * sizeof *more), *f = calloc(1, sizeof *f);
    if (more) e->figures = more;
    if (!more || !f || !(f->name = strdup(name))) {
        free(f);
        return NULL;
    }
    if (version) strcpy(f->version, version);
    pthread_mutex_init(&f->lock, NULL);
    return e->figures[e->n_figures++] = f;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

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
    return m->path && m->name ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_runner_name(hn_runner *e, hone_err *err) {
    e->model = calloc(e->o->n_model + 1, sizeof *e->model);
    e->before = calloc(e->o->n_model + 1, sizeof *e->before);
    e->base = calloc(e->o->n_model + 1, sizeof *e->base);
    if (!e->model || !e->before || !e->base) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < e->o->n_model; i++) {
        hn_served *m = calloc(1, sizeof *m);
        if (!m) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        e->model[e->n_model++] = m;
        hone_rc rc = name_model(m, e->o->model[i], err);
        if (!rc && !(m->figures = hn_runner_figures(e, m->name, NULL)))
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (!rc && !(e->base[i] = strdup(m->path))) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (rc) return rc;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(e->model[k]->name, m->name))
                return hn_fail(err, HONE_E_USAGE, "two models are named '%s'; give one another name: NAME=%s", m->name,
                               m->path);
    }
    return HONE_OK;
}

size_t hn_runner_at(const hn_runner *e, const char *name) {
    size_t i = 0;
    while (i < e->n_model && strcmp(e->model[i]->name, name)) i++;
    return i;
}

hn_served *hn_runner_model(hn_runner *e, const char *name) {
    size_t i = hn_runner_at(e, name);
    return i < e->n_model ? e->model[i] : NULL;
}

static void free_list(hn_served *m) {
    for (hn_served *next; m; m = next) {
        next = m->next;
        hn_served_close(m);
        hn_served_free(m);
    }
}

/* Once all are loaded each version is in one place: the engine's list, or among those on their way to it. */
void hn_runner_close(hn_runner *e) {
    if (e->loaded) {
        free_list(e->live);
        free_list(e->coming);
    }
    for (size_t i = 0; i < e->n_model && !e->loaded; i++) {
        hn_served_close(e->model[i]);
        hn_served_free(e->model[i]);
    }
    for (size_t i = 0; i < e->n_figures; i++) free_figures(e->figures[i]);
    for (size_t i = 0; i < e->n_model; i++) free(e->base[i]);
    free(e->figures);
    free(e->base);
    free(e->model);
    free(e->before);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static void hand_over(hn_runner *e, hn_served *m, hn_served *go) {
    pthread_mutex_lock(&e->lock);
    if (m) {
        m->next = e->coming;
        e->coming = m;
    }
    if (go) {
        go->gone_next = e->going;
        e->going = go;
    }
    pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->lock);
}

static void retire(hn_runner *e, hn_served *m) {
    if (!m) return;
    m->retired = true;
    if (!m->n_calls) hand_over(e, NULL, m);
}

void hn_served_use(hn_served *m) { m->n_calls++; }

void hn_served_release(hn_runner *e, hn_served *m) {
    if (!--m->n_calls && m->retired) hand_over(e, NULL, m);
}

/* --- another version ---------------------------------------------------------------------------------------------- */

/* The store's own thread would wait for the disk. What cannot be read is said there. */
static void read_contents(hn_load *l) {
    hone_rollouts *r = NULL;
    if (hone_rollouts_open(l->engine->o->store, true, &r, NULL)) return;
    if (!hone_rollouts_read(r, l->base, NULL)) hone_rollouts_read(r, l->model->path, NULL);
    hone_rollouts_close(r);
}

static void *open_version(void *arg) {
    hn_load *l = arg;
    double begin_s = hn_now_s();
    setpriority(PRIO_PROCESS, 0,
                LOADER_NICE); /* of this thread, and the compilers that it starts; it cannot be refused */
    if (!l->read_only) l->rc = hn_served_open(l->model, &l->engine->load_o, &l->why);
    if (!l->rc && l->base) read_contents(l);
    l->seconds = hn_now_s() - begin_s;
    hn_event *h = hn_event_new();
    h->load = l;
    hn_runner_post(l->engine, h);
    return NULL;
}

static void free_load(hn_load *l) {
    if (l->model) hn_served_close(l->model);
    hn_served_free(l->model);
    free(l->base);
    free(l);
}

static hone_rc begin_load(hn_runner *e, const char *name, const char *base, const char *path, hn_load as,
                          hone_err *err) {
    if (e->load)
        return hn_fail(err, HONE_E_BUSY, "'%s' is being opened; try again when that is done", e->load->model->path);
    hn_load *l = calloc(1, sizeof *l);
    if (l) *l = as;
    if (l && (l->model = calloc(1, sizeof *l->model))) {
        l->engine = e;
        l->base = base ? strdup(base) : NULL;
        l->model->name = strdup(name);
        l->model->path = strdup(path);
    }
    hone_rc rc = l && l->model && l->model->name && l->model->path && (l->base || !base)
                     ? HONE_OK
                     : hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", path);
    e->load_o = *e->o;
    e->load_o.stop = &e->stop_load;
    if (!rc && pthread_create(&l->thread, NULL, open_version, l))
        rc = hn_fail(err, HONE_E_NOMEM, "cannot start a thread");
    if (rc) {
        if (l) free_load(l);
        return rc;
    }
    e->load = l;
    return HONE_OK;
}

hone_rc hn_runner_load(hn_runner *e, const char *name, const char *base, const char *path,
                       void (*then)(void *arg, hn_load *l), void *arg, hone_err *err) {
    return begin_load(e, name, base, path, (hn_load){.then = then, .arg = arg}, err);
}

hone_rc hn_runner_read(hn_runner *e, const char *name, const char *base, const char *path,
                       void (*then)(void *arg, hn_load *l), void *arg, hone_err *err) {
    return begin_load(e, name, base, path, (hn_load){.read_only = true, .then = then, .arg = arg}, err);
}

void hn_runner_stop_load(hn_runner *e) {
    e->stop_load = 1;
    if (!e->load) return;
    pthread_join(e->load->thread, NULL);
    free_load(e->load);
    e->load = NULL;
}

void hn_runner_take(hn_runner *e, hn_event *h) {
    hn_served_free(h->closed);
    hn_load *l = h->load;
    if (!l) return;
    pthread_join(l->thread, NULL);
    e->load = NULL;
    l->then(l->arg, l);
    free_load(l);
}

static hone_rc same_ports(const hone_model_port *a, int32_t n_a, const hone_model_port *b, int32_t n_b,
                          const char *what, const char *path, hone_err *err) {
    if (n_a != n_b)
        return hn_fail(err, HONE_E_MISMATCH, "'%s' has %d %ss, the model that answers has %d", path, n_b, what, n_a);
    for (int32_t i = 0; i < n_a; i++) {
        if (strcmp(a[i].name, b[i].name))
            return hn_fail(err, HONE_E_MISMATCH, "'%s' names its %s %d '%s'; the model that answers names it '%s'",
                           path, what, i, b[i].name, a[i].name);
        bool same = a[i].dtype == b[i].dtype && a[i].rank == b[i].rank;
        for (int32_t d = 0; same && d < a[i].rank; d++) same = a[i].dim[d] == b[i].dim[d];
        if (!same)
            return hn_fail(err, HONE_E_MISMATCH,
                           "'%s': its %s '%s' has another type or shape than that of the model "
                           "that answers: %s, not %s",
                           path, what, b[i].name, b[i].shape, a[i].shape);
    }
    return HONE_OK;
}

hone_rc hn_served_fits(const hn_served *now, const hn_served *m, hone_err *err) {
    hone_err why;
    if (hn_served_broken(now, &why)) return HONE_OK; /* nothing that it could differ from is known */
    if (now->language != m->language)
        return hn_fail(err, HONE_E_MISMATCH, "'%s' is %s, the model that answers is %s", m->path,
                       m->language ? "a language model" : "no language model", now->language ? "one" : "none");
    if (now->language) return HONE_OK;
    hone_rc rc =
        same_ports(now->model->input, now->model->n_inputs, m->model->input, m->model->n_inputs, "input", m->path, err);
    if (!rc)
        rc = same_ports(now->model->output, now->model->n_outputs, m->model->output, m->model->n_outputs, "output",
                        m->path, err);
    return rc;
}

hone_rc hn_runner_put(hn_runner *e, size_t at, hn_served *m, hone_err *err) {
    hn_served *now = e->model[at], *before = e->before[at];
    if (m == before) { /* it is open */
        e->model[at] = m;
        e->before[at] = now;
        return HONE_OK;
    }
    if (!m->figures && !(m->figures = hn_runner_figures(e, m->name, m->version)))
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hand_over(e, m, NULL);
    e->model[at] = m;
    e->before[at] = now;
    retire(e, before);
    return HONE_OK;
}

void hn_runner_forget(hn_runner *e, size_t at) {
    retire(e, e->before[at]);
    e->before[at] = NULL;
}
