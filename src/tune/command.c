/* tune/command.c — a point of a workload's space as a command line, for people and build systems. */
#include "tune/build.h"

#include "base/err.h"
#include "base/options.h"
#include "tune/cut_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFINE_B = 32 }; /* most bytes of a definition besides its name and value */

/* The plan of the workload, after checking that `space` is the one it makes. */
static hone_rc open_plan(const hone_workload *w, const hone_space *space, const hone_tune_options *options,
                         hn_plan **out, hone_err *err) {
    hn_plan *plan;
    hone_tune_options o = hone_tune_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "tune", err);
    if (!rc) rc = hn_plan_open(w, &o, NULL, &plan, err);
    if (rc) return rc;
    char mine[33], theirs[33];
    hone_space_hash(plan->space, mine);
    hone_space_hash(space, theirs);
    if (strcmp(mine, theirs)) {
        hn_plan_close(plan);
        return hn_fail(err, HONE_E_MISMATCH,
                       "the point belongs to another search space (%s) than workload '%s' has now (%s): its file or a "
                       "compiler changed",
                       theirs, w->name, mine);
    }
    *out = plan;
    return HONE_OK;
}

hone_rc hone_workload_command(const hone_workload *workload, const hone_space *space, const double *point,
                              const hone_tune_options *options, char **text, hone_err *err) {
    hn_plan *plan;
    hn_recipe r;
    hone_rc rc = open_plan(workload, space, options, &plan, err);
    if (rc) return rc;
    rc = hn_plan_recipe(plan, point, &r, err);
    if (!rc) {
        hn_str flags = {0}, line = {0};
        for (size_t i = 0; i < r.n_flags; i++) {
            if (i) hn_str_add(&flags, " ");
            hn_str_add_shell(&flags, r.flag[i]);
        }
        rc = hn_recipe_expand(workload, &r, workload->build, flags.text ? flags.text : "", NULL, NULL, &line, err);
        if (!rc && (r.n_files || r.opt)) {
            hn_str pieces = {0};
            if (hn_cut_build_commands(&r, line.text ? line.text : "", &pieces)) {
                hn_str_free(&line);
                line = pieces;
            }
        }
        char *got = rc ? NULL : hn_str_take(&line);
        if (!rc && !got) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (!rc) *text = got;
        hn_str_free(&flags);
        hn_str_free(&line);
        hn_recipe_free(&r);
    }
    hn_plan_close(plan);
    return rc;
}

static void add_file(hn_str *s, const hn_file_flags *f) {
    hn_str_addf(s, "%s%s:", s->n ? "\n" : "", f->name);
    for (size_t k = 0; k < f->n_flags; k++) {
        hn_str_add(s, " ");
        hn_str_add_shell(s, f->flag[k]);
    }
}

/* Copies the words of a recipe into one block, as hone_command wants them. */
static hone_rc to_command(const hn_recipe *r, hone_command *out, hone_err *err) {
    size_t n_env = 0, bytes = 0, n = r->n_flags + r->n_app;
    while (r->env && r->env[n_env]) bytes += strlen(r->env[n_env++]) + 1;
    for (size_t i = 0; i < r->n_flags; i++) bytes += strlen(r->flag[i]) + 1;
    for (size_t i = 0; i < r->n_app; i++) bytes += strlen(r->app_name[i]) + strlen(r->app_text[i]) + DEFINE_B;
    size_t pgo_b = r->pgo ? strlen(r->pgo_generate) + strlen(r->pgo_use) + 2 : 0;
    size_t post_b = r->bolt ? strlen(r->bolt->command) + strlen(r->bolt_options) + 2 : 0;
    size_t passes_b = r->opt ? strlen(r->edits) + 1 : 0;
    hn_str by_file = {0};
    for (size_t i = 0; i < r->n_files; i++) add_file(&by_file, &r->file[i]);
    const char **list =
        by_file.failed
            ? NULL
            : calloc(1, (n + n_env + 2) * sizeof(char *) + bytes + pgo_b + post_b + passes_b + by_file.n + 2);
    if (!list) hn_str_free(&by_file);
    if (!list) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    char *at = (char *)(list + n + n_env + 2);
    hone_command c = {.rsp_lines = hn_target_family(r->target)->rsp_lines,
                      .argv = list,
                      .env = list + n + 1,
                      .n_env = n_env,
                      .pgo = r->pgo,
                      .block = list};
    for (size_t i = 0; i < r->n_flags; i++) at = stpcpy((char *)(uintptr_t)(list[c.n_argv++] = at), r->flag[i]) + 1;
    for (size_t i = 0; i < r->n_app; i++) {
        if (!r->app_defined[i]) continue;
        hn_str word = {0};
        hn_target_family(r->target)->define(&word, r->app_name[i], r->app_text[i]);
        if (word.text) {
            list[c.n_argv++] = at;
            at = stpcpy(at, word.text) + 1;
        }
        hn_str_free(&word);
    }
    for (size_t i = 0; i < n_env; i++) at = stpcpy((char *)(uintptr_t)(c.env[i] = at), r->env[i]) + 1;
    if (r->pgo) {
        c.pgo_generate = at;
        at = stpcpy(at, r->pgo_generate) + 1;
        c.pgo_use = at;
        at = stpcpy(at, r->pgo_use) + 1;
    }
    if (r->bolt) {
        c.post_link = at;
        at = stpcpy(stpcpy(at, r->bolt->command), *r->bolt_options ? " " : "");
        at = stpcpy(at, r->bolt_options) + 1;
    }
    if (r->opt) {
        c.passes = at;
        at = stpcpy(at, r->edits) + 1;
    }
    if (by_file.n) strcpy((char *)(uintptr_t)(c.by_file = at), by_file.text);
    hn_str_free(&by_file);
    *out = c;
    return HONE_OK;
}

hone_rc hone_workload_flags(const hone_workload *workload, const hone_space *space, const double *point,
                            const hone_tune_options *options, hone_command *out, hone_err *err) {
    hn_plan *plan;
    hn_recipe r;
    hone_rc rc = open_plan(workload, space, options, &plan, err);
    if (rc) return rc;
    rc = hn_plan_recipe(plan, point, &r, err);
    if (!rc) {
        rc = to_command(&r, out, err);
        hn_recipe_free(&r);
    }
    hn_plan_close(plan);
    return rc;
}
