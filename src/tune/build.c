/* tune/build.c — every build is a short list of steps (compile; or generate, train…, use for PGO); the batch keeps as
 * many of them running as there are jobs. */
#include "tune/build.h"
#include "tune/code.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/rng.h"
#include "device/gpu.h"
#include "measure/outcome.h"
#include "tune/confine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM "./prog"
#define PROFILE "./profile"

/* --- commands ---------------------------------------------------------------------------------------------------- */

const char *hn_quoted(hn_arena *a, const char *word) {
    hn_str s = {0};
    hn_str_add_shell(&s, word);
    char *text = hn_str_take(&s);
    const char *kept = text ? hn_strdup(a, text) : NULL;
    free(text);
    if (!kept) a->failed = true;
    return kept;
}

hone_rc hn_recipe_expand(const hone_workload *w, const hn_recipe *r, const char *text, const char *flags,
                         const char *input, const char *output, hn_str *out, hone_err *err) {
    hn_arena a = {0};
    char *harness = NULL;
    hone_rc rc = HONE_OK;
    if (hn_template_has(text, "harness")) rc = hn_harness_flags(&harness, err);
    hn_binding *bind = HN_NEW_N(&a, hn_binding, r->n_app + 10);
    if (!rc && !bind) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) {
        size_t n = 0;
        bind[n++] = (hn_binding){"cc", hn_quoted(&a, r->cc)};
        bind[n++] = (hn_binding){"flags", flags};
        bind[n++] = (hn_binding){"defines", r->defines};
        bind[n++] = (hn_binding){"out", PROGRAM};
        bind[n++] = (hn_binding){"harness", harness ? harness : ""};
        bind[n++] = (hn_binding){"input", input ? input : ""};
        bind[n++] = (hn_binding){"output", output ? output : ""};
        bind[n++] = (hn_binding){"gpu_bench", "./" HN_GPU_PROGRAM_NAME};
        bool there = w->far && text == w->run; /* where the sources lie in the folder itself */
        bind[n++] = (hn_binding){"src", there ? "." : hn_quoted(&a, w->dir)};
        bind[n++] = (hn_binding){"dir", "."};
        for (size_t i = 0; i < r->n_app; i++) bind[n++] = (hn_binding){r->app_name[i], hn_quoted(&a, r->app_text[i])};
        rc = hn_arena_ok(&a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (!rc) rc = hn_workload_expand(w, text, bind, n, out, err);
    }
    free(harness);
    hn_arena_free(&a);
    return rc;
}

/* --- the private folder --------------------------------------------------------------------------------------------
 */

static bool leaves_folder(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/')) return true;
    return false;
}

static hone_rc link_source(const hone_workload *w, const char *dir, const char *source, hone_err *err) {
    if (*source == '/' || leaves_folder(source)) return HONE_OK; /* named by full path or through {src} */
    char *from = hn_path_join(w->dir, source), *real = from ? realpath(from, NULL) : NULL,
         *to = hn_path_join(dir, source);
    hone_rc rc = HONE_OK;
    if (!from || !to)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    else if (!real)
        rc = hn_fail(err, HONE_E_IO, "source '%s' cannot be read: %s", from, strerror(errno));
    char *slash = rc ? NULL : strrchr(to, '/');
    if (slash) {
        *slash = 0;
        rc = hn_make_dirs(to, err);
        *slash = '/';
    }
    if (!rc && symlink(real, to) != 0 && errno != EEXIST)
        rc = hn_fail(err, HONE_E_IO, "cannot link '%s' into '%s': %s", from, dir, strerror(errno));
    free(from);
    free(real);
    free(to);
    return rc;
}

static hone_rc make_folder(const hn_build_config *cfg, const char *name, hn_build *b, hone_err *err) {
    b->dir = hn_path_join(cfg->root, name);
    if (!b->dir) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    b->made = (uint64_t)(1e9 * hn_now_s()) ^ hn_mix64((uint64_t)(uintptr_t)b);
    hone_rc rc = hn_remove_tree(b->dir, err);
    if (!rc) rc = hn_make_dirs(b->dir, err);
    for (size_t i = 0; !rc && i < cfg->w->n_sources; i++) rc = link_source(cfg->w, b->dir, cfg->w->source[i], err);
    if (!rc && hn_template_has(cfg->w->run, "gpu_bench")) rc = hn_gpu_program(b->dir, err);
    return rc;
}

void hn_build_drop(hn_build *build, bool keep) {
    if (build->dir && !keep) hn_remove_tree(build->dir, NULL);
    free(build->dir);
    *build = (hn_build){0};
}

uint64_t hn_program_key(const hone_workload *w, const hn_recipe *r, const hn_build *b) {
    hn_hash h;
    char hex[33];
    hn_hash_begin(&h);
    hn_hash_text(&h, b->object_hash);
    for (size_t i = 0; i < r->n_app; i++) {
        if (!hn_template_has(w->run, r->app_name[i])) continue;
        hn_hash_text(&h, r->app_name[i]);
        hn_hash_text(&h, r->app_text[i]);
    }
    for (size_t i = 0; !*b->object_hash && i < r->n_flags; i++) hn_hash_text(&h, r->flag[i]);
    hn_hash_end(&h, hex);
    hex[16] = 0;
    return strtoull(hex, NULL, 16);
}

/* --- one build's steps -------------------------------------------------------------------------------------------- */

typedef struct job {
    const hn_recipe *r;
    hn_build *b;
    hn_proc *proc;
    hn_proc_spec spec;
    hn_str command;
    size_t step, n_steps;
    bool compiles; /* the running step is a compilation */
} job;

/* The i-th input that is not held out. */
static const hn_input *training_input(const hone_workload *w, size_t i) {
    const hn_input *in = w->input;
    for (;; in++)
        if (!in->held_out && i-- == 0) return in;
}

/* Training runs of PGO: held-out inputs are used for judging only, not for training. */
static size_t n_training(const hone_workload *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->n_inputs; i++) n += !w->input[i].held_out;
    return w->train ? 1 : n;
}

static void add_flags(const hn_recipe *r, const char *pgo, hn_str *flags) {
    for (size_t i = 0; i < r->n_flags; i++) {
        if (flags->n) hn_str_add(flags, " ");
        hn_str_add_shell(flags, r->flag[i]);
    }
    if (!pgo) return;
    hn_arena a = {0};
    const char *word = hn_fill(&a, pgo, PROFILE);
    hn_str_addf(flags, " %s", word ? word : "");
    flags->failed |= !word;
    hn_arena_free(&a);
}

static hone_rc step_text(const hn_build_config *cfg, job *j, hone_err *err) {
    const hone_workload *w = cfg->w;
    hn_str flags = {0};
    hone_rc rc;
    j->compiles = j->step == 0 || j->step + 1 == j->n_steps;
    if (j->compiles) {
        add_flags(j->r, !j->r->pgo ? NULL : j->step ? j->r->pgo_use : j->r->pgo_generate, &flags);
        rc = hn_recipe_expand(w, j->r, w->build, flags.text ? flags.text : "", NULL, NULL, &j->command, err);
        if (!rc && hn_code_is_read(w)) hn_code_keep_log(&j->command);
    } else {
        const char *args = training_input(w, j->step - 1)->args;
        rc = hn_recipe_expand(w, j->r, w->train ? w->train : w->run, "", args, "./output", &j->command, err);
    }
    hn_str_free(&flags);
    if (!rc && j->command.failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    return rc;
}

static hone_rc start_step(const hn_build_config *cfg, job *j, hone_err *err) {
    static const char *const compile_env[] = {"LC_ALL=C", NULL};
    static const char *const train_env[] = {"HONE_BENCH_ONCE=1", NULL};
    const hn_limits *limit = &cfg->w->limits;
    hn_str_free(&j->command);
    hone_rc rc = step_text(cfg, j, err);
    if (rc) return rc;
    j->spec = (hn_proc_spec){
        .shell = j->command.text,
        .cwd = j->b->dir,
        .env = j->compiles ? compile_env : train_env,
        .cpu = -1,
        .wall_s = j->compiles ? limit->build_s : limit->run_s,
        .memory_b = limit->memory_b,
        .file_b = limit->file_b,
        .out_b = limit->output_b,
        .keep_b = 4096,
        .n_procs = limit->n_procs,
    };
    hn_arena a = {0};
    rc = hn_confine_run(cfg->w, j->compiles ? HN_CONFINE_BUILD : HN_CONFINE_TRAINING, &a, &j->spec, err);
    if (!rc) rc = hn_proc_start(&j->spec, &j->proc, err);
    j->spec.env = j->spec.write = NULL;
    hn_arena_free(&a);
    return rc;
}

static hone_outcome_class build_class(const hn_proc_result *r) {
    switch (r->end) {
    case HN_PROC_WALL_LIMIT:
    case HN_PROC_CPU_LIMIT: return HONE_BUILD_TIMEOUT;
    case HN_PROC_MEMORY_LIMIT:
    case HN_PROC_FILE_LIMIT:
    case HN_PROC_OUTPUT_LIMIT:
    case HN_PROC_COUNT_LIMIT: return HONE_OVER_LIMIT;
    default: return HONE_BUILD_ERROR;
    }
}

static void fail_build(const job *j, const hn_proc_result *r) {
    char what[200];
    j->b->cls = build_class(r);
    hn_proc_describe(&j->spec, r, what, sizeof what);
    snprintf(j->b->detail, sizeof j->b->detail, "%s %s%s%s%.3900s%s", j->compiles ? "the build" : "the training run",
             r->end == HN_PROC_EXITED ? "ended with " : "", what, *r->err_tail ? ": " : "", r->err_tail,
             hn_confine_hint(r));
}

static void finish_build(job *j) {
    char *path = hn_path_join(j->b->dir, PROGRAM);
    hone_err why = {0};
    if (!path || hn_object_hash(path, j->b->object_hash, &why) ||
        hn_object_size(path, &j->b->code_b, &j->b->file_b, &why)) {
        j->b->cls = HONE_BUILD_ERROR;
        snprintf(j->b->detail, sizeof j->b->detail, "the build command succeeded but left no program at {out}: %s",
                 why.text);
    }
    free(path);
}

/* Between training and the second build; if the program wrote no profile, the candidate has failed. */
static bool merge_profile(const hn_build_config *cfg, job *j) {
    char *dir = hn_path_join(j->b->dir, PROFILE);
    hone_err why = {0};
    double t0 = hn_now_s();
    hone_rc rc = dir ? hone_target_profile_merge(j->r->target, dir, &why) : HONE_E_NOMEM;
    *cfg->waited_s += hn_now_s() - t0;
    free(dir);
    if (!rc) return true;
    j->b->cls = HONE_BUILD_ERROR;
    snprintf(j->b->detail, sizeof j->b->detail, "after the training run: %s", why.text);
    return false;
}

/* Takes the finished step; true when the build is over. */
static bool end_step(const hn_build_config *cfg, job *j, hone_err *err, hone_rc *rc) {
    hn_proc_result r;
    hn_proc_collect(j->proc, &r);
    j->proc = NULL;
    bool fine = r.end == HN_PROC_EXITED && r.code == 0;
    if (j->compiles) j->b->build_s += r.wall_s;
    if (!fine) fail_build(j, &r);
    hn_proc_result_free(&r);
    if (!fine) return true;
    if (++j->step == j->n_steps) {
        finish_build(j);
        return true;
    }
    if (j->r->pgo && j->step + 1 == j->n_steps && !merge_profile(cfg, j)) return true;
    *rc = start_step(cfg, j, err);
    return *rc != HONE_OK;
}

/* --- the batch ---------------------------------------------------------------------------------------------------- */

static void abandon(job *j, size_t n, hn_build *out) {
    for (size_t i = 0; i < n; i++) {
        if (j[i].proc) {
            hn_proc_result r;
            hn_proc_kill(j[i].proc);
            hn_proc_collect(j[i].proc, &r);
            hn_proc_result_free(&r);
        }
        hn_build_drop(&out[i], false);
    }
}

static hone_rc begin(const hn_build_config *cfg, const hn_recipe *recipe, const char *name, job *j, hn_build *b,
                     hone_err *err) {
    *j = (job){.r = recipe, .b = b, .n_steps = recipe->pgo ? 2 + n_training(cfg->w) : 1};
    hone_rc rc = make_folder(cfg, name, b, err);
    if (rc) return rc;
    if (!*cfg->w->build) { /* nothing to build: the run command is the program */
        b->cls = HONE_RUN_OK;
        return HONE_OK;
    }
    return start_step(cfg, j, err);
}

/* Runs n jobs, `most` at once. */
static hone_rc run_jobs(const hn_build_config *cfg, const hn_recipe *recipe, char *const *name, job *j, hn_proc **proc,
                        size_t n, hn_build *out, hone_err *err) {
    const volatile int *stop = cfg->options ? cfg->options->stop : NULL;
    size_t next = 0, most = cfg->jobs > 0 ? (size_t)cfg->jobs : 1;
    for (;;) {
        size_t live = 0;
        for (size_t i = 0; i < next; i++) live += (proc[i] = j[i].proc) != NULL;
        while (next < n && live < most) {
            hone_rc rc = begin(cfg, &recipe[next], name[next], &j[next], &out[next], err);
            if (rc) return rc;
            proc[next] = j[next].proc;
            live += j[next++].proc != NULL;
        }
        if (!live && next == n) return HONE_OK;
        double t0 = hn_now_s();
        int done = hn_proc_wait_any(proc, next, -1, stop);
        *cfg->waited_s += hn_now_s() - t0;
        if (done < 0 && stop && *stop) return hn_fail(err, HONE_E_INTERRUPTED, "interrupted while building");
        hone_rc rc = HONE_OK;
        if (done >= 0) end_step(cfg, &j[done], err, &rc);
        if (rc) return rc;
    }
}

hone_rc hn_build_all(const hn_build_config *cfg, const hn_recipe *recipe, char *const *name, size_t n, hn_build *out,
                     hone_err *err) {
    job *j = calloc(n + 1, sizeof *j);
    hn_proc **proc = calloc(n + 1, sizeof(hn_proc *));
    memset(out, 0, n * sizeof *out);
    hone_rc rc =
        j && proc ? run_jobs(cfg, recipe, name, j, proc, n, out, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_code_of_builds(cfg, out, n, err);
    if (rc && j) abandon(j, n, out);
    for (size_t i = 0; j && i < n; i++) hn_str_free(&j[i].command);
    free(j);
    free(proc);
    return rc;
}
