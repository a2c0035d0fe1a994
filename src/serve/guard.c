/* guard.c — a request must be whole some time after its first byte: a client that sends a byte a second does not keep a
 * connection for ever.
 *
 * evhttp has a limit on silence alone. Here connections are looked at once a second: one whose bytes have come, and are
 * no whole request, for too long is shut down, and evhttp then ends it. A watch holds a reference to its connection's
 * buffer, and lets go of it when the socket is another one than at first: evhttp has closed it. Sockets are known by
 * their cookies, since numbers of descriptors come again. */
#include "base/clock.h"
#include "serve/http.h"

#include <event2/bufferevent.h>
#include <stdlib.h>
#include <sys/socket.h>

typedef struct watch {
    struct watch *next;
    hn_guard *guard;
    struct bufferevent *bev;
    uint64_t cookie; /* 0: not looked at yet */
    double since_s;  /* 0: no byte of a request has come */
} watch;

struct hn_guard {
    double limit_s;
    watch *first;
    watch **of_fd; /* by descriptor: the watch that had input there last */
    size_t n;
};

hn_guard *hn_guard_new(double limit_s) {
    hn_guard *g = calloc(1, sizeof *g);
    if (g) g->limit_s = limit_s;
    return g;
}

static void drop(watch *w) {
    hn_guard *g = w->guard;
    int fd = bufferevent_getfd(w->bev);
    if (fd >= 0 && (size_t)fd < g->n && g->of_fd[fd] == w) g->of_fd[fd] = NULL;
    bufferevent_decref(w->bev);
    free(w);
}

void hn_guard_free(hn_guard *g) {
    if (!g) return;
    for (watch *w = g->first, *next; w; w = next) {
        next = w->next;
        drop(w);
    }
    free(g->of_fd);
    free(g);
}

static uint64_t cookie_of(int fd) {
    uint64_t cookie = 0;
    socklen_t n = sizeof cookie;
    return fd < 0 || getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n) ? 0 : cookie;
}

static bool has_room(hn_guard *g, size_t fd) {
    size_t n = 2 * fd + 64;
    if (fd < g->n) return true;
    watch **more = realloc(g->of_fd, n * sizeof(watch *));
    if (!more) return false;
    for (size_t i = g->n; i < n; i++) more[i] = NULL;
    g->of_fd = more;
    g->n = n;
    return true;
}

static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg) {
    (void)buffer;
    watch *w = arg;
    int fd = bufferevent_getfd(w->bev);
    if (!info->n_added || w->since_s > 0 || fd < 0 || !has_room(w->guard, (size_t)fd)) return;
    w->since_s = hn_now_s();
    w->guard->of_fd[fd] = w;
}

struct bufferevent *hn_guard_watch(struct event_base *base, void *guard) {
    hn_guard *g = guard;
    struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);
    watch *w = bev ? malloc(sizeof *w) : NULL;
    if (!w) return bev;
    if (!evbuffer_add_cb(bufferevent_get_input(bev), on_input, w)) {
        free(w);
        return bev;
    }
    *w = (watch){.next = g->first, .guard = g, .bev = bev};
    g->first = w;
    bufferevent_incref(bev);
    return bev;
}

void hn_guard_whole(hn_guard *g, struct evhttp_connection *con) {
    struct bufferevent *bev = evhttp_connection_get_bufferevent(con);
    int fd = bufferevent_getfd(bev);
    watch *w = fd >= 0 && (size_t)fd < g->n ? g->of_fd[fd] : NULL;
    if (w && w->bev == bev) w->since_s = 0;
}

void hn_guard_sweep(hn_guard *g, double now_s) {
    for (watch **at = &g->first; *at;) {
        watch *w = *at;
        int fd = bufferevent_getfd(w->bev);
        uint64_t cookie = cookie_of(fd);
        if (!w->cookie) w->cookie = cookie;
        if (!cookie || cookie != w->cookie) {
            *at = w->next;
            drop(w);
            continue;
        }
        if (w->since_s > 0 && now_s - w->since_s >= g->limit_s) {
            w->since_s = 0;
            shutdown(fd, SHUT_RDWR);
        }
        at = &w->next;
    }
}
