/* build.c — the C compiler: units in parallel, then one shared library; a single unit goes there in one call.
 *
 * Works inside the temporary folder, where file names are hone's own (a C text for each unit and the entry). Exact mode
 * never reassociates: no -ffast-math, no fused multiply-add but where the code has one (relaxed: wherever the compiler
 * can).
 */
#include "build/build.h"

#include "base/clock.h"
#include "base/fs.h"
#include "proc/proc.h"

#include <hone/target.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_JOBS = 64 };
/* Elementary operations of all kernels below which optimising costs more than it gives. */
#define TINY_COST 4000000

void hn_command_add(hn_command *c, const char *word) {
    if (c->n < HN_MOST_ARGS) c->argv[c->n++] = word;
}

static const struct {
    hn_cc_part part;
    const char *word;
} cc_flags[] = {
#define HN_CC(part, word, why) {HN_CC_##part, word},
#include "build/cc_flags.def"
#undef HN_CC
};

void hn_command_part(hn_command *c, hn_cc_part part) {
    for (size_t i = 0; i < sizeof cc_flags / sizeof *cc_flags; i++)
        if (cc_flags[i].part == part) hn_command_add(c, cc_flags[i].word);
}

bool hn_is_tiny(const hn_model *m) {
    int64_t total = 0, low, high;
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        if (!m->kernel[i].cost.steps) return false;
        hn_dim_range(m->g->dims, m->kernel[i].cost.steps, &low, &high);
        if (__builtin_mul_overflow(high, m->kernel[i].n_uses, &high) || __builtin_add_overflow(total, high, &total))
            return false;
    }
    return m->n_unit == 1 && total <= TINY_COST;
}

/* For another processor: the first compiler that a target names. */
static const char *compiler_of(const hn_library *l) {
    if (l->options->compiler) return l->options->compiler;
    for (uint32_t i = 0; i < l->n_target && hn_library_emulator(l); i++)
        if (l->target[i]->compiler) return l->target[i]->compiler;
    return "cc";
}
const char *hn_compiler_of(const hn_model *m) { return compiler_of(m->lib); }

static void add_machine(const hn_library *l, const char *cc, hn_command *c) {
    const char *word = hn_library_emulator(l) ? hone_family_cross_flag(cc, hn_library_processor(l)) : NULL;
    if (word) hn_command_add(c, word);
}

/* m: NULL for what runs before the target is chosen. */
static void add_flags(const hn_model *m, hn_command *c) {
    hn_command_part(c, m && hn_is_tiny(m) ? HN_CC_TINY : HN_CC_LEVEL);
    hn_command_part(c, HN_CC_UNIT);
    const hn_dialect *d = m ? hn_host_dialect(m) : NULL;
    for (size_t i = 0; d && d->flags && d->flags[i]; i++) hn_command_add(c, d->flags[i]);
    if (d && m->options->relaxed && d->relaxed_flag)
        hn_command_add(c, d->relaxed_flag); /* the last flag of this kind counts */
}

static void add_compiler(const hn_library *l, const hn_model *m, const char *cc, hn_command *c) {
    if (!cc || !*cc) cc = compiler_of(l);
    hn_command_add(c, cc);
    add_machine(l, cc, c);
    add_flags(m, c);
}

void hn_command_compiler(const hn_model *m, const char *cc, const char *flags, hn_arena *a, hn_command *c) {
    add_compiler(m->lib, m, cc, c);
    for (const char *p = flags ? flags : ""; *p;) {
        size_t n = strcspn(p, " ");
        const char *word = n ? hn_strndup(a, p, n) : NULL;
        if (word) hn_command_add(c, word);
        p += n + (p[n] == ' ');
    }
}

static void add_link(hn_command *c) {
    hn_command_part(c, HN_CC_LINK);
    hn_command_add(c, "-o");
    hn_command_add(c, "model.so");
}

static hone_rc check_exit(const hn_library *l, const hn_proc_spec *spec, const hn_proc_result *r, hone_err *err) {
    char how[200];
    if (r->end == HN_PROC_EXITED && r->code == 0) return HONE_OK;
    if (r->end == HN_PROC_STOPPED) return hn_check_stop(l, err);
    if (r->end == HN_PROC_NOT_STARTED)
        return hn_fail(err, HONE_E_TOOL, "cannot start the C compiler '%s' (%s); install it, or name another (--cc)",
                       compiler_of(l), r->err_tail);
    return hn_fail(err, HONE_E_TOOL, "the C compiler '%s' fails on generated code (%s): %.600s", compiler_of(l),
                   hn_proc_describe(spec, r, how, sizeof how), r->err_tail);
}

static hone_rc run(const hn_library *l, const hn_command *c, hone_err *err) {
    hn_proc_spec spec = {.argv = c->argv, .env = hn_temp_here, .cwd = l->work, .cpu = -1, .wall_s = 600};
    hn_proc_result r = {0};
    hone_rc rc = hn_proc_run(&spec, l->options->stop, &r, err);
    if (rc) return rc;
    rc = check_exit(l, &spec, &r, err);
    hn_proc_result_free(&r);
    return rc;
}

/* --- the units of all models, then the entry -------------------------------------------------------------------------
 */

typedef struct unit_ref {
    hn_unit *u;
    const hn_model *m; /* NULL: the entry */
    char name[24];
} unit_ref;

/* The i-th of all; false: there are no more. */
static bool unit_at(hn_library *l, uint32_t i, unit_ref *out) {
    for (uint32_t k = 0; k < l->n_model; k++) {
        hn_model *m = &l->model[k];
        if (i < m->n_unit) {
            *out = (unit_ref){.u = &m->unit[i], .m = m};
            snprintf(out->name, sizeof out->name, "m%uu%u", k, i);
            return true;
        }
        i -= m->n_unit;
    }
    *out = (unit_ref){.u = &l->entry, .name = "entry"};
    return l->n_model > 1 && i == 0;
}

static uint32_t count_units(const hn_library *l) {
    uint32_t n = l->n_model > 1;
    for (uint32_t k = 0; k < l->n_model; k++) n += l->model[k].n_unit;
    return n;
}

static hone_rc write_unit(hn_library *l, const unit_ref *u, hone_err *err) {
    const char *path = hn_format(&l->arena, "%s/%s.c", l->work, u->name);
    if (!path) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    return hn_write_file(path, u->u->text, u->u->n, err);
}

/* --- several units ---------------------------------------------------------------------------------------------------
 */

typedef struct job {
    hn_proc *proc;
    hn_proc_spec spec;
    hn_command c;
    char source[32], object[32];
} job;

static hone_rc start(hn_library *l, job *j, const unit_ref *u, hone_err *err) {
    *j = (job){0};
    snprintf(j->source, sizeof j->source, "%s.c", u->name);
    snprintf(j->object, sizeof j->object, "%s.o", u->name);
    if (u->m)
        hn_command_compiler(u->m, u->u->cc, u->u->flags, &l->arena, &j->c);
    else
        add_compiler(l, NULL, NULL, &j->c);
    hn_command_add(&j->c, "-c");
    hn_command_add(&j->c, j->source);
    hn_command_add(&j->c, "-o");
    hn_command_add(&j->c, j->object);
    j->spec = (hn_proc_spec){.argv = j->c.argv, .env = hn_temp_here, .cwd = l->work, .cpu = -1, .wall_s = 600};
    return hn_proc_start(&j->spec, &j->proc, err);
}

static hone_rc collect(const hn_library *l, job *j, hone_err *err) {
    hn_proc_result r = {0};
    hn_proc_collect(j->proc, &r);
    j->proc = NULL;
    hone_rc rc = check_exit(l, &j->spec, &r, err);
    hn_proc_result_free(&r);
    return rc;
}

static bool heaviest(hn_library *l, unit_ref *out) {
    unit_ref u;
    bool found = false;
    for (uint32_t i = 0; unit_at(l, i, &u); i++) {
        if (!u.u->stale || (found && u.u->weight <= out->u->weight)) continue;
        *out = u;
        found = true;
    }
    return found;
}

static size_t jobs_of(const hn_library *l) {
    long n = l->options->n_jobs ? (long)l->options->n_jobs : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST_JOBS ? MOST_JOBS : (size_t)n;
}

/* Heaviest first, as many at once as there are jobs. */
static hone_rc compile_units(hn_library *l, hone_err *err) {
    job *jobs = calloc(MOST_JOBS, sizeof *jobs);
    hn_proc *procs[MOST_JOBS] = {0};
    size_t n = jobs_of(l), running = 0, done = 0;
    hone_rc rc = jobs ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    while (!rc || running) {
        unit_ref unit;
        int at = -1;
        for (size_t i = 0; i < n && !rc && at < 0; i++)
            if (!procs[i]) at = (int)i;
        if (at >= 0 && heaviest(l, &unit)) {
            rc = start(l, &jobs[at], &unit, err);
            if (rc) continue;
            procs[at] = jobs[at].proc;
            unit.u->stale = false;
            running++;
            continue;
        }
        if (!running) break;
        if ((at = hn_proc_wait_any(procs, n, -1, rc ? NULL : l->options->stop)) < 0) {
            if (!rc) rc = hn_progress(l, "compile", done, count_units(l), err);
            for (size_t i = 0; i < n && rc; i++)
                if (procs[i]) hn_proc_kill(procs[i]);
            continue;
        }
        procs[at] = NULL;
        running--;
        hone_rc one = collect(l, &jobs[at], rc ? NULL : err);
        if (one && !rc) rc = one;
        one = hn_progress(l, "compile", ++done, count_units(l), rc ? NULL : err);
        if (one && !rc) rc = one;
    }
    free(jobs);
    return rc;
}

static hone_rc link_units(hn_library *l, hone_err *err) {
    hn_command c = {0};
    hn_command_add(&c, compiler_of(l));
    add_machine(l, compiler_of(l), &c);
    add_link(&c);
    hn_command_add(&c, "@objects.rsp");
    hn_command_part(&c, HN_CC_LIBRARIES);
    hn_str list = {0};
    unit_ref u;
    for (uint32_t i = 0; unit_at(l, i, &u); i++) hn_str_addf(&list, "%s.o\n", u.name);
    char *path = hn_path_join(l->work, "objects.rsp");
    hone_rc rc = !path || list.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                                      : hn_write_file(path, list.text, list.n, err);
    free(path);
    hn_str_free(&list);
    return rc ? rc : run(l, &c, err);
}

static hone_rc compile_one(hn_library *l, hone_err *err) {
    hn_command c = {0};
    unit_ref u;
    char source[32];
    if (!unit_at(l, 0, &u)) return HONE_OK;
    snprintf(source, sizeof source, "%s.c", u.name);
    hn_command_compiler(u.m, NULL, NULL, &l->arena, &c);
    add_link(&c);
    hn_command_add(&c, source);
    hn_command_part(&c, HN_CC_LIBRARIES);
    u.u->stale = false;
    return run(l, &c, err);
}

static void name_compiler(hn_library *l) {
    const char *argv[] = {compiler_of(l), "--version", NULL};
    hn_proc_spec spec = {.argv = argv, .cpu = -1, .wall_s = 60};
    hn_proc_result r = {0};
    if (l->compiler_text[0] || hn_proc_run(&spec, NULL, &r, NULL)) return;
    snprintf(l->compiler_text, sizeof l->compiler_text, "%.*s", r.out ? (int)strcspn(r.out, "\n") : 0,
             r.out ? r.out : "");
    hn_proc_result_free(&r);
}

hone_rc hn_build(hn_library *l, hone_err *err) {
    double start_s = hn_now_s();
    struct stat st;
    hone_rc rc = HONE_OK;
    unit_ref u;
    bool one = count_units(l) == 1;
    if (hn_has_images(l)) rc = hn_build_images(l, jobs_of(l), err);
    for (uint32_t i = 0; !rc && unit_at(l, i, &u); i++)
        if (u.u->stale) rc = write_unit(l, &u, err);
    if (!rc && l->options->emit == HONE_EMIT_SO && !l->weights_file)
        rc = hn_weights_write(l, hn_format(&l->arena, "%s/weights.bin", l->work), false, err);
    if (!rc && !one) rc = compile_units(l, err);
    if (!rc) rc = one ? compile_one(l, err) : link_units(l, err);
    if (rc) return rc;
    name_compiler(l);
    char *path = hn_path_join(l->work, "model.so");
    if (path && stat(path, &st) == 0) l->code_b = (uint64_t)st.st_size - (l->weights_file ? 0 : l->weights_b);
    free(path);
    l->compiler_s += hn_now_s() - start_s;
    return HONE_OK;
}
