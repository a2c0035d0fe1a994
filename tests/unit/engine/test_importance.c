/* hone_search_importance on made-up tables, and the parents that evolve keeps. */
#include <hone/search.h>

#include "tap.h"

#include <math.h>

enum { N = 400 };

static hone_space *make_space(void) {
    static const char *const kinds[] = {"u", "v", "w"};
    static const char *const items[] = {"a", "b", "c"};
    const hone_param params[] = {
        {.name = "strong", .kind = HONE_FLOAT, .lo = 0, .hi = 1},
        {.name = "weak", .kind = HONE_INT, .lo = 1, .hi = 5, .dflt = 1},
        {.name = "kind", .kind = HONE_CHOICE, .values = kinds, .n_values = 3},
        {.name = "order", .kind = HONE_PERMUTATION, .values = items, .n_values = 3},
        {.name = "there", .kind = HONE_FLAG, .optional = true, .knockout = 0.5, .dflt = NAN},
        {.name = "noise", .kind = HONE_FLOAT, .lo = 0, .hi = 1},
    };
    hone_space *space = NULL;
    hone_err err;
    if (hone_space_new("importance", &space, &err)) return NULL;
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) hone_space_add(space, &params[i], &err);
    if (!hone_space_seal(space, &err)) return space;
    printf("# %s\n", err.text);
    return NULL;
}

typedef double model(const double *x);
static double numbers(const double *x) { return exp(10 * x[0]) + 0.001 * x[1]; }
static double choice(const double *x) { return x[2] == 1 ? -5 : x[1]; }
static double place(const double *x) { return x[3] == 2 ? 1 : x[4] == 2 ? 2 : 3; } /* where item c stands */
static double absence(const double *x) { return isnan(x[6]) ? 1 : 2; }
static double constant(const double *x) { return 0 * x[0]; }

static void shares_of(const hone_space *space, model *f, double *share) {
    size_t slots = hone_space_slots(space);
    double *points = malloc(N * slots * sizeof *points), values[N];
    for (size_t i = 0; points && i < N; i++) {
        if (hone_space_sample(space, i, false, points + i * slots, NULL)) return;
        values[i] = f(points + i * slots);
    }
    hone_search_importance(space, points, values, N, share, NULL);
    free(points);
}

static void test_shares(const hone_space *space) {
    double s[6] = {0};
    shares_of(space, numbers, s);
    ok(s[0] > 0.95 && s[5] < 0.05 && s[2] < 0.05, "importance/ranks_not_sizes_count");
    shares_of(space, choice, s);
    ok(s[2] > 0.5 && s[1] > 0.1 && s[0] < 0.05, "importance/unordered_levels_count");
    shares_of(space, place, s);
    ok(s[3] > 0.95 && s[0] < 0.05, "importance/permutation_counts_by_its_best_item");
    shares_of(space, absence, s);
    ok(s[4] > 0.95, "importance/absent_is_a_level");
    shares_of(space, constant, s);
    ok(s[0] == 0 && s[1] == 0 && s[2] == 0 && s[3] == 0 && s[4] == 0, "importance/constant_values_explain_nothing");
    ok(!hone_search_importance(space, s, s, 0, s, NULL) && s[0] == 0, "importance/no_points");
}

/* A search that was told everything anew asks the same: the parents kept are no memory. */
static void test_evolve_keeps_no_memory(const hone_space *space) {
    double point[16], again[16];
    double told[200][16];
    size_t slots = hone_space_slots(space);
    const hone_search_options config = {.size = sizeof(hone_search_options), .engine = "evolve", .seed = 5};
    hone_search *a = NULL, *b = NULL;
    int differs = hone_search_open(space, &config, &a, NULL);
    for (size_t i = 0; i < 200 && !differs; i++) {
        differs |= hone_search_ask(a, point, NULL);
        memcpy(told[i], point, sizeof point);
        if (i % 37 == 5) {
            differs |= hone_search_open(space, &config, &b, NULL);
            for (size_t k = 0; k < i; k++)
                hone_search_tell(b, told[k], &(hone_outcome){.value = {numbers(told[k])}}, NULL);
            hone_search_skip(b, i);
            differs |= hone_search_ask(b, again, NULL) || !hone_point_equal(space, point, again);
            hone_search_close(b);
        }
        hone_search_tell(a, point, &(hone_outcome){.value = {numbers(point)}}, NULL);
    }
    hone_search_close(a);
    ok(!differs && slots <= 16, "evolve/parents_kept_are_no_memory");
}

int main(void) {
    hone_space *space = make_space();
    if (!ok(space != NULL, "importance/space")) return done_testing();
    test_shares(space);
    test_evolve_keeps_no_memory(space);
    hone_space_free(space);
    return done_testing();
}
