/* proc/supervise.c — the supervisor: one small process per run, between hone and the child.
 *
 * It is a child subreaper in a session of its own, so every descendant of the child, orphaned or not, stays below it.
 * It ends the run when the child ends, a limit is passed, hone asks, or hone is gone; then kills what is left,
 * writes the result into the shared hn_proc_running and exits. Async-signal-safe, no allocation: hone may have threads.
 */
#include "proc/proc_int.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_B = 65536, LOG_FD = 9 };

extern char **environ;

/* --- in the child, between vfork and exec ---------------------------------------------------------------------- */

struct child_fds {
    int out, err, log, cgroup;
};

static void limit(int what, uint64_t soft, uint64_t hard) {
    struct rlimit now, want = {soft, hard};
    if (getrlimit(what, &now) == 0 && now.rlim_max != RLIM_INFINITY) {
        if (want.rlim_max > now.rlim_max) want.rlim_max = now.rlim_max;
        if (want.rlim_cur > want.rlim_max) want.rlim_cur = want.rlim_max;
    }
    setrlimit(what, &want);
}

static void set_limits(const hn_proc_running *run, bool confined) {
    limit(RLIMIT_CORE, 0, 0);
    if (run->file_b) limit(RLIMIT_FSIZE, run->file_b, run->file_b);
    if (run->memory_b && !confined) limit(RLIMIT_DATA, run->memory_b, run->memory_b);
    if (run->cpu_s > 0 && run->cpu_s < 1e9) {
        uint64_t s = (uint64_t)ceil(run->cpu_s);
        limit(RLIMIT_CPU, s, s + 1);
    }
}

static void reset_signals(void) {
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    for (int sig = 1; sig < NSIG; sig++) sigaction(sig, &dfl, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool redirect(int fd, int to) { return fd >= 0 && (fd == to ? fcntl(fd, F_SETFD, 0) : dup2(fd, to)) >= 0; }

static const char *prepare(const hn_proc_running *run, const struct child_fds *fds) {
    setpgid(0, 0);
    reset_signals();
    if (run->cwd_at && chdir(hn_run_text(run, run->cwd_at)) != 0) return "enter its folder";
    if (!redirect(open(run->stdin_at ? hn_run_text(run, run->stdin_at) : "/dev/null", O_RDONLY | O_CLOEXEC), 0))
        return "open its standard input";
    const char *file = hn_run_text(run, run->stdout_at);
    int out = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : fds->out;
    if (!redirect(out, 1)) return "open its standard output";
    if (!redirect(fds->err, 2)) return "open its standard error";
    if (fds->log >= 0 && !redirect(fds->log, LOG_FD)) return "open callgrind's log";
    if (run->cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)run->cpu, &set);
        if (run->cpu >= CPU_SETSIZE || sched_setaffinity(0, sizeof set, &set) != 0) return "pin it to its core";
    }
    if (run->no_aslr) personality(ADDR_NO_RANDOMIZE);
    set_limits(run, fds->cgroup >= 0);
    return NULL;
}

static void confine(hn_proc_running *run) {
    if (run->confine && run->cwd_at)
        run->confined = hn_confine_self(run->confine, ".", hn_run_text(run, run->write_at));
}

static void fail(hn_proc_running *run, const char *step) {
    run->fail_errno = errno;
    strncpy(run->fail_step, step, sizeof run->fail_step - 1);
}

/* A failure is recorded in the shared hn_proc_running. vfork, since the supervisor may be a fork of a large
 * process. */
static pid_t start_child(hn_proc_running *run, const struct child_fds *fds, char *const *argv, char *const *env) {
    environ = (char **)env;
    bool forks = run->confine && hn_confine_forks(run->confine);
    pid_t pid = fds->cgroup >= 0 ? hn_cgroup_fork(fds->cgroup) : forks ? fork() : vfork();
    if (pid < 0) fail(run, "start a process");
    if (pid != 0) return pid;
    const char *step = prepare(run, fds);
    if (!step) {
        confine(run);
        run->started_s = hn_now_s();
        execvp(argv[0], argv);
        step = "execute it";
    }
    fail(run, step);
    _exit(127);
}

/* --- the supervisor -------------------------------------------------------------------------------------------- */

struct watch {
    hn_proc_running *run;
    int signal_fd, out, err, log; /* -1: closed */
    pid_t child;
    bool child_ended, stop, hone_gone;
    bool held;
    double tick_s, next_tick_s, end_by_s;
    double left_s; /* time left while the child is stopped (end_by_s is then infinite) */
};

static void close_others(int keep1, int keep2) {
    int lo = keep1 < keep2 ? keep1 : keep2, hi = keep1 < keep2 ? keep2 : keep1;
    bool done = syscall(SYS_close_range, 3u, (unsigned)lo - 1, 0) == 0 || lo == 3;
    done = done && (hi == lo + 1 || syscall(SYS_close_range, (unsigned)lo + 1, (unsigned)hi - 1, 0) == 0);
    if (done && syscall(SYS_close_range, (unsigned)hi + 1, ~0u, 0) == 0) return;
    struct rlimit r;
    int n = getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < 65536 ? (int)r.rlim_cur : 65536;
    for (int fd = 3; fd < n; fd++)
        if (fd != keep1 && fd != keep2) close(fd);
}

static void be_supervisor(struct watch *w) {
    hn_proc_running *run = w->run;
    sigset_t all, wanted;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &dfl, NULL);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    prctl(PR_SET_NAME, "hone-supervisor", 0, 0, 0);
    if (getppid() != run->hone) _exit(0);
    close_others(run->control_fd, run->done_fd);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    close(null);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    w->signal_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool make_pipe(int *read_end, int *write_end) {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) return false;
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    *read_end = fd[0];
    *write_end = fd[1];
    return true;
}

static void keep_out(hn_proc_running *run, const char *data, size_t n) {
    size_t room = (size_t)(run->keep_b - run->out_n), take = n < room ? n : room;
    memcpy(hn_run_out(run) + run->out_n, data, take);
    run->out_n += take;
}

static void keep_err(hn_proc_running *run, const char *data, size_t n) {
    for (size_t i = n > HN_ERR_TAIL_B ? n - HN_ERR_TAIL_B : 0; i < n; i++)
        run->err_ring[(run->err_n + i) % HN_ERR_TAIL_B] = data[i];
    run->err_n += n;
}

/* Callgrind's log: "==PID== Collected : N", one per process; unfinished lines wait in run->log. */
static void keep_log(hn_proc_running *run, const char *data, size_t n) {
    size_t len = strlen(run->log);
    for (size_t i = 0; i < n; i++) {
        if (data[i] != '\n') {
            if (len + 1 < sizeof run->log) run->log[len++] = data[i];
            continue;
        }
        run->log[len] = 0;
        const char *p = strstr(run->log, "Collected : ");
        double v = 0;
        for (p = p ? p + 12 : ""; *p >= '0' && *p <= '9'; p++) v = v * 10 + (*p - '0');
        if (v > 0) run->instructions = (isnan(run->instructions) ? 0 : run->instructions) + v;
        len = 0;
    }
    run->log[len] = 0;
}

/* Reads what is available, at most `rounds` buffers, so that a fast writer does not starve the other descriptors. */
static void drain(hn_proc_running *run, int *fd, void (*keep)(hn_proc_running *, const char *, size_t), int rounds) {
    char buf[READ_B];
    while (*fd >= 0 && rounds-- > 0) {
        ssize_t n = read(*fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            close(*fd);
            *fd = -1;
            return;
        }
        keep(run, buf, (size_t)n);
        if (keep != keep_log) run->total_b += (uint64_t)n;
    }
}

static void drain_all(struct watch *w, int rounds) {
    drain(w->run, &w->out, keep_out, rounds);
    drain(w->run, &w->err, keep_err, rounds);
    drain(w->run, &w->log, keep_log, rounds);
}

/* Reaps; the child's end is the end of the run, an orphan's is not. */
static void note_deaths(struct watch *w) {
    struct signalfd_siginfo info;
    while (read(w->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGTERM && getppid() != w->run->hone) w->hone_gone = true;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;) {
        if (pid != w->child) continue;
        w->run->ended_s = hn_now_s();
        w->run->status = status;
        w->child_ended = true;
    }
}

/* The child leads a process group. Time while it is stopped does not count. */
static void set_paused(struct watch *w, bool held) {
    int sig = held ? SIGSTOP : SIGCONT;
    if (held == w->held || w->child_ended) return;
    if (kill(-w->child, sig)) kill(w->child, sig); /* it has not made its group yet */
    if (held) w->left_s = w->end_by_s - hn_now_s();
    w->end_by_s = held ? 1e18 : hn_now_s() + w->left_s;
    w->held = held;
}

static void note_control(struct watch *w) {
    char c;
    ssize_t n = read(w->run->control_fd, &c, 1);
    if (n == 0) w->hone_gone = true;
    if (n != 1) return;
    if (c == HN_ORDER_STOP)
        w->stop = true;
    else
        set_paused(w, c == HN_ORDER_HOLD);
}

/* Limits of the whole process tree, which no rlimit expresses. The interval between checks grows: 10 ms, 20 ms … 500
 * ms. */
static bool over_tree_limit(struct watch *w, hn_proc_end *why) {
    const hn_proc_running *run = w->run;
    double now_s = hn_now_s();
    if (now_s < w->next_tick_s) return false;
    if (w->tick_s < 0.5) w->tick_s *= 2;
    hn_tree_sum sum;
    hn_tree_add_up(&sum);
    w->next_tick_s = hn_now_s() + w->tick_s;
    if (run->n_procs && sum.n > run->n_procs)
        *why = HN_PROC_COUNT_LIMIT;
    else if (run->cpu_s > 0 && sum.cpu_s > run->cpu_s)
        *why = HN_PROC_CPU_LIMIT;
    else if (run->memory_b && sum.rss_b > run->memory_b)
        *why = HN_PROC_MEMORY_LIMIT;
    else
        return false;
    return true;
}

static bool must_end(struct watch *w, hn_proc_end *why) {
    const hn_proc_running *run = w->run;
    if (w->hone_gone || w->stop)
        *why = HN_PROC_STOPPED;
    else if (run->total_b > run->out_b)
        *why = HN_PROC_OUTPUT_LIMIT;
    else if (w->child_ended)
        return true;
    else if (hn_now_s() >= w->end_by_s)
        *why = HN_PROC_WALL_LIMIT;
    else
        return over_tree_limit(w, why);
    return true;
}

static void wait_for_news(struct watch *w) {
    double until_s = w->end_by_s < w->next_tick_s ? w->end_by_s : w->next_tick_s, left_s = until_s - hn_now_s();
    struct timespec wait = {0}, *timeout = NULL;
    if (until_s < 1e17) {
        if (left_s > 0) wait = (struct timespec){(time_t)left_s, (long)((left_s - floor(left_s)) * 1e9)};
        timeout = &wait;
    }
    struct pollfd fd[5] = {{w->signal_fd, POLLIN, 0},
                           {w->run->control_fd, POLLIN, 0},
                           {w->out, POLLIN, 0},
                           {w->err, POLLIN, 0},
                           {w->log, POLLIN, 0}};
    ppoll(fd, 5, timeout, NULL);
    drain_all(w, 4);
    if (fd[0].revents) note_deaths(w);
    if (fd[1].revents) note_control(w);
}

static hn_proc_end watch_child(struct watch *w) {
    const hn_proc_running *run = w->run;
    double now_s = hn_now_s();
    bool ticks = run->n_procs || run->cpu_s > 0 || run->memory_b;
    w->end_by_s = run->wall_s > 0 ? now_s + run->wall_s : 1e18;
    w->tick_s = 0.01;
    w->next_tick_s = ticks ? now_s + w->tick_s : 1e18;
    hn_proc_end why = HN_PROC_EXITED;
    while (!must_end(w, &why)) wait_for_news(w);
    return why;
}

static hn_proc_end end_of(const struct watch *w, hn_proc_end why) {
    const hn_proc_running *run = w->run;
    if (*run->fail_step) return HN_PROC_NOT_STARTED;
    if (why != HN_PROC_EXITED) return why;
    if (WIFEXITED(run->status)) return HN_PROC_EXITED;
    int sig = WTERMSIG(run->status);
    if (sig == SIGXCPU && run->cpu_s > 0) return HN_PROC_CPU_LIMIT;
    if (sig == SIGXFSZ && run->file_b) return HN_PROC_FILE_LIMIT;
    return HN_PROC_SIGNALED;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static void note_usage(hn_proc_running *run) {
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    run->user_s = seconds(u.ru_utime);
    run->sys_s = seconds(u.ru_stime);
    run->max_rss_b = (uint64_t)u.ru_maxrss * 1024;
}

_Noreturn void hn_supervise(hn_proc_running *run, char *const *argv, char *const *env) {
    struct watch w = {.run = run, .out = -1, .err = -1, .log = -1};
    struct child_fds fds = {-1, -1, -1, -1};
    be_supervisor(&w);
    bool piped = make_pipe(&w.out, &fds.out) && make_pipe(&w.err, &fds.err);
    if (run->callgrind) piped = piped && make_pipe(&w.log, &fds.log);
    int counter = run->count_instructions && !run->callgrind ? hn_count_open() : -1;
    double range_j = 0, from_j = run->count_energy ? hn_energy_now(&range_j) : NAN;
    fds.cgroup = hn_cgroup_make(run->cgroup, run->memory_b, run->n_procs);
    if (piped)
        w.child = run->child = start_child(run, &fds, argv, env);
    else
        fail(run, "open pipes");
    close(fds.out);
    close(fds.err);
    if (fds.log >= 0) close(fds.log);
    hn_proc_end why = HN_PROC_EXITED;
    if (piped && w.child > 0) why = watch_child(&w);
    double to_j = run->count_energy ? hn_energy_now(&range_j) : NAN;
    if (fds.cgroup >= 0) hn_cgroup_stop(fds.cgroup);
    hn_tree_kill();
    if (!w.child_ended) run->ended_s = hn_now_s();
    drain_all(&w, 1 << 20);
    note_usage(run);
    if (fds.cgroup >= 0) {
        hn_cgroup_read(fds.cgroup, &run->oom_killed, &run->count_refused);
        hn_cgroup_remove(run->cgroup);
    }
    if (counter >= 0) run->instructions = hn_count_read(counter);
    run->energy_j = to_j >= from_j ? to_j - from_j : to_j - from_j + range_j;
    run->end = end_of(&w, why);
    run->finished = 1;
    _exit(0);
}

#ifdef HN_SUPERVISOR_MAIN
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* hone-supervisor FD COMMAND ARGUMENT…: FD holds the hn_proc_running. */
int main(int argc, char **argv) {
    struct stat st;
    int fd = argc > 2 ? atoi(argv[1]) : -1;
    if (fd < 0 || fstat(fd, &st) != 0 || (size_t)st.st_size < sizeof(hn_proc_running)) return 2;
    hn_proc_running *run = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (run == MAP_FAILED) return 2;
    close(fd);
    hn_supervise(run, argv + 2, environ);
}
#endif
