/* The interpreter of nests: what the sketches for CPUs and for machines with blocks of threads make of kernels' bodies
 * computes what the graph interpreter does; what a nest must not do is found. */
#include "base/str.h"
#include "ir/interp.h"
#include "nest/barrier.h"
#include "nest_lab.h"

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
enum { N_CASES = sizeof cases / sizeof *cases };

static verdict check_case(const kernel_case *c, const hn_sketch *s, const hn_machine *m, int which) {
    hn_graph *g = NULL;
    hn_str text = {0};
    hone_err err = {0};
    verdict v = NONE;
    hn_str_addf(&text, "ir 1\n%s", c->text);
    if (!hn_parse(text.text, text.n, c->name, &g, &err))
        v = judge_sketch(c->name, c->rtol, g, 0, c->kind, c->symbol[0], s, m, which);
    hn_str_free(&text);
    if (g) hn_graph_free(g);
    return v;
}

static void check_sketch(const hn_sketch *s, const hn_machine *m, int which) {
    int count[4] = {0};
    bool takes_most = !strcmp(s->name, "plain") || !strcmp(s->name, "grid");
    int every = getenv("HONE_LONG") ? 1 : takes_most ? 36 : 12;
    for (int i = (which + 1) % every; i < N_CASES; i += every) count[check_case(&cases[i], s, m, which)]++;
    ok(count[BAD] == 0, "%s on %s, setting %d: %d kernels as the graph interpreter has them, %d wrong, %d too long",
       s->name, m == &cpu ? "CPUs" : "devices", which, count[GOOD], count[BAD], count[LONG]);
}

/* What a nest must not do, and how the error begins behind the statement's number; NULL: it may. */
#define IO "param p0 f32 64\nresult r0 f32 64\n"
#define SHARED IO "shared s0 f32 64\n"
#define PUT "  %0 = load f32 p0[i0]\n  store s0[i0] %0\n"
#define GET "  %1 = load f32 s0[-1*i0 + 63]\n  store r0[i0] %1\n}\n"
/* A ring of two stages between two roles; what stands in the places. */
#define RING(empty, copies, full, turns)                                                                               \
    "param p0 f32 64\nresult r0 f32 64\nshared s0 f32 32\ngate g0 i64 2\ngate g1 i64 2\nrole i0 < 1 {\ngroup i1 < 4 "  \
    "{\n"                                                                                                              \
    "for i2 < 4 {\n" empty "  copy s0[4*i1 + 16*mod(i2, 2)] p0[4*i1 + 16*i2] 4\n  arrive g0[mod(i2, 2)]" copies        \
    "\n}\n}\n}\nrole i3 < 1 {\ngroup i4 < 16 {\nfor i5 < " turns " {\n" full                                           \
    "  %0 = load f32 s0[-1*i4 + 16*mod(i5, 2) + 15]\n  store r0[i4 + 16*i5] %0\n  arrive g1[mod(i5, 2)]\n}\n}\n}\n"
#define EMPTY "  await g1[mod(i2, 2)] phase mod(floordiv(i2, 2) + 1, 2)\n"
#define FULL "  await g0[mod(i5, 2)] phase mod(floordiv(i5, 2), 2)\n"
/* Two blocks of a cluster, each of which copies half of a tile and reads the other half. */
#define CLUSTER(to, push, barrier)                                                                                     \
    "param p0 f32 64\nresult r0 f32 64\nshared s0 f32 64\nparallel i0 < 1 {\ncluster i1 < 2 {\ngroup i2 < 8 {\n  "     \
    "copy "                                                                                                            \
    "s0[" to "] p0[32*i1 + 4*i2] 4\n  commit\n  wait 0\n" push barrier                                                 \
    "  for i3 < 4 {\n    %0 = load f32 s0[-32*i1 + -4*i2 + i3 + 60]\n    store r0[32*i1 + 4*i2 + i3] %0\n  "           \
    "}\n}\n}\n}\n"
#define PART "32*i1 + 4*i2"
#define PUSH "  push s0[32*i1 + 4*i2] 4\n"
static const char *const wrong[][3] = {
    {"cluster", CLUSTER(PART, PUSH, "  barrier cluster\n"), NULL},
    {"cluster_without_barrier", CLUSTER(PART, PUSH, ""), "with no barrier of the cluster between"},
    {"cluster_with_a_block's_barrier", CLUSTER(PART, PUSH, "  barrier\n"), "with no barrier of the cluster between"},
    {"cluster_pushes_nothing", CLUSTER(PART, "", "  barrier cluster\n"), "which nothing has written"},
    {"cluster_pushes_another_part", CLUSTER(PART, "  push s0[-32*i1 + 4*i2 + 32] 4\n", "  barrier cluster\n"),
     "which nothing has written"},
    {"cluster_copies_one_part", CLUSTER("4*i2", "  push s0[4*i2] 4\n", "  barrier cluster\n"),
     "with no barrier of the cluster between"},
    {"cluster_pushes_outside", CLUSTER(PART, "  push s0[32*i1 + 4*i2 + 64] 4\n", "  barrier cluster\n"),
     "is at element 64 of s0, which has 64"},
    {"cluster_pushes_crooked", CLUSTER(PART, "  push s0[32*i1 + 4*i2 + 1] 4\n", "  barrier cluster\n"),
     "no multiple of its length"},
    {"cluster_pushes_over_a_read",
     CLUSTER(PART, PUSH, "  barrier cluster\n  %9 = load f32 s0[-32*i1 + -4*i2 + 60]\n" PUSH "  barrier cluster\n"),
     "has just read with no barrier of the cluster between"},
    {"ring", RING(EMPTY, " copies", FULL, "4"), NULL},
    {"ring_not_awaited", RING(EMPTY, " copies", "", "4"), "which another role has written with no gate between"},
    {"ring_phase_forgotten", RING(EMPTY, " copies", "  await g0[mod(i5, 2)] phase 0\n", "4"), "never ends"},
    {"ring_of_one_slot", RING("  await g1[0] phase mod(i2 + 1, 2)\n", " copies", FULL, "4"), "never ends"},
    {"ring_reused_early", RING("", " copies", FULL, "4"), "never ends"},
    {"ring_copies_left", RING(EMPTY, "", FULL, "4"), "a copy that was not waited for"},
    {"ring_of_fewer_turns", RING(EMPTY, " copies", FULL, "3"), "is never written"},
    {"ring_slot_outside", RING("  await g1[i2] phase 1\n", " copies", FULL, "4"), "is at slot 2 of a gate that has 2"},
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

/* Neighbouring blocks that bring tiles for each other. */
static const char *const clusters[][2] = {
    {"matmul_transposed", "tile rows=2 cols=1 down=8 across=8 depth=16 stages=2 cluster=2"},
    {"matmul_static", "tile rows=2 cols=1 down=8 across=8 depth=16 stages=3 cluster=4"}, /* two blocks of nothing */
    {"matmul", "tile rows=1 cols=1 down=8 across=8 depth=16 stages=3 cluster=2"},        /* a grid of symbols */
    {"half_matmul_tiles", "mma warps=1 rows=2 cols=2 depth=32 stages=3 cluster=2"},
};

static void check_clusters(const char *const *c) {
    const kernel_case *k = cases;
    hn_arena a = {0};
    hn_graph *g = NULL;
    hn_str text = {0};
    hone_err err = {0};
    hn_nest *n;
    hn_knobs knobs;
    int64_t setting[HN_KNOBS_MAX];
    const hn_sketch *s = *c[1] == 't' ? &hn_sketch_gpu_tile : &hn_sketch_gpu_mma;
    while (strcmp(k->name, c[0]) != 0) k++;
    hn_str_addf(&text, "ir 1\n%s", k->text);
    bool fits = !hn_parse(text.text, text.n, k->name, &g, &err) && !hn_nest_lower(g, 0, k->kind, &a, &n, &err) &&
                s->fits(n, &clustered, &knobs) && !hn_sketch_read(c[1], s, &knobs, setting, &err);
    verdict v = fits ? judge_setting(k->name, k->rtol, g, 0, n, k->symbol[0], s, &clustered, setting) : NONE;
    ok(v == GOOD, "%s under '%s' is as the graph interpreter has it (%s)", c[0], c[1], err.text);
    hn_str_free(&text);
    if (g) hn_graph_free(g);
    hn_arena_free(&a);
}

int main(void) {
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) check_wrong(wrong[i]);
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) check_clusters(clusters[i]);
    for (int i = 0; hn_sketches[i]; i++) check_sketch(hn_sketches[i], &cpu, -1);
    for (int which = -1; which < (getenv("HONE_LONG") ? 3 : 0); which++)
        for (int i = 0; hn_gpu_sketches[i]; i++) check_sketch(hn_gpu_sketches[i], &gpu, which);
    return done_testing();
}
