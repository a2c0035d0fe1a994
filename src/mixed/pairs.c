/* pairs.c — two versions of a model timed on the same samples: a contest of one candidate, in pairs in ABBA order. The
 * round is the sampling unit, so that what disturbs the machine for a while is one reading's matter. */
#include "base/clock.h"
#include "base/err.h"
#include "experiment/contest.h"
#include "mixed/mixed.h"

#include <math.h>
#include <stdlib.h>

enum { PAIRS = 4, LEAST_ROUNDS = 6, MOST_ROUNDS = 1000 };

typedef struct side {
    hone_artifact *program;
    hone_array *out;
    size_t n_out;
} side;

typedef struct pairs {
    side base, mine;
    const hone_array *sample;
    size_t n_samples, n_in, n_run;
    const volatile int *stop;
} pairs;

static hone_rc time_once(side *s, const hone_array *in, size_t n_in, double *time_s, hone_err *err) {
    double start_s = hn_now_s();
    hone_rc rc = hone_artifact_run(s->program, in, n_in, s->out, s->n_out, err);
    *time_s = hn_now_s() - start_s;
    for (size_t k = 0; k < s->n_out; k++) hone_free(s->out[k].data), s->out[k].data = NULL;
    return rc;
}

static hone_rc run_pairs(void *ctx, hn_contest *c, hn_contender *x, hone_err *err) {
    pairs *p = ctx;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < PAIRS && !rc; i++) {
        const hone_array *in = p->sample + p->n_run++ % p->n_samples * p->n_in;
        bool first = hn_base_first(i);
        double base_s = 0, mine_s = 0;
        if (p->stop && *p->stop) return hn_fail(err, HONE_E_INTERRUPTED, "interrupted");
        if (first) rc = time_once(&p->base, in, p->n_in, &base_s, err);
        if (!rc) rc = time_once(&p->mine, in, p->n_in, &mine_s, err);
        if (!rc && !first) rc = time_once(&p->base, in, p->n_in, &base_s, err);
        if (!rc && base_s > 0 && mine_s > 0) rc = hn_contest_add(c, x, log(base_s / mine_s), err);
    }
    return rc;
}

static hone_rc open_side(side *s, hone_artifact *program, hone_err *err) {
    s->program = program, s->n_out = (size_t)hone_artifact_model(program)->n_outputs;
    s->out = calloc(s->n_out + 1, sizeof *s->out);
    return s->out ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static hone_rc warm_up(pairs *p, hone_err *err) {
    double time_s;
    hone_rc rc = time_once(&p->base, p->sample, p->n_in, &time_s, err);
    return rc ? rc : time_once(&p->mine, p->sample, p->n_in, &time_s, err);
}

hone_rc hone_mixed_time(hone_artifact *narrow, hone_artifact *exact, const hone_array *sample, size_t n_samples,
                        double budget_s, const volatile int *stop, hone_interval *ratio, size_t *n_pairs,
                        hone_err *err) {
    static const hn_experiment experiment = {.pair = run_pairs};
    size_t n_in = (size_t)hone_artifact_model(exact)->n_inputs;
    pairs p = {.sample = sample, .n_samples = n_samples, .n_in = n_in, .stop = stop};
    if (!n_samples) return hn_fail(err, HONE_E_USAGE, "there are no samples to time the model on");
    hn_contest c = {.of = &experiment,
                    .ctx = &p,
                    .rules = {.least = LEAST_ROUNDS,
                              .most = MOST_ROUNDS,
                              .until_s = hn_now_s() + (budget_s > 0 ? budget_s : 5),
                              .last_s = INFINITY,
                              .alpha = .05,
                              .early = MOST_ROUNDS,
                              .seed = 1}};
    hone_rc rc = open_side(&p.base, exact, err);
    if (!rc) rc = open_side(&p.mine, narrow, err);
    if (!rc) rc = warm_up(&p, err);
    hn_contest_enter(&c, 0);
    if (!rc) rc = hn_contest_run(&c, err);
    if (!rc && !c.x[0].n) rc = hn_fail(err, HONE_E_FAILED, "the model's time is too short for this clock");
    if (!rc) {
        hn_judge_gains(&c);
        *ratio = (hone_interval){exp(-c.x[0].gain.hi), exp(-c.x[0].gain.mid), exp(-c.x[0].gain.lo)};
        *n_pairs = c.x[0].n;
    }
    hn_contest_close(&c);
    free(p.base.out), free(p.mine.out);
    return rc;
}
