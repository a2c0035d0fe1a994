/* Functions of floats (src/backend/cpu/rt/math_*.h) for every dialect that this machine runs, against libm in double:
 * 2^20 floats of all exponents and what lies around the places where a formula gives way to another; with HONE_LONG
 * every float there is. A whole vector and a single float must give the same bits. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/nest_c.h"
#include "base/fs.h"
#include "base/str.h"
#include "proc/proc.h"
#include "tap.h"

#include <hone/device.h>

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

enum { CHUNK = 4096, DIALECTS_MAX = 4, THREADS_MAX = 8 };
typedef struct judged { /* as in math_judge.h */
    double worst;
    float worst_at, wrong_at, other_at;
    uint64_t n_wrong, n_other;
} judged;
typedef struct lanes {
    const char *dialect;
    void *so;
    const char *(*name)(unsigned k);
    void (*exact)(unsigned k, const float *x, double *y);
    void (*judge)(unsigned k, const float *x, const double *exact, judged *j);
    void (*pow)(const float *x, const float *y, judged *j);
    uint64_t (*halves)(const uint16_t *bits, const float *x);
    uint64_t (*parts)(void), (*remainders)(void);
    double (*wide)(unsigned k, const double *x, uint64_t *n_wrong, double *worst_at);
    const char *(*wide_name)(unsigned k);
} lanes;
static lanes under_test[DIALECTS_MAX];
static int n_under_test;

/* Most units in the last place; exact forms: 2. */
static const struct {
    const char *name;
    double units;
} bounds[] = {{"rsqrt", 1.5},   {"exp", 1.2},     {"expm1", 1.75},  {"sigmoid", 2},
              {"tanh", 2},      {"log", 1},       {"log1p", 1.75},  {"sin", 1.75},
              {"cos", 1.75},    {"erf", 1.75},    {"quick_exp", 5}, {"quick_sigmoid", 6},
              {"quick_log", 6}, {"quick_erf", 8}, {"quick_sin", 2}, {"quick_cos", 2}};

/* -- inputs */
static float of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2048 of every sign and exponent. */
static uint32_t sampled(uint64_t i) {
    uint32_t j = i & 2047, mantissa = j == 0 ? 0 : j == 1 ? 0x7fffff : j == 2 ? 1 : (j * 0x9e3779b1u >> 9) & 0x7fffff;
    return (uint32_t)(i >> 11) << 23 | mantissa;
}
static const float seams[] = {0.9f,       8192.0f,    0.375f,    3.95f, 0x1.6a09e6p-1f, 0x1.6a09e6p0f, 0x1p26f,
                              0x1p25f,    0x1p-26f,   88.72284f, 89.0f, 103.972f,       104.0f,        86.6f,
                              87.33655f,  18.0f,      9.011f,    10.0f, 1.0f,           0.3465736f,    0.6931472f,
                              0.1732868f, 0.5198604f, 40.0f,     105.0f};
enum { AROUND = 64, N_SEAMS = sizeof seams / sizeof *seams * 2 * 2 * AROUND, N_TURNS = 1 << 15 };
static const uint64_t n_sampled = (1 << 20) + (N_SEAMS + CHUNK - 1) / CHUNK * CHUNK + N_TURNS;

/* Floats about a seam; the floats nearest to multiples of pi/2. */
static uint32_t special(uint64_t i) {
    uint64_t per = 2 * AROUND;
    if (i < N_SEAMS)
        return (bits_of(seams[i / per / 2]) + (uint32_t)(i % per) - AROUND) ^ (i / per % 2 ? 0x80000000 : 0);
    uint64_t n = i & (N_TURNS - 1);
    n = n < N_TURNS / 2 ? n : n * n / 7;
    return bits_of((float)((double)n * 0x1.921fb54442d18p0)) ^ (n & 1 ? 0x80000000 : 0);
}
static void inputs(uint64_t chunk, bool every, float *x) {
    for (int k = 0; k < CHUNK; k++) {
        uint64_t i = chunk * CHUNK + (uint64_t)k;
        x[k] = of_bits(every ? (uint32_t)i : i < 1 << 20 ? sampled(i) : special(i - (1 << 20)));
    }
}

/* -- one function, all dialects */
typedef struct work {
    unsigned k;
    bool every;
    uint64_t next, n;
    judged j[THREADS_MAX][DIALECTS_MAX];
} work;
typedef struct worker {
    work *w;
    int self;
} worker;

static void *judge_chunks(void *arg) {
    worker *me = arg;
    work *w = me->w;
    float x[CHUNK];
    double exact[CHUNK];
    for (uint64_t chunk; (chunk = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED)) < w->n;) {
        inputs(chunk, w->every, x);
        under_test[0].exact(w->k, x, exact);
        for (int d = 0; d < n_under_test; d++) under_test[d].judge(w->k, x, exact, &w->j[me->self][d]);
    }
    return NULL;
}

static void merge(judged *to, const judged *from) {
    if (from->worst > to->worst) to->worst = from->worst, to->worst_at = from->worst_at;
    if (from->n_wrong) to->wrong_at = from->wrong_at;
    if (from->n_other) to->other_at = from->other_at;
    to->n_wrong += from->n_wrong;
    to->n_other += from->n_other;
}

static double bound_of(const char *name) {
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++)
        if (!strcmp(bounds[k].name, name)) return bounds[k].units;
    return 0;
}

static void function(unsigned k, bool every) {
    work w = {.k = k, .every = every, .n = every ? (1ull << 32) / CHUNK : n_sampled / CHUNK};
    pthread_t thread[THREADS_MAX];
    worker me[THREADS_MAX];
    long cores = every ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    int n = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (int)cores, started = 1;
    for (int t = 0; t < n; t++) me[t] = (worker){&w, t};
    while (started < n && !pthread_create(&thread[started], NULL, judge_chunks, &me[started])) started++;
    judge_chunks(&me[0]);
    for (int t = 1; t < started; t++) pthread_join(thread[t], NULL);
    for (int d = 0; d < n_under_test; d++) {
        const char *dialect = under_test[d].dialect, *name = under_test[0].name(k);
        judged j = {0};
        for (int t = 0; t < started; t++) merge(&j, &w.j[t][d]);
        ok(j.worst <= bound_of(name), "%s/%s_%.2f_units_at_%a", dialect, name, j.worst, j.worst_at);
        ok(!j.n_wrong, "%s/%s_ends (%llu wrong, one at %a)", dialect, name, (unsigned long long)j.n_wrong, j.wrong_at);
        ok(!j.n_other, "%s/%s_vector_and_float_agree (%llu do not, one is %a)", dialect, name,
           (unsigned long long)j.n_other, j.other_at);
    }
}

/* -- f16 and bf16: every one of them, and floats as above, those between two halves among them */
static float between(uint64_t i) { /* a quarter, the half, and three quarters of the way, and next to it */
    static const uint32_t f16[] = {0x0fff, 0x1000, 0x1001, 0x0000}, bf16[] = {0x7fff, 0x8000, 0x8001, 0x0000};
    uint32_t h = (uint32_t)(i >> 3);
    return of_bits(i & 4 ? (h << 16) + bf16[i & 3]
                         : ((h & 0x8000) << 16) + ((h & 0x7fff) << 13) + 0x38000000 + f16[i & 3]);
}

static void halves(const lanes *l) {
    uint64_t n_wrong = 0;
    uint16_t bits[CHUNK];
    float x[CHUNK];
    for (uint64_t chunk = 0; chunk < n_sampled / CHUNK; chunk++) {
        for (int k = 0; k < CHUNK; k++) bits[k] = (uint16_t)(chunk * CHUNK + (uint64_t)k);
        inputs(chunk, false, x);
        n_wrong += l->halves(bits, x);
    }
    for (uint64_t chunk = 0; chunk < (1 << 19) / CHUNK; chunk++) {
        for (int k = 0; k < CHUNK; k++) x[k] = between(chunk * CHUNK + (uint64_t)k);
        n_wrong += l->halves(bits, x);
    }
    ok(!n_wrong, "%s/halves_are_converted (%llu wrong)", l->dialect, (unsigned long long)n_wrong);
}

/* -- f64: 2^20 of all exponents and of those near 1, where most is asked for, and what lies around the seams */
static void wide(const lanes *l, unsigned k) {
    static const double edge[] = {0,
                                  -0.0,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0x1p-1022,
                                  0x1p-1074,
                                  709.78271289338397,
                                  709.8,
                                  0.3,
                                  -745.13,
                                  -745.2,
                                  0.5,
                                  -0.5,
                                  20,
                                  40,
                                  0x1.6a09e667f3bcdp-1,
                                  1,
                                  -1,
                                  36.7,
                                  -708.4,
                                  0x1p1023,
                                  0x1p-54,
                                  -0x1p-54,
                                  0.34657359027997264};
    enum { N_EDGE = sizeof edge / sizeof *edge };
    double x[CHUNK], worst = 0, worst_at = 0;
    uint64_t n_wrong = 0, state = 0x9e3779b97f4a7c15u;
    for (int chunk = 0; chunk < 256; chunk++) {
        double at = 0;
        for (int i = 0; i < CHUNK; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint64_t bits = state ^ state >> 29;
            if (chunk & 1) bits = (bits & 0x800fffffffffffffu) | (uint64_t)(1023 - 20 + (int)(state >> 40) % 31) << 52;
            memcpy(&x[i], &bits, sizeof x[i]);
        }
        for (int i = 0; chunk == 0 && i < 64 * N_EDGE; i++) {
            uint64_t bits;
            memcpy(&bits, &edge[i / 64], sizeof bits);
            bits += (uint64_t)(i % 64) - 32;
            memcpy(&x[i], &bits, sizeof x[i]);
        }
        double by = l->wide(k, x, &n_wrong, &at);
        if (by > worst) worst = by, worst_at = at;
    }
    ok(worst <= 2, "%s/%s_f64_%.2f_units_at_%a", l->dialect, l->wide_name(k), worst, worst_at);
    ok(!n_wrong, "%s/%s_f64_ends_and_lanes (%llu wrong)", l->dialect, l->wide_name(k), (unsigned long long)n_wrong);
}

/* -- pow: every pair of the edges, any floats, results of all sizes, negative numbers to whole and half powers */
static const float edges[] = {0.0f,           1.0f,           2.0f,
                              3.0f,           0.5f,           1.5f,
                              2.5f,           INFINITY,       NAN,
                              0x1p-149f,      0x1p-126f,      0x1.fffffep127f,
                              0x1p22f + 0.5f, 0x1p23f - 0.5f, 0x1p23f + 1.0f,
                              0x1p24f - 1.0f, 0x1p24f,        0x1p25f,
                              0x1p31f,        0x1p64f,        0x1p-64f,
                              0x1.fffffep-1f, 0x1.000002p0f,  126.0f,
                              127.0f,         128.0f,         149.0f,
                              150.0f,         151.0f};
enum { N_EDGES = 2 * sizeof edges / sizeof *edges };
static float edge_of(int i) { return i % 2 ? -edges[i / 2] : edges[i / 2]; }

static void pow_inputs(uint64_t chunk, float *x, float *y) {
    uint64_t state = chunk * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < CHUNK; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t low = (uint32_t)(state ^ state >> 29), high = (uint32_t)(state >> 32);
        double t = (double)high * 0x1p-32 * 310 - 155;
        x[i] = of_bits(chunk % 4 == 1 ? low & 0x7fffffff : chunk % 4 == 2 ? (low & 0xffffff) | 0x3f000000 : low);
        y[i] = of_bits(high);
        if (chunk % 4 == 1 || chunk % 4 == 2) y[i] = (float)(t / log2((double)x[i]));
        if (chunk % 4 == 3) y[i] = (float)((int)(high % 401) - 200) / (high >> 20 & 1 ? 1 : 2);
        if (chunk == 0 && i < N_EDGES * N_EDGES) x[i] = edge_of(i / N_EDGES), y[i] = edge_of(i % N_EDGES);
    }
}

static void powers(const lanes *l, bool many) {
    float x[CHUNK], y[CHUNK];
    judged j = {0};
    for (uint64_t chunk = 0; chunk < (many ? 1 << 14 : 1 << 8); chunk++) {
        pow_inputs(chunk, x, y);
        l->pow(x, y, &j);
    }
    ok(j.worst <= 1.25, "%s/pow_%.2f_units_at_%a", l->dialect, j.worst, j.worst_at);
    ok(!j.n_wrong, "%s/pow_ends (%llu wrong, one at %a)", l->dialect, (unsigned long long)j.n_wrong, j.wrong_at);
    ok(!j.n_other, "%s/pow_vector_and_float_agree (%llu do not, one is %a)", l->dialect, (unsigned long long)j.n_other,
       j.other_at);
}

/* -- emission */
static void emitted(const char *dialect, bool relaxed, const char *wanted) {
    static const char text[] = "ir 1\ninput %0 : f32[37] \"x\"\n%1 = exp %0\n%2 = erf %1\noutput %2 \"y\"\n";
    hn_arena a = {0};
    hn_graph *g = NULL;
    hn_kernel_code code = {0};
    hone_err err;
    const hn_dialect *d = hn_dialect_named(dialect);
    const hn_emit_how how = {.dialect = d, .machine = hn_machine_of(d, &(hone_device){.isa = ""}), .relaxed = relaxed};
    bool fine = hn_parse(text, sizeof text - 1, "emitted", &g, &err) == HONE_OK &&
                hn_emit_kernel(g, 0, "map", "k", &how, &a, &code, &err) == HONE_OK;
    ok(fine && strstr(code.text, wanted), "emission/%s_%s_has_%s", dialect, relaxed ? "relaxed" : "exact", wanted);
    hn_graph_free(g);
    hn_arena_free(&a);
}

/* -- building */
/* As for a dialect that fuses: elsewhere the library does. */
static void remainders_text(hn_str *out, int width) {
    hn_str call = {0};
    hn_arena arena = {0};
    hn_nest nest = {.a = &arena}; /* holds the names of what is written once */
    hn_c c = {.n = &nest, .width = width, .fma = true, .folds = out};
    hn_c_remainder(&c, &call, HN_OP_MOD, HONE_F32, "a", "b");
    hn_c_remainder(&c, &call, HN_OP_MOD, HONE_F64, "a", "b");
    hn_arena_free(&arena);
    hn_str_free(&call);
}

static bool source_of(const hn_dialect *d, hn_str *out) {
    char *judge = NULL;
    size_t n = 0;
    hone_err err;
    hn_str path = {0};
    int width = d->vector_b / 4 > 1 ? d->vector_b / 4 : 2; /* what scalar code calls is checked beside any vector */
    hn_str_addf(&path, "%s/tests/unit/backend/math_judge.h", getenv("HONE_ROOT") ? getenv("HONE_ROOT") : ".");
    bool fine = hn_read_file(path.text, &judge, &n, &err) == HONE_OK;
    hn_str_add(out, "#include <stdbool.h>\n");
    hn_cpu_add_runtime(out, "convert"); /* with base */
    hn_c_prelude(out, 1, 1);            /* widths in turn, as several kernels of one file have them */
    hn_c_prelude(out, width, UINT32_MAX);
    hn_c_prelude(out, 1, UINT32_MAX);
    remainders_text(out, width);
    hn_str_addf(out, "#define WIDTH %d\n", width);
    if (fine) hn_str_add_n(out, judge, n);
    free(judge);
    hn_str_free(&path);
    return fine;
}

static void *compile(const char *dir, const hn_dialect *d) {
    char c_path[300], so_path[300];
    const char *argv[40] = {getenv("CC_UNDER_TEST") ? getenv("CC_UNDER_TEST") : "cc",
                            "-O2",
                            "-w",
                            "-shared",
                            "-fPIC",
                            "-o",
                            so_path,
                            c_path};
    int n = 8;
    hone_err err;
    hn_proc_result r;
    hn_str source = {0};
    snprintf(c_path, sizeof c_path, "%s/%s.c", dir, d->name);
    snprintf(so_path, sizeof so_path, "%s/%s.so", dir, d->name);
    for (int k = 0; d->flags[k]; k++) argv[n++] = d->flags[k];
    argv[n++] = "-lm";
    bool fine = source_of(d, &source) && hn_write_file(c_path, source.text, source.n, &err) == HONE_OK;
    hn_str_free(&source);
    if (!fine || hn_proc_run(&(hn_proc_spec){.argv = argv, .cpu = -1}, NULL, &r, &err) != HONE_OK) return NULL;
    fine = r.end == HN_PROC_EXITED && r.code == 0;
    if (!fine) printf("# %s\n", r.err_tail);
    hn_proc_result_free(&r);
    return fine ? dlopen(so_path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void add(const char *dir, const char *name) {
    const hn_dialect *d = hn_dialect_named(name);
    lanes *l = &under_test[n_under_test];
    *l = (lanes){.dialect = d->name, .so = compile(dir, d)};
    if (!ok(l->so, "%s/compiles", d->name)) return;
    l->name = (const char *(*)(unsigned))(uintptr_t)dlsym(l->so, "math_name");
    l->exact = (void (*)(unsigned, const float *, double *))(uintptr_t)dlsym(l->so, "math_exact");
    l->judge = (void (*)(unsigned, const float *, const double *, judged *))(uintptr_t)dlsym(l->so, "math_judge");
    l->pow = (void (*)(const float *, const float *, judged *))(uintptr_t)dlsym(l->so, "math_pow");
    l->halves = (uint64_t(*)(const uint16_t *, const float *))(uintptr_t)dlsym(l->so, "math_halves");
    l->parts = (uint64_t(*)(void))(uintptr_t)dlsym(l->so, "math_parts");
    l->remainders = (uint64_t(*)(void))(uintptr_t)dlsym(l->so, "math_remainders");
    l->wide = (double (*)(unsigned, const double *, uint64_t *, double *))(uintptr_t)dlsym(l->so, "math_wide");
    l->wide_name = (const char *(*)(unsigned))(uintptr_t)dlsym(l->so, "math_wide_name");
    n_under_test++;
}

int main(int argc, char **argv) { /* with an argument: that function alone */
    char dir[] = "/tmp/hone-math-XXXXXX";
    hone_err err;
    if (!ok(mkdtemp(dir), "math/folder")) return done_testing();
    const char *native = hn_dialect_named("native")->name;
    add(dir, "generic");
    if (strcmp(native, "generic") != 0) add(dir, native);
    if (!strncmp(native, "x86-64-v4", 9)) add(dir, "x86-64-v3");
    emitted("x86-64-v3", false, "= hnk_erf_f32_x8(");
    emitted("x86-64-v3", true, "= hnk_quick_erf_f32_x8(");
    emitted("x86-64-v3", false, "= hnk_exp_f32_x1(");
    emitted("scalar", true, "= hnk_quick_exp_f32_x1(");
    for (int d = 0; d < n_under_test && argc < 2; d++) {
        uint64_t n_other = under_test[d].parts();
        ok(!n_other, "%s/parts_are_quotients (%llu are not)", under_test[d].dialect, (unsigned long long)n_other);
        n_other = under_test[d].remainders();
        ok(!n_other, "%s/remainders_are_those_of_libm (%llu are not)", under_test[d].dialect,
           (unsigned long long)n_other);
        halves(&under_test[d]);
        for (unsigned k = 0; under_test[d].wide_name(k); k++) wide(&under_test[d], k);
    }
    for (int d = 0; d < n_under_test; d++)
        if (argc < 2 || !strcmp(argv[1], "pow")) powers(&under_test[d], getenv("HONE_LONG") != NULL);
    for (unsigned k = 0; n_under_test && under_test[0].name(k); k++)
        if (argc < 2 || !strcmp(argv[1], under_test[0].name(k))) function(k, getenv("HONE_LONG") != NULL);
    for (int d = 0; d < n_under_test; d++) dlclose(under_test[d].so);
    hn_remove_tree(dir, &err);
    return done_testing();
}
