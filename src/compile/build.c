/* build.c — the C compiler: units in parallel, then one shared library; a single unit goes there in one call.
 *
 * Works inside the temporary folder, where file names are hone's own (u0.c …). Exact mode never reassociates: no
 * -ffast-math, no contraction to fused multiply-add but where the code says so.
 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/proc.h"
#include "compile/compile_int.h"

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

const char *hn_compiler_of(const hn_model *m) {
    if (m->options->compiler) return m->options->compiler;
#ifdef __x86_64__
    if (!strcmp(m->dialect->name, "aarch64")) return "aarch64-linux-gnu-gcc";
#endif
    return "cc";
}

static void add_flags(const hn_model *m, hn_command *c) {
    static const char *const common[] = {
        "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
        "-w",         NULL};
    hn_command_add(c, hn_is_tiny(m) ? "-O1" : "-O2");
    for (size_t i = 0; common[i]; i++) hn_command_add(c, common[i]);
    for (size_t i = 0; m->dialect->flags && m->dialect->flags[i]; i++) hn_command_add(c, m->dialect->flags[i]);
}

void hn_command_compiler(const hn_model *m, const char *cc, const char *flags, hn_arena *a, hn_command *c) {
    hn_command_add(c, cc && *cc ? cc : hn_compiler_of(m));
    add_flags(m, c);
    for (const char *p = flags ? flags : ""; *p;) {
        size_t n = strcspn(p, " ");
        const char *word = n ? hn_strndup(a, p, n) : NULL;
        if (word) hn_command_add(c, word);
        p += n + (p[n] == ' ');
    }
}

static void add_link(hn_command *c) {
    hn_command_add(c, "-shared");
    hn_command_add(c, "-Wl,--as-needed");
    hn_command_add(c, "-Wl,--no-undefined");
    hn_command_add(c, "-o");
    hn_command_add(c, "model.so");
}

static void add_libraries(hn_command *c) {
    hn_command_add(c, "-lm");
    hn_command_add(c, "-lpthread");
    hn_command_add(c, "-ldl");
}

static hone_rc judge(const hn_model *m, const hn_proc_spec *spec, const hn_proc_result *r, hone_err *err) {
    char how[200];
    if (r->end == HN_PROC_EXITED && r->code == 0) return HONE_OK;
    return hn_fail(err, HONE_E_TOOL, "the C compiler '%s' fails on generated code (%s): %.600s", hn_compiler_of(m),
                   hn_proc_describe(spec, r, how, sizeof how), r->err_tail);
}

static hone_rc run(const hn_model *m, const hn_command *c, hone_err *err) {
    hn_proc_spec spec = {.argv = c->argv, .cwd = m->work, .cpu = -1, .wall_s = 600};
    hn_proc_result r = {0};
    hone_rc rc = hn_proc_run(&spec, NULL, &r, err);
    if (rc) return rc;
    rc = judge(m, &spec, &r, err);
    hn_proc_result_free(&r);
    return rc;
}

static hone_rc write_unit(const hn_model *m, uint32_t i, hone_err *err) {
    const char *path = hn_format((hn_arena *)&m->arena, "%s/u%u.c", m->work, i);
    FILE *f = path ? fopen(path, "wb") : NULL;
    bool good = f && fwrite(m->unit[i].text, 1, m->unit[i].n, f) == m->unit[i].n;
    if (f && fclose(f)) good = false;
    return good ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot write '%s'", path ? path : m->work);
}

/* --- several units ---------------------------------------------------------------------------------------------------
 */

typedef struct job {
    hn_proc *proc;
    hn_proc_spec spec;
    hn_command c;
    char source[24], object[24];
} job;

static hone_rc start(const hn_model *m, job *j, uint32_t unit, hone_err *err) {
    *j = (job){0};
    snprintf(j->source, sizeof j->source, "u%u.c", unit);
    snprintf(j->object, sizeof j->object, "u%u.o", unit);
    hn_command_compiler(m, m->unit[unit].cc, m->unit[unit].flags, (hn_arena *)&m->arena, &j->c);
    hn_command_add(&j->c, "-c");
    hn_command_add(&j->c, j->source);
    hn_command_add(&j->c, "-o");
    hn_command_add(&j->c, j->object);
    j->spec = (hn_proc_spec){.argv = j->c.argv, .cwd = m->work, .cpu = -1, .wall_s = 600};
    return hn_proc_start(&j->spec, &j->proc, err);
}

static hone_rc collect(const hn_model *m, job *j, hone_err *err) {
    hn_proc_result r = {0};
    hn_proc_collect(j->proc, &r);
    j->proc = NULL;
    hone_rc rc = judge(m, &j->spec, &r, err);
    hn_proc_result_free(&r);
    return rc;
}

static int heaviest(const hn_model *m) {
    int best = -1;
    for (uint32_t i = 0; i < m->n_unit; i++)
        if (m->unit[i].stale && (best < 0 || m->unit[i].weight > m->unit[best].weight)) best = (int)i;
    return best;
}

static size_t jobs_of(const hn_model *m) {
    long n = m->options->n_jobs ? (long)m->options->n_jobs : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST_JOBS ? MOST_JOBS : (size_t)n;
}

/* Heaviest first, as many at once as there are jobs. */
static hone_rc compile_units(hn_model *m, hone_err *err) {
    job *jobs = calloc(MOST_JOBS, sizeof *jobs);
    hn_proc *procs[MOST_JOBS] = {0};
    size_t n = jobs_of(m), running = 0, done = 0;
    hone_rc rc = jobs ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    while (!rc || running) {
        int unit = rc ? -1 : heaviest(m), at = -1;
        for (size_t i = 0; i < n && unit >= 0 && at < 0; i++)
            if (!procs[i]) at = (int)i;
        if (at >= 0) {
            rc = start(m, &jobs[at], (uint32_t)unit, err);
            if (rc) continue;
            procs[at] = jobs[at].proc;
            m->unit[unit].stale = false;
            running++;
            continue;
        }
        if (!running) break;
        if ((at = hn_proc_wait_any(procs, n, -1, NULL)) < 0) continue;
        procs[at] = NULL;
        running--;
        hone_rc one = collect(m, &jobs[at], rc ? NULL : err);
        if (one && !rc) rc = one;
        hn_progress(m, "compile", ++done, m->n_unit);
    }
    free(jobs);
    return rc;
}

static hone_rc link_units(hn_model *m, hone_err *err) {
    hn_command c = {0};
    hn_command_add(&c, hn_compiler_of(m));
    add_link(&c);
    hn_command_add(&c, "@objects.rsp");
    add_libraries(&c);
    hn_str list = {0};
    for (uint32_t i = 0; i < m->n_unit; i++) hn_str_addf(&list, "u%u.o\n", i);
    char *path = hn_path_join(m->work, "objects.rsp");
    hone_rc rc = !path || list.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                                      : hn_write_file(path, list.text, list.n, err);
    free(path);
    hn_str_free(&list);
    return rc ? rc : run(m, &c, err);
}

static hone_rc compile_one(hn_model *m, hone_err *err) {
    hn_command c = {0};
    hn_command_compiler(m, NULL, NULL, &m->arena, &c);
    add_link(&c);
    hn_command_add(&c, "u0.c");
    add_libraries(&c);
    m->unit[0].stale = false;
    return run(m, &c, err);
}

static void name_compiler(hn_model *m) {
    const char *argv[] = {hn_compiler_of(m), "--version", NULL};
    hn_proc_spec spec = {.argv = argv, .cpu = -1, .wall_s = 60};
    hn_proc_result r = {0};
    if (m->compiler_text[0] || hn_proc_run(&spec, NULL, &r, NULL)) return;
    snprintf(m->compiler_text, sizeof m->compiler_text, "%.*s", r.out ? (int)strcspn(r.out, "\n") : 0,
             r.out ? r.out : "");
    hn_proc_result_free(&r);
}

hone_rc hn_build(hn_model *m, hone_err *err) {
    double start_s = hn_now_s();
    struct stat st;
    hone_rc rc = HONE_OK;
    for (uint32_t i = 0; !rc && i < m->n_unit; i++)
        if (m->unit[i].stale) rc = write_unit(m, i, err);
    if (!rc && m->options->emit == HONE_EMIT_SO && !m->weights_file)
        rc = hn_weights_write(m, hn_format(&m->arena, "%s/weights.bin", m->work), false, err);
    if (!rc && m->n_unit > 1) rc = compile_units(m, err);
    if (!rc) rc = m->n_unit > 1 ? link_units(m, err) : compile_one(m, err);
    if (rc) return rc;
    name_compiler(m);
    char *path = hn_path_join(m->work, "model.so");
    if (path && stat(path, &st) == 0) m->code_b = (uint64_t)st.st_size - (m->weights_file ? 0 : m->weights_b);
    free(path);
    m->compiler_s += hn_now_s() - start_s;
    return HONE_OK;
}
