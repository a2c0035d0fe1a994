/* gemm.c — a product with a constant matrix, compiled by hone, beside oneDNN and beside what the core does at most.
 *
 * usage: gemm M N K SECONDS MODEL.so
 * One thread. The three take turns, each for about a millisecond and a half or one run; a line of JSON a turn: seconds
 * of one product (hone, oneDNN; 0 where it was not built in), floating-point operations per second of a chain of
 * multiply-adds out of registers, and bytes per second of reading N * K floats, in one walk or in four side by side,
 * whichever is faster. Results are compared first. Operands lie in large pages where the system gives them when asked
 * to, as what hone allocates itself does; with SMALL_PAGES in the environment they do not.
 */
#include "model_side.h"

#include <math.h>
#include <sys/mman.h>
#ifdef WITH_DNNL
#include <dnnl.h>
#endif

#ifdef __AVX512F__
enum { VB = 64 };
#elif defined(__AVX__)
enum { VB = 32 };
#else
enum { VB = 16 };
#endif
typedef float vf __attribute__((vector_size(VB)));

static volatile float sink;

static float *floats(size_t n) {
    const size_t page_b = 2 << 20, size_b = (n * sizeof(float) / page_b + 1) * page_b;
    float *p = aligned_alloc(page_b, size_b);
    if (!p) quit("out of memory");
    madvise(p, size_b, getenv("SMALL_PAGES") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    for (size_t i = 0; i < n; i++) p[i] = (float)((i * 2654435761u >> 8) % 1024) / 1024 - 0.5f;
    return p;
}

/* -- what the core does at most */
static double chain(long n) {
    vf m = (vf){0} + 0.999f, c = (vf){0} + 1e-3f;
    vf a0 = c, a1 = c + 1, a2 = c + 2, a3 = c + 3, a4 = c + 4, a5 = c + 5, a6 = c + 6, a7 = c + 7, a8 = c + 8;
    vf a9 = c + 9, a10 = c + 10, a11 = c + 11; /* all different: equal ones would be computed once */
    double start_s = now_s();
    for (long i = 0; i < n; i++) {
        a0 = a0 * m + c, a1 = a1 * m + c, a2 = a2 * m + c, a3 = a3 * m + c;
        a4 = a4 * m + c, a5 = a5 * m + c, a6 = a6 * m + c, a7 = a7 * m + c;
        a8 = a8 * m + c, a9 = a9 * m + c, a10 = a10 * m + c, a11 = a11 * m + c;
    }
    double took_s = now_s() - start_s;
    a0 += a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
    sink = a0[0];
    return (double)n * 12 * 2 * (VB / 4) / took_s;
}

static double reading(const float *p, size_t n) {
    vf a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    const vf *v = (const vf *)p, *end = v + n * sizeof *p / VB / 8 * 8;
    double start_s = now_s();
    for (; v < end; v += 8) {
        a += v[0], b += v[1], c += v[2], d += v[3];
        e += v[4], f += v[5], g += v[6], h += v[7];
    }
    double took_s = now_s() - start_s;
    a += b + c + d + e + f + g + h;
    sink = a[0];
    return (double)(n * sizeof *p) / took_s;
}

static double reading_streams(const float *p, size_t n) {
    vf a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    size_t each = n * sizeof *p / VB / 8 * 2; /* vectors */
    const vf *v = (const vf *)p, *w = v + each, *x = w + each, *y = x + each;
    double start_s = now_s();
    for (size_t k = 0; k < each; k += 2) {
        a += v[k], b += w[k], c += x[k], d += y[k];
        e += v[k + 1], f += w[k + 1], g += x[k + 1], h += y[k + 1];
    }
    double took_s = now_s() - start_s;
    a += b + c + d + e + f + g + h;
    sink = a[0];
    return (double)(4 * each * VB) / took_s;
}

/* -- hone */
typedef struct ours {
    const hone_model *model;
    hone_model_instance *instance;
    hone_model_tensor in, out;
} ours;

static void open_ours(ours *o, const char *path, long m, long k, float *x) {
    o->model = open_model(path, 1, &o->instance);
    o->in = (hone_model_tensor){.dtype = o->model->input[0].dtype, .rank = 2, .dim = {m, k}, .data = x};
}

static void run_ours(ours *o) {
    o->out = (hone_model_tensor){0};
    if (o->model->run(o->instance, &o->in, 1, &o->out, 1)) quit(o->model->error(o->instance));
}

/* -- oneDNN, which lays the constant matrix out as it likes */
#ifdef WITH_DNNL
typedef struct theirs {
    dnnl_stream_t stream;
    dnnl_primitive_t product;
    dnnl_exec_arg_t arg[3];
} theirs;

static void good(dnnl_status_t status) {
    if (status != dnnl_success) quit("oneDNN refuses");
}

static void open_theirs(theirs *t, long m, long n, long k, float *x, float *w, float *y) {
    dnnl_engine_t engine;
    dnnl_dims_t dx = {m, k}, dw = {k, n}, dy = {m, n};
    dnnl_memory_desc_t mx, mw, plain, my;
    dnnl_matmul_desc_t what;
    dnnl_primitive_desc_t how, move;
    dnnl_primitive_t mover;
    dnnl_memory_t bx, bw, from, by;
    good(dnnl_engine_create(&engine, dnnl_cpu, 0));
    good(dnnl_stream_create(&t->stream, engine, dnnl_stream_default_flags));
    good(dnnl_memory_desc_init_by_tag(&mx, 2, dx, dnnl_f32, dnnl_ab));
    good(dnnl_memory_desc_init_by_tag(&mw, 2, dw, dnnl_f32, dnnl_format_tag_any));
    good(dnnl_memory_desc_init_by_tag(&plain, 2, dw, dnnl_f32, dnnl_ab));
    good(dnnl_memory_desc_init_by_tag(&my, 2, dy, dnnl_f32, dnnl_ab));
    good(dnnl_matmul_desc_init(&what, &mx, &mw, NULL, &my));
    good(dnnl_primitive_desc_create(&how, &what, NULL, engine, NULL));
    const dnnl_memory_desc_t *packed = dnnl_primitive_desc_query_md(how, dnnl_query_weights_md, 0);
    good(dnnl_primitive_create(&t->product, how));
    good(dnnl_memory_create(&bx, &mx, engine, x));
    good(dnnl_memory_create(&from, &plain, engine, w));
    good(dnnl_memory_create(&bw, packed, engine, DNNL_MEMORY_ALLOCATE));
    good(dnnl_memory_create(&by, &my, engine, y));
    good(dnnl_reorder_primitive_desc_create(&move, &plain, engine, packed, engine, NULL));
    good(dnnl_primitive_create(&mover, move));
    dnnl_exec_arg_t moved[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, bw}};
    good(dnnl_primitive_execute(mover, t->stream, 2, moved));
    good(dnnl_stream_wait(t->stream));
    t->arg[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, bx};
    t->arg[1] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, bw};
    t->arg[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, by};
}

static void run_theirs(theirs *t) {
    good(dnnl_primitive_execute(t->product, t->stream, 3, t->arg));
    good(dnnl_stream_wait(t->stream));
}
#endif

/* The weights of the model's file are those of floats(): both sides compute the same. */
static void compare(const float *got, const float *want, size_t n, long k) {
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-6f * (float)k)) quit("the results differ");
}

int main(int argc, char **argv) {
    if (argc != 6) quit("usage: gemm M N K SECONDS MODEL.so");
    long m = atol(argv[1]), n = atol(argv[2]), k = atol(argv[3]), repeats = 1, links = 1000;
    float *x = floats((size_t)(m * k)), *w = floats((size_t)(n * k));
    double seconds = atof(argv[4]), flops = 2.0 * (double)m * (double)n * (double)k;
    static ours o;
    open_ours(&o, argv[5], m, k, x);
    run_ours(&o);
#ifdef WITH_DNNL
    static theirs t;
    float *y = floats((size_t)(m * n));
    open_theirs(&t, m, n, k, x, w, y);
    run_theirs(&t);
    compare(o.out.data, y, (size_t)(m * n), k);
#else
    (void)compare;
#endif
    for (int i = 0; i < 3; i++) run_ours(&o);
    while ((double)repeats * flops < 1e8) repeats *= 2;
    while ((double)links * 24 * (VB / 4) < 3e8) links *= 2;
    for (double start_s = now_s(); now_s() - start_s < seconds;) {
        double hone_s = now_s(), dnnl_s = 0;
        for (long r = 0; r < repeats; r++) run_ours(&o);
        hone_s = (now_s() - hone_s) / (double)repeats;
#ifdef WITH_DNNL
        dnnl_s = now_s();
        for (long r = 0; r < repeats; r++) run_theirs(&t);
        dnnl_s = (now_s() - dnnl_s) / (double)repeats;
#endif
        printf("{\"hone_s\": %.9f, \"dnnl_s\": %.9f, \"flops\": %.6g, \"bytes\": %.6g}\n", hone_s, dnnl_s, chain(links),
               fmax(reading(w, (size_t)(n * k)), reading_streams(w, (size_t)(n * k))));
    }
    o.model->free(o.instance);
    return 0;
}
