/* bench/rollout.c — deployments that are played, over noise levels: how often the verdict is right, and after how many
 * pairs and runs. Arguments: deployments per row. Prints markdown rows. See bench/rollout.sh. */
#include "../tests/unit/rollout/rollout_sim.h"

#include <stdio.h>

static void row(const sim_scene *s, double sd, size_t n) {
    hone_rollout_rules rules = hone_rollout_defaults();
    size_t count[HONE_N_ROLLOUT_VERDICT] = {0}, n_speed = 0;
    double *pairs = malloc(n * sizeof *pairs), *runs = malloc(n * sizeof *runs);
    if (!pairs || !runs) abort();
    for (size_t i = 0; i < n; i++) {
        sim_end end = sim_deploy(s, &rules, sd, 20, i + 1);
        count[end.decision.verdict]++;
        n_speed += end.decision.why == HONE_ROLLOUT_SLOWER || end.decision.why == HONE_ROLLOUT_TAIL;
        pairs[i] = (double)end.decision.pairs;
        runs[i] = (double)end.runs;
    }
    printf("| %s | %.0f %% | %zu | %zu | %zu (%zu) | %.0f, %.0f | %.0f, %.0f |\n", s->name, 100 * sd,
           count[HONE_ROLLOUT_PROMOTE], count[HONE_ROLLOUT_HOLD], count[HONE_ROLLOUT_ROLL_BACK], n_speed,
           hone_stat_median(pairs, n), hone_stat_percentile(pairs, n, 95), hone_stat_median(runs, n),
           hone_stat_percentile(runs, n, 95));
    fflush(stdout);
    free(pairs);
    free(runs);
}

int main(int argc, char **argv) {
    static const double sd[] = {0.02, 0.05, 0.10};
    size_t n = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 100;
    puts(
        "| planted | noise of a pair | promoted | held | rolled back (for speed) | pairs: median, 95 % | runs of NEXT: "
        "median, 95 % |");
    puts("|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < SIM_N_SCENES; i++)
        for (size_t k = 0; k < sizeof sd / sizeof *sd; k++) row(&sim_scenes[i], sd[k], n ? n : 1);
    return 0;
}
