/* Passes keep what a graph means: random graphs, run by the interpreter as they are and after each pass.
 *
 * In exact mode every bit of every result stays (but for what NaNs carry), save where a contraction takes part, whose
 * sums are rounded; in relaxed mode results stay within a tolerance where the graph has no infinities or NaNs. The seed
 * of a graph is in the name of its test: HONE_SEED=N runs that one alone and prints it.
 */
#include "../random_graph.h"
#include "base/str.h"
#include "ir/interp.h"
#include "pass/pass.h"
#include "tap.h"

#include <math.h>

enum { N_GRAPHS = 60, SIZE = 3 };

static bool run(const hn_graph *g, uint64_t seed, bool tame, hn_arena *a, hn_tensor *out, hone_err *err) {
    static const int64_t shape[3][3] = {{2, 3, 4}, {SIZE, 3, 4}, {3, 1, 0}};
    static const double odd[] = {0.0, -0.0, -0.0, -0.0, 1, INFINITY, NAN, -3, 0.25};
    hn_rng r = hn_rng_make(seed, 9);
    hn_tensor in[3];
    for (size_t i = 0; i < 3; i++) {
        if (!hn_tensor_new(a, HONE_F32, i == 2 ? 2 : 3, shape[i], &in[i])) return false;
        for (int64_t k = 0; k < hn_tensor_n(&in[i]); k++) {
            bool plain = tame || hn_rng_below(&r, 2);
            hn_set_f(&in[i], k, plain ? hn_rng_normal(&r) : odd[hn_rng_below(&r, sizeof odd / sizeof *odd)]);
        }
    }
    return !hn_interpret(g, in, a, out, NULL, err);
}

static bool has_op(const hn_graph *g, hn_op op) {
    for (uint32_t i = 0; i < g->block[0].n_node; i++)
        if (g->node[g->block[0].node[i]].op == op) return true;
    return false;
}

static bool same_bits(const hn_tensor *a, const hn_tensor *b, bool signs) {
    if (a->rank != b->rank || memcmp(a->dim, b->dim, a->rank * sizeof *a->dim) != 0) return false;
    for (int64_t i = 0; i < hn_tensor_n(a); i++) {
        double x = hn_get_f(a, i), y = hn_get_f(b, i);
        if (!(isnan(x) && isnan(y)) && !(x == y && (!signs || !signbit(x) == !signbit(y)))) return false;
    }
    return true;
}

/* How closely the results of a graph must agree. FREE: not at all, since min and max leave open which of 0 and -0 they
 * give, and a division makes infinities of either sign of it; that such graphs pass the verifier and run still counts.
 */
typedef enum closeness { BITS, VALUES, NEARLY, FREE } closeness;

static closeness closeness_of(const hn_graph *g, bool tame) {
    if (tame || has_op(g, HN_OP_CONTRACT) || has_op(g, HN_OP_RSUM)) return NEARLY;
    bool chooses = has_op(g, HN_OP_MIN) || has_op(g, HN_OP_MAX) || has_op(g, HN_OP_RMIN) || has_op(g, HN_OP_RMAX);
    bool divides = has_op(g, HN_OP_DIV) || has_op(g, HN_OP_RECIP) || has_op(g, HN_OP_RSQRT) || has_op(g, HN_OP_POW);
    return chooses && divides ? FREE : chooses ? VALUES : BITS;
}

static bool same(const hn_tensor *a, const hn_tensor *b, closeness c) {
    if (c == FREE) return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof *a->dim);
    return c != NEARLY ? same_bits(a, b, c == BITS) : hn_tensor_compare(b, a, (hn_match_rule){1e-3, 1e-3}).same;
}

static void explain(const hn_graph *before, const hn_graph *after, const char *pass, const hone_err *err) {
    hn_str s = {0};
    hn_print(before, &s);
    printf("# after %s: %s\n%s", pass, err->text, s.text ? s.text : "");
    hn_str_free(&s);
    hn_print(after, &s);
    printf("# becomes\n%s", s.text ? s.text : "");
    hn_str_free(&s);
}

/* NULL, or the pass after which something differs. */
static const char *first_wrong(const hn_graph *before, hn_graph *g, uint64_t seed, bool tame, hone_err *err) {
    hn_arena a = {0};
    hn_tensor want[3], got[3];
    const char *wrong = NULL;
    unsigned have = 0;
    closeness close = closeness_of(before, tame);
    if (!run(before, seed, tame, &a, want, err)) wrong = "nothing";
    for (size_t p = 0; hn_passes[p] && !wrong; p++) {
        if (hn_run_pass(g, hn_passes[p], (hn_pass_how){.relaxed = tame, .bytes = seed & 1}, &have, NULL, err) ||
            !run(g, seed, tame, &a, got, err))
            wrong = hn_passes[p]->name;
        for (size_t i = 0; i < 3 && !wrong; i++)
            if (!same(&want[i], &got[i], close)) wrong = hn_passes[p]->name;
    }
    hn_arena_free(&a);
    return wrong;
}

static void check_graph(uint64_t seed, bool tame) {
    hn_graph *g = random_graph(seed, tame);
    hone_err err = {0};
    if (!hn_graph_ok(g)) {
        ok(0, "meaning/graph_%llu: %s", (unsigned long long)seed, g->err.text);
    } else {
        hn_graph *copy = hn_copy_graph(g);
        const char *wrong = first_wrong(g, copy, seed, tame, &err);
        if (!ok(!wrong, "meaning/%s_graph_%llu", tame ? "relaxed" : "exact", (unsigned long long)seed))
            explain(g, copy, wrong, &err);
        hn_graph_free(copy);
    }
    hn_graph_free(g);
}

int main(void) {
    const char *one = getenv("HONE_SEED");
    uint64_t from = one ? strtoull(one, NULL, 10) : 1, n = one ? 1 : getenv("HONE_LONG") ? 100 * N_GRAPHS : N_GRAPHS;
    for (uint64_t seed = from; seed < from + n; seed++) {
        check_graph(seed, false);
        check_graph(seed, true);
    }
    return done_testing();
}
