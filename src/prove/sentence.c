/* prove/sentence.c — the verdict in words: the objective, its gain, the interval, and the inputs that lose. */
#include "base/str.h"
#include "prove/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "1.043 (1.021 to 1.066)", with as many digits as tell the ends apart; a single number where there is no interval. */
static void add_gain(hn_str *s, hone_interval g) {
    double width = g.hi - g.lo;
    int digits = width > 0 && width < 0.002 ? 5 : width > 0 && width < 0.02 ? 4 : 3;
    if (!(fabs(g.lo) < 100) || !(fabs(g.hi) < 100))
        hn_str_addf(s, "%.4g (%.4g to %.4g)", g.mid, g.lo, g.hi);
    else if (g.lo == g.hi)
        hn_str_addf(s, "%.4g", g.mid);
    else
        hn_str_addf(s, "%.*f (%.*f to %.*f)", digits, g.mid, digits, g.lo, digits, g.hi);
}

static void add_effort(hn_str *s, const hone_proof *p) {
    if (p->n_pairs) hn_str_addf(s, ", %zu pairs over %zu builds of each side", p->n_pairs, p->n_variants);
}

/* The objective the sentence is about: the one kept for, else the best. */
static size_t subject(const hone_proof *p) {
    size_t best = 0;
    for (size_t k = 1; k < p->n_objectives; k++)
        if (p->overall[k].gain.lo > p->overall[best].gain.lo) best = k;
    return best;
}

static size_t first_losing(const hone_comparison *c, size_t n) {
    size_t k = 0;
    while (k < n && !(c[k].quantity && c[k].finding == HONE_LOSES)) k++;
    return k < n ? k : 0;
}

static void say_undecided(hn_str *s, const hone_proof *p, const hone_comparison *c, const hn_rules *rules) {
    if (!p->n_pairs) {
        hn_str_addf(s, "rejected as undecided: nothing was measured of %s; more time (--time) would decide it",
                    c->quantity);
        return;
    }
    hn_str_addf(s, "rejected as undecided: the gain in %s is ", c->quantity);
    add_gain(s, c->gain);
    if (c->gain.lo > 1 + rules->min_gain && p->n_pairs < rules->pairs_least) {
        hn_str_addf(s,
                    ", more than the minimum of %.3g %%, but %zu pairs are too few: a large gain needs %d, one whose "
                    "tail, spread "
                    "or inputs are in doubt %zu; more time (--time) would decide it",
                    100 * rules->min_gain, p->n_pairs, HN_PAIRS_FEWEST, rules->pairs_least);
        return;
    }
    hn_str_addf(s, " after %zu pairs, which may or may not be more than the minimum of %.3g %%", p->n_pairs,
                100 * rules->min_gain);
    if (p->noise > 0) hn_str_addf(s, "; the baseline differs from itself by %.3g %% from pair to pair", 100 * p->noise);
    hn_str_add(s, "; longer runs (measure.min_time, measure.repeats), a quieter machine (hone doctor), more pairs "
                  "(--pairs-most) or a larger minimum would decide it");
}

static void say_no_gain(hn_str *s, const hone_proof *p, const hone_comparison *c, const hn_rules *rules) {
    if (c->finding == HONE_LOSES) {
        hn_str_addf(s, "rejected: %s is worse than the baseline's, gain ", c->quantity);
        add_gain(s, c->gain);
    } else {
        hn_str_addf(s, "rejected: the gain in %s is ", c->quantity);
        add_gain(s, c->gain);
        hn_str_addf(s, ", not beyond the minimum of %.3g %%", 100 * rules->min_gain);
    }
    add_effort(s, p);
    if (c->gain.lo > 1 + rules->min_gain && c->p_adjusted > 0.05)
        hn_str_addf(s, "; among all candidates it could be chance (p = %.2g after Holm)", c->p_adjusted);
}

static void say_kept(hn_str *s, const hone_proof *p, const hone_comparison *c) {
    size_t k = (size_t)(c - p->overall);
    hn_str_addf(s, "kept: %s is better than the baseline's by a factor of ", c->quantity);
    add_gain(s, c->gain);
    add_effort(s, p);
    if (p->tail[k].quantity) {
        hn_str_addf(s, "; gain of its tail %s ", p->tail[k].quantity);
        add_gain(s, p->tail[k].gain);
    }
    if (p->held_out) {
        bool shown = p->held_out[k].finding == HONE_GAINS;
        hn_str_add(s, shown ? "; gain on held-out inputs " : "; no gain is shown on held-out inputs, ");
        add_gain(s, p->held_out[k].gain);
    }
}

static void say_why(hn_str *s, const hone_proof *p, const hn_rules *rules) {
    const hone_comparison *c = &p->overall[subject(p)];
    const hone_comparison *tail = &p->tail[first_losing(p->tail, p->n_objectives)];
    switch (p->why) {
    case HONE_NOT_REJECTED: say_kept(s, p, c); break;
    case HONE_REJECT_UNDECIDED: say_undecided(s, p, c, rules); break;
    case HONE_REJECT_TAIL:
        hn_str_addf(s, "rejected: the tail is worse: %s has a gain of ", tail->quantity);
        add_gain(s, tail->gain);
        hn_str_addf(s, ", %s itself ", c->quantity);
        add_gain(s, c->gain);
        break;
    case HONE_REJECT_SPREAD:
        hn_str_addf(s, "rejected: the spread of %s grows by more than a quarter", c->quantity);
        if (isfinite(p->spread)) hn_str_addf(s, ", to %.3g times the baseline's", p->spread);
        hn_str_add(s, "; its gain is ");
        add_gain(s, c->gain);
        break;
    case HONE_REJECT_HELD_OUT:
        c = &p->held_out[first_losing(p->held_out, p->n_objectives)];
        hn_str_addf(s, "rejected: %s is worse on the held-out inputs, gain ", c->quantity);
        add_gain(s, c->gain);
        break;
    default: say_no_gain(s, p, c, rules);
    }
}

/* What the other objectives do, then every input that loses. */
static void add_rest(hn_str *s, const hone_proof *p) {
    static const char *const word[] = {[HONE_EVEN] = "unchanged", [HONE_GAINS] = "better", [HONE_LOSES] = "worse"};
    size_t about = subject(p);
    for (size_t k = 0; k < p->n_objectives; k++) {
        if (k == about) continue;
        hn_str_addf(s, "; %s is %s, ", p->overall[k].quantity, word[p->overall[k].finding]);
        add_gain(s, p->overall[k].gain);
    }
    for (size_t i = 0; p->n_inputs > 1 && i < p->n_objectives * p->n_inputs; i++) {
        const hone_comparison *c = &p->by_input[i];
        if (c->finding != HONE_LOSES) continue;
        hn_str_addf(s, "; loses on %sinput '%s'", c->held_out ? "held-out " : "", c->input);
        if (p->n_objectives > 1) hn_str_addf(s, " in %s", c->quantity);
        hn_str_add(s, ", ");
        add_gain(s, c->gain);
    }
}

const char *hn_sentence(const hone_proof *p, const hn_rules *rules, hn_arena *a) {
    hn_str s = {0};
    say_why(&s, p, rules);
    add_rest(&s, p);
    char *text = hn_str_take(&s);
    const char *kept = text ? hn_strdup(a, text) : NULL;
    if (!kept) a->failed = true;
    free(text);
    return kept;
}
