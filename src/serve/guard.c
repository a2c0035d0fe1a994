/* guard.c — a request must be whole some time after its first byte: a client that sends a byte a second does not keep a
 * connection for ever.
 *
 * evhttp has a limit on silence alone. Here descriptors are looked at once a second: one whose bytes have come, and are
 * no whole request, for too long is shut down, and evhttp then ends the connection. What a descriptor belongs to is
 * known by its socket's cookie, since numbers of descriptors come again. */
#include "base/clock.h"
#include "serve/http.h"

#include <event2/bufferevent.h>
#include <stdlib.h>
#include <sys/socket.h>

typedef struct row {
    uint64_t cookie;
    double since_s; /* 0: no byte of a request has come */
    struct watch *watch;
} row;

struct hn_guard {
    double limit_s;
    row *fd;
    size_t n;
};

hn_guard *hn_guard_new(double limit_s) {
    hn_guard *g = calloc(1, sizeof *g);
    if (g) g->limit_s = limit_s;
    return g;
}

void hn_guard_free(hn_guard *g) {
    for (size_t i = 0; g && i < g->n; i++) free(g->fd[i].watch);
    if (g) free(g->fd);
    free(g);
}

static uint64_t cookie_of(int fd) {
    uint64_t cookie = 0;
    socklen_t n = sizeof cookie;
    return fd < 0 || getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n) ? 0 : cookie;
}

static row *row_of(hn_guard *g, int fd) {
    if (fd < 0) return NULL;
    if ((size_t)fd >= g->n) {
        size_t n = 2 * (size_t)fd + 64;
        row *more = realloc(g->fd, n * sizeof *more);
        if (!more) return NULL;
        for (size_t i = g->n; i < n; i++) more[i] = (row){0};
        g->fd = more;
        g->n = n;
    }
    return &g->fd[fd];
}

struct watch {
    hn_guard *guard;
    struct bufferevent *bev;
};

/* A watch is freed when its descriptor's number is seen with another socket: then its buffer is gone. */
static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg) {
    (void)buffer;
    if (!info->n_added) return;
    struct watch *w = arg;
    int fd = bufferevent_getfd(w->bev);
    uint64_t cookie = cookie_of(fd);
    row *r = row_of(w->guard, fd);
    if (!r || (r->cookie == cookie && r->since_s > 0)) return;
    if (r->watch != w) free(r->watch);
    *r = (row){cookie, hn_now_s(), w};
}

struct bufferevent *hn_guard_watch(struct event_base *base, void *guard) {
    struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);
    struct watch *w = bev ? malloc(sizeof *w) : NULL;
    if (!w) return bev;
    *w = (struct watch){guard, bev};
    if (!evbuffer_add_cb(bufferevent_get_input(bev), on_input, w)) free(w);
    return bev;
}

void hn_guard_whole(hn_guard *g, struct evhttp_connection *con) {
    int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(con));
    row *r = row_of(g, fd);
    if (r) r->since_s = 0;
}

void hn_guard_sweep(hn_guard *g, double now_s) {
    for (size_t fd = 0; fd < g->n; fd++) {
        row *r = &g->fd[fd];
        if (!(r->since_s > 0) || now_s - r->since_s < g->limit_s) continue;
        r->since_s = 0;
        if (cookie_of((int)fd) == r->cookie) shutdown((int)fd, SHUT_RDWR);
    }
}
