/* tune/big_choices.c — the big choices: which there are, their combinations, points, and what they brought. */
#include "tune/big_choices.h"

#include "base/err.h"
#include "base/str.h"
#include "tune/post_link.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of more combinations than this some are drawn. */
enum { COMBINATIONS_MOST = 6000, SPARE_RUNS = 3, VALUES_MOST = 2 };
/* Standard deviations of effects, in logarithms: how much each kind of choice may bring. */
static const double sd_fast = 0.5, sd_contract = 0.1, sd_compiler = 0.2, sd_level = 0.15, sd_low_level = 0.08,
                    sd_control = 0.1, sd_unread = 0.3, sd_others = 0.08, sd_post_link = 0.1;
/* A measurement of the design, while nothing is known of the machine. */
static const double design_noise = 0.02;
/* Link-time optimisation builds slowly, and a profile needs two builds and a run; at a low level of optimisation most
 * programs are slow, and what else is chosen matters less. */
static const double cost_lto = 1.5, cost_pgo = 3, cost_low_level = 3, cost_post_link = 2;
static const char linked[] = "lto", profiled[] = "pgo";

/* --- which choices there are ----------------------------------------------------------------------------------------
 */

static hn_big_choice *add_choice(hn_big_choices *c, hn_big_choice_kind kind, const char *name,
                                 const char *of_baseline) {
    if (c->factors.n == HN_FACTORS) return NULL;
    hn_big_choice *x = &c->item[c->factors.n++];
    *x = (hn_big_choice){.kind = kind, .name = name, .n = 1, .value = {of_baseline}};
    return x;
}

/* A further value, once. */
static void add_value(hn_big_choices *c, hn_big_choice *x, const char *value, double sd) {
    if (!x || !value || x->n == HN_LEVELS) return;
    for (size_t i = 0; i < x->n; i++)
        if (!strcmp(x->value[i], value)) return;
    c->factors.sd[x - c->item][x->n] = sd;
    x->value[x->n++] = value;
}

/* A choice without an alternative is none. */
static void drop_if_single(hn_big_choices *c) {
    if (c->factors.n && c->item[c->factors.n - 1].n < 2) c->factors.n--;
}

/* The text of a gene, "" when it is absent; NULL: the compiler has no such control. */
static const char *text_of(hn_big_choices *c, const double *point, size_t i) {
    if (i == SIZE_MAX) return NULL;
    const hone_param *p = hone_space_param(c->plan->space, i);
    double v = point[p->slot];
    if (isnan(v)) return "";
    if (p->kind == HONE_FLAG) return v != 0 ? "on" : "off";
    if (p->kind == HONE_CHOICE || p->kind == HONE_ORDINAL) return p->values[(size_t)v];
    return hn_format(&c->arena, "%.0f", v);
}

static void add_compilers(hn_big_choices *c) {
    const hone_workload *w = c->plan->w;
    if (c->plan->i_compiler == SIZE_MAX) return;
    hn_big_choice *x = add_choice(c, HN_CHOICE_COMPILER, "compiler", w->compiler[0]);
    for (size_t t = 1; t < w->n_compilers; t++) add_value(c, x, w->compiler[t], sd_compiler);
}

static void add_contracts(hn_big_choices *c) {
    const hone_workload *w = c->plan->w;
    if (c->plan->i_fp == SIZE_MAX) return;
    hn_big_choice *x = add_choice(c, HN_CHOICE_FP, "fp", hone_fp_name(w->fp_baseline));
    for (int fp = (int)w->fp_max; fp >= (int)w->fp_min; fp--)
        add_value(c, x, hone_fp_name((hone_fp)fp), fp == HONE_FP_FAST ? sd_fast : sd_contract);
}

static size_t level_gene(const hn_plan *plan, size_t t) {
    return hn_plan_control(plan, t, hn_target_family(plan->target[t])->level);
}

/* The value of a target's level gene in its k-th plain level. */
static const char *plain_level(const hn_big_choices *c, size_t t, size_t k) {
    const hone_space *part = c->plan->part[t];
    const hone_param *p = hone_space_param(part, hone_space_find(part, hn_target_family(c->plan->target[t])->level));
    return p->values[(size_t)hn_plan_part(c->plan, c->level, t, k)[p->slot]];
}

static void add_levels(hn_big_choices *c) {
    const hn_plan *plan = c->plan;
    const char *of_baseline = plan->odd_level ? "" : text_of(c, plan->base, level_gene(plan, 0));
    hn_big_choice *x = add_choice(c, HN_CHOICE_LEVEL, "level", of_baseline ? of_baseline : "");
    for (size_t t = 0; t < plan->n_targets; t++)
        for (size_t k = 0; level_gene(plan, t) != SIZE_MAX && k < c->level[t].n; k++)
            add_value(c, x, plain_level(c, t, k), k < 2 ? sd_level : sd_low_level);
    drop_if_single(c);
}

static hn_big_choice *control_named(hn_big_choices *c, const char *name) {
    for (size_t i = 0; i < c->factors.n; i++)
        if (c->item[i].kind == HN_CHOICE_CONTROL && !strcmp(c->item[i].name, name)) return &c->item[i];
    return NULL;
}

static bool has_value(const hn_plan *plan, size_t t, const char *name, const char *value) {
    size_t i = hn_plan_control(plan, t, name);
    if (i == SIZE_MAX) return false;
    if (!*value) return hone_space_param(plan->space, i)->optional;
    double *scratch = malloc((hone_space_slots(plan->space) + 1) * sizeof *scratch);
    bool has = scratch && hn_plan_set(plan->space, scratch, i, value);
    free(scratch);
    return has;
}

/* A control of target t with the first of these values, "A|B", that it offers. */
static void add_control(hn_big_choices *c, size_t t, const char *name, const char *values) {
    size_t at = hn_plan_control(c->plan, t, name);
    const char *tag = at == SIZE_MAX ? NULL : hone_space_param(c->plan->space, at)->tag;
    if (at == SIZE_MAX || (tag && !strcmp(tag, "numeric"))) return; /* the contract decides about those */
    double sd = tag && !strcmp(tag, "unread") ? sd_unread : sd_control;
    hn_big_choice *x = control_named(c, name);
    const char *of_baseline = text_of(c, c->plan->base, hn_plan_control(c->plan, 0, name));
    if (!x) x = add_choice(c, HN_CHOICE_CONTROL, name, of_baseline ? of_baseline : "");
    if (has_value(c->plan, t, name, "")) add_value(c, x, "", sd);
    size_t n = 0;
    for (const char *v = values; *v && n < VALUES_MOST; v += strcspn(v, "|"), v += *v == '|') {
        const char *value = hn_strndup(&c->arena, v, strcspn(v, "|"));
        if (!value || !has_value(c->plan, t, name, value)) continue;
        add_value(c, x, value, sd);
        n++;
    }
    drop_if_single(c);
}

static void add_controls(hn_big_choices *c) {
    for (size_t t = 0; t < c->plan->n_targets; t++) {
        const char *const *row = hn_target_family(c->plan->target[t])->choices;
        for (; row && *row; row++) {
            const char *gap = strchr(*row, ' '), *name = hn_strndup(&c->arena, *row, (size_t)(gap - *row));
            if (name) add_control(c, t, name, gap + 1);
        }
        add_control(c, t, linked, "on|off");
        add_control(c, t, profiled, "on|off");
    }
}

/* BOLT with the options that are known to pay. */
static void add_post_link(hn_big_choices *c) {
    hn_big_choice *x = c->plan->post_link ? add_choice(c, HN_CHOICE_POST_LINK, HN_POST_LINK, "off") : NULL;
    add_value(c, x, "on", sd_post_link);
}

static bool is_choice(const hn_big_choices *c, const char *name) {
    const hn_family *f = hn_target_family(c->plan->target[0]);
    if (!strcmp(name, f->level) || !strcmp(name, f->arch)) return true;
    for (size_t i = 0; i < c->factors.n; i++)
        if (c->item[i].kind == HN_CHOICE_CONTROL && !strcmp(c->item[i].name, name)) return true;
    return false;
}

/* Controls of the baseline that are no choice of their own. */
static void add_others(hn_big_choices *c) {
    const hone_space *part = c->plan->part[0];
    bool any = false;
    for (size_t i = 0; part && i < hone_space_n_params(part); i++) {
        const hone_param *p = hone_space_param(part, i);
        size_t at = p->optional && !is_choice(c, p->name) ? hn_plan_control(c->plan, 0, p->name) : SIZE_MAX;
        any |= at != SIZE_MAX && !isnan(c->plan->base[hone_space_param(c->plan->space, at)->slot]);
    }
    if (any) add_value(c, add_choice(c, HN_CHOICE_OTHERS, "others", "kept"), "left out", sd_others);
}

/* --- combinations ----------------------------------------------------------------------------------------------------
 */

static const char *value_of(const hn_big_choices *c, const hn_combination *x, size_t i) {
    return c->item[i].value[x->level[i]];
}

static size_t compiler_of(const hn_big_choices *c, const hn_combination *x) {
    for (size_t i = 0; i < c->factors.n; i++)
        if (c->item[i].kind == HN_CHOICE_COMPILER) return x->level[i];
    return 0;
}

/* Can this compiler choose that level of the choice? What it lacks stays at the baseline's. */
static bool offers(const hn_big_choices *c, size_t t, const hn_big_choice *choice, size_t level) {
    const hn_plan *plan = c->plan;
    const hn_family *f = hn_target_family(plan->target[t]);
    const char *value = choice->value[level];
    switch (choice->kind) {
    case HN_CHOICE_COMPILER: return true;
    case HN_CHOICE_POST_LINK: return !level || hn_post_link_serves(plan, t);
    case HN_CHOICE_FP:
        for (int fp = 0; level && fp < HONE_N_FP; fp++)
            if (!strcmp(hone_fp_name((hone_fp)fp), value)) return f->contract[fp] != NULL;
        return true;
    case HN_CHOICE_LEVEL: return *value && has_value(plan, t, f->level, value);
    case HN_CHOICE_OTHERS: return !level || t == 0;
    default:
        if (hn_plan_control(plan, t, choice->name) == SIZE_MAX) return level == 0;
        return has_value(plan, t, choice->name, value);
    }
}

static double cost_of(const hn_big_choices *c, const hn_combination *x) {
    double cost = 1;
    for (size_t i = 0; i < c->factors.n; i++) {
        bool on = x->level[i] && !strcmp(value_of(c, x, i), "on");
        if (on && !strcmp(c->item[i].name, linked)) cost *= cost_lto;
        if (on && !strcmp(c->item[i].name, profiled)) cost *= cost_pgo;
        if (on && c->item[i].kind == HN_CHOICE_POST_LINK) cost *= cost_post_link;
        bool low = c->item[i].kind == HN_CHOICE_LEVEL && x->level[i] && c->factors.sd[i][x->level[i]] < sd_level;
        if (low) cost *= cost_low_level;
    }
    return cost;
}

/* The i-th of all products; false: its compiler does not offer it, or it is the baseline. can: by compiler, choice and
 * level. */
static bool combination(const hn_big_choices *c, const bool *can, size_t i, hn_combination *out) {
    bool other = false;
    *out = (hn_combination){{0}};
    for (size_t k = 0; k < c->factors.n; k++) {
        out->level[k] = (unsigned char)(i % c->item[k].n);
        i /= c->item[k].n;
        other |= out->level[k] != 0;
    }
    size_t t = compiler_of(c, out);
    for (size_t k = 0; k < c->factors.n; k++)
        if (!can[(t * HN_FACTORS + k) * HN_LEVELS + out->level[k]]) return false;
    return other;
}

static hone_rc list_combinations(hn_big_choices *c, hone_err *err) {
    size_t total = 1, n_targets = c->plan->n_targets;
    for (size_t k = 0; k < c->factors.n; k++) total *= c->factors.n_levels[k] = c->item[k].n;
    size_t step = total / COMBINATIONS_MOST + 1;
    while (step > 1 && (step % 2 == 0 || step % 3 == 0 || step % 5 == 0)) step++; /* so that every level is met */
    bool *can = calloc(n_targets * HN_FACTORS * HN_LEVELS + 1, sizeof *can);
    c->all = HN_NEW_N(&c->arena, hn_combination, total / step + 1);
    c->cost = HN_NEW_N(&c->arena, double, total / step + 1);
    if (!can || !hn_arena_ok(&c->arena)) {
        free(can);
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    for (size_t t = 0; t < n_targets; t++)
        for (size_t k = 0; k < c->factors.n; k++)
            for (size_t v = 0; v < c->item[k].n; v++)
                can[(t * HN_FACTORS + k) * HN_LEVELS + v] = offers(c, t, &c->item[k], v);
    for (size_t i = 0; i < total; i += step)
        if (combination(c, can, i, &c->all[c->n_all])) c->cost[c->n_all] = cost_of(c, &c->all[c->n_all]), c->n_all++;
    free(can);
    return HONE_OK;
}

hone_rc hn_big_choices_open(const hn_plan *plan, hn_big_choices *out, hone_err *err) {
    *out = (hn_big_choices){.plan = plan};
    if ((!plan->w->controls && !plan->post_link) || !plan->n_targets) return HONE_OK;
    hone_rc rc = hn_plan_parts(plan, hone_target_levels, &out->level, err);
    if (rc) return rc;
    add_compilers(out);
    add_contracts(out);
    add_levels(out);
    add_controls(out);
    add_post_link(out);
    add_others(out);
    rc = list_combinations(out, err);
    if (rc) hn_big_choices_close(out);
    return rc;
}

void hn_big_choices_close(hn_big_choices *c) {
    if (c->level) hn_plan_free_parts(c->plan, c->level);
    hn_arena_free(&c->arena);
    *c = (hn_big_choices){0};
}

/* --- points ------------------------------------------------------------------------------------------------------- */

static bool leaves_others_out(const hn_big_choices *c, const hn_combination *x) {
    for (size_t i = 0; i < c->factors.n; i++)
        if (c->item[i].kind == HN_CHOICE_OTHERS) return x->level[i] != 0;
    return false;
}

/* What every choice but compiler and others sets. */
static void set_choices(const hn_big_choices *c, const hn_combination *x, size_t t, double *point) {
    const hn_plan *plan = c->plan;
    for (size_t i = 0; i < c->factors.n; i++) {
        const char *value = value_of(c, x, i);
        if (c->item[i].kind == HN_CHOICE_FP) hn_plan_set(plan->space, point, plan->i_fp, value);
        if (c->item[i].kind == HN_CHOICE_LEVEL) hn_plan_set(plan->space, point, level_gene(plan, t), value);
        if (c->item[i].kind == HN_CHOICE_POST_LINK && x->level[i]) hn_post_link_set(plan, 0, point);
        if (c->item[i].kind != HN_CHOICE_CONTROL) continue;
        size_t at = hn_plan_control(plan, t, c->item[i].name);
        if (at == SIZE_MAX) continue;
        if (*value)
            hn_plan_set(plan->space, point, at, value);
        else
            point[hone_space_param(plan->space, at)->slot] = NAN;
    }
}

bool hn_big_choices_point(const hn_big_choices *c, const hn_combination *x, double *point) {
    const hn_plan *plan = c->plan;
    size_t t = compiler_of(c, x);
    if ((t || leaves_others_out(c, x)) && c->level[t].n)
        hn_plan_level(plan, t, hn_plan_part(plan, c->level, t, 0), point);
    else
        memcpy(point, plan->base, hone_space_slots(plan->space) * sizeof *point);
    if (plan->i_compiler != SIZE_MAX) point[hone_space_param(plan->space, plan->i_compiler)->slot] = (double)t;
    if (plan->i_fp != SIZE_MAX) hn_plan_set(plan->space, point, plan->i_fp, hone_fp_name(plan->w->fp_baseline));
    set_choices(c, x, t, point);
    hone_point_canon(plan->space, point);
    return hone_point_legal(plan->space, point, NULL);
}

/* --- the experiment ----------------------------------------------------------------------------------------------- */

static size_t find_combination(const hn_big_choices *c, const hn_combination *x) {
    for (size_t i = 0; i < c->n_all; i++)
        if (!memcmp(&c->all[i], x, sizeof *x)) return i;
    return SIZE_MAX;
}

/* The baseline under each other contract; where no point has the baseline's level, at the first that one has. */
static size_t contracts_alone(const hn_big_choices *c, size_t *chosen) {
    size_t n = 0;
    for (size_t i = 0; i < c->factors.n; i++)
        for (size_t v = 1; c->item[i].kind == HN_CHOICE_FP && v < c->item[i].n; v++) {
            hn_combination x = {{0}};
            x.level[i] = (unsigned char)v;
            for (size_t k = 0; c->plan->odd_level && k < c->factors.n; k++)
                if (c->item[k].kind == HN_CHOICE_LEVEL) x.level[k] = 1;
            size_t at = find_combination(c, &x);
            if (at != SIZE_MAX) chosen[n++] = at;
        }
    return n;
}

size_t hn_big_choices_design(const hn_big_choices *c, hn_combination out[HN_DESIGN_MOST]) {
    size_t chosen[HN_DESIGN_MOST], most = SPARE_RUNS;
    for (size_t i = 0; i < c->factors.n; i++) most += c->item[i].n - 1;
    if (most > HN_DESIGN_MOST) most = HN_DESIGN_MOST;
    size_t given = contracts_alone(c, chosen);
    size_t n = hn_design_order(&c->factors, c->all, c->cost, c->n_all, design_noise, given, most, chosen);
    for (size_t i = 0; i < n; i++) out[i] = c->all[chosen[i]];
    return n;
}

/* --- what it says ------------------------------------------------------------------------------------------------- */

static void count_level(const hn_combination *seen, const bool *failed, size_t n, size_t factor, size_t level,
                        int64_t *n_trials, int64_t *n_failed) {
    *n_trials = *n_failed = 0;
    for (size_t i = 0; i < n; i++) {
        if (seen[i].level[factor] != level) continue;
        ++*n_trials;
        *n_failed += failed[i];
    }
}

static bool never_works(const hn_big_choices *c, const hn_combination *x, const hn_combination *seen,
                        const bool *failed, size_t n_seen) {
    for (size_t i = 0; i < c->factors.n; i++) {
        int64_t n, bad;
        count_level(seen, failed, n_seen, i, x->level[i], &n, &bad);
        if (x->level[i] && n && n == bad) return true;
    }
    return false;
}

static bool is_among(const hn_combination *x, const hn_combination *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!memcmp(&list[i], x, sizeof *x)) return true;
    return false;
}

size_t hn_big_choices_promising(const hn_big_choices *c, const hn_effects *e, const hn_combination *seen,
                                const bool *failed, size_t n_seen, double best, size_t most, hn_combination *out) {
    size_t n = 0;
    for (; n < most; n++) {
        double least = best;
        for (size_t i = 0; i < c->n_all; i++) {
            double y = hn_effects_predict(&c->factors, e, &c->all[i]);
            if (y >= least || is_among(&c->all[i], seen, n_seen) || is_among(&c->all[i], out, n)) continue;
            if (never_works(c, &c->all[i], seen, failed, n_seen)) continue;
            least = y;
            out[n] = c->all[i];
        }
        if (least >= best) break;
    }
    return n;
}

/* --- in words ----------------------------------------------------------------------------------------------------- */

/* A control as its compiler's command line has it, of the first compiler that has it. */
static const char *spelled(hn_big_choices *c, const char *name, const char *value) {
    for (size_t t = 0; t < c->plan->n_targets; t++) {
        const hn_family *f = hn_target_family(c->plan->target[t]);
        const char *gene = strcmp(name, "level") ? name : f->level;
        if (!has_value(c->plan, t, gene, value)) continue;
        hn_flags words = {.a = &c->arena};
        hn_str s = {0};
        f->spell(&words, c->plan->target[t], gene, value);
        for (size_t i = 0; i < words.n && words.word[i]; i++) hn_str_addf(&s, "%s%s", i ? " " : "", words.word[i]);
        const char *text = hn_strdup(&c->arena, s.text ? s.text : "");
        hn_str_free(&s);
        return text;
    }
    return value;
}

static const char *words_of(hn_big_choices *c, const hn_big_choice *x, const char *value) {
    static const char *const contract[HONE_N_FP] = {"strict floating point", "fused multiply-add (contract)",
                                                    "fast floating point"};
    const char *with = strcmp(value, "off") ? "" : "without ";
    for (int fp = 0; x->kind == HN_CHOICE_FP && fp < HONE_N_FP; fp++)
        if (!strcmp(value, hone_fp_name((hone_fp)fp))) return contract[fp];
    if (x->kind == HN_CHOICE_OTHERS) return "without the baseline's other options";
    if (x->kind == HN_CHOICE_COMPILER) return value;
    if (x->kind == HN_CHOICE_POST_LINK) return "BOLT behind the linker";
    if (!strcmp(x->name, linked)) return hn_format(&c->arena, "%slink-time optimisation", with);
    if (!strcmp(x->name, profiled)) return hn_format(&c->arena, "%sprofile-guided optimisation", with);
    if (!*value) return hn_format(&c->arena, "without %s", spelled(c, x->name, x->value[0]));
    return spelled(c, x->name, value);
}

static const char *sentence(hn_big_choices *c, const hn_big_choice *x, size_t level) {
    const char *words = words_of(c, x, x->value[level]);
    bool against = x->kind == HN_CHOICE_COMPILER || x->kind == HN_CHOICE_LEVEL ||
                   (x->kind == HN_CHOICE_CONTROL && *x->value[0] && *x->value[level] && strcmp(x->value[0], "off") &&
                    strcmp(x->value[level], "off"));
    const char *was = *x->value[0] ? words_of(c, x, x->value[0]) : "the baseline's level";
    return against ? hn_format(&c->arena, "%s instead of %s", words, was) : words;
}

static hone_effect effect_of(hn_big_choices *c, const hn_effects *e, size_t i, size_t level) {
    const double wide = 1.96;
    const hn_big_choice *x = &c->item[i];
    size_t term = hn_factor_term(&c->factors, i, level);
    double mid = term == SIZE_MAX ? NAN : e->mean[term],
           half = term == SIZE_MAX ? NAN : wide * sqrt(e->cov[term][term]);
    hone_effect out = {.choice = x->name, .value = x->value[level], .against = x->value[0]};
    out.words = sentence(c, x, level);
    out.gain = exp(-mid);
    out.lo = exp(-mid - half);
    out.hi = exp(-mid + half);
    return out;
}

static int by_size(const void *a, const void *b) {
    const hone_effect *x = a, *y = b;
    double p = isnan(x->gain) ? 0 : fabs(log(x->gain)), q = isnan(y->gain) ? 0 : fabs(log(y->gain));
    return p < q ? 1 : p > q ? -1 : 0;
}

hone_rc hn_big_choices_effects(hn_big_choices *c, const hn_effects *e, const hn_combination *seen, const bool *failed,
                               size_t n, hone_effect **out, size_t *n_out, hone_err *err) {
    hone_effect *list = HN_NEW_N(&c->arena, hone_effect, HN_FACTORS * HN_LEVELS);
    size_t n_list = 0;
    for (size_t i = 0; list && i < c->factors.n; i++)
        for (size_t level = 1; level < c->item[i].n; level++) {
            hone_effect x = effect_of(c, e, i, level);
            count_level(seen, failed, n, i, level, &x.n_trials, &x.n_failed);
            if (!x.n_trials) continue;
            if (x.n_trials == x.n_failed) x.gain = x.lo = x.hi = NAN;
            list[n_list++] = x;
        }
    if (!hn_arena_ok(&c->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (n_list) qsort(list, n_list, sizeof *list, by_size);
    *out = list;
    *n_out = n_list;
    return HONE_OK;
}
