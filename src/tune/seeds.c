/* tune/seeds.c — points of the targets in the joined space: plain levels, and the targets' rule seeds, dealt in turn
 * with points of the workload's own parameters. */
#include "tune/environment.h"
#include "tune/plan.h"
#include "tune/post_link.h"

#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double *hn_plan_part(const hn_plan *plan, const hn_part_points *part, size_t t, size_t k) {
    return part[t].point + k * hone_space_slots(plan->part[t]);
}

hone_rc hn_plan_parts(const hn_plan *plan, hn_part_source *of, hn_part_points **out, hone_err *err) {
    hn_part_points *part = calloc(plan->n_targets + 1, sizeof *part);
    hone_rc rc = part ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t t = 0; !rc && plan->w->controls && t < plan->n_targets; t++)
        rc = of(plan->target[t], plan->part[t], &part[t].point, &part[t].n, err);
    if (rc)
        hn_plan_free_parts(plan, part);
    else
        *out = part;
    return rc;
}

void hn_plan_free_parts(const hn_plan *plan, hn_part_points *part) {
    for (size_t t = 0; part && t < plan->n_targets; t++) hone_free(part[t].point);
    free(part);
}

/* --- in the joined space ------------------------------------------------------------------------------------------ */

/* Genes of target t that a point of its own space sets, into the joined space. all: those that it leaves absent, too.
 */
static void lay_over(const hn_plan *plan, size_t t, const double *from_point, bool all, double *point) {
    const hone_space *part = plan->part[t];
    for (size_t i = 0; i < hone_space_n_params(part); i++) {
        const hone_param *from = hone_space_param(part, i);
        size_t at = hn_plan_control(plan, t, from->name);
        if (at == SIZE_MAX || (!all && isnan(from_point[from->slot]))) continue;
        if (!all && from->kind == HONE_FLAG && from_point[from->slot] == from->dflt) continue;
        const hone_param *to = hone_space_param(plan->space, at);
        memcpy(point + to->slot, from_point + from->slot, from->n_slots * sizeof *point);
    }
}

/* Moves a point of target t's own space into the joined space, on top of the baseline's application parameters. */
static void to_joined_point(const hn_plan *plan, size_t t, const double *from_point, double *point) {
    memcpy(point, plan->base, hone_space_slots(plan->space) * sizeof *point);
    if (plan->i_compiler != SIZE_MAX) point[hone_space_param(plan->space, plan->i_compiler)->slot] = (double)t;
    lay_over(plan, t, from_point, true, point);
    hone_point_canon(plan->space, point);
}

/* The baseline's value of an option, in the terms of another compiler's option of that name; NAN: it has none. */
static double of_baseline(const hn_plan *plan, const hone_param *p, const char *name) {
    size_t i = hn_plan_control(plan, 0, name);
    const hone_param *b = i == SIZE_MAX ? NULL : hone_space_param(plan->space, i);
    double v = b ? plan->base[b->slot] : NAN;
    if (isnan(v) || b->kind != HONE_CHOICE || p->kind != HONE_CHOICE) return NAN;
    for (size_t k = 0; k < p->n_values; k++)
        if (!strcmp(p->values[k], b->values[(size_t)v])) return (double)k;
    return NAN;
}

void hn_plan_level(const hn_plan *plan, size_t t, const double *level, double *point) {
    to_joined_point(plan, t, level, point);
    for (size_t i = 0; i < hone_space_n_params(plan->part[t]); i++) {
        const hone_param *from = hone_space_param(plan->part[t], i);
        if (!from->optional || isnan(level[from->slot])) continue;
        const hone_param *to = hone_space_param(plan->space, hn_plan_control(plan, t, from->name));
        double v = of_baseline(plan, to, from->name);
        if (!isnan(v)) point[to->slot] = v;
    }
    hone_point_canon(plan->space, point);
}

/* --- rule seeds ----------------------------------------------------------------------------------------------------
 */

static double gene(const hn_plan *plan, const double *point, size_t i) {
    return i == SIZE_MAX ? 0 : point[hone_space_param(plan->space, i)->slot];
}

/* A rule over `from`: its own compiler's keeps what the rule does not say; another's begins anew, under its contract.
 */
static void rule_point(const hn_plan *plan, const double *from, size_t t, const double *rule, double *point) {
    size_t slots = hone_space_slots(plan->space);
    if (gene(plan, from, plan->i_compiler) == (double)t) {
        memcpy(point, from, slots * sizeof *point);
        lay_over(plan, t, rule, false, point);
    } else {
        to_joined_point(plan, t, rule, point);
        if (plan->i_fp != SIZE_MAX)
            point[hone_space_param(plan->space, plan->i_fp)->slot] = gene(plan, from, plan->i_fp);
    }
    hone_point_canon(plan->space, point);
}

static double *next(const hn_plan *plan, hn_seeds *s) { return s->point + s->n * hone_space_slots(plan->space); }

/* Accepts the point stored behind the end of the list, unless the list holds it already. */
static bool add_if_new(const hn_plan *plan, const double *from, hn_seeds *s) {
    size_t slots = hone_space_slots(plan->space);
    if (hone_point_equal(plan->space, from, next(plan, s))) return false;
    for (size_t i = 0; i < s->n; i++)
        if (hone_point_equal(plan->space, s->point + i * slots, next(plan, s))) return false;
    s->n++;
    return true;
}

/* --- points of the workload's own parameters -----------------------------------------------------------------------
 */

/* A parameter of the workload's own with so few values that a handful of points can try each. */
enum { FEW_VALUES = 16 };

/* How often each value of such a parameter stands in `from` and in the points drawn so far. */
typedef struct dealt {
    size_t (*n)[FEW_VALUES]; /* of each of the workload's own parameters */
    double *trial;           /* a point, for scratch */
} dealt;

/* 0: not to be dealt: more values than that, or drawn from a window. */
static size_t n_dealt_values(const hone_param *p) {
    double n = 0;
    if (p->kind == HONE_FLAG) n = 2;
    if (p->kind == HONE_CHOICE || p->kind == HONE_ORDINAL) n = (double)p->n_values;
    if (p->kind == HONE_INT && !p->has_seed) n = floor((p->hi - p->lo) / (p->step > 0 ? p->step : 1) + 1e-9) + 1;
    return n <= FEW_VALUES ? (size_t)n : 0;
}

static double dealt_value(const hone_param *p, size_t k) {
    return p->kind == HONE_INT ? p->lo + (double)k * (p->step > 0 ? p->step : 1) : (double)k;
}

static void count_dealt(const hn_plan *plan, const double *point, dealt *d) {
    for (size_t i = 0; i < plan->n_app; i++) {
        const hone_param *p = hone_space_param(plan->space, i);
        for (size_t k = 0; k < n_dealt_values(p); k++) d->n[i][k] += point[p->slot] == dealt_value(p, k);
    }
}

/* Gives parameter i the rarest of the values that leave the point legal; among equals the draw decides. */
static void deal_value(const hn_plan *plan, size_t i, uint64_t draw, const dealt *d, double *point) {
    const hone_param *p = hone_space_param(plan->space, i);
    size_t bytes = hone_space_slots(plan->space) * sizeof *point, n = n_dealt_values(p), fewest = SIZE_MAX;
    double best = point[p->slot];
    for (size_t j = 0; !isnan(best) && j < n; j++) {
        size_t k = (j + (size_t)(draw % n)) % n;
        memcpy(d->trial, point, bytes);
        d->trial[p->slot] = dealt_value(p, k);
        hone_point_canon(plan->space, d->trial);
        if (d->n[i][k] >= fewest || !hone_point_legal(plan->space, d->trial, NULL)) continue;
        fewest = d->n[i][k];
        best = dealt_value(p, k);
    }
    point[p->slot] = best;
    hone_point_canon(plan->space, point);
}

/* A point drawn for the workload's own parameters, with every control as in `from`: what they bring is seen by
 * itself, and a kernel's own parameters often bring the most. Few values are dealt evenly: a dozen independent draws
 * leave one of six values out more often than not in one of several parameters. */
static bool add_drawn(const hn_plan *plan, const double *from, uint64_t number, dealt *d, hn_seeds *s) {
    double *point = next(plan, s);
    if (hone_space_sample(plan->space, number, true, point, NULL)) return false;
    for (size_t i = plan->n_app; i < hone_space_n_params(plan->space); i++) {
        const hone_param *p = hone_space_param(plan->space, i);
        memcpy(point + p->slot, from + p->slot, p->n_slots * sizeof *point);
    }
    hone_point_canon(plan->space, point);
    if (!hone_point_legal(plan->space, point, NULL)) return false;
    for (size_t i = 0; i < plan->n_app; i++) deal_value(plan, i, hn_mix64(number ^ hn_mix64(i)), d, point);
    if (!add_if_new(plan, from, s)) return false;
    count_dealt(plan, point, d);
    return true;
}

/* Few values: each allocator, and what is on or off. */
static bool is_seed_of_environment(const hone_param *p) {
    return p->tag && !strcmp(p->tag, "environment") && (p->n_values == 1 || !strcmp(p->name, HN_ENV_FIRST));
}

static size_t n_of_environment(const hn_plan *plan) {
    size_t n = 0;
    for (size_t i = 0; i < hone_space_n_params(plan->space); i++) {
        const hone_param *p = hone_space_param(plan->space, i);
        if (is_seed_of_environment(p)) n += p->n_values;
    }
    return n;
}

/* The environment's values alone over `from`. */
static void deal_environment(const hn_plan *plan, const double *from, hn_seeds *s) {
    size_t slots = hone_space_slots(plan->space);
    for (size_t i = 0; i < hone_space_n_params(plan->space); i++) {
        const hone_param *p = hone_space_param(plan->space, i);
        for (size_t v = 0; is_seed_of_environment(p) && v < p->n_values; v++) {
            double *point = next(plan, s);
            memcpy(point, from, slots * sizeof *point);
            point[p->slot] = (double)v;
            hone_point_canon(plan->space, point);
            if (hone_point_legal(plan->space, point, NULL)) add_if_new(plan, from, s);
        }
    }
}

static size_t n_post_link(void) {
    size_t n = 0;
    while (hn_bolt_seed(n)) n++;
    return n;
}

static void deal_post_link(const hn_plan *plan, const double *from, hn_seeds *s) {
    for (size_t i = 0; i < n_post_link(); i++) {
        memcpy(next(plan, s), from, hone_space_slots(plan->space) * sizeof *from);
        if (!hn_post_link_set(plan, i, next(plan, s))) return;
        if (hone_point_legal(plan->space, next(plan, s), NULL)) add_if_new(plan, from, s);
    }
}

/* One of each target in turn, so that a small budget tries every compiler. */
static void deal_rules(const hn_plan *plan, const double *from, const hn_part_points *rule, size_t most, dealt *d,
                       hn_seeds *s) {
    count_dealt(plan, from, d);
    for (size_t k = 0, any = 1, n = 0; any; k++) {
        any = 0;
        for (size_t t = 0; t < plan->n_targets && n < most; t++) {
            if (k >= rule[t].n) continue;
            rule_point(plan, from, t, hn_plan_part(plan, rule, t, k), next(plan, s));
            n += add_if_new(plan, from, s);
            any++;
            if (plan->n_app) add_drawn(plan, from, k * plan->n_targets + t, d, s);
        }
    }
}

/* What was learned for the first objective; NULL: nothing. */
static const char *learned_for(const hone_workload *w) {
    hn_source from = w->objective[0].quantity.source;
    return from == HN_FROM_CODE_SIZE || from == HN_FROM_FILE_SIZE ? HONE_SMALL : NULL;
}

/* Each target's rules, and in front what was learned, so much of all targets together. */
static hone_rc rule_parts(const hn_plan *plan, size_t most_learned, hn_part_points **out, hone_err *err) {
    hn_part_points *part = calloc(plan->n_targets + 1, sizeof *part);
    hone_rc rc = part ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t t = 0; !rc && plan->w->controls && t < plan->n_targets; t++) {
        size_t most = most_learned / plan->n_targets + (t < most_learned % plan->n_targets);
        rc = hn_target_seeds(plan->target[t], plan->part[t], learned_for(plan->w), most, &part[t].point, &part[t].n,
                             err);
    }
    if (rc)
        hn_plan_free_parts(plan, part);
    else
        *out = part;
    return rc;
}

hone_rc hn_plan_rules(const hn_plan *plan, const double *from, size_t most_rules, size_t most_learned, hn_seeds *out,
                      hone_err *err) {
    hn_part_points *rule;
    size_t room = 1;
    hone_rc rc = rule_parts(plan, most_learned, &rule, err);
    if (rc) return rc;
    for (size_t t = 0; t < plan->n_targets; t++) room += 2 * rule[t].n;
    room += n_of_environment(plan) + n_post_link();
    hn_seeds s = {.point = malloc(room * (hone_space_slots(plan->space) + 1) * sizeof *s.point)};
    dealt d = {calloc(plan->n_app + 1, sizeof *d.n), malloc((hone_space_slots(plan->space) + 1) * sizeof *d.trial)};
    if (s.point && d.n && d.trial) {
        deal_post_link(plan, from, &s);
        deal_environment(plan, from, &s);
        deal_rules(plan, from, rule, most_rules, &d, &s);
        *out = s;
    } else {
        free(s.point);
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    free(d.n);
    free(d.trial);
    hn_plan_free_parts(plan, rule);
    return rc;
}

void hn_seeds_free(hn_seeds *seeds) {
    free(seeds->point);
    *seeds = (hn_seeds){0};
}
