/* experiment/contest.c — rounds, order of turns, elimination. */
#include "experiment/contest.h"

#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>

void hn_shuffled(hn_rng *rng, size_t *order, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t k = (size_t)hn_rng_below(rng, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
}

/* --- contenders ------------------------------------------------------------------------------------------------------
 */

bool hn_contest_enter(hn_contest *c, size_t candidate) {
    uint64_t key = c->of->key ? c->of->key(c->ctx, candidate) : 0;
    if (c->n == HN_CONTENDERS || (key && key == c->of->key(c->ctx, HN_BASELINE))) return false;
    for (size_t i = 0; key && i < c->n; i++)
        if (c->x[i].key == key) return false;
    c->x[c->n++] = (hn_contender){.candidate = candidate, .key = key, .gain = {NAN, NAN, NAN}};
    return true;
}

bool hn_contest_is_in(const hn_contender *x) { return !x->failed && !x->out; }

hone_rc hn_contest_add(hn_contest *c, hn_contender *x, double z, hone_err *err) {
    if (x->n == x->room) {
        size_t room = 2 * x->room + 16;
        double *more_z = realloc(x->z, room * sizeof *more_z);
        if (more_z) x->z = more_z;
        unsigned *more = realloc(x->round, room * sizeof *more);
        if (more) x->round = more;
        if (!more_z || !more) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        x->room = room;
    }
    x->z[x->n] = z;
    x->round[x->n++] = c->n_rounds;
    return HONE_OK;
}

void hn_contest_close(hn_contest *c) {
    for (size_t i = 0; i < c->n; i++) {
        free(c->x[i].z);
        free(c->x[i].round);
    }
    c->n = 0;
}

/* --- rounds ----------------------------------------------------------------------------------------------------------
 */

static bool any_in(const hn_contest *c) {
    for (size_t i = 0; i < c->n; i++)
        if (hn_contest_is_in(&c->x[i])) return true;
    return false;
}

static bool is_late(const hn_contest *c, double start_s) {
    const hn_contest_rules *r = &c->rules;
    double now_s = hn_now_s();
    if (c->n_rounds >= r->least) return now_s >= r->until_s;
    return c->n_rounds && now_s + (now_s - start_s) / c->n_rounds * (r->least - c->n_rounds) > r->last_s;
}

static hone_rc one_round(hn_contest *c, hone_err *err) {
    size_t order[HN_CONTENDERS];
    hn_rng rng = hn_rng_make(c->rules.seed, 0xf1a1u + c->n_rounds);
    hone_rc rc = c->of->build ? c->of->build(c->ctx, c, err) : HONE_OK;
    hn_shuffled(&rng, order, c->n);
    for (size_t i = 0; i < c->n && !rc; i++) {
        hn_contender *x = &c->x[order[i]];
        if (hn_contest_is_in(x)) rc = c->of->pair(c->ctx, c, x, err);
    }
    return rc;
}

hone_rc hn_contest_run(hn_contest *c, hone_err *err) {
    double start_s = hn_now_s();
    while (any_in(c) && c->n_rounds < c->rules.most && !is_late(c, start_s)) {
        hone_rc rc = one_round(c, err);
        if (rc) return rc;
        c->n_rounds++;
        if (c->of->judge && c->of->judge(c->ctx, c)) break;
    }
    return HONE_OK;
}

/* --- judging ---------------------------------------------------------------------------------------------------------
 */

/* Eliminates candidates found to lose, those slower than the baseline in early rounds, and those whose gain is below
 * the lower end of another's. */
static void eliminate(hn_contest *c) {
    bool full = c->n_rounds >= c->rules.least;
    double lead = 0;
    for (size_t i = 0; i < c->n && full; i++)
        if (!c->x[i].failed && c->x[i].finding == HN_ABOVE) lead = fmax(lead, c->x[i].gain.lo);
    for (size_t i = 0; i < c->n; i++) {
        hn_contender *x = &c->x[i];
        x->out = x->out || (full ? x->finding == HN_BELOW : x->gain.mid < 0) || x->gain.mid < lead;
    }
}

bool hn_judge_gains(hn_contest *c) {
    bool decided = true;
    if (c->n_rounds < c->rules.early) return false;
    for (size_t i = 0; i < c->n; i++) {
        hn_contender *x = &c->x[i];
        if (!hn_contest_is_in(x)) continue;
        x->gain = hn_z_interval(x->z, x->round, x->n, c->rules.alpha / (double)c->n, c->rules.seed);
        x->finding = hn_find(x->gain, c->rules.margin);
    }
    eliminate(c);
    for (size_t i = 0; i < c->n; i++) {
        const hn_contender *x = &c->x[i];
        decided = decided && (!hn_contest_is_in(x) || (c->n_rounds >= c->rules.least && x->finding == HN_ABOVE));
    }
    return decided;
}

hn_contender *hn_contest_leader(hn_contest *c) {
    hn_contender *best = NULL;
    double most = 0;
    for (size_t i = 0; i < c->n; i++) {
        hn_contender *x = &c->x[i];
        if (!hn_contest_is_in(x) || !x->n) continue;
        double mine = hone_stat_median(x->z, x->n);
        if (!best || mine > most) best = x, most = mine;
    }
    return best;
}

void hn_judge_race(hn_contest *c, size_t least, const hn_race_config *config) {
    const hn_contender *lead = hn_contest_leader(c);
    for (size_t i = 0; i < c->n && lead; i++) {
        hn_contender *x = &c->x[i];
        if (x == lead || !hn_contest_is_in(x) || x->n < least) continue;
        x->out = hn_race_gains(lead->z, lead->n, x->z, x->n, config) == HN_RACE_DROP;
    }
}
