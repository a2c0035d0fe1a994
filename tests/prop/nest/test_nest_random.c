/* Kernels of random graphs, as the passes fuse them: the nests that schedules for CPUs and for devices make of them
 * compute what the graph interpreter does. The seed of a graph is in the name of its test: HONE_SEED=N runs that one
 * alone. */
#include "../../unit/nest/nest_lab.h"
#include "../random_graph.h"
#include "pass/pass.h"

enum { N_GRAPHS = 125, SIZE = 3 };

/* The first sketch of the list that fits, as a backend takes it. */
static verdict judge_first(const char *name, hn_graph *g, const hn_node *k, const int64_t *symbol,
                           const hn_sketch *const *list, const hn_machine *m) {
    const hn_attr *body = hn_attr_get(k, HN_A_BODY), *kind = hn_attr_get(k, HN_A_KIND);
    verdict v = NONE;
    for (int i = 0; list[i] && v == NONE; i++)
        v = judge_sketch(name, 1e-4, g, body->blocks[0], kind->name, symbol, list[i], m, -1);
    return v;
}

static void check_graph(uint64_t seed, int count[4]) {
    hn_graph *g = random_graph(seed, true);
    hone_err err = {0};
    int64_t symbol[8] = {SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE};
    char name[40];
    int bad = count[BAD];
    snprintf(name, sizeof name, "graph %llu", (unsigned long long)seed);
    bool fused = hn_graph_ok(g) && !hn_run_passes(g, NULL, (hn_pass_how){.bytes = false}, NULL, NULL, &err);
    for (uint32_t i = 0; fused && i < g->block[0].n_node; i++) {
        const hn_node *k = &g->node[g->block[0].node[i]];
        if (k->op != HN_OP_KERNEL) continue;
        count[judge_first(name, g, k, symbol, hn_sketches, &cpu)]++;
        count[judge_first(name, g, k, symbol, hn_gpu_sketches, &gpu)]++;
    }
    ok(fused && count[BAD] == bad, "nests/graph_%llu", (unsigned long long)seed);
    hn_graph_free(g);
}

int main(void) {
    const char *one = getenv("HONE_SEED");
    uint64_t from = one ? strtoull(one, NULL, 10) : 1, n = one ? 1 : getenv("HONE_LONG") ? 40 * N_GRAPHS : N_GRAPHS;
    int count[4] = {0};
    for (uint64_t seed = from; seed < from + n; seed++) check_graph(seed, count);
    ok(count[GOOD] > 0, "%d kernels right, %d wrong, %d too long, %d without a nest", count[GOOD], count[BAD],
       count[LONG], count[NONE]);
    return done_testing();
}
