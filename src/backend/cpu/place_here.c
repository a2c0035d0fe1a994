/* backend/cpu/place_here.c — the place that is this process: kernels are called, on threads as an instance calls them.
 */
#include "backend/cpu/rt/base.h"
#include "backend/cpu/rt/pool.h"

#include "backend/place.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/rng.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

enum { PAGE_B = 4096, LARGE_B = 2 << 20 };
_Static_assert(_Generic((hnr_job){0}.run, hone_kernel_fn * : 1, default : 0), "a kernel has one signature");
_Static_assert((int)HN_SLICE_COST == (int)HNR_SLICE_COST, "the runtime shares work as winners are told");

typedef struct here {
    void *library;
    const hone_model *model; /* NULL: kernels are loaded */
    hn_arena plain;
    hn_mark start;
    hn_rng rng;
    char *free; /* what is left of the values' memory */
    int64_t free_b;
    hnr_pool *pool; /* NULL: one thread */
} here;

/* This thread on the first core, the pool's each on one of the others. */
static void line_up(here *h, const hn_place_spec *s) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (!s->n_cpu) return;
    for (uint32_t i = 0; i < s->n_cpu; i++) CPU_SET((unsigned)s->cpu[i], &set);
    sched_setaffinity(0, sizeof set, &set);
    if (s->n_cpu > 1) h->pool = hnr_pool_new((int)s->n_cpu);
    for (int i = 0; i <= (h->pool ? h->pool->n : 0); i++) {
        CPU_ZERO(&set);
        CPU_SET((unsigned)s->cpu[i], &set);
        if (!i)
            sched_setaffinity(0, sizeof set, &set);
        else if (h->pool->worker[i - 1].started)
            pthread_setaffinity_np(h->pool->worker[i - 1].thread, sizeof set, &set);
    }
}

static hone_rc open_here(const hn_place_spec *s, void **state, hone_err *err) {
    here *h = calloc(1, sizeof *h);
    if (!h) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = s->library ? hn_place_library(s, &h->library, &h->model, err) : HONE_OK;
    if (rc) {
        free(h);
        return rc;
    }
    h->rng = hn_rng_make(s->seed, 7);
    h->start = hn_arena_mark(&h->plain);
    line_up(h, s);
    *state = h;
    return HONE_OK;
}

static void close_here(void *state) {
    here *h = state;
    if (!h) return;
    hnr_pool_free(h->pool);
    hn_arena_free(&h->plain);
    if (h->library) dlclose(h->library);
    free(h);
}

static hn_code find(void *state, uint32_t index) {
    const here *h = state;
    return (hn_code){.run = h->model->kernel[index].run, .index = index};
}

static hone_rc load(void *state, const char *path, hn_code *code, hone_err *err) {
    (void)state;
    if (code->library) dlclose(code->library);
    *code = (hn_code){.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    void *symbol = code->library ? dlsym(code->library, "hone_kernel") : NULL;
    memcpy(&code->run, &symbol, sizeof symbol);
    return symbol ? HONE_OK : hn_fail(err, HONE_E_TOOL, "%.100s", dlerror());
}

/* --- memory --------------------------------------------------------------------------------------------------------
 */

static char *map(int64_t size_b, int advice) {
    char *p = mmap(NULL, (size_t)size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    madvise(p, (size_t)size_b, advice);
    return p;
}

/* Memory for a constant, at a random multiple of cache lines. */
static char *constant(here *h, int64_t size_b) {
    char *p = map(size_b + 2 * PAGE_B, MADV_NOHUGEPAGE);
    return p ? p + 64 * hn_rng_below(&h->rng, PAGE_B / 64) : NULL;
}

/* Memory for a value, after a gap of a random number of cache lines up to a page. */
static char *value(here *h, int64_t size_b) {
    int64_t gap_b = 64 * (int64_t)hn_rng_below(&h->rng, PAGE_B / 64), need_b = (size_b + gap_b + 63) / 64 * 64;
    if (need_b > h->free_b) {
        int64_t all_b = (need_b + 2 * LARGE_B - 1) / LARGE_B * LARGE_B;
        char *p = map(all_b + LARGE_B, MADV_HUGEPAGE);
        if (!p) return NULL;
        h->free_b = all_b;
        h->free = p + (LARGE_B - (uintptr_t)p % LARGE_B) % LARGE_B;
    }
    char *at = h->free + gap_b;
    h->free += need_b;
    h->free_b -= need_b;
    return at;
}

static hn_mem alloc(void *state, int64_t size_b, hn_mem_kind kind) {
    here *h = state;
    if (kind == HN_MEM_VALUE) return value(h, size_b);
    if (kind == HN_MEM_CONSTANT) return constant(h, size_b);
    char *p = hn_alloc(&h->plain, (size_t)size_b + 64);
    return p ? p + (64 - (uintptr_t)p % 64) % 64 : NULL;
}

static void reset(void *state) { hn_arena_release(&((here *)state)->plain, ((here *)state)->start); }

static void put(void *state, hn_mem to, const void *from, int64_t size_b) {
    (void)state;
    memcpy(to, from, (size_t)size_b);
}

static void get(void *state, void *to, hn_mem from, int64_t size_b) {
    (void)state;
    memcpy(to, from, (size_t)size_b);
}

/* --- launches ------------------------------------------------------------------------------------------------------
 */

/* Launches a kernel as a model does. */
static bool launch(void *state, const hn_launch *l) {
    here *h = state;
    hnr_job job;
    void *const *buf = (void *const *)(const void *)l->buf;
    int64_t n = h->pool && !l->begin ? hnr_cut(&job, l->end, l->cost, l->n_threads) : 1;
    if (n < 2) {
        l->code.run(buf, l->symbol, l->begin, l->end, l->scratch);
        return true;
    }
    job.run = l->code.run, job.buf = buf, job.s = l->symbol;
    job.scratch = l->scratch, job.scratch_b = l->scratch_b;
    hnr_pool_run(h->pool, hnr_take, &job, n);
    return true;
}

static double time_of(void *state, const hn_launch *list, uint32_t n_list, uint32_t *turn, int64_t n) {
    double start_s = hn_now_s();
    for (int64_t i = 0; i < n; i++) {
        launch(state, &list[*turn]);
        *turn = *turn + 1 == n_list ? 0 : *turn + 1;
    }
    return hn_now_s() - start_s;
}

/* The next slice goes to the thread that is through first (Graham 1966, list scheduling), which is what helping comes
 * to. */
static double balance(int64_t work, int64_t cost, uint32_t n_threads) {
    hnr_job j;
    int64_t busy[HN_PLACE_THREADS] = {0}, longest = 0;
    int64_t n = hnr_cut(&j, work, cost, n_threads);
    if (work <= 0 || n_threads > HN_PLACE_THREADS) return 1;
    for (int64_t i = 0; n > 1 && i < j.n_slices; i++) {
        int64_t first = 0;
        for (int64_t t = 1; t < n; t++)
            if (busy[t] < busy[first]) first = t;
        busy[first] += hnr_slice(&j, i + 1) - hnr_slice(&j, i);
        if (busy[first] > longest) longest = busy[first];
    }
    return (double)(n > 1 ? longest : work) * n_threads / (double)work;
}

const hn_place hn_place_here = {.version = HN_PLACE_VERSION,
                                .name = "here",
                                .summary = "this process",
                                .open = open_here,
                                .close = close_here,
                                .find = find,
                                .load = load,
                                .alloc = alloc,
                                .reset = reset,
                                .put = put,
                                .get = get,
                                .launch = launch,
                                .time = time_of,
                                .run = hn_place_run,
                                .now_s = hn_place_now_s,
                                .balance = balance};
