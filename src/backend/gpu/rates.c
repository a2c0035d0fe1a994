/* backend/gpu/rates.c — small kernels timed on a device (rt/c_rates.h). Times of kernels are the device's own, of
 * copies and launches the host's. A figure is the best of some repeats, each of at least ENOUGH_S where that takes no
 * more than LAUNCHES_MOST launches. */
#include "backend/gpu/rates.h"

#include "backend/gpu/gpu.h"
#include "base/clock.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum { REPEATS = 3, LAUNCHES_MOST = 4096, MOST_B = 128 << 20, COPIED_B = 32 << 20, TURNS = 256, CHAINS = 8 };
static const double enough_s = 0.02;

typedef struct bench {
    const hnd_driver *d;
    hnd_info info;
    void *device, *queue, *module;
    hnd_at a, b;
    int64_t size_b; /* of each buffer */
    char *host;     /* COPIED_B of the host's memory */
    hnd_err err;
} bench;

__asm__(".pushsection .rodata\n"
        ".globl hn_gpu_rates_text\n.hidden hn_gpu_rates_text\n"
        "hn_gpu_rates_text:\n.incbin \"src/backend/gpu/rt/c_rates.h\"\n.byte 0\n"
        ".popsection\n");
extern const char hn_gpu_rates_text[];

static bool is_cuda(const bench *x) { return !strcmp(x->d->language, "cuda"); }
static bool is_cpu(const bench *x) { return (x->info.has & HND_IS_CPU) != 0; }

static int load(bench *x) {
    hn_str text = {0};
    if (is_cuda(x))
        hn_cuda_add_runtime(&text, "");
    else
        hn_opencl_add_runtime(&text, "");
    hn_str_add(&text, hn_gpu_rates_text);
    const hnd_source s = {
        .text = text.text, .text_b = text.n, .options = is_cuda(x) ? "--fmad=true" : "-cl-std=CL1.2 -w"};
    int rc =
        text.failed ? hnd_fail(&x->err, HND_NOMEM, "out of memory") : x->d->load(x->device, &s, &x->module, &x->err);
    hn_str_free(&text);
    return rc;
}

/* Buffers far larger than the device's cache, as far as there is room. */
static int take_memory(bench *x) {
    int64_t most = (int64_t)(x->info.alloc_most_b < x->info.memory_b / 4 ? x->info.alloc_most_b : x->info.memory_b / 4);
    x->size_b = is_cpu(x) ? MOST_B : 4 * (int64_t)MOST_B;
    while (x->size_b > most && x->size_b > 1 << 20) x->size_b /= 2;
    if (!(x->host = calloc(1, COPIED_B))) return hnd_fail(&x->err, HND_NOMEM, "out of memory");
    memset(x->host, 1, COPIED_B);
    if (x->d->alloc(x->device, x->size_b, &x->a, &x->err) || x->d->alloc(x->device, x->size_b, &x->b, &x->err) ||
        x->d->fill(x->device, x->queue, x->a, 1, x->size_b, &x->err))
        return x->err.rc;
    return x->d->fill(x->device, x->queue, x->b, 1, x->size_b, &x->err);
}

/* Seconds of so many launches, on the device's clock. */
static int launches(bench *x, const hnd_launch *l, int n, double *out_s) {
    void *from = NULL, *to = NULL;
    int rc = x->d->mark(x->device, x->queue, &from, &x->err);
    for (int i = 0; i < n && !rc; i++) rc = x->d->launch(x->device, x->queue, l, &x->err);
    if (!rc) rc = x->d->mark(x->device, x->queue, &to, &x->err);
    if (!rc) rc = x->d->sync(x->device, x->queue, &x->err);
    if (!rc) rc = x->d->between(x->device, from, to, out_s, &x->err);
    x->d->drop_mark(x->device, from);
    x->d->drop_mark(x->device, to);
    return rc;
}

/* Seconds of one launch of `name` on so many blocks; 0 on a device whose clock stands still. */
static int time_kernel(bench *x, const char *name, int64_t blocks, uint32_t threads, int64_t count, double *out_s) {
    hnd_arg arg[] = {{(int64_t)x->a, 1}, {(int64_t)x->b, 1}, {count, 0}};
    hnd_launch l = {.grid = blocks, .threads = {threads, 1, 1}, .arg = arg, .n_arg = 3};
    double s = 0, best_s = 0;
    int n = 1, rc = x->d->find(x->device, x->module, name, &l.kernel, &x->err);
    for (; !rc && !(rc = launches(x, &l, n, &s)) && s < enough_s && n < LAUNCHES_MOST; n *= 2) continue;
    for (int i = 0; i < REPEATS && !rc; i++) {
        rc = launches(x, &l, n, &s);
        if (!rc && s > 0 && (best_s == 0 || s < best_s)) best_s = s;
    }
    if (!rc) *out_s = best_s / n;
    return rc;
}

static double per(double amount, double s) { return s > 0 ? amount / s : 0; }

static int measure_memory(bench *x, hone_place_rates *r) {
    int64_t words = x->size_b / 16, blocks = words / 256 / (is_cpu(x) ? 1 : 4);
    double read_s = 0, copy_s = 0;
    if (time_kernel(x, "hnq_read", blocks, 256, words, &read_s) ||
        time_kernel(x, "hnq_copy", blocks, 256, words, &copy_s))
        return x->err.rc;
    r->read_bps = per((double)x->size_b, read_s);
    r->copy_bps = per(2 * (double)x->size_b, copy_s);
    return 0;
}

/* The best of several on the host's clock; of large pieces and of four bytes. */
static int measure_copies(bench *x, hone_place_rates *r) {
    const int64_t large_b = x->size_b < COPIED_B ? x->size_b : COPIED_B, piece[] = {large_b, 4};
    double best_s[2][2] = {{0, 0}, {0, 0}};
    for (int i = 0; i < 2 * REPEATS; i++)
        for (int k = 0; k < 2; k++)
            for (int back = 0; back < 2; back++) {
                double start_s = hn_now_s(), s;
                int rc = back ? x->d->get(x->device, x->queue, x->host, x->a, piece[k], &x->err)
                              : x->d->put(x->device, x->queue, x->a, x->host, piece[k], &x->err);
                if (rc) return rc;
                s = hn_now_s() - start_s;
                if (s > 0 && (best_s[k][back] == 0 || s < best_s[k][back])) best_s[k][back] = s;
            }
    r->put_bps = per((double)large_b, best_s[0][0]), r->get_bps = per((double)large_b, best_s[0][1]);
    r->put_s = best_s[1][0], r->get_s = best_s[1][1];
    return 0;
}

/* Seconds of one of n launches of nothing, the host's last wait included. */
static int time_launches(bench *x, const hnd_launch *l, int n, double *out_s) {
    for (int k = 0; k < 2 * REPEATS; k++) {
        double start_s = hn_now_s(), s;
        for (int i = 0; i < n; i++)
            if (x->d->launch(x->device, x->queue, l, &x->err)) return x->err.rc;
        if (x->d->sync(x->device, x->queue, &x->err)) return x->err.rc;
        s = (hn_now_s() - start_s) / n;
        if (s > 0 && (k == 0 || s < *out_s)) *out_s = s;
    }
    return 0;
}

static int measure_launches(bench *x, hone_place_rates *r) {
    hnd_arg arg[] = {{(int64_t)x->a, 1}, {(int64_t)x->b, 1}, {1, 0}};
    hnd_launch l = {.grid = 1, .threads = {64, 1, 1}, .arg = arg, .n_arg = 3};
    int rc = x->d->find(x->device, x->module, "hnq_none", &l.kernel, &x->err);
    if (!rc) rc = time_launches(x, &l, 200, &r->launch_s);
    return rc ? rc : time_launches(x, &l, 1, &r->wait_s);
}

/* Halves: a thread's part of a product of 16 x 8 x 16 is 128 operations, and of a vector of 16 as many as of floats. */
static int measure_arithmetic(bench *x, hone_place_rates *r) {
    const int64_t blocks = 8 * (int64_t)(x->info.units ? x->info.units : 1);
    const double threads = 256 * (double)blocks, turns = (double)TURNS * CHAINS;
    double f32_s = 0, f16_s = 0;
    if (time_kernel(x, "hnq_f32", blocks, 256, TURNS, &f32_s)) return x->err.rc;
    r->f32_flops = per(threads * turns * 2 * (is_cuda(x) ? 1 : 16), f32_s);
    int rc = time_kernel(x, "hnq_f16", blocks, 256, TURNS, &f16_s);
    if (rc && rc != HND_BUILD) return rc;
    if (!rc) r->f16_flops = per(threads * turns * (is_cuda(x) ? 128 : 32), f16_s);
    x->err = (hnd_err){0, ""};
    return 0;
}

int hn_rates_measure(const hnd_driver *d, int index, hone_place_rates *out, hnd_err *err) {
    bench x = {.d = d};
    hone_place_rates r = {0};
    int rc = d->describe(index, &x.info, &x.err);
    if (!rc) rc = d->open(index, &x.device, &x.err);
    if (!rc) rc = d->queue(x.device, &x.queue, &x.err);
    if (!rc) rc = load(&x);
    if (!rc) rc = take_memory(&x);
    if (!rc) rc = measure_memory(&x, &r);
    if (!rc) rc = measure_copies(&x, &r);
    if (!rc) rc = measure_launches(&x, &r);
    if (!rc) rc = measure_arithmetic(&x, &r);
    if (x.queue) d->drop_queue(x.device, x.queue);
    if (x.device) d->free(x.device, x.a), d->free(x.device, x.b);
    d->close(x.device);
    free(x.host);
    if (!rc)
        *out = r;
    else
        *err = x.err;
    return rc;
}
