/* The guard of connections, on evhttp and sockets of loopback: who is slow is ended, who is idle or answered is not. */
#include "base/clock.h"
#include "serve/http.h"
#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/bufferevent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct host {
    struct event_base *base;
    struct evhttp *http;
    hn_guard *guard;
    uint16_t port;
} host;

static void on_request(struct evhttp_request *r, void *arg) {
    host *h = arg;
    struct evhttp_connection *con = evhttp_request_get_connection(r);
    hn_guard_whole(h->guard, con);
    hn_guard_between(h->guard, con);
    evhttp_send_reply(r, 200, "OK", NULL);
}

static bool begin(host *h) {
    struct sockaddr_in a;
    socklen_t n = sizeof a;
    h->base = event_base_new();
    h->guard = hn_guard_new(1, NULL);
    h->http = evhttp_new(h->base);
    evhttp_set_bevcb(h->http, hn_guard_watch, h->guard);
    evhttp_set_gencb(h->http, on_request, h);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(h->http, "127.0.0.1", 0);
    if (!bound || getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&a, &n)) return false;
    h->port = ntohs(a.sin_port);
    return true;
}

static void end(host *h) {
    evhttp_free(h->http);
    hn_guard_free(h->guard);
    event_base_loop(h->base, EVLOOP_NONBLOCK); /* what libevent still has to let go of */
    event_base_free(h->base);
}

static void run(const host *h) {
    for (int i = 0; i < 20; i++) {
        event_base_loop(h->base, EVLOOP_NONBLOCK);
        usleep(1000);
    }
}

static int client(const host *h, const char *text) {
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(h->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) || fcntl(fd, F_SETFL, O_NONBLOCK) ||
        send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return -1;
    run(h);
    return fd;
}

/* 0: the connection is ended, -1: nothing comes. */
static ssize_t receive(int fd, char *to, size_t n) {
    ssize_t got = recv(fd, to, n - 1, 0);
    to[got > 0 ? got : 0] = 0;
    return got < 0 && errno == ECONNRESET ? 0 : got;
}

static void slow_and_idle(const host *h) {
    static const char whole[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    char text[512];
    int slow = client(h, "GET / HT"), idle = client(h, ""), done = client(h, whole);
    ok(receive(done, text, sizeof text) > 0 && !strncmp(text, "HTTP/1.1 200", 12), "guard/a_request_is_answered");
    hn_guard_sweep(h->guard, hn_now_s() + 0.5);
    run(h);
    ok(receive(slow, text, sizeof text) == -1, "guard/there_is_time_left");
    hn_guard_sweep(h->guard, hn_now_s() + 1000);
    run(h);
    ok(receive(slow, text, sizeof text) == 0, "guard/a_request_that_is_never_whole_ends_its_connection");
    ok(receive(idle, text, sizeof text) == -1 && receive(done, text, sizeof text) == -1, "guard/idle_ones_stay");
    ok(send(done, whole, 9, MSG_NOSIGNAL) == 9, "guard/half_a_second_request");
    run(h);
    hn_guard_sweep(h->guard, hn_now_s() + 2000);
    run(h);
    ok(receive(done, text, sizeof text) == 0, "guard/is_ended_too");
    ok(send(idle, whole, sizeof whole - 1, MSG_NOSIGNAL) > 0, "guard/an_idle_one_asks");
    run(h);
    ok(receive(idle, text, sizeof text) > 0 && !strncmp(text, "HTTP/1.1 200", 12), "guard/and_is_answered");
    close(slow), close(idle), close(done);
    run(h);
}

/* The server ends a connection first; the next one has its number, and a part of a request. */
static void numbers_again(const host *h) {
    char text[512];
    bool fine = true;
    for (int i = 0; i < 5; i++) {
        int fd = client(h, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        fine &= receive(fd, text, sizeof text) > 0 && receive(fd, text, sizeof text) == 0;
        close(fd);
        fd = client(h, "GET / HTTP/1.1\r\n");
        fine &= send(fd, "Host: x\r\n\r\n", 11, MSG_NOSIGNAL) == 11;
        run(h);
        fine &= receive(fd, text, sizeof text) > 0 && !strncmp(text, "HTTP/1.1 200", 12);
        close(fd);
        run(h);
    }
    ok(fine, "guard/sockets_whose_numbers_come_again");
    int fd = client(h, "");
    close(fd); /* never a byte */
    run(h);
    hn_guard_sweep(h->guard, hn_now_s() + 3000);
    fd = client(h, "GET / HT");
    hn_guard_sweep(h->guard, hn_now_s() + 0.9);
    run(h);
    ok(receive(fd, text, sizeof text) == -1, "guard/what_was_there_before_counts_for_nobody");
    close(fd);
    run(h);
}

int main(void) {
    host h = {0};
    if (!begin(&h)) return 1;
    slow_and_idle(&h);
    numbers_again(&h);
    end(&h);
    return done_testing();
}
