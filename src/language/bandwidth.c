/* bandwidth.c — what the machine reads in a second just now, on as many threads as a model has.
 *
 * A line of memory comes as a whole, so a word of each is read. Two orders are tried, one after the other and in four
 * places in turns, since processors differ in which they read ahead best; the faster one counts. Pages are large ones
 * where the system has them: a walk over small ones waits for their translation.
 */
#include "base/clock.h"
#include "base/err.h"
#include "language/language_int.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE_B = 64, STREAMS = 4, MOST_THREADS = 256 };
static const size_t most_b = (size_t)1 << 30, large_b = (size_t)2 << 20; /* of the memory read; of a page */
static const double turn_s = 0.02;

struct hn_memory_reader {
    char *map, *data;
    size_t size_b, map_b;
    uint32_t n_threads;
};

typedef enum go { WAIT, READ, LEAVE } go;
typedef struct job {
    const char *from;
    size_t lines, times; /* lines: a multiple of STREAMS */
    bool apart;          /* STREAMS places in turns */
    go *go;
    uint64_t sum; /* what was read, so that it is read */
} job;

static void read_lines(job *j) {
    size_t each = j->lines / STREAMS, place = j->apart ? each * LINE_B : LINE_B,
           step = j->apart ? LINE_B : STREAMS * LINE_B;
    uint64_t sum[STREAMS] = {0};
    for (size_t t = 0; t < j->times; t++)
        for (size_t i = 0; i < each; i++)
            for (size_t k = 0; k < STREAMS; k++)
                sum[k] += *(const volatile uint64_t *)(const void *)(j->from + i * step + k * place);
    for (size_t k = 0; k < STREAMS; k++) j->sum += sum[k];
}

static void *run_job(void *arg) {
    job *j = arg;
    go now;
    while ((now = __atomic_load_n(j->go, __ATOMIC_ACQUIRE)) == WAIT) sched_yield();
    if (now == READ) read_lines(j);
    return NULL;
}

/* Seconds that n threads take for their parts at once; 0: they could not be started. */
static double run_jobs(job *j, uint32_t n) {
    pthread_t thread[MOST_THREADS];
    uint32_t started = 0;
    go say = WAIT;
    for (uint32_t i = 0; i < n; i++) j[i].go = &say;
    while (started + 1 < n && !pthread_create(&thread[started], NULL, run_job, &j[started + 1])) started++;
    bool all = started + 1 == n;
    double begin_s = hn_now_s();
    __atomic_store_n(&say, all ? READ : LEAVE, __ATOMIC_RELEASE);
    if (all) read_lines(j);
    for (uint32_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
    return all ? hn_now_s() - begin_s : 0;
}

/* Bytes per second in one order, in a turn that is long enough. */
static double speed_of(const hn_memory_reader *r, bool apart) {
    job j[MOST_THREADS];
    size_t lines = r->size_b / LINE_B / r->n_threads / STREAMS * STREAMS, times = 1;
    for (double s = 0; lines; times *= 2) {
        for (uint32_t i = 0; i < r->n_threads; i++)
            j[i] = (job){.from = r->data + i * lines * LINE_B, .lines = lines, .times = times, .apart = apart};
        if ((s = run_jobs(j, r->n_threads)) <= 0) return 0;
        if (s >= turn_s || times >= (size_t)1 << 40) return (double)(lines * LINE_B * r->n_threads * times) / s;
    }
    return 0;
}

double hn_memory_reader_speed(const hn_memory_reader *r) {
    double one = speed_of(r, false), four = speed_of(r, true);
    return one > four ? one : four;
}

hone_rc hn_memory_reader_open(double size_b, uint32_t n_threads, hn_memory_reader **out, hone_err *err) {
    hn_memory_reader *r = calloc(1, sizeof *r);
    if (!r) return hn_fail(err, HONE_E_NOMEM, "out of memory for measuring the memory's speed");
    r->size_b = size_b < (double)most_b ? (size_t)size_b : most_b;
    r->n_threads = n_threads < 1 ? 1 : n_threads < MOST_THREADS ? n_threads : MOST_THREADS;
    if (r->size_b < (size_t)r->n_threads * STREAMS * LINE_B) r->size_b = (size_t)r->n_threads * STREAMS * LINE_B;
    r->map_b = (r->size_b / large_b + 2) * large_b;
    r->map = mmap(NULL, r->map_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->map == MAP_FAILED) {
        size_t asked = r->map_b;
        free(r);
        return hn_fail(err, HONE_E_NOMEM, "out of memory: %zu bytes are needed to measure the memory's speed", asked);
    }
    r->data = r->map + (large_b - (uintptr_t)r->map % large_b);
#ifdef MADV_HUGEPAGE
    madvise(r->data, (r->size_b + large_b - 1) / large_b * large_b, MADV_HUGEPAGE);
#endif
    memset(r->data, 1, r->size_b);
    *out = r;
    return HONE_OK;
}

void hn_memory_reader_close(hn_memory_reader *r) {
    if (!r) return;
    munmap(r->map, r->map_b);
    free(r);
}
