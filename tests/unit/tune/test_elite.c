/* The best-so-far list and the table of known objects. */
#include "tap.h"
#include "tune/tuner.h"

#include "base/rng.h"

static void add(hn_elite *e, double x, uint64_t key, double v0, double v1) {
    double value[HONE_MAX_OBJECTIVES] = {v0, v1};
    ok(hn_elite_add(e, &x, key, value, NULL) == HONE_OK, "elite/add_%g", x);
}

static void test_one_objective(void) {
    hn_elite e = {.n_slots = 1, .n_objectives = 1};
    add(&e, 1, 10, 5, 0);
    add(&e, 2, 20, 3, 0);
    add(&e, 3, 30, 4, 0);
    ok(e.n == 3 && e.entry[0].value[0] == 3 && e.entry[2].value[0] == 5, "elite/sorted");
    add(&e, 4, 20, 9, 0);
    ok(e.n == 3 && e.entry[0].point[0] == 2, "elite/same_object_worse_is_dropped");
    add(&e, 5, 10, 1, 0);
    ok(e.n == 3 && e.entry[0].point[0] == 5, "elite/same_object_better_replaces");
    for (int i = 0; i < 40; i++) add(&e, 100 + i, (uint64_t)(1000 + i), 2 + 0.01 * i, 0);
    ok(e.n == HN_ELITE_ONE && e.entry[0].value[0] == 1, "elite/bounded");
    hn_elite_free(&e);
}

static void test_front(void) {
    hn_elite e = {.n_slots = 1, .n_objectives = 2};
    add(&e, 1, 1, 1, 9);
    add(&e, 2, 2, 9, 1);
    add(&e, 3, 3, 5, 5);
    add(&e, 4, 4, 6, 6);
    ok(e.n == 3, "elite/dominated_is_dropped");
    add(&e, 5, 5, 1, 1);
    ok(e.n == 1 && e.entry[0].point[0] == 5, "elite/dominating_displaces_all");
    hn_elite_free(&e);
}

/* Against brute force: what is kept is exactly the non-dominated set. */
static void test_front_random(void) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        hn_rng r = hn_rng_make(seed, 0);
        hn_elite e = {.n_slots = 1, .n_objectives = 2};
        double v[60][2];
        for (int i = 0; i < 60; i++) {
            double x = i, value[HONE_MAX_OBJECTIVES];
            for (int k = 0; k < 2; k++) value[k] = v[i][k] = (double)hn_rng_below(&r, 1000);
            if (hn_elite_add(&e, &x, (uint64_t)i + 1, value, NULL)) break;
        }
        size_t n_front = 0;
        for (int i = 0; i < 60; i++) {
            int beaten = 0;
            for (int j = 0; j < 60; j++)
                beaten |= v[j][0] <= v[i][0] && v[j][1] <= v[i][1] && (v[j][0] < v[i][0] || v[j][1] < v[i][1]);
            n_front += !beaten;
        }
        ok(e.n == n_front, "elite/front_equals_brute_force_seed_%d", (int)seed);
        hn_elite_free(&e);
    }
}

int main(void) {
    test_one_objective();
    test_front();
    test_front_random();
    return done_testing();
}
