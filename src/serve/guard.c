/* guard.c — a request must be whole some time after its first byte: a client that sends a byte a second does not keep a
 * connection for ever. A handshake of TLS must be over as soon after the connection's beginning.
 *
 * evhttp has a limit on silence alone. Here connections are looked at now and then: one whose bytes have come, and are
 * no whole request, for too long is shut down, and evhttp then ends it. A watch holds a reference to its connection's
 * buffer. It lets go of it when evhttp tells of the connection's end, before its socket is closed: a buffer that
 * outlives its socket would read what comes to the next one of that number. Of a connection that never sent a byte
 * evhttp tells nothing: there the watch lets go when the socket is another one than at first: evhttp has closed it.
 * Sockets are known by their cookies, since numbers of descriptors come again. */
#include "base/clock.h"
#include "serve/http.h"
#include "serve/tls.h"

#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const double SWEEP_S = 0.25, LINGER_S = 1;
enum { SPARE = 128 }; /* descriptors; half of them for connections that are being refused */

typedef struct watch {
    struct watch *next, **at;
    hn_guard *guard;
    struct bufferevent *bev;
    uint64_t cookie; /* 0: not looked at yet */
    double since_s;  /* 0: no byte of a request has come */
    bool known;      /* its end will be told */
    bool shaking;    /* since_s is when its handshake began */
    bool refused;    /* one too many when it came; since_s is when it was told */
} watch;

struct hn_guard {
    double limit_s, swept_s;
    hn_tls *tls;
    watch *first;
    watch **of_fd; /* by descriptor: the watch that had input there last */
    size_t n;
    size_t n_watch, most; /* connections; as many as there are descriptors for */
    size_t refusable;     /* so many more are taken, to be refused; then none is taken until some of them have gone */
    struct evconnlistener *listener; /* NULL: none is open */
    bool full;                       /* the listener rests */
    void **part; /* of TLS connections that are gone: freed two sweeps later, when libevent has let go of them */
    size_t n_part, n_old, room;
};

/* All descriptors that this process may have, but for some that files and models need. */
static size_t most_connections(void) {
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r)) return SIZE_MAX;
    if (r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
        getrlimit(RLIMIT_NOFILE, &r);
    }
    return r.rlim_cur == RLIM_INFINITY ? SIZE_MAX
           : r.rlim_cur > 4 * SPARE    ? (size_t)r.rlim_cur - SPARE
                                       : (size_t)r.rlim_cur / 2;
}

hn_guard *hn_guard_new(double limit_s, hn_tls *tls) {
    hn_guard *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->limit_s = limit_s;
    g->tls = tls;
    g->most = most_connections();
    g->refusable = g->most < SPARE ? g->most / 2 : SPARE / 2;
    return g;
}

/* Those that were there at the last sweep. */
static void free_parts(hn_guard *g) {
    for (size_t i = 0; i < g->n_old; i++) hn_tls_free_part(g->part[i]);
    g->n_part -= g->n_old;
    if (g->n_part) memmove(g->part, g->part + g->n_old, g->n_part * sizeof *g->part);
    g->n_old = g->n_part;
}

static void free_later(hn_guard *g, void *part) {
    if (g->n_part == g->room) {
        size_t room = 2 * g->room + 16;
        void **more = realloc(g->part, room * sizeof *more);
        if (!more) return; /* it is lost: better than freed too early */
        g->part = more;
        g->room = room;
    }
    g->part[g->n_part++] = part;
}

static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg);

static void drop(watch *w) {
    hn_guard *g = w->guard;
    int fd = bufferevent_getfd(w->bev);
    if (fd >= 0 && (size_t)fd < g->n && g->of_fd[fd] == w) g->of_fd[fd] = NULL;
    void *part = hn_tls_part(w->bev);
    g->n_watch--;
    *w->at = w->next;
    if (w->next) w->next->at = w->at;
    evbuffer_remove_cb(bufferevent_get_input(w->bev), on_input, w);
    bufferevent_decref(w->bev);
    if (part) free_later(g, part);
    free(w);
}

void hn_guard_free(hn_guard *g) {
    if (!g) return;
    while (g->first) drop(g->first);
    free_parts(g);
    free_parts(g);
    free(g->part);
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

static void on_gone(struct evhttp_connection *con, void *guard) { hn_guard_gone(guard, con); }

/* evhttp gives its connection to the callbacks of its buffer; so its end is seen from the first byte on, before there
 * is a request. */
static void watch_end(watch *w) {
    void *con = NULL;
    bufferevent_getcb(w->bev, NULL, NULL, NULL, &con);
    w->known = true;
    if (con) evhttp_connection_set_closecb(con, on_gone, w->guard);
}

static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg) {
    (void)buffer;
    watch *w = arg;
    int fd = bufferevent_getfd(w->bev);
    if (!info->n_added || (w->since_s > 0 && !w->shaking) || fd < 0 || !has_room(w->guard, (size_t)fd)) return;
    w->since_s = hn_now_s();
    w->shaking = false;
    w->guard->of_fd[fd] = w;
    if (!w->known) watch_end(w);
}

void hn_guard_listener(hn_guard *g, struct evconnlistener *listener) { g->listener = listener; }

/* Connections that wait to be taken keep no descriptor. libevent looks at this after each one that it takes. */
static void rest(hn_guard *g) {
    bool full = g->n_watch >= g->most && g->n_watch - g->most >= g->refusable;
    if (!g->listener || full == g->full) return;
    g->full = full;
    if (full)
        evconnlistener_disable(g->listener);
    else
        evconnlistener_enable(g->listener);
}

/* Said before anything is read. Where TLS is spoken there is no way to say it in the clear. */
static void refuse(watch *w) {
    static const char text[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
        "Connection: close\r\nContent-Length: 113\r\n\r\n"
        "{\"error\":{\"message\":\"the server has no room for more connections\",\"type\":"
        "\"server_error\",\"param\":null,\"code\":503}}";
    int fd = bufferevent_getfd(w->bev);
    bool said = !w->guard->tls && send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    shutdown(fd,
             said ? SHUT_WR : SHUT_RDWR); /* what the client sends meanwhile is read, else it would not see the reply */
    w->since_s = hn_now_s();
}

/* Behind the callback that took the connection: its socket is known then, and not closed yet. */
static void on_taken(evutil_socket_t none, short what, void *arg) {
    watch *w = arg;
    (void)none;
    (void)what;
    w->cookie = cookie_of(bufferevent_getfd(w->bev));
    if (w->refused) refuse(w);
}

struct bufferevent *hn_guard_watch(struct event_base *base, void *guard) {
    hn_guard *g = guard;
    struct bufferevent *bev = g->tls ? hn_tls_accept(g->tls, base) : bufferevent_socket_new(base, -1, 0);
    watch *w = bev ? malloc(sizeof *w) : NULL;
    if (!w) return bev;
    if (!evbuffer_add_cb(bufferevent_get_input(bev), on_input, w)) {
        free(w);
        return bev;
    }
    *w = (watch){.next = g->first, .guard = g, .bev = bev, .since_s = g->tls ? hn_now_s() : 0, .shaking = g->tls};
    w->at = &g->first;
    if (w->next) w->next->at = &w->next;
    g->first = w;
    bufferevent_incref(bev);
    w->refused = ++g->n_watch > g->most;
    rest(g);
    event_base_once(base, -1, EV_TIMEOUT, on_taken, w, NULL);
    return bev;
}

static watch *watch_of(const hn_guard *g, struct evhttp_connection *con) {
    struct bufferevent *bev = evhttp_connection_get_bufferevent(con);
    int fd = bufferevent_getfd(bev);
    watch *w = fd >= 0 && (size_t)fd < g->n ? g->of_fd[fd] : NULL;
    return w && w->bev == bev ? w : NULL;
}

void hn_guard_whole(hn_guard *g, struct evhttp_connection *con) {
    watch *w = watch_of(g, con);
    if (w) w->since_s = 0;
}

void hn_guard_gone(hn_guard *g, struct evhttp_connection *con) {
    watch *w = watch_of(g, con);
    if (w) drop(w);
}

void hn_guard_between(hn_guard *g, struct evhttp_connection *con) { evhttp_connection_set_closecb(con, on_gone, g); }

void hn_guard_sweep(hn_guard *g, double now_s) {
    if (now_s - g->swept_s < SWEEP_S && now_s >= g->swept_s) return;
    g->swept_s = now_s;
    free_parts(g);
    for (watch *w = g->first, *next; w; w = next) {
        next = w->next;
        int fd = bufferevent_getfd(w->bev);
        uint64_t cookie = cookie_of(fd);
        if (!w->cookie) w->cookie = cookie;
        if (!cookie || cookie != w->cookie) {
            drop(w);
            continue;
        }
        if (w->shaking && hn_tls_ready(w->bev)) w->shaking = false, w->since_s = 0;
        if (w->since_s > 0 && now_s - w->since_s >= (w->refused ? LINGER_S : g->limit_s)) {
            w->since_s = 0;
            shutdown(fd, SHUT_RDWR);
        }
    }
    rest(g);
}
