/* target/probe.c — which controls and values the compiler accepts, found by compiling a small program.
 *
 * Group testing by bisection (Dorfman 1943; binary splitting): dozens of controls go into one command line; when that
 * fails, its halves are tried, until the refused control is found. As nearly all controls are good, 400 of them with
 * their values take some hundred compilations instead of two thousand. Accepted means: exit code 0, nothing printed, an
 * object file, and processor time within SLOW times that of the plain compilation. Integer bounds that fail are pulled
 * in towards the default, logarithmically.
 *
 * Most refused controls are refused when the command line is read. Where a compiler can stop after reading the program
 * (the family's probe_read), they are found so first, in little time. */
#include "target/probe.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "proc/temp.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 48, MAX_SLOTS = 8 };
static const double SLOW = 5, LEAST_S = 1, TOTAL_S = 900;

typedef struct segment {
    size_t from, n;
} segment;

typedef struct slot {
    hn_proc *proc;
    segment part;
    char object[PATH_MAX + 32];
} slot;

struct hn_prober {
    hone_target *t;
    const hone_target_options *options;
    hn_temp temp;
    char source[PATH_MAX + 16];
    double base_s, until;
    size_t n_slots, done, total;
    bool reads; /* the compiler reads the program, and makes nothing of it */
    slot slot[MAX_SLOTS];
};

/* --- running ---------------------------------------------------------------------------------------------------- */

static double limit_s(const hn_prober *p) { return fmax(SLOW * p->base_s, LEAST_S); }

static hone_rc start(hn_prober *p, slot *s, const hn_probe_trial *trial, segment part, hone_err *err) {
    hn_arena a = {0};
    hn_flags f = {.a = &a};
    hn_flags_add(&f, p->t->exec);
    hn_flags_add(&f, p->t->family->probe_level);
    for (size_t i = part.from; i < part.from + part.n; i++)
        p->t->family->spell(&f, p->t, trial[i].name, trial[i].value);
    hn_flags_words(&f, p->reads ? p->t->family->probe_read : p->t->family->probe->object);
    hn_flags_add(&f, p->source);
    hn_flags_add(&f, "-o");
    hn_flags_add(&f, s->object);
    hn_flags_add(&f, NULL);
    static const char *const env[] = {"LC_ALL=C", "CCACHE_DISABLE=1", NULL};
    double cpu_s = p->base_s > 0 ? ceil(limit_s(p)) + 1 : 20;
    hn_proc_spec spec = {.argv = f.word,
                         .env = env,
                         .cwd = p->temp.path,
                         .cpu = -1,
                         .wall_s = 60,
                         .cpu_s = cpu_s,
                         .memory_b = 4ull << 30,
                         .file_b = 64u << 20,
                         .out_b = 1u << 20};
    (void)unlink(s->object);
    s->part = part;
    hone_rc rc = hn_arena_ok(&a) ? hn_proc_start(&spec, &s->proc, err)
                                 : hn_fail(err, HONE_E_NOMEM, "out of memory probing '%s'", p->t->print.command);
    hn_arena_free(&a);
    return rc;
}

/* Evaluates a finished run; *cpu_s (may be NULL) is its processor time. `noisy`: warnings do not count as refusal. */
static bool accepted(hn_prober *p, slot *s, bool noisy, double *cpu_s) {
    hn_proc_result r;
    hn_proc_collect(s->proc, &r);
    s->proc = NULL;
    double used = r.user_s + r.sys_s;
    bool quiet = r.out_n == 0 && r.err_tail[0] == 0;
    bool ok = r.end == HN_PROC_EXITED && r.code == 0 && (quiet || noisy) &&
              (p->reads || p->t->family->probe->accepts(s->object));
    if (p->base_s > 0 && used > limit_s(p) * (s->part.n > 1 ? 2 : 1)) ok = false;
    if (cpu_s) *cpu_s = used;
    hn_proc_result_free(&r);
    return ok;
}

static void progress(hn_prober *p, size_t n) {
    p->done += n;
    if (p->total < p->done) p->total = p->done;
    const hone_progress *to = &p->options->progress;
    hone_event e = {.stage = "probe", .done = p->done, .total = p->total, .elapsed_s = NAN, .left_s = NAN};
    if (to->fn) to->fn(to->arg, &e);
}

typedef struct stack {
    segment *item;
    size_t n;
} stack;

static void settle(hn_prober *p, stack *todo, hn_probe_trial *trial, segment part, bool ok) {
    if (ok) {
        for (size_t i = part.from; i < part.from + part.n; i++) trial[i].ok = true;
        if (!p->reads) progress(p, part.n);
    } else if (part.n == 1) {
        progress(p, 1);
    } else {
        size_t half = part.n / 2;
        todo->item[todo->n++] = (segment){part.from + half, part.n - half};
        todo->item[todo->n++] = (segment){part.from, half};
    }
}

static void stop_all(hn_prober *p) {
    for (size_t i = 0; i < p->n_slots; i++) {
        if (!p->slot[i].proc) continue;
        hn_proc_kill(p->slot[i].proc);
        (void)accepted(p, &p->slot[i], false, NULL);
    }
}

/* Starts what fits into free slots, waits for one, settles it. Segments only ever split, so the stack never holds more
 * than one entry a trial. */
static hone_rc step(hn_prober *p, stack *todo, hn_probe_trial *trial, bool *busy, hone_err *err) {
    hn_proc *running[MAX_SLOTS];
    *busy = false;
    for (size_t i = 0; i < p->n_slots; i++) {
        if (!p->slot[i].proc && todo->n && hn_now_s() < p->until) {
            hone_rc rc = start(p, &p->slot[i], trial, todo->item[todo->n - 1], err);
            if (rc) return rc;
            todo->n--;
        }
        running[i] = p->slot[i].proc;
        *busy |= running[i] != NULL;
    }
    if (!*busy) return HONE_OK;
    int i = hn_proc_wait_any(running, p->n_slots, -1, NULL);
    if (i < 0) return HONE_OK;
    segment part = p->slot[i].part;
    /* clang warns about the feature sets of some processors, and works all the same */
    bool noisy = part.n == 1 && !strcmp(trial[part.from].name, p->t->family->arch);
    settle(p, todo, trial, part, accepted(p, &p->slot[i], noisy, NULL));
    return HONE_OK;
}

static hone_rc try_all(hn_prober *p, hn_probe_trial *trial, size_t n, hone_err *err) {
    stack todo = {malloc((n + 1) * sizeof(segment)), 0};
    if (!todo.item) return hn_fail(err, HONE_E_NOMEM, "out of memory probing '%s'", p->t->print.command);
    for (size_t from = 0; from < n; from += BATCH)
        todo.item[todo.n++] = (segment){from, n - from < BATCH ? n - from : BATCH};
    hone_rc rc = HONE_OK;
    for (bool busy = true; busy && !rc;) rc = step(p, &todo, trial, &busy, err);
    stop_all(p);
    free(todo.item);
    return rc;
}

/* What reading refuses is not compiled; what it takes still has to be compiled to be accepted. */
static hone_rc try_readable(hn_prober *p, hn_probe_trial *trial, size_t n, hone_err *err) {
    p->reads = true;
    hone_rc rc = try_all(p, trial, n, err);
    p->reads = false;
    if (rc) return rc;
    hn_probe_trial *left = calloc(n + 1, sizeof *left);
    if (!left) return hn_fail(err, HONE_E_NOMEM, "out of memory probing '%s'", p->t->print.command);
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++)
        if (trial[i].ok) left[n_left++] = (hn_probe_trial){.name = trial[i].name, .value = trial[i].value};
    rc = try_all(p, left, n_left, err);
    for (size_t i = 0, k = 0; i < n; i++)
        if (trial[i].ok) trial[i].ok = left[k++].ok;
    free(left);
    return rc;
}

hone_rc hn_probe_trials(hn_prober *p, hn_probe_trial *trial, size_t n, hone_err *err) {
    return p->t->family->probe_read ? try_readable(p, trial, n, err) : try_all(p, trial, n, err);
}

/* --- one prober ------------------------------------------------------------------------------------------------- */

static hone_rc measure_base(hn_prober *p, hone_err *err) {
    slot *s = &p->slot[0];
    double cpu_s;
    hone_rc rc = start(p, s, NULL, (segment){0, 0}, err);
    if (rc) return rc;
    while (hn_proc_wait_any(&s->proc, 1, -1, NULL) < 0) continue;
    if (!accepted(p, s, true, &cpu_s))
        return hn_fail(err, HONE_E_TOOL, "compiler '%s' does not compile a plain program with %s; try it by hand",
                       p->t->print.command, p->t->family->probe_level);
    p->base_s = fmax(cpu_s, 0.01);
    return HONE_OK;
}

hone_rc hn_prober_open(hone_target *t, const hone_target_options *options, hn_prober **out, hone_err *err) {
    hn_prober *p = calloc(1, sizeof *p);
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory probing '%s'", t->print.command);
    p->t = t;
    p->options = options;
    p->until = hn_now_s() + TOTAL_S;
    long n_cpu = sysconf(_SC_NPROCESSORS_ONLN);
    p->n_slots = n_cpu < 1 ? 1 : n_cpu > MAX_SLOTS ? MAX_SLOTS : (size_t)n_cpu;
    hone_rc rc = hn_temp_make(NULL, "hone-probe-", &p->temp, err);
    if (rc) {
        free(p);
        return rc;
    }
    snprintf(p->source, sizeof p->source, "%s/probe%s", p->temp.path, t->family->probe->suffix);
    for (size_t i = 0; i < p->n_slots; i++)
        snprintf(p->slot[i].object, sizeof p->slot[i].object, "%s/%zu.o", p->temp.path, i);
    rc = hn_write_file(p->source, t->family->probe->source, strlen(t->family->probe->source), err);
    if (!rc) rc = measure_base(p, err);
    if (rc) {
        hn_prober_close(p);
        return rc;
    }
    *out = p;
    return HONE_OK;
}

void hn_prober_close(hn_prober *p) {
    stop_all(p);
    hn_temp_free(&p->temp);
    free(p);
}

bool hn_prober_late(const hn_prober *p) { return hn_now_s() >= p->until; }
void hn_prober_expect(hn_prober *p, size_t n) { p->total += n; }

bool hn_probe_link(hn_prober *p, const char *flags, bool profile) {
    hn_arena a = {0};
    hn_flags f = {.a = &a};
    hn_flags_add(&f, p->t->exec);
    hn_flags_words(&f, p->t->family->probe_level);
    hn_flags_words(&f, flags);
    if (profile)
        hn_flags_add(&f, hn_fill(&a, p->t->family->pgo_generate,
                                 p->temp.path)); /* else it would be written to the current folder */
    hn_flags_add(&f, p->source);
    hn_flags_words(&f, "-o");
    hn_flags_add(&f, hn_format(&a, "%s/linked", p->temp.path));
    hn_flags_add(&f, NULL);
    hn_tool run;
    bool ok = hn_arena_ok(&a) && !hn_tool_run(f.word, 60, &run, NULL);
    if (ok) {
        ok = run.ok;
        hn_tool_free(&run);
        const char *const program[] = {hn_format(&a, "%s/linked", p->temp.path), NULL};
        if (ok && (ok = program[0] && !hn_tool_run(program, 10, &run, NULL))) {
            ok = run.ok;
            hn_tool_free(&run);
        }
    }
    hn_arena_free(&a);
    return ok;
}
