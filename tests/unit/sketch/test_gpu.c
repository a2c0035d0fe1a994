/* Every sketch for GPUs on the nests of all kernel cases (tests/unit/backend/kernel_cases.inc): what fits is applied
 * with the cost model's knobs and with others, and the nest that comes out holds the invariants, those of a
 * device, too. */
#include "base/err.h"
#include "base/str.h"
#include "ir/graph.h"
#include "nest/barrier.h"
#include "sketch/gpu.h"
#include "tap.h"

typedef struct kernel_case {
    const char *name, *kind;
    const char *text;
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

static const hn_machine machine = {.threads = 1024, .shared_b = 48 << 10, .warp = 32, .processors = 8};

/* The nest of a case; NULL: it has none. */
static hn_nest *nest_of(const kernel_case *c, hn_arena *a, hn_graph **g) {
    hn_str text = {0};
    hone_err err = {0};
    hn_nest *n = NULL;
    hn_str_addf(&text, "ir 1\n%s", c->text);
    *g = NULL;
    if (hn_parse(text.text, text.n, c->name, g, &err) || hn_nest_lower(*g, 0, c->kind, a, &n, &err)) n = NULL;
    hn_str_free(&text);
    return n;
}

/* One setting: knob `which` at its value number `value`, the others as the cost model has them; which < 0: all so. */
static bool apply_one(const kernel_case *c, const hn_sketch *s, int which, int value, int *fits) {
    hn_arena a = {0};
    hn_graph *g;
    hn_knobs knobs = {0};
    int64_t setting[HN_KNOBS_MAX] = {0};
    hone_err err = {0};
    const char *why = "";
    bool good = true;
    hn_nest *n = nest_of(c, &a, &g);
    *fits = 0;
    if (n && s->fits(n, &machine, &knobs)) {
        *fits = knobs.n;
        for (int i = 0; i < knobs.n; i++) setting[i] = knobs.knob[i].model;
        if (which >= 0) setting[which] = knobs.knob[which].value[value % knobs.knob[which].n];
        good = s->apply(n, &machine, setting, &why) && hn_nest_verify(n, &err) == HONE_OK &&
               hn_nest_barriers(n, &err) == HONE_OK && hn_nest_verify_device(n, &machine, &err) == HONE_OK &&
               hn_arena_ok(&a);
        for (int i = 0; i < knobs.n && !good; i++)
            printf("# %s %s=%lld\n", i ? "" : s->name, knobs.knob[i].name, (long long)setting[i]);
        if (!good) printf("# %s: %s%s\n", c->name, why, err.text);
    }
    if (g) hn_graph_free(g);
    hn_arena_free(&a);
    return good;
}

static void check_sketch(const hn_sketch *s) {
    const int step = getenv("HONE_LONG") ? 3 : 6; /* of a knob's values */
    int applied = 0, failed = 0, settings = 0;
    for (int i = 0; i < N_CASES; i++) {
        int knobs, none;
        bool good = apply_one(&cases[i], s, -1, 0, &knobs);
        applied += knobs > 0;
        for (int k = 0; k < knobs; k++)
            for (int v = i % step; v < 8; v += step, settings++) good &= apply_one(&cases[i], s, k, v, &none);
        failed += !good;
    }
    ok(failed == 0, "%s: %d of %d kernels with it are nests that hold", s->name, applied - failed, applied);
    ok(applied > 0, "%s: some kernel has it (%d settings)", s->name, settings);
}

int main(void) {
    for (int i = 0; hn_gpu_sketches[i]; i++) check_sketch(hn_gpu_sketches[i]);
    return done_testing();
}
