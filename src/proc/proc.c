/* proc/proc.c — starting, awaiting and collecting runs; the work is done by their supervisors (supervise.c). */
#include <hone/process.h>

#include "proc/proc_int.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAD_ITEM_B = 65536, PAD_MAX_B = 1 << 20, DRAIN_SLACK_B = 1 << 20 };

extern char **environ;

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif

struct hn_proc {
    hn_proc_running *run;
    size_t run_b;
    const char **argv, **env;
    char *valgrind, *pad;
    pid_t supervisor;
    int control_fd, done_fd, run_fd; /* run_fd: -1 when the memory is anonymous */
    bool gone, shell;
    uint64_t memory_b;
};

/* --- environment and arguments --------------------------------------------------------------------------------- */

static bool overrides(const char *const *extra, const char *item) {
    size_t name_n = strcspn(item, "=");
    for (; extra && *extra; extra++)
        if (strcspn(*extra, "=") == name_n && strncmp(*extra, item, name_n) == 0) return true;
    return false;
}

static size_t count(const char *const *list) {
    size_t n = 0;
    while (list && list[n]) n++;
    return n;
}

/* Padding is split into items that the kernel accepts (128 KiB each at most): HONE_PAD0=xxx … */
static char *make_pad(size_t pad_b, const char **env, size_t *n) {
    if (pad_b > PAD_MAX_B) pad_b = PAD_MAX_B;
    size_t items = (pad_b + PAD_ITEM_B - 1) / PAD_ITEM_B;
    char *pad = malloc(pad_b + items * 16 + 1), *p = pad;
    for (size_t i = 0; pad && i < items; i++) {
        size_t size = pad_b < PAD_ITEM_B ? pad_b : PAD_ITEM_B;
        env[(*n)++] = p;
        p += sprintf(p, "HONE_PAD%02zu=", i);
        memset(p, 'x', size);
        p += size;
        *p++ = 0;
        pad_b -= size;
    }
    return pad;
}

/* Inherited environment with spec->env on top, the mark, the padding. */
static bool make_env(hn_proc *proc, const hn_proc_spec *spec) {
    size_t inherited = count((const char *const *)environ), n = 0;
    proc->env = malloc((inherited + count(spec->env) + PAD_MAX_B / PAD_ITEM_B + 3) * sizeof *proc->env);
    if (!proc->env) return false;
    for (size_t i = 0; i < inherited; i++)
        if (!overrides(spec->env, environ[i]) && !hn_starts_with(environ[i], "HONE_RUN=")) proc->env[n++] = environ[i];
    for (size_t i = 0; spec->env && spec->env[i]; i++) proc->env[n++] = spec->env[i];
    proc->env[n++] = proc->run->mark;
    proc->pad = make_pad(spec->stack_pad_b, proc->env, &n);
    proc->env[n] = NULL;
    return proc->pad != NULL;
}

/* Two places are kept free in front, for the supervisor's own name and argument. */
static bool make_argv(hn_proc *proc, const hn_proc_spec *spec) {
    static const char *const callgrind[] = {"--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=9",
                                            "--trace-children=yes", "--"};
    size_t n = 2, given = spec->shell ? 3 : count(spec->argv);
    proc->argv = calloc(given + 10, sizeof *proc->argv);
    if (!proc->argv) return false;
    if (proc->valgrind) {
        proc->argv[n++] = proc->valgrind;
        for (size_t i = 0; i < sizeof callgrind / sizeof *callgrind; i++) proc->argv[n++] = callgrind[i];
    }
    if (spec->shell) {
        proc->argv[n++] = "/bin/sh";
        proc->argv[n++] = "-c";
        proc->argv[n++] = spec->shell;
    } else
        for (size_t i = 0; i < given; i++) proc->argv[n++] = spec->argv[i];
    proc->argv[n] = NULL;
    return true;
}

/* perf where the machine has it, else callgrind, else nothing: the result is NAN. */
static bool choose_counter(hn_proc *proc, const hn_proc_spec *spec) {
    if (!spec->count_instructions) return true;
    int fd = hn_count_open();
    if (fd >= 0) {
        close(fd);
        return true;
    }
    proc->valgrind = hn_which("valgrind");
    proc->run->callgrind = proc->valgrind != NULL;
    return true;
}

/* --- start ----------------------------------------------------------------------------------------------------- */

static void release(hn_proc *proc) {
    if (proc->run) munmap(proc->run, proc->run_b);
    if (proc->control_fd >= 0) close(proc->control_fd);
    if (proc->done_fd >= 0) close(proc->done_fd);
    if (proc->run_fd >= 0) close(proc->run_fd);
    free(proc->argv);
    free(proc->env);
    free(proc->valgrind);
    free(proc->pad);
    free(proc);
}

/* Names the run for hn_tree_kill_marked; of fixed length, so that it does not move the child's stack. */
static void make_mark(hn_proc_running *run) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    snprintf(run->mark, sizeof run->mark, "HONE_RUN=%08x%08x%08x%08x", (unsigned)getpid(), (unsigned)t.tv_sec,
             (unsigned)t.tv_nsec, (unsigned)((uintptr_t)run >> 12));
}

static size_t text_b(const char *text) { return text ? strlen(text) + 1 : 0; }

static uint64_t put_text(hn_proc_running *run, uint64_t *at, const char *text) {
    uint64_t here = *at;
    if (!text) return 0;
    memcpy((char *)run + here, text, text_b(text));
    *at += text_b(text);
    return here;
}

/* In a memfd, which the supervisor program can map too; anonymous where there is none, then the supervisor is a fork.
 */
static hn_proc_running *map_memory(hn_proc *proc) {
    int flags = MAP_SHARED | MAP_NORESERVE;
    proc->run_fd = memfd_create("hone-run", MFD_CLOEXEC);
    if (proc->run_fd >= 0 && ftruncate(proc->run_fd, (off_t)proc->run_b) != 0) {
        close(proc->run_fd);
        proc->run_fd = -1;
    }
    if (proc->run_fd < 0) flags |= MAP_ANONYMOUS;
    void *p = mmap(NULL, proc->run_b, PROT_READ | PROT_WRITE, flags, proc->run_fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool map_run(hn_proc *proc, const hn_proc_spec *spec) {
    uint64_t keep_b = spec->keep_b ? spec->keep_b : 16u << 20;
    if (keep_b > (uint64_t)1 << 40) keep_b = (uint64_t)1 << 40;
    size_t texts_b = text_b(spec->cwd) + text_b(spec->stdin_path) + text_b(spec->stdout_path) + 1;
    for (size_t i = 0; spec->write && spec->write[i]; i++) texts_b += text_b(spec->write[i]);
    proc->run_b = sizeof(hn_proc_running) + texts_b + (size_t)keep_b;
    hn_proc_running *run = proc->run = map_memory(proc);
    if (!run) return false;
    *run = (hn_proc_running){
        .cpu = spec->cpu,
        .wall_s = spec->wall_s,
        .cpu_s = spec->cpu_s,
        .memory_b = spec->memory_b,
        .file_b = spec->file_b,
        .out_b = spec->out_b ? spec->out_b : 64u << 20,
        .keep_b = keep_b,
        .n_procs = spec->n_procs,
        .no_aslr = spec->no_aslr,
        .count_instructions = spec->count_instructions,
        .count_energy = spec->count_energy,
        .confine = spec->confine ? hn_confine_means() : HN_CONFINE_NOT,
        .instructions = NAN,
        .energy_j = NAN,
        .hone = getpid(),
    };
    uint64_t at = sizeof *run;
    run->cwd_at = put_text(run, &at, spec->cwd);
    run->stdin_at = put_text(run, &at, spec->stdin_path);
    run->stdout_at = put_text(run, &at, spec->stdout_path);
    run->write_at = at;
    for (size_t i = 0; spec->write && spec->write[i]; i++) put_text(run, &at, spec->write[i]);
    put_text(run, &at, "");
    run->out_at = at;
    make_mark(run);
    if (run->memory_b || run->n_procs) hn_cgroup_find(strchr(run->mark, '=') + 1, run->cgroup);
    return true;
}

/* A close-on-exec pipe above the standard three, even when those are closed. */
static bool open_pipe(int *read_end, int *write_end) {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) return false;
    for (int i = 0; i < 2; i++) {
        if (fd[i] >= 3) continue;
        int up = fcntl(fd[i], F_DUPFD_CLOEXEC, 3);
        if (up < 0) {
            close(fd[0]);
            close(fd[1]);
            return false;
        }
        close(fd[i]);
        fd[i] = up;
    }
    *read_end = fd[0];
    *write_end = fd[1];
    return true;
}

static bool write_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        p += w;
        n -= (size_t)w;
    }
    return true;
}

/* The supervisor program in memory, ready to be executed; -1 where the system does not allow that. */
static int open_image(void) {
    size_t n;
    const void *image = hn_supervisor_image(&n);
    if (n == 0) return -1;
    int fd = memfd_create("hone-supervisor", MFD_CLOEXEC | MFD_EXEC);
    if (fd < 0 && errno == EINVAL) fd = memfd_create("hone-supervisor", MFD_CLOEXEC); /* before Linux 6.3 */
    if (fd >= 0 && !write_all(fd, image, n)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Runs the supervisor program: a new session from its first moment (only hone receives a Ctrl-C at the terminal),
 * signals blocked, three inherited descriptors (a dup2 onto itself clears close-on-exec). */
static bool spawn_image(hn_proc *proc) {
    int image = proc->run_fd >= 0 ? open_image() : -1;
    if (image < 0) return false;
    char path[32], fd[16];
    snprintf(path, sizeof path, "/proc/self/fd/%d", image);
    snprintf(fd, sizeof fd, "%d", proc->run_fd);
    proc->argv[0] = "hone-supervisor";
    proc->argv[1] = fd;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t all;
    sigfillset(&all);
    bool good = posix_spawn_file_actions_init(&files) == 0;
    if (good && posix_spawnattr_init(&attr) == 0) {
        const int keep[] = {proc->run->control_fd, proc->run->done_fd, proc->run_fd};
        for (size_t i = 0; i < 3; i++) good = good && posix_spawn_file_actions_adddup2(&files, keep[i], keep[i]) == 0;
        good = good && posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK) == 0;
        good = good && posix_spawnattr_setsigmask(&attr, &all) == 0;
        good = good && posix_spawn(&proc->supervisor, path, &files, &attr, (char *const *)proc->argv,
                                   (char *const *)proc->env) == 0;
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&files);
    close(image);
    return good;
}

static hone_rc start_supervisor(hn_proc *proc, hone_err *err) {
    hn_proc_running *run = proc->run;
    int done_fd = -1, control_fd = -1;
    hone_rc rc = HONE_OK;
    if (!open_pipe(&control_fd, &proc->control_fd) || !open_pipe(&proc->done_fd, &done_fd)) {
        rc = hn_fail(err, HONE_E_IO, "cannot open pipes to run '%s': %s", proc->argv[2], strerror(errno));
    } else {
        run->control_fd = control_fd;
        run->done_fd = done_fd;
        fcntl(control_fd, F_SETFL, O_NONBLOCK);
        if (!spawn_image(proc)) {
            proc->supervisor = fork();
            if (proc->supervisor == 0) hn_supervise(run, (char *const *)proc->argv + 2, (char *const *)proc->env);
        }
        if (proc->supervisor < 0)
            rc = hn_fail(err, HONE_E_IO, "cannot start a process to run '%s': %s", proc->argv[2], strerror(errno));
    }
    if (control_fd >= 0) close(control_fd);
    if (done_fd >= 0) close(done_fd);
    return rc;
}

hone_rc hn_proc_start(const hn_proc_spec *spec, hn_proc **out, hone_err *err) {
    if (!spec->shell && (!spec->argv || !spec->argv[0])) return hn_fail(err, HONE_E_USAGE, "no command to run");
    hn_proc *proc = calloc(1, sizeof *proc);
    if (!proc) return hn_fail(err, HONE_E_NOMEM, "out of memory starting a process");
    proc->control_fd = proc->done_fd = proc->run_fd = -1;
    proc->shell = spec->shell != NULL;
    proc->memory_b = spec->memory_b;
    if (!map_run(proc, spec) || !choose_counter(proc, spec) || !make_env(proc, spec) || !make_argv(proc, spec)) {
        release(proc);
        return hn_fail(err, HONE_E_NOMEM, "out of memory starting a process");
    }
    hone_rc rc = start_supervisor(proc, err);
    if (rc)
        release(proc);
    else
        *out = proc;
    return rc;
}

/* --- await ----------------------------------------------------------------------------------------------------- */

/* A supervisor that ended without a result was killed (by its child, or for want of memory): its orphans went to
 * init, and are found by their mark. */
static void settle(hn_proc *proc) {
    proc->gone = true;
    hn_proc_running *run = proc->run;
    if (run->finished) return;
    hn_tree_kill_marked(run->mark);
    hn_cgroup_remove(run->cgroup);
    run->end = HN_PROC_SIGNALED;
    run->status = SIGKILL;
    run->ended_s = hn_now_s();
    if (run->started_s <= 0) run->started_s = run->ended_s;
}

bool hn_proc_poll(hn_proc *proc) {
    if (proc->gone) return true;
    pid_t pid = waitpid(proc->supervisor, NULL, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR)) return false;
    settle(proc);
    return true;
}

static int first_done(hn_proc *const *procs, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (procs[i] && hn_proc_poll(procs[i])) return (int)i;
    return -1;
}

/* Sleeps until a done pipe ends; the caller's *stop is checked every 100 ms, in case its signal arrived between check
 * and sleep. */
static void wait_done(hn_proc *const *procs, size_t n, double left_s) {
    enum { MOST = 64 };
    struct pollfd fd[MOST];
    nfds_t k = 0;
    for (size_t i = 0; i < n && k < MOST; i++)
        if (procs[i]) fd[k++] = (struct pollfd){procs[i]->done_fd, POLLIN, 0};
    double wait_s = left_s < 0.1 && n <= MOST ? left_s : n <= MOST ? 0.1 : 0.001;
    struct timespec t = {0, (long)(wait_s * 1e9)};
    int ready = ppoll(fd, k, &t, NULL);
    /* End of file comes a moment before the zombie does: wait for that without spinning. */
    for (size_t i = 0; ready > 0 && i < n && i < MOST; i++)
        if (procs[i] && !procs[i]->gone && procs[i]->run->finished) {
            siginfo_t info;
            waitid(P_PID, (id_t)procs[i]->supervisor, &info, WEXITED | WNOWAIT);
        }
}

int hn_proc_wait_any(hn_proc *const *procs, size_t n, double timeout_s, const volatile int *stop) {
    double until_s = timeout_s < 0 ? HUGE_VAL : hn_now_s() + timeout_s;
    for (;;) {
        int i = first_done(procs, n);
        if (i >= 0) return i;
        double left_s = until_s - hn_now_s();
        if (left_s <= 0 || (stop && *stop)) return -1;
        wait_done(procs, n, left_s);
    }
}

void hn_pipe_tell(int fd, char what) {
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    bool told = write(fd, &what, 1) == 1;
    const struct timespec now = {0, 0};
    if (!told && !sigismember(&pending, SIGPIPE)) sigtimedwait(&pipe, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The supervisor may have ended, and nobody have looked yet. */
static void order(hn_proc *proc, char what) {
    if (!proc->gone) hn_pipe_tell(proc->control_fd, what);
}

void hn_proc_pause(hn_proc *proc, bool held) { order(proc, held ? HN_ORDER_HOLD : HN_ORDER_GO_ON); }
void hn_proc_kill(hn_proc *proc) { order(proc, HN_ORDER_STOP); }

/* --- collect --------------------------------------------------------------------------------------------------- */

static bool is_plain(unsigned char c) { return (c >= 32 && c != 127) || c == '\n' || c == '\t'; }

static unsigned char ring_at(const hn_proc_running *run, uint64_t i) {
    return (unsigned char)run->err_ring[i % HN_ERR_TAIL_B];
}

/* The end of the ring, in order, as much as fits with control characters as ^X. */
static void copy_err_tail(const hn_proc_running *run, char out[HN_ERR_TAIL_B + 1]) {
    uint64_t least = run->err_n < HN_ERR_TAIL_B ? 0 : run->err_n - HN_ERR_TAIL_B, from = run->err_n, size = 0, k = 0;
    while (from > least) {
        uint64_t more = is_plain(ring_at(run, from - 1)) ? 1 : 2;
        if (size + more > HN_ERR_TAIL_B) break;
        size += more;
        from--;
    }
    for (; from < run->err_n; from++) {
        unsigned char c = ring_at(run, from);
        if (!is_plain(c)) out[k++] = '^';
        out[k++] = (char)(is_plain(c) ? c : c == 127 ? '?' : c + 64);
    }
    out[k] = 0;
}

static bool says_no_memory(const char *text) {
    static const char *const phrase[] = {"bad_alloc", "annot allocate memory", "ut of memory", "memory exhausted",
                                         "MemoryError"};
    for (size_t i = 0; i < sizeof phrase / sizeof *phrase; i++)
        if (strstr(text, phrase[i])) return true;
    return false;
}

/* sh reports a signal as exit code 128 + signal. A refused allocation is visible only by what the program then did. */
static void classify(const hn_proc *proc, hn_proc_result *r) {
    const hn_proc_running *run = proc->run;
    r->end = run->end;
    if (WIFEXITED(run->status)) r->code = WEXITSTATUS(run->status);
    if (WIFSIGNALED(run->status)) r->signal = WTERMSIG(run->status);
    if (r->end == HN_PROC_EXITED && proc->shell && r->code > 128 && r->code < 128 + NSIG) {
        r->signal = r->code - 128;
        r->end = HN_PROC_SIGNALED;
        if (r->signal == SIGXCPU && run->cpu_s > 0) r->end = HN_PROC_CPU_LIMIT;
        if (r->signal == SIGXFSZ && run->file_b) r->end = HN_PROC_FILE_LIMIT;
    }
    bool failed = r->end == HN_PROC_SIGNALED || (r->end == HN_PROC_EXITED && r->code != 0);
    bool no_memory =
        run->oom_killed || r->max_rss_b >= proc->memory_b - proc->memory_b / 8 || says_no_memory(r->err_tail);
    if (failed && proc->memory_b && no_memory)
        r->end = HN_PROC_MEMORY_LIMIT;
    else if (failed && run->count_refused)
        r->end = HN_PROC_COUNT_LIMIT;
}

void hn_proc_collect(hn_proc *proc, hn_proc_result *out) {
    while (!proc->gone) hn_proc_wait_any(&proc, 1, -1, NULL);
    hn_proc_running *run = proc->run;
    *out = (hn_proc_result){
        .wall_s = run->ended_s - run->started_s,
        .user_s = run->user_s,
        .sys_s = run->sys_s,
        .max_rss_b = run->max_rss_b,
        .instructions = run->instructions,
        .energy_j = run->energy_j,
        .confined = run->confined,
    };
    copy_err_tail(run, out->err_tail);
    classify(proc, out);
    if (out->end == HN_PROC_NOT_STARTED) {
        out->wall_s = 0;
        snprintf(out->err_tail, sizeof out->err_tail, "cannot %s: %s", run->fail_step, strerror(run->fail_errno));
    }
    out->out = malloc((size_t)run->out_n + 1);
    out->out_n = out->out ? (size_t)run->out_n : 0;
    if (out->out) {
        memcpy(out->out, hn_run_out(run), out->out_n);
        out->out[out->out_n] = 0;
    }
    release(proc);
}

void hn_proc_result_free(hn_proc_result *result) {
    free(result->out);
    result->out = NULL;
    result->out_n = 0;
}

hone_rc hn_proc_run(const hn_proc_spec *spec, const volatile int *stop, hn_proc_result *out, hone_err *err) {
    hn_proc *proc;
    hone_rc rc = hn_proc_start(spec, &proc, err);
    if (rc) return rc;
    if (hn_proc_wait_any(&proc, 1, -1, stop) < 0) hn_proc_kill(proc);
    hn_proc_collect(proc, out);
    return HONE_OK;
}

/* --- offers ---------------------------------------------------------------------------------------------------- */

hn_proc_offer hn_proc_offers(void) {
    double range_j;
    hn_proc_offer out = {.rapl = !isnan(hn_energy_now(&range_j))};
    char *valgrind = hn_which("valgrind");
    out.callgrind = valgrind != NULL;
    free(valgrind);
    int fd = hn_count_open();
    out.perf = fd >= 0;
    out.cgroup = hn_cgroup_offered();
    if (fd >= 0) close(fd);
    return out;
}

void hone_process_confinement(hone_confinement *out) {
    int landlock;
    unsigned is = hn_proc_confines(&landlock);
    *out = (hone_confinement){.writes = is & HN_CONFINED_WRITES, .network = is & HN_CONFINED_NETWORK};
    if (is & HN_BY_LANDLOCK) snprintf(out->by, sizeof out->by, "Landlock (version %d)", landlock);
    if (is & HN_BY_NAMESPACE) snprintf(out->by, sizeof out->by, "a user namespace");
}

/* --- describe -------------------------------------------------------------------------------------------------- */

static void size_text(uint64_t b, char out[32]) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)b;
    size_t u = 0;
    for (; v >= 1024 && u < 4; u++) v /= 1024;
    snprintf(out, 32, "%.4g %s", v, unit[u]);
}

const char *hn_proc_describe(const hn_proc_spec *spec, const hn_proc_result *r, char *buf, size_t n) {
    char size[32];
    const char *name;
    switch (r->end) {
    case HN_PROC_EXITED: snprintf(buf, n, "exit code %d", r->code); break;
    case HN_PROC_SIGNALED:
        name = sigabbrev_np(r->signal);
        if (name)
            snprintf(buf, n, "killed by SIG%s", name);
        else
            snprintf(buf, n, "killed by signal %d", r->signal);
        break;
    case HN_PROC_WALL_LIMIT: snprintf(buf, n, "ran longer than %.4g s", spec->wall_s); break;
    case HN_PROC_CPU_LIMIT: snprintf(buf, n, "used more than %.4g s of CPU time", spec->cpu_s); break;
    case HN_PROC_MEMORY_LIMIT:
        size_text(spec->memory_b, size);
        snprintf(buf, n, "needed more than %s of memory", size);
        break;
    case HN_PROC_FILE_LIMIT:
        size_text(spec->file_b, size);
        snprintf(buf, n, "wrote a file larger than %s", size);
        break;
    case HN_PROC_OUTPUT_LIMIT:
        size_text(spec->out_b ? spec->out_b : 64u << 20, size);
        snprintf(buf, n, "printed more than %s", size);
        break;
    case HN_PROC_COUNT_LIMIT: snprintf(buf, n, "ran more than %u processes at once", spec->n_procs); break;
    case HN_PROC_NOT_STARTED: snprintf(buf, n, "not started: %s", r->err_tail); break;
    case HN_PROC_STOPPED: snprintf(buf, n, "stopped"); break;
    }
    return buf;
}
