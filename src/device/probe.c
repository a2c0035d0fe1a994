/* device/probe.c — measures what the machine can do at most, by small programs compiled for its instruction set.
 *
 * Arithmetic: as many independent multiply-add chains as hide their latency, out of registers. Reading: the sum of a
 * buffer with eight accumulators. Each figure is the best of several repeats: what disturbs a machine only takes away.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/str.h"

#include <hone/device.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPEATS = 50, MEMORY_B = 256 << 20, MOST_THREADS = 256 };
static const double repeat_s = 0.004;

/* --- the program ---------------------------------------------------------------------------------------------------
 */

/* VB: bytes of a vector. Every function does `n` rounds and returns the work of one round; `sink` keeps results alive.
 */
static const char program[] =
    "typedef float vf __attribute__((vector_size(VB)));\n"
    "typedef double vd __attribute__((vector_size(VB)));\n"
    "volatile double sink;\n"
    "#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)\n"
    "#define DECLARE(i) a##i = b + (float)i,\n"
    "#define STEP(i) a##i = a##i * c + b;\n"
    "#define SUM(i) s += a##i[0];\n"
    "#define PEAK(name, v)                                       \\\n"
    "    double name(long n, const void *p) {                   \\\n"
    "        v b = {0}, c = {0}; b += 1 + *(const float *)p; c += 0.5f; \\\n"
    "        v CHAINS(DECLARE) z = b;                            \\\n"
    "        for (long i = 0; i < n; i++) { CHAINS(STEP) }       \\\n"
    "        double s = z[0]; CHAINS(SUM) sink = s;              \\\n"
    "        return 12.0 * 2.0 * sizeof(v) / sizeof b[0];        \\\n"
    "    }\n"
    "PEAK(peak_f32, vf)\n"
    "PEAK(peak_f64, vd)\n"
    "#if defined(__x86_64__) && VB == 64\n"
    "#define ZERO(i) vf d##i = {0};\n"
    "#define VNNI(i) __asm__ volatile(\"vpdpbusd %1, %1, %0\" : \"+v\"(d##i) : \"v\"(e));\n"
    "#define BF16(i) __asm__ volatile(\"vdpbf16ps %1, %1, %0\" : \"+v\"(d##i) : \"v\"(e));\n"
    "#define DOT(name, STEP, WORK)                               \\\n"
    "    double name(long n, const void *p) {                   \\\n"
    "        vf e = {0}; CHAINS(ZERO) (void)p;                   \\\n"
    "        for (long i = 0; i < n; i++) { CHAINS(STEP) }       \\\n"
    "        return 12.0 * 2.0 * (WORK);                         \\\n"
    "    }\n"
    "DOT(peak_i8, VNNI, 64)\n"
    "DOT(peak_bf16, BF16, 32)\n"
    "#endif\n"
    "double read_b(long n, const void *p, long size) {\n"
    "    vf a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;\n"
    "    for (long i = 0; i < n; i++)\n"
    "        for (const vf *v = p, *end = v + size / VB / 8 * 8; v < end; v += 8) {\n"
    "            a += v[0]; b += v[1]; c += v[2]; d += v[3]; e += v[4]; f += v[5]; g += v[6]; h += v[7];\n"
    "        }\n"
    "    a += b + c + d + e + f + g + h;\n"
    "    sink = a[0];\n"
    "    return (double)(size / VB / 8 * 8 * VB);\n"
    "}\n";

typedef double work_fn(long n, const void *data);
typedef double read_fn(long n, const void *data, long size);

typedef struct probe {
    void *library;
    char *data; /* MEMORY_B, touched */
    char *dir;
} probe;

static const char *isa_flag(const char *isa) {
    if (!strcmp(isa, "x86-64-v4")) return "-march=x86-64-v4";
    if (!strcmp(isa, "x86-64-v3")) return "-march=x86-64-v3";
    return "-O3";
}

static hone_rc compile(const char *cc, const hone_device *d, const char *source, const char *library, hone_err *err) {
    char width[32];
    snprintf(width, sizeof width, "-DVB=%u", d->vector_b);
    const char *argv[] = {
        cc ? cc : "cc", "-O3", "-ffp-contract=fast", "-w", "-fPIC", "-shared", isa_flag(d->isa), width, "-o", library,
        source,         NULL};
    hn_proc_spec spec = {.argv = argv, .cpu = -1, .wall_s = 60};
    hn_proc_result r;
    hone_rc rc = hn_proc_run(&spec, NULL, &r, err);
    if (rc) return rc;
    if (r.end != HN_PROC_EXITED || r.code)
        rc = hn_fail(err, HONE_E_TOOL, "'%s' cannot compile what measures this machine: %.500s", argv[0], r.err_tail);
    hn_proc_result_free(&r);
    return rc;
}

static hone_rc open_probe(const char *cc, const hone_device *d, probe *p, hone_err *err) {
    char dir[] = "/tmp/hone-device-XXXXXX";
    if (!mkdtemp(dir)) return hn_fail(err, HONE_E_IO, "cannot make a folder in '/tmp'");
    p->dir = strdup(dir);
    char *source = hn_path_join(dir, "probe.c"), *library = hn_path_join(dir, "probe.so");
    hone_rc rc = p->dir && source && library ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_write_file(source, program, sizeof program - 1, err);
    if (!rc) rc = compile(cc, d, source, library, err);
    if (!rc && !(p->library = dlopen(library, RTLD_NOW | RTLD_LOCAL)))
        rc = hn_fail(err, HONE_E_TOOL, "what '%s' made cannot be loaded: %s", cc ? cc : "cc", dlerror());
    if (!rc && posix_memalign((void **)&p->data, 4096, MEMORY_B)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) memset(p->data, 0, MEMORY_B);
    free(source);
    free(library);
    return rc;
}

static void close_probe(probe *p) {
    if (p->library) dlclose(p->library);
    if (p->dir) (void)hn_remove_tree(p->dir, NULL);
    free(p->data);
    free(p->dir);
}

/* --- timing --------------------------------------------------------------------------------------------------------
 */

typedef struct job {
    work_fn *work; /* one of the two */
    read_fn *read;
    const char *data;
    long size, rounds;
    double done; /* work of all rounds */
} job;

static void *run_job(void *arg) {
    job *j = arg;
    j->done = (double)j->rounds * (j->work ? j->work(j->rounds, j->data) : j->read(j->rounds, j->data, j->size));
    return NULL;
}

/* Work per second of n jobs at once, best of the repeats; rounds are doubled first until a repeat takes long enough. */
static double best_rate(job *j, size_t n) {
    double best = 0, took = 0;
    for (j->rounds = 1; j->rounds < 1L << 40; j->rounds *= 2) {
        double from = hn_now_s();
        run_job(j);
        took = hn_now_s() - from;
        if (took >= repeat_s) break;
    }
    for (int r = 0; r < REPEATS; r++) {
        pthread_t thread[MOST_THREADS];
        size_t started = 0;
        double from = hn_now_s(), done = 0;
        for (size_t i = 1; i < n; i++) j[i].rounds = j->rounds;
        while (started + 1 < n && !pthread_create(&thread[started], NULL, run_job, &j[started + 1])) started++;
        run_job(j);
        for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
        for (size_t i = 0; i <= started; i++) done += j[i].done;
        double speed = done / (hn_now_s() - from);
        if (speed > best) best = speed;
    }
    return best;
}

static double work_rate(const probe *p, const char *name, size_t n) {
    void *symbol = dlsym(p->library, name);
    if (!symbol) return 0;
    job j[MOST_THREADS] = {{0}};
    for (size_t i = 0; i < n; i++) {
        memcpy(&j[i].work, &symbol, sizeof symbol);
        j[i].data = p->data;
    }
    return best_rate(j, n);
}

/* Threads read parts of their own. */
static double read_rate(const probe *p, uint64_t size_b, size_t n) {
    void *symbol = dlsym(p->library, "read_b");
    if (!symbol || !size_b) return 0;
    job j[MOST_THREADS] = {{0}};
    for (size_t i = 0; i < n; i++) {
        memcpy(&j[i].read, &symbol, sizeof symbol);
        j[i].size = (long)(size_b / n / 4096 * 4096);
        j[i].data = p->data + i * (size_t)j[i].size;
    }
    return best_rate(j, n);
}

static double copy_rate(const probe *p) {
    double best = 0;
    for (int r = 0; r < REPEATS; r++) {
        double from = hn_now_s();
        memcpy(p->data, p->data + MEMORY_B / 2, MEMORY_B / 2);
        double speed = MEMORY_B / (hn_now_s() - from);
        if (speed > best) best = speed;
    }
    return best;
}

static bool offers(const char *what) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return !strcmp(what, "bf16") ? __builtin_cpu_supports("avx512bf16") : __builtin_cpu_supports("avx512vnni");
#else
    (void)what;
    return false;
#endif
}

hone_rc hone_device_measure(const char *cc, hone_device *out, hone_err *err) {
    hone_device d;
    probe p = {0};
    hone_device_detect(&d);
    hone_rc rc = open_probe(cc, &d, &p, err);
    if (!rc) {
        size_t n = d.n_cores < MOST_THREADS ? d.n_cores : MOST_THREADS;
        d.f32_flops = work_rate(&p, "peak_f32", 1);
        d.f64_flops = work_rate(&p, "peak_f64", 1);
        if (offers("bf16")) d.bf16_flops = work_rate(&p, "peak_bf16", 1);
        if (offers("vnni")) d.i8_ops = work_rate(&p, "peak_i8", 1);
        d.l1_bps = read_rate(&p, d.l1d_b / 2, 1);
        d.l2_bps = read_rate(&p, d.l2_b / 2, 1);
        d.memory_bps = read_rate(&p, MEMORY_B, 1);
        d.copy_bps = copy_rate(&p);
        d.all_f32_flops = work_rate(&p, "peak_f32", n);
        d.all_memory_bps = read_rate(&p, MEMORY_B, n);
        *out = d;
    }
    close_probe(&p);
    return rc;
}
