/* simulate.c — false alarms and power of the decision alone, over thousands of made-up validations.
 *
 * usage: simulate KIND N SEED MIN_GAIN PAIRS PAIRS_MOST VARIANTS NOISE LAYOUT
 * Prints one JSON object: how many were kept, rejected for which reason, found to lose, and the mean number of pairs.
 */
#include "synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    synthetic model;
} kind[] = {
    {"same", {.outliers = 0.02}},
    {"slow3", {.gain = {0.97}, .outliers = 0.02}},
    {"fast1", {.gain = {1.01}, .outliers = 0.02}},
    {"fast2", {.gain = {1.02}, .outliers = 0.02}},
    {"fast5", {.gain = {1.05}, .outliers = 0.02}},
    {"fast5-single", {.gain = {1.05}, .single = true, .outliers = 0.02}},
    {"tail", {.tail = 1.1, .outliers = 0.02}},
    {"fast5-tail", {.gain = {1.05}, .tail = 1.2, .outliers = 0.02}},
    {"fast5-spread", {.gain = {1.05}, .spread = 2.5, .outliers = 0.02}},
    {"fast5-held-out", {.gain = {1.05, 0.97}, .n_inputs = 2, .held_out = true, .outliers = 0.02}},
};

int main(int argc, char **argv) {
    if (argc != 10) return fprintf(stderr, "usage: see the head of simulate.c\n"), 2;
    size_t k = 0, n = strtoull(argv[2], NULL, 10), why[HONE_N_REJECT] = {0}, loses = 0, pairs = 0;
    uint64_t seed = strtoull(argv[3], NULL, 10);
    while (k < sizeof kind / sizeof *kind && strcmp(kind[k].name, argv[1]) != 0) k++;
    if (k == sizeof kind / sizeof *kind) return fprintf(stderr, "unknown kind '%s'\n", argv[1]), 2;
    hn_rules rules = {.min_gain = atof(argv[4]), .pairs_least = strtoull(argv[5], NULL, 10)};
    rules.pairs_most = strtoull(argv[6], NULL, 10);
    synthetic m = kind[k].model;
    m.noise = atof(argv[8]);
    m.layout = atof(argv[9]);
    for (size_t i = 0; i < n; i++) {
        hn_arena a = {0};
        hone_proof p = synthetic_validate(&m, seed + i, strtoull(argv[7], NULL, 10), rules, &a);
        why[p.why]++;
        loses += p.overall[0].finding == HONE_LOSES;
        pairs += p.n_pairs;
        hn_arena_free(&a);
    }
    printf("{\"n\": %zu, \"kept\": %zu, \"loses\": %zu, \"pairs\": %.6g", n, why[HONE_NOT_REJECTED], loses,
           n ? (double)pairs / (double)n : 0);
    for (int i = HONE_NOT_REJECTED + 1; i < HONE_N_REJECT; i++)
        printf(", \"%s\": %zu", hone_proof_reject_name((hone_proof_reject)i), why[i]);
    puts("}");
    return 0;
}
