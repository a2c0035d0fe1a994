/* rt/pool.h — threads that wait for work: hnr_pool_run calls fn(arg, i) for every i in [0, n), each on a thread of its
 * own where one is free, and returns when all are done. The caller takes i = 0, and whatever a thread has not begun by
 * the time that it is through: nobody waits for a thread to wake up.
 *
 * Idle threads sleep in the kernel; one that has just worked looks out for more work for some tens of microseconds,
 * unless there are more threads than processors.   Threads: one run at a time per pool.   Fork: a child has no threads
 * of its parent, so its caller does all the work itself; freeing the pool there is safe.   Failure: hnr_pool_new gives
 * NULL without memory; threads that cannot be started are done without.   Needs base.h, _GNU_SOURCE.
 */
#ifndef HNR_POOL_H
#define HNR_POOL_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

enum {
    HNR_IDLE,
    HNR_ASLEEP,  /* idle, and to be woken */
    HNR_POSTED,  /* by the caller: its thread, or the caller itself, takes it */
    HNR_TAKEN,   /* the thread is at work */
    HNR_AWAITED, /* … and the caller sleeps until it is done */
    HNR_STOP
};
enum { HNR_LOOKS = 1000 }; /* before going to sleep: some tens of microseconds */

struct hnr_pool;
typedef struct hnr_worker {
    _Alignas(64) int32_t state;
    int started;
    int64_t index;
    pthread_t thread;
    struct hnr_pool *pool;
} hnr_worker;
typedef struct hnr_pool {
    void (*fn)(void *arg, int64_t i);
    void *arg;
    int n, looks; /* workers; the caller is one thread more */
    pid_t owner;
    hnr_worker *worker;
} hnr_pool;

#if defined(__linux__)
static void hnr_wait(int32_t *at, int32_t value) { syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0); }
static void hnr_wake(int32_t *at) { syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }
#else
static pthread_mutex_t hnr_wait_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hnr_wait_cond = PTHREAD_COND_INITIALIZER;
static void hnr_wait(int32_t *at, int32_t value) {
    pthread_mutex_lock(&hnr_wait_lock);
    while (__atomic_load_n(at, __ATOMIC_ACQUIRE) == value) pthread_cond_wait(&hnr_wait_cond, &hnr_wait_lock);
    pthread_mutex_unlock(&hnr_wait_lock);
}
static void hnr_wake(int32_t *at) {
    (void)at;
    pthread_mutex_lock(&hnr_wait_lock);
    pthread_cond_broadcast(&hnr_wait_cond);
    pthread_mutex_unlock(&hnr_wait_lock);
}
#endif

HNR void hnr_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}
HNR int32_t hnr_state(const int32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
HNR int hnr_turn(int32_t *at, int32_t from, int32_t to) {
    return __atomic_compare_exchange_n(at, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Until there is something to take (1) or the end (0). */
static int hnr_await_work(hnr_worker *w) {
    for (;;) {
        for (int i = 0; i < w->pool->looks && hnr_state(&w->state) == HNR_IDLE; i++) hnr_pause();
        if (hnr_turn(&w->state, HNR_POSTED, HNR_TAKEN)) return 1;
        if (hnr_state(&w->state) == HNR_STOP) return 0;
        hnr_turn(&w->state, HNR_IDLE, HNR_ASLEEP);
        while (hnr_state(&w->state) == HNR_ASLEEP) hnr_wait(&w->state, HNR_ASLEEP);
    }
}

static void *hnr_work(void *arg) {
    hnr_worker *w = (hnr_worker *)arg;
    while (hnr_await_work(w)) {
        w->pool->fn(w->pool->arg, w->index);
        if (__atomic_exchange_n(&w->state, HNR_IDLE, __ATOMIC_ACQ_REL) == HNR_AWAITED) hnr_wake(&w->state);
    }
    return NULL;
}

/* Signals of the process are not for these threads. */
static void hnr_pool_start(hnr_pool *p) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < p->n; i++) {
        hnr_worker *w = &p->worker[i];
        w->state = HNR_IDLE;
        w->index = i + 1;
        w->pool = p;
        w->started = pthread_create(&w->thread, NULL, hnr_work, w) == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int hnr_processors(void) {
#if defined(__linux__)
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
#else
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
#endif
}

/* n: threads in all, the caller's included. */
static hnr_pool *hnr_pool_new(int n) {
    hnr_pool *p = (hnr_pool *)calloc(1, sizeof *p);
    if (!p) return NULL;
    p->n = n > 1 ? n - 1 : 0;
    p->looks = n <= hnr_processors() ? HNR_LOOKS : 0;
    p->owner = getpid();
    p->worker = (hnr_worker *)aligned_alloc(64, sizeof *p->worker * (size_t)(p->n + 1));
    if (!p->worker) {
        free(p);
        return NULL;
    }
    hnr_pool_start(p);
    return p;
}

HNR void hnr_pool_free(hnr_pool *p) {
    if (!p) return;
    for (int i = 0; i < p->n && p->owner == getpid(); i++) {
        hnr_worker *w = &p->worker[i];
        if (!w->started) continue;
        if (__atomic_exchange_n(&w->state, HNR_STOP, __ATOMIC_ACQ_REL) == HNR_ASLEEP) hnr_wake(&w->state);
        pthread_join(w->thread, NULL);
    }
    free(p->worker);
    free(p);
}

static void hnr_pool_post(hnr_worker *w) {
    if (__atomic_exchange_n(&w->state, HNR_POSTED, __ATOMIC_ACQ_REL) == HNR_ASLEEP) hnr_wake(&w->state);
}
static void hnr_pool_finish(hnr_pool *p, hnr_worker *w) {
    if (hnr_turn(&w->state, HNR_POSTED, HNR_IDLE)) { /* not begun: no need to wait for it */
        p->fn(p->arg, w->index);
        return;
    }
    for (int i = 0; i < p->looks && hnr_state(&w->state) == HNR_TAKEN; i++) hnr_pause();
    hnr_turn(&w->state, HNR_TAKEN, HNR_AWAITED);
    while (hnr_state(&w->state) == HNR_AWAITED) hnr_wait(&w->state, HNR_AWAITED);
}

static void hnr_pool_run(hnr_pool *p, void (*fn)(void *arg, int64_t i), void *arg, int64_t n) {
    int64_t shared = n - 1 < p->n ? n - 1 : p->n;
    p->fn = fn;
    p->arg = arg;
    for (int64_t i = 0; i < shared; i++) hnr_pool_post(&p->worker[i]);
    if (n > 0) fn(arg, 0);
    for (int64_t i = shared + 1; i < n; i++) fn(arg, i);
    for (int64_t i = 0; i < shared; i++) hnr_pool_finish(p, &p->worker[i]);
}

/* --- the work of a launch ------------------------------------------------------------------------------------------
 */

/* It is cut into slices, the slices into as many runs as there are threads. A thread begins with its own run, the same
 * part of the work in every launch, so that it finds in its caches what it wrote in the launch before; when that is
 * done it helps with the others'. */
enum { HNR_RUNS = 16, HNR_SLICES_PER_RUN = 8 };
/* Elementary operations, about, that are worth a slice of their own. */
enum { HNR_SLICE_COST = 32768 };
typedef struct hnr_run_of_slices {
    _Alignas(64) int64_t next; /* one cache line each */
} hnr_run_of_slices;

typedef struct hnr_job {
    void (*run)(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch);
    void *const *buf;
    const int64_t *s;
    int64_t work, n_slices, n_runs;
    char *scratch;
    int64_t scratch_b; /* of one thread */
    hnr_run_of_slices part[HNR_RUNS];
} hnr_job;

/* cost: elementary operations, about. Gives the number of threads that work on it; 1: it is not worth a second. */
HNR int64_t hnr_cut(hnr_job *j, int64_t work, int64_t cost, int64_t n_threads) {
    int64_t n = cost / HNR_SLICE_COST < work ? cost / HNR_SLICE_COST : work;
    if (n < 2 || n_threads < 2) return 1;
    j->work = work;
    j->n_slices = n < HNR_SLICES_PER_RUN * n_threads ? n : HNR_SLICES_PER_RUN * n_threads;
    n = j->n_slices < n_threads ? j->n_slices : n_threads;
    j->n_runs = n < HNR_RUNS ? n : HNR_RUNS;
    for (int64_t i = 0; i < j->n_runs; i++) j->part[i].next = 0;
    return n;
}

/* Work items in front of slice i. */
HNR int64_t hnr_slice(const hnr_job *j, int64_t i) {
    int64_t base = j->work / j->n_slices, rest = j->work % j->n_slices;
    return i * base + (i < rest ? i : rest);
}

/* Takes half of the slices that a run has left, at least one: few calls while there is much to do, since some kernels
 * prepare something in each, and short ones in the end, so that threads are through together (Polychronopoulos and
 * Kuck, "Guided self-scheduling", IEEE Trans. Computers C-36, 1987). Gives how many, from *at on. */
HNR int64_t hnr_take_some(hnr_run_of_slices *part, int64_t n, int64_t *at) {
    int64_t i = __atomic_load_n(&part->next, __ATOMIC_RELAXED), take;
    do {
        if (i >= n) return 0;
        take = (n - i + 1) / 2;
    } while (!__atomic_compare_exchange_n(&part->next, &i, i + take, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    *at = i;
    return take;
}
/* Thread `slot` takes slices until there are none. */
HNR void hnr_take(void *arg, int64_t slot) {
    hnr_job *j = (hnr_job *)arg;
    for (int64_t k = 0; k < j->n_runs; k++) {
        int64_t part = (slot + k) % j->n_runs, first = part * j->n_slices / j->n_runs,
                end = (part + 1) * j->n_slices / j->n_runs, i, n;
        while ((n = hnr_take_some(&j->part[part], end - first, &i)))
            j->run(j->buf, j->s, hnr_slice(j, first + i), hnr_slice(j, first + i + n),
                   j->scratch + slot * j->scratch_b);
    }
}

#endif
