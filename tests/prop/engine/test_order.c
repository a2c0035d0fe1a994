/* Order on synthetic costs whose optimum lies where the seed says: every model beats random at equal budget. */
#include "../../unit/engine/synthetic.h"

enum { N_SEEDS = 8 };

typedef hone_space *(*maker)(void);

static hone_space *twelve(void) { return ordinal_space(12); }
static hone_space *sixty_flags(void) { return flag_space(60); }

/* Mean over the seeds of the log of the best cost, averaged over the second half of the curve. */
static double mean_log_best(const char *engine, const hone_space *space, size_t n, uint64_t n_seeds) {
    double sum = 0, *x = point_of(space);
    hone_err err;
    for (uint64_t seed = 0; seed < n_seeds; seed++) {
        hone_search *s = open_search(
            space, (hone_search_options){
                       .size = sizeof(hone_search_options), .engine = engine, .seed = seed, .no_default = true});
        double best = INFINITY, area = 0;
        for (size_t i = 0; i < n && !hone_search_ask(s, x, &err); i++) {
            double y = synthetic_cost(space, 1000 + seed, x);
            hone_search_tell(s, x, &(hone_outcome){.value = {y}}, &err);
            if (y < best) best = y;
            if (i >= n / 2) area += log(best) / (double)(n - n / 2);
        }
        sum += area / (double)n_seeds;
        hone_search_close(s);
    }
    free(x);
    return sum;
}

int main(void) {
    static const struct {
        const char *space;
        maker make;
        size_t n;
        const char *engine[6];
    } row[] = {
        {"mixed", mixed_space, 60, {"auto", "lfbo", "forest", "gp", NULL}},
        {"ordinals12", twelve, 60, {"auto", "lfbo", "forest", "gp", "ridge", NULL}},
        {"flags60", sixty_flags, 80, {"auto", "ridge", NULL}},
    };
    printf("# seeds 0..%d, costs 1000..%d\n", N_SEEDS - 1, 999 + N_SEEDS);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hone_space *space = row[i].make();
        double random = mean_log_best("random", space, row[i].n, N_SEEDS);
        for (size_t k = 0; row[i].engine[k]; k++) {
            double got = mean_log_best(row[i].engine[k], space, row[i].n, N_SEEDS);
            ok(got < random - 0.1, "engine/%s_beats_random_on_%s (%.2f, random %.2f)", row[i].engine[k], row[i].space,
               got, random);
        }
        hone_space_free(space);
    }
    return done_testing();
}
