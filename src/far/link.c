/* far/link.c — one connection: ssh as a child in a session of its own, so that Ctrl-C at the terminal reaches hone
 * alone; a socket is its standard input and output, so that a write to one that died is an error and no signal. */
#include "far/far_int.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const double silence_s = 30, look_s = 0.1;
enum { NOISE_MOST_B = 1 << 16 };

extern char **environ;

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static void keep_said(hn_link *l) {
    char buf[1024];
    ssize_t n;
    while (l->err_fd >= 0 && (n = read(l->err_fd, buf, sizeof buf)) > 0) {
        size_t have = strlen(l->said), most = sizeof l->said - 1, take = (size_t)n < most ? (size_t)n : most;
        size_t drop = have + take > most ? have + take - most : 0;
        memmove(l->said, l->said + drop, have - drop);
        memcpy(l->said + have - drop, buf + n - take, take);
        l->said[have - drop + take] = 0;
    }
}

/* Until the socket is ready, the time is over, or *stop. */
static hn_link_end await(hn_link *l, short what, double until_s, const volatile int *stop) {
    for (;;) {
        struct pollfd fd[2] = {{l->fd, what, 0}, {l->err_fd, POLLIN, 0}};
        double left_s = until_s - hn_now_s();
        if (stop && *stop) return HN_LINK_STOPPED;
        if (left_s <= 0) return HN_LINK_LOST;
        int ready = poll(fd, 2, (int)(1e3 * (left_s < look_s ? left_s : look_s)) + 1);
        if (ready > 0 && fd[1].revents) {
            keep_said(l);
            if (fd[1].revents & (POLLHUP | POLLERR)) {
                close(l->err_fd);
                l->err_fd = -1;
            }
        }
        if (ready > 0 && fd[0].revents) return HN_LINK_GOOD;
    }
}

static hn_link_end read_all(hn_link *l, char *p, size_t n, const volatile int *stop) {
    while (n > 0) {
        hn_link_end end = await(l, POLLIN, hn_now_s() + silence_s, stop);
        if (end) return end;
        ssize_t k = recv(l->fd, p, n, MSG_DONTWAIT);
        if (k < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (k <= 0) return HN_LINK_LOST;
        p += k;
        n -= (size_t)k;
    }
    return HN_LINK_GOOD;
}

static hn_link_end write_all(hn_link *l, const char *p, size_t n, const volatile int *stop) {
    while (n > 0) {
        hn_link_end end = await(l, POLLOUT, hn_now_s() + silence_s, stop);
        if (end) return end;
        ssize_t k = send(l->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (k < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (k <= 0) return HN_LINK_LOST;
        p += k;
        n -= (size_t)k;
    }
    return HN_LINK_GOOD;
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

hn_link_end hn_link_send(hn_link *l, char kind, const void *data, size_t n, const volatile int *stop) {
    char head[HN_FAR_HEAD_B + 1];
    hn_far_head(head, kind, n);
    hn_link_end end = write_all(l, head, HN_FAR_HEAD_B, stop);
    return end || !n ? end : write_all(l, data, n, stop);
}

hn_link_end hn_link_receive(hn_link *l, char *kind, char **data, size_t *n, const volatile int *stop) {
    char head[HN_FAR_HEAD_B], *p;
    hn_link_end end = read_all(l, head, sizeof head, stop);
    if (end) return end;
    if (!hn_far_read_head(head, kind, n)) return HN_LINK_LOST;
    if (!(p = malloc(*n + 1))) return HN_LINK_NOMEM;
    end = read_all(l, p, *n, stop);
    if (end) {
        free(p);
        return end;
    }
    p[*n] = 0;
    *data = p;
    return HN_LINK_GOOD;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static bool spawn(hn_link *l, char *const *argv, int in_out, int err) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    sigemptyset(&none);
    if (posix_spawn_file_actions_init(&files)) return false;
    bool good = false;
    if (!posix_spawnattr_init(&attr)) {
        good = !posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK) &&
               !posix_spawnattr_setsigmask(&attr, &none) && !posix_spawn_file_actions_adddup2(&files, in_out, 0) &&
               !posix_spawn_file_actions_adddup2(&files, in_out, 1) &&
               !posix_spawn_file_actions_adddup2(&files, err, 2) &&
               !posix_spawnp(&l->ssh, argv[0], &files, &attr, argv, environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&files);
    return good;
}

static bool start(hn_link *l, char *const *argv) {
    int both[2], err[2];
    *l = (hn_link){.fd = -1, .err_fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both)) return false;
    if (pipe2(err, O_CLOEXEC)) {
        close(both[0]);
        close(both[1]);
        return false;
    }
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    bool good = spawn(l, argv, both[1], err[1]);
    if (!good) snprintf(l->said, sizeof l->said, "cannot start '%s': %s", argv[0], strerror(errno));
    close(both[1]);
    close(err[1]);
    l->fd = both[0];
    l->err_fd = err[0];
    return good;
}

/* Reads until the agent's greeting, or the line that says it is missing; what a login shell prints before is passed
 * over. */
static hn_link_end greet(hn_link *l, bool *needs, const volatile int *stop) {
    char text[64] = "";
    size_t n = 0;
    for (size_t seen = 0; seen < NOISE_MOST_B; seen++) {
        if (n + 1 == sizeof text) memmove(text, text + 1, --n);
        hn_link_end end = read_all(l, text + n, 1, stop);
        if (end) return end;
        n++;
        *needs =
            n >= strlen(HN_FAR_NEEDS) && !memcmp(text + n - strlen(HN_FAR_NEEDS), HN_FAR_NEEDS, strlen(HN_FAR_NEEDS));
        if (*needs) return HN_LINK_GOOD;
        if (n >= strlen(HN_FAR_HELLO) && !memcmp(text + n - strlen(HN_FAR_HELLO), HN_FAR_HELLO, strlen(HN_FAR_HELLO)))
            return HN_LINK_GOOD;
    }
    snprintf(l->said, sizeof l->said, "its login shell prints without end");
    return HN_LINK_LOST;
}

hn_link_end hn_link_open(hn_link *l, char *const *argv, const volatile int *stop) {
    size_t n;
    const void *image = hn_far_image(&n);
    bool needs = false;
    hn_link_end end = start(l, argv) ? greet(l, &needs, stop) : HN_LINK_LOST;
    if (!end && needs) {
        end = write_all(l, image, n, stop);
        if (!end) end = greet(l, &needs, stop);
    }
    if (end == HN_LINK_LOST) nanosleep(&(struct timespec){0, 20000000}, NULL);
    keep_said(l);
    return end;
}

/* ssh ends with its input; one that hangs is killed. */
void hn_link_close(hn_link *l) {
    if (l->fd >= 0) close(l->fd);
    for (int i = 0; l->ssh > 0 && waitpid(l->ssh, NULL, WNOHANG) == 0; i++) {
        if (i == 40) kill(l->ssh, SIGTERM);
        if (i == 60) kill(l->ssh, SIGKILL);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    keep_said(l);
    if (l->err_fd >= 0) close(l->err_fd);
    l->fd = l->err_fd = -1;
    l->ssh = 0;
}
