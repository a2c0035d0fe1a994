/* prove/verdict.c — when to stop, what holds, what is kept. Rules: docs/proof.md, "What is kept". */
#include "prove/verdict.h"

#include "base/err.h"
#include "experiment/gain.h"
#include "prove/compare.h"
#include "tune/trial.h"

#include <hone/stat.h>

#include <math.h>
#include <string.h>

enum { LOOK_FIRST = HN_PAIRS_FEWEST, LOOK_EARLY = 40, LOOK_EARLY_STEP = 30, LOOK_STEP = 50 };
/* Share of false alarms over all looks (two-sided). */
static const double alpha_total = 0.05;
/* Of an interval that may end a measurement before the least number of pairs as a loss, which keeps nothing. */
static const double alpha_early = 0.01;
/* Parts of alpha_total where there are such early looks: what they spend on gains, all of them together, and what one
 * look spends that comes because the time is over. */
static const double alpha_early_gains = 0.003, alpha_cut = 0.003;
/* An early gain whose near end is beyond this needs no proof of a spread that does not grow. */
static const double gain_beyond_doubt = 1.25;
static const double spread_most = 1.25;
/* Fewest runs for a 95th percentile over runs: with fewer it is almost their maximum. */
static const size_t tail_least = 60;
/* With fewer differences the exact test cannot go below 0.05. */
static const size_t wilcoxon_least = 6;
/* Spreads below this share of the value count as this much: no clock resolves smaller ones. */
static const double spread_floor = 5e-4;

/* --- looks -------------------------------------------------------------------------------------------------------- */

size_t hn_next_look(const hn_rules *rules, size_t n_pairs) {
    if (n_pairs < rules->pairs_least) {
        size_t next = n_pairs < LOOK_FIRST ? LOOK_FIRST : n_pairs < LOOK_EARLY ? LOOK_EARLY : n_pairs + LOOK_EARLY_STEP;
        return next < rules->pairs_least ? next : rules->pairs_least;
    }
    if (n_pairs >= rules->pairs_most) return 0;
    return n_pairs + LOOK_STEP < rules->pairs_most ? n_pairs + LOOK_STEP : rules->pairs_most;
}

/* Of one early look; of another number of pairs, that at which the time was over. */
static double alpha_of_early(const hn_rules *rules, size_t n_pairs) {
    size_t n_looks = 0;
    bool planned = false;
    for (size_t n = 0; (n = hn_next_look(rules, n)) < rules->pairs_least; n_looks++) planned |= n == n_pairs;
    return planned ? alpha_early_gains / (double)n_looks : alpha_cut;
}

/* Error spending: a little on early looks and on being cut short, then half of the rest on the first full look and the
 * other half in equal parts on the later ones (Pocock 1977 and Lan & DeMets 1983 spend so; added up, not solved for
 * their correlation, which errs on the safe side). */
static double alpha_at(const hn_rules *rules, size_t n_pairs) {
    if (n_pairs < rules->pairs_least) return alpha_of_early(rules, n_pairs);
    double left = alpha_total - (rules->pairs_least > LOOK_FIRST ? alpha_early_gains + alpha_cut : 0);
    size_t later = 0;
    for (size_t n = rules->pairs_least; (n = hn_next_look(rules, n)) != 0;) later++;
    if (!later) return left;
    bool first = n_pairs < rules->pairs_least + LOOK_STEP && n_pairs < rules->pairs_most;
    return first ? left / 2 : left / 2 / (double)later;
}

static bool is_early(const hn_evidence *e, const hn_rules *rules) { return e->n_pairs < rules->pairs_least; }

double hn_reach(double noise, const hn_rules *rules, size_t n_objectives, size_t n_variants) {
    double alpha = alpha_at(rules, rules->pairs_most) / (double)n_objectives;
    double times = hone_stat_t_quantile(1 - alpha / 2, n_variants > 1 ? (double)n_variants - 1 : 1);
    return times * noise * 1.2533 / sqrt((double)rules->pairs_most); /* a median spreads sqrt(pi / 2) times a mean */
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static double *weights(const hn_evidence *e, bool held_out, hn_arena *a) {
    double *w = HN_NEW_N(a, double, e->n_inputs);
    for (size_t i = 0; w && i < e->n_inputs; i++) w[i] = e->input[i].held_out == held_out ? e->input[i].weight : 0;
    return w;
}

static bool any_held_out(const hn_evidence *e) {
    for (size_t i = 0; i < e->n_inputs; i++)
        if (e->input[i].held_out) return true;
    return false;
}

double hn_noise_of(const hn_evidence *e, size_t k) {
    hn_arena a = {0};
    double *w = weights(e, false, &a);
    hn_series_view v = w ? hn_view_of(&e->goal[k], &e->goal[k].value, w, &a) : (hn_series_view){0};
    double mad = v.n ? hone_stat_mad(v.z, v.n) : NAN;
    double noise = mad > 0 ? mad : v.n ? hone_stat_sd(v.z, v.n) : NAN;
    hn_arena_free(&a);
    return noise;
}

/* Objectives that vary at all: only their intervals can err. */
static size_t n_random(const hn_evidence *e) {
    size_t n = 0;
    for (size_t k = 0; k < e->n_objectives; k++) n += e->goal[k].noisy;
    return n ? n : 1;
}

/* --- stopping ----------------------------------------------------------------------------------------------------- */

/* A look at one objective: decided in either direction, or as precise as the margin needs. */
static bool clear(const hn_evidence *e, const hn_goal *g, const hn_rules *rules, const hn_series_view *v) {
    double alpha = alpha_at(rules, e->n_pairs) / (double)n_random(e), margin = hn_margin_of(g, rules->min_gain);
    hone_interval x = hn_z_quick(v->z, v->variant, v->n, alpha);
    bool may_stop = hn_find(x, margin) != HN_ACROSS || (x.hi - x.lo) / 2 < margin / 2;
    if (!may_stop) return false; /* the union below is wider still */
    x = hn_z_interval(v->z, v->variant, v->n, alpha, rules->seed);
    return hn_find(x, margin) != HN_ACROSS || (x.hi - x.lo) / 2 < margin / 2;
}

/* Before the least number of pairs: a loss for certain, … */
static bool loses_early(const hn_evidence *e, const hn_rules *rules, const hn_series_view *v) {
    double alpha = alpha_early / (double)n_random(e);
    if (!(hn_z_quick(v->z, v->variant, v->n, alpha).hi < 0)) return false;
    return hn_z_interval(v->z, v->variant, v->n, alpha, rules->seed).hi < 0;
}

/* … or what the whole verdict keeps already. */
static bool kept_early(const hn_evidence *e, const hn_rules *rules) {
    hn_arena a = {0};
    hone_proof p = {0};
    bool carries[HONE_MAX_OBJECTIVES];
    bool kept = !hn_judge_evidence(e, rules, &a, &p, carries, NULL) && p.kept;
    for (size_t k = 0; k < e->n_objectives; k++) kept &= !e->goal[k].noisy || carries[k];
    hn_arena_free(&a);
    return kept;
}

/* Might it be kept? The t interval alone is quick to compute and never wider than the one that decides. */
static bool may_gain_early(const hn_evidence *e, const hn_goal *g, const hn_rules *rules, const hn_series_view *v) {
    double alpha = alpha_at(rules, e->n_pairs) / (double)n_random(e);
    return hn_z_quick(v->z, v->variant, v->n, alpha).lo > hn_margin_of(g, rules->min_gain);
}

bool hn_decided(const hn_evidence *e, const hn_rules *rules, hone_interval *gain) {
    hn_arena a = {0};
    double *w = weights(e, false, &a);
    bool all = w != NULL, early = is_early(e, rules), gains = w != NULL && early;
    *gain = (hone_interval){NAN, NAN, NAN};
    for (size_t k = 0; w && k < e->n_objectives; k++) {
        const hn_goal *g = &e->goal[k];
        if (!g->noisy) continue;
        hn_series_view v = hn_view_of(g, &g->value, w, &a);
        if (!hn_arena_ok(&a)) break;
        hone_interval x = hn_z_quick(v.z, v.variant, v.n, alpha_total);
        if (k == 0) *gain = (hone_interval){hn_gain_of(g, x.lo), hn_gain_of(g, x.mid), hn_gain_of(g, x.hi)};
        all = all && (early ? loses_early(e, rules, &v) : clear(e, g, rules, &v));
        gains = gains && may_gain_early(e, g, rules, &v);
    }
    hn_arena_free(&a);
    return all || (gains && kept_early(e, rules));
}

/* --- one comparison ----------------------------------------------------------------------------------------------- */

static hone_distribution spread_of(const double *x, size_t n) {
    return (hone_distribution){n,
                               hone_stat_percentile(x, n, 5),
                               hone_stat_percentile(x, n, 25),
                               hone_stat_percentile(x, n, 50),
                               hone_stat_percentile(x, n, 75),
                               hone_stat_percentile(x, n, 95),
                               hone_stat_mean(x, n),
                               hone_stat_sd(x, n)};
}

static hone_proof_finding finding_of(hone_interval z) {
    hn_finding x = hn_find(z, 0);
    return x == HN_ABOVE ? HONE_GAINS : x == HN_BELOW ? HONE_LOSES : HONE_EVEN;
}

static hone_comparison compare(const hn_goal *g, const hn_series_view *v, hone_interval z) {
    hone_comparison c = {.quantity = g->quantity, .input = ""};
    c.gain = (hone_interval){hn_gain_of(g, z.lo), hn_gain_of(g, z.mid), hn_gain_of(g, z.hi)};
    c.baseline = spread_of(v->baseline, v->n);
    c.tuned = spread_of(v->tuned, v->n);
    bool can_tell = v->n >= wilcoxon_least;
    c.p_wilcoxon = can_tell ? hone_stat_wilcoxon(v->z, v->n, HONE_TEST_AUTO).p : NAN;
    c.p_mann_whitney = hone_stat_mann_whitney(v->tuned, v->n, v->baseline, v->n, HONE_TEST_AUTO).p;
    c.p_welch = hone_stat_welch(v->tuned, v->n, v->baseline, v->n).p;
    c.p_adjusted = c.p_wilcoxon;
    double delta = hone_stat_cliffs_delta(v->tuned, v->n, v->baseline, v->n);
    c.effect = g->maximize ? delta : 0 - delta; /* no negative zero */
    c.finding = finding_of(z);
    return c;
}

static hone_comparison unmeasured(const hn_goal *g) {
    hone_comparison c = {.quantity = g->quantity, .input = "", .gain = {NAN, NAN, NAN}};
    c.p_wilcoxon = c.p_mann_whitney = c.p_welch = c.p_adjusted = c.effect = NAN;
    return c;
}

static hone_comparison compare_by(const hn_evidence *e, size_t k, const double *weight, double alpha,
                                  const hn_rules *rules, hn_arena *a) {
    const hn_goal *g = &e->goal[k];
    hn_series_view v = hn_view_of(g, &g->value, weight, a);
    if (!v.n) return unmeasured(g);
    return compare(g, &v, hn_z_interval(v.z, v.variant, v.n, alpha, rules->seed + k));
}

/* --- the tail and the spread -------------------------------------------------------------------------------------- */

static double tail_minimized(double *b, double *t, size_t n) {
    return hone_stat_percentile(b, n, 95) - hone_stat_percentile(t, n, 95);
}
static double tail_maximized(double *b, double *t, size_t n) {
    return hone_stat_percentile(t, n, 5) - hone_stat_percentile(b, n, 5);
}

/* Within runs where a run gives several samples, else over the runs. Deterministic quantities have none. */
static hone_comparison compare_tail(const hn_evidence *e, size_t k, const double *weight, const hn_rules *rules,
                                    hn_arena *a) {
    const hn_goal *g = &e->goal[k];
    hone_comparison none = {.quantity = NULL};
    if (!g->noisy) return none;
    bool within = g->tail.n > 0;
    hn_series_view v = hn_view_of(g, within ? &g->tail : &g->value, weight, a);
    if (!v.n || (!within && v.n < tail_least)) return none;
    hone_interval z;
    if (within) {
        z = hn_z_interval(v.z, v.variant, v.n, alpha_total, rules->seed + 100 + k);
    } else {
        z = hn_resampled(&v, g->plain, g->maximize ? tail_maximized : tail_minimized, alpha_total, rules->seed + k, a);
        double size = g->plain ? fabs(hone_stat_median(v.baseline, v.n)) : 1;
        if (size > 0) z = (hone_interval){z.lo / size, z.mid / size, z.hi / size};
    }
    hone_comparison c = compare(g, &v, z);
    c.quantity = g->tail_quantity;
    if (!within) c.p_wilcoxon = c.p_mann_whitney = c.p_welch = c.p_adjusted = c.effect = NAN;
    return c;
}

/* Spread from run to run of one build: the size of successive differences (von Neumann et al. 1941), after each
 * variant's own centre is subtracted, so that neither slow drift of the machine nor the differences between layouts
 * count, which both sides share. Their mean without the tenth at each end: outliers are judged by the tail, and a
 * median would be half as efficient. The factor makes it a standard deviation when runs are normal. */
static double size_of(double *d, size_t n) {
    for (size_t i = 0; i < n; i++) d[i] = fabs(d[i]);
    return fmax(0.9664 * hone_stat_trimmed_mean(d, n, 0.1), spread_floor);
}
static double run_spread(double *b, double *t, size_t n) { return size_of(t, n) / size_of(b, n); }

/* One side without the middles of its variants, as shares of the value; NULL: a side without size. */
static double *without_layout(const hn_goal *g, const hn_series_view *v, const double *value, hn_arena *a) {
    double *x = HN_NEW_N(a, double, v->n), *mine = HN_NEW_N(a, double, v->n),
           size = fabs(hone_stat_median(value, v->n));
    bool *done = HN_NEW_N(a, bool, v->n);
    if (!hn_arena_ok(a) || !(size > 0)) return NULL;
    for (size_t r = 0; r < v->n; r++) x[r] = g->plain ? value[r] / size : log(value[r]);
    for (size_t r = 0; r < v->n; r++) {
        size_t n = 0;
        if (done[r]) continue;
        for (size_t k = r; k < v->n; k++)
            if (v->variant[k] == v->variant[r]) mine[n++] = x[k];
        double middle = hone_stat_median(mine, n);
        for (size_t k = r; k < v->n; k++)
            if (v->variant[k] == v->variant[r]) x[k] -= middle, done[k] = true;
    }
    return x;
}

/* Differences between successive rows, in the order they were measured; no longer of any variant. */
static hn_series_view differences(const hn_goal *g, const hn_series_view *v, hn_arena *a) {
    hn_series_view d = {.baseline = without_layout(g, v, v->baseline, a), .tuned = without_layout(g, v, v->tuned, a)};
    d.variant = HN_NEW_N(a, unsigned, v->n);
    if (!d.baseline || !d.tuned || !d.variant) return (hn_series_view){0};
    for (size_t r = 0; r + 1 < v->n; r++) {
        d.baseline[r] = d.baseline[r + 1] - d.baseline[r];
        d.tuned[r] = d.tuned[r + 1] - d.tuned[r];
    }
    d.n = v->n - 1;
    return d;
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

static double median_of(const double *x, size_t n_inputs, size_t input, size_t n, hn_arena *a) {
    double *column = HN_NEW_N(a, double, n);
    for (size_t r = 0; column && r < n; r++) column[r] = x[r * n_inputs + input];
    return column ? hone_stat_median(column, n) : NAN;
}

/* On inputs tuned on a limit holds; on held-out ones it holds unless the baseline breaks it there too. */
static bool breaks_limit(const hn_evidence *e, hn_arena *a, const char **sentence) {
    for (size_t c = 0; c < e->n_limits; c++)
        for (size_t i = 0; i < e->n_inputs; i++) {
            const hn_series *s = &e->bound[c];
            if (!s->n) continue;
            double mine = median_of(s->tuned, s->n_inputs, i, s->n, a);
            double base = median_of(s->baseline, s->n_inputs, i, s->n, a);
            if (!(hn_violation(&e->limit[c], mine, base) > 0)) continue;
            if (e->input[i].held_out && hn_violation(&e->limit[c], base, base) > 0) continue;
            *sentence = hn_format(a, "rejected: breaks the limit '%s' on input '%s' with %.6g (the baseline has %.6g)",
                                  e->limit[c].text, e->input[i].name, mine, base);
            return true;
        }
    return false;
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

typedef struct judge {
    const hn_evidence *e;
    const hn_rules *rules;
    hn_arena *a;
    hone_proof *p;
    double *tuned_on, *held_out;
    double alpha;
} judge;

static hone_rc make_room(judge *j, hone_err *err) {
    hone_proof *p = j->p;
    size_t m = j->e->n_objectives, n = j->e->n_inputs;
    p->n_objectives = m;
    p->n_inputs = n;
    p->n_pairs = j->e->n_pairs;
    p->n_variants = j->e->n_variants;
    p->noise = j->e->noise;
    p->spread = NAN;
    p->overall = HN_NEW_N(j->a, hone_comparison, m);
    p->tail = HN_NEW_N(j->a, hone_comparison, m);
    p->by_input = HN_NEW_N(j->a, hone_comparison, m * n);
    if (any_held_out(j->e)) p->held_out = HN_NEW_N(j->a, hone_comparison, m);
    j->tuned_on = weights(j->e, false, j->a);
    j->held_out = weights(j->e, true, j->a);
    return hn_arena_ok(j->a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static void compare_inputs(judge *j, size_t k) {
    size_t n = j->e->n_inputs;
    double *one = HN_NEW_N(j->a, double, n);
    for (size_t i = 0; one && i < n; i++) {
        hone_comparison *c = &j->p->by_input[k * n + i];
        memset(one, 0, n * sizeof *one);
        one[i] = 1;
        *c = compare_by(j->e, k, one, alpha_total, j->rules, j->a);
        c->input = j->e->input[i].name;
        c->held_out = j->e->input[i].held_out;
    }
}

/* Of the interval that decides about objective k. */
static double alpha_of(judge *j, size_t k) {
    const hn_goal *g = &j->e->goal[k];
    if (!g->noisy) return alpha_total;
    if (!is_early(j->e, j->rules)) return j->alpha;
    hn_series_view v = hn_view_of(g, &g->value, j->tuned_on, j->a);
    return v.n && loses_early(j->e, j->rules, &v) ? alpha_early / (double)n_random(j->e) : j->alpha;
}

static void compare_all(judge *j, size_t k) {
    hone_proof *p = j->p;
    double alpha = alpha_of(j, k);
    p->overall[k] = compare_by(j->e, k, j->tuned_on, alpha, j->rules, j->a);
    p->tail[k] = compare_tail(j->e, k, j->tuned_on, j->rules, j->a);
    compare_inputs(j, k);
    if (!p->held_out) return;
    p->held_out[k] = compare_by(j->e, k, j->held_out, alpha_total, j->rules, j->a);
    p->held_out[k].input = "held out";
    p->held_out[k].held_out = true;
}

/* What a unit costs when tuned, as a share of what it costs the baseline. */
static double cost_left(const hn_goal *g, const hn_series_view *v) {
    double b = fabs(hone_stat_median(v->baseline, v->n)), t = fabs(hone_stat_median(v->tuned, v->n));
    return g->maximize ? b / t : t / b;
}

/* Tuned over baseline spread, each as a share of its value; NAN where there is none. *left: cost_left. */
static hone_interval spread_ratio(judge *j, size_t k, double *left) {
    const hone_interval none = {NAN, NAN, NAN};
    const hn_goal *g = &j->e->goal[k];
    if (!g->noisy || g->value.n < 2) return none;
    hn_series_view v = hn_view_of(g, &g->value, j->tuned_on, j->a);
    hn_series_view d = v.n ? differences(g, &v, j->a) : v;
    if (!d.n) return none;
    hone_interval x = hn_resampled(&d, true, run_spread, alpha_total, j->rules->seed + 200 + k, j->a);
    *left = cost_left(g, &v);
    if (k == 0) j->p->spread = x.mid * *left;
    return x;
}

/* With fewer pairs than the least: two of each variant, the gain beyond doubt or nothing left that could speak against
 * it, and on every input a clear answer. */
static bool enough_early(judge *j, size_t k, hone_interval spread) {
    const hone_proof *p = j->p;
    const hone_comparison *c = &p->overall[k], *tail = &p->tail[k], *held_out = p->held_out ? &p->held_out[k] : NULL;
    bool beyond = c->gain.lo > gain_beyond_doubt;
    if (j->e->n_pairs < LOOK_FIRST || j->e->n_pairs < 2 * j->e->n_variants) return false;
    if (tail->quantity ? tail->finding != HONE_GAINS : !beyond) return false;
    if (!beyond && !(spread.hi < spread_most)) return false;
    if (held_out && held_out->finding != HONE_GAINS) return false;
    for (size_t i = 0; i < p->n_inputs; i++)
        if (p->by_input[k * p->n_inputs + i].finding == HONE_EVEN) return false;
    return true;
}

/* The reason not to keep a candidate for objective k. What disturbs a run adds time, not a share of it: a gain of 6
 * alone makes the share six times as large. So a spread that grows is one in the baseline's cost. */
static hone_proof_reject reject_reason(judge *j, size_t k) {
    double left = 1;
    hone_interval spread = spread_ratio(j, k, &left);
    const hone_proof *p = j->p;
    const hone_comparison *c = &p->overall[k];
    const hn_goal *g = &j->e->goal[k];
    double margin = hn_margin_of(g, j->rules->min_gain), bar = hn_gain_of(g, margin);
    if (g->noisy && !g->value.n) return HONE_REJECT_UNDECIDED;
    if (c->finding == HONE_LOSES) return HONE_REJECT_GAIN;
    if (p->tail[k].quantity && p->tail[k].finding == HONE_LOSES) return HONE_REJECT_TAIL;
    if (spread.lo * left > spread_most) return HONE_REJECT_SPREAD;
    if (p->held_out && p->held_out[k].finding == HONE_LOSES) return HONE_REJECT_HELD_OUT;
    bool enough = !g->noisy || !is_early(j->e, j->rules) || enough_early(j, k, spread);
    if (c->gain.lo > bar) return enough ? HONE_NOT_REJECTED : HONE_REJECT_UNDECIDED;
    bool precise = hn_gain_of(g, margin * 1.5) - hn_gain_of(g, margin) > (c->gain.hi - c->gain.lo) / 2;
    return !(c->gain.hi > bar) || precise || !g->noisy ? HONE_REJECT_GAIN : HONE_REJECT_UNDECIDED;
}

static void copy_samples(judge *j) {
    const hn_evidence *e = j->e;
    size_t n = 0, at = 0;
    for (size_t k = 0; k < e->n_objectives; k++) n += e->goal[k].value.n * e->n_inputs;
    hone_proof_sample *s = HN_NEW_N(j->a, hone_proof_sample, n);
    for (size_t k = 0; s && k < e->n_objectives; k++) {
        const hn_series *x = &e->goal[k].value;
        for (size_t r = 0; r < x->n; r++)
            for (size_t i = 0; i < e->n_inputs; i++, at++)
                s[at] = (hone_proof_sample){.variant = x->variant[r],
                                            .pair = (unsigned)r,
                                            .input = (unsigned)i,
                                            .objective = (unsigned)k,
                                            .baseline = x->baseline[r * e->n_inputs + i],
                                            .tuned = x->tuned[r * e->n_inputs + i]};
    }
    j->p->sample = s;
    j->p->n_samples = s ? n : 0;
}

/* How close to being kept a reason is, which is not the enum's order. The closest objective's reason is reported. */
static unsigned reason_rank(hone_proof_reject why) {
    static const unsigned rank[HONE_N_REJECT] = {
        [HONE_REJECT_GAIN] = 1,   [HONE_REJECT_UNDECIDED] = 2, [HONE_REJECT_TAIL] = 3,
        [HONE_REJECT_SPREAD] = 3, [HONE_REJECT_HELD_OUT] = 4,  [HONE_NOT_REJECTED] = 5};
    return rank[why];
}

hone_rc hn_judge_evidence(const hn_evidence *e, const hn_rules *rules, hn_arena *a, hone_proof *p,
                          bool carries[HONE_MAX_OBJECTIVES], hone_err *err) {
    judge j = {.e = e, .rules = rules, .a = a, .p = p, .alpha = alpha_at(rules, e->n_pairs) / (double)n_random(e)};
    hone_rc rc = make_room(&j, err);
    if (rc) return rc;
    p->why = HONE_REJECT_GAIN;
    for (size_t k = 0; k < e->n_objectives; k++) {
        compare_all(&j, k);
        hone_proof_reject why = reject_reason(&j, k);
        carries[k] = why == HONE_NOT_REJECTED;
        if (k == 0 || reason_rank(why) > reason_rank(p->why)) p->why = why;
    }
    copy_samples(&j);
    const char *sentence = NULL;
    if (breaks_limit(e, a, &sentence)) {
        memset(carries, 0, HONE_MAX_OBJECTIVES * sizeof *carries);
        p->why = HONE_REJECT_LIMIT;
        p->verdict = sentence;
    }
    p->kept = p->why == HONE_NOT_REJECTED;
    return hn_arena_ok(a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* --- all candidates ----------------------------------------------------------------------------------------------- */

static hone_rc adjust(hone_proof *proof, size_t n, size_t k, hn_arena *a, hone_err *err) {
    double *p = HN_NEW_N(a, double, n);
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) p[i] = k < proof[i].n_objectives ? proof[i].overall[k].p_wilcoxon : NAN;
    if (!hone_stat_holm(p, n, p)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (k < proof[i].n_objectives) proof[i].overall[k].p_adjusted = p[i];
    return HONE_OK;
}

/* A deterministic quantity has no p-value and needs none. */
static bool survives(const hone_proof *p, const bool *carries) {
    for (size_t k = 0; k < p->n_objectives; k++)
        if (carries[k] && !(p->overall[k].p_adjusted > alpha_total)) return true;
    return false;
}

hone_rc hn_conclude(hone_proof *proof, bool (*carries)[HONE_MAX_OBJECTIVES], size_t n, const hn_rules *rules,
                    hn_arena *a, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t k = 0; !rc && k < HONE_MAX_OBJECTIVES; k++) rc = adjust(proof, n, k, a, err);
    for (size_t i = 0; !rc && i < n; i++) {
        if (proof[i].kept && !survives(&proof[i], carries[i])) {
            proof[i].kept = false;
            proof[i].why = HONE_REJECT_GAIN;
        }
        if (!proof[i].verdict) proof[i].verdict = hn_sentence(&proof[i], rules, a);
    }
    return !rc && !hn_arena_ok(a) ? hn_fail(err, HONE_E_NOMEM, "out of memory") : rc;
}

const hone_proof *hone_proofs_best(const hone_proofs *proofs) {
    const hone_proof *best = NULL;
    double most = 0;
    for (size_t i = 0; i < proofs->n; i++) {
        const hone_proof *x = &proofs->proof[i];
        double near = 0;
        for (size_t k = 0; k < x->n_objectives && x->kept; k++) near = fmax(near, x->overall[k].gain.lo);
        if (x->kept && (!best || near > most)) best = x, most = near;
    }
    return best;
}
