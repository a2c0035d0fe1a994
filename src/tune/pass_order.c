/* tune/pass_order.c — see pass_order.h. */
#include "tune/pass_order.h"

#include "base/err.h"
#include "space/withheld.h"
#include "tune/build.h"
#include "tune/cut_build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hone_rc nomem(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory for the order of passes"); }

/* --- is it offered? ------------------------------------------------------------------------------------------------
 */

/* Where the build command cannot be made in stages, why. */
static hone_rc look_at_command(hn_plan *plan, const char **why, hone_err *err) {
    hn_recipe r = {0};
    hn_str shell = {0}, flags = {0};
    hone_rc rc = hn_plan_recipe(plan, NULL, &r, err);
    for (size_t i = 0; !rc && i < r.n_flags; i++) {
        hn_str_add(&flags, i ? " " : "");
        hn_str_add_shell(&flags, r.flag[i]);
    }
    if (!rc) rc = hn_recipe_expand(plan->w, &r, plan->w->build, flags.text ? flags.text : "", NULL, NULL, &shell, err);
    if (!rc) *why = hn_cut_build_stages(&r, shell.text ? shell.text : "", &plan->arena);
    hn_str_free(&shell);
    hn_str_free(&flags);
    hn_recipe_free(&r);
    return rc;
}

hone_rc hn_pass_order_look(hn_plan *plan, hone_err *err) {
    const char *why = NULL;
    bool any = false;
    if (!plan->w->passes || !plan->n_targets) return HONE_OK;
    hone_rc rc = look_at_command(plan, &why, err);
    hn_opt *opt = rc || why ? NULL : HN_NEW_N(&plan->arena, hn_opt, plan->n_targets + 1);
    if (!rc && !why && !opt) return nomem(err);
    for (size_t t = 0; opt && t < plan->n_targets; t++) {
        const char *reason = NULL;
        if (!hn_target_family(plan->target[t])->passes) continue;
        any |= hn_opt_find(&plan->arena, plan->w->compiler[t], &opt[t], &reason);
        if (reason && !why) why = reason;
    }
    if (!rc && !hn_arena_ok(&plan->arena)) rc = nomem(err);
    if (rc) return rc;
    plan->opt = any ? opt : NULL;
    plan->no_passes = any ? NULL : why ? why : "no compiler of the workload is made of LLVM's passes";
    return plan->no_passes ? hn_space_withhold(plan->space, HN_PASSES, plan->no_passes, err) : HONE_OK;
}

/* --- the space ---------------------------------------------------------------------------------------------------- */

/* "loop-vectorize" of "loop-vectorize<…>"; what no name of a parameter may have becomes "_". */
static const char *plain_name(hn_arena *a, const char *name) {
    char *plain = hn_strndup(a, name, strcspn(name, "<"));
    for (char *c = plain; c && *c; c++) {
        bool fine = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '-';
        if (!fine) *c = '_';
    }
    return plain;
}

static hone_rc add_pass(hn_plan *plan, size_t t, size_t number, hone_space *space, hone_err *err) {
    hn_arena *a = &plan->arena;
    const hn_pipeline *p = &plan->opt[t].pipeline;
    const char *const *word = NULL;
    size_t n = 0;
    hone_rc rc = hn_pipeline_edits(p, number, a, &word, &n, err);
    if (rc) return rc;
    const char *name = plain_name(a, p->pass[number - 1]->name);
    hone_param x = {.name = hn_format(a, HN_PASSES "%s.%zu.%s", plan->prefix[t], number, name),
                    .kind = HONE_CHOICE,
                    .values = word,
                    .n_values = n,
                    .dflt = (double)NAN,
                    .optional = true,
                    .knockout = .97,
                    .when = hn_format(a, "`" HN_PASSES "%s`", plan->prefix[t]),
                    .doc = "-N cuts pass N, +N@M repeats it in front of M, N~M swaps both",
                    .tag = "passes"};
    return hn_arena_ok(a) ? hone_space_add(space, &x, err) : nomem(err);
}

static hone_rc add_target(hn_plan *plan, size_t t, const char *when, hone_space *space, hone_err *err) {
    hone_param stage = {.name = hn_format(&plan->arena, HN_PASSES "%s", plan->prefix[t]),
                        .kind = HONE_FLAG,
                        .when = when,
                        .doc = "opt runs the compiler's passes, edited, instead of the compiler",
                        .tag = "passes"};
    if (!stage.name) return nomem(err);
    hone_rc rc = hone_space_add(space, &stage, err);
    for (size_t k = 1; !rc && k <= plan->opt[t].pipeline.n; k++) rc = add_pass(plan, t, k, space, err);
    return rc;
}

static hone_rc add_own(hn_plan *plan, size_t t, hone_err *err) {
    hone_space *own;
    hone_rc rc = hone_space_new(plan->w->name, &own, err);
    if (rc) return rc;
    plan->pass[t].space = own;
    rc = add_target(plan, t, NULL, own, err);
    return rc ? rc : hone_space_seal(own, err);
}

static hone_rc add_all(hn_plan *plan, hone_space *all, hone_err *err) {
    char when[300];
    hone_rc rc = hone_space_include(all, plan->space, NULL, NULL, err);
    for (size_t t = 0; !rc && t < plan->n_targets; t++) {
        if (!plan->opt[t].path) continue;
        snprintf(when, sizeof when, "compiler == '%s'", plan->w->compiler[t]);
        plan->pass[t].first = hone_space_n_params(all);
        rc = add_target(plan, t, plan->n_targets > 1 ? when : NULL, all, err);
        if (!rc) rc = add_own(plan, t, err);
    }
    return rc ? rc : hone_space_seal(all, err);
}

hone_rc hn_pass_order_add(hn_plan *plan, hone_err *err) {
    hone_space *all = NULL;
    plan->pass = HN_NEW_N(&plan->arena, hn_own_space, plan->n_targets + 1);
    hone_rc rc = plan->pass ? hone_space_new(plan->w->name, &all, err) : nomem(err);
    size_t before = hone_space_slots(plan->space);
    if (!rc) rc = add_all(plan, all, err);
    if (rc) {
        hone_space_free(all);
        return rc;
    }
    plan->first_pass_slot = before;
    if (plan->global)
        hone_space_free(plan->space);
    else
        plan->global = plan->space;
    plan->space = all;
    return HONE_OK;
}

void hn_pass_order_close(hn_plan *plan) {
    for (size_t t = 0; plan->pass && t < plan->n_targets; t++) hone_space_free(plan->pass[t].space);
    plan->pass = NULL;
}

const hone_space *hn_pass_order_space(const hn_plan *plan, size_t t, size_t *at, size_t *n) {
    if (!plan->pass || !plan->pass[t].space) return NULL;
    *at = hone_space_param(plan->space, plan->pass[t].first)->slot;
    *n = hone_space_slots(plan->pass[t].space);
    return plan->pass[t].space;
}

/* --- points --------------------------------------------------------------------------------------------------------
 */

static bool runs(const hn_plan *plan, size_t t, const double *point) {
    if (!plan->pass || !plan->pass[t].space) return false;
    size_t i = plan->pass[t].first;
    return hone_point_active(plan->space, point, i) && point[hone_space_param(plan->space, i)->slot] == 1;
}

bool hn_pass_order_used(const hn_plan *plan, const double *point) {
    for (size_t t = 0; plan->pass && t < plan->n_targets; t++)
        if (runs(plan, t, point)) return true;
    return false;
}

hone_rc hn_pass_order_apply(const hn_plan *plan, size_t t, const double *point, hn_recipe *r, hone_err *err) {
    if (!point || !runs(plan, t, point)) return HONE_OK;
    const hn_opt *opt = &plan->opt[t];
    hn_str s = {0};
    for (size_t k = 1; k <= opt->pipeline.n; k++) {
        const hone_param *p = hone_space_param(plan->space, plan->pass[t].first + k);
        if (isnan(point[p->slot])) continue;
        hn_str_addf(&s, "%s%s", s.n ? " " : "", p->values[(size_t)point[p->slot]]);
    }
    r->opt = opt;
    r->edits = s.failed ? NULL : hn_strdup(&r->arena, s.text ? s.text : "");
    hn_str_free(&s);
    return r->edits ? hn_opt_pipeline(opt, r->edits, &r->arena, &r->pipeline, err) : nomem(err);
}
