/* Kernels as C against the interpreter: every case is emitted for several dialects, compiled into one library each, and
 * run on random and on edge inputs, for several splits of its work items, which must agree bit by bit. Those for
 * another processor run under its emulator. */
#include "backend/cpu/cpu.h"
#include "base/fs.h"
#include "base/str.h"
#include "build/build.h"
#include "ir/interp.h"
#include "parity/parity.h"
#include "proc/proc.h"
#include "tap.h"

#include <hone/device.h>

#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

typedef struct kernel_case {
    const char *name, *kind;
    const char *text;     /* without "ir 1" */
    int64_t symbol[3][3]; /* values of the symbols, up to three runs; the first is all that static cases need */
    double rtol;
} kernel_case;

#define X "input %0 : f32[37] \"x\"\n"
#define XY X "input %1 : f32[37] \"y\"\n"
#define N3                                                                                                             \
    {                                                                                                                  \
        {5, 7, 3}, {1, 1, 1}, { 64, 33, 20 }                                                                           \
    }
static const kernel_case cases[] = {
#include "kernel_cases.inc"
};
enum { N_CASES = sizeof cases / sizeof *cases };

typedef void kernel_fn(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch);

typedef struct built {
    hn_graph *g;
    hn_arena arena;
    hn_kernel_code code;
    hone_rc rc;
    hone_err err;
    bool left_out; /* not tried for this dialect in the short run */
} built;

static bool quiet; /* differences are what is expected */

static uint64_t state;
static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* A case's numbers are its own, whatever cases stand before it. */
static void seed_by(const char *name) {
    state = 88172645463325252u;
    for (; *name; name++) state = (state ^ (unsigned char)*name) * 1099511628211u;
    state |= 1;
}

/* Floats: about [-4, 4], in edge runs infinities, NaN, zeros, subnormals among them, and, where nothing is summed (f32
 * overflows before double does), 3e38; integers: [-3, 3), bytes that are summed: all. */
static void fill(hn_tensor *t, bool edge, bool sums) {
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-40, 88.0, -104.5, 1.0, -1.0, 3e38};
    int64_t n = hn_tensor_n(t);
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = next_random();
        double x = (double)(int64_t)(r >> 40) / 2097152.0 - 4;
        if (hn_is_float(t->dtype))
            hn_set_f(t, i, edge && r % 3 == 0 ? odd[(r >> 8) % (sums ? 11 : 12)] : x);
        else if (t->dtype == HONE_BOOL)
            hn_set_i(t, i, (int64_t)(r >> 20 & 1));
        else if (sums && hn_dtype_of(t->dtype)->bits == 8)
            hn_set_i(t, i, (int64_t)(r >> 20 & 255) - (t->dtype == HONE_I8 ? 128 : 0));
        else if (hn_dtype_of(t->dtype)->cls == HN_CLASS_UINT)
            hn_set_i(t, i, (int64_t)(r >> 20) % 3);
        else
            hn_set_i(t, i, (int64_t)((r >> 20) % 6) - 3);
    }
}

static bool make(hn_arena *a, const hn_graph *g, hn_val v, const int64_t *symbol, hn_tensor *out) {
    const hn_type *t = hn_type_of(g, v);
    int64_t dim[HN_RANK_MAX];
    for (size_t d = 0; d < t->rank; d++)
        if (!hn_dim_eval(g->dims, t->dim[d], symbol, &dim[d])) return false;
    return hn_tensor_new(a, t->dtype, t->rank, dim, out);
}

/* Where kernels run that this machine does not: the number of the one at hand, its buffers, and scratch behind them. */
static hn_ground remote;
static uint32_t remote_kernel;
static struct {
    void *data;
    int64_t size_b;
} where[17];
static int64_t n_where;

static void far_away(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch) {
    int64_t slots[8];
    hn_mem mem[17];
    (void)buf, (void)scratch;
    memcpy(slots, s - 1, sizeof slots);
    if (!remote.place) return;
    remote.place->reset(remote.state);
    for (int64_t i = 0; i <= n_where; i++) {
        mem[i] = remote.place->alloc(remote.state, where[i].size_b, HN_MEM_PLAIN);
        remote.place->put(remote.state, mem[i], where[i].data, where[i].size_b);
    }
    const hn_launch l = {.code = remote.place->find(remote.state, remote_kernel),
                         .buf = mem,
                         .n_buf = (uint32_t)n_where,
                         .symbol = slots + 1,
                         .n_symbol = 7,
                         .begin = begin,
                         .end = end,
                         .scratch = mem[n_where]};
    bool ran = remote.place->launch(remote.state, &l);
    for (int64_t i = 0; i < n_where && ran; i++)
        remote.place->get(remote.state, where[i].data, mem[i], where[i].size_b);
    if (ran) return;
    printf("# the process that runs kernels has died\n");
    remote.place = NULL;
}

/* Runs the kernel with its items in pieces of `step`, odd pieces last. */
static void run(kernel_fn *k, void *const *buf, const int64_t *s, int64_t work, int64_t step, char *scratch) {
    for (int odd = 0; odd < 2; odd++)
        for (int64_t b = odd * step; b < work; b += 2 * step) k(buf, s, b, b + step < work ? b + step : work, scratch);
}

typedef struct verdict {
    bool same, splits;
    double worst;
    const char *text;
} verdict;

static verdict once(const kernel_case *c, built *b, kernel_fn *k, const int64_t *values, bool edge) {
    hn_arena a = {0};
    hn_graph *g = b->g;
    const hn_blk *blk = &g->block[0];
    hn_tensor in[8], want[8], got[8];
    int64_t slots[8] = {0}, *s = slots + 1, work = 0, scratch_b = 0;
    void *buf[16];
    verdict v = {true, true, 0, ""};
    hone_err err;
    memcpy(s, values, 3 * sizeof *s);
    for (uint32_t i = 0; i < blk->n_param; i++) {
        if (!make(&a, g, blk->param[i], s, &in[i])) return (verdict){false, false, 0, "input"};
        fill(&in[i], edge, strcmp(c->kind, "map") != 0);
        buf[i] = in[i].data;
        where[i].data = in[i].data, where[i].size_b = hn_tensor_n(&in[i]) * hn_dtype_of(in[i].dtype)->size_b;
    }
    if (hn_interpret_block(g, 0, in, s, &a, want, &err) != HONE_OK) {
        printf("# %s: %s\n", c->name, err.text);
        return (verdict){false, false, 0, "interpreter"};
    }
    for (uint32_t i = 0; i < blk->n_result; i++) {
        make(&a, g, blk->result[i], s, &got[i]);
        buf[blk->n_param + i] = got[i].data;
        where[blk->n_param + i].data = got[i].data;
        where[blk->n_param + i].size_b = hn_tensor_n(&got[i]) * hn_dtype_of(got[i].dtype)->size_b;
    }
    hn_dim_eval(g->dims, b->code.work, s, &work);
    hn_dim_eval(g->dims, b->code.scratch_b, s, &scratch_b);
    char *scratch = aligned_alloc(64, (size_t)scratch_b + 64);
    int64_t steps[3] = {work > 0 ? work : 1, work / 3 + 1, remote.place ? work / 8 + 1 : 1};
    n_where = blk->n_param + blk->n_result;
    where[n_where].data = scratch, where[n_where].size_b = scratch_b;
    for (int step = 0; step < 3; step++) {
        void *before[8];
        for (uint32_t i = 0; i < blk->n_result; i++) {
            size_t bytes = (size_t)hn_tensor_n(&got[i]) * hn_dtype_of(got[i].dtype)->size_b;
            before[i] = hn_alloc(&a, bytes);
            if (step) memcpy(before[i], got[i].data, bytes);
            memset(got[i].data, 0x5a, bytes);
        }
        memset(scratch, 0xff, (size_t)scratch_b + 64);
        run(k, buf, s, work, steps[step], scratch);
        for (uint32_t i = 0; i < blk->n_result && step; i++)
            v.splits &=
                !memcmp(before[i], got[i].data, (size_t)hn_tensor_n(&got[i]) * hn_dtype_of(got[i].dtype)->size_b);
    }
    for (uint32_t i = 0; i < blk->n_result; i++) {
        double rtol = c->rtol > 0 ? c->rtol : 2e-6;
        if (got[i].dtype == HONE_F16) rtol = 2e-3;
        if (got[i].dtype == HONE_BF16) rtol = 1e-2;
        /* sums of large numbers that cancel */
        double atol = edge && strcmp(c->kind, "map") ? 200 * rtol : 5 * rtol;
        hn_match m = hn_tensor_compare(&got[i], &want[i], (hn_match_rule){rtol, atol});
        v.same &= m.same;
        if (m.max_abs > v.worst) v.worst = m.max_abs;
        if (!m.same && !quiet)
            printf("# %s, result %u: %lld wrong, at %lld: %.9g, not %.9g\n", c->name, i, (long long)m.n_wrong,
                   (long long)m.at, hn_get_f(&got[i], m.at), hn_get_f(&want[i], m.at));
    }
    free(scratch);
    hn_arena_free(&a);
    return v;
}

/* As on a machine whose caches are not known: the same text everywhere. */
static hn_emit_how how_for(const hn_dialect *d) {
    return (hn_emit_how){.dialect = d, .machine = hn_machine_of(d, &(hone_device){.isa = ""})};
}

/* Cases with another schedule than the cost model's, where there are vectors. */
static const char *schedule_of(const char *name, const hn_dialect *d) {
    static const char *const other[][2] = {
        {"packed_slices", "gemm depth=128 group=2 stage=0 ahead=3"},
        {"packed_slices_staged", "gemm depth=128 group=4 stage=1 ahead=1"},
        {"packed_slices_symbolic", "gemm depth=256 group=2 ahead=1"},
        {"packed_groups", "gemm group=4 ahead=1"},
        {"one_row_of_few_columns", "gemm depth=8 group=2"},
        {"packed_steps", "gemm steps=4 ahead=3"},
        {"packed_steps_symbolic", "gemm steps=2 ahead=3"},
        {"packed_laps", "gemm overlap=1 stage=0"},
        {"packed_laps_few", "gemm overlap=1 ahead=3"},
        {"packed_laps_staged", "gemm overlap=1 stage=1 ahead=1"},
        {"packed_laps_tall", "gemm rows=12 cols=1 overlap=1 stage=0"},
        {"packed_laps_seldom", "gemm rows=12 cols=1 overlap=2 stage=0"},
        {"packed_laps_seldom_few", "gemm rows=3 cols=2 overlap=2 stage=1"},
        {"packed_laps_of_five", "gemm rows=5 cols=2 overlap=1 ahead=1"},
        {"packed_rests", "gemm overlap=0 ahead=1"},
        {"packed_steps_short", "gemm steps=4 ahead=1"},
        {"last_dense_lines_ahead", "conv order=1 ahead=2 steps=2 item=2"},
        {"last_dense_weights_ahead", "conv order=0 ahead=3 steps=4 rows=5"},
        {"last_odd_channels_steps", "conv order=0 ahead=3 steps=2 cols=1"},
        {"last_line_items", "conv item=1 rows=4"},
        {"last_stem_steps", "conv order=1 ahead=2 steps=4"},
        {"last_stride_lines_ahead", "conv order=1 ahead=3 steps=2 item=4"},
        {"last_groups_steps", "conv ahead=3 steps=4"},
        {"last_any_size_steps", "conv ahead=3 steps=2"},
        {"last_volume_weights_ahead", "conv order=0 ahead=3 steps=4"},
        {"last_own_line", "conv rows=8 cols=2 item=1"},
    };
    for (size_t k = 0; d->vector_b && k < sizeof other / sizeof *other; k++)
        if (!strcmp(other[k][0], name)) return other[k][1];
    return NULL;
}

/* The dialect of this machine takes all cases, each other one an eighth of them: the next one another eighth. */
static bool is_left_out(int i, const hn_dialect *d) {
    int row = 0;
    while (hn_cpu_dialects[row] && strcmp(hn_cpu_dialects[row]->name, d->name) != 0) row++;
    return d != hn_dialect_named("native") && !getenv("HONE_LONG") && (i + row) % 8;
}

static void emit_all(built *b, const hn_dialect *d, hn_str *source) {
    hn_emit_how how = how_for(d);
    hn_cpu_add_runtime(source, "base convert scalar");
    for (int i = 0; i < N_CASES; i++) {
        how.schedule = schedule_of(cases[i].name, d);
        char name[32];
        hn_str text = {0};
        b[i] = (built){.rc = HONE_E_INPUT, .left_out = is_left_out(i, d)};
        if (b[i].left_out) continue;
        hn_str_addf(&text, "ir 1\n%s", cases[i].text);
        snprintf(name, sizeof name, "k%d", i);
        if (hn_parse(text.text, text.n, cases[i].name, &b[i].g, &b[i].err) == HONE_OK)
            b[i].rc = hn_emit_kernel(b[i].g, 0, cases[i].kind, name, &how, &b[i].arena, &b[i].code, &b[i].err);
        hn_str_free(&text);
        if (b[i].rc != HONE_OK) continue;
        hn_str_addf(
            source,
            "%s\nvoid x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t);\n"
            "void x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t) { %s(b, s, i, e, t); }\n",
            b[i].code.text, name, name, name);
    }
}

static void *compile(const char *dir, const hn_dialect *d, const hn_str *source) {
    char c_path[300], so_path[300];
    /* Of all cases at once gcc's optimisation is three quarters of the time. */
    const char *level = d == hn_dialect_named("native") && !getenv("HONE_LONG") ? "-O0" : "-O1";
    const char *argv[40] = {getenv("CC_UNDER_TEST") ? getenv("CC_UNDER_TEST") : "cc",
                            level,
                            "-w",
                            "-shared",
                            "-fPIC",
                            "-o",
                            so_path,
                            c_path};
    int n = 8;
    hone_err err;
    hn_proc_result r;
    static int serial;
    snprintf(c_path, sizeof c_path, "%s/%s-%d.c", dir, d->name, ++serial);
    snprintf(so_path, sizeof so_path, "%s/%s-%d.so", dir, d->name, serial);
    for (int k = 0; d->flags[k]; k++) argv[n++] = d->flags[k];
    if (!strstr(argv[0], "clang")) argv[n++] = "-fno-tree-fre"; /* nearly half of gcc's time on so much code */
    argv[n++] = "-lm";
    if (hn_write_file(c_path, source->text, source->n, &err) != HONE_OK) return NULL;
    if (hn_proc_run(&(hn_proc_spec){.argv = argv, .cpu = -1}, NULL, &r, &err) != HONE_OK) return NULL;
    bool fine = r.end == HN_PROC_EXITED && r.code == 0;
    if (!fine) printf("# %s\n", r.err_tail);
    hn_proc_result_free(&r);
    return fine ? dlopen(so_path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void check(const kernel_case *c, built *b, kernel_fn *k, const char *dialect) {
    verdict all = {true, true, 0, ""};
    bool symbolic = hn_dims_symbols(b->g->dims) > 0;
    seed_by(c->name);
    for (int run_n = 0; run_n < (symbolic ? 3 : 1); run_n++)
        for (int edge = 0; edge < 2; edge++) {
            verdict v = once(c, b, k, c->symbol[run_n], edge);
            all.same &= v.same;
            all.splits &= v.splits;
        }
    ok(all.same, "%s/%s_as_interpreted (%s)", dialect, c->name, b->code.schedule);
    ok(all.splits, "%s/%s_any_split", dialect, c->name);
}

enum { FAULTS = 24 };

/* Places for faults in a kernel's text. */
static unsigned n_faults(const char *text, const char *name, hn_arena *a) {
    unsigned n = 0;
    while (hn_emit_fault(text, name, n, a)) n++;
    return n;
}

/* Many operations of these kernels, from first to last, turned into others give other results (a softmax does not care
 * which number it subtracts, so not all of them can). */
static void faults(const char *dir) {
    const hn_dialect *d = hn_dialect_named("native");
    const hn_emit_how how = how_for(d);
    static const char *const which[] = {"add_mul_relu", "softmax", "matmul_static", "conv", "attention_one_query_past",
                                        "gather"};
    hn_str source = {0};
    built b[sizeof which / sizeof *which] = {{0}};
    int index[sizeof which / sizeof *which], first[sizeof which / sizeof *which + 1] = {0}, total = 0;
    hn_cpu_add_runtime(&source, "base convert scalar");
    for (size_t w = 0; w < sizeof which / sizeof *which; w++) {
        for (index[w] = 0; index[w] < N_CASES && strcmp(cases[index[w]].name, which[w]) != 0;) index[w]++;
        hn_str text = {0};
        hn_str_addf(&text, "ir 1\n%s", cases[index[w]].text);
        b[w].rc = hn_parse(text.text, text.n, which[w], &b[w].g, &b[w].err);
        hn_str_free(&text);
        unsigned all = 0;
        for (unsigned f = 0; f < FAULTS && b[w].rc == HONE_OK; f++) {
            char name[32];
            snprintf(name, sizeof name, "f%d", total);
            b[w].rc = hn_emit_kernel(b[w].g, 0, cases[index[w]].kind, name, &how, &b[w].arena, &b[w].code, &b[w].err);
            if (!b[w].rc && !f) all = n_faults(b[w].code.text, name, &b[w].arena);
            unsigned at = all > FAULTS ? f * all / FAULTS : f;
            const char *wrong = b[w].rc ? NULL : hn_emit_fault(b[w].code.text, name, at, &b[w].arena);
            if (!wrong) break;
            hn_str_addf(
                &source,
                "%s\nvoid x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t);\n"
                "void x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t) { %s(b, s, i, e, t); }\n",
                wrong, name, name, name);
            total++;
        }
        first[w + 1] = total;
    }
    void *so = compile(dir, d, &source);
    ok(so && total >= 12, "fault/compiles");
    quiet = true;
    for (size_t w = 0; so && w < sizeof which / sizeof *which; w++) {
        const kernel_case *c = &cases[index[w]];
        int caught = 0, n = first[w + 1] - first[w];
        for (int k = first[w]; k < first[w + 1]; k++) {
            char name[32];
            snprintf(name, sizeof name, "xf%d", k);
            kernel_fn *fn = (kernel_fn *)(uintptr_t)dlsym(so, name);
            seed_by(c->name);
            caught += fn && !once(c, &b[w], fn, c->symbol[2], false).same;
        }
        ok(n && 8 * caught >= n, "fault/%s: %d of %d caught", which[w], caught, n);
    }
    for (size_t w = 0; w < sizeof which / sizeof *which; w++) {
        hn_graph_free(b[w].g);
        hn_arena_free(&b[w].arena);
    }
    hn_str_free(&source);
    if (so) dlclose(so);
}

/* Rows that are computed twice may not lie where one of their operands does. */
static void check_memory(const kernel_case *c, const built *b, const char *dialect) {
    bool laps = !strncmp(c->name, "packed_laps", 11);
    if (laps || !strcmp(c->name, "packed_rests"))
        ok((b->code.in_place != 0) == !laps, "%s/%s_takes_the_operands_memory_or_not", dialect, c->name);
}

static void dialect(const hn_dialect *d, const char *dir) {
    static built b[N_CASES];
    hn_str source = {0};
    emit_all(b, d, &source);
    void *so = compile(dir, d, &source);
    ok(so, "%s/compiles", d->name);
    for (int i = 0; i < N_CASES; i++) {
        char name[32];
        if (b[i].left_out) continue;
        snprintf(name, sizeof name, "xk%d", i);
        kernel_fn *k = so ? (kernel_fn *)(uintptr_t)dlsym(so, name) : NULL;
        if (ok(b[i].rc == HONE_OK, "%s/%s_emitted", d->name, cases[i].name) && k)
            check(&cases[i], &b[i], k, d->name);
        else
            printf("# %s\n", b[i].rc == HONE_OK ? "not compiled" : b[i].err.text);
        if (d->vector_b) check_memory(&cases[i], &b[i], d->name);
        hn_graph_free(b[i].g);
        hn_arena_free(&b[i].arena);
    }
    hn_str_free(&source);
    if (so) dlclose(so);
}

/* -- keys that a mask hides: left out or not, the bits are the same, whatever the numbers are */
enum { QUERIES = 75, KEYS = 150, COLUMNS = 24 };
static const struct {
    const char *name, *mask; /* from scores %3 and the input %30 to %9 */
    double hidden;           /* in the input, where the key is behind the query's place; else 0 */
    int spoilt_row;          /* hidden altogether; -1: none */
    double key, value;       /* of the last key, in place of a random number; 0: none */
} skips[] = {
#define ADDED "%9 = add %3, %30\n"
#define BOOLS                                                                                                          \
    "%4 = const {value = f32[] (-0.5)}\n%5 = broadcast %4 {shape = [2, 75, 150], map = []}\n%6 = lt %5, %30\n"         \
    "%7 = const {value = f32[] (-inf)}\n%8 = broadcast %7 {shape = [2, 75, 150], map = []}\n"
#define PLACES                                                                                                         \
    "%40 = iota {shape = [2, 75, 150], axis = 1, dtype = i64}\n%41 = iota {shape = [2, 75, 150], axis = 2, dtype = "   \
    "i64}\n%42 = const {value = i64[] (40)}\n%43 = broadcast %42 {shape = [2, 75, 150], map = []}\n"                   \
    "%44 = add %40, %43\n%4 = le %41, %44\n%5 = lt %40, %41\n%6 = and %4, %5\n"                                        \
    "%7 = const {value = f32[] (-0x1.fffffep127)}\n%8 = broadcast %7 {shape = [2, 75, 150], map = []}\n"
    {"lowest_added", ADDED, -0x1.fffffep127, -1, 0, 0},
    {"infinity_added", ADDED, -INFINITY, -1, 0, 0},
    {"large_added", ADDED, -1e4, -1, 0, 0},
    {"hidden_row", ADDED, -0x1.fffffep127, 9, 0, 0},
    {"large_keys", ADDED, -0x1.fffffep127, -1, 0x1p126, 0},
    {"value_nan", ADDED, -INFINITY, -1, 0, NAN},
    {"key_infinite", ADDED, -INFINITY, -1, INFINITY, 0},
    {"selected", BOOLS "%9 = select %6, %3, %8\n", -1, -1, 0, 0},
    {"selected_hidden_row", BOOLS "%9 = select %6, %3, %8\n", -1, 70, 0, INFINITY},
    {"window", PLACES "%45 = add %3, %30\n%9 = select %6, %45, %8\n", 0, -1, 0, 0},
};
enum { N_SKIPS = sizeof skips / sizeof *skips, WAYS = 2 };

static void skip_text(size_t i, hn_str *out) {
    hn_str_addf(out,
                "ir 1\ninput %%0 : f32[2, 75, 24] \"q\"\ninput %%1 : f32[2, 150, 24] \"k\"\n"
                "input %%2 : f32[2, 150, 24] \"v\"\ninput %%10 : f32[75, 150] \"mask\"\n"
                "%%30 = broadcast %%10 {shape = [2, 75, 150], map = [1, 2]}\n"
                "%%3 = contract %%0, %%1 {lhs = [0, 1, 3], rhs = [0, 2, 3], out = [0, 1, 2], dtype = f32}\n%s"
                "%%11 = reduce_max %%9 {axes = [2], keep = 1}\n"
                "%%12 = broadcast %%11 {shape = [2, 75, 150], map = [0, 1, 2]}\n%%13 = sub %%9, %%12\n"
                "%%14 = exp %%13\n%%15 = sum %%14 {axes = [2], keep = 1}\n"
                "%%16 = broadcast %%15 {shape = [2, 75, 150], map = [0, 1, 2]}\n%%17 = div %%14, %%16\n"
                "%%18 = contract %%17, %%2 {lhs = [0, 1, 3], rhs = [0, 3, 2], out = [0, 1, 2], dtype = f32}\n"
                "output %%18 \"y\"\n",
                skips[i].mask);
}

static void skip_inputs(size_t i, hn_tensor in[4]) {
    seed_by(skips[i].name);
    for (int k = 0; k < 3; k++) fill(&in[k], false, true);
    for (int64_t q = 0; q < QUERIES; q++)
        for (int64_t k = 0; k < KEYS; k++)
            hn_set_f(&in[3], q * KEYS + k, k > q + KEYS - QUERIES || q == skips[i].spoilt_row ? skips[i].hidden : 0);
    int64_t last = hn_tensor_n(&in[1]) - 3;
    if (skips[i].key != 0) hn_set_f(&in[1], last, skips[i].key);
    if (skips[i].value != 0) hn_set_f(&in[2], last, skips[i].value);
}

static void same_bits(size_t i, const built *b, kernel_fn *const *fn) {
    hn_arena a = {0};
    hn_tensor in[4], out[WAYS];
    void *buf[5];
    int64_t none[8] = {0};
    for (uint32_t k = 0; k < 4; k++) {
        make(&a, b->g, b->g->block[0].param[k], none + 1, &in[k]);
        buf[k] = in[k].data;
    }
    skip_inputs(i, in);
    for (int w = 0; w < WAYS; w++) {
        int64_t work = 0, scratch_b = 0;
        make(&a, b->g, b->g->block[0].result[0], none + 1, &out[w]);
        hn_dim_eval(b[w].g->dims, b[w].code.work, none + 1, &work);
        hn_dim_eval(b[w].g->dims, b[w].code.scratch_b, none + 1, &scratch_b);
        char *scratch = aligned_alloc(64, ((size_t)scratch_b + 127) / 64 * 64);
        buf[4] = out[w].data;
        fn[w](buf, none + 1, 0, work, scratch);
        free(scratch);
    }
    size_t size_b = (size_t)hn_tensor_n(&out[0]) * 4;
    ok(!memcmp(out[0].data, out[1].data, size_b), "skip/%s_changes_no_bit (%s)", skips[i].name, b[1].code.schedule);
    hn_arena_free(&a);
}

static void skipping(const char *dir) {
    static const char *const way[2][WAYS] = {{"attention block=64 skip=0", "attention block=64 skip=1"},
                                             {"attention block=256 skip=0", "attention block=256 skip=1"}};
    static built b[N_SKIPS][WAYS];
    const hn_dialect *d = hn_dialect_named("native");
    hn_str source = {0};
    hn_cpu_add_runtime(&source, "base convert scalar");
    for (size_t i = 0; i < N_SKIPS; i++)
        for (int w = 0; w < WAYS; w++) {
            hn_emit_how how = how_for(d);
            hn_str text = {0};
            char name[32];
            how.schedule = way[i % 2][w];
            skip_text(i, &text);
            snprintf(name, sizeof name, "s%zu_%d", i, w);
            built *x = &b[i][w];
            x->rc = hn_parse(text.text, text.n, name, &x->g, &x->err);
            if (!x->rc) x->rc = hn_emit_kernel(x->g, 0, "attention", name, &how, &x->arena, &x->code, &x->err);
            if (!ok(!x->rc, "skip/%s_emitted", skips[i].name)) printf("# %s\n", x->err.text);
            if (!x->rc)
                hn_str_addf(&source,
                            "%s\nvoid x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t);\nvoid "
                            "x%s(void *const *b, const int64_t *s, int64_t i, int64_t e, char *t) { %s(b, s, i, e, t); "
                            "}\n",
                            x->code.text, name, name, name);
            hn_str_free(&text);
        }
    void *so = compile(dir, d, &source);
    for (size_t i = 0; i < N_SKIPS; i++) {
        kernel_fn *fn[WAYS];
        bool all = true;
        for (int w = 0; w < WAYS; w++) {
            char name[32];
            snprintf(name, sizeof name, "xs%zu_%d", i, w);
            fn[w] = so ? (kernel_fn *)(uintptr_t)dlsym(so, name) : NULL;
            all &= fn[w] != NULL;
        }
        if (ok(all, "skip/%s_compiles", skips[i].name)) same_bits(i, b[i], fn);
        for (int w = 0; w < WAYS; w++) {
            hn_graph_free(b[i][w].g);
            hn_arena_free(&b[i][w].arena);
        }
    }
    hn_str_free(&source);
    if (so) dlclose(so);
}

/* Vectors that the rows of a tile share are loaded once, and constants of functions take no registers from its
 * accumulators: what the text tells the C compiler. */
static void registers(void) {
    static const struct {
        const char *name;
        bool keep, clear;
    } want[] = {{"last_sigmoid", true, true}, {"last_stride", true, false}, {"add_mul_relu", false, false}};
    const hn_emit_how how = how_for(hn_dialect_named("x86-64-v4"));
    for (size_t w = 0; w < sizeof want / sizeof *want; w++)
        for (int i = 0; i < N_CASES; i++) {
            if (strcmp(cases[i].name, want[w].name)) continue;
            built x = {.rc = HONE_E_INPUT};
            hn_str text = {0};
            hn_str_addf(&text, "ir 1\n%s", cases[i].text);
            if (hn_parse(text.text, text.n, cases[i].name, &x.g, &x.err) == HONE_OK)
                x.rc = hn_emit_kernel(x.g, 0, cases[i].kind, "k", &how, &x.arena, &x.code, &x.err);
            const char *body = x.rc ? NULL : strstr(x.code.text, "static void k(");
            ok(body && (strstr(body, "HNK_KEEP(") != NULL) == want[w].keep &&
                   (strstr(body, "HNK_CLEAR(") != NULL) == want[w].clear,
               "registers/%s", want[w].name);
            hn_graph_free(x.g);
            hn_arena_free(&x.arena);
            hn_str_free(&text);
        }
}

/* A kernel whose loads are narrower than its vectors has the types of both, whatever else is in its file. */
static void narrow_loads(void) {
    static const char text[] = "ir 1\ninput %0 : f32[2, 7, 56] \"x\"\n"
                               "%1 = broadcast %0 {shape = [2, 7, 2, 56, 2], map = [0, 1, 3]}\n"
                               "%2 = reshape %1 {shape = [2, 14, 112]}\noutput %2 \"y\"\n";
    const hn_emit_how how = how_for(hn_dialect_named("x86-64-v3"));
    built x = {.rc = HONE_E_INPUT};
    if (hn_parse(text, sizeof text - 1, "narrow", &x.g, &x.err) == HONE_OK)
        x.rc = hn_emit_kernel(x.g, 0, "map", "k", &how, &x.arena, &x.code, &x.err);
    ok(!x.rc && strstr(x.code.text, "shufflevector(*(const hnk_f32_x4u *)") &&
           strstr(x.code.text, "typedef float hnk_f32_x4u "),
       "narrow_loads/have_their_types %s", x.err.text);
    hn_graph_free(x.g);
    hn_arena_free(&x.arena);
}

/* A library as hone makes them, with the kernels alone. */
static bool write_library(const char *dir, const hn_str *source, const built *b) {
    char path[300];
    hn_str text = {0};
    hn_str_add(&text, "#include <stdint.h>\n");
    hn_str_add(&text, hn_carried_model_h());
    hn_str_add(&text, source->text);
    hn_str_add(&text, "static const hone_model_kernel kernels[] = {\n");
    for (int i = 0; i < N_CASES; i++)
        hn_str_addf(&text, b[i].rc ? "    {0},\n" : "    {\"\", \"\", \"\", \"\", xk%d},\n", i);
    hn_str_add(
        &text,
        "};\nstatic const hone_model *const targets[1];\n"
        "static const hone_model model = {.abi = HONE_MODEL_ABI, .kernel = kernels, .n_targets = 1, "
        ".targets = targets};\nstatic const hone_model *const targets[1] = {&model};\n"
        "__attribute__((visibility(\"default\"))) const hone_model *hone_model_query(void) { return &model; }\n");
    snprintf(path, sizeof path, "%s/model.c", dir);
    bool good = !text.failed && hn_write_file(path, text.text, text.n, NULL) == HONE_OK;
    hn_str_free(&text);
    return good;
}

static bool compile_far(hn_library *l, hone_err *err) {
    hn_command c = {0};
    hn_proc_result r = {0};
    hn_command_compiler(&l->model[0], NULL, NULL, &l->arena, &c);
    static const char *const rest[] = {"-O1", "-fno-tree-fre", "-shared", "model.c", "-o", "model.so", "-lm"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) hn_command_add(&c, rest[i]);
    hone_rc rc = hn_proc_run(&(hn_proc_spec){.argv = c.argv, .cwd = l->work, .cpu = -1}, NULL, &r, err);
    bool fine = !rc && r.end == HN_PROC_EXITED && r.code == 0;
    if (!rc && !fine) printf("# %s\n", r.err_tail);
    if (!rc) hn_proc_result_free(&r);
    return fine && hn_remote_build(l, err) == HONE_OK;
}

/* Dialect d of another processor: its compiler and its emulator, or nothing is tried. */
static void other_processor(const char *name, const char *dir) {
    static built b[N_CASES];
    static const hone_compile_options options;
    hone_err err = {0};
    hn_str source = {0};
    hn_library l = {
        .options = &options, .work = dir, .n_target = 1, .n_model = 1, .n_version = 1, .query = "hone_model_query"};
    hn_model m = {.lib = &l, .options = &options};
    l.target[0] = m.dialect = hn_dialect_named(name);
    l.model = &m;
    char *cc = m.dialect->compiler ? hn_which(m.dialect->compiler) : NULL;
    bool here = cc && hn_library_emulator(&l) && !hn_target_problem(&l, m.dialect);
    free(cc);
    if (!here) {
        skip(2 * N_CASES, "%s: no compiler or no emulator for it", name);
        return;
    }
    emit_all(b, m.dialect, &source);
    bool built_here = write_library(dir, &source, b) && compile_far(&l, &err);
    bool opened = built_here && !hn_ground_open(&m, "model.so", &remote, &err);
    if (!ok(opened, "%s/compiles", name)) printf("# %s\n", err.text);
    for (int i = 0; i < N_CASES; i++) {
        if (b[i].left_out) continue;
        remote_kernel = (uint32_t)i;
        if (ok(b[i].rc == HONE_OK, "%s/%s_emitted", name, cases[i].name) && remote.place)
            check(&cases[i], &b[i], far_away, name);
        hn_graph_free(b[i].g);
        hn_arena_free(&b[i].arena);
    }
    if (remote.place) remote.place->close(remote.state);
    remote = (hn_ground){0};
    hn_str_free(&source);
    hn_arena_free(&l.arena);
}

/* Does this machine run what is written for d? Rows that differ little from native are for the long run. */
static bool is_tried(const hn_dialect *d, const char *only) {
    const hn_dialect *native = hn_dialect_named("native");
    bool runs = hn_runs_here(d);
    bool alike = d != native && d->processor && d->vector_b == native->vector_b;
    return runs && (only ? !strcmp(only, d->name) : !alike || getenv("HONE_LONG"));
}

/* What to run: all, one by name, or every n-th job, so that several processes share the work. */
typedef struct share {
    const char *only; /* NULL: all */
    int at, of, n_seen;
} share;

static bool is_mine(share *s, const char *job) {
    if (s->only) return !strcmp(s->only, job);
    return s->n_seen++ % s->of == s->at;
}

/* usage: test_kernel [DIALECT | JOB | K/N] */
int main(int argc, char **argv) {
    char dir[] = "/tmp/hone-kernels-XXXXXX";
    hone_err err;
    share s = {.only = argc > 1 ? argv[1] : NULL, .of = 1};
    if (s.only && sscanf(s.only, "%d/%d", &s.at, &s.of) == 2 && s.of > 0) {
        s.only = NULL;
        s.at %= s.of;
    }
    if (!ok(mkdtemp(dir), "emit/folder")) return done_testing();
    if (is_mine(&s, "aarch64")) other_processor("aarch64", dir); /* the slowest jobs first, one for each of n */
    for (size_t i = 0; hn_cpu_dialects[i]; i++)
        if (is_tried(hn_cpu_dialects[i], s.only) && is_mine(&s, hn_cpu_dialects[i]->name))
            dialect(hn_cpu_dialects[i], dir);
    if (is_mine(&s, "faults")) faults(dir);
    if (is_mine(&s, "skip")) skipping(dir);
    if (is_mine(&s, "registers")) registers();
    if (is_mine(&s, "narrow_loads")) narrow_loads();
    if (!getenv("KEEP_KERNELS"))
        hn_remove_tree(dir, &err);
    else
        printf("# kept %s\n", dir);
    return done_testing();
}
