/* tests/unit/rollout/rollout_sim.h — deployments that are played: requests, runs of both versions with noise as servers
 * have it, and faults that are planted in NEXT. What decides is hone_rollout_decide, asked after every batch. */
#ifndef HN_ROLLOUT_SIM_H
#define HN_ROLLOUT_SIM_H

#include "base/rng.h"

#include <hone/rollout.h>

#include <math.h>
#include <stdlib.h>

typedef struct sim_scene {
    const char *name;
    hone_rollout_verdict right; /* what should come of it */
    double slower;              /* time of NEXT / time of NOW */
    double wrong;               /* chance that an element of an answer is wrong */
    double crash, fail;         /* chances of a run of NEXT */
    unsigned elements;          /* of an answer */
    double share;               /* of the runs that are NEXT's */
    double paired;              /* of NEXT's runs that are part of a pair */
} sim_scene;

typedef struct sim_end {
    hone_rollout_decision decision;
    uint64_t runs; /* of NEXT */
} sim_end;

enum { SIM_RUNS_MOST = 40000 };

/* Noise of one run in logarithms. Tails of Student's t with 3 degrees of freedom; 2 of 100 runs take 20 % to 300 %
 * longer; in bursts (30 pairs long on average, one pair of five) the machine is busy, runs scatter four times as much
 * and slow down while the burst lasts, so that whoever runs second loses. */
typedef struct sim_noise {
    hn_rng *rng;
    double sd;
    bool busy;
} sim_noise;

static inline double sim_t3(hn_rng *rng) {
    double z = hn_rng_normal(rng), q = 0;
    for (int i = 0; i < 3; i++) {
        double y = hn_rng_normal(rng);
        q += y * y;
    }
    return z / sqrt(q); /* standard deviation 1 */
}

static inline double sim_run(sim_noise *n) {
    double x = n->sd / sqrt(2) * (n->busy ? 4 : 1) * sim_t3(n->rng);
    if (hn_rng_unit(n->rng) < 0.02) x += log(1.2 + 1.8 * hn_rng_unit(n->rng));
    return x;
}

static inline double sim_pair(sim_noise *n, double slower) {
    double change = n->busy ? 1.0 / 30 : 1.0 / 120, drift = n->busy ? 0.5 * n->sd : 0.02 * n->sd;
    if (hn_rng_unit(n->rng) < change) n->busy = !n->busy;
    double order = hn_rng_next(n->rng) & 1 ? 1 : -1;
    return log(slower) + sim_run(n) - sim_run(n) + order * drift;
}

/* One run of NEXT, with those of NOW that come beside it. */
static inline void sim_step(const sim_scene *s, sim_noise *noise, hone_rollout_evidence *e, double *ratio) {
    hn_rng *rng = noise->rng;
    e->runs_next++;
    e->runs_now = (uint64_t)((double)e->runs_next * (1 - s->share) / s->share);
    if (hn_rng_unit(rng) < s->crash) {
        e->crashes_next++;
    } else if (hn_rng_unit(rng) < s->fail) {
        e->failures_next++;
    } else if (hn_rng_unit(rng) < s->paired) {
        ratio[e->n++] = sim_pair(noise, s->slower);
        e->compared++;
        e->elements += s->elements;
        e->differing += hn_rng_unit(rng) < 1 - pow(1 - s->wrong, s->elements);
    }
}

static inline sim_end sim_deploy(const sim_scene *s, const hone_rollout_rules *rules, double sd, unsigned batch,
                                 uint64_t seed) {
    hn_rng rng = hn_rng_make(seed, 0x726f6c6c);
    sim_noise noise = {&rng, sd, false};
    hone_rollout_evidence e = hone_rollout_no_evidence();
    sim_end end = {.decision = {.verdict = HONE_ROLLOUT_WAIT}};
    double *ratio = malloc(SIM_RUNS_MOST * sizeof *ratio);
    if (!ratio) abort();
    e.log_ratio = ratio;
    while (end.decision.verdict == HONE_ROLLOUT_WAIT) {
        for (unsigned i = 0; i < batch; i++) sim_step(s, &noise, &e, ratio);
        if (e.runs_next >= SIM_RUNS_MOST) e.age_s = rules->age_s;
        if (hone_rollout_decide(rules, &e, &end.decision, NULL)) abort();
    }
    end.runs = e.runs_next;
    free(ratio);
    return end;
}

/* What the issue asks for, and what else can be wrong with a version. */
static const sim_scene sim_scenes[] = {
    {"3 % slower", HONE_ROLLOUT_ROLL_BACK, 1.03, 0, 0, 0, 1000, 0.05, 0.5},
    {"one wrong element in 1,000, 1 an answer", HONE_ROLLOUT_ROLL_BACK, 1, 0.001, 0, 0, 1, 0.05, 0.5},
    {"one wrong element in 1,000, 100 an answer", HONE_ROLLOUT_ROLL_BACK, 1, 0.001, 0, 0, 100, 0.05, 0.5},
    {"a crash in one of 500 runs", HONE_ROLLOUT_ROLL_BACK, 1, 0, 0.002, 0, 1000, 0.05, 0.5},
    {"a failure in one of 500 runs", HONE_ROLLOUT_ROLL_BACK, 1, 0, 0, 0.002, 1000, 0.05, 0.5},
    {"the same, in a shadow", HONE_ROLLOUT_ROLL_BACK, 1, 0, 0, 0.002, 1000, 0.5, 1},
    {"equal", HONE_ROLLOUT_PROMOTE, 1, 0, 0, 0, 1000, 0.05, 0.5},
    {"5 % faster", HONE_ROLLOUT_PROMOTE, 1 / 1.05, 0, 0, 0, 1000, 0.05, 0.5},
};
enum { SIM_N_SCENES = sizeof sim_scenes / sizeof *sim_scenes };

#endif
