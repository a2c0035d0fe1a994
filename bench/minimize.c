/* bench/minimize.c — the reduction on planted winners: how often exactly what matters is found, in how many
 * measurements. Arguments: runs per row. Prints markdown rows. See bench/minimize.sh. */
#include "../tests/unit/reduce/planted.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct scene {
    const char *name;
    size_t n;
    double effect[8];
    size_t n_effects;
    bool pair;    /* the first two work together only */
    double spike; /* share of outliers */
    double dead;  /* share of parts that leave the program as it is */
} scene;

static const scene scenes[] = {
    {"3 of 60: 4, 2.5, 1.5 %", 60, {0.04, 0.025, 0.015}, 3, false, 0, 0},
    {"3 of 60, 2 % outliers of 10 to 30 %", 60, {0.04, 0.025, 0.015}, 3, false, 0.02, 0},
    {"3 of 60, half of the others dead", 60, {0.04, 0.025, 0.015}, 3, false, 0, 0.5},
    {"a pair that works together only (4 %), and 2.5 %", 60, {0.02, 0.02, 0.025}, 3, true, 0, 0},
    {"1 of 60: 5 %", 60, {0.05}, 1, false, 0, 0},
    {"6 of 60: 1.5 to 4 %", 60, {0.04, 0.03, 0.025, 0.02, 0.02, 0.015}, 6, false, 0, 0},
    {"3 of 150: 4, 2.5, 1.5 %", 150, {0.04, 0.025, 0.015}, 3, false, 0, 0},
    {"2 of 5: 4, 2 %", 5, {0.04, 0.02}, 2, false, 0, 0},
};

static planted plant(const scene *c, double noise, uint64_t seed) {
    planted p = planted_make(c->n, noise, seed);
    size_t at[8];
    planted_at_random(&p, c->effect, c->n_effects, seed, at);
    if (c->pair) {
        p.partner[at[0]] = at[1];
        p.partner[at[1]] = at[0];
    }
    p.spike = c->spike;
    p.identifies = c->dead > 0;
    hn_rng rng = hn_rng_make(seed, 0xdead);
    for (size_t i = 0; i < c->n; i++) p.dead[i] = p.effect[i] == 0 && hn_rng_unit(&rng) < c->dead;
    return p;
}

static void row(const scene *c, double noise, size_t runs) {
    size_t found = 0, lost = 0, extra = 0, total = 0, most = 0;
    for (uint64_t seed = 1; seed <= runs; seed++) {
        planted p = plant(c, noise, seed);
        hn_reduce_lab lab = planted_lab(&p);
        hn_reduce_rules rules = {.seed = seed};
        hn_arena a = {0};
        hn_reduced r;
        bool misses = false, has_more = false;
        if (hn_reduce_point(&lab, &rules, &a, &r, NULL)) abort();
        for (size_t i = 0; i < p.n; i++) {
            misses |= p.effect[i] > 0 && !r.keep[i];
            has_more |= p.effect[i] == 0 && r.keep[i];
        }
        found += !misses && !has_more;
        lost += misses;
        extra += has_more;
        total += r.n_measured;
        if (r.n_measured > most) most = r.n_measured;
        hn_arena_free(&a);
    }
    printf("| %s | %.1f | %.1f | %.1f | %.1f | %.0f | %zu |\n", c->name, 100 * noise,
           100.0 * (double)found / (double)runs, 100.0 * (double)lost / (double)runs,
           100.0 * (double)extra / (double)runs, (double)total / (double)runs, most);
    fflush(stdout);
}

int main(int argc, char **argv) {
    static const double noise[] = {0.005, 0.01, 0.02};
    size_t runs = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 1000;
    if (runs == 0) return 2;
    printf("| planted | noise of one measurement, %% | found exactly, %% | some lost, %% | some too many, %% | "
           "measurements, mean | most |\n|---|---|---|---|---|---|---|\n");
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++)
        for (size_t k = 0; k < sizeof noise / sizeof *noise; k++) row(&scenes[s], noise[k], runs);
    return 0;
}
