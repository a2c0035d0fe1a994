/* tune/build.c — every build is a short list of steps (compile; or generate, train…, use for PGO; behind that, for
 * BOLT, instrument, train…, optimise); as many of them run as there are jobs. */
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
#include "tune/cut_build.h"
#include "tune/post_link.h"
#include "tune/run.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM "./prog"
#define PROFILE "./profile"
#define OBJECTS "objects"

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
    for (size_t i = 0; r->env && r->env[i]; i++) hn_hash_text(&h, r->env[i]);
    for (size_t i = 0; !*b->object_hash && i < r->n_flags; i++) hn_hash_text(&h, r->flag[i]);
    for (size_t i = 0; !*b->object_hash && i < r->n_files; i++)
        for (size_t k = 0; k < r->file[i].n_flags; k++) hn_hash_text(&h, r->file[i].flag[k]);
    if (!*b->object_hash && r->opt) hn_hash_text(&h, r->pipeline);
    hn_hash_end(&h, hex);
    hex[16] = 0;
    return strtoull(hex, NULL, 16);
}

char *hn_build_cache(const hone_tune_options *o, const char *name) {
    char *own = o && o->cache_dir ? NULL : hn_cache_dir();
    char *path = hn_path_join(own ? own : o && o->cache_dir ? o->cache_dir : "", name);
    free(own);
    return path;
}

/* --- one build's steps -------------------------------------------------------------------------------------------- */

typedef enum step_kind { COMPILE, TRAIN, RECOMPILE, INSTRUMENT, TRAIN_AGAIN, OPTIMISE } step_kind;

typedef struct job {
    const hn_recipe *r;
    const char *name;
    hn_build *b;
    hn_proc *proc;
    hn_proc_spec spec;
    hn_str command;
    size_t step, n_steps;
    size_t n_linking;     /* the steps that lead to a linked program; the others are BOLT's */
    step_kind kind;       /* of the running step */
    char profile[33];     /* key of the linked program's profile */
    bool recalled;        /* the profile was kept from an earlier build */
    bool waits;           /* for its turn to be laid out: another build may be making its profile */
    bool read;            /* its device code was looked at */
    hn_cut_build *pieces; /* of a command that was cut; then proc is NULL */
    hn_proc **part;       /* those that run, by their number */
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

static void set_kind(job *j) {
    bool last = j->step + 1 == j->n_steps;
    if (j->step < j->n_linking)
        j->kind = j->step == 0 ? COMPILE : j->step + 1 == j->n_linking ? RECOMPILE : TRAIN;
    else
        j->kind = j->step == j->n_linking && !last ? INSTRUMENT : last ? OPTIMISE : TRAIN_AGAIN;
}

static bool trains(const job *j) { return j->kind == TRAIN || j->kind == TRAIN_AGAIN; }

static hone_rc compile_text(const hn_build_config *cfg, job *j, hone_err *err) {
    hn_str flags = {0};
    const char *pgo = j->kind == COMPILE ? j->r->pgo_generate : j->r->pgo_use;
    add_flags(j->r, j->r->pgo ? pgo : NULL, &flags);
    hone_rc rc =
        hn_recipe_expand(cfg->w, j->r, cfg->w->build, flags.text ? flags.text : "", NULL, NULL, &j->command, err);
    if (!rc && hn_code_is_read(cfg->w)) hn_code_keep_log(&j->command);
    hn_str_free(&flags);
    return rc;
}

static hone_rc step_text(const hn_build_config *cfg, job *j, hone_err *err) {
    const hone_workload *w = cfg->w;
    hone_rc rc = HONE_OK;
    set_kind(j);
    if (trains(j)) {
        size_t i = j->step - 1 - (j->kind == TRAIN_AGAIN ? j->n_linking : 0);
        const char *args = training_input(w, i)->args;
        rc = hn_recipe_expand(w, j->r, w->train ? w->train : w->run, "", args, "./output", &j->command, err);
    } else if (j->kind == INSTRUMENT) {
        hn_bolt_instrument(&j->command, j->r->bolt);
    } else if (j->kind == OPTIMISE) {
        hn_bolt_optimise(&j->command, j->r->bolt, j->r->bolt_options, !j->recalled);
    } else {
        rc = compile_text(cfg, j, err);
    }
    if (!rc && j->command.failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    return rc;
}

/* Runs a command in the build's folder, under the limits of its kind; env, write of *spec are gone afterwards. */
static hone_rc start(const hn_build_config *cfg, job *j, const char *shell, hn_proc_spec *spec, hn_proc **out,
                     hone_err *err) {
    static const char *const compile_env[] = {"LC_ALL=C", NULL};
    static const char *const train_env[] = {"HONE_BENCH_ONCE=1", NULL};
    const hn_limits *limit = &cfg->w->limits;
    *spec = (hn_proc_spec){
        .shell = shell,
        .cwd = j->b->dir,
        .env = trains(j) ? train_env : compile_env,
        .cpu = -1,
        .wall_s = trains(j) ? limit->run_s : limit->build_s,
        .memory_b = limit->memory_b,
        .file_b = limit->file_b,
        .out_b = limit->output_b,
        .keep_b = 4096,
        .n_procs = limit->n_procs,
    };
    hn_arena a = {0};
    hone_rc rc = hn_confine_run(cfg->w, trains(j) ? HN_CONFINE_TRAINING : HN_CONFINE_BUILD, &a, spec, err);
    if (!rc) rc = hn_proc_start(spec, out, err);
    spec->env = spec->write = NULL;
    hn_arena_free(&a);
    return rc;
}

static void drop_pieces(job *j) {
    for (size_t i = 0; j->pieces && j->part && i < hn_cut_build_n(j->pieces); i++) {
        hn_proc_result r;
        if (!j->part[i]) continue;
        hn_proc_kill(j->part[i]);
        hn_proc_collect(j->part[i], &r);
        hn_proc_result_free(&r);
    }
    hn_cut_build_free(j->pieces);
    free(j->part);
    j->pieces = NULL;
    j->part = NULL;
}

/* Must it be made in pieces? Files with flags of their own and edited passes are. */
static bool needs_pieces(const job *j) {
    return (j->r->n_files || j->r->opt) && (j->kind == COMPILE || j->kind == RECOMPILE);
}

/* Objects are kept where nothing but the program counts of a build. */
static void cut(const hn_build_config *cfg, job *j) {
    bool must = needs_pieces(j);
    bool may = j->kind == COMPILE && j->n_linking == 1 && !hn_code_is_read(cfg->w);
    for (size_t k = 0; k < hn_n_quantities(cfg->w); k++)
        may &= hn_quantity_at(cfg->w, k)->source != HN_FROM_COMPILE_TIME;
    char *store = may ? hn_path_join(cfg->root, OBJECTS) : NULL;
    char *cache = may ? hn_build_cache(cfg->options, OBJECTS) : NULL;
    if (store || must) j->pieces = hn_cut_build_of(j->r, j->command.text, j->b->dir, store, cache);
    free(store);
    free(cache);
    if (j->pieces && !(j->part = calloc(hn_cut_build_n(j->pieces), sizeof(hn_proc *)))) drop_pieces(j);
}

static hone_rc start_step(const hn_build_config *cfg, job *j, hone_err *err) {
    hn_str_free(&j->command);
    hone_rc rc = step_text(cfg, j, err);
    if (rc) return rc;
    cut(cfg, j);
    if (!j->pieces && needs_pieces(j)) {
        hn_arena a = {0};
        const char *why = j->r->opt ? hn_cut_build_stages(j->r, j->command.text, &a) : NULL;
        j->b->cls = HONE_BUILD_ERROR;
        snprintf(j->b->detail, sizeof j->b->detail, "%s",
                 why ? why
                     : "controls of single files need a build command that is calls of the compiler alone, which "
                       "compile several files and link them");
        hn_arena_free(&a);
        return HONE_OK;
    }
    return j->pieces ? HONE_OK : start(cfg, j, j->command.text, &j->spec, &j->proc, err);
}

/* The next piece that can run; *started: there was one. */
static hone_rc start_piece(const hn_build_config *cfg, job *j, bool *started, hone_err *err) {
    hn_str shell = {0};
    size_t i;
    *started = j->pieces && hn_cut_build_next(j->pieces, &i, &shell);
    hone_rc rc = *started && shell.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
    if (*started && !rc) rc = start(cfg, j, shell.text, &j->spec, &j->part[i], err);
    j->spec.shell = NULL; /* it goes; the limits are told where one is broken */
    hn_str_free(&shell);
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

/* where: which part of the step; NULL: it is whole. */
static void fail_build(const job *j, const char *where, const hn_proc_result *r) {
    static const char *const step[] = {[COMPILE] = "the build",
                                       [TRAIN] = "the training run",
                                       [RECOMPILE] = "the build",
                                       [INSTRUMENT] = "instrumenting the linked program",
                                       [TRAIN_AGAIN] = "the training run of the instrumented program",
                                       [OPTIMISE] = "laying out the linked program"};
    char what[200];
    j->b->cls = build_class(r);
    hn_proc_describe(&j->spec, r, what, sizeof what);
    snprintf(j->b->detail, sizeof j->b->detail, "%s%s%.200s %s%s%s%.3600s%s", step[j->kind], where ? " of " : "",
             where ? where : "", r->end == HN_PROC_EXITED ? "ended with " : "", what, *r->err_tail ? ": " : "",
             r->err_tail, hn_confine_hint(r));
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

/* The program was linked: its profile may be known. */
static void enter_post_link(const hn_build_config *cfg, job *j) {
    char hex[33] = "", *path = hn_path_join(j->b->dir, PROGRAM);
    if (path && !hn_object_hash(path, hex, NULL)) hn_post_link_key(cfg, j->r, hex, j->profile);
    free(path);
    j->waits = true;
}

/* The profile is there by now, or is made by this build. */
static hone_rc leave_waiting(const hn_build_config *cfg, job *j, hone_err *err) {
    j->waits = false;
    j->recalled = *j->profile && hn_post_link_recall(cfg, j->profile, j->b->dir);
    if (j->recalled) j->step = j->n_steps - 1;
    return start_step(cfg, j, err);
}

/* A step ended well: the next one, or the build is over. */
static hone_rc go_on(const hn_build_config *cfg, job *j, hone_err *err) {
    if (j->kind == OPTIMISE && !j->recalled && *j->profile) hn_post_link_keep(cfg, j->profile, j->b->dir);
    if (++j->step == j->n_steps) {
        finish_build(j);
        return HONE_OK;
    }
    if (j->r->pgo && j->step + 1 == j->n_linking && !merge_profile(cfg, j)) return HONE_OK;
    if (j->step != j->n_linking) return start_step(cfg, j, err);
    enter_post_link(cfg, j);
    return HONE_OK;
}

/* Takes the finished step. */
static hone_rc end_step(const hn_build_config *cfg, job *j, hone_err *err) {
    hn_proc_result r;
    hn_proc_collect(j->proc, &r);
    j->proc = NULL;
    bool fine = r.end == HN_PROC_EXITED && r.code == 0;
    if (!trains(j) && j->kind != INSTRUMENT) j->b->build_s += r.wall_s;
    if (!fine) fail_build(j, NULL, &r);
    hn_proc_result_free(&r);
    if (!fine) return HONE_OK;
    if (j->step + 1 == j->n_linking && cfg->objects) cfg->objects->n_whole++;
    return go_on(cfg, j, err);
}

static void count(hn_object_counts *c, const hn_build *b) {
    c->n_cut++;
    c->n_compiled += b->n_compiled;
    c->n_known += b->n_known;
}

/* A piece ended. A build that cannot be made in pieces is made whole: that also says what is wrong with it. */
static hone_rc end_piece(const hn_build_config *cfg, job *j, size_t i, hone_err *err) {
    hn_proc_result r;
    hn_proc_collect(j->part[i], &r);
    j->part[i] = NULL;
    j->b->build_s += r.wall_s;
    bool well = r.end == HN_PROC_EXITED && r.code == 0,
         limited = (r.end != HN_PROC_EXITED && r.end != HN_PROC_SIGNALED) || (!well && needs_pieces(j));
    hn_arena a = {0};
    if (limited) fail_build(j, hn_cut_build_where(j->pieces, i, &a), &r);
    hn_arena_free(&a);
    hn_proc_result_free(&r);
    bool fine = hn_cut_build_ended(j->pieces, i, well);
    if (fine && !hn_cut_build_over(j->pieces)) return HONE_OK;
    if (fine) hn_cut_build_counts(j->pieces, &j->b->n_compiled, &j->b->n_known);
    if (fine && cfg->objects) count(cfg->objects, j->b);
    drop_pieces(j);
    if (fine) return go_on(cfg, j, err);
    return limited || needs_pieces(j) ? HONE_OK : start(cfg, j, j->command.text, &j->spec, &j->proc, err);
}

/* --- several at a time -------------------------------------------------------------------------------------------- */

/* What runs now, of all jobs. */
typedef struct live {
    hn_proc **proc;
    size_t *job, *part; /* part: SIZE_MAX of a command that is whole */
    size_t n, most;
} live;

/* Builds by the order in which they came: from `first` on they are here, up to `begun` they run or are over, up to
 * `end` they wait. The k-th has place k % most. */
struct hn_builds {
    const hn_build_config *cfg;
    hn_arena arena;
    job *job;
    size_t most, first, begun, end;
    live live;
};

static job *job_at(const hn_builds *s, size_t k) { return &s->job[k % s->most]; }

static bool is_over(const job *j) { return !j->proc && !j->pieces && !j->waits; }

/* Is the profile of a build that waits being made by another one? */
static bool is_being_made(const hn_builds *s, const job *waiting) {
    for (size_t k = s->first; k < s->begun; k++) {
        const job *j = job_at(s, k);
        if (j->proc && j->step >= j->n_linking && !j->recalled && !strcmp(j->profile, waiting->profile)) return true;
    }
    return false;
}

/* One that waited; *any: there was one. */
static hone_rc start_waiting(hn_builds *s, bool *any, hone_err *err) {
    for (size_t k = s->first; k < s->begun; k++) {
        job *j = job_at(s, k);
        if (!j->waits || (*j->profile && is_being_made(s, j))) continue;
        *any = true;
        return leave_waiting(s->cfg, j, err);
    }
    return HONE_OK;
}

hone_rc hn_builds_open(const hn_build_config *cfg, size_t most, hn_builds **out, hone_err *err) {
    hn_builds *s = calloc(1, sizeof *s);
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    s->cfg = cfg;
    s->most = most ? most : 1;
    s->job = HN_NEW_N(&s->arena, job, s->most);
    s->live.most = cfg->jobs > 0 ? (size_t)cfg->jobs : 1;
    s->live.proc = HN_NEW_N(&s->arena, hn_proc *, s->live.most);
    s->live.job = HN_NEW_N(&s->arena, size_t, s->live.most);
    s->live.part = HN_NEW_N(&s->arena, size_t, s->live.most);
    if (!hn_arena_ok(&s->arena)) {
        hn_builds_close(s);
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    *out = s;
    return HONE_OK;
}

static void abandon(job *j) {
    drop_pieces(j);
    if (j->proc) {
        hn_proc_result r;
        hn_proc_kill(j->proc);
        hn_proc_collect(j->proc, &r);
        hn_proc_result_free(&r);
    }
    hn_build_drop(j->b, false);
}

void hn_builds_close(hn_builds *s) {
    if (!s) return;
    for (size_t k = s->first; k < s->end; k++) abandon(job_at(s, k));
    for (size_t i = 0; s->job && i < s->most; i++) hn_str_free(&s->job[i].command);
    hn_arena_free(&s->arena);
    free(s);
}

static hone_rc begin(const hn_build_config *cfg, job *j, hone_err *err) {
    hone_rc rc = make_folder(cfg, j->name, j->b, err);
    if (rc) return rc;
    if (!*cfg->w->build) { /* nothing to build: the run command is the program */
        j->b->cls = HONE_RUN_OK;
        return HONE_OK;
    }
    return start_step(cfg, j, err);
}

static void add_live(live *l, hn_proc *proc, size_t k, size_t part) {
    if (!proc || l->n == l->most) return;
    l->proc[l->n] = proc;
    l->job[l->n] = k;
    l->part[l->n++] = part;
}

static void list_live(hn_builds *s) {
    s->live.n = 0;
    for (size_t k = s->first; k < s->begun; k++) {
        const job *j = job_at(s, k);
        add_live(&s->live, j->proc, k, SIZE_MAX);
        for (size_t i = 0; j->pieces && i < hn_cut_build_n(j->pieces); i++) add_live(&s->live, j->part[i], k, i);
    }
}

/* Starts one more process: a piece of a build that has begun, else the next build. *any: there was one to start. */
static hone_rc start_one(hn_builds *s, bool *any, hone_err *err) {
    *any = false;
    hone_rc waited = start_waiting(s, any, err);
    if (waited) return waited;
    for (size_t k = s->first; k < s->begun && !*any; k++) {
        hone_rc rc = start_piece(s->cfg, job_at(s, k), any, err);
        if (rc) return rc;
    }
    if (*any || s->begun == s->end) return HONE_OK;
    *any = true;
    return begin(s->cfg, job_at(s, s->begun++), err);
}

/* As many processes as may run at once. */
static hone_rc start_all(hn_builds *s, hone_err *err) {
    hone_rc rc = HONE_OK;
    bool any = true;
    for (list_live(s); !rc && any && s->live.n < s->live.most; list_live(s)) rc = start_one(s, &any, err);
    return rc;
}

/* A process that has ended, waited for so long; below 0: until one ends. *ended: there was one. */
static hone_rc take_ended(hn_builds *s, double wait_s, bool *ended, hone_err *err) {
    const volatile int *stop = s->cfg->options ? s->cfg->options->stop : NULL;
    const live *l = &s->live;
    double t0 = hn_now_s();
    int done = l->n ? hn_proc_wait_any(l->proc, l->n, wait_s, stop) : -1;
    *s->cfg->waited_s += hn_now_s() - t0;
    *ended = done >= 0;
    if (done < 0 && stop && *stop) return hn_fail(err, HONE_E_INTERRUPTED, "interrupted while building");
    if (done < 0) return HONE_OK;
    job *j = job_at(s, l->job[done]);
    hone_rc rc = HONE_OK;
    if (l->part[done] == SIZE_MAX)
        rc = end_step(s->cfg, j, err);
    else
        rc = end_piece(s->cfg, j, l->part[done], err);
    return rc;
}

hone_rc hn_builds_add(hn_builds *s, const hn_recipe *recipe, const char *name, hn_build *out, hone_err *err) {
    assert(s->end - s->first < s->most);
    job *j = job_at(s, s->end++);
    hn_str_free(&j->command);
    *out = (hn_build){0};
    *j = (job){.r = recipe, .name = name, .b = out, .n_linking = recipe->pgo ? 2 + n_training(s->cfg->w) : 1};
    j->n_steps = j->n_linking + (recipe->bolt ? 2 + n_training(s->cfg->w) : 0);
    bool ended = true;
    hone_rc rc = HONE_OK;
    while (!rc && ended) {
        rc = start_all(s, err);
        if (!rc) rc = take_ended(s, 0, &ended, err);
    }
    return rc;
}

/* Of all builds that are over and were not looked at, together. */
static hone_rc read_code(hn_builds *s, hone_err *err) {
    hn_arena a = {0};
    hn_build **b = HN_NEW_N(&a, hn_build *, s->most);
    size_t n = 0;
    for (size_t k = s->first; b && k < s->begun; k++) {
        job *j = job_at(s, k);
        if (!is_over(j) || j->read) continue;
        j->read = true;
        b[n++] = j->b;
    }
    hone_rc rc = b ? hn_code_of_builds(s->cfg, b, n, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_arena_free(&a);
    return rc;
}

hone_rc hn_builds_next(hn_builds *s, hone_err *err) {
    assert(s->first < s->end);
    const job *oldest = job_at(s, s->first);
    hone_rc rc = HONE_OK;
    for (bool ended; !(rc = start_all(s, err)) && !is_over(oldest);)
        if ((rc = take_ended(s, -1, &ended, err))) return rc;
    if (!rc && !oldest->read) rc = read_code(s, err);
    if (!rc) s->first++;
    return rc;
}

hone_rc hn_build_all(const hn_build_config *cfg, const hn_recipe *recipe, char *const *name, size_t n, hn_build *out,
                     hone_err *err) {
    hn_builds *s;
    memset(out, 0, n * sizeof *out);
    hone_rc rc = hn_builds_open(cfg, n, &s, err);
    if (rc) return rc;
    for (size_t i = 0; !rc && i < n; i++) rc = hn_builds_add(s, &recipe[i], name[i], &out[i], err);
    for (bool ended = true; !rc && !(rc = start_all(s, err)) && s->live.n;) rc = take_ended(s, -1, &ended, err);
    if (!rc) rc = read_code(s, err);
    if (!rc) s->first = s->end; /* they are the caller's */
    hn_builds_close(s);
    return rc;
}
