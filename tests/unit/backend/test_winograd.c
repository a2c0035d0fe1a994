/* Convolutions by fewer multiplications (backend/cpu/winograd.c), as C for vectors of 4, 8 and 16 floats, against the
 * interpreter, which reads the weights: random sizes, paddings, channels that are no whole vectors, batches and
 * epilogues; and for several splits of the work items, which must agree bit by bit. A property: the seed is printed.
 * HONE_LONG: many more cases. */
#include "backend/cpu/cpu.h"
#include "base/fs.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/interp.h"
#include "ir/winograd.h"
#include "proc/proc.h"
#include "tap.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void kernel_fn(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch);

typedef struct sizes {
    const char *name;
    int64_t images, height, width, channels, results, tile;
    int64_t low[2], high[2];
    const char *epilogue; /* of %y, [n, h, w, k]: makes %r of it; may use %bias [k], %other as %y, %limit [] */
    const char *schedule;
} sizes;

#define BIAS "%b = broadcast %bias {shape = [$], map = [3]}\n%s = add %y, %b\n"
#define RELU "%zero = const {value = f32[] (0x0p+0)}\n%z = broadcast %zero {shape = [$], map = []}\n"
static const sizes fixed[] = {
    {"bare", 1, 9, 7, 32, 32, 4, {1, 1}, {1, 1}, "%r = add %y, %other\n", NULL},
    {"two", 1, 8, 8, 16, 48, 2, {1, 1}, {1, 1}, BIAS RELU "%r = max %s, %z\n", NULL},
    {"odd_channels", 2, 11, 13, 37, 41, 4, {1, 1}, {1, 1}, BIAS "%r = sub %s, %other\n", NULL},
    {"odd_channels_two", 3, 5, 6, 19, 21, 2, {1, 0}, {0, 2}, BIAS "%r = mul %s, %other\n", NULL},
    {"no_padding", 1, 10, 9, 24, 17, 4, {0, 0}, {0, 0}, BIAS RELU "%r = max %z, %s\n", NULL},
    {"wide_padding", 1, 3, 4, 16, 16, 4, {3, 2}, {2, 4}, "%r = add %y, %other\n", NULL},
    {"cropped", 2, 9, 12, 16, 18, 4, {-1, 1}, {1, -2}, BIAS "%r = add %s, %other\n", NULL},
    {"one_result", 1, 1, 1, 20, 16, 4, {1, 1}, {1, 1}, BIAS "%r = add %s, %other\n", NULL},
    {"clipped",
     2,
     17,
     6,
     32,
     33,
     4,
     {1, 1},
     {1, 1},
     BIAS RELU "%t = add %s, %other\n%c = max %t, %z\n%m = broadcast %limit {shape = [$], map = []}\n%r = min %c, %m\n",
     "winograd tiles=12 panels=1"},
    {"small_items", 2, 21, 19, 48, 80, 4, {1, 1}, {1, 1}, BIAS "%r = add %s, %other\n", "winograd tiles=12 panels=2"},
    {"large_items", 1, 30, 30, 32, 64, 2, {1, 1}, {1, 1}, BIAS "%r = add %s, %other\n", "winograd tiles=96 panels=4"},
};
enum { N_FIXED = sizeof fixed / sizeof *fixed, RANDOM = 6, RANDOM_LONG = 60, PARAMS = 6, MOST = N_FIXED + RANDOM_LONG };

static hn_rng rng;
static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)hn_rng_below(&rng, (uint64_t)(high - low + 1));
}

static sizes random_sizes(void) {
    sizes s = fixed[between(0, N_FIXED - 1)];
    s.name = "random";
    s.images = between(1, 3), s.height = between(3, 20), s.width = between(3, 20);
    s.channels = between(1, 70), s.results = between(1, 70), s.tile = 2 * between(1, 2);
    for (int d = 0; d < 2; d++) s.low[d] = between(0, 2), s.high[d] = between(0, 2);
    s.schedule = NULL;
    return s;
}

static int64_t result_size(const sizes *s, int d) { return (d ? s->width : s->height) + s->low[d] + s->high[d] - 2; }

static void add_graph(const sizes *s, hn_str *out) {
    char shape[100];
    long long n = s->images, h = result_size(s, 0), w = result_size(s, 1), k = s->results, c = s->channels;
    snprintf(shape, sizeof shape, "%lld, %lld, %lld, %lld", n, h, w, k);
    hn_str_addf(out, "ir 1\ninput %%x : f32[%lld, %lld, %lld, %lld] \"x\"\ninput %%w : f32[%lld, %lld, 3, 3] \"w\"\n",
                n, (long long)s->height, (long long)s->width, c, k, c);
    hn_str_addf(out, "input %%u : f32[%lld, %lld, %lld, 16] \"u\"\ninput %%bias : f32[%lld] \"bias\"\n", (k + 15) / 16,
                (long long)((s->tile + 2) * (s->tile + 2)), c, k);
    hn_str_addf(out, "input %%other : f32[%s] \"other\"\ninput %%limit : f32[] \"limit\"\n", shape);
    hn_str_addf(out,
                "%%y = conv %%x, %%w, %%u {dtype = f32, stride = [1, 1], dilation = [1, 1], inflate = [1, 1], groups = "
                "1, low = [%lld, "
                "%lld], high = [%lld, %lld], channels_last = 1}\n",
                (long long)s->low[0], (long long)s->low[1], (long long)s->high[0], (long long)s->high[1]);
    for (const char *p = s->epilogue; *p; p++) {
        if (*p == '$')
            hn_str_add(out, shape);
        else
            hn_str_add_n(out, p, 1);
    }
    hn_str_add(out, "output %r \"r\"\n");
}

typedef struct built {
    sizes s;
    hn_graph *g;
    hn_arena a;
    hn_kernel_code code;
    hn_tensor in[PARAMS], want;
} built;

static bool build(built *b, int i, hn_str *source) {
    const hn_dialect *d = hn_dialect_named("native");
    hn_emit_how how = {.dialect = d, .machine = hn_machine_of(d, NULL)};
    hn_str text = {0};
    hone_err err = {0};
    char name[20];
    snprintf(name, sizeof name, "k%d", i);
    add_graph(&b->s, &text);
    how.schedule = b->s.schedule ? b->s.schedule : "winograd";
    hone_rc rc = hn_parse(text.text, text.n, b->s.name, &b->g, &err);
    if (!rc) rc = hn_emit_kernel(b->g, 0, "window", name, &how, &b->a, &b->code, &err);
    if (rc) printf("# %s: %s\n%s", b->s.name, err.text, text.text);
    hn_str_free(&text);
    if (rc) return false;
    hn_str_addf(source,
                "%s\nvoid x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t);\n"
                "void x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t) { %s(b, s, i, e, t); }\n",
                b->code.text, name, name, name);
    return true;
}

/* Inputs, and what the interpreter makes of them. */
static bool draw(built *b) {
    const hn_blk *blk = &b->g->block[0];
    hone_err err = {0};
    for (uint32_t i = 0; i < PARAMS; i++) {
        const hn_type *t = hn_type_of(b->g, blk->param[i]);
        int64_t dim[HN_RANK_MAX];
        if (!hn_type_static(b->g, t, dim) || !hn_tensor_new(&b->a, HONE_F32, t->rank, dim, &b->in[i])) return false;
        for (int64_t k = 0; k < hn_tensor_n(&b->in[i]); k++) ((float *)b->in[i].data)[k] = (float)hn_rng_normal(&rng);
    }
    if (!hn_winograd_windows(&b->a, &b->in[1], b->s.tile, &b->in[2])) return false;
    return !hn_interpret(b->g, b->in, &b->a, &b->want, NULL, &err);
}

static void run(const built *b, kernel_fn *k, float *y, int64_t step) {
    void *buf[PARAMS + 1];
    int64_t slots[2] = {0}, work = 0, scratch_b = 0;
    for (int i = 0; i < PARAMS; i++) buf[i] = b->in[i].data;
    buf[PARAMS] = y;
    hn_dim_is_int(b->g->dims, b->code.work, &work);
    hn_dim_is_int(b->g->dims, b->code.scratch_b, &scratch_b);
    char *scratch = aligned_alloc(64, (size_t)(scratch_b + 127) / 64 * 64);
    memset(scratch, 0xff, (size_t)scratch_b);
    memset(scratch + scratch_b, 0x5a, 63);
    for (int odd = 0; odd < 2; odd++)
        for (int64_t at = odd * step; at < work; at += 2 * step)
            k(buf, slots + 1, at, at + step < work ? at + step : work, scratch);
    for (int i = 0; i < 63; i++)
        if (scratch[scratch_b + i] != 0x5a) y[0] = (float)NAN; /* beyond its room */
    free(scratch);
}

static void check(const built *b, kernel_fn *k, const char *isa) {
    int64_t n = hn_tensor_n(&b->want);
    float *y = calloc((size_t)n + 1, sizeof *y), *again = calloc((size_t)n + 1, sizeof *again);
    double squares = 0, worst = 0;
    y[n] = again[n] = 77;
    run(b, k, y, INT32_MAX);
    run(b, k, again, 1);
    for (int64_t i = 0; i < n; i++) {
        double want = ((const float *)b->want.data)[i], gap = fabs((double)y[i] - want);
        squares += want * want;
        if (!(gap <= worst)) worst = gap;
    }
    const sizes *s = &b->s;
    ok(worst <= 1e-4 * fmax(sqrt(squares / (double)n), 1),
       "winograd/%s_%s (%lld x %lldx%lldx%lld to %lld, tile %lld): %.3g", s->name, isa, (long long)s->images,
       (long long)s->height, (long long)s->width, (long long)s->channels, (long long)s->results, (long long)s->tile,
       worst);
    ok(!memcmp(y, again, (size_t)n * sizeof *y) && y[n] == 77 && again[n] == 77, "winograd/%s_%s_any_split", s->name,
       isa);
    free(y);
    free(again);
}

static void *compile(const char *dir, const char *isa, const hn_str *source) {
    char c_path[300], so_path[300], march[60];
    snprintf(c_path, sizeof c_path, "%s/%s.c", dir, isa);
    snprintf(so_path, sizeof so_path, "%s/%s.so", dir, isa);
    snprintf(march, sizeof march, "-march=%s", isa);
    const char *argv[] = {"cc",   "-O1", "-w", "-ffp-contract=off", march, "-shared", "-fPIC", "-o", so_path,
                          c_path, "-lm", NULL};
    hone_err err;
    hn_proc_result r;
    if (hn_write_file(c_path, source->text, source->n, &err) != HONE_OK) return NULL;
    if (hn_proc_run(&(hn_proc_spec){.argv = argv, .cpu = -1}, NULL, &r, &err) != HONE_OK) return NULL;
    bool fine = r.end == HN_PROC_EXITED && r.code == 0;
    if (!fine) printf("# %s\n", r.err_tail);
    hn_proc_result_free(&r);
    return fine ? dlopen(so_path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static bool runs(const char *isa) {
    __builtin_cpu_init();
    if (!strcmp(isa, "x86-64-v4")) return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (!strcmp(isa, "x86-64-v3")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return true;
}

/* Schedules that are not asked for, and bodies that have another form. */
static void check_refused(void) {
    const hn_dialect *d = hn_dialect_named("native");
    hn_emit_how how = {.dialect = d, .machine = hn_machine_of(d, NULL), .schedule = "conv"};
    sizes s = fixed[0];
    built b = {.s = s};
    hn_str text = {0};
    hone_err err = {0};
    add_graph(&s, &text);
    bool fine = !hn_parse(text.text, text.n, "refused", &b.g, &err);
    ok(fine && !hn_emit_kernel(b.g, 0, "window", "k", &how, &b.a, &b.code, &err) && !hn_is_winograd(b.code.schedule),
       "winograd/other_schedule (%s)", b.code.schedule ? b.code.schedule : err.text);
    how.schedule = NULL, how.direct = true;
    ok(fine && !hn_emit_kernel(b.g, 0, "window", "k", &how, &b.a, &b.code, &err) && !hn_is_winograd(b.code.schedule),
       "winograd/direct");
    how.schedule = "winograd tiles=7";
    ok(fine && hn_emit_kernel(b.g, 0, "window", "k", &how, &b.a, &b.code, &err) == HONE_E_INPUT, "winograd/wrong_knob");
    hn_sketch_fit fit[8];
    size_t n = fine ? hn_emit_sketches(b.g, 0, "window", &how, &b.a, fit, 8) : 0, n_tiled = 0, n_conv = 0;
    for (size_t i = 0; i < n; i++) {
        n_tiled += !strcmp(fit[i].sketch->name, HN_WINOGRAD_SCHEDULE);
        n_conv += !strcmp(fit[i].sketch->name, "conv");
    }
    ok(n_tiled == 1 && n_conv == 1, "winograd/tuner_has_both");
    hn_graph_free(b.g);
    hn_arena_free(&b.a);
    hn_str_free(&text);
}

int main(void) {
    static const char *const isas[] = {"x86-64", "x86-64-v3", "x86-64-v4"};
    static built b[MOST];
    const char *seed_text = getenv("HONE_SEED");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 10) : 1;
    int n = N_FIXED + (getenv("HONE_LONG") ? RANDOM_LONG : RANDOM);
    char dir[] = "/tmp/hone-winograd-XXXXXX";
    hn_str source = {0};
#if !defined __x86_64__
    skip(1, "flags of x86-64 are written here");
    return done_testing();
#endif
    if (!mkdtemp(dir)) return 1;
    printf("# seed %llu\n", (unsigned long long)seed);
    rng = hn_rng_make(seed, 0);
    hn_cpu_add_runtime(&source, "base winograd");
    for (int i = 0; i < n; i++) {
        b[i].s = i < N_FIXED ? fixed[i] : random_sizes();
        if (!build(&b[i], i, &source) || !draw(&b[i])) {
            ok(false, "winograd/%s_builds", b[i].s.name);
            b[i].code.text = NULL;
        }
    }
    for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
        if (!runs(isas[k])) {
            skip(1, "this processor has no %s", isas[k]);
            continue;
        }
        void *lib = compile(dir, isas[k], &source);
        ok(lib != NULL, "winograd/compiles_%s", isas[k]);
        for (int i = 0; i < n && lib; i++) {
            char name[20];
            snprintf(name, sizeof name, "xk%d", i);
            kernel_fn *f = b[i].code.text ? (kernel_fn *)(uintptr_t)dlsym(lib, name) : NULL;
            if (f) check(&b[i], f, isas[k]);
        }
    }
    check_refused();
    for (int i = 0; i < n; i++) {
        hn_graph_free(b[i].g);
        hn_arena_free(&b[i].a);
    }
    hn_str_free(&source);
    hn_remove_tree(dir, NULL);
    return done_testing();
}
