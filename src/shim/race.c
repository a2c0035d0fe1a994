/* shim/race.c — see hone/race.h. The kernel is compiled for the shim, hone-gpu-bench runs it from its description in a
 * process of its own, and says what the shim found in lines that begin with "hone-shim:". */
#include "shim/kit.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "base/str.h"
#include "device/gpu.h"
#include "proc/proc.h"
#include "proc/temp.h"

#include <hone/race.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 3, LIMIT_S = 60, WORDS_MOST = 128 };

hone_race_options hone_race_defaults(void) { return (hone_race_options){.size = sizeof(hone_race_options)}; }

void hone_race_free(hone_race_result *r) {
    free(r->text);
    *r = (hone_race_result){0};
}

typedef struct race {
    const hone_race_options *o;
    const char *source;
    hn_temp dir;
    char *module, *description;
} race;

/* NAME.kernel beside NAME.cu. */
static char *beside(const char *source) {
    const char *slash = strrchr(source, '/'), *dot = strrchr(source, '.');
    hn_str s = {0};
    const size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - source) : strlen(source);
    hn_str_add_n(&s, source, n);
    hn_str_add(&s, ".kernel");
    return hn_str_take(&s);
}

static hone_rc find_description(race *r, hone_err *err) {
    char *path = NULL;
    hone_rc rc = HONE_OK;
    if (r->o->text) {
        path = hn_path_join(r->dir.path, "launch.kernel");
        rc = path ? hn_write_file(path, r->o->text, strlen(r->o->text), err) : HONE_OK;
    } else
        path = r->o->description ? strdup(r->o->description) : beside(r->source);
    if (!path) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc && !hn_exists(path))
        rc = hn_fail(err, HONE_E_NOTFOUND,
                     "no description '%s' of how the kernels of '%s' are launched: write one (docs/harness-gpu.md), or "
                     "say launch, grid, block and arguments",
                     path, r->source);
    r->description = rc ? NULL : realpath(path, NULL);
    if (!rc && !r->description) rc = hn_fail(err, HONE_E_IO, "cannot read '%s'", path);
    free(path);
    return rc;
}

/* --- arguments -------------------------------------------------------------------------------------------------------
 */

/* Parameters of a kernel as its source declares them; false: it is not there as plain text (a macro, a header). */
static bool count_parameters(const char *source, const char *kernel, unsigned *out) {
    const size_t n = strlen(kernel);
    for (const char *at = strstr(source, kernel); at; at = strstr(at + 1, kernel)) {
        const char *end = at + n, *from = at;
        if (at == source || isalnum((unsigned char)at[-1]) || at[-1] == '_') continue;
        while (isspace((unsigned char)*end) || *end == ')') end++; /* HONE_KERNEL_NAME(softmax)( */
        if (*end != '(') continue;
        while (from > source && *from != ';' && *from != '}') from--;
        const char *global = strstr(from, "__global__");
        if (!global || global > at) continue;
        unsigned depth = 0, commas = 0;
        bool any = false;
        for (; *end; end++) {
            depth += strchr("([{<", *end) != NULL;
            if (strchr(")]}>", *end) && --depth == 0) break;
            commas += depth == 1 && *end == ',';
            any |= depth == 1 && *end != '(' && !isspace((unsigned char)*end);
        }
        *out = any ? commas + 1 : 0;
        return true;
    }
    return false;
}

static hone_rc check_launch(const race *r, const char *source, const char *kernel, unsigned given, hone_err *err) {
    unsigned wants;
    if (!*kernel || !count_parameters(source, kernel, &wants) || wants == given) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT, "kernel '%s' of '%s' takes %u argument%s, the launch passes %u", kernel,
                   r->source, wants, wants == 1 ? "" : "s", given);
}

/* Each launch of the description passes as many arguments as its kernel takes. */
static hone_rc check_arguments(const race *r, hone_err *err) {
    char *source = NULL, *text = NULL, kernel[200] = "";
    size_t n = 0;
    hone_rc rc = hn_read_file(r->source, &source, &n, err);
    if (!rc) rc = hn_read_file(r->description, &text, &n, err);
    for (char *save = NULL, *line = rc ? NULL : strtok_r(text, "\n", &save); line && !rc;
         line = strtok_r(NULL, "\n", &save)) {
        char *words = NULL;
        unsigned given = 0;
        line[strcspn(line, "#")] = 0;
        const char *first = strtok_r(line, " \t\r", &words);
        if (first && !strcmp(first, "launch")) {
            const char *name = strtok_r(NULL, " \t\r", &words);
            snprintf(kernel, sizeof kernel, "%s", name ? name : "");
        } else if (first && !strcmp(first, "pass")) {
            while (strtok_r(NULL, " \t\r", &words)) given++;
            rc = check_launch(r, source, kernel, given, err);
        }
    }
    free(source);
    free(text);
    return rc;
}

static hone_rc build(race *r, hone_err *err) {
    char *source = realpath(r->source, NULL);
    if (!source) return hn_fail(err, HONE_E_IO, "cannot read '%s'", r->source);
    r->module = hn_path_join(r->dir.path, "module.so");
    hone_rc rc = r->module ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_shim_compile(source, r->module, r->o->flags, r->o->stop, err);
    free(source);
    return rc ? rc : hn_gpu_program(r->dir.path, err);
}

/* --- what a run said -------------------------------------------------------------------------------------------------
 */

static size_t cut(char *line, char **column, size_t most) {
    size_t n = 0;
    for (char *at = line; at && n < most;) {
        column[n++] = at;
        at = n < most ? strchr(at, '\t') : NULL;
        if (at) *at++ = 0;
    }
    return n;
}

static void take_three(const char *text, unsigned out[3]) {
    char *end = NULL;
    for (int k = 0; k < 3; k++) {
        out[k] = (unsigned)strtoul(text, &end, 10);
        text = *end ? end + 1 : end;
    }
}

static bool take_fault(char *text, hone_race_result *out) {
    bool found = false;
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *c[6];
        const size_t n = cut(line, c, 6);
        if (n == 4 && !strcmp(c[0], "hone-shim:fault")) {
            snprintf(out->kind, sizeof out->kind, "%s", c[1]);
            snprintf(out->kernel, sizeof out->kernel, "%s", c[2]);
            out->text = strdup(c[3]);
            found = true;
        } else if (n == 6 && !strcmp(c[0], "hone-shim:spot") && out->n_places < 2) {
            hone_race_place *p = &out->place[out->n_places++];
            snprintf(p->file, sizeof p->file, "%s", c[1]);
            p->line = (int)strtol(c[2], NULL, 10);
            take_three(c[3], p->block);
            take_three(c[4], p->thread);
            snprintf(p->does, sizeof p->does, "%s", c[5]);
        }
    }
    return found;
}

/* "…: hone/bench: memory_fault: text" is a fault of the kernel that the harness saw; without a class, of the
 * description. */
static bool take_class(const char *said, hone_race_result *out) {
    static const char *const classes[] = {"memory_fault: ", "launch_refused: ", "device_fault: ", "run_crash: "};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const char *at = strstr(said, classes[i]);
        if (!at) continue;
        snprintf(out->kind, sizeof out->kind, "%.*s", (int)strlen(classes[i]) - 2, classes[i]);
        at += strlen(classes[i]);
        out->text = strndup(at, strcspn(at, "\n"));
        return true;
    }
    return false;
}

static hone_rc judge(const race *r, const hn_proc_spec *spec, hn_proc_result *p, hone_race_result *out, hone_err *err) {
    char what[200];
    out->clean = p->end == HN_PROC_EXITED && !p->code;
    if (out->clean || take_fault(p->out, out) || take_class(p->err_tail, out)) return HONE_OK;
    if (p->end == HN_PROC_STOPPED) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
    hn_proc_describe(spec, p, what, sizeof what);
    if (p->end != HN_PROC_EXITED) {
        hn_str s = {0};
        snprintf(out->kind, sizeof out->kind, "%s", p->end == HN_PROC_WALL_LIMIT ? "stuck" : "crash");
        hn_str_addf(&s, "the kernels of '%s' %s", r->source, what);
        out->text = hn_str_take(&s);
        return HONE_OK;
    }
    const char *text = strstr(p->err_tail, "hone/bench: ");
    return hn_fail(err, HONE_E_INPUT, "%.900s", text ? text + strlen("hone/bench: ") : p->err_tail);
}

static hone_rc run_once(const race *r, unsigned k, hone_race_result *out, hone_err *err) {
    const char *argv[WORDS_MOST + 8], *order = k == 0 ? "forwards" : k == 1 ? "backwards" : NULL;
    char seed[40], variable[80], name[32];
    size_t n = 0;
    argv[n++] = "./" HN_GPU_PROGRAM_NAME;
    argv[n++] = r->description;
    argv[n++] = "module.so";
    for (const char *const *s = r->o->set; s && *s && n < WORDS_MOST; s++) argv[n++] = *s;
    argv[n++] = "--hone-once";
    argv[n] = NULL;
    snprintf(seed, sizeof seed, "%u", k);
    snprintf(variable, sizeof variable, "HONE_SHIM_ORDER=%s", order ? order : seed);
    snprintf(name, sizeof name, order ? "%s" : "permuted %s", order ? order : seed);
    snprintf(out->order, sizeof out->order, "%s", name);
    const char *env[] = {"HONE_GPU_DEVICE=shim", "HONE_SHIM_STEPS=2000000000", variable, NULL};
    hn_proc_spec spec = {.argv = argv,
                         .env = env,
                         .cwd = r->dir.path,
                         .cpu = -1,
                         .wall_s = r->o->limit_s > 0 ? r->o->limit_s : LIMIT_S,
                         .keep_b = 1 << 20};
    hn_proc_result p;
    hone_rc rc = hn_proc_run(&spec, r->o->stop, &p, err);
    if (rc) return rc;
    rc = judge(r, &spec, &p, out, err);
    hn_proc_result_free(&p);
    return rc;
}

hone_rc hone_race_run(const char *source, const hone_race_options *options, hone_race_result *out, hone_err *err) {
    hone_race_options o = hone_race_defaults();
    race r = {.o = &o, .source = source};
    hone_race_result found = {.clean = true};
    hone_rc rc = hn_options_read(&o, sizeof o, options, "race", err);
    if (!rc) rc = hn_temp_make(NULL, "hone-race-", &r.dir, err);
    if (!rc) rc = find_description(&r, err);
    if (!rc) rc = check_arguments(&r, err);
    if (!rc) rc = build(&r, err);
    for (unsigned k = 0; !rc && found.clean && k < (o.runs ? o.runs : RUNS); k++) {
        found.runs = k + 1;
        rc = run_once(&r, k, &found, err);
    }
    free(r.module);
    free(r.description);
    hn_temp_free(&r.dir);
    if (rc)
        hone_race_free(&found);
    else
        *out = found;
    return rc;
}
