/* Placement: nothing alive at once overlaps, the arena is at least the lower bound, and close to it. */
#include "base/rng.h"
#include "plan/plan.h"
#include "tap.h"

enum { MOST = 400 };
static int32_t scratch[4 * MOST];

static int root_of(const hn_plan_item *x, int i) {
    while (x[i].shares >= 0) i = x[i].shares;
    return i;
}

static int overlap(const hn_plan_item *a, const hn_plan_item *b) {
    if (!a->size_b || !b->size_b || a->last < b->first || b->last < a->first) return 0;
    return a->offset < b->offset + b->size_b && b->offset < a->offset + a->size_b;
}

/* NULL, or what is wrong. */
static const char *fault(const hn_plan_item *x, int n, int64_t arena_b) {
    if (arena_b < hn_plan_lower_bound(x, n)) return "below the lower bound";
    for (int i = 0; i < n; i++) {
        if (x[i].offset < 0 || x[i].offset % 64) return "no multiple of 64";
        if (x[i].offset + x[i].size_b > arena_b) return "beyond the arena";
        if (x[i].shares >= 0 && x[i].offset != x[x[i].shares].offset) return "does not share";
        for (int j = 0; j < i; j++)
            if (root_of(x, i) != root_of(x, j) && overlap(&x[i], &x[j])) return "two overlap";
    }
    return NULL;
}

static void test_random(void) {
    const char *wrong = NULL;
    for (uint64_t seed = 1; seed <= 60 && !wrong; seed++) {
        hn_rng r = hn_rng_make(seed, 7);
        hn_plan_item x[MOST];
        int n = (int)hn_rng_below(&r, 120);
        for (int i = 0; i < n; i++) {
            int32_t first = (int32_t)hn_rng_below(&r, 100);
            x[i] = (hn_plan_item){(int64_t)hn_rng_below(&r, 5000), first, first + (int32_t)hn_rng_below(&r, 20), -1, 0};
            if (i && hn_rng_below(&r, 6) == 0) {
                x[i].shares = (int32_t)hn_rng_below(&r, (uint64_t)i);
                x[i].size_b = x[root_of(x, i)].size_b;
            }
        }
        wrong = fault(x, n, hn_plan_place(x, n, scratch));
        if (wrong) printf("# seed %llu: %s\n", (unsigned long long)seed, wrong);
    }
    ok(!wrong, "plan/random_lifetimes_never_overlap");
}

typedef struct shape {
    const char *name;
    int n, skip_every, skip; /* every so many steps one value lives `skip` steps longer */
    int64_t size[6];         /* pattern of sizes, in KiB, 0 ends */
    int64_t shrink;          /* halves after so many steps */
} shape;

static double ratio_of(const shape *s) {
    hn_plan_item x[MOST];
    int n_size = 0;
    while (n_size < 6 && s->size[n_size]) n_size++;
    for (int i = 0; i < s->n; i++) {
        int long_one = s->skip_every && i % s->skip_every == 0;
        int64_t size = s->size[i % n_size] * 1024 >> (s->shrink ? i / s->shrink : 0);
        x[i] = (hn_plan_item){size, i, i + 1 + (long_one ? s->skip : 0), -1, 0};
    }
    int64_t arena_b = hn_plan_place(x, s->n, scratch);
    return fault(x, s->n, arena_b) ? 99 : (double)arena_b / (double)hn_plan_lower_bound(x, s->n);
}

static void test_realistic(void) {
    static const shape shapes[] = {
        {"mlp", 12, 0, 0, {16, 12, 1}, 0},
        {"residual", 160, 3, 2, {784, 196, 196}, 40},
        {"inverted_residual", 150, 3, 2, {150, 900, 890}, 30},
        {"transformer", 240, 10, 9, {192, 192, 192, 96, 192, 768}, 0},
        {"decoder", 300, 12, 24, {192, 576, 192, 768, 3072, 64}, 0},
        {"dense", 100, 2, 18, {98, 392}, 30},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        double ratio = ratio_of(&shapes[i]);
        if (!ok(ratio <= 1.1, "plan/%s_near_lower_bound", shapes[i].name)) printf("#   ratio %g\n", ratio);
    }
}

static void test_small(void) {
    hn_plan_item none = {0}, chain[] = {{640, 0, 1, -1, 0}, {640, 1, 2, 0, 0}, {640, 2, 3, 1, 0}, {100, 1, 3, -1, 0}};
    ok(hn_plan_place(&none, 0, scratch) == 0 && hn_plan_lower_bound(&none, 0) == 0, "plan/no_items_no_arena");
    ok(hn_plan_place(chain, 4, scratch) == 768 && chain[2].offset == chain[0].offset, "plan/in_place_chain_is_one");
    ok(hn_plan_lower_bound(chain, 4) == 768, "plan/lower_bound_counts_shared_once");
    hn_plan_item empty[] = {{0, 0, 5, -1, 0}, {64, 0, 5, -1, 0}, {0, 2, 3, -1, 0}};
    ok(hn_plan_place(empty, 3, scratch) == 64, "plan/empty_items_take_nothing");
}

int main(void) {
    test_random();
    test_realistic();
    test_small();
    return done_testing();
}
