/* Kernels of devices against the interpreter: nests as OpenCL C, run by the driver that is installed, and as CUDA C
 * by the shim; in one piece and in three, which must agree bit by bit. Without HONE_LONG a sample. */
#include "backend/device_lab.h"
#include "ir/interp.h"

#include <hone/device.h>

#include <math.h>

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

typedef struct built {
    hn_graph *g;
    hn_arena arena;
    hn_kernel_code code;
    hone_rc rc;
    hone_err err;
    bool wanted;
} built;

static uint64_t state;
static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}
static void seed_by(const char *name) {
    state = 88172645463325252u;
    for (; *name; name++) state = (state ^ (unsigned char)*name) * 1099511628211u;
    state |= 1;
}

/* As in test_kernel.c. */
static void fill(hn_tensor *t, bool edge, bool sums) {
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-30, -1e-30, 88.0, -80.5, 1.0, -1.0, 3e38};
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
static size_t size_of(const hn_tensor *t) { return (size_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b; }

static bool matches(const kernel_case *c, const hn_tensor *got, const hn_tensor *want, uint32_t i, bool edge) {
    double rtol = c->rtol > 0 ? c->rtol : 4e-6;
    if (got->dtype == HONE_F16) rtol = 2e-3;
    if (got->dtype == HONE_BF16) rtol = 1e-2;
    double atol = edge && strcmp(c->kind, "map") ? 200 * rtol : 5 * rtol;
    hn_match m = hn_tensor_compare(got, want, (hn_match_rule){rtol, atol});
    if (!m.same)
        printf("# %s, result %u: %lld wrong, at %lld: %.9g, not %.9g\n", c->name, i, (long long)m.n_wrong,
               (long long)m.at, hn_get_f(got, m.at), hn_get_f(want, m.at));
    return m.same;
}

static bool once(device_lab *l, const kernel_case *c, built *b, const char *name, const int64_t *values, bool edge) {
    hn_arena a = {0};
    const hn_blk *blk = &b->g->block[0];
    hn_tensor in[8], want[8], got[8], first[8];
    int64_t slots[8] = {0}, *s = slots + 1, work = 0;
    device_job j = {.code = &b->code, .name = name, .slot = slots};
    hone_err err;
    bool good = true;
    memcpy(s, values, 3 * sizeof *s);
    for (uint32_t i = 0; i < blk->n_param && good; i++) {
        good = make(&a, b->g, blk->param[i], s, &in[i]);
        bool corner = edge && strstr(c->name, "infinite");
        if (good) fill(&in[i], edge && !corner, strcmp(c->kind, "map") != 0);
        for (int64_t k = 0; good && corner && i == 1 && k < hn_tensor_n(&in[i]); k += 9) hn_set_f(&in[i], k, INFINITY);
        j.buf[j.n_buf] = in[i].data, j.size_b[j.n_buf++] = size_of(&in[i]);
    }
    if (!good || hn_interpret_block(b->g, 0, in, s, &a, want, &err)) return hn_arena_free(&a), false;
    for (uint32_t i = 0; i < blk->n_result; i++) {
        make(&a, b->g, blk->result[i], s, &got[i]);
        make(&a, b->g, blk->result[i], s, &first[i]);
        j.buf[j.n_buf] = got[i].data, j.size_b[j.n_buf++] = size_of(&got[i]);
    }
    hn_dim_eval(b->g->dims, b->code.work, s, &work);
    hn_dim_eval(b->g->dims, b->code.scratch_b, s, &j.scratch_b);
    for (int pieces = 1; pieces <= 3 && good; pieces += 2) {
        for (uint32_t i = 0; i < blk->n_result; i++) memset(got[i].data, 0x5a, size_of(&got[i]));
        for (int p = pieces; p-- > 0 && good;) { /* the last one first */
            j.begin = work * p / pieces, j.end = work * (p + 1) / pieces;
            if (j.begin < j.end) good = device_launch(l, &j);
        }
        for (uint32_t i = 0; i < blk->n_result && good && work; i++) {
            good = matches(c, &got[i], &want[i], i, edge);
            if (pieces > 1 && memcmp(first[i].data, got[i].data, size_of(&got[i])) != 0)
                good = false, printf("# %s: another result in pieces\n", c->name);
            memcpy(first[i].data, got[i].data, size_of(&got[i]));
        }
    }
    hn_arena_free(&a);
    return good && slots[0] == 0;
}

/* A case, with a schedule that is not the default one. */
typedef struct pick {
    const char *name, *schedule;
    const char *target; /* printed for this one of CUDA's, on its runs alone; NULL: on every run, for its target */
} pick;

static const pick picks[] = {
    {"matmul_tiles", "tile rows=2 cols=4 down=8 across=8 depth=8 stages=4", NULL},
    {"matmul_tiles", "tile rows=8 cols=8 down=16 across=16 depth=16 stages=4", "cuda:sm_80"}, /* more than 48 KiB */
    {"conv", "tile rows=4 cols=1 down=8 across=8 depth=4 stages=3", NULL},
    {"half_matmul_tiles", "mma warps=2 rows=2 cols=2 depth=16 stages=2", "cuda:sm_80"},
    {"half_matmul_tiles", "mma warps=4 rows=2 cols=8 depth=32 stages=4", "cuda:sm_80"}, /* likewise */
    {"half_matmul_odd", "mma warps=1 rows=1 cols=4 depth=16 stages=3",
     "cuda:sm_80"}, /* neighbours that are not there */
    {"attention_decode_one", "decode", "cuda:sm_80"},
    {"attention_decode_three", "decode parts=4 across=8", "cuda:sm_80"},
    {"attention_decode_four", "decode parts=2 across=4", "cuda:sm_80"},
    {"matmul_tiles", "tile rows=2 cols=4 down=8 across=8 depth=8 stages=4 producers=1",
     "cuda:sm_80"}, /* warps that copy */
    {"matmul_tiles", "tile rows=4 cols=4 down=16 across=16 depth=16 stages=3 producers=2", "cuda:sm_80"},
    {"conv", "tile rows=4 cols=4 down=8 across=8 depth=4 stages=2 producers=1", "cuda:sm_80"},
    {"half_matmul_tiles", "mma warps=4 rows=2 cols=8 depth=32 stages=4 producers=4", "cuda:sm_80"},
    {"half_matmul_odd", "mma warps=1 rows=1 cols=4 depth=16 stages=3 producers=1", "cuda:sm_80"},
    {"infinite_conv", "tile", NULL}, /* a corner of the window is infinite: not where it is outside of the image */
    {"infinite_half_conv", "mma", "cuda:sm_80"},
    {"infinite_half_conv", "mma warps=2 rows=1 cols=2 depth=16 stages=1", "cuda:sm_80"},
    {"bfloat_matmul_tiles", "mma warps=2 rows=1 cols=4 depth=16 stages=4", "cuda:sm_80"},
    {"matmul_tiles", "tile rows=2 cols=4 down=8 across=8 depth=16 stages=4 cluster=2", "cuda:sm_90a"}, /* clusters */
    {"matmul_tiles", "tile rows=4 cols=4 down=8 across=8 depth=16 stages=3 cluster=4", "cuda:sm_90a"},
    {"matmul", "tile rows=2 cols=2 down=8 across=8 depth=16 stages=3 cluster=2", "cuda:sm_90a"},
    {"conv", "tile rows=4 cols=4 down=8 across=8 depth=16 stages=2 cluster=2", "cuda:sm_90a"},
    {"half_matmul_tiles", "mma warps=1 rows=2 cols=2 depth=32 stages=4 cluster=4", "cuda:sm_90a"},
    {"bfloat_matmul_tiles", "mma warps=1 rows=1 cols=4 depth=32 stages=3 cluster=2", "cuda:sm_90a"},
};
enum { N_PICKS = sizeof picks / sizeof *picks };

static void emit(built *b, const kernel_case *c, const char *schedule, const char *id, const hn_dialect *d,
                 hn_str *kernels) {
    hn_emit_how how = {.dialect = d, .machine = hn_machine_of(d, &(hone_device){.isa = ""}), .schedule = schedule};
    hn_str text = {0};
    *b = (built){.wanted = true};
    hn_str_addf(&text, "ir 1\n%s", c->text);
    b->rc = hn_parse(text.text, text.n, "case", &b->g, &b->err);
    hn_str_free(&text);
    if (!b->rc) b->rc = hn_emit_kernel(b->g, 0, c->kind, id, &how, &b->arena, &b->code, &b->err);
    if (b->rc) return;
    hn_str_add(kernels, b->code.text);
}

static void check(device_lab *l, const kernel_case *c, built *b, const char *id) {
    bool same = true, symbolic = c->symbol[0][0] != 0;
    seed_by(c->name);
    for (int r = 0; r < (symbolic ? 3 : 1) && same; r++)
        for (int edge = 0; edge < 2 && same; edge++) same = once(l, c, b, id, c->symbol[r], edge);
    ok(same, "%s/%s (%s)", l->backend->name, c->name, b->code.schedule);
    if (!same && getenv("HONE_SHOW")) printf("%s\n", b->code.text);
}

/* Case number k of a run, and its schedule; NULL: it is not one of them. */
static const kernel_case *case_of(const hn_dialect *d, int k, int step, const char **schedule) {
    const char *only = getenv("HONE_CASE");
    const kernel_case *c = k < N_CASES ? &cases[k] : cases;
    *schedule = NULL;
    if (k < N_CASES) return (only ? strstr(c->name, only) != NULL : k % step == 0) ? c : NULL;
    const pick *p = &picks[k - N_CASES];
    *schedule = p->schedule;
    while (c < cases + N_CASES && strcmp(c->name, p->name) != 0) c++;
    if (c == cases + N_CASES) {
        ok(0, "picked/%s_is_a_case", p->name);
        return NULL;
    }
    bool on = (!only || strstr(c->name, only)) && (!p->target || strcmp(d->backend->name, "cuda") == 0);
    return on ? c : NULL;
}

/* Every step-th case, and those that are picked; the pattern of HONE_CASE alone where it is set. */
static void all_cases(const char *target, const hnd_driver *driver, int step) {
    static built b[N_CASES + N_PICKS];
    static const kernel_case *c[N_CASES + N_PICKS];
    static device_lab l;
    const hn_dialect *d = hn_dialect_named(target);
    hn_str kernels = {0}, helpers = {0};
    const char *schedule;
    if (!ok(d != NULL, "%s/is_a_target", target)) return;
    if (!device_open(&l, d->backend, driver)) {
        skip(1, "%s/cases: %s", target, l.why);
        return;
    }
    for (int i = 0; i < N_CASES + N_PICKS; i++) {
        char id[16];
        snprintf(id, sizeof id, "k%d", i);
        b[i].wanted = false;
        if (!(c[i] = case_of(d, i, step, &schedule))) continue;
        const char *own = i < N_CASES ? NULL : picks[i - N_CASES].target;
        emit(&b[i], c[i], schedule, id, own ? hn_dialect_named(own) : d, &kernels);
        if (!ok(!b[i].rc, "%s/%s_emitted", target, c[i]->name)) printf("# %s\n", b[i].err.text);
        if (!b[i].rc) hn_str_addf(&helpers, "%s ", b[i].code.helpers);
    }
    bool built_all = device_build(&l, helpers.text ? helpers.text : "", &kernels);
    ok(built_all, "%s/compiles", target);
    for (int i = 0; i < N_CASES + N_PICKS; i++) {
        char id[16];
        snprintf(id, sizeof id, "k%d", i);
        if (b[i].wanted && !b[i].rc && built_all) check(&l, c[i], &b[i], id);
        if (!b[i].wanted) continue;
        hn_graph_free(b[i].g);
        hn_arena_free(&b[i].arena);
    }
    hn_str_free(&kernels);
    hn_str_free(&helpers);
    device_close(&l);
}

int main(void) {
    bool whole = getenv("HONE_LONG") != NULL;
    all_cases("cuda:sm_80", &hnd_shim, whole ? 1 : 20);
    all_cases("opencl", &hnd_opencl, whole ? 1 : 40);
    return done_testing();
}
