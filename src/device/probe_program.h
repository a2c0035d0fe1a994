/* device/probe_program.h — the program that measures what this machine can do at most. Carried as text: probe.c
 * compiles it for the machine's instruction set and runs it in a process of its own. It needs nothing of hone.
 *
 * Given: VB, bytes of a vector; L1D_B, L2_B, L3_B, bytes of a cache or 0; argument 1, the number of threads of the
 * all_* rates. Prints: `NAME RATE` lines, named as the rates of hone_device; what the processor does not offer is left
 * out. Arithmetic: as many independent multiply-add chains as hide their latency, out of registers. Reading: the sum of
 * a buffer with eight accumulators, of memory the better of one walk through it and four side by side. Memory is in
 * large pages, as a model's values are. Each rate is the best of several repeats: what disturbs a machine only takes
 * away.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { REPEATS = 50, MEMORY_B = 256 << 20, PAGE_B = 2 << 20, MOST_THREADS = 256 };
static const double repeat_s = 0.004;

typedef float vf __attribute__((vector_size(VB)));
typedef double vd __attribute__((vector_size(VB)));
static volatile double sink; /* keeps results alive */

/* --- work: every function does `n` rounds and returns the work of one ------------------------------------------------
 */

#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define DECLARE(i) a##i = b + (float)i,
#define STEP(i) a##i = a##i * c + b;
#define SUM(i) s += a##i[0];
#define PEAK(name, v)                                                                                                  \
    static double name(long n, const char *p, long size) {                                                             \
        v b = {0}, c = {0};                                                                                            \
        (void)size;                                                                                                    \
        b += (float)(1 + *p), c += 0.5f;                                                                               \
        v CHAINS(DECLARE) z = b;                                                                                       \
        for (long i = 0; i < n; i++) {                                                                                 \
            CHAINS(STEP)                                                                                               \
        }                                                                                                              \
        double s = z[0];                                                                                               \
        CHAINS(SUM)                                                                                                    \
        sink = s;                                                                                                      \
        return 12.0 * 2.0 * sizeof(v) / sizeof b[0];                                                                   \
    }
PEAK(peak_f32, vf)
PEAK(peak_f64, vd)

#define ZERO(i) vf d##i = {0};
#define DOT(name, STEP, WORK)                                                                                          \
    static double name(long n, const char *p, long size) {                                                             \
        vf e = {0};                                                                                                    \
        CHAINS(ZERO)(void) p, (void)size;                                                                              \
        for (long i = 0; i < n; i++) {                                                                                 \
            CHAINS(STEP)                                                                                               \
        }                                                                                                              \
        return 12.0 * 2.0 * (WORK);                                                                                    \
    }
#if defined(__AVX512F__) && VB == 64
#define VNNI(i) __asm__ volatile("vpdpbusd %1, %1, %0" : "+v"(d##i) : "v"(e));
#define BF16(i) __asm__ volatile("vdpbf16ps %1, %1, %0" : "+v"(d##i) : "v"(e));
DOT(peak_i8, VNNI, 64)
DOT(peak_bf16, BF16, 32)
#elif defined(__AVX2__) && VB == 32
/* Pairs in 16 bits, fours in 32, and the sum. */
#define PAIRS(i)                                                                                                       \
    {                                                                                                                  \
        vf t;                                                                                                          \
        __asm__ volatile("vpmaddubsw %2, %2, %1\n\tvpmaddwd %2, %1, %1\n\tvpaddd %1, %0, %0"                           \
                         : "+x"(d##i), "=&x"(t)                                                                        \
                         : "x"(e));                                                                                    \
    }
DOT(peak_i8, PAIRS, 32)
#endif

static double read_bytes(long n, const char *p, long size) {
    vf a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    for (long i = 0; i < n; i++)
        for (const vf *v = (const vf *)p, *end = v + size / VB / 8 * 8; v < end; v += 8) {
            a += v[0], b += v[1], c += v[2], d += v[3];
            e += v[4], f += v[5], g += v[6], h += v[7];
        }
    a += b + c + d + e + f + g + h;
    sink = a[0];
    return (double)(size / VB / 8 * 8 * VB);
}

static double read_streams(long n, const char *p, long size) {
    vf a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    long each = size / 4 / VB / 2 * 2; /* vectors */
    for (long i = 0; i < n; i++) {
        const vf *v = (const vf *)p, *w = v + each, *x = w + each, *y = x + each;
        for (long k = 0; k < each; k += 2) {
            a += v[k], b += w[k], c += x[k], d += y[k];
            e += v[k + 1], f += w[k + 1], g += x[k + 1], h += y[k + 1];
        }
    }
    a += b + c + d + e + f + g + h;
    sink = a[0];
    return (double)(4 * each * VB);
}

/* --- timing ----------------------------------------------------------------------------------------------------------
 */

typedef double work(long n, const char *data, long size);
typedef struct job {
    work *run;
    const char *data;
    long size, rounds;
    double done; /* work of all rounds */
} job;

static char *data; /* MEMORY_B, touched */

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *run_job(void *arg) {
    job *j = arg;
    j->done = (double)j->rounds * j->run(j->rounds, j->data, j->size);
    return NULL;
}

/* Work of n jobs at once. */
static double run_together(job *j, size_t n) {
    pthread_t thread[MOST_THREADS];
    size_t started = 0;
    double done = 0;
    while (started + 1 < n && !pthread_create(&thread[started], NULL, run_job, &j[started + 1])) started++;
    run_job(j);
    for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
    for (size_t i = 0; i <= started; i++) done += j[i].done;
    return done;
}

/* Work per second of n threads, each on its own part of size_b bytes; rounds are doubled until a repeat is long enough.
 */
static double best_speed(work *run, long size_b, size_t n) {
    job j[MOST_THREADS];
    double best = 0, from;
    long part_b = size_b / (long)n / 4096 * 4096;
    for (size_t i = 0; i < n; i++) j[i] = (job){.run = run, .data = data + (long)i * part_b, .size = part_b};
    for (j->rounds = 1; j->rounds < 1L << 40; j->rounds *= 2) {
        from = now_s();
        run_job(j);
        if (now_s() - from >= repeat_s) break;
    }
    for (size_t i = 1; i < n; i++) j[i].rounds = j->rounds;
    for (int r = 0; r < REPEATS; r++) {
        from = now_s();
        double done = run_together(j, n), speed = done / (now_s() - from);
        if (speed > best) best = speed;
    }
    return best;
}

static void measure(const char *name, work *run, long size_b, size_t n) {
    printf("%s %.4g\n", name, best_speed(run, size_b, n));
}

static void measure_memory(const char *name, size_t n) {
    double one = best_speed(read_bytes, MEMORY_B, n), four = best_speed(read_streams, MEMORY_B, n);
    printf("%s %.4g\n", name, one > four ? one : four);
}

static void measure_copy(void) {
    double best = 0;
    for (int r = 0; r < REPEATS; r++) {
        double from = now_s();
        memcpy(data, data + MEMORY_B / 2, MEMORY_B / 2);
        double speed = MEMORY_B / (now_s() - from);
        if (speed > best) best = speed;
    }
    printf("copy_bps %.4g\n", best);
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    if (posix_memalign((void **)&data, PAGE_B, MEMORY_B)) return 1;
#ifdef MADV_HUGEPAGE
    madvise(data, MEMORY_B, MADV_HUGEPAGE);
#endif
    memset(data, 0, MEMORY_B);
    n = n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n;
    measure("f32_flops", peak_f32, 0, 1);
    measure("f64_flops", peak_f64, 0, 1);
#if defined(__AVX512F__) && VB == 64
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bf16")) measure("bf16_flops", peak_bf16, 0, 1);
    if (__builtin_cpu_supports("avx512vnni")) measure("i8_ops", peak_i8, 0, 1);
#elif defined(__AVX2__) && VB == 32
    measure("i8_ops", peak_i8, 0, 1);
#endif
    if (L1D_B) measure("l1_bps", read_bytes, L1D_B / 2, 1);
    if (L2_B) measure("l2_bps", read_bytes, L2_B / 2, 1);
    /* At least twice the second level, so that the second level cannot hold the buffer. */
    if (L2_B && L3_B / 4 >= L2_B && 4 * L2_B <= MEMORY_B)
        measure("l3_bps", read_bytes, 4 * L2_B < L3_B / 2 ? 4 * L2_B : L3_B / 2, 1);
    measure_memory("memory_bps", 1);
    measure_copy();
    measure("all_f32_flops", peak_f32, 0, n);
    measure_memory("all_memory_bps", n);
    printf("all_cores %zu\n", n);
    return 0;
}
