/* Racing decisions on samples, and the table of known programs. */
#include "experiment/known.h"
#include "experiment/race.h"

#include <math.h>

#include "tap.h"

static void test_race(void) {
    static const struct {
        const char *name;
        double inc[8];
        size_t n_inc;
        double cand[8];
        size_t n_cand;
        hn_race_verdict verdict;
        size_t n_more;
    } c[] = {
        {"no_incumbent", {0}, 0, {0.9}, 1, HN_RACE_KEEP, 0},
        {"no_sample", {1}, 1, {NAN}, 1, HN_RACE_DROP, 0},
        {"far_worse_at_once", {1}, 1, {1.31}, 1, HN_RACE_DROP, 0},
        {"worse_beyond_two_sigma", {1}, 1, {1.1}, 1, HN_RACE_DROP, 0},
        {"close_takes_one_more", {1}, 1, {1.02}, 1, HN_RACE_MORE, 1},
        {"close_takes_two_more", {1, 1.01}, 2, {1.02, 0.99}, 2, HN_RACE_MORE, 2},
        {"close_takes_four_more", {1, 1.01, 1, 1}, 4, {1.01, 0.99, 1, 1.02}, 4, HN_RACE_MORE, 4},
        {"close_is_done_at_eight", {1, 1, 1, 1}, 4, {1, 1.01, 0.99, 1, 1, 1.02, 1, 1}, 8, HN_RACE_DONE, 0},
        {"equal_is_not_certain", {1}, 1, {1}, 1, HN_RACE_MORE, 1},
        {"better_is_kept", {1}, 1, {0.8}, 1, HN_RACE_KEEP, 0},
        {"three_go_to_six", {1, 1, 1}, 3, {1, 1, 1}, 3, HN_RACE_MORE, 3},
        {"six_go_to_eight", {1, 1, 1}, 3, {1, 1, 1.01, 1, 1, 1}, 6, HN_RACE_MORE, 2},
        {"one_outlier_does_not_drop", {1, 1, 1, 1}, 4, {1, 1.6, 1, 1}, 4, HN_RACE_MORE, 4},
        {"heavy_tails_do_not_keep", {1, 1, 1, 1}, 4, {0.9, 1.3, 0.8, 1.4, 0.9, 1.2, 0.9, 1.5}, 8, HN_RACE_DONE, 0},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_race_result r = hn_race_decide(c[i].inc, c[i].n_inc, c[i].cand, c[i].n_cand, NULL);
        if (!ok(r.verdict == c[i].verdict && r.n_more == c[i].n_more, "race/%s", c[i].name))
            printf("#   verdict %d more %zu ratio %g [%g %g]\n", (int)r.verdict, r.n_more, r.ratio, r.ci.lo, r.ci.hi);
    }
    double inc[] = {1, 1}, cand[] = {0.97, 0.97};
    hn_race_config noisy = {.noise = 0.1}, quiet = {.noise = 0.001};
    ok(hn_race_decide(inc, 2, cand, 2, &noisy).verdict == HN_RACE_MORE, "race/noise_asks_for_more");
    ok(hn_race_decide(inc, 2, cand, 2, &quiet).verdict == HN_RACE_KEEP, "race/quiet_machine_decides");
    ok(hn_race_gives_up(1.4, 1, 1.3) && !hn_race_gives_up(1.2, 1, 1.3) && !hn_race_gives_up(9, 1, 0),
       "race/gives_up_beyond_the_limit_alone");
    ok(hn_race_first(0.001) == 2 && hn_race_first(1) == 1, "race/short_runs_start_with_two");
    double lead[] = {0.10, 0.11, 0.10, 0.12}, near[] = {0.10, 0.11, 0.12, 0.10}, far[] = {0, 0.01, 0, 0.01};
    ok(hn_race_gains(lead, 4, near, 4, &quiet) == HN_RACE_MORE, "race/equal_gains_are_not_told_apart");
    ok(hn_race_gains(lead, 4, far, 4, &quiet) == HN_RACE_DROP, "race/a_smaller_gain_is_dropped");
    ok(hn_race_gains(far, 4, lead, 4, &quiet) == HN_RACE_KEEP, "race/a_larger_gain_is_kept");
}

static void test_known(void) {
    hn_known k = {0};
    hone_outcome o = {0};
    ok(!hn_known_find(&k, 7), "known/empty_finds_nothing");
    int good = 1;
    for (uint64_t i = 0; i < 5000; i++) good &= hn_known_add(&k, i * i, (int64_t)i + 1, &o, NULL) == HONE_OK;
    for (uint64_t i = 0; i < 5000; i++) {
        const hn_known_entry *e = hn_known_find(&k, i * i);
        good &= e && e->id == (int64_t)i + 1;
    }
    ok(good, "known/finds_all_it_took");
    ok(!hn_known_find(&k, 3), "known/finds_no_other");
    hn_known_add(&k, 4, 99, &o, NULL);
    ok(hn_known_find(&k, 4)->id == 3 && k.n == 5000, "known/first_stays");
    hn_known_free(&k);
    ok(hn_key_of("00000000000000ffabc") == 255 && hn_key_of("1f") == 31 && !hn_key_of(""), "known/key_of_a_hash");
}

int main(void) {
    test_race();
    test_known();
    return done_testing();
}
