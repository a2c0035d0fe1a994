/* synthetic.h — made-up evidence for the decision alone: simulated pairs, judged as hone_prove_validate judges measured
 * ones. For tests/unit/prove/test_verdict.c and bench/proof/simulate.c.
 *
 * A run's value is exp(layout of its side's variant + slow drift shared by the pair + noise), with outliers upwards. */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "base/rng.h"
#include "prove/verdict.h"

#include <string.h>

typedef struct synthetic {
    double gain[3];        /* of each input, as a factor: 1.03 is 3 % better; 0 counts as 1 */
    double layout;         /* standard deviation between variants of one side, as a share */
    double noise;          /* of one run */
    double outliers;       /* share of runs that are 10 % and more slower */
    double tail;           /* factor on the tuned side's p95; 0 counts as 1 */
    double spread;         /* factor on the tuned side's noise; 0 counts as 1 */
    size_t n_inputs;       /* 1 to 3; the last is held out when held_out is set */
    size_t n_objectives;   /* 1 or 2; the second is a size, the same in every run */
    double size_gain;      /* of the second objective; 0 counts as 1 */
    bool held_out, single; /* single: one value a run, so that the tail is over runs */
    bool maximize, plain;  /* plain: values shifted below 0 */
} synthetic;

static const hn_input synthetic_inputs[3] = {{.name = "one", .args = "", .weight = 1},
                                             {.name = "two", .args = "", .weight = 1},
                                             {.name = "odd", .args = "", .weight = 1}};

typedef struct synthetic_run {
    const synthetic *m;
    hn_rng rng;
    hn_input input[3];
    double layout[2][100];
    hn_evidence e;
} synthetic_run;

static inline double or_one(double x) { return x == 0 ? 1 : x; }

static inline void synthetic_begin(synthetic_run *r, const synthetic *m, uint64_t seed, size_t n_variants) {
    memset(r, 0, sizeof *r);
    r->m = m;
    r->rng = hn_rng_make(seed, 77);
    size_t n = m->n_inputs ? m->n_inputs : 1, tuned_on = n - m->held_out;
    memcpy(r->input, synthetic_inputs, sizeof r->input);
    for (size_t i = 0; i < n; i++) r->input[i].weight = 1.0 / (double)tuned_on;
    if (m->held_out) r->input[n - 1].held_out = true, r->input[n - 1].weight = 1;
    r->e = (hn_evidence){.n_objectives = m->n_objectives ? m->n_objectives : 1, .n_inputs = n, .input = r->input};
    r->e.n_variants = n_variants;
    r->e.noise = m->noise;
    r->e.goal[0] = (hn_goal){.quantity = "median(latency)", .tail_quantity = "p95(latency)", .noisy = true};
    r->e.goal[0].maximize = m->maximize;
    r->e.goal[0].plain = m->plain;
    r->e.goal[1] = (hn_goal){.quantity = "code_size", .tail_quantity = ""};
    for (size_t s = 0; s < 2; s++)
        for (size_t v = 0; v < n_variants; v++) r->layout[s][v] = m->layout * hn_rng_normal(&r->rng);
    double base[3] = {1000, 1000, 1000}, tuned[3];
    for (size_t i = 0; i < 3; i++) tuned[i] = 1000 / or_one(m->size_gain);
    if (m->n_objectives == 2) hn_series_add(&r->e.goal[1].value, n, 0, base, tuned, NULL);
}

static inline double one_value(synthetic_run *r, size_t side, size_t variant, size_t input, double drift,
                               double *tail) {
    const synthetic *m = r->m;
    double noise = m->noise * (side ? or_one(m->spread) : 1), log_gain = side ? log(or_one(m->gain[input])) : 0;
    double x = r->layout[side][variant] + drift + noise * hn_rng_normal(&r->rng);
    if (hn_rng_unit(&r->rng) < m->outliers) x += 0.1 - 0.1 * log(1 - hn_rng_unit(&r->rng));
    x += m->maximize ? log_gain : -log_gain;
    double p95 = x + 1.6 * m->noise + m->noise * hn_rng_normal(&r->rng) + (side ? log(or_one(m->tail)) : 0);
    *tail = exp(m->maximize ? 2 * x - p95 : p95);
    return m->plain ? exp(x) - 1.5 : exp(x);
}

static inline void synthetic_pair(synthetic_run *r) {
    hn_evidence *e = &r->e;
    double side[2][3], tail[2][3];
    double drift = 0.02 * sin((double)e->n_pairs / 15) + 0.002 * hn_rng_normal(&r->rng);
    unsigned variant = (unsigned)(e->n_pairs % e->n_variants);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < e->n_inputs; i++) side[s][i] = one_value(r, s, variant, i, drift, &tail[s][i]);
    hn_series_add(&e->goal[0].value, e->n_inputs, variant, side[0], side[1], NULL);
    if (!r->m->single && !r->m->plain) hn_series_add(&e->goal[0].tail, e->n_inputs, variant, tail[0], tail[1], NULL);
    e->n_pairs++;
}

/* As hone_prove_validate measures one candidate: pairs until a look decides. */
static inline void synthetic_measure(synthetic_run *r, const hn_rules *rules) {
    hone_interval gain;
    for (size_t look = hn_next_look(rules, 0); look; look = hn_next_look(rules, r->e.n_pairs)) {
        while (r->e.n_pairs < look) synthetic_pair(r);
        if (hn_decided(&r->e, rules, &gain)) break;
    }
}

/* One candidate from model to verdict; the proof lies in the arena. */
static inline hone_proof synthetic_validate(const synthetic *m, uint64_t seed, size_t n_variants, hn_rules rules,
                                            hn_arena *a) {
    static synthetic_run r;
    hone_proof p = {0};
    bool carries[1][HONE_MAX_OBJECTIVES] = {{false}};
    rules.seed = seed;
    synthetic_begin(&r, m, seed, n_variants);
    synthetic_measure(&r, &rules);
    hn_judge_evidence(&r.e, &rules, a, &p, carries[0], NULL);
    hn_conclude(&p, carries, 1, &rules, a, NULL);
    hn_evidence_free(&r.e);
    return p;
}

#endif
