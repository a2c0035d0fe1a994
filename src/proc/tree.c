/* proc/tree.c — finding and killing descendants by way of /proc.
 *
 * The kernel lists the children of each thread (proc_pid_children(5)), so that a sweep costs what the tree has, however
 * many processes the machine runs. Where it does not (CONFIG_PROC_CHILDREN), all processes are read.
 * Called in supervisors: async-signal-safe, no allocation (getdents64 instead of readdir).
 */
#include "proc/proc_int.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TREE_MAX_N = 8192, KILL_MAX_S = 10, DIRENT_B = 32768 };

struct task {
    pid_t pid, parent;
    bool below;
    size_t threads;
    double cpu_s;
    uint64_t rss_b;
};

struct dirent64 {
    uint64_t ino;
    int64_t off;
    unsigned short reclen;
    unsigned char type;
    char name[];
};

static pid_t pid_of(const char *name) {
    long pid = 0;
    for (; *name >= '0' && *name <= '9' && pid < 1L << 30; name++) pid = pid * 10 + (*name - '0');
    return *name ? 0 : (pid_t)pid;
}

/* Writes text and a number without stdio; returns the end. */
static char *put(char *p, const char *text, pid_t number) {
    char digits[12];
    int n = 0;
    size_t len = strlen(text);
    memcpy(p, text, len);
    p += len;
    do digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0) *p++ = digits[--n];
    return p;
}

static void proc_path(char out[64], pid_t pid, const char *what) {
    char *p = put(out, "/proc/", pid);
    *p++ = '/';
    memcpy(p, what, strlen(what) + 1);
}

static ssize_t read_proc(pid_t pid, const char *what, char *buf, size_t n) {
    char path[64];
    proc_path(path, pid, what);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t got = read(fd, buf, n - 1);
    close(fd);
    buf[got > 0 ? got : 0] = 0;
    return got;
}

/* Field k of /proc/PID/stat counted from the state, which follows the command's closing parenthesis (proc(5)). */
static uint64_t field(const char *after_comm, int k) {
    const char *p = after_comm;
    while (k-- > 0 && *p) {
        while (*p && *p != ' ') p++;
        while (*p == ' ') p++;
    }
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) v = v * 10 + (uint64_t)(*p - '0');
    return v;
}

static bool read_task(pid_t pid, struct task *out) {
    char buf[1024];
    if (read_proc(pid, "stat", buf, sizeof buf) <= 0) return false;
    const char *p = strrchr(buf, ')');
    if (!p || p[1] != ' ') return false;
    p += 2;
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    out->pid = pid;
    out->parent = (pid_t)field(p, 1);
    out->below = false;
    out->cpu_s = tick_s * (double)(field(p, 11) + field(p, 12) + field(p, 13) + field(p, 14));
    out->threads = (size_t)field(p, 17);
    out->rss_b = field(p, 21) * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

/* Calls visit for every number among the entries of a folder (all processes of /proc, all threads of a process) until
 * it says stop. */
static void each_number(const char *folder, bool (*visit)(void *ctx, pid_t number), void *ctx) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    _Alignas(8) char buf[DIRENT_B];
    bool more = true;
    for (long n; more && (n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0;) {
        for (long at = 0; more && at < n;) {
            const struct dirent64 *e = (const void *)(buf + at);
            pid_t number = pid_of(e->name);
            if (number > 0) more = visit(ctx, number);
            at += e->reclen;
        }
    }
    close(fd);
}

struct listing {
    struct task task[TREE_MAX_N];
    size_t n;
    pid_t of;     /* whose threads' children are being listed */
    bool refused; /* the kernel lists no children */
};

static bool list_one(void *ctx, pid_t pid) {
    struct listing *l = ctx;
    if (read_task(pid, &l->task[l->n])) l->n++;
    return l->n < TREE_MAX_N;
}

static bool is_below(const struct listing *l, pid_t pid, pid_t root) {
    if (pid == root) return true;
    for (size_t i = 0; i < l->n; i++)
        if (l->task[i].pid == pid) return l->task[i].below;
    return false;
}

/* All processes of the machine; sweeps until no descendant is added (parents mostly precede their children). */
static void list_all(struct listing *l, pid_t root) {
    l->n = 0;
    each_number("/proc", list_one, l);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < l->n; i++) {
            struct task *t = &l->task[i];
            if (!t->below && t->pid != root && is_below(l, t->parent, root)) t->below = changed = true;
        }
    }
}

static void list_child(struct listing *l, pid_t pid) {
    struct task *t = &l->task[l->n];
    if (!read_task(pid, t)) return;
    t->below = true;
    l->n++;
}

/* "/proc/PID/task/TID/children": numbers, each followed by a space. */
static bool children_of_thread(void *ctx, pid_t thread) {
    struct listing *l = ctx;
    char path[96], buf[4096];
    char *p = put(put(path, "/proc/", l->of), "/task/", thread);
    memcpy(p, "/children", sizeof "/children");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        l->refused |= l->of == getpid(); /* another process may just have ended */
        return true;
    }
    pid_t pid = 0;
    for (ssize_t n; (n = read(fd, buf, sizeof buf)) > 0;) {
        for (ssize_t i = 0; i < n && l->n < TREE_MAX_N; i++) {
            bool digit = buf[i] >= '0' && buf[i] <= '9';
            if (!digit && pid > 0) list_child(l, pid);
            pid = digit ? pid * 10 + (buf[i] - '0') : 0;
        }
    }
    close(fd);
    return true;
}

static void children_of(struct listing *l, pid_t pid, size_t threads) {
    l->of = pid;
    if (threads == 1) {
        children_of_thread(l, pid);
        return;
    }
    char path[64];
    proc_path(path, pid, "task");
    each_number(path, children_of_thread, l);
}

/* The descendants of root, the caller. One that is moved to another parent during the sweep may be missed. */
static void list_below(struct listing *l, pid_t root) {
    l->n = 0;
    l->refused = false;
    children_of(l, root, 0);
    for (size_t i = 0; i < l->n && !l->refused; i++) children_of(l, l->task[i].pid, l->task[i].threads);
    if (l->refused) list_all(l, root);
}

void hn_tree_add_up(hn_tree_sum *out) {
    struct listing l;
    list_below(&l, getpid());
    *out = (hn_tree_sum){0};
    for (size_t i = 0; i < l.n; i++) {
        if (!l.task[i].below) continue;
        out->n += l.task[i].threads;
        out->cpu_s += l.task[i].cpu_s;
        out->rss_b += l.task[i].rss_b;
    }
}

static size_t signal_below(struct listing *l, int sig) {
    size_t n = 0;
    list_below(l, getpid());
    for (size_t i = 0; i < l->n; i++)
        if (l->task[i].below && kill(l->task[i].pid, sig) == 0) n++;
    return n;
}

/* False once there are no children at all, dead or alive. */
static bool reap(void) {
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG | __WALL);
        if (pid == 0) return true;
        if (pid < 0 && errno != EINTR) return false;
    }
}

/* Stops the whole tree before killing it, again and again while it still grows, so that a fork bomb cannot grow faster
 * than it is killed. A subreaper inherits the orphans of the processes killed, hence the outer loop. */
void hn_tree_kill(void) {
    if (!reap()) return;
    struct listing l;
    double until_s = hn_now_s() + KILL_MAX_S;
    while (hn_now_s() < until_s) {
        for (size_t was = 0, now = 1, round = 0; now != was && round < 20; round++) {
            was = now;
            now = signal_below(&l, SIGSTOP);
        }
        signal_below(&l, SIGKILL);
        for (int i = 0; i < 20; i++) {
            if (!reap()) return;
            nanosleep(&(struct timespec){0, 200000 << (i > 4 ? 2 : 0)}, NULL);
        }
    }
}

struct marked {
    const char *mark;
    size_t n;
};

static bool has_mark(pid_t pid, const char *mark) {
    char path[64], buf[8192 + HN_MARK_B];
    proc_path(path, pid, "environ");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t kept = 0, len = strlen(mark);
    bool found = false;
    for (ssize_t n; !found && (n = read(fd, buf + kept, sizeof buf - kept)) > 0;) {
        size_t have = kept + (size_t)n;
        found = memmem(buf, have, mark, len) != NULL;
        kept = have < len ? have : len;
        memmove(buf, buf + have - kept, kept);
    }
    close(fd);
    return found;
}

static bool kill_marked(void *ctx, pid_t pid) {
    struct marked *m = ctx;
    if (pid != getpid() && has_mark(pid, m->mark) && kill(pid, SIGKILL) == 0) m->n++;
    return true;
}

void hn_tree_kill_marked(const char *mark) {
    double until_s = hn_now_s() + KILL_MAX_S;
    struct marked m = {mark, 1};
    while (m.n > 0 && hn_now_s() < until_s) {
        m.n = 0;
        each_number("/proc", kill_marked, &m);
        if (m.n > 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}
