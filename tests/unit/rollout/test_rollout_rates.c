/* Deployments that are played: the rates of right verdicts that the issue asks for, at 5 % noise of a pair. Longer, and
 * over noise levels: bench/rollout.sh. */
#include "rollout_sim.h"

#include "rollout/bets.h"
#include "tap.h"

static void test_scene(const sim_scene *s, double sd, size_t n, size_t least) {
    hone_rollout_rules rules = hone_rollout_defaults();
    size_t right = 0;
    for (size_t i = 0; i < n; i++) right += sim_deploy(s, &rules, sd, 100, 1000 + i).decision.verdict == s->right;
    ok(right * 100 >= least * n, "rollout_rates/%s: %zu of %zu right", s->name, right, n);
}

/* What one bets on may be looked at after every draw: capital of 1 / alpha is reached with a chance of at most alpha.
 */
static void test_bets_hold_at_any_time(void) {
    hn_rng rng = hn_rng_make(7, 0);
    const double alpha = 0.05;
    size_t n_rich = 0, n_games = 2000;
    uint64_t least[1001];
    for (uint64_t n = 1; n <= 1000; n++) least[n] = hn_bet_least(n, 0.5, alpha);
    for (size_t g = 0; g < n_games; g++) {
        bool rich = false;
        for (uint64_t n = 1, k = 0; n <= 1000; n++) rich |= (k += hn_rng_next(&rng) >> 63) >= least[n];
        n_rich += rich;
    }
    ok((double)n_rich <= alpha * (double)n_games, "rollout_rates/fair_coins_rarely_make_rich: %zu of %zu", n_rich,
       n_games);
    ok(n_rich > 0, "rollout_rates/but_do_so_at_times");
}

int main(void) {
    for (size_t i = 0; i < SIM_N_SCENES; i++) test_scene(&sim_scenes[i], 0.05, i == 5 ? 40 : 100, i == 7 ? 90 : 95);
    test_bets_hold_at_any_time();
    return done_testing();
}
