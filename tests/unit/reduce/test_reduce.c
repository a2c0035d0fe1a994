/* The reduction on planted answers: finds what matters, in few measurements, and nothing else. Seeds are fixed, so
 * every run is the same; bench/minimize.sh shows the same over more seeds and noises. */
#include "planted.h"
#include "reduce/reduce_int.h"

#include <math.h>

#include "tap.h"

typedef struct tally {
    size_t n_runs, n_found, n_measured, n_worst, n_errors;
} tally;

static void run_one(planted *p, uint64_t seed, tally *t) {
    hn_reduce_lab lab = planted_lab(p);
    hn_reduce_rules rules = {.seed = seed};
    hn_arena a = {0};
    hn_reduced r;
    t->n_runs++;
    if (hn_reduce_point(&lab, &rules, &a, &r, NULL))
        t->n_errors++;
    else {
        t->n_found += planted_found(p, r.keep);
        t->n_measured += r.n_measured;
        if (r.n_measured > t->n_worst) t->n_worst = r.n_measured;
    }
    hn_arena_free(&a);
}

static void judge(const tally *t, size_t found, double mean, const char *name) {
    ok(t->n_found >= found && !t->n_errors, "reduce/%s (exactly those in %zu of %zu)", name, t->n_found, t->n_runs);
    ok((double)t->n_measured <= mean * (double)t->n_runs, "reduce/%s_measurements (mean %.0f, most %zu)", name,
       (double)t->n_measured / (double)t->n_runs, t->n_worst);
}

static const double three[] = {0.04, 0.025, 0.015};

static void test_three_of_sixty(void) {
    tally plain = {0}, spiky = {0}, quiet = {0};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        planted p = planted_make(60, 0.01, seed), q = planted_make(60, 0.01, seed), s = planted_make(60, 0.004, seed);
        planted_at_random(&p, three, 3, seed, NULL);
        planted_at_random(&q, three, 3, seed, NULL);
        planted_at_random(&s, three, 3, seed, NULL);
        q.spike = 0.02;
        run_one(&p, seed, &plain);
        run_one(&q, seed, &spiky);
        run_one(&s, seed, &quiet);
    }
    judge(&plain, 95, 180, "three_of_sixty");
    judge(&spiky, 93, 250, "three_of_sixty_with_outliers");
    judge(&quiet, 95, 150, "three_of_sixty_on_a_quiet_machine");
}

/* One part brings most, and twelve a little: how many stay is what may be lost. */
static void test_share_kept(void) {
    size_t all = 0, most = 0;
    for (int k = 0; k < 2; k++) {
        planted p = planted_make(30, 0.001, 9);
        p.effect[7] = 0.3;
        for (size_t i = 10; i < 22; i++) p.effect[i] = 0.002;
        hn_reduce_lab lab = planted_lab(&p);
        hn_reduce_rules rules = {.seed = 4, .lose = k ? 0.1 : 0};
        hn_arena a = {0};
        hn_reduced r;
        if (!hn_reduce_point(&lab, &rules, &a, &r, NULL))
            for (size_t i = 0; i < 30; i++) *(k ? &most : &all) += r.keep[i];
        hn_arena_free(&a);
    }
    ok(all > 6 && most == 1, "reduce/share_of_the_gain_that_stays (%zu parts, with a tenth to lose %zu)", all, most);
}

/* Two parts that do nothing but together, beside one that stands alone. */
static void test_pair(void) {
    tally t = {0};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        planted p = planted_make(60, 0.01, seed);
        size_t a = seed % 60, b = (seed * 7 + 13) % 60, c = (seed * 3 + 31) % 60;
        if (a == b || b == c || a == c) continue;
        p.effect[a] = p.effect[b] = 0.02;
        p.partner[a] = b;
        p.partner[b] = a;
        p.effect[c] = 0.025;
        run_one(&p, seed, &t);
    }
    judge(&t, t.n_runs * 95 / 100, 250, "a_pair_that_works_together_only");
}

/* What leaves the program as it is costs builds, and no measurement. */
static void test_dead(void) {
    planted p = planted_make(60, 0.01, 1);
    for (size_t i = 0; i < 60; i++) p.dead[i] = i != 10 && i != 20;
    p.effect[10] = 0.05;
    p.effect[20] = 0.03;
    p.identifies = true;
    tally t = {0};
    run_one(&p, 1, &t);
    ok(t.n_found == 1 && t.n_measured < 60, "reduce/dead_parts_cost_no_measurement (%zu)", t.n_measured);
}

/* Builds are bounded where nearly all parts do something, and fewer than parts where few do. */
static void test_builds(void) {
    hn_arena a = {0};
    planted many = planted_make(160, 0.01, 1), few = planted_make(160, 0.01, 1);
    many.identifies = few.identifies = true;
    many.effect[3] = many.effect[77] = few.effect[3] = few.effect[77] = 0.05;
    for (size_t i = 0; i < 160; i++) few.dead[i] = i % 20 != 3 && i != 77;
    hn_reduce_lab lab = planted_lab(&many);
    hn_trials t = {.lab = &lab, .arena = &a};
    bool keep[160], all = true;
    memset(keep, 1, sizeof keep);
    hone_rc rc = hn_drop_same(&t, keep, NULL);
    ok(!rc && many.n_builds > 16 && many.n_builds <= 44, "reduce/builds_are_bounded (%zu)", many.n_builds);
    for (size_t i = 0; i < 160; i++) all = all && keep[i];
    ok(all, "reduce/what_changes_the_program_stays");
    lab = planted_lab(&few);
    t = (hn_trials){.lab = &lab, .arena = &a};
    rc = hn_drop_same(&t, keep, NULL);
    ok(!rc && few.n_builds > 16 && few.n_builds <= 44, "reduce/halving_builds (%zu)", few.n_builds);
    size_t n = 0;
    for (size_t i = 0; i < 160; i++) n += keep[i];
    ok(n < 80 && keep[3] && keep[77] && keep[143], "reduce/halving_drops_the_dead (%zu of 160 left)", n);
    few.n_builds = 0;
    hn_reduce_rules rules = {.seed = 5};
    hn_reduced r;
    ok(!hn_reduce_point(&lab, &rules, &a, &r, NULL) && planted_found(&few, r.keep), "reduce/few_of_many_found");
    hn_arena_free(&a);
}

/* Two parts without which the program is the same, but not without both. */
static hone_rc identify_either(void *ctx, const bool *keep, size_t k, uint64_t *key, hone_err *err) {
    (void)ctx, (void)err;
    for (size_t s = 0; s < k; s++) key[s] = keep[4 * s] || keep[4 * s + 1] ? 1 : 2;
    return HONE_OK;
}
static void test_either(void) {
    hn_arena a = {0};
    hn_reduce_lab lab = {.n = 4, .n_gains = 1, .identify = identify_either};
    hn_trials t = {.lab = &lab, .arena = &a};
    bool keep[4] = {true, true, true, true};
    ok(!hn_drop_same(&t, keep, NULL) && keep[0] + keep[1] == 1 && !keep[2] && !keep[3], "reduce/one_of_two_stays");
    hn_arena_free(&a);
}

/* An interruption after the n-th call. */
typedef struct patience {
    planted p;
    size_t calls, most;
} patience;
static hone_rc measure_until(void *ctx, const bool *keep, size_t count, double *gain, bool *works, hone_err *err) {
    patience *x = ctx;
    if (++x->calls > x->most) return HONE_E_INTERRUPTED;
    return planted_measure(&x->p, keep, count, gain, works, err);
}
static void test_interrupted(void) {
    size_t n_right = 0, n_errors = 0, n_complete = 0;
    for (size_t most = 0; most < 90; most += 3) {
        hn_arena a = {0};
        patience x = {.p = planted_make(20, 0.005, 3), .most = most};
        x.p.effect[4] = x.p.effect[11] = 0.05;
        hn_reduce_lab lab = {.ctx = &x, .n = 20, .n_gains = 1, .measure = measure_until};
        hn_reduce_rules rules = {.seed = 2};
        hn_reduced r;
        hone_rc rc = hn_reduce_point(&lab, &rules, &a, &r, NULL);
        n_errors += rc == HONE_E_INTERRUPTED && most == 0;
        n_right += !rc && r.keep[4] && r.keep[11] && isfinite(r.after.mid);
        n_complete += !rc && r.complete;
        hn_arena_free(&a);
    }
    ok(n_errors == 1, "reduce/interrupted_before_the_whole_is_known");
    ok(n_right == 29 && n_complete > 0 && n_complete < 20, "reduce/interrupted_gives_what_holds (%zu, %zu complete)",
       n_right, n_complete);
}

static hn_reduced reduced(planted *p, size_t most, hn_arena *a) {
    hn_reduce_lab lab = planted_lab(p);
    hn_reduce_rules rules = {.seed = 5, .most = most};
    hn_reduced r = {0};
    hn_reduce_point(&lab, &rules, a, &r, NULL);
    return r;
}

static void test_shares(void) {
    hn_arena a = {0};
    planted p = planted_make(8, 0.005, 3);
    p.effect[2] = 0.06;
    p.effect[5] = 0.03;
    hn_reduced r = reduced(&p, 0, &a);
    ok(planted_found(&p, r.keep) && r.complete && !r.no_gain, "reduce/two_of_eight");
    ok(r.share[2].lo < 0.06 && r.share[2].hi > 0.06 && r.share[5].lo < 0.03 && r.share[5].hi > 0.03,
       "reduce/shares_hold_the_effects");
    ok(r.share[5].lo > 0 && isnan(r.share[0].mid), "reduce/shares_of_what_is_kept_alone");
    ok(r.before.lo < 0.09 && r.before.hi > 0.09 && r.after.lo < 0.09 && r.after.hi > 0.09, "reduce/gain_is_kept");
    hn_arena_free(&a);
}

/* A compiler and the controls that only it has. */
static void test_family(void) {
    hn_arena a = {0};
    planted p = planted_make(12, 0.008, 4), q = planted_make(12, 0.008, 4);
    for (size_t i = 1; i < 12; i++) p.parent[i] = q.parent[i] = i < 9 ? 0 : SIZE_MAX;
    p.effect[10] = q.effect[10] = 0.05;
    hn_reduced r = reduced(&p, 0, &a);
    ok(planted_found(&p, r.keep), "reduce/a_family_that_does_nothing_goes_as_one");
    q.effect[4] = 0.05;
    r = reduced(&q, 0, &a);
    ok(r.keep[0] && r.keep[4] && r.keep[10] && !r.keep[3] && !r.keep[9], "reduce/a_parent_stays_with_its_child");
    ok(r.share[0].lo > 0.02 && r.share[0].mid < 0.08, "reduce/a_parents_share_is_its_familys");
    hn_arena_free(&a);
}

static void test_odd_ends(void) {
    hn_arena a = {0};
    planted none = planted_make(20, 0.01, 1), needed = planted_make(20, 0.01, 2), steady = planted_make(60, 0, 3);
    hn_reduced r = reduced(&none, 0, &a);
    ok(r.no_gain && planted_found(&none, r.keep), "reduce/nothing_to_keep");
    needed.needed[7] = true;
    needed.effect[3] = 0.06;
    r = reduced(&needed, 0, &a);
    ok(r.keep[3] && r.keep[7] && r.complete, "reduce/what_the_program_needs_stays");
    planted_at_random(&steady, three, 3, 9, NULL);
    r = reduced(&steady, 0, &a);
    ok(planted_found(&steady, r.keep) && r.n_measured < 60, "reduce/a_metric_without_noise (%zu)", r.n_measured);
    planted few = planted_make(7, 0, 1);
    few.effect[0] = few.effect[2] = few.effect[3] = 0.1;
    r = reduced(&few, 0, &a);
    ok(planted_found(&few, r.keep), "reduce/one_among_three_of_seven_goes");
    planted empty = planted_make(0, 0.01, 1);
    r = reduced(&empty, 0, &a);
    ok(r.no_gain && r.complete, "reduce/no_parts");
    planted p = planted_make(60, 0.01, 1);
    planted_at_random(&p, three, 3, 1, NULL);
    r = reduced(&p, 40, &a);
    size_t n = 0;
    for (size_t i = 0; i < 60; i++) n += r.keep[i] && p.effect[i] > 0;
    ok(!r.complete && n == 3 && r.n_measured <= 40, "reduce/a_budget_that_ends_keeps_what_is_known");
    hn_arena_free(&a);
}

/* Two gains in a row: parts 1 and 2 carry the first, part 3 the second. */
static hone_rc measure_two(void *ctx, const bool *keep, size_t count, double *gain, bool *works, hone_err *err) {
    planted *p = ctx;
    (void)err;
    *works = true;
    for (size_t i = 0; i < count; i++) {
        gain[2 * i] = 0.04 * keep[1] + 0.04 * keep[2] + 0.005 * hn_rng_normal(&p->rng);
        gain[2 * i + 1] = 0.1 * keep[3] + 0.005 * hn_rng_normal(&p->rng);
    }
    return HONE_OK;
}
static void test_two_gains(void) {
    hn_arena a = {0};
    size_t n_right = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        planted p = planted_make(16, 0, seed);
        hn_reduce_lab lab = {.ctx = &p, .n = 16, .n_gains = 2, .measure = measure_two};
        hn_reduce_rules rules = {.seed = seed};
        hn_reduced r;
        bool right = !hn_reduce_point(&lab, &rules, &a, &r, NULL);
        for (size_t i = 0; i < 16; i++) right = right && r.keep[i] == (i >= 1 && i <= 3);
        n_right += right;
    }
    ok(n_right >= 19, "reduce/other_gains_do_not_get_worse (%zu of 20)", n_right);
    hn_arena_free(&a);
}

static hone_rc fails(void *ctx, const bool *keep, size_t count, double *gain, bool *works, hone_err *err) {
    (void)ctx, (void)keep, (void)count, (void)gain, (void)err;
    *works = false;
    return HONE_OK;
}
static void test_failures(void) {
    hn_arena a = {0};
    hn_reduce_lab lab = {.n = 3, .n_gains = 1, .measure = fails};
    hn_reduce_rules rules = {0};
    hn_reduced r;
    hone_err err;
    ok(hn_reduce_point(&lab, &rules, &a, &r, &err) == HONE_E_FAILED, "reduce/a_point_that_fails_is_an_error");
    hn_arena_free(&a);
}

int main(void) {
    test_three_of_sixty();
    test_share_kept();
    test_pair();
    test_dead();
    test_builds();
    test_either();
    test_interrupted();
    test_shares();
    test_family();
    test_odd_ends();
    test_two_gains();
    test_failures();
    return done_testing();
}
