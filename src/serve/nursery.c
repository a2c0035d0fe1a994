/* nursery.c — where processes that try versions are forked: a process that is small and has one thread, so that such a
 * fork carries no lock, no client's socket and no copy of a model. */
#include "base/err.h"
#include "serve/canary.h"

#include <errno.h>
#include <fcntl.h>
#include <hone/process.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* All descriptors but the first three and one. */
static void close_others(int keep) {
    if (keep > 3) syscall(SYS_close_range, 3u, (unsigned)keep - 1, 0);
    syscall(SYS_close_range, (unsigned)keep + 1, ~0u, 0);
}

static bool send_fd(int over, int fd) {
    char byte = 1, room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(over, &m, MSG_NOSIGNAL) == 1;
}

/* -1: the other side is gone. */
static int receive_fd(int over) {
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t n;
    while ((n = recvmsg(over, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
    struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&m) : NULL;
    int fd = -1;
    if (c && c->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static _Noreturn void be_nursery(int over) {
    prctl(PR_SET_NAME, "hone-nursery", 0, 0, 0);
    close_others(over);
    signal(SIGCHLD, SIG_IGN); /* guardians that end are not waited for */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (int fd, pid; (fd = receive_fd(over)) >= 0; close(fd)) {
        if (hone_process_fork(&pid, NULL) || pid) continue;
        close(over);
        signal(SIGCHLD, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        hn_canary_child(fd);
    }
    _exit(0);
}

hone_rc hn_nursery_open(hn_nursery *n, hone_err *err) {
    int pair[2];
    n->fd = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return hn_fail(err, HONE_E_IO, "cannot make a pair of sockets: %s", strerror(errno));
    hone_rc rc = hone_process_fork(&n->pid, err);
    if (!rc && !n->pid) be_nursery(pair[1]);
    close(pair[1]);
    if (rc)
        close(pair[0]);
    else
        n->fd = pair[0];
    return rc;
}

void hn_nursery_close(hn_nursery *n) {
    if (n->fd < 0) return;
    close(n->fd);
    n->fd = -1;
    waitpid(n->pid, NULL, 0);
}

hone_rc hn_nursery_child(hn_nursery *n, int *fd, hone_err *err) {
    int pair[2];
    if (n->fd < 0) return hn_fail(err, HONE_E_UNSUPPORTED, "this server cannot start processes for trials");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return hn_fail(err, HONE_E_IO, "cannot make a pair of sockets: %s", strerror(errno));
    bool sent = send_fd(n->fd, pair[1]);
    int why = errno;
    close(pair[1]);
    if (!sent) {
        close(pair[0]);
        return hn_fail(err, HONE_E_IO, "cannot start a process for the trial: %s", strerror(why));
    }
    fcntl(pair[0], F_SETFL, fcntl(pair[0], F_GETFL) | O_NONBLOCK);
    *fd = pair[0];
    return HONE_OK;
}
