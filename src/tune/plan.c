/* tune/plan.c — joins the spaces; reads the baseline's flags as a point; renders points. */
#include "tune/plan.h"

#include "tune/by_file.h"
#include "tune/environment.h"

#include "base/err.h"
#include "base/locale.h"
#include "base/options.h"
#include "base/str.h"
#include "space/withheld.h"
#include "tune/hot_files.h"
#include "tune/pass_order.h"
#include "tune/post_link.h"
#include "tune/unread.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- words of the baseline ------------------------------------------------------------------------------------- */

static void split_words(hn_arena *a, const char *text, const char ***out, size_t *n_out) {
    size_t most = strlen(text) / 2 + 1, n = 0;
    const char **word = HN_NEW_N(a, const char *, most);
    while (word && *(text += strspn(text, " \t\n"))) {
        size_t len = strcspn(text, " \t\n");
        word[n++] = hn_strndup(a, text, len);
        text += len;
    }
    *out = word;
    *n_out = n;
}

bool hn_plan_set(const hone_space *s, double *point, size_t i, const char *text) {
    if (i == SIZE_MAX) return false;
    const hone_param *p = hone_space_param(s, i);
    if (p->kind == HONE_INT) {
        char *end;
        double v = hn_strtod(text, &end);
        if (*end || !*text || v < p->lo || v > p->hi) return false;
        point[p->slot] = v;
        return true;
    }
    if (p->kind == HONE_FLAG) {
        point[p->slot] = strcmp(text, "off") != 0;
        return true;
    }
    for (size_t k = 0; k < p->n_values; k++)
        if (!strcmp(p->values[k], text)) {
            point[p->slot] = (double)k;
            return true;
        }
    return false;
}

size_t hn_plan_control(const hn_plan *plan, size_t t, const char *name) {
    char full[512];
    int len = snprintf(full, sizeof full, "%s.%s", plan->prefix[t], name);
    return len > 0 && (size_t)len < sizeof full ? hone_space_find(plan->space, full) : SIZE_MAX;
}

/* The `fp` gene is an index into the contracts offered. */
static double fp_level(const hone_workload *w) { return (double)w->fp_baseline - (double)w->fp_min; }

/* The baseline's flags hold for the first compiler; the others start from their targets' seeds. */
static void read_baseline(hn_plan *plan) {
    split_words(&plan->arena, plan->w->baseline ? plan->w->baseline : "", &plan->base_word, &plan->n_base_words);
    plan->keep = HN_NEW_N(&plan->arena, const char *, plan->n_base_words + 1);
    plan->base = HN_NEW_N(&plan->arena, double, hone_space_slots(plan->space));
    if (!hn_arena_ok(&plan->arena)) return;
    hone_space_default(plan->space, plan->base);
    if (plan->i_fp != SIZE_MAX) plan->base[hone_space_param(plan->space, plan->i_fp)->slot] = fp_level(plan->w);
    if (!plan->n_targets) return;
    const hn_family *family = hn_target_family(plan->target[0]);
    plan->odd_level = hn_plan_control(plan, 0, family->level) != SIZE_MAX;
    hn_said said;
    for (size_t i = 0; i < plan->n_base_words; i += said.n_words) {
        family->read(plan->target[0], plan->base_word + i, plan->n_base_words - i, &said);
        bool known =
            *said.name && hn_plan_set(plan->space, plan->base, hn_plan_control(plan, 0, said.name), said.value);
        if (said.level) plan->odd_level = !known && !said.contract;
        plan->contract_stated |= said.contract;
        bool keep = (!known && !said.level && !said.contract) || said.promise;
        for (size_t k = 0; keep && k < said.n_words; k++) plan->keep[plan->n_keep++] = plan->base_word[i + k];
    }
    hone_point_canon(plan->space, plan->base);
}

/* --- the joined space -------------------------------------------------------------------------------------------- */

static hone_rc add_choice(hone_space *s, const char *name, const char *const *values, size_t n, double dflt,
                          const char *doc, hone_err *err) {
    hone_param p = {.name = name, .kind = HONE_CHOICE, .values = values, .n_values = n, .dflt = dflt, .doc = doc};
    p.tag = "driver";
    return hone_space_add(s, &p, err);
}

static hone_rc add_fp(hn_plan *plan, hone_err *err) {
    const char *level[HONE_N_FP];
    size_t n = 0;
    for (hone_fp fp = plan->w->fp_min; fp <= plan->w->fp_max; fp++) level[n++] = hone_fp_name(fp);
    if (n < 2 || !plan->w->controls) return HONE_OK;
    plan->i_fp = hone_space_n_params(plan->space);
    hone_param p = {.name = "fp", .kind = HONE_ORDINAL, .values = level, .n_values = n, .tag = "driver"};
    p.dflt = fp_level(plan->w);
    p.doc = "floating-point contract";
    return hone_space_add(plan->space, &p, err);
}

/* Nothing is asked of a compiler that no command names: then it need not be installed. */
static bool is_named(const hone_workload *w) {
    return w->controls || hn_template_has(w->build, "cc") || hn_template_has(w->build, "flags") ||
           hn_template_has(w->build, "defines");
}

static hone_target_options target_options(const hn_plan *plan, const hone_progress *progress) {
    const hone_workload *w = plan->w;
    hone_target_options to = {.size = sizeof(hone_target_options),
                              .numeric = w->numeric,
                              .all = w->all_controls,
                              .lto = w->lto,
                              .pgo = w->pgo,
                              .files = w->control_file,
                              .n_files = w->n_control_files,
                              .unread = plan->offered};
    if (progress) to.progress = *progress;
    return to;
}

static hone_rc add_targets(hn_plan *plan, const hone_tune_options *o, const hone_progress *progress, hone_err *err) {
    const hone_workload *w = plan->w;
    hone_rc rc = HONE_OK;
    for (size_t t = 0; !rc && t < w->n_compilers; t++) {
        if (!plan->target[t]) rc = hone_target_open(w->compiler[t], o ? o->cache_dir : NULL, &plan->target[t], err);
        if (rc == HONE_E_TOOL && !is_named(w)) return HONE_OK;
        if (rc) break;
        plan->n_targets = t + 1;
        plan->prefix[t] = hn_strdup(&plan->arena, w->compiler[t]);
        for (char *c = (char *)(uintptr_t)plan->prefix[t]; c && *c; c++)
            if (*c == '/') *c = '_';
        if (!plan->prefix[t]) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (!w->controls) continue;
        hone_target_options to = target_options(plan, progress);
        rc = hone_target_space(plan->target[t], &to, &plan->part[t], err);
        if (rc) break;
        char when[300];
        snprintf(when, sizeof when, "compiler == '%s'", w->compiler[t]);
        rc = hone_space_include(plan->space, plan->part[t], plan->prefix[t], w->n_compilers > 1 ? when : NULL, err);
    }
    return rc;
}

static hone_rc build_space(hn_plan *plan, const hone_tune_options *o, const hone_progress *progress, hone_err *err) {
    const hone_workload *w = plan->w;
    hone_rc rc = hone_space_new(w->name, &plan->space, err);
    if (!rc && w->params) rc = hone_space_include(plan->space, w->params, NULL, NULL, err);
    if (rc) return rc;
    plan->n_app = hone_space_n_params(plan->space);
    if (w->n_compilers > 1) {
        plan->i_compiler = plan->n_app;
        rc = add_choice(plan->space, "compiler", w->compiler, w->n_compilers, 0, "which compiler builds it", err);
    }
    if (!rc) rc = add_fp(plan, err);
    if (!rc) rc = add_targets(plan, o, progress, err);
    if (!rc) rc = hn_environment_add(plan, err);
    if (!rc) rc = hn_post_link_add(plan, err);
    if (!rc) rc = hone_space_seal(plan->space, err);
    hone_target_options own = target_options(plan, progress);
    if (!rc && plan->n_files) rc = hn_by_file_add(plan, &own, err);
    if (!rc && plan->opt) rc = hn_pass_order_add(plan, err);
    if (!rc && plan->no_passes) rc = hn_space_withhold(plan->space, HN_PASSES, plan->no_passes, err);
    if (!rc && plan->no_post_link) rc = hn_space_withhold(plan->space, HN_POST_LINK, plan->no_post_link, err);
    if (!rc && plan->no_files) rc = hn_space_withhold(plan->space, "file.", plan->no_files, err);
    return rc;
}

/* The space once more, with the controls that the program allows. */
static hone_rc offer_more(hn_plan *plan, const hone_tune_options *o, const hone_progress *progress, hone_err *err) {
    hone_rc rc = hn_unread_matters(plan) ? hn_unread_look(plan, o, &plan->offered, err) : HONE_OK;
    if (!rc) rc = hn_post_link_look(plan, o, err);
    if (!rc) rc = hn_hot_files_look(plan, o, err);
    if (!rc && plan->no_files) rc = hn_space_withhold(plan->space, "file.", plan->no_files, err);
    if (!rc) rc = hn_pass_order_look(plan, err);
    if (rc || (!plan->offered && !plan->post_link && !plan->n_files && !plan->opt)) return rc;
    hone_space_free(plan->space);
    plan->space = NULL;
    for (size_t t = 0; t < plan->n_targets; t++) {
        hone_space_free(plan->part[t]);
        plan->part[t] = NULL;
    }
    plan->i_compiler = plan->i_fp = SIZE_MAX;
    plan->n_keep = 0;
    plan->contract_stated = false;
    rc = build_space(plan, o, progress, err);
    if (!rc) read_baseline(plan);
    return rc;
}

hone_rc hn_plan_open(const hone_workload *w, const hone_tune_options *options, const hone_progress *progress,
                     hn_plan **out, hone_err *err) {
    hn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    plan->w = w;
    plan->i_compiler = plan->i_fp = SIZE_MAX;
    plan->target = HN_NEW_N(&plan->arena, hone_target *, w->n_compilers + 1);
    plan->part = HN_NEW_N(&plan->arena, hone_space *, w->n_compilers + 1);
    plan->prefix = HN_NEW_N(&plan->arena, const char *, w->n_compilers + 1);
    hone_rc rc = hn_arena_ok(&plan->arena) ? build_space(plan, options, progress, err) : HONE_E_NOMEM;
    if (!rc) read_baseline(plan);
    if (!rc && hn_arena_ok(&plan->arena)) rc = offer_more(plan, options, progress, err);
    if (rc == HONE_OK && !hn_arena_ok(&plan->arena)) rc = HONE_E_NOMEM;
    if (rc == HONE_E_NOMEM) hn_fail(err, rc, "out of memory building the search space");
    if (rc)
        hn_plan_close(plan);
    else
        *out = plan;
    return rc;
}

void hn_plan_close(hn_plan *plan) {
    if (!plan) return;
    for (size_t t = 0; t < plan->w->n_compilers && plan->target && plan->part; t++) {
        hone_target_close(plan->target[t]);
        hone_space_free(plan->part[t]);
    }
    hn_pass_order_close(plan);
    hn_by_file_close(plan);
    hone_space_free(plan->space);
    hn_arena_free(&plan->arena);
    free(plan);
}

/* --- recipes ---------------------------------------------------------------------------------------------------------
 */

static const char *gene_text(hn_arena *a, const hone_space *s, const double *point, size_t i) {
    size_t n = hone_point_text(s, point, i, NULL, 0);
    char *text = hn_alloc(a, n + 1);
    if (text) hone_point_text(s, point, i, text, n + 1);
    return text;
}

/* The workload's parameters: texts for their placeholders, and definitions for {defines} (a flag: 1 or 0). */
static hone_rc add_app(const hn_plan *plan, const double *point, hn_recipe *r, hone_err *err) {
    hn_str defines = {0};
    r->app_name = HN_NEW_N(&r->arena, const char *, plan->n_app + 1);
    r->app_text = HN_NEW_N(&r->arena, const char *, plan->n_app + 1);
    r->app_defined = HN_NEW_N(&r->arena, bool, plan->n_app + 1);
    for (size_t i = 0; i < plan->n_app && hn_arena_ok(&r->arena); i++) {
        const hone_param *p = hone_space_param(plan->space, i);
        bool absent = isnan(point[p->slot]);
        bool defined = plan->w->param_define[i];
        if (absent && defined) continue;
        const char *text = absent ? "" : gene_text(&r->arena, plan->space, point, i);
        if (!absent && p->kind == HONE_FLAG) text = point[p->slot] != 0 ? "1" : "0";
        r->app_name[r->n_app] = p->name;
        r->app_defined[r->n_app] = defined;
        r->app_text[r->n_app++] = text;
        if (!defined || !text) continue;
        hn_str word = {0};
        hn_target_family(r->target)->define(&word, p->name, text);
        hn_str_add(&defines, defines.n ? " " : "");
        hn_str_add_shell(&defines, word.text ? word.text : "");
        hn_str_free(&word);
    }
    char *text = hn_str_take(&defines);
    r->defines = text ? hn_strdup(&r->arena, text) : NULL;
    free(text);
    return r->defines && hn_arena_ok(&r->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static void copy_words(hn_recipe *r, const char *const *word, size_t n) {
    for (size_t i = 0; i < n; i++) r->flag[r->n_flags++] = hn_strdup(&r->arena, word[i]);
}

/* The words of a floating-point contract alone: a point with every gene absent renders to nothing else. */
static hone_rc contract_words(const hn_plan *plan, size_t t, hone_fp fp, hone_command *out, hone_err *err) {
    size_t slots = hone_space_slots(plan->space);
    double *none = malloc((slots + 1) * sizeof *none);
    if (!none) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < slots; i++) none[i] = NAN;
    hone_rc rc = hone_target_render(plan->target[t], plan->space, plan->prefix[t], none, fp, out, err);
    free(none);
    return rc;
}

/* Flags as the baseline has them, for the baseline itself and for workloads that tune no controls. Its contract is
 * written out, so that both sides keep the same one. */
static hone_rc plain_flags(const hn_plan *plan, size_t t, hn_recipe *r, hone_err *err) {
    hone_command c = {0};
    bool written = plan->contract_stated || !plan->target[t];
    hone_rc rc = written ? HONE_OK : contract_words(plan, t, plan->w->fp_baseline, &c, err);
    if (rc) return rc;
    r->flag = HN_NEW_N(&r->arena, const char *, plan->n_base_words + c.n_argv + 1);
    if (r->flag) {
        copy_words(r, plan->base_word, plan->n_base_words);
        copy_words(r, c.argv, c.n_argv);
    }
    hone_command_free(&c);
    return hn_arena_ok(&r->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static hone_fp contract_of(const hn_plan *plan, const double *point) {
    if (!point || plan->i_fp == SIZE_MAX) return plan->w->fp_baseline;
    return plan->w->fp_min + (hone_fp)point[hone_space_param(plan->space, plan->i_fp)->slot];
}

static hone_rc tuned_flags(const hn_plan *plan, size_t t, const double *point, hone_fp fp, hn_recipe *r,
                           hone_err *err) {
    hone_command c = {0};
    hone_rc rc = hone_target_render(plan->target[t], plan->space, plan->prefix[t], point, fp, &c, err);
    if (rc) return rc;
    r->flag = HN_NEW_N(&r->arena, const char *, plan->n_keep + c.n_argv + 1);
    const char **env = HN_NEW_N(&r->arena, const char *, c.n_env + 1);
    if (r->flag && env) {
        copy_words(r, c.argv, c.n_argv);
        copy_words(r, plan->keep, plan->n_keep); /* last, so that no control undoes them */
        for (size_t i = 0; i < c.n_env; i++) env[i] = hn_strdup(&r->arena, c.env[i]);
        r->env = env;
        r->pgo = c.pgo;
        r->pgo_generate = hn_strdup(&r->arena, c.pgo_generate);
        r->pgo_use = hn_strdup(&r->arena, c.pgo_use);
    }
    hone_command_free(&c);
    return hn_arena_ok(&r->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_plan_recipe_under(const hn_plan *plan, const double *point, hone_fp fp, hn_recipe *out, hone_err *err) {
    hn_recipe r = {0};
    size_t t = 0;
    if (point && plan->i_compiler != SIZE_MAX) t = (size_t)point[hone_space_param(plan->space, plan->i_compiler)->slot];
    r.target = plan->target[t];
    r.cc = hn_strdup(&r.arena, r.target ? hn_target_program(r.target) : plan->w->compiler[t]);
    bool plain = !point || !plan->w->controls;
    hone_rc rc = plain ? plain_flags(plan, t, &r, err) : tuned_flags(plan, t, point, fp, &r, err);
    if (!rc) rc = add_app(plan, point ? point : plan->base, &r, err);
    if (!rc) rc = hn_environment_apply(plan, point, &r, err);
    if (!rc) rc = hn_post_link_apply(plan, point, &r, err);
    if (!rc) rc = hn_by_file_apply(plan, t, point, &r, err);
    if (!rc) rc = hn_pass_order_apply(plan, t, point, &r, err);
    if (!rc && !hn_arena_ok(&r.arena)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (rc)
        hn_recipe_free(&r);
    else
        *out = r;
    return rc;
}

hone_rc hn_plan_recipe(const hn_plan *plan, const double *point, hn_recipe *out, hone_err *err) {
    return hn_plan_recipe_under(plan, point, contract_of(plan, point), out, err);
}

void hn_recipe_free(hn_recipe *recipe) { hn_arena_free(&recipe->arena); }

const char *hn_recipe_definition(const hn_recipe *recipe, size_t i, hn_arena *a) {
    hn_str s = {0};
    hn_target_family(recipe->target)->define(&s, recipe->app_name[i], recipe->app_text[i]);
    const char *word = s.text && !s.failed ? hn_strdup(a, s.text) : NULL;
    hn_str_free(&s);
    if (!word) a->failed = true;
    return word;
}

char *hn_recipe_line(const hn_recipe *recipe, bool with_cc) {
    hn_str s = {0};
    if (with_cc) hn_str_add_shell(&s, recipe->cc);
    for (size_t i = 0; i < recipe->n_flags; i++) {
        if (s.n) hn_str_add(&s, " ");
        hn_str_add_shell(&s, recipe->flag[i]);
    }
    if (recipe->pgo) hn_str_add(&s, s.n ? " [profile-guided]" : "[profile-guided]");
    if (recipe->bolt)
        hn_str_addf(&s, "%s[bolt%s%s]", s.n ? " " : "", *recipe->bolt_options ? ": " : "", recipe->bolt_options);
    if (recipe->opt) hn_str_addf(&s, "%s[passes:%s%s]", s.n ? " " : "", *recipe->edits ? " " : "", recipe->edits);
    for (size_t i = 0; i < recipe->n_files; i++) {
        hn_str_addf(&s, "%s[%s:", s.n ? " " : "", recipe->file[i].name);
        for (size_t k = 0; k < recipe->file[i].n_flags; k++) {
            hn_str_add(&s, " ");
            hn_str_add_shell(&s, recipe->file[i].flag[k]);
        }
        hn_str_add(&s, "]");
    }
    if (*recipe->defines) hn_str_addf(&s, "%s%s", s.n ? " " : "", recipe->defines);
    return hn_str_take(&s);
}

/* --- public ------------------------------------------------------------------------------------------------------- */

hone_rc hone_workload_space(const hone_workload *workload, const hone_tune_options *options, hone_space **out,
                            hone_err *err) {
    hn_plan *plan;
    hone_tune_options o = hone_tune_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "tune", err);
    if (!rc) rc = hn_plan_open(workload, &o, NULL, &plan, err);
    if (rc) return rc;
    *out = plan->space;
    plan->space = NULL;
    hn_plan_close(plan);
    return HONE_OK;
}
