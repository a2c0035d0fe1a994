/* The engine that the page adds is found by its name and searches: with the same evaluations it ends below random
 * draws. */
#include "../../unit/engine/synthetic.h"

static double best_of(const hone_space *space, const char *engine, uint64_t seed) {
    hone_search *s =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .engine = engine, .seed = seed});
    double *x = point_of(space), best = INFINITY;
    hone_err err;
    for (int i = 0; s && i < 100; i++) {
        if (hone_search_ask(s, x, &err)) break;
        double cost = synthetic_cost(space, 5, x);
        hone_search_tell(s, x, &(hone_outcome){.value = {cost}}, &err);
        if (cost < best) best = cost;
    }
    free(x);
    hone_search_close(s);
    return best;
}

int main(void) {
    hone_space *space = mixed_space();
    int better = 0;
    for (uint64_t seed = 1; seed <= 15; seed++)
        better += best_of(space, "greedy", seed) < best_of(space, "random", seed);
    ok(better > 10, "greedy/beats_random_draws (%d of 15)", better);
    hone_space_free(space);
    return done_testing();
}
