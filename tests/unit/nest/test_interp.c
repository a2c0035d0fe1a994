/* The interpreter of nests: what the sketches for CPUs and for machines with blocks of threads make of kernels' bodies
 * computes what the graph interpreter does; what a nest must not do is found. */
#include "base/str.h"
#include "ir/interp.h"
#include "nest/barrier.h"
#include "nest/interp.h"
#include "nest/schedule.h"
#include "sketch/gpu.h"
#include "tap.h"

#include <stdlib.h>
#include <time.h>

typedef struct kernel_case {
    const char *name, *kind;
    const char *text; /* without "ir 1" */
    int64_t symbol[3][3];
    double rtol;
} kernel_case;

#define X "input %0 : f32[37] \"x\"\n"
#define XY X "input %1 : f32[37] \"y\"\n"
#define N3                                                                                                             \
    {                                                                                                                  \
        {5, 7, 3}, {1, 1, 1}, { 64, 33, 20 }                                                                           \
    }
static const kernel_case cases[] = {
#include "../backend/kernel_cases.inc"
};
enum { N_CASES = sizeof cases / sizeof *cases, STEPS = 1000000 };

static const hn_machine gpu = {.threads = 1024, .shared_b = 48 << 10, .warp = 32, .processors = 8};
static const hn_machine cpu = {.vector_b = 32,
                               .registers = 16,
                               .cores = 2,
                               .line_b = 64,
                               .l1d_b = 32 << 10,
                               .l2_b = 1 << 20,
                               .l3_b = 8 << 20,
                               .l1d_ways = 8,
                               .fma = true};

static uint64_t state = 88172645463325252u;
static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void fill(hn_tensor *t) {
    for (int64_t i = 0, n = hn_tensor_n(t); i < n; i++) {
        uint64_t r = next_random();
        if (hn_is_float(t->dtype))
            hn_set_f(t, i, (double)(int64_t)(r >> 40) / 2097152.0 - 4);
        else if (t->dtype == HONE_BOOL)
            hn_set_i(t, i, (int64_t)(r >> 20 & 1));
        else
            hn_set_i(t, i, (int64_t)((r >> 20) % 3));
    }
}

static bool make(hn_arena *a, const hn_graph *g, hn_val v, const int64_t *symbol, hn_tensor *out) {
    const hn_type *t = hn_type_of(g, v);
    int64_t dim[HN_RANK_MAX];
    for (size_t d = 0; d < t->rank; d++)
        if (!hn_dim_eval(g->dims, t->dim[d], symbol, &dim[d])) return false;
    return hn_tensor_new(a, t->dtype, t->rank, dim, out);
}

typedef enum verdict { NONE, LONG, GOOD, BAD } verdict;

static bool is_same(const kernel_case *c, const hn_tensor *got, const hn_tensor *want, const char *how) {
    double rtol = c->rtol > 0 ? c->rtol : 4e-6;
    if (got->dtype == HONE_F16) rtol = 2e-3;
    if (got->dtype == HONE_BF16) rtol = 1e-2;
    hn_match m = hn_tensor_compare(got, want, (hn_match_rule){rtol, 5 * rtol});
    if (!m.same)
        printf("# %s (%s): %lld wrong, at %lld: %.9g, not %.9g\n", c->name, how, (long long)m.n_wrong, (long long)m.at,
               hn_get_f(got, m.at), hn_get_f(want, m.at));
    return m.same;
}

/* The nest on random inputs against the graph interpreter. */
static verdict judge(const kernel_case *c, hn_graph *g, hn_nest *n, const int64_t *symbol, const char *how) {
    hn_arena a = {0};
    const hn_blk *blk = &g->block[0];
    hn_tensor in[8], want[8], got[8];
    hone_err err = {0};
    verdict v = GOOD;
    for (uint32_t i = 0; i < blk->n_param; i++) {
        if (!make(&a, g, blk->param[i], symbol, &in[i])) v = NONE;
        if (v == GOOD) fill(&in[i]);
    }
    if (v == GOOD && hn_interpret_block(g, 0, in, symbol, &a, want, &err)) v = NONE;
    for (uint32_t i = 0; v == GOOD && i < blk->n_result; i++)
        if (!make(&a, g, blk->result[i], symbol, &got[i])) v = NONE;
    hn_nest_run run = {.in = in, .out = got, .symbol = symbol, .steps = STEPS};
    hone_rc rc = v == GOOD ? hn_nest_interpret(n, &run, &err) : HONE_OK;
    if (rc == HONE_E_UNSUPPORTED) v = LONG;
    if (rc && rc != HONE_E_UNSUPPORTED) {
        v = BAD;
        printf("# %s (%s): %s\n", c->name, how, err.text);
    }
    for (uint32_t i = 0; v == GOOD && i < blk->n_result; i++)
        if (!is_same(c, &got[i], &want[i], how)) v = BAD;
    hn_arena_free(&a);
    return v;
}

/* One sketch with its cost model's knobs, or (values >= 0) others; NULL: the schedule that CPUs take. */
static verdict check_case(const kernel_case *c, const hn_sketch *s, const hn_machine *m, int which) {
    hn_arena a = {0};
    hn_graph *g = NULL;
    hn_str text = {0};
    hone_err err = {0};
    hn_nest *n;
    hn_knobs knobs = {0};
    int64_t setting[HN_KNOBS_MAX] = {0};
    const char *why = "";
    verdict v = NONE;
    hn_str_addf(&text, "ir 1\n%s", c->text);
    if (!hn_parse(text.text, text.n, c->name, &g, &err) && !hn_nest_lower(g, 0, c->kind, &a, &n, &err) &&
        s->fits(n, m, &knobs)) {
        for (int i = 0; i < knobs.n; i++)
            setting[i] = which < 0 ? knobs.knob[i].model : knobs.knob[i].value[(which + 3 * i) % knobs.knob[i].n];
        if (s->apply(n, m, setting, &why)) {
            v = BAD;
            if (hn_nest_barriers(n, &err) || hn_nest_verify_device(n, m, &err))
                printf("# %s (%s): %s\n", c->name, s->name, err.text);
            else
                v = judge(c, g, n, c->symbol[0], s->name);
            if (v == BAD && getenv("HONE_NESTS")) {
                hn_str out = {0};
                hn_nest_print(n, &out);
                printf("%s\n", out.text);
                hn_str_free(&out);
            }
        }
    }
    hn_str_free(&text);
    if (g) hn_graph_free(g);
    hn_arena_free(&a);
    return v;
}

static void check_sketch(const hn_sketch *s, const hn_machine *m, int which) {
    int count[4] = {0};
    int every = getenv("HONE_LONG") ? 1 : 6;
    for (int i = (which + 1) % every; i < N_CASES; i += every) count[check_case(&cases[i], s, m, which)]++;
    ok(count[BAD] == 0, "%s on %s, setting %d: %d kernels as the graph interpreter has them, %d wrong, %d too long",
       s->name, m == &cpu ? "CPUs" : "devices", which, count[GOOD], count[BAD], count[LONG]);
}

/* What a nest must not do, and how the error begins behind the statement's number; NULL: it may. */
#define IO "param p0 f32 64\nresult r0 f32 64\n"
#define SHARED IO "shared s0 f32 64\n"
#define PUT "  %0 = load f32 p0[i0]\n  store s0[i0] %0\n"
#define GET "  %1 = load f32 s0[-1*i0 + 63]\n  store r0[i0] %1\n}\n"
static const char *const wrong[][3] = {
    {"right", SHARED "group i0 < 64 {\n" PUT "  barrier\n" GET, NULL},
    {"read_after_write", SHARED "group i0 < 64 {\n" PUT GET, "with no barrier between"},
    {"undefined_shared", SHARED "group i0 < 64 {\n" GET, "which nothing has written"},
    {"undefined_in_the_next_block",
     SHARED "shared s1 f32 1\nparallel i2 < 2 {\ngroup i0 < 64 {\n  %2 = load f32 p0[0]\n  store s1[0] %2 if -1*i2\n"
            "  barrier\n  %3 = load f32 s1[0]\n  store r0[i0] %3\n}\n}\n",
     "which nothing has written"},
    {"write_after_read",
     SHARED "group i0 < 64 {\n" PUT "  barrier\n  %1 = load f32 s0[-1*i0 + 63]\n  store s0[i0] %1\n"
            "  store r0[i0] %1\n}\n",
     "has just read"},
    {"write_after_write", SHARED "group i0 < 64 {\n  %0 = load f32 p0[i0]\n  store s0[0] %0\n  store r0[i0] %0\n}\n",
     "has just written"},
    {"the_same_written", SHARED "group i0 < 64 {\n  %0 = load f32 p0[3]\n  store s0[0] %0\n  store r0[i0] %0\n}\n",
     NULL},
    {"undefined_register", IO "for i0 < 64 {\n  reg a0 f32 1\n  %0 = load f32 a0[0]\n  store r0[i0] %0\n}\n",
     "reads a register that nothing has written"},
    {"read_outside", IO "for i0 < 64 {\n  %0 = load f32 p0[i0 + 1]\n  store r0[i0] %0\n}\n",
     "is at element 64 of p0, which has 64"},
    {"read_before", IO "for i0 < 64 {\n  %0 = load f32 p0[i0 - 1]\n  store r0[i0] %0\n}\n",
     "is at element -1 of p0, which has 64"},
    {"guarded", IO "for i0 < 64 {\n  %0 = load f32 p0[i0 + 1] if -1*i0 + 62\n  store r0[i0] %0\n}\n", NULL},
    {"stored_outside", IO "for i0 < 65 {\n  %0 = load f32 p0[0]\n  store r0[i0] %0\n}\n",
     "is at element 64 of r0, which has 64"},
    {"stored_under_conditions", IO "for i0 < 65 {\n  %0 = load f32 p0[0]\n  store r0[i0] %0 if -1*i0 + 63\n}\n", NULL},
    {"not_stored", IO "for i0 < 63 {\n  %0 = load f32 p0[0]\n  store r0[i0] %0\n}\n",
     "element 63 of result 0 is never written"},
    {"items_differ", IO "parallel i0 < 64 {\n  %0 = load f32 p0[i0]\n  store r0[i0] %0\n  store r0[0] %0\n}\n",
     "which another work item has written otherwise"},
    {"copied",
     SHARED "group i0 < 16 {\n  copy s0[4*i0] p0[4*i0] 4\n  commit\n  wait 0\n  barrier\n  for i1 < 4 {\n"
            "    %0 = load f32 s0[-4*i0 + i1 + 60]\n    store r0[4*i0 + i1] %0\n  }\n}\n",
     NULL},
    {"not_waited_for",
     SHARED "group i0 < 16 {\n  copy s0[4*i0] p0[4*i0] 4\n  commit\n  wait 1\n  barrier\n  for i1 < 4 {\n"
            "    %0 = load f32 s0[4*i0 + i1]\n    store r0[4*i0 + i1] %0\n  }\n}\n",
     "a copy that was not waited for"},
    {"copied_crooked", SHARED "group i0 < 15 {\n  copy s0[4*i0] p0[4*i0 + 1] 4\n}\n", "no multiple of its length"},
    {"block_sum_by_one",
     IO "reg a0 f32 1\n%0 = const f32 0x0p+0\nstore a0[0] %0\ngroup i0 < 48 {\n  %1 = load f32 p0[i0]\n"
        "  update a0[0] add %1 if i0 - 3\n}\n%2 = load f32 a0[0]\nfor i1 < 64 {\n  store r0[i1] %2\n}\n",
     NULL},
};

static void check_wrong(const char *const *w) {
    hn_arena a = {0};
    hn_nest *n;
    hone_err err = {0};
    int64_t size = 64, symbol[1] = {0};
    hn_tensor in, out;
    hone_rc rc = hn_nest_parse(w[1], &a, hn_dims_new(&a), &n, &err);
    bool room = hn_tensor_new(&a, HONE_F32, 1, &size, &in) && hn_tensor_new(&a, HONE_F32, 1, &size, &out);
    for (int64_t i = 0; i < size && room; i++) hn_set_f(&in, i, (double)i);
    hn_nest_run run = {.in = &in, .out = &out, .symbol = symbol};
    if (!rc && room) rc = hn_nest_interpret(n, &run, &err);
    bool fine = w[2] ? rc == HONE_E_INPUT && strstr(err.text, w[2]) : rc == HONE_OK;
    ok(fine, "interpreter: %s", w[0]);
    if (!fine) printf("# %s\n", rc ? err.text : "nothing was found");
    hn_arena_free(&a);
}

int main(void) {
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) check_wrong(wrong[i]);
    for (int i = 0; hn_sketches[i]; i++) check_sketch(hn_sketches[i], &cpu, -1);
    for (int which = -1; which < (getenv("HONE_LONG") ? 3 : 0); which++)
        for (int i = 0; hn_gpu_sketches[i]; i++) check_sketch(hn_gpu_sketches[i], &gpu, which);
    return done_testing();
}
