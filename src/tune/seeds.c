/* tune/seeds.c — the points a search begins with: the baseline, the main alternatives (floating-point contracts and
 * plain levels), the targets' rule seeds, dealt in turn with points of the workload's own parameters. */
#include "tune/plan.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many levels of each compiler are tried under every contract, the others under the baseline's alone. */
enum { CROSSED_LEVELS = 2 };

/* Points of one target, in its own space. */
typedef struct part_points {
    double *point;
    size_t n;
} part_points;

static double *part_point(const hn_plan *plan, const part_points *part, size_t t, size_t k) {
    return part[t].point + k * hone_space_slots(plan->part[t]);
}

/* --- points of a target in the joined space --------------------------------------------------------------------- */

/* Moves a point of target t's own space into the joined space, on top of the baseline's application parameters. */
static void to_joined_point(const hn_plan *plan, size_t t, const double *from_point, double *point) {
    const hone_space *part = plan->part[t];
    memcpy(point, plan->base, hone_space_slots(plan->space) * sizeof *point);
    if (plan->i_compiler != SIZE_MAX) point[hone_space_param(plan->space, plan->i_compiler)->slot] = (double)t;
    for (size_t i = 0; i < hone_space_n_params(part); i++) {
        const hone_param *from = hone_space_param(part, i);
        size_t at = hn_plan_control(plan, t, from->name);
        if (at == SIZE_MAX) continue;
        const hone_param *to = hone_space_param(plan->space, at);
        memcpy(point + to->slot, from_point + from->slot, from->n_slots * sizeof *point);
    }
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

/* A plain level. Options that it sets besides the level, such as the processor, take the baseline's value where
 * the baseline sets them. */
static void seed_level(const hn_plan *plan, size_t t, const double *level, double *point) {
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

/* --- the list ---------------------------------------------------------------------------------------------------- */

/* Accepts the point stored behind the end of the list, unless the list holds it already. */
static bool add_if_new(const hn_plan *plan, hn_seeds *s) {
    size_t slots = hone_space_slots(plan->space);
    for (size_t i = 0; i < s->n; i++)
        if (hone_point_equal(plan->space, s->point + i * slots, s->point + s->n * slots)) return false;
    s->n++;
    return true;
}

static double *next(const hn_plan *plan, hn_seeds *s) { return s->point + s->n * hone_space_slots(plan->space); }

static void set_contract(const hn_plan *plan, size_t fp, double *point) {
    if (plan->i_fp != SIZE_MAX) point[hone_space_param(plan->space, plan->i_fp)->slot] = (double)fp;
}

static size_t n_contracts(const hn_plan *plan) {
    return plan->i_fp == SIZE_MAX ? 1 : hone_space_param(plan->space, plan->i_fp)->n_values;
}

/* The k-th level of every compiler, under one contract. */
static void add_levels(const hn_plan *plan, const part_points *level, size_t k, size_t fp, hn_seeds *s) {
    for (size_t t = 0; t < plan->n_targets; t++) {
        if (k >= level[t].n) continue;
        seed_level(plan, t, part_point(plan, level, t, k), next(plan, s));
        set_contract(plan, fp, next(plan, s));
        s->n_plain += add_if_new(plan, s);
    }
}

static void add_plain(const hn_plan *plan, const part_points *level, hn_seeds *s) {
    size_t slots = hone_space_slots(plan->space), most = 0;
    for (size_t fp = n_contracts(plan); fp-- > 0;) {
        memcpy(next(plan, s), plan->base, slots * sizeof *s->point);
        set_contract(plan, fp, next(plan, s));
        s->n_plain += add_if_new(plan, s);
    }
    for (size_t t = 0; t < plan->n_targets; t++) most = level[t].n > most ? level[t].n : most;
    double base = plan->i_fp == SIZE_MAX ? 0 : plan->base[hone_space_param(plan->space, plan->i_fp)->slot];
    for (size_t k = 0; k < most; k++)
        for (size_t fp = n_contracts(plan); fp-- > 0;)
            if (k < CROSSED_LEVELS || (double)fp == base) add_levels(plan, level, k, fp, s);
}

/* A point drawn for the workload's own parameters, with every control as in the baseline: what they bring is seen by
 * itself, and a kernel's own parameters often bring the most. */
static bool add_drawn(const hn_plan *plan, uint64_t number, hn_seeds *s) {
    double *point = next(plan, s);
    const double *base = plan->base;
    if (hone_space_sample(plan->space, number, true, point, NULL)) return false;
    for (size_t i = plan->n_app; i < hone_space_n_params(plan->space); i++) {
        const hone_param *p = hone_space_param(plan->space, i);
        memcpy(point + p->slot, base + p->slot, p->n_slots * sizeof *point);
    }
    hone_point_canon(plan->space, point);
    return hone_point_legal(plan->space, point, NULL) && add_if_new(plan, s);
}

/* One of each target in turn, so that a small budget tries every compiler; where the workload has parameters of its
 * own, a point of those after each. */
static void add_rules(const hn_plan *plan, const part_points *rule, size_t most, hn_seeds *s) {
    for (size_t k = 0, dealt = 1, n = 0; dealt; k++) {
        dealt = 0;
        for (size_t t = 0; t < plan->n_targets && n < most; t++) {
            if (k >= rule[t].n) continue;
            to_joined_point(plan, t, part_point(plan, rule, t, k), next(plan, s));
            n += add_if_new(plan, s);
            dealt++;
            if (plan->n_app) add_drawn(plan, k * plan->n_targets + t, s);
        }
    }
}

static void free_parts(const hn_plan *plan, part_points *part) {
    for (size_t t = 0; part && t < plan->n_targets; t++) hone_free(part[t].point);
    free(part);
}

hone_rc hn_plan_seeds(const hn_plan *plan, size_t most_rules, hn_seeds *out, hone_err *err) {
    size_t slots = hone_space_slots(plan->space), room = 2 + n_contracts(plan);
    part_points *level = calloc(plan->n_targets + 1, sizeof *level), *rule = calloc(plan->n_targets + 1, sizeof *rule);
    hone_rc rc = level && rule ? HONE_OK : HONE_E_NOMEM;
    for (size_t t = 0; !rc && plan->w->controls && t < plan->n_targets; t++) {
        rc = hone_target_levels(plan->target[t], plan->part[t], &level[t].point, &level[t].n, err);
        if (!rc) rc = hone_target_seeds(plan->target[t], plan->part[t], &rule[t].point, &rule[t].n, err);
        room += level[t].n * n_contracts(plan) + 2 * rule[t].n;
    }
    hn_seeds s = {.n = 1};
    if (!rc) s.point = malloc(room * (slots + 1) * sizeof *s.point);
    if (!rc && !s.point) rc = HONE_E_NOMEM;
    if (!rc) {
        memcpy(s.point, plan->base, slots * sizeof *s.point);
        add_plain(plan, level, &s);
        add_rules(plan, rule, most_rules, &s);
        *out = s;
    }
    free_parts(plan, level);
    free_parts(plan, rule);
    return rc == HONE_E_NOMEM ? hn_fail(err, rc, "out of memory") : rc;
}

void hn_seeds_free(hn_seeds *seeds) {
    free(seeds->point);
    *seeds = (hn_seeds){0};
}
