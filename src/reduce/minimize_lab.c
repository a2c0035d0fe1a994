/* reduce/minimize_lab.c — programs of subsets, and pairs of runs. */
#include "reduce/minimize_lab.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANTS = 4, VARIANTS_MOST = 16, BATCH_MOST = 16 };

static hone_rc nomem(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory"); }

/* --- programs -------------------------------------------------------------------------------------------------------
 */

static void free_program(hn_reduce_program *p) {
    if (!p) return;
    hn_side_close(&p->side, false);
    hn_recipe_free(&p->recipe);
    free(p->keep);
    free(p);
}

static hn_reduce_program *find_program(hn_bench_lab *lab, const bool *keep) {
    for (size_t i = 0; i < lab->n_programs; i++)
        if (!memcmp(lab->program[i]->keep, keep, lab->parts->n * sizeof *keep)) {
            lab->program[i]->used = ++lab->clock;
            return lab->program[i];
        }
    return NULL;
}

static void drop_oldest(hn_bench_lab *lab) {
    size_t oldest = 0;
    for (size_t i = 1; i < lab->n_programs; i++)
        if (lab->program[i]->used < lab->program[oldest]->used) oldest = i;
    free_program(lab->program[oldest]);
    lab->program[oldest] = lab->program[--lab->n_programs];
}

/* A program not yet built; one that no build can be made of (its point is not legal) has no recipe and key 0. */
static hone_rc new_program(hn_bench_lab *lab, const bool *keep, hn_reduce_program **out, bool *legal, hone_err *err) {
    const hn_plan *plan = lab->site->plan;
    hn_reduce_program *p = calloc(1, sizeof *p);
    double *point = malloc((hone_space_slots(plan->space) + 1) * sizeof *point);
    if (p) p->keep = malloc((lab->parts->n + 1) * sizeof *keep);
    hone_rc rc = p && p->keep && point ? HONE_OK : nomem(err);
    if (!rc) {
        memcpy(p->keep, keep, lab->parts->n * sizeof *keep);
        p->used = ++lab->clock;
        hn_parts_point(lab->parts, keep, point);
        *legal = hone_point_legal(plan->space, point, NULL);
        rc = hn_plan_recipe(plan, point, &p->recipe, err);
    }
    free(point);
    if (rc)
        free_program(p);
    else
        *out = p;
    return rc;
}

/* Keeps the newest failure: when the reduction stops, it is the failure of the point itself, which is reported. */
static void note_failure(hn_bench_lab *lab, hone_outcome_class cls, const char *detail) {
    snprintf(lab->failure, sizeof lab->failure, "%s: %.500s", hone_outcome_class_name(cls), detail);
}

/* Makes the finished build variant 0 of the program's side. */
static hone_rc adopt(hn_bench_lab *lab, hn_reduce_program *p, hn_build *b, hone_err *err) {
    hn_side *s = &p->side;
    *s = (hn_side){.recipe = &p->recipe, .n = lab->n_variants, .layout = HN_LAYOUT_NONE};
    s->variant = HN_NEW_N(&s->arena, hn_recipe, s->n);
    s->build = HN_NEW_N(&s->arena, hn_build, s->n);
    s->name = hn_format(&s->arena, "p%zu", lab->n_built++);
    if (!hn_arena_ok(&s->arena)) {
        hn_build_drop(b, false);
        return nomem(err);
    }
    s->variant[0] = p->recipe;
    s->variant[0].arena = (hn_arena){0};
    s->build[0] = *b;
    if (b->cls != HONE_RUN_OK) note_failure(lab, b->cls, b->detail);
    p->key = b->cls == HONE_RUN_OK ? hn_program_key(lab->site->w, &p->recipe, b) | 1 : 0;
    return HONE_OK;
}

/* Builds up to BATCH_MOST programs side by side. Those that fail are adopted too, with key 0. */
static hone_rc build_batch(hn_bench_lab *lab, hn_reduce_program **p, size_t n, hone_err *err) {
    hn_recipe recipe[BATCH_MOST] = {{.n_flags = 0}};
    hn_build build[BATCH_MOST];
    char text[BATCH_MOST][32], *name[BATCH_MOST] = {0};
    for (size_t i = 0; i < n; i++) {
        recipe[i] = p[i]->recipe;
        snprintf(text[i], sizeof text[i], "p%zu", lab->n_built + i);
        name[i] = text[i];
    }
    hone_rc rc = hn_build_all(&lab->site->builder, recipe, name, n, build, err);
    if (rc) return rc;
    for (size_t i = 0; i < n; i++) {
        hone_rc one = adopt(lab, p[i], &build[i], err);
        if (!rc) rc = one;
    }
    return rc;
}

static void take_in(hn_bench_lab *lab, hn_reduce_program *p) {
    if (lab->n_programs == HN_PROGRAMS_MOST) drop_oldest(lab);
    lab->program[lab->n_programs++] = p;
}

/* At most BATCH_MOST subsets. */
static hone_rc make_batch(hn_bench_lab *lab, const bool *keep, size_t k, uint64_t *key, hone_err *err) {
    hn_reduce_program *fresh[BATCH_MOST];
    size_t which[BATCH_MOST], n = 0;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < k; i++) {
        bool legal = false;
        hn_reduce_program *p = find_program(lab, keep + i * lab->parts->n);
        key[i] = p ? p->key : 0;
        if (p) continue;
        rc = new_program(lab, keep + i * lab->parts->n, &p, &legal, err);
        if (rc) break;
        if (!legal) {
            free_program(p);
            continue;
        }
        which[n] = i;
        fresh[n++] = p;
    }
    if (!rc && n) rc = build_batch(lab, fresh, n, err);
    for (size_t i = 0; i < n; i++) {
        key[which[i]] = fresh[i]->key;
        if (rc)
            free_program(fresh[i]);
        else
            take_in(lab, fresh[i]);
    }
    return rc;
}

static hone_rc identify(void *ctx, const bool *keep, size_t k, uint64_t *key, hone_err *err) {
    hn_bench_lab *lab = ctx;
    const hone_interval unknown = {NAN, NAN, NAN};
    for (size_t at = 0; at < k; at += BATCH_MOST) {
        size_t n = k - at < BATCH_MOST ? k - at : BATCH_MOST;
        hone_rc rc = make_batch(lab, keep + at * lab->parts->n, n, key + at, err);
        if (rc) return rc;
        if (k > BATCH_MOST) hn_site_tell(lab->site, HONE_PROVE_BUILD, at + n, k, unknown, NULL);
    }
    return HONE_OK;
}

/* --- measuring ------------------------------------------------------------------------------------------------------
 */

static void use_baseline(hn_bench_lab *lab, size_t variant) {
    lab->bench.base.recipe = lab->base.variant[variant];
    lab->bench.base.build = lab->base.build[variant];
}

/* Quantities of the build are read from the unpadded layout, as padding is not part of the program. */
static bool within_limits(const hn_bench_lab *lab, const hn_reduce_program *p, const hn_measured *m) {
    const hone_workload *w = lab->site->w;
    for (size_t c = 0; lab->keeps_limits && c < w->n_limit_rules; c++) {
        double value = m->worst[w->n_objectives + c][0], base = NAN;
        hn_quantity_of_build(&w->limit_rule[c].quantity, &p->side.build[0], &value);
        hn_quantity_of_build(&w->limit_rule[c].quantity, &lab->base.build[0], &base);
        if (hn_violation(&w->limit_rule[c], value, base) > 0) return false;
    }
    return true;
}

static double gain_of(const hn_bench_lab *lab, const hn_reduce_program *p, const hn_measured *m, size_t k) {
    const hn_objective *o = &lab->site->w->objective[k];
    double base, mine;
    bool of_build = hn_quantity_of_build(&o->quantity, &lab->base.build[0], &base) &&
                    hn_quantity_of_build(&o->quantity, &p->side.build[0], &mine);
    if (!of_build || !(base > 0) || !(mine > 0)) return -hn_log_ratio(&lab->bench, m, k, 0);
    return o->maximize ? log(mine / base) : log(base / mine);
}

/* The gains of one pass, that of the objective to keep first. */
static void read_gains(const hn_bench_lab *lab, const hn_reduce_program *p, const hn_measured *m, double *gain) {
    size_t n = lab->site->w->n_objectives;
    gain[0] = gain_of(lab, p, m, lab->first_gain);
    for (size_t k = 0, at = 1; k < n; k++)
        if (k != lab->first_gain) gain[at++] = gain_of(lab, p, m, k);
}

static hone_rc one_pass(hn_bench_lab *lab, hn_reduce_program *p, size_t variant, size_t base, hn_measured *m,
                        double *gain, hone_err *err) {
    bool check = !(p->checked & 1u << variant);
    *m = (hn_measured){.cls = HONE_RUN_OK};
    use_baseline(lab, base);
    hone_rc rc = hn_measure_pass(&lab->bench, &p->side.variant[variant], &p->side.build[variant], check, 0, m, err);
    if (!rc && check) rc = hn_confirm(&lab->bench, &p->side.variant[variant], &p->side.build[variant], m, err);
    if (!rc && m->cls == HONE_RUN_OK && m->n_pass) read_gains(lab, p, m, gain);
    p->checked |= 1u << variant;
    return rc;
}

/* A program that worked before and fails now is tried once more, as a long measurement also meets transient failures of
 * the machine. A real failure will occur again, here or in the proof. */
static hone_rc pass_with_retry(hn_bench_lab *lab, hn_reduce_program *p, size_t variant, size_t base, hn_measured *m,
                               double *gain, hone_err *err) {
    hone_rc rc = one_pass(lab, p, variant, base, m, gain, err);
    if (!rc && m->cls != HONE_RUN_OK && p->worked) {
        hn_measured_free(m);
        rc = one_pass(lab, p, variant, base, m, gain, err);
    }
    p->worked |= !rc && m->cls == HONE_RUN_OK;
    return rc;
}

/* A subset measured once has one layout, since there are many such subsets; a subset that decides the result has all
 * layouts. */
static hone_rc vary(hn_bench_lab *lab, hn_reduce_program *p, hone_err *err) {
    if (p->varied || lab->n_variants == 1) return HONE_OK;
    p->varied = true;
    return hn_side_vary(&lab->variants, &p->side, lab->base.layout, err);
}

static hone_rc run_passes(hn_bench_lab *lab, hn_reduce_program *p, size_t count, double *gain, bool *works,
                          hone_err *err) {
    hn_measured *m = malloc(sizeof *m);
    if (!m) return nomem(err);
    size_t n_within = 0, n_gains = lab->site->w->n_objectives;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && *works && i < count; i++) {
        size_t base = lab->n_pairs++ % lab->n_variants;
        rc = pass_with_retry(lab, p, p->varied ? base : 0, base, m, gain + i * n_gains, err);
        *works = !rc && m->cls == HONE_RUN_OK && m->n_pass > 0;
        if (!rc && m->cls != HONE_RUN_OK) note_failure(lab, m->cls, m->detail);
        n_within += !rc && *works && within_limits(lab, p, m);
        if (!rc) hn_measured_free(m);
    }
    if (!rc && count > 1 && 2 * n_within < count) *works = false;
    free(m);
    return rc;
}

static hone_rc measure(void *ctx, const bool *keep, size_t count, double *gain, bool *works, hone_err *err) {
    hn_bench_lab *lab = ctx;
    uint64_t key = 0;
    hone_rc rc = make_batch(lab, keep, 1, &key, err);
    hn_reduce_program *p = rc ? NULL : find_program(lab, keep);
    *works = p && p->key;
    if (rc || !*works) return rc;
    if (count > 1) rc = vary(lab, p, err);
    return rc ? rc : run_passes(lab, p, count, gain, works, err);
}

static double time_left(void *ctx, size_t n_measured) {
    hn_bench_lab *lab = ctx;
    hn_site_tell(lab->site, HONE_PROVE_REDUCE, n_measured, lab->most, (hone_interval){NAN, NAN, NAN}, NULL);
    double now = hn_now_s(), end = lab->site->deadline_s;
    if (!isfinite(end)) return 1;
    return now < end ? (end - now) / (end - lab->site->started_s) : 0;
}

/* --- opening --------------------------------------------------------------------------------------------------------
 */

static void configure(hn_bench_lab *lab) {
    const hone_prove_options *o = lab->site->o;
    lab->n_variants = o->variants == 0 ? VARIANTS : o->variants > VARIANTS_MOST ? VARIANTS_MOST : o->variants;
    if (!*lab->site->w->build) lab->n_variants = 1;
    lab->bench.run = lab->site->run;
    lab->bench.seed = o->seed;
    lab->variants = (hn_variants){.builder = &lab->site->builder, .run = &lab->bench.run, .seed = o->seed};
    lab->variants.script_dir = lab->site->dir;
}

static bool is_steady(const hn_bench_lab *lab) {
    const hone_workload *w = lab->site->w;
    for (size_t k = 0; k < w->n_objectives; k++)
        if (hn_quantity_is_noisy(&w->objective[k].quantity) && !lab->bench.base.steady[k]) return false;
    return true;
}

hone_rc hn_bench_lab_open(hn_bench_lab *lab, hn_site *site, const hn_parts *parts, size_t first_gain, hone_err *err) {
    *lab = (hn_bench_lab){.site = site, .parts = parts, .first_gain = first_gain};
    configure(lab);
    hone_rc rc = hn_plan_recipe(site->plan, NULL, &lab->base_recipe, err);
    if (!rc) rc = hn_side_open(&lab->variants, &lab->base, "base", &lab->base_recipe, lab->n_variants, err);
    if (rc) return rc;
    const hn_build *b = &lab->base.build[0];
    if (b->cls != HONE_RUN_OK)
        return hn_fail(err, HONE_E_BASELINE, "the baseline does not build (%s): %.800s",
                       hone_outcome_class_name(b->cls), b->detail);
    use_baseline(lab, 0);
    rc = hn_bench_open(&lab->bench, NULL, err);
    if (is_steady(lab)) lab->n_variants = 1;
    if (!rc && lab->n_variants > 1) rc = hn_side_vary(&lab->variants, &lab->base, HN_LAYOUT_ORDER, err);
    if (lab->base.layout == HN_LAYOUT_NONE) lab->n_variants = 1;
    lab->keeps_limits = !lab->bench.base.infeasible;
    return rc;
}

void hn_bench_lab_close(hn_bench_lab *lab) {
    for (size_t i = 0; i < lab->n_programs; i++) free_program(lab->program[i]);
    lab->n_programs = 0;
    lab->bench.base.build = (hn_build){0}; /* both belong to the side */
    lab->bench.base.recipe = (hn_recipe){0};
    hn_bench_close(&lab->bench);
    hn_side_close(&lab->base, false);
    hn_recipe_free(&lab->base_recipe);
}

hn_reduce_lab hn_bench_lab_interface(hn_bench_lab *lab) {
    return (hn_reduce_lab){
        .ctx = lab,
        .n = lab->parts->n,
        .n_gains = lab->site->w->n_objectives,
        .parent = lab->parts->parent,
        .steady = is_steady(lab),
        .identify = identify,
        .measure = measure,
        .time_left = time_left,
    };
}
