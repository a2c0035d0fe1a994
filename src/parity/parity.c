/* parity/parity.c — every distinct kernel of a fresh library, compared with the interpreter in child processes.
 *
 * Children take kernels off a shared counter and write verdicts into shared memory; a child that a kernel kills is
 * replaced, and the kernel it was at has crashed. So has one that takes more than LIMIT_S of the processor (under an
 * emulator, and on a device: of the clock): a machine that is busy with other things makes none fail. Where a driver of
 * devices is open in this process already, a device's kernels are checked here, without a limit.
 */
#include "parity/parity.h"
#include "backend/device.h"
#include "base/fs.h"
#include "build/build.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Most work items at randomly drawn sizes; the first sizes are small. */
#define MOST_WORK (1 << 24)
enum { LIMIT_S = 120, MOST_CHILDREN = 32, SETS = 5, DONE = 71, NO_LIBRARY = 72 }; /* the last two: exit codes */

typedef struct shared {
    uint32_t next, n_done;
    int32_t at[MOST_CHILDREN]; /* kernel a child works on + 1 */
    char trouble[200];
    hn_parity verdict[];
} shared;

/* --- in a child ------------------------------------------------------------------------------------------------------
 */

static bool has_symbols(const hn_model *m, const hn_kernel *k) {
    const hn_graph *g = m->g;
    const hn_blk *b = &g->block[k->body];
    hn_type const *t;
    for (uint32_t i = 0; i < b->n_param; i++)
        for (size_t d = 0; t = hn_type_of(g, b->param[i]), d < t->rank; d++)
            if (!hn_dim_is_int(g->dims, t->dim[d], NULL)) return true;
    for (uint32_t i = 0; i < b->n_result; i++)
        for (size_t d = 0; t = hn_type_of(g, b->result[i]), d < t->rank; d++)
            if (!hn_dim_is_int(g->dims, t->dim[d], NULL)) return true;
    return false;
}

static bool wanted(const hn_traits *x, hn_fill fill) {
    if (fill == HN_FILL_POSITIVE) return x->domain;
    if (x->bound > 0 && fill == HN_FILL_SPECIAL) return false; /* NaN reaches a tile's other results */
    return !(x->orders && (fill == HN_FILL_SPECIAL || fill == HN_FILL_EDGE));
}

/* All fills at one set of sizes. False: it differs. */
static bool try_sizes(hn_trial *t, unsigned set, unsigned n_fills) {
    hn_mark start = hn_arena_mark(t->a);
    hn_traits x;
    bool good = true;
    int64_t work = 0;
    if (!t->k->cost.steps || !hn_dim_eval(t->m->g->dims, t->k->cost.steps, t->symbol, &t->cost)) t->cost = 0;
    if (set && hn_work_eval(t->m->g, &t->k->code, t->symbol, &work) && work > MOST_WORK) return true;
    if (work > t->cost) t->cost = work;
    if (hn_trial_traits(t, &x)) return true;
    for (unsigned f = 0; f < n_fills && good; f++) {
        hn_mark mark = hn_arena_mark(t->a);
        t->rng = hn_rng_make(0x9e3779b9, set * HN_N_FILLS + f);
        if (wanted(&x, (hn_fill)f) && hn_trial_inputs(t, &x, (hn_fill)f)) good = hn_trial_check(t, &x, (hn_fill)f);
        t->where.place->reset(t->where.state);
        hn_arena_release(t->a, mark);
    }
    hn_arena_release(t->a, start);
    return good;
}

static void check_kernel(const hn_model *m, const hn_kernel *k, hn_ground where, hn_code code, hn_parity *out) {
    hn_arena a = {0};
    size_t n = hn_dims_symbols(m->g->dims);
    int64_t *symbol = hn_alloc_n(&a, n + 2, sizeof *symbol);
    hn_trial t = {.m = m, .k = k, .a = &a, .n_symbols = n, .result = out, .where = where, .code = code};
    bool open = has_symbols(m, t.k), good = symbol != NULL;
    t.symbol = symbol + 1;
    for (unsigned set = 0; set < (open ? SETS : 1) && good; set++) {
        bool legal = hn_trial_sizes(&t, set);
        if (legal || !open) good = try_sizes(&t, set, set ? 2 : HN_N_FILLS);
    }
    for (unsigned set = SETS; open && good && !out->n_inputs && set < HN_ALL_SIZES; set++)
        if (hn_trial_sizes(&t, set)) good = try_sizes(&t, set, HN_N_FILLS);
    if (good && out->n_inputs) {
        out->end = HN_PARITY_SAME;
        out->text[0] = 0;
    } else if (good) {
        out->end = HN_PARITY_SKIPPED;
        if (!out->text[0]) snprintf(out->text, sizeof out->text, "no legal or small enough input was found");
    }
    hn_arena_free(&a);
}

static hone_rc open_ground(const hn_model *m, const hn_dialect *d, const char *library, hn_ground *out, hone_err *err) {
    const hn_backend *b = d->backend;
    hn_place_spec spec = {.library = library, .query = m->lib->query, .target = m->target};
    spec.emulator = hn_library_emulator(m->lib);
    spec.folder = m->lib->work;
    spec.root = m->lib->remote_root;
    hn_ground where = {spec.emulator ? b->emulated : b->here, NULL};
    hone_rc rc = where.place->open(&spec, &where.state, err);
    if (!rc) *out = where;
    return rc;
}

hone_rc hn_ground_open(const hn_model *m, const char *library, hn_ground *out, hone_err *err) {
    return open_ground(m, m->dialect, library, out, err);
}

/* A kernel that hangs is killed, whatever handlers the host has. 0: no limit. */
static void limit_time(timer_t *timer, time_t s) {
    struct itimerspec when = {.it_value.tv_sec = s};
    if (timer) timer_settime(*timer, 0, &when, NULL);
}

/* Kernels off the counter until there are none. False: the library does not load. timer: NULL: no limit. */
static bool check_kernels(const hn_model *m, const char *path, shared *s, int self, timer_t *timer) {
    hone_err err = {0};
    hn_ground on_device = {0}, on_host = {0}; /* one place, but for kernels of a device's model that stay on the host */
    bool device = hn_is_on_device(m->dialect), ready = hn_ground_open(m, path, &on_device, &err) == HONE_OK;
    if (ready && device) ready = open_ground(m, hn_host_dialect(m), path, &on_host, &err) == HONE_OK;
    if (!ready) snprintf(s->trouble, sizeof s->trouble, "%.199s", err.text);
    for (uint32_t i; ready && (i = __atomic_fetch_add(&s->next, 1, __ATOMIC_SEQ_CST)) < m->n_kernel;) {
        if (m->kernel[i].parity.end != HN_PARITY_NONE || m->kernel[i].same) continue;
        hn_ground where = device && m->kernel[i].on_host ? on_host : on_device;
        s->at[self] = (int32_t)i + 1;
        limit_time(timer, device ? 4 * LIMIT_S : LIMIT_S); /* the driver compiles in between */
        check_kernel(m, &m->kernel[i], where, where.place->find(where.state, m->kernel[i].index), &s->verdict[i]);
        limit_time(timer, 0);
        s->at[self] = 0;
        __atomic_fetch_add(&s->n_done, 1, __ATOMIC_SEQ_CST);
    }
    if (on_device.place) on_device.place->close(on_device.state);
    if (on_host.place) on_host.place->close(on_host.state);
    return ready;
}

/* A device computes while the processor waits, so that its kernels are limited by the clock. */
static void child(const hn_model *m, const char *path, shared *s, int self) {
    struct sigevent kill_me = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    bool waits = hn_library_emulator(m->lib) || hn_is_on_device(m->dialect);
    timer_t made,
        *timer = timer_create(waits ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &kill_me, &made) ? NULL : &made;
    _exit(check_kernels(m, path, s, self, timer) ? DONE : NO_LIBRARY);
}

/* --- in the parent ---------------------------------------------------------------------------------------------------
 */

static pid_t start(const hn_model *m, const char *path, shared *s, int self) {
    s->at[self] = 0;
    pid_t pid = fork();
    if (pid == 0) child(m, path, s, self);
    return pid;
}

/* Marks the kernel that a dead child was running as crashed. True: another child should be started. */
static bool record_crash(const hn_model *m, shared *s, int self, int status) {
    if (!s->at[self]) return false;
    hn_parity *p = &s->verdict[s->at[self] - 1];
    p->end = HN_PARITY_CRASHED;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        snprintf(p->text, sizeof p->text, "is killed: it runs longer than %d s, or memory ran out", LIMIT_S);
    else if (WIFSIGNALED(status))
        snprintf(p->text, sizeof p->text, "is killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(p->text, sizeof p->text, "ends the process with status %d", WEXITSTATUS(status));
    return __atomic_load_n(&s->next, __ATOMIC_SEQ_CST) < m->n_kernel;
}

/* Until it is gone; *stop kills it. */
static void wait_for(pid_t pid, const volatile int *stop, int *status) {
    struct timespec nap = {.tv_nsec = 200000};
    pid_t got;
    while ((got = waitpid(pid, status, stop ? WNOHANG : 0)) == 0 || (got < 0 && errno == EINTR)) {
        if (got < 0) continue;
        if (*stop) kill(pid, SIGKILL);
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < 20000000) nap.tv_nsec *= 2;
    }
}

static hone_rc supervise(const hn_model *m, const char *path, shared *s, hone_err *err) {
    long jobs = m->options->n_jobs ? (long)m->options->n_jobs : sysconf(_SC_NPROCESSORS_ONLN);
    int n = jobs < 1 ? 1 : jobs > MOST_CHILDREN ? MOST_CHILDREN : (int)jobs;
    pid_t pid[MOST_CHILDREN];
    hone_rc rc = HONE_OK;
    if (m->n_kernel < (uint32_t)n) n = m->n_kernel ? (int)m->n_kernel : 1;
    if (hn_is_tiny(m)) n = 1;
    bool here = hn_is_on_device(m->dialect) && hn_drivers_are_open(); /* it works in no child of this process */
    if (here) check_kernels(m, path, s, 0, NULL);
    if (here) n = 0;
    for (int i = 0; i < n; i++)
        if ((pid[i] = start(m, path, s, i)) < 0) return hn_fail(err, HONE_E_IO, "cannot fork: %s", strerror(errno));
    for (int i = 0; i < n; i++) {
        int status = 0;
        wait_for(pid[i], m->options->stop, &status);
        if (!rc) rc = hn_progress(m->lib, "parity", s->n_done, m->n_kernel, err);
        if (!rc && record_crash(m, s, i, status)) {
            if ((pid[i] = start(m, path, s, i)) < 0) return hn_fail(err, HONE_E_IO, "cannot fork: %s", strerror(errno));
            i--;
        }
    }
    if (rc || !s->trouble[0]) return rc;
    return hn_fail(err, HONE_E_TOOL, "the new library does not load: %s%s", s->trouble, hn_noexec_advice(s->trouble));
}

hone_rc hn_parity_run(hn_model *m, const char *path, hone_err *err) {
    size_t size_b = sizeof(shared) + m->n_kernel * sizeof(hn_parity);
    if (hn_library_emulator(m->lib)) {
        hone_rc built = hn_remote_build(m->lib, err);
        if (built) return built;
    }
    shared *s = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) return hn_fail(err, HONE_E_NOMEM, "out of memory for parity");
    hone_rc rc = supervise(m, path, s, err);
    for (uint32_t i = 0; i < m->n_kernel && !rc; i++) {
        if (m->kernel[i].parity.end != HN_PARITY_NONE || m->kernel[i].same) continue;
        m->kernel[i].parity = s->verdict[i];
        if (s->verdict[i].end == HN_PARITY_NONE)
            rc = hn_fail(err, HONE_E_FAILED, "parity of kernel '%s' was not finished", m->kernel[i].name);
    }
    munmap(s, size_b);
    return rc;
}

/* --- one kernel in a library of its own ------------------------------------------------------------------------------
 */

static void child_of_one(const hn_model *m, const hn_kernel *k, const char *path, shared *s) {
    struct sigevent kill_me = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    timer_t timer;
    hn_ground where = {m->dialect->backend->here, NULL};
    hn_code code = {0};
    if (where.place->open(&(hn_place_spec){0}, &where.state, NULL) || where.place->load(where.state, path, &code, NULL))
        _exit(NO_LIBRARY);
    s->at[0] = 1;
    limit_time(timer_create(CLOCK_PROCESS_CPUTIME_ID, &kill_me, &timer) ? NULL : &timer, LIMIT_S);
    check_kernel(m, k, where, code, &s->verdict[0]);
    s->at[0] = 0;
    _exit(DONE);
}

hone_rc hn_parity_one(const hn_model *m, const hn_kernel *k, const char *path, hn_parity *out, hone_err *err) {
    size_t size_b = sizeof(shared) + sizeof(hn_parity);
    shared *s = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    if (s == MAP_FAILED) return hn_fail(err, HONE_E_NOMEM, "out of memory for parity");
    pid_t pid = fork();
    if (pid == 0) child_of_one(m, k, path, s);
    if (pid > 0) wait_for(pid, NULL, &status);
    if (pid > 0) record_crash(m, s, 0, status);
    *out = s->verdict[0];
    munmap(s, size_b);
    if (pid < 0) return hn_fail(err, HONE_E_IO, "cannot fork: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_LIBRARY)
        return hn_fail(err, HONE_E_TOOL, "the library of kernel '%s' does not load", k->name);
    return HONE_OK;
}
