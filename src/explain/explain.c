/* explain/explain.c — builds both sides and lists their machine code. */
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "base/str.h"
#include "explain/explain_code.h"
#include "explain/explain_text.h"
#include "proc/proc.h"
#include "prove/site.h"
#include "tune/code.h"

#include <hone/explain.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BASELINE, TUNED, TEXT_MOST = 200 << 20, SECONDS_MOST = 120 };

/* --- tools ----------------------------------------------------------------------------------------------------------
 */

static hone_rc run_tool(const hn_site *site, const char *const *argv, const char *package, hn_proc_result *out,
                        hone_err *err) {
    static const char *const plain[] = {"LC_ALL=C", NULL};
    char what[200];
    hn_proc_spec spec = {.argv = argv, .env = plain, .cpu = -1, .wall_s = SECONDS_MOST, .out_b = TEXT_MOST};
    spec.keep_b = TEXT_MOST;
    hone_rc rc = hn_proc_run(&spec, site->o->stop, out, err);
    if (rc) return rc;
    if (site->o->stop && *site->o->stop)
        rc = hn_fail(err, HONE_E_INTERRUPTED, "interrupted while disassembling");
    else if (out->end != HN_PROC_EXITED || out->code != 0)
        rc = hn_fail(err, HONE_E_TOOL, "'%s' %s: %.500s%s%s", argv[0], hn_proc_describe(&spec, out, what, sizeof what),
                     out->err_tail, out->end == HN_PROC_NOT_STARTED ? "; install the package " : "",
                     out->end == HN_PROC_NOT_STARTED ? package : "");
    if (rc) hn_proc_result_free(out);
    return rc;
}

/* The folder's program, listed as its compiler's family says. */
static hone_rc disassemble(hn_site *site, const hn_recipe *recipe, const hn_build *b, hn_disassembly *out,
                           hone_err *err) {
    const hn_listing *how = hn_target_family(recipe->target)->listing;
    hn_flags argv = {.a = &site->arena};
    for (size_t i = 0; how->argv[i]; i++) hn_flags_add(&argv, how->argv[i]);
    hn_flags_add(&argv, hn_format(&site->arena, "%s/prog", b->dir));
    hn_flags_add(&argv, NULL);
    hn_proc_result r;
    hone_rc rc = hn_arena_ok(&site->arena) ? run_tool(site, argv.word, how->package, &r, err)
                                           : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (rc) return rc;
    rc = how->read(r.out ? r.out : "", r.out_n, &site->arena, out, err);
    hn_proc_result_free(&r);
    if (!rc && !out->n)
        rc = hn_fail(err, HONE_E_INPUT,
                     "the program that this build leaves at {out} holds no machine code with names "
                     "(is it stripped, or a script?)");
    return rc;
}

/* The path of libhonebench.a in the words for the compiler; malloc'ed, NULL when the build does not use it. */
static char *harness_archive(const hone_workload *w) {
    char *flags = NULL, *path = NULL;
    if (!hn_template_has(w->build, "harness") || hn_harness_flags(&flags, NULL)) return NULL;
    char *end = strstr(flags, "libhonebench.a");
    if (end) {
        char *begin = end, quote = 0;
        end += strlen("libhonebench.a");
        if (*end == '\'') quote = '\'';
        while (begin > flags && begin[-1] != (quote ? quote : ' ')) begin--;
        size_t n = (size_t)(end - begin);
        path = malloc(n + 1);
        if (path) memcpy(path, begin, n), path[n] = 0;
    }
    hone_free(flags);
    return path;
}

/* "name T 0000 …" of `nm -P`, one a line. Without nm nothing is left out. */
static void read_foreign(hn_site *site, hn_comparand *c) {
    char *path = harness_archive(site->w);
    const char *const argv[] = {"nm", path, "-P", "--defined-only", NULL};
    hn_proc_result r;
    hone_err ignored;
    if (!path || run_tool(site, argv, "binutils", &r, &ignored)) {
        free(path);
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < r.out_n; i++) n += r.out[i] == '\n';
    c->foreign = HN_NEW_N(&site->arena, const char *, n + 1);
    for (char *line = r.out, *next; c->foreign && line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *space = strchr(line, ' ');
        if (!space || (space[1] != 't' && space[1] != 'T')) continue;
        *space = 0;
        c->foreign[c->n_foreign++] = hn_family_of_command(site->w->compiler[0])->source_name(&site->arena, line);
    }
    hn_proc_result_free(&r);
    free(path);
}

/* --- both sides -----------------------------------------------------------------------------------------------------
 */

static hone_rc make_recipes(hn_site *site, const char *point, hn_recipe recipe[2], hone_err *err) {
    const hn_plan *plan = site->plan;
    double *x = HN_NEW_N(&site->arena, double, hone_space_slots(plan->space) + 1);
    if (!x) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hone_point_from_json(plan->space, point, x, err);
    if (rc) return hn_context(err, "the point does not belong to workload '%s' as it is now: ", plan->w->name);
    rc = hn_plan_recipe(plan, NULL, &recipe[BASELINE], err);
    return rc ? rc : hn_plan_recipe(plan, x, &recipe[TUNED], err);
}

static hone_rc check_builds(const hn_build *b, hone_err *err) {
    if (b[BASELINE].cls != HONE_RUN_OK)
        return hn_fail(err, HONE_E_BASELINE, "the baseline does not build (%s): %.800s",
                       hone_outcome_class_name(b[BASELINE].cls), b[BASELINE].detail);
    if (b[TUNED].cls != HONE_RUN_OK)
        return hn_fail(err, HONE_E_FAILED, "the point does not build (%s): %.800s",
                       hone_outcome_class_name(b[TUNED].cls), b[TUNED].detail);
    return HONE_OK;
}

/* --- device code ----------------------------------------------------------------------------------------------------
 */

/* Is that what the build leaves? */
static bool is_device_code(const hn_site *site, const hn_recipe *recipe) {
    return hn_code_is_read(site->w) || hn_target_family(recipe->target)->listing->device;
}

static hone_rc explain_code(hn_site *site, const hn_build build[2], hn_arena *keep, hone_explanation *out,
                            hone_err *err) {
    const hn_code_choice *choice = &site->w->code;
    hn_code_ask ask = {.dir = site->dir, .sm = choice->sm, .threads = choice->threads, .shared_b = choice->shared_b};
    hn_cubin side[2];
    hone_rc rc = HONE_OK;
    ask.live = ask.listing = true;
    ask.stop = site->o->stop;
    for (int i = 0; !rc && i < 2; i++) {
        const char *path = hn_format(&site->arena, "%s/%s", build[i].dir, choice->file ? choice->file : "prog");
        rc = path ? hn_cubin_read(path, hn_code_log(&build[i], &site->arena), &ask, keep, &side[i], err)
                  : hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    return rc ? rc : hn_explain_code(side, false, keep, out, err);
}

static hone_rc explain(hn_site *site, const char *point, hn_arena *keep, hone_explanation *out, hone_err *err) {
    hn_recipe recipe[2] = {{.n_flags = 0}};
    hn_build build[2] = {{.dir = NULL}};
    char base[] = "base", tuned[] = "tuned", *name[] = {base, tuned};
    hn_comparand c = {.n_foreign = 0};
    const hone_interval unknown = {NAN, NAN, NAN};
    hn_site_tell(site, HONE_PROVE_BUILD, 0, 2, unknown, NULL);
    hone_rc rc = make_recipes(site, point, recipe, err);
    if (!rc) rc = hn_build_all(&site->builder, recipe, name, 2, build, err);
    if (!rc) hn_site_tell(site, HONE_PROVE_BUILD, 2, 2, unknown, NULL);
    if (!rc) rc = check_builds(build, err);
    bool device = !rc && is_device_code(site, &recipe[BASELINE]);
    if (device) rc = explain_code(site, build, keep, out, err);
    if (!rc && !device) rc = disassemble(site, &recipe[BASELINE], &build[BASELINE], &c.baseline, err);
    if (!rc && !device) rc = disassemble(site, &recipe[TUNED], &build[TUNED], &c.tuned, err);
    if (!rc && !device) {
        read_foreign(site, &c);
        c.compiler[0] = recipe[BASELINE].cc;
        c.compiler[1] = recipe[TUNED].cc;
        if (recipe[TUNED].bolt)
            c.post_link = hn_format(&site->arena, "%s%s%s", recipe[TUNED].bolt->command,
                                    *recipe[TUNED].bolt_options ? " " : "", recipe[TUNED].bolt_options);
        rc = hn_explain_compare(&c, keep, out, err);
    }
    for (int i = 0; i < 2; i++) {
        hn_build_drop(&build[i], false);
        hn_recipe_free(&recipe[i]);
    }
    return rc;
}

hone_rc hone_prove_explain(const hone_workload *workload, const char *point, const hone_prove_options *options,
                           hone_explanation *out, hone_err *err) {
    hone_prove_options o = hone_prove_defaults();
    hn_site site;
    hone_rc rc = hn_options_read(&o, sizeof o, options, "prove", err);
    if (rc) return rc;
    if (!*workload->build)
        return hn_fail(err, HONE_E_INPUT, "workload '%s' builds nothing: there is no machine code to compare",
                       workload->name);
    hn_arena *keep = calloc(1, sizeof *keep);
    if (!keep) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_explanation result = {.block = keep};
    rc = hn_site_open(&site, workload, &o, "explain", err);
    if (!rc) {
        rc = explain(&site, point, keep, &result, err);
        hn_site_close(&site);
    }
    if (rc)
        hone_explanation_free(&result);
    else
        *out = result;
    return rc;
}

void hone_explanation_free(hone_explanation *explanation) {
    if (explanation->block) hn_arena_free(explanation->block);
    free(explanation->block);
    *explanation = (hone_explanation){0};
}
