/* tune/hot_files.c — see hot_files.h. */
#include "tune/hot_files.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/names.h"
#include "proc/proc.h"
#include "proc/temp.h"
#include "tune/cut_build.h"
#include "tune/file_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double sample_s = 120;

typedef struct profiler {
    hn_plan *plan;
    const hone_tune_options *o;
    hn_arena arena;
    const char *const *source; /* of the command */
    size_t n;
    hn_file_time time;
    const char *dir;
} profiler;

/* --- commands in the build's folder ------------------------------------------------------------------------------- */

/* What a command prints; NULL: it failed. In the profiler's arena. */
static const char *output_of(profiler *p, const char *shell, hone_rc *rc, hone_err *err) {
    static const char *const env[] = {"LC_ALL=C", NULL};
    hn_proc_spec spec = {
        .shell = shell, .cwd = p->dir, .env = env, .cpu = -1, .wall_s = sample_s, .out_b = 64 << 20, .keep_b = 4096};
    hn_proc_result r;
    const char *text = NULL;
    *rc = hn_proc_run(&spec, p->o ? p->o->stop : NULL, &r, err);
    if (*rc) return NULL;
    if (r.end == HN_PROC_EXITED && r.code == 0) text = hn_strndup(&p->arena, r.out ? r.out : "", r.out ? r.out_n : 0);
    hn_proc_result_free(&r);
    return text;
}

static hone_rc list_symbols(profiler *p, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < p->n; i++) {
        const char *shell = hn_format(&p->arena, "nm -P --defined-only " HN_CUT_BUILD_OBJECT, i),
                   *text = shell ? output_of(p, shell, &rc, err) : NULL;
        if (text) hn_file_time_symbols(&p->time, text, i);
    }
    return rc;
}

/* --- both ways to sample ------------------------------------------------------------------------------------------ */

static hone_rc sample_one(profiler *p, const hn_recipe *r, const char *args, bool perf, bool *well, hone_err *err) {
    const hone_workload *w = p->plan->w;
    hn_str run = {0}, shell = {0};
    hone_rc rc = hn_recipe_expand(w, r, w->train ? w->train : w->run, "", args, "./output", &run, err);
    if (!rc && perf) {
        hn_str_add(&shell, "perf record -q -F 997 -e cpu-clock:u -o samples -- sh -c ");
        hn_str_add_shell(&shell, run.text ? run.text : "");
        hn_str_add(&shell, " > said 2>&1 && perf script -i samples -F ip,sym,dso 2> said");
    } else {
        hn_str_addf(&shell, "rm -f gmon.out; { %s\n} > said && gprof -b -p ./prog gmon.out", run.text ? run.text : "");
    }
    if (!rc && (run.failed || shell.failed)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    const char *text = rc ? NULL : output_of(p, shell.text, &rc, err);
    *well = text != NULL;
    if (text) (perf ? hn_file_time_perf : hn_file_time_gprof)(&p->time, text);
    hn_str_free(&run);
    hn_str_free(&shell);
    return rc;
}

static hone_rc sample(profiler *p, const hn_recipe *r, bool perf, bool *well, hone_err *err) {
    const hone_workload *w = p->plan->w;
    hone_rc rc = HONE_OK;
    *well = true;
    if (w->train) return sample_one(p, r, NULL, perf, well, err);
    for (size_t i = 0; !rc && *well && i < w->n_inputs; i++)
        if (!w->input[i].held_out) rc = sample_one(p, r, w->input[i].args, perf, well, err);
    return rc;
}

/* With one more word among the flags, or none. */
static hone_rc build_and_sample(profiler *p, hn_recipe *r, const char *word, bool *well, const char **why,
                                hone_err *err) {
    hn_temp temp;
    char name[] = "hot", *names[] = {name};
    hn_build b;
    double waited_s = 0;
    const char **flag = HN_NEW_N(&r->arena, const char *, r->n_flags + 2);
    *well = false;
    if (!flag) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < r->n_flags; i++) flag[i] = r->flag[i];
    hn_recipe with = *r;
    if (word) flag[with.n_flags++] = word;
    with.flag = flag;
    hone_rc rc = hn_temp_make(NULL, "hone-hot-", &temp, err);
    if (rc) return rc;
    hn_build_config cfg = {.w = p->plan->w, .options = p->o, .root = temp.path, .jobs = 1, .waited_s = &waited_s};
    rc = hn_build_all(&cfg, &with, names, 1, &b, err);
    p->dir = b.dir;
    if (!rc && b.cls != HONE_RUN_OK) *why = hn_format(&p->plan->arena, "the baseline does not build: %.300s", b.detail);
    if (!rc && b.cls == HONE_RUN_OK) rc = list_symbols(p, err);
    if (!rc && p->time.n_symbols) rc = sample(p, &with, !word, well, err);
    if (!rc) hn_build_drop(&b, false);
    p->dir = NULL;
    hn_temp_free(&temp);
    return rc;
}

/* --- the answer --------------------------------------------------------------------------------------------------- */

static hone_rc profile(profiler *p, hn_recipe *r, const char **text, const char **why, hone_err *err) {
    bool well;
    if (!hn_file_time_open(&p->time, &p->arena, p->source, p->n)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = build_and_sample(p, r, NULL, &well, why, err);
    if (!rc && !well && !*why) rc = build_and_sample(p, r, "-pg", &well, why, err);
    if (rc || *why) return rc;
    *text = well ? hn_file_time_hottest(&p->time, p->plan->w->per_file, &p->plan->arena) : NULL;
    if (!well)
        *why = "neither perf nor gprof could sample the training runs; name the files: per_file: [a.c, b.c]";
    else if (*text && !**text)
        *why = "no sample of the training runs fell into a file of the build command";
    return hn_arena_ok(&p->arena) && hn_arena_ok(&p->plan->arena) ? HONE_OK
                                                                  : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static char *answer_file(const hn_plan *plan, const hone_tune_options *o, const hn_recipe *r) {
    const hone_workload *w = plan->w;
    char source[33], key[33], name[64];
    if (!w->n_sources || hn_workload_source_hash(w, source, NULL)) return NULL;
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, HONE_VERSION);
    hn_hash_text(&h, source);
    hn_hash_text(&h, w->build);
    hn_hash_text(&h, w->train ? w->train : w->run);
    hn_hash_text(&h, r->cc);
    hn_hash_text(&h, r->target ? hone_target_fingerprint(r->target)->hash : "");
    for (size_t i = 0; i < r->n_flags; i++) hn_hash_text(&h, r->flag[i]);
    for (size_t i = 0; i < w->n_inputs; i++)
        if (!w->input[i].held_out) hn_hash_text(&h, w->input[i].args);
    hn_hash_add(&h, &w->per_file, sizeof w->per_file);
    hn_hash_end(&h, key);
    snprintf(name, sizeof name, "hot-files-%s.txt", key);
    return hn_build_cache(o, name);
}

/* "SHARE NAME" a line. */
static hone_rc take(hn_plan *plan, const char *text, hone_err *err) {
    plan->file = HN_NEW_N(&plan->arena, const char *, HN_FILES_MOST);
    for (const char *line = text; plan->file && *line && plan->n_files < HN_FILES_MOST;
         line += strcspn(line, "\n"), line += *line == '\n') {
        const char *name = line + strcspn(line, " \n");
        name += *name == ' ';
        plan->file[plan->n_files++] = hn_strndup(&plan->arena, name, strcspn(name, "\n"));
    }
    return hn_arena_ok(&plan->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static hone_rc find(profiler *p, hn_recipe *r, hone_err *err) {
    char *file = answer_file(p->plan, p->o, r), *known = NULL;
    const char *text = NULL, *why = NULL;
    size_t n;
    hone_rc rc = HONE_OK;
    if (file && hn_exists(file) && !hn_read_file(file, &known, &n, NULL)) {
        text = known;
    } else {
        rc = profile(p, r, &text, &why, err);
        if (!rc && file && text && *text) hn_write_file(file, text, strlen(text), NULL);
    }
    if (!rc && text && *text) rc = take(p->plan, text, err);
    p->plan->no_files = why;
    free(known);
    free(file);
    return rc;
}

/* Those that the workload names. */
static hone_rc take_named(profiler *p, hone_err *err) {
    const hone_workload *w = p->plan->w;
    p->plan->file = HN_NEW_N(&p->plan->arena, const char *, HN_FILES_MOST);
    if (!p->plan->file) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < w->n_files_named; i++) {
        size_t k = 0;
        while (k < p->n && strcmp(p->source[k], w->file_named[i])) k++;
        const char *near = k < p->n ? NULL : hn_nearest(w->file_named[i], p->source, p->n);
        if (k == p->n)
            return hn_fail(err, HONE_E_INPUT, "%s: per_file: the build command compiles no '%s'%s%s%s", w->path,
                           w->file_named[i], near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        p->plan->file[p->plan->n_files++] = w->file_named[i];
    }
    return HONE_OK;
}

hone_rc hn_hot_files_look(hn_plan *plan, const hone_tune_options *o, hone_err *err) {
    const hone_workload *w = plan->w;
    profiler p = {.plan = plan, .o = o};
    hn_recipe r = {0};
    hn_str shell = {0}, flags = {0};
    if (!w->per_file || !w->controls || !plan->n_targets) return HONE_OK;
    if (w->on)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "%s: `per_file` runs programs on this machine, but they run on '%s'; leave one out", w->path,
                       w->on);
    hone_rc rc = hn_plan_recipe(plan, NULL, &r, err);
    for (size_t i = 0; i < r.n_flags; i++) {
        hn_str_add(&flags, i ? " " : "");
        hn_str_add_shell(&flags, r.flag[i]);
    }
    if (!rc) rc = hn_recipe_expand(w, &r, w->build, flags.text ? flags.text : "", NULL, NULL, &shell, err);
    if (!rc && !hn_cut_build_sources(&r, shell.text ? shell.text : "", &p.arena, &p.source, &p.n))
        plan->no_files =
            "the build command is not calls of the compiler alone, which compile several files and link them";
    else if (!rc)
        rc = w->n_files_named ? take_named(&p, err) : find(&p, &r, err);
    hn_str_free(&shell);
    hn_str_free(&flags);
    hn_recipe_free(&r);
    hn_arena_free(&p.arena);
    return rc;
}
