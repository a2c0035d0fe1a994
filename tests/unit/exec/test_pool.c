/* The thread pool that goes into artifacts. */
#include "tap.h"

#include "backend/cpu/rt/base.h"
#include "backend/cpu/rt/pool.h"

#include <sys/wait.h>
#include <time.h>

enum { SLOTS = 16 };
typedef struct job {
    int64_t hits[SLOTS];
    int64_t sum;
} job;

static void hit(void *arg, int64_t i) {
    job *j = arg;
    j->hits[i]++;
    __atomic_fetch_add(&j->sum, i, __ATOMIC_RELAXED);
}

/* Every index exactly once per run, for any number of threads and pieces. */
static int all_hit(int threads, int64_t n, int runs) {
    job j = {{0}, 0};
    hnr_pool *p = hnr_pool_new(threads);
    if (!p) return 0;
    for (int r = 0; r < runs; r++) hnr_pool_run(p, hit, &j, n);
    hnr_pool_free(p);
    for (int64_t i = 0; i < SLOTS; i++)
        if (j.hits[i] != (i < n ? runs : 0)) return 0;
    return j.sum == n * (n - 1) / 2 * runs;
}

static void slow(void *arg, int64_t i) {
    struct timespec t = {0, (long)(i * 300000)};
    nanosleep(&t, NULL);
    hit(arg, i);
}

static int fork_is_safe(void) {
    job j = {{0}, 0};
    hnr_pool *p = hnr_pool_new(4);
    int status = -1;
    hnr_pool_run(p, hit, &j, 4);
    pid_t child = fork();
    if (child == 0) {
        hnr_pool_run(p, hit, &j, 4);
        int good = j.hits[3] == 2;
        hnr_pool_free(p);
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    hnr_pool_run(p, hit, &j, 4);
    hnr_pool_free(p);
    return status == 0 && j.hits[3] == 2;
}

/* Processor time of the process while its pool has nothing to do. */
static double idle_cpu_s(void) {
    job j = {{0}, 0};
    hnr_pool *p = hnr_pool_new(4);
    struct timespec nap = {0, 20000000};
    hnr_pool_run(p, hit, &j, 4);
    nanosleep(&nap, NULL);
    clock_t before = clock();
    for (int i = 0; i < 10; i++) nanosleep(&nap, NULL);
    clock_t after = clock();
    hnr_pool_free(p);
    return (double)(after - before) / CLOCKS_PER_SEC;
}

int main(void) {
    for (int threads = 1; threads <= 8; threads *= 2)
        for (int64_t n = 0; n <= SLOTS; n = 2 * n + 1)
            ok(all_hit(threads, n, 200), "pool/%d threads, %lld pieces, each once", threads, (long long)n);
    job j = {{0}, 0};
    hnr_pool *p = hnr_pool_new(3);
    for (int r = 0; r < 5; r++) hnr_pool_run(p, slow, &j, 6);
    ok(j.hits[5] == 5 && j.sum == 75, "pool/waits for slow pieces");
    hnr_pool_free(p);
    ok(fork_is_safe(), "pool/a child does the work itself");
    ok(idle_cpu_s() < 0.1, "pool/an idle pool takes no processor time");
    hnr_pool_free(NULL);
    return done_testing();
}
