/* tests/unit/nest/nest_lab.h — kernels' bodies under schedules, judged by the interpreter of nests against that of
 * graphs, on random inputs.
 */
#ifndef HN_NEST_LAB_H
#define HN_NEST_LAB_H

#include "base/str.h"
#include "ir/interp.h"
#include "nest/barrier.h"
#include "nest/interp.h"
#include "sketch/gpu.h"
#include "tap.h"

#include <stdlib.h>

enum { STEPS = 1000000, PARTS = 12 };

static const hn_machine gpu = {.threads = 1024, .shared_b = 48 << 10, .warp = 32, .processors = 8};
static const hn_machine clustered = {
    .threads = 1024, .shared_b = 48 << 10, .warp = 32, .processors = 8, .copies = true, .clusters = true};
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

static void fill_tensor(hn_tensor *t) {
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

static bool make_tensor(hn_arena *a, const hn_graph *g, hn_val v, const int64_t *symbol, hn_tensor *out) {
    const hn_type *t = hn_type_of(g, v);
    int64_t dim[HN_RANK_MAX];
    for (size_t d = 0; d < t->rank; d++)
        if (!hn_dim_eval(g->dims, t->dim[d], symbol, &dim[d])) return false;
    return hn_tensor_new(a, t->dtype, t->rank, dim, out);
}

typedef enum verdict { NONE, LONG, GOOD, BAD } verdict;

static bool is_same(const char *name, double rtol, const hn_tensor *got, const hn_tensor *want, const char *how) {
    if (rtol <= 0) rtol = 4e-6;
    if (got->dtype == HONE_F16) rtol = 2e-3;
    if (got->dtype == HONE_BF16) rtol = 1e-2;
    hn_match m = hn_tensor_compare(got, want, (hn_match_rule){rtol, 5 * rtol});
    if (!m.same)
        printf("# %s (%s): %lld wrong, at %lld: %.9g, not %.9g\n", name, how, (long long)m.n_wrong, (long long)m.at,
               hn_get_f(got, m.at), hn_get_f(want, m.at));
    return m.same;
}

/* The nest on random inputs against the graph interpreter. */
static verdict judge(const char *name, double rtol, hn_graph *g, hn_block body, hn_nest *n, const int64_t *symbol,
                     const char *how) {
    hn_arena a = {0};
    const hn_blk *blk = &g->block[body];
    hn_tensor in[PARTS], want[PARTS], got[PARTS];
    hone_err err = {0};
    verdict v = blk->n_param <= PARTS && blk->n_result <= PARTS ? GOOD : NONE;
    for (uint32_t i = 0; v == GOOD && i < blk->n_param; i++) {
        if (!make_tensor(&a, g, blk->param[i], symbol, &in[i])) v = NONE;
        if (v == GOOD) fill_tensor(&in[i]);
    }
    if (v == GOOD && hn_interpret_block(g, body, in, symbol, &a, want, &err)) v = NONE;
    for (uint32_t i = 0; v == GOOD && i < blk->n_result; i++)
        if (!make_tensor(&a, g, blk->result[i], symbol, &got[i])) v = NONE;
    hn_nest_run run = {.in = in, .out = got, .symbol = symbol, .steps = STEPS};
    hone_rc rc = v == GOOD ? hn_nest_interpret(n, &run, &err) : HONE_OK;
    if (rc == HONE_E_UNSUPPORTED) v = LONG;
    if (rc && rc != HONE_E_UNSUPPORTED) {
        v = BAD;
        printf("# %s (%s): %s\n", name, how, err.text);
    }
    for (uint32_t i = 0; v == GOOD && i < blk->n_result; i++)
        if (!is_same(name, rtol, &got[i], &want[i], how)) v = BAD;
    hn_arena_free(&a);
    return v;
}

/* The nest, as lowered, under a sketch with these values of its knobs. NONE: the sketch refuses it. */
static verdict judge_setting(const char *name, double rtol, hn_graph *g, hn_block body, hn_nest *n,
                             const int64_t *symbol, const hn_sketch *s, const hn_machine *m, const int64_t *setting) {
    hone_err err = {0};
    const char *why = "";
    verdict v = BAD;
    if (!s->apply(n, m, setting, &why)) return NONE;
    if (hn_nest_barriers(n, &err) || hn_nest_verify_device(n, m, &err))
        printf("# %s (%s): %s\n", name, s->name, err.text);
    else
        v = judge(name, rtol, g, body, n, symbol, s->name);
    if (v == BAD && getenv("HONE_NESTS")) {
        hn_str out = {0};
        hn_nest_print(n, &out);
        printf("%s\n", out.text);
        hn_str_free(&out);
    }
    return v;
}

/* The body under a sketch; which: 0 and up for other values of the knobs than the cost model's. NONE: it has no nest,
 * or the sketch does not fit. */
static verdict judge_sketch(const char *name, double rtol, hn_graph *g, hn_block body, const char *kind,
                            const int64_t *symbol, const hn_sketch *s, const hn_machine *m, int which) {
    hn_arena a = {0};
    hone_err err = {0};
    hn_nest *n;
    hn_knobs knobs = {0};
    int64_t setting[HN_KNOBS_MAX] = {0};
    verdict v = NONE;
    bool fits = !hn_nest_lower(g, body, kind, &a, &n, &err) && s->fits(n, m, &knobs);
    for (int i = 0; i < knobs.n && fits; i++)
        setting[i] = which < 0 ? knobs.knob[i].model : knobs.knob[i].value[(which + 3 * i) % knobs.knob[i].n];
    if (fits) v = judge_setting(name, rtol, g, body, n, symbol, s, m, setting);
    hn_arena_free(&a);
    return v;
}

#endif
