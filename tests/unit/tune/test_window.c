/* A search in a part of a space, around a point: callers see whole points, the engine its part alone. */
#include "tap.h"

#include "tune/window.h"

#include <math.h>

/* Two parameters before the part, three in it, one behind it. */
enum { BEFORE = 2, PART = 3, SLOTS = 6 };
static const char *const name[SLOTS] = {"a", "b", "f.x", "f.y", "f.z", "late"};
static const double around[SLOTS] = {3, NAN, NAN, NAN, NAN, 7};

static hone_space *space_of(size_t first, size_t n) {
    hone_space *s = NULL;
    hone_space_new("window", &s, NULL);
    for (size_t i = first; i < first + n; i++) {
        hone_param p = {.name = name[i], .kind = HONE_INT, .lo = 0, .hi = 9, .optional = true, .dflt = NAN};
        hone_space_add(s, &p, NULL);
    }
    hone_space_seal(s, NULL);
    return s;
}

typedef struct fixture {
    hone_space *whole, *part;
    hn_search_window w;
} fixture;

static fixture open_fixture(uint64_t seed) {
    fixture f = {.whole = space_of(0, SLOTS), .part = space_of(BEFORE, PART)};
    hone_search_options o = hone_search_defaults();
    hone_err err = {0};
    double mine[SLOTS];
    memcpy(mine, around, sizeof mine);
    o.seed = seed;
    if (hn_window_open(f.whole, f.part, BEFORE, mine, &o, &f.w, &err)) printf("# %s\n", err.text);
    for (size_t i = 0; i < SLOTS; i++) mine[i] = 1; /* the window has its copy */
    return f;
}

static void close_fixture(fixture *f) {
    hn_window_close(&f->w);
    ok(!f->w.search && !f->w.around, "window/closed_it_is_empty");
    hone_space_free(f->whole);
    hone_space_free(f->part);
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static double cost_of(const double *x) {
    double sum = 10;
    for (size_t i = BEFORE; i < BEFORE + PART; i++) sum += isnan(x[i]) ? 5 : fabs(x[i] - (double)i);
    return sum;
}

static void test_asks_whole_points(void) {
    fixture f = open_fixture(1);
    double x[SLOTS], best = INFINITY, kept[SLOTS] = {0};
    bool whole = true, moved = false;
    for (int i = 0; i < 60; i++) {
        for (size_t k = 0; k < SLOTS; k++) x[k] = -77;
        if (!ok(hn_window_ask(&f.w, x, NULL) == HONE_OK, "window/ask")) break;
        whole &= x[0] == 3 && isnan(x[1]) && x[5] == 7 && hn_window_holds(&f.w, x);
        moved |= !isnan(x[BEFORE]);
        hone_outcome seen = {.value = {cost_of(x)}};
        whole &= hn_window_tell(&f.w, x, &seen, 0, NULL) == HONE_OK;
        if (cost_of(x) < best) best = cost_of(x), memcpy(kept, x, sizeof x);
    }
    ok(whole && moved, "window/what_is_outside_stays");
    ok(hone_search_n_told(f.w.search) == 60 && !hone_search_n_pending(f.w.search), "window/all_are_told");
    hone_outcome seen;
    bool equal = hn_window_best(&f.w, x, &seen) && seen.value[0] == best;
    for (size_t k = 0; k < SLOTS; k++) equal &= same(x[k], kept[k]);
    ok(equal, "window/the_best_is_a_whole_point");
    close_fixture(&f);
}

static void test_holds(void) {
    static const struct {
        const char *name;
        double x[SLOTS];
        bool holds;
    } cases[] = {
        {"the_point_itself", {3, NAN, NAN, NAN, NAN, 7}, true},
        {"another_inside", {3, NAN, 1, 2, 3, 7}, true},
        {"another_before", {4, NAN, 1, 2, 3, 7}, false},
        {"another_behind", {3, NAN, 1, 2, 3, 8}, false},
        {"given_where_it_is_absent", {3, 0, 1, 2, 3, 7}, false},
        {"absent_where_it_is_given", {NAN, NAN, 1, 2, 3, 7}, false},
    };
    fixture f = open_fixture(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_outcome seen = {.value = {1}};
        size_t before = hone_search_n_told(f.w.search);
        ok(hn_window_holds(&f.w, cases[i].x) == cases[i].holds, "window/holds_%s", cases[i].name);
        bool told = hn_window_tell(&f.w, cases[i].x, &seen, 5, NULL) == HONE_OK;
        ok(told && hone_search_n_told(f.w.search) - before == (size_t)cases[i].holds, "window/is_told_what_it_holds_%s",
           cases[i].name);
    }
    hone_outcome best;
    double x[SLOTS];
    ok(hn_window_best(&f.w, x, &best), "window/a_best_of_what_was_told");
    close_fixture(&f);
    f = open_fixture(2);
    ok(!hn_window_best(&f.w, x, &best), "window/no_best_before");
    close_fixture(&f);
}

/* Points of the whole space that are tried first, in their order; what was given up may come again. */
static void test_seeds_and_forgetting(void) {
    static const double seeds[2][SLOTS] = {{3, NAN, 1, 1, 1, 7}, {9, 9, 2, 2, 2, 9}};
    fixture f = open_fixture(3);
    double x[SLOTS], y[SLOTS];
    ok(hn_window_add_seeds(&f.w, seeds[0], 2, NULL) == HONE_OK, "window/add_seeds");
    hn_window_ask(&f.w, x, NULL);
    bool first = isnan(x[BEFORE]) && isnan(x[BEFORE + 1]);
    hn_window_forget(&f.w, x);
    ok(!hone_search_n_pending(f.w.search), "window/forget");
    hn_window_ask(&f.w, x, NULL);
    ok(first && isnan(x[BEFORE]), "window/what_was_given_up_comes_again");
    hn_window_ask(&f.w, x, NULL);
    hn_window_ask(&f.w, y, NULL);
    ok(x[BEFORE] == 1 && x[BEFORE + 2] == 1 && y[BEFORE] == 2, "window/seeds_in_their_order");
    ok(x[0] == 3 && y[0] == 3 && isnan(y[1]) && y[5] == 7, "window/seeds_lie_around_the_point");
    close_fixture(&f);
}

static void test_end(void) {
    hone_space *whole = space_of(0, SLOTS), *part = space_of(BEFORE, 1);
    hone_search_options o = hone_search_defaults();
    hn_search_window w;
    hone_err err = {0};
    double x[SLOTS];
    size_t n = 0;
    hn_window_open(whole, part, BEFORE, around, &o, &w, NULL);
    hone_rc rc = HONE_OK;
    for (; n < 50 && !(rc = hn_window_ask(&w, x, &err)); n++) {
        hone_outcome seen = {.value = {1}};
        hn_window_tell(&w, x, &seen, 0, NULL);
    }
    ok(rc == HONE_E_EXHAUSTED && n == 11, "window/ends_with_its_part (%zu)", n);
    hn_window_close(&w);
    const char *const odd[] = {"nothing=1", NULL};
    o.options = odd;
    ok(hn_window_open(whole, part, BEFORE, around, &o, &w, &err) == HONE_E_USAGE, "window/refusals_of_the_engine");
    hone_space_free(whole);
    hone_space_free(part);
}

int main(void) {
    test_asks_whole_points();
    test_holds();
    test_seeds_and_forgetting();
    test_end();
    return done_testing();
}
