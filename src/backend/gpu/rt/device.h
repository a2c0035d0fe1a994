/* rt/device.h — kernels of a library on a device: sessions, streams, launches. Text carried into artifacts, behind
 * driver.h and the drivers.
 *
 * A *session* is a device that a library has opened, with the library's modules and weights on it: one for all
 * instances on that device, as long as there is one. A *stream* is a queue of a session with what its launches share:
 * the error slot, behind it the symbols that kernels define, and scratch memory. A failure stays with its stream
 * (stream->err) until it is taken, and what follows is left out.
 *
 * A kernel's arguments, in order: the buffers; the symbols that it uses, 64-bit integers; begin, end; scratch; the
 * error slot. Every kernel takes any grid: its work items are shared among all threads (or, where an item is a block's
 * or a cluster's, among all of these). Scratch is scratch_b bytes for each launched thread (block).
 *
 * Threads: a session may be used by several, a stream by one at a time.
 */
#ifndef HND_DEVICE_H
#define HND_DEVICE_H

#include "driver.h"

#include "graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    HND_SYMBOLS = 64,             /* that one kernel defines, at most */
    HND_GRID_MOST = 0x7fffffff,   /* blocks */
    HND_SCRATCH_MOST = 256 << 20, /* bytes of a launch, where one block does not take more */
    HND_BUFFERS_MOST = 256
};

typedef struct hnd_module {    /* of a library's text */
    const char *head;          /* what all kernels need */
    const char *const *kernel; /* their texts, NULL-terminated */
    const char *options;       /* of the device's compiler */
    const hnd_image *image;
    uint32_t n_image;
    uint32_t slot; /* own number in the library */
} hnd_module;

typedef struct hnd_kernel {
    const char *name, *text;
    const hnd_module *module;
    uint32_t slot; /* own number in the library */
    uint32_t n_buf, n_symbol;
    const uint32_t *symbol; /* that it takes, by index */
    uint32_t threads, shared_b;
    int32_t block_items;
    uint32_t cluster; /* blocks of a cluster, which a work item is; 0: there are none */
} hnd_kernel;

typedef struct hnd_session {
    const hnd_driver *driver;
    int index, users;
    void *device;
    hnd_info info;
    pthread_mutex_t lock; /* of what follows */
    void **module, **kernel;
    uint8_t *broken; /* by module: it does not build as a whole */
    uint32_t n_module, n_kernel, n_broken;
    hnd_at weights;
    struct hnd_session *next;
} hnd_session;

typedef struct hnd_stream {
    hnd_session *session;
    void *queue;
    hnd_at slots; /* the error slot, then the symbols */
    hnd_at scratch;
    int64_t scratch_b;
    int32_t launched;  /* something may be in the error slot */
    int32_t sync_each; /* HONE_DEVICE_SYNC=1: the host waits for every kernel */
    const char *last;  /* the kernel that was launched last; NULL: none since the host waited */
    hnd_graphs graphs;
    hnd_err err;
} hnd_stream;

/* --- sessions ----------------------------------------------------------------------------------------------------- */

typedef struct hnd_sessions { /* of a library */
    pthread_mutex_t lock;
    hnd_session *first;
} hnd_sessions;

HND void hnd_session_close(hnd_sessions *all, hnd_session *s) {
    if (!s) return;
    pthread_mutex_lock(&all->lock);
    int last = --s->users == 0;
    for (hnd_session **p = &all->first; last && *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    pthread_mutex_unlock(&all->lock);
    if (!last) return;
    s->driver->close(s->device);
    pthread_mutex_destroy(&s->lock);
    free(s->module);
    free(s->kernel);
    free(s->broken);
    free(s);
}

HND int hnd_session_new(const hnd_driver *d, int index, hnd_session **out, hnd_err *err) {
    hnd_session *s = (hnd_session *)calloc(1, sizeof *s);
    if (!s) return hnd_fail(err, HND_NOMEM, "out of memory");
    int rc = d->describe(index, &s->info, err);
    if (!rc) rc = d->open(index, &s->device, err);
    if (rc) {
        free(s);
        return rc;
    }
    s->driver = d, s->index = index, s->users = 1;
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return 0;
}

HND int hnd_session_open(hnd_sessions *all, const hnd_driver *d, int index, hnd_session **out, hnd_err *err) {
    int rc = 0;
    pthread_mutex_lock(&all->lock);
    hnd_session *s = all->first;
    while (s && (s->driver != d || s->index != index)) s = s->next;
    if (s) {
        s->users++;
    } else if (!(rc = hnd_session_new(d, index, &s, err))) {
        s->next = all->first;
        all->first = s;
    }
    pthread_mutex_unlock(&all->lock);
    if (!rc) *out = s;
    return rc;
}

/* Slot i of a list that grows; NULL: out of memory. */
HND void **hnd_slot(void ***list, uint32_t *n, uint32_t i) {
    if (i >= *n) {
        uint32_t room = i + 1 > 2 * *n ? i + 1 : 2 * *n;
        void **more = (void **)realloc(*list, room * sizeof *more);
        if (!more) return NULL;
        memset(more + *n, 0, (room - *n) * sizeof *more);
        *list = more, *n = room;
    }
    return &(*list)[i];
}

/* The head and these kernels as one text; NULL: out of memory. */
HND char *hnd_join(const char *head, const char *const *kernel, size_t *n) {
    char *text, *to;
    *n = strlen(head);
    for (size_t i = 0; kernel[i]; i++) *n += strlen(kernel[i]);
    if (!(text = (char *)malloc(*n + 1))) return NULL;
    to = text + strlen(strcpy(text, head));
    for (size_t i = 0; kernel[i]; i++) to += strlen(strcpy(to, kernel[i]));
    return text;
}

HND int hnd_session_load(hnd_session *s, const hnd_module *m, const char *const *kernel, void **out, hnd_err *err) {
    hnd_source source = {.options = m->options, .image = m->image, .n_image = m->n_image};
    char *text = hnd_join(m->head, kernel, &source.text_b);
    source.text = text;
    int rc = text ? s->driver->load(s->device, &source, out, err) : hnd_fail(err, HND_NOMEM, "out of memory");
    free(text);
    return rc;
}

/* A module is built when the first of its kernels is launched. Where it does not build, each kernel is built alone, so
 * that one text that the device's compiler refuses leaves the others. */
HND int hnd_session_module(hnd_session *s, const hnd_kernel *k, void **out, hnd_err *err) {
    const hnd_module *m = k->module;
    const char *const alone[] = {k->text, NULL};
    void **at = hnd_slot(&s->module, &s->n_module, m->slot);
    if (!at) return hnd_fail(err, HND_NOMEM, "out of memory");
    if (m->slot >= s->n_broken) {
        uint8_t *more = (uint8_t *)realloc(s->broken, s->n_module);
        if (!more) return hnd_fail(err, HND_NOMEM, "out of memory");
        memset(more + s->n_broken, 0, s->n_module - s->n_broken);
        s->broken = more, s->n_broken = s->n_module;
    }
    if (!*at && !s->broken[m->slot]) {
        int rc = hnd_session_load(s, m, m->kernel, at, err);
        if (rc != HND_OK && rc != HND_BUILD) return rc;
        s->broken[m->slot] = rc == HND_BUILD;
    }
    if (s->broken[m->slot]) return hnd_session_load(s, m, alone, out, err);
    *out = *at;
    return 0;
}

HND int hnd_session_kernel(hnd_session *s, const hnd_kernel *k, void **out, hnd_err *err) {
    void *module = NULL;
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    void **at = hnd_slot(&s->kernel, &s->n_kernel, k->slot);
    if (!at) rc = hnd_fail(err, HND_NOMEM, "out of memory");
    if (!rc && !*at) rc = hnd_session_module(s, k, &module, err);
    if (!rc && !*at) rc = s->driver->find(s->device, module, k->name, at, err);
    if (!rc && err) err->rc = 0;
    if (!rc) *out = *at;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

HND hnd_to hnd_to_queue(const hnd_stream *t) { return (hnd_to){t->session->driver, t->session->device, t->queue}; }

/* What is held back (graph.h) goes to the queue, in front of whatever follows. */
HND int hnd_flush(hnd_stream *t) {
    const hnd_to to = hnd_to_queue(t);
    hnd_graph_flush(&to, &t->graphs, t->err.rc != 0, &t->err);
    return t->err.rc;
}

HND int hnd_do(hnd_stream *t, const hnd_op *o, const hnd_arg *arg) {
    const hnd_to to = hnd_to_queue(t);
    return hnd_graph_do(&to, &t->graphs, o, arg, &t->err);
}

HND void hnd_stream_close(hnd_stream *t) {
    if (!t) return;
    hnd_session *s = t->session;
    const hnd_to to = hnd_to_queue(t);
    hnd_flush(t);
    hnd_graph_close(&to, &t->graphs);
    s->driver->drop_queue(s->device, t->queue);
    s->driver->free(s->device, t->slots);
    s->driver->free(s->device, t->scratch);
    free(t);
}

HND int hnd_stream_open(hnd_session *s, hnd_stream **out, hnd_err *err) {
    hnd_stream *t = (hnd_stream *)calloc(1, sizeof *t);
    const int64_t size_b = (1 + HND_SYMBOLS) * (int64_t)sizeof(int64_t);
    if (!t) return hnd_fail(err, HND_NOMEM, "out of memory");
    t->session = s;
    const char *each = getenv("HONE_DEVICE_SYNC");
    t->sync_each = each && !strcmp(each, "1");
    int rc = s->driver->queue(s->device, &t->queue, err);
    if (!rc) rc = s->driver->alloc(s->device, size_b, &t->slots, err);
    if (!rc) rc = s->driver->fill(s->device, t->queue, t->slots, 0, size_b, err);
    if (rc) {
        hnd_stream_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

/* Behind each wait. A fault shows there, not at the launch: what ran may be any kernel up to the last. */
HND int hnd_waited(hnd_stream *t) {
    char why[240];
    if (t->err.rc == HND_FAULT && t->last) {
        snprintf(why, sizeof why, "%.239s", t->err.text);
        snprintf(t->err.text, sizeof t->err.text, "%s; kernel '%.60s' or one before it: HONE_DEVICE_SYNC=1 tells which",
                 why, t->last);
    }
    t->last = NULL;
    return t->err.rc;
}

/* Each does nothing where the stream has failed before. */
HND int hnd_put(hnd_stream *t, hnd_at to, const void *from, int64_t size_b) {
    if (t->err.rc || size_b <= 0 || hnd_flush(t)) return t->err.rc;
    return t->session->driver->put(t->session->device, t->queue, to, from, size_b, &t->err);
}
HND int hnd_get(hnd_stream *t, void *to, hnd_at from, int64_t size_b) {
    if (t->err.rc || size_b <= 0 || hnd_flush(t)) return t->err.rc;
    t->session->driver->get(t->session->device, t->queue, to, from, size_b, &t->err);
    return hnd_waited(t);
}
HND int hnd_move(hnd_stream *t, hnd_at to, hnd_at from, int64_t size_b) {
    if (t->err.rc || size_b <= 0 || to == from) return t->err.rc;
    const hnd_op o = {.kind = HND_OP_COPY, .to = to, .from = from, .size_b = size_b};
    return hnd_do(t, &o, NULL);
}
HND int hnd_fill(hnd_stream *t, hnd_at to, int byte, int64_t size_b) {
    if (t->err.rc || size_b <= 0) return t->err.rc;
    const hnd_op o = {.kind = HND_OP_FILL, .to = to, .size_b = size_b, .byte = byte};
    return hnd_do(t, &o, NULL);
}
HND int hnd_sync(hnd_stream *t) {
    if (t->err.rc || hnd_flush(t)) return t->err.rc;
    t->session->driver->sync(t->session->device, t->queue, &t->err);
    return hnd_waited(t);
}
HND hnd_at hnd_take(hnd_stream *t, int64_t size_b) {
    hnd_at at = 0;
    if (!t->err.rc) t->session->driver->alloc(t->session->device, size_b, &at, &t->err);
    return at;
}
HND void hnd_give(hnd_stream *t, hnd_at at) {
    hnd_flush(t);
    t->session->driver->free(t->session->device, at);
}

/* The content of the error slot, which is 0 again. Waits for what was launched. */
HND int hnd_take_error(hnd_stream *t, int64_t *out) {
    int64_t zero = 0;
    *out = 0;
    if (!t->launched || t->err.rc) return t->err.rc;
    t->launched = 0;
    if (!hnd_get(t, out, t->slots, sizeof *out) && *out) hnd_put(t, t->slots, &zero, sizeof zero);
    return t->err.rc;
}

/* --- launches ----------------------------------------------------------------------------------------------------- */

HND int hnd_scratch(hnd_stream *t, int64_t size_b) {
    if (t->err.rc || size_b <= t->scratch_b) return t->err.rc;
    hnd_give(t, t->scratch);
    t->scratch_b = 0;
    if ((t->scratch = hnd_take(t, size_b))) t->scratch_b = size_b;
    return t->err.rc;
}

/* Blocks of a launch: as many as the items need, as few as scratch allows; whole clusters. */
HND int64_t hnd_grid(const hnd_kernel *k, int64_t items, int64_t scratch_b) {
    int64_t per = k->block_items ? 1 : (int64_t)k->threads, grid = (items + per - 1) / per;
    int64_t together = k->cluster ? (int64_t)k->cluster : 1;
    int64_t block_b = k->block_items ? scratch_b : scratch_b * (int64_t)k->threads;
    int64_t most = (block_b > 0 ? HND_SCRATCH_MOST / block_b : HND_GRID_MOST) / together;
    if (most < 1) most = 1;
    if (most > HND_GRID_MOST / together) most = HND_GRID_MOST / together;
    return (grid < most ? grid : most) * together;
}

/* Work items [begin, end) of a kernel; buf and s as a hone_kernel_fn has them. */
HND void hnd_run(hnd_stream *t, const hnd_kernel *k, void *const *buf, const int64_t *s, int64_t begin, int64_t end,
                 int64_t scratch_b) {
    hnd_arg arg[HND_BUFFERS_MOST + HND_SYMBOLS + 4];
    hnd_launch l = {.threads = {k->threads, 1, 1}, .shared_b = k->shared_b, .cluster = k->cluster, .arg = arg};
    if (t->err.rc || begin >= end) return;
    if (k->n_buf > HND_BUFFERS_MOST || k->n_symbol > HND_SYMBOLS) {
        hnd_fail(&t->err, HND_REFUSED, "kernel '%s' has %u buffers and %u sizes, more than %d and %d", k->name,
                 k->n_buf, k->n_symbol, HND_BUFFERS_MOST, HND_SYMBOLS);
        return;
    }
    l.grid = hnd_grid(k, end - begin, scratch_b);
    if (scratch_b > 0 && hnd_scratch(t, scratch_b * l.grid * (k->block_items ? 1 : (int64_t)k->threads))) return;
    for (uint32_t i = 0; i < k->n_buf; i++) arg[l.n_arg++] = (hnd_arg){(int64_t)(uintptr_t)buf[i], 1};
    for (uint32_t i = 0; i < k->n_symbol; i++) arg[l.n_arg++] = (hnd_arg){s[k->symbol[i]], 0};
    arg[l.n_arg++] = (hnd_arg){begin, 0};
    arg[l.n_arg++] = (hnd_arg){end, 0};
    arg[l.n_arg++] = (hnd_arg){scratch_b > 0 ? (int64_t)t->scratch : 0, 1};
    arg[l.n_arg++] = (hnd_arg){(int64_t)t->slots, 1};
    if (hnd_session_kernel(t->session, k, &l.kernel, &t->err)) return;
    t->launched = 1;
    hnd_do(t, &(hnd_op){.kind = HND_OP_LAUNCH, .name = k->name, .launch = l}, arg);
    t->last = k->name;
    if (!t->err.rc && t->sync_each && !hnd_flush(t)) {
        t->session->driver->sync(t->session->device, t->queue, &t->err);
        if (t->err.rc) hnd_name(&t->err, k->name);
        t->last = NULL;
    }
}

#endif
