/* Products of pairs of bf16 by the instruction of x86-64-v4-bf16: random shapes and settings of the knobs, by the
 * instruction and by f32 multiply-adds, against the interpreter, compiled by gcc and by clang; what becomes of
 * subnormal numbers, infinities and NaN; pairs in a wrong order are found; which processors take the instruction. */
#include "backend/cpu/cpu.h"
#include "base/fs.h"
#include "base/rng.h"
#include "ir/interp.h"
#include "proc/proc.h"
#include "tap.h"

#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

enum { CASES = 10, CASES_LONG = 160, WAYS = 2 };
typedef void kernel_fn(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch);

/* m rows of k by k of n columns; conv: m lines and columns of k channels under windows of 3 x 3, n results. */
typedef struct shape {
    bool conv;
    int64_t m, k, n;
} shape;

typedef struct built {
    hn_graph *g;
    hn_arena arena;
    hn_kernel_code code;
} built;

static hn_rng rng;
static int64_t from_to(int64_t low, int64_t high) {
    return low + (int64_t)(hn_rng_below(&rng, (uint64_t)(high - low + 1)));
}

static void text_of(const shape *s, hn_str *out) {
    long long m = s->m, k = s->k, n = s->n, panels = (n + 15) / 16;
    hn_str_addf(out, "ir 1\ninput %%0 : bf16[");
    if (s->conv)
        hn_str_addf(
            out,
            "1, %lld, %lld, %lld] \"x\"\ninput %%1 : bf16[%lld, 3, 3, %lld, 16, 2] \"w\"\ninput %%2 : f32[%lld] \"b\"\n"
            "%%3 = transpose %%1 {perm = [0, 4, 3, 5, 1, 2]}\n%%4 = reshape %%3 {shape = [%lld, %lld, 3, 3]}\n"
            "%%5 = slice %%4 {shape = [%lld, %lld, 3, 3], start = [0, 0, 0, 0], step = [1, 1, 1, 1]}\n"
            "%%6 = conv %%0, %%5 {stride = [1, 1], dilation = [1, 1], inflate = [1, 1], groups = 1, low = [1, 1], "
            "high = [1, 1], channels_last = 1, dtype = f32}\n%%7 = broadcast %%2 {shape = [1, %lld, %lld, %lld], map = "
            "[3]}\n",
            m, m, k, panels, k / 2, n, 16 * panels, k, n, k, m, m, n);
    else
        hn_str_addf(out,
                    "%lld, %lld] \"x\"\ninput %%1 : bf16[%lld, %lld, 16, 2] \"w\"\ninput %%2 : f32[%lld] \"b\"\n"
                    "%%3 = transpose %%1 {perm = [1, 3, 0, 2]}\n%%4 = reshape %%3 {shape = [%lld, %lld]}\n"
                    "%%5 = slice %%4 {shape = [%lld, %lld], start = [0, 0], step = [1, 1]}\n"
                    "%%6 = contract %%0, %%5 {lhs = [0, 2], rhs = [2, 1], out = [0, 1], dtype = f32}\n"
                    "%%7 = broadcast %%2 {shape = [%lld, %lld], map = [1]}\n",
                    m, k, panels, k / 2, n, k, 16 * panels, k, n, m, n);
    hn_str_addf(out, "%%8 = add %%6, %%7\noutput %%8 \"y\"\n");
}

/* The first sketch that fits, its knobs at random but for `pairs`; plain: those of the cost model. */
static void choose(const built *b, const char *kind, const hn_emit_how *how, bool plain, int way, char *text) {
    hn_arena a = {0};
    hn_sketch_fit fit[8];
    int64_t setting[HN_KNOBS_MAX] = {0};
    size_t n = hn_emit_sketches(b->g, 0, kind, how, &a, fit, 8);
    *text = 0;
    for (int k = 0; n && k < fit->knobs.n; k++) {
        const hn_knob *knob = &fit->knobs.knob[k];
        setting[k] = plain ? knob->model : knob->value[from_to(0, knob->n - 1)];
        if (!strcmp(knob->name, "pairs")) setting[k] = way;
    }
    if (n) hn_sketch_text(fit->sketch, &fit->knobs, setting, text);
    hn_arena_free(&a);
}

static const hn_dialect *target;

static bool emit(const shape *s, bool plain, int way, const char *name, built *b, hn_str *source) {
    const hn_dialect *d = target;
    hn_emit_how how = {.dialect = d, .machine = hn_machine_of(d, &(hone_device){.isa = ""})};
    const char *kind = s->conv ? "window" : "contract";
    char schedule[HN_SKETCH_TEXT_MAX];
    hn_str text = {0};
    hone_err err = {0};
    text_of(s, &text);
    hone_rc rc = hn_parse(text.text, text.n, name, &b->g, &err);
    if (!rc) choose(b, kind, &how, plain, way, schedule);
    how.schedule = schedule;
    if (!rc) rc = hn_emit_kernel(b->g, 0, kind, name, &how, &b->arena, &b->code, &err);
    if (rc) printf("# %s: %s\n", name, err.text);
    if (!rc)
        hn_str_addf(
            source,
            "%s\nvoid x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t);\n"
            "void x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t) { %s(b, s, i, e, t); }\n",
            b->code.text, name, name, name);
    hn_str_free(&text);
    return rc == HONE_OK;
}

/* The library's path in `so`. */
static bool compile(const char *cc, const char *dir, const char *text, size_t n, char *so, size_t room) {
    const hn_dialect *d = target;
    char c_path[300];
    const char *argv[40] = {cc, "-O1", "-w", "-shared", "-fPIC", "-o", so, c_path};
    int k = 8;
    hone_err err;
    hn_proc_result r;
    static int serial;
    snprintf(c_path, sizeof c_path, "%s/%d.c", dir, ++serial);
    snprintf(so, room, "%s/%d.so", dir, serial);
    for (int f = 0; d->flags[f]; f++) argv[k++] = d->flags[f];
    argv[k] = "-lm";
    if (hn_write_file(c_path, text, n, &err) != HONE_OK) return false;
    if (hn_proc_run(&(hn_proc_spec){.argv = argv, .cpu = -1}, NULL, &r, &err) != HONE_OK) return false;
    bool fine = r.end == HN_PROC_EXITED && r.code == 0;
    if (!fine) printf("# %s: %s\n", cc, r.err_tail);
    hn_proc_result_free(&r);
    return fine;
}

static kernel_fn *function(void *so, const char *name) {
    char symbol[40];
    snprintf(symbol, sizeof symbol, "x%s", name);
    return so ? (kernel_fn *)(uintptr_t)dlsym(so, symbol) : NULL;
}

static hn_tensor made(hn_arena *a, const hn_graph *g, hn_val v) {
    const hn_type *t = hn_type_of(g, v);
    hn_tensor out = {0};
    int64_t dim[HN_RANK_MAX];
    for (size_t d = 0; d < t->rank; d++) hn_dim_is_int(g->dims, t->dim[d], &dim[d]);
    hn_tensor_new(a, t->dtype, t->rank, dim, &out);
    return out;
}

/* All work items; then every second one, and the others. */
static void run(kernel_fn *k, const built *b, hn_tensor *in, hn_tensor *out, bool apart) {
    int64_t slots[8] = {0}, work = 0, scratch_b = 0;
    void *buf[] = {in[0].data, in[1].data, in[2].data, out->data};
    hn_dim_eval(b->g->dims, b->code.work, slots + 1, &work);
    hn_dim_eval(b->g->dims, b->code.scratch_b, slots + 1, &scratch_b);
    char *scratch = aligned_alloc(64, ((size_t)scratch_b + 127) / 64 * 64);
    for (int odd = 1; apart && odd >= 0; odd--)
        for (int64_t i = odd; i < work; i += 2) k(buf, slots + 1, i, i + 1, scratch);
    if (!apart) k(buf, slots + 1, 0, work, scratch);
    free(scratch);
}

static double largest(const hn_tensor *t) {
    double most = 0;
    for (int64_t i = 0; i < hn_tensor_n(t); i++) most = fmax(most, fabs(hn_get_f(t, i)));
    return most;
}

/* Does it agree with the interpreter, and with itself however its items are split? */
static bool agrees(kernel_fn *k, const built *b, const shape *s, uint64_t seed) {
    hn_arena a = {0};
    hn_tensor in[3], want, got, again;
    hone_err err = {0};
    hn_rng values = hn_rng_make(seed, 7);
    for (int i = 0; i < 3; i++) {
        in[i] = made(&a, b->g, b->g->block[0].param[i]);
        for (int64_t e = 0; e < hn_tensor_n(&in[i]); e++) hn_set_f(&in[i], e, hn_rng_normal(&values));
    }
    got = made(&a, b->g, b->g->block[0].result[0]);
    again = made(&a, b->g, b->g->block[0].result[0]);
    bool fine = hn_interpret_block(b->g, 0, in, NULL, &a, &want, &err) == HONE_OK;
    run(k, b, in, &got, false);
    run(k, b, in, &again, true);
    double bound = 4e-7 * sqrt((double)(s->k * (s->conv ? 9 : 1))) * (1 + largest(&want));
    fine = fine && hn_tensor_compare(&got, &want, (hn_match_rule){0, bound}).same;
    fine = fine && !memcmp(got.data, again.data, (size_t)hn_tensor_n(&got) * 4);
    hn_arena_free(&a);
    return fine;
}

static shape random_shape(int i) {
    if (i % 4 == 3) return (shape){true, from_to(3, 9), 2 * from_to(1, 20), from_to(4, 70)};
    return (shape){false, i % 5 ? from_to(1, 40) : 1, 2 * from_to(1, 300), from_to(1, 150)};
}

/* Text with every `right` replaced. */
static void turn(hn_str *text, const char *right, const char *wrong) {
    hn_str out = {0};
    const char *from = text->text, *at;
    for (; (at = strstr(from, right)); from = at + strlen(right)) {
        hn_str_add_n(&out, from, (size_t)(at - from));
        hn_str_add(&out, wrong);
    }
    hn_str_add(&out, from);
    hn_str_free(text);
    *text = out;
}

/* One operand's pairs the other way round: of vectors, of single floats. */
static void turn_pairs(hn_str *text) {
    turn(text, "\"v\"(a), \"vm\"(b)", "\"v\"(a << 16 | (a >> 16 & 65535)), \"vm\"(b)");
    turn(text, "words x = {a}", "words x = {(int32_t)((uint32_t)a << 16 | (uint32_t)a >> 16)}");
}

/* -- numbers that are not usual: one row, whose first two products are told */
static const struct {
    const char *name;
    double x[2], w[2];
    double instruction, multiply_adds;
} odd[] = {
    {"subnormal_operand", {0x1p-130, 0}, {0x1p100, 0}, 0, 0x1p-30},
    {"subnormal_result", {0x1p-70, 0}, {0x1p-70, 0}, 0, 0x1p-140},
    {"normal_from_both", {0x1p-60, 0x1p-60}, {0x1p-60, 0x1p-60}, 0x1p-119, 0x1p-119},
    {"infinity", {INFINITY, 1}, {2, 1}, INFINITY, INFINITY},
    {"infinity_times_zero", {INFINITY, 1}, {0, 1}, NAN, NAN},
    {"nan", {NAN, 1}, {1, 1}, NAN, NAN},
    {"opposite_infinities", {INFINITY, -INFINITY}, {1, 1}, NAN, NAN},
    {"exact_product", {1 + 0x1p-7, 0}, {1 + 0x1p-7, 0}, 1 + 0x1p-6 + 0x1p-14, 1 + 0x1p-6 + 0x1p-14},
};

static void check_odd(kernel_fn *const *k, const built *b) {
    for (size_t o = 0; o < sizeof odd / sizeof *odd; o++)
        for (int way = 0; way < WAYS; way++) {
            hn_arena a = {0};
            hn_tensor in[3], got = made(&a, b[way].g, b[way].g->block[0].result[0]);
            for (int i = 0; i < 3; i++) in[i] = made(&a, b[way].g, b[way].g->block[0].param[i]);
            for (int i = 0; i < 2; i++) hn_set_f(&in[0], i, odd[o].x[i]);
            for (int64_t c = 0; c < 16; c++) /* column c: pairs of the first words of the panel */
                for (int i = 0; i < 2; i++) hn_set_f(&in[1], 2 * c + i, odd[o].w[i]);
            run(k[way], &b[way], in, &got, false);
            double y = hn_get_f(&got, 0), last = hn_get_f(&got, 15),
                   want = way ? odd[o].instruction : odd[o].multiply_adds;
            ok((isnan(want) ? isnan(y) && isnan(last) : y == want && last == want), "pairs/%s_%s: %a, not %a",
               odd[o].name, way ? "by_the_instruction" : "by_multiply_adds", y, want);
            hn_arena_free(&a);
        }
}

/* -- the whole for one compiler */
static void with_compiler(const char *cc, const char *dir, int cases, uint64_t seed) {
    static built b[CASES_LONG + 1][WAYS];
    static shape s[CASES_LONG + 1];
    hn_str source = {0};
    char name[32], so_path[300];
    bool emitted = true;
    rng = hn_rng_make(seed, 3);
    hn_cpu_add_runtime(&source, "base convert scalar");
    for (int i = 0; i <= cases; i++) {
        s[i] = i == cases ? (shape){false, 1, 8, 16} : random_shape(i);
        for (int way = 0; way < WAYS; way++) {
            snprintf(name, sizeof name, "p%d_%d", i, way);
            b[i][way] = (built){0};
            emitted &= emit(&s[i], i % 2 || i == cases, way, name, &b[i][way], &source);
        }
    }
    ok(emitted && strstr(source.text, "vdpbf16ps"), "pairs/%s_emitted", cc);
    bool compiles = compile(cc, dir, source.text, source.n, so_path, sizeof so_path);
    ok(compiles, "pairs/%s_compiles", cc);
    bool runs = compiles && emitted && hn_runs_here(hn_dialect_named("x86-64-v4-bf16"));
    void *so = runs ? dlopen(so_path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!runs) skip(1, "pairs/%s_as_interpreted: this processor has no AVX512_BF16", cc);
    for (int i = 0; so && i < cases; i++)
        for (int way = 0; way < WAYS; way++) {
            snprintf(name, sizeof name, "p%d_%d", i, way);
            ok(agrees(function(so, name), &b[i][way], &s[i], seed + (uint64_t)i),
               "pairs/%s_as_interpreted (%s of %lld, %lld, %lld: %s)", cc, s[i].conv ? "window" : "matrix",
               (long long)s[i].m, (long long)s[i].k, (long long)s[i].n, b[i][way].code.schedule);
        }
    kernel_fn *two[WAYS];
    for (int way = 0; way < WAYS; way++) {
        snprintf(name, sizeof name, "p%d_%d", cases, way);
        two[way] = function(so, name);
    }
    if (so) check_odd(two, b[cases]);
    if (so) dlclose(so);
    turn_pairs(&source);
    so = runs && compile(cc, dir, source.text, source.n, so_path, sizeof so_path)
             ? dlopen(so_path, RTLD_NOW | RTLD_LOCAL)
             : NULL;
    int caught = 0;
    for (int i = 0; so && i < cases; i++) {
        snprintf(name, sizeof name, "p%d_1", i);
        caught += !agrees(function(so, name), &b[i][1], &s[i], seed + (uint64_t)i);
    }
    if (runs) ok(so && caught == cases, "pairs/%s_the_wrong_order_is_found: %d of %d", cc, caught, cases);
    if (so) dlclose(so);
    for (int i = 0; i <= cases; i++)
        for (int way = 0; way < WAYS; way++) {
            hn_graph_free(b[i][way].g);
            hn_arena_free(&b[i][way].arena);
        }
    hn_str_free(&source);
}

/* -- a target without the instruction: the same panels, by multiply-adds */
static void without(const char *name, const char *dir, int cases, uint64_t seed) {
    hn_str source = {0};
    char kernel[32], so_path[300];
    bool good = true, said = true;
    built b[CASES_LONG];
    shape s[CASES_LONG];
    target = hn_dialect_named(name);
    rng = hn_rng_make(seed, 3);
    hn_cpu_add_runtime(&source, "base convert scalar");
    for (int i = 0; i < cases; i++) {
        s[i] = random_shape(i), b[i] = (built){0};
        snprintf(kernel, sizeof kernel, "q%d", i);
        good &= emit(&s[i], i % 2, 0, kernel, &b[i], &source);
        said &= good && strstr(b[i].code.schedule, "pairs=0");
    }
    ok(good && said && !strstr(source.text, "vdpbf16ps"), "pairs/%s_without_the_instruction", name);
    void *so = good && hn_runs_here(target) && compile("cc", dir, source.text, source.n, so_path, sizeof so_path)
                   ? dlopen(so_path, RTLD_NOW | RTLD_LOCAL)
                   : NULL;
    if (!hn_runs_here(target)) skip(1, "pairs/%s_as_interpreted: this processor does not run it", name);
    if (hn_runs_here(target)) ok(so != NULL, "pairs/%s_compiles", name);
    for (int i = 0; so && i < cases; i++) {
        snprintf(kernel, sizeof kernel, "q%d", i);
        ok(agrees(function(so, kernel), &b[i], &s[i], seed + (uint64_t)i), "pairs/%s_as_interpreted (%s)", name,
           b[i].code.schedule);
    }
    if (so) dlclose(so);
    for (int i = 0; i < cases; i++) hn_graph_free(b[i].g), hn_arena_free(&b[i].arena);
    hn_str_free(&source);
}

/* -- which processors */
static void test_choice(void) {
    const hone_device none = {.isa = ""}, quick = {.f32_flops = 1e11, .bf16_flops = 2e11},
                      slow = {.f32_flops = 1.6e11, .bf16_flops = 0.8e11},
                      near = {.f32_flops = 1e11, .bf16_flops = 1.1e11};
    ok(hn_cpu_pairs_pay(&none, true) && !hn_cpu_pairs_pay(&none, false), "pairs/not_measured_who_made_it_decides");
    ok(hn_cpu_pairs_pay(&quick, false) && !hn_cpu_pairs_pay(&slow, true), "pairs/measured_the_rate_decides");
    ok(!hn_cpu_pairs_pay(&near, true), "pairs/a_little_faster_is_not_enough");
    const hn_dialect *d = hn_dialect_named("x86-64-v4-bf16"), *other = hn_dialect_named("x86-64-v4-vnni");
    hone_device here = quick;
    snprintf(here.isa, sizeof here.isa, "x86-64-v4-vnni");
    ok(hn_machine_of(d, &here).pairs && !hn_machine_of(other, &here).pairs, "pairs/of_targets_that_have_them");
    snprintf(here.isa, sizeof here.isa, "generic");
    ok(!hn_machine_of(d, &here).pairs, "pairs/figures_of_another_machine_do_not_count");
    ok(!hn_dialect_named("native")->pairs, "pairs/native_is_the_usual_target");
    ok(hn_takes_pairs(d) && hn_takes_pairs(other) && !hn_takes_pairs(hn_dialect_named("generic")),
       "pairs/panels_of_targets_with_multiply_adds");
    ok(!hn_dialect_for_pairs() || hn_dialect_for_pairs() == d, "pairs/native_of_models_of_bf16");
}

int main(void) {
    char dir[] = "/tmp/hone-pairs-XXXXXX";
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20261127;
    int cases = getenv("HONE_LONG") ? CASES_LONG : CASES;
    hone_err err;
    printf("# SEED=%llu\n", (unsigned long long)seed);
    test_choice();
    if (!ok(mkdtemp(dir), "pairs/folder")) return done_testing();
    without("x86-64-v3", dir, cases, seed);
    target = hn_dialect_named("x86-64-v4-bf16");
    with_compiler("cc", dir, cases, seed);
    char *clang = hn_which("clang");
    if (clang)
        with_compiler("clang", dir, cases, seed);
    else
        skip(1, "pairs/clang_compiles: there is no clang");
    free(clang);
    hn_remove_tree(dir, &err);
    return done_testing();
}
