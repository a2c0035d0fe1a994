/* proc/guard.c — the guardian between a process and a fork of it: see hone/process.h. Async-signal-safe, as the caller
 * may have threads. */
#include <hone/process.h>

#include "base/err.h"
#include "proc/proc_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct guard {
    int signal_fd;
    pid_t parent, child;
    int status;
    bool ended, stop;
} guard;

static void close_all(void) {
    if (syscall(SYS_close_range, 3u, ~0u, 0) == 0) return;
    struct rlimit r;
    int n = getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < 65536 ? (int)r.rlim_cur : 65536;
    for (int fd = 3; fd < n; fd++) close(fd);
}

static void note(guard *g) {
    struct signalfd_siginfo info;
    while (read(g->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGTERM) g->stop = true;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;)
        if (pid == g->child) {
            g->status = status;
            g->ended = true;
        }
}

/* Ends as the child ended, so that the parent sees it. */
static _Noreturn void end_like(int status) {
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    int sig = WTERMSIG(status);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    signal(sig, SIG_DFL);
    kill(getpid(), sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + sig);
}

static _Noreturn void watch(guard *g) {
    prctl(PR_SET_NAME, "hone-guardian", 0, 0, 0);
    close_all();
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    g->signal_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    while (!g->ended && !g->stop) {
        struct pollfd fd = {g->signal_fd, POLLIN, 0};
        if (g->signal_fd < 0 || poll(&fd, 1, 1000) < 0) nanosleep(&(struct timespec){0, 10000000}, NULL);
        note(g);
        if (getppid() != g->parent) g->stop = true;
    }
    hn_tree_kill();
    end_like(g->ended ? g->status : SIGKILL);
}

static void be_child(pid_t guardian, const sigset_t *mask) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != guardian) _exit(127);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    sigprocmask(SIG_SETMASK, mask, NULL);
}

/* In the new guardian: returns in the child alone. All signals are blocked since before the fork. */
static void guardian(pid_t parent, const sigset_t *mask) {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(SIGCHLD, SIG_DFL);
    setpgid(0, 0);
    pid_t self = getpid();
    if (getppid() != parent) _exit(127);
    guard g = {.parent = parent, .child = fork()};
    if (g.child < 0) _exit(127);
    if (g.child == 0) {
        be_child(self, mask);
        return;
    }
    watch(&g);
}

hone_rc hone_process_fork(int *pid, hone_err *err) {
    sigset_t all, mask;
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    pid_t made = fork();
    if (made == 0) {
        guardian(parent, &mask);
        *pid = 0;
        return HONE_OK;
    }
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (made < 0) return hn_fail(err, HONE_E_IO, "cannot start a process: %s", strerror(why));
    *pid = (int)made;
    return HONE_OK;
}
