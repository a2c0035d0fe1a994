/* rt/graph.h — what a stream is given again and again becomes one recording of its driver (a CUDA graph). Text carried
 * into artifacts, behind driver.h and in front of device.h.
 *
 * A *segment* is a row of launches, copies and fills between two moments at which the host waits or moves memory
 * (hnd_graph_flush). The first time a segment comes, it is done at once and noted. When what comes next time is the
 * same, by kernels, grids, addresses and sizes, it is held back until the flush, and recorded there; from then on it is
 * replayed: one call instead of many. What differs on the way costs nothing but the delay: what was held back is given
 * to the driver, one by one, and the segment is noted anew. So a recording never has an address or a size that the run
 * has not asked for. Few segments are kept, and the one that was not used for longest goes first.
 *
 * HONE_DEVICE_GRAPHS=0 does without. A driver without recordings gets everything at once.
 * Owns: notes and recordings, until hnd_graph_close.   Threads: as its stream.
 */
#ifndef HND_GRAPH_H
#define HND_GRAPH_H

#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { HND_GRAPH_SEGMENTS = 8, HND_GRAPH_LEAST = 2, HND_GRAPH_MOST = 16384 /* operations of a segment */ };
typedef enum hnd_op_kind { HND_OP_LAUNCH = 1, HND_OP_COPY, HND_OP_FILL } hnd_op_kind;

typedef struct hnd_op {
    hnd_op_kind kind;
    const char *name;   /* of a kernel */
    hnd_launch launch;  /* its arguments: arg below */
    uint32_t first_arg; /* in the segment's list */
    hnd_at to, from;    /* of a copy or a fill */
    int64_t size_b;
    int byte;
} hnd_op;

typedef struct hnd_segment {
    hnd_op *op;
    hnd_arg *arg;
    uint32_t n_op, n_arg, op_room, arg_room;
    void *recording; /* NULL: not yet */
    int too_long;    /* this time: it is not noted */
    uint64_t used;
} hnd_segment;

typedef struct hnd_graphs {
    int on; /* 0: not asked yet; -1: done without */
    hnd_segment segment[HND_GRAPH_SEGMENTS];
    hnd_segment *now; /* that is compared with, or noted; NULL: at its begin */
    int holding;      /* operations of `now` are held back: `at` of them */
    uint32_t at;
    uint64_t clock;
    uint64_t n_replayed, n_recorded; /* for tests */
} hnd_graphs;

/* Where operations go: a stream's queue. */
typedef struct hnd_to {
    const hnd_driver *driver;
    void *device, *queue;
} hnd_to;

HND int hnd_graph_is_on(hnd_graphs *g, const hnd_driver *d) {
    if (!g->on) {
        const char *set = getenv("HONE_DEVICE_GRAPHS");
        g->on = d->record && d->record_end && d->replay && !(set && !strcmp(set, "0")) ? 1 : -1;
    }
    return g->on > 0;
}

HND int hnd_op_same(const hnd_segment *s, const hnd_op *a, const hnd_op *b, const hnd_arg *arg) {
    if (a->kind != b->kind || a->to != b->to || a->from != b->from || a->size_b != b->size_b || a->byte != b->byte)
        return 0;
    if (a->kind != HND_OP_LAUNCH) return 1;
    if (a->launch.kernel != b->launch.kernel || a->launch.grid != b->launch.grid ||
        a->launch.shared_b != b->launch.shared_b || a->launch.n_arg != b->launch.n_arg ||
        a->launch.cluster != b->launch.cluster ||
        memcmp(a->launch.threads, b->launch.threads, sizeof a->launch.threads))
        return 0;
    for (uint32_t i = 0; i < a->launch.n_arg; i++)
        if (s->arg[a->first_arg + i].value != arg[i].value) return 0;
    return 1;
}

/* A failure of a kernel names it. */
HND void hnd_name(hnd_err *err, const char *kernel) {
    char why[300];
    snprintf(why, sizeof why, "%.299s", err->text);
    snprintf(err->text, sizeof err->text, "kernel '%.60s': %s", kernel, why);
}

HND int hnd_op_do(const hnd_to *t, const hnd_op *o, const hnd_arg *arg, hnd_err *err) {
    hnd_launch l = o->launch;
    int rc;
    if (o->kind == HND_OP_COPY) return t->driver->copy(t->device, t->queue, o->to, o->from, o->size_b, err);
    if (o->kind == HND_OP_FILL) return t->driver->fill(t->device, t->queue, o->to, o->byte, o->size_b, err);
    l.arg = arg;
    rc = t->driver->launch(t->device, t->queue, &l, err);
    if (rc && err) hnd_name(err, o->name);
    return rc;
}

HND void hnd_segment_clear(const hnd_to *t, hnd_segment *s) {
    if (s->recording) t->driver->drop_recording(t->device, s->recording);
    s->recording = NULL;
    s->n_op = s->n_arg = 0;
    s->too_long = 0;
}

/* 0: it does not fit, or memory ran out. */
HND int hnd_segment_note(hnd_segment *s, const hnd_op *o, const hnd_arg *arg) {
    uint32_t n = o->launch.n_arg;
    if (s->n_op >= HND_GRAPH_MOST) return 0;
    if (s->n_op == s->op_room) {
        uint32_t room = s->op_room ? 2 * s->op_room : 64;
        hnd_op *more = (hnd_op *)realloc(s->op, room * sizeof *more);
        if (!more) return 0;
        s->op = more, s->op_room = room;
    }
    if (s->n_arg + n > s->arg_room) {
        uint32_t room = 2 * s->arg_room + n + 64;
        hnd_arg *more = (hnd_arg *)realloc(s->arg, room * sizeof *more);
        if (!more) return 0;
        s->arg = more, s->arg_room = room;
    }
    s->op[s->n_op] = *o;
    s->op[s->n_op].first_arg = s->n_arg;
    s->op[s->n_op++].launch.arg = NULL;
    for (uint32_t i = 0; i < n; i++) s->arg[s->n_arg++] = arg[i];
    return 1;
}

/* The segment that begins with this; else one to note it in. */
HND hnd_segment *hnd_graph_begin(const hnd_to *t, hnd_graphs *g, const hnd_op *o, const hnd_arg *arg) {
    hnd_segment *old = &g->segment[0];
    g->at = 0;
    for (int i = 0; i < HND_GRAPH_SEGMENTS; i++) {
        hnd_segment *s = &g->segment[i];
        if (s->n_op && hnd_op_same(s, &s->op[0], o, arg)) {
            g->holding = s->n_op >= HND_GRAPH_LEAST;
            if (!g->holding) hnd_segment_clear(t, s);
            return s;
        }
        if (s->used < old->used) old = s;
    }
    hnd_segment_clear(t, old);
    g->holding = 0;
    return old;
}

/* What was held back, one by one; what comes next is noted behind it. */
HND int hnd_graph_release(const hnd_to *t, hnd_graphs *g, hnd_err *err) {
    hnd_segment *s = g->now;
    int rc = 0;
    if (!g->holding) return 0;
    g->holding = 0;
    for (uint32_t i = 0; i < g->at && !rc; i++) rc = hnd_op_do(t, &s->op[i], s->arg + s->op[i].first_arg, err);
    if (s->recording) t->driver->drop_recording(t->device, s->recording);
    s->recording = NULL;
    s->n_arg = g->at < s->n_op ? s->op[g->at].first_arg : s->n_arg;
    s->n_op = g->at;
    return rc;
}

/* An operation of the stream; arg: of a launch. */
HND int hnd_graph_do(const hnd_to *t, hnd_graphs *g, const hnd_op *o, const hnd_arg *arg, hnd_err *err) {
    int rc = 0;
    if (!hnd_graph_is_on(g, t->driver)) return hnd_op_do(t, o, arg, err);
    if (!g->now) g->now = hnd_graph_begin(t, g, o, arg);
    hnd_segment *s = g->now;
    s->used = ++g->clock;
    if (g->holding) {
        if (g->at < s->n_op && hnd_op_same(s, &s->op[g->at], o, arg)) {
            g->at++;
            return 0;
        }
        if ((rc = hnd_graph_release(t, g, err))) return rc;
    }
    if (!s->too_long && !hnd_segment_note(s, o, arg)) {
        hnd_segment_clear(t, s);
        s->too_long = 1;
    }
    return hnd_op_do(t, o, arg, err);
}

/* A driver that does not record a segment is asked no more. */
HND void hnd_segment_record(const hnd_to *t, hnd_graphs *g, hnd_segment *s) {
    hnd_err err = {0, ""};
    if (t->driver->record(t->device, t->queue, &err)) {
        g->on = -1;
        return;
    }
    for (uint32_t i = 0; i < s->n_op && !err.rc; i++) hnd_op_do(t, &s->op[i], s->arg + s->op[i].first_arg, &err);
    if (!t->driver->record_end(t->device, t->queue, &s->recording, NULL) && !err.rc) {
        g->n_recorded++;
        return;
    }
    if (s->recording) t->driver->drop_recording(t->device, s->recording);
    s->recording = NULL;
    g->on = -1;
}

/* In front of whatever is no operation of a segment. failed: the stream has, and nothing of it is done any more. */
HND int hnd_graph_flush(const hnd_to *t, hnd_graphs *g, int failed, hnd_err *err) {
    hnd_segment *s = g->now;
    int rc = 0;
    if (!s) return 0;
    if (!failed && g->holding && g->at < s->n_op) rc = hnd_graph_release(t, g, err);
    if (!failed && g->holding) {
        if (!s->recording) hnd_segment_record(t, g, s);
        if (s->recording) rc = t->driver->replay(t->device, t->queue, s->recording, err);
        g->n_replayed += s->recording && !rc;
        for (uint32_t i = 0; i < s->n_op && !s->recording && !rc; i++)
            rc = hnd_op_do(t, &s->op[i], s->arg + s->op[i].first_arg, err);
    }
    if (s->too_long) hnd_segment_clear(t, s);
    g->now = NULL;
    g->holding = 0;
    return rc;
}

HND void hnd_graph_close(const hnd_to *t, hnd_graphs *g) {
    for (int i = 0; i < HND_GRAPH_SEGMENTS; i++) {
        hnd_segment_clear(t, &g->segment[i]);
        free(g->segment[i].op);
        free(g->segment[i].arg);
    }
    memset(g, 0, sizeof *g);
}

#endif
