/* draft/try.c — the baseline of a draft, built once and run twice as a search would: what fails is told with advice,
 * what the program prints is looked through for metrics. No compiler is probed: only the baseline's own flags are used.
 */
#include "draft/draft_int.h"

#include "base/clock.h"
#include "base/err.h"
#include "measure/outcome.h"
#include "proc/proc.h"
#include "tune/build.h"
#include "tune/confine.h"

#include <hone/process.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS_MAX = 12 };

/* --- the baseline's recipe ---------------------------------------------------------------------------------------- */

static void split(hn_arena *a, const char *text, const char ***word, size_t *n) {
    *word = HN_NEW_N(a, const char *, strlen(text) / 2 + 2);
    for (*n = 0; *word && *(text += strspn(text, " \t\n"));) {
        size_t len = strcspn(text, " \t\n");
        (*word)[(*n)++] = hn_strndup(a, text, len);
        text += len;
    }
}

static bool make_recipe(const hone_workload *w, hn_recipe *r) {
    hn_arena *a = &r->arena;
    size_t n = hone_space_n_params(w->params);
    r->cc = w->n_compilers ? w->compiler[0] : "";
    split(a, w->baseline ? w->baseline : "", &r->flag, &r->n_flags);
    r->defines = "";
    return hn_arena_ok(a) && n == 0; /* drafts name no parameters, but in comments */
}

/* --- what went wrong ---------------------------------------------------------------------------------------------- */

static const struct advice {
    const char *said, *then;
} of_build[] =
    {
        {"undefined reference", "a source file or a library is missing in `build`"},
        {"multiple definition",
         "two of the files define the same: take one out of `build` (an archive's files that the "
         "program does not need, too)"},
        {"undefined symbol", "a source file or a library is missing in `build`"},
        {"No rule to make target", "files that the build reads are missing in `sources`"},
        {"No such file or directory",
         "builds run in a private folder: list what they read under `sources` (generated files "
         "as well: build the project once), or name it by {src}"},
        {"file not found", "builds run in a private folder: list what they read under `sources`, or name it by {src}"},
        {"confined", "what a build may write stands in docs/workload.md, under `stages.confine`"},
        {"not found", "a command of the build is not installed, or a file is missing in `sources`"},
},
  of_run[] = {
      {"longer than", "give it less to do (--run, or `inputs`), or raise `stages.run`"},
      {"No such file", "it runs in a private folder: list the files that it reads under `sources`"},
      {"", "say with --run \"COMMAND\" (or `run` and `inputs`) how it is run"},
};

static void say_fault(hn_str *out, const char *what, const char *detail, const struct advice *list, size_t n) {
    hn_str_addf(out, "%s: %s", what, detail);
    while (out->n && isspace((unsigned char)out->text[out->n - 1])) out->text[--out->n] = 0;
    for (size_t i = 0; i < n; i++)
        if (strstr(detail, list[i].said)) {
            hn_str_addf(out, "; what to do: %s", list[i].then);
            return;
        }
}

/* --- what it printed ---------------------------------------------------------------------------------------------- */

static bool has_any(const char *text, const char *words) {
    char word[32];
    for (const char *p = words; *p; p += strcspn(p, "|"), p += *p == '|') {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(p, "|"), p);
        if (strcasestr(text, word)) return true;
    }
    return false;
}

/* What follows the number in the first line of this metric. */
static void unit_of(const char *text, const char *name, char *unit, size_t room) {
    size_t n = strlen(name);
    *unit = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *p = at + strspn(at, " \t");
        if (strncmp(p, name, n) != 0 || !strchr(" \t:=", p[n])) continue;
        p += n + strspn(p + n, " \t:=");
        p += strcspn(p, " \t\n");
        p += strspn(p, " \t");
        snprintf(unit, room, "%.*s", (int)strcspn(p, "\r\n"), p);
        return;
    }
}

/* A guess at what a number is: a rate, a time, or neither (a result). */
static void judge(const char *text, hone_draft_metric *m) {
    char unit[64];
    unit_of(text, m->name, unit, sizeof unit);
    bool rate =
        has_any(unit, "/s|per s|flops|fps") || has_any(m->name, "/s|rate|speed|throughput|per_sec|flops|fps|ops");
    bool time = hn_matches("ns|us|\xc2\xb5s|ms|s|sec|secs|seconds|min", unit) ||
                has_any(m->name, "time|latency|elapsed|duration|seconds|cycles|_ms|_us|_ns");
    m->maximize = rate;
    m->is_measure = rate || time;
}

static bool line_of(const hn_tried *t, const char *line, size_t n, const char **name) {
    hn_arena a = {0};
    hn_metrics m = {0};
    const char *found = NULL;
    if (!hn_metrics_from_lines(&a, line, n, &m, NULL, NULL) && m.n == 1)
        for (size_t i = 0; i < t->n_metrics; i++)
            if (t->metric[i].is_measure && !strcmp(t->metric[i].name, m.metric[0].name)) found = t->metric[i].name;
    hn_arena_free(&a);
    *name = found;
    return found != NULL;
}

static void add_own_line(hn_tried *t, const char *name) {
    for (size_t i = 0; i < t->n_own_lines; i++)
        if (!strcmp(t->own_line[i], name)) return;
    if (t->own_line) t->own_line[t->n_own_lines++] = name;
}

/* What two lines begin with, but the digits before the first difference: the rest of a number that changes. */
static const char *common_beginning(hn_arena *a, const char *x, const char *y, size_t n) {
    size_t k = 0;
    while (k < n && x[k] == y[k]) k++;
    while (k && strchr("0123456789.:-+xabcdefABCDEF", x[k - 1])) k--;
    return hn_strndup(a, x, k);
}

/* Long enough to tell the line from others, and plain in a pattern, in quotes and in YAML. */
static bool is_telling(const char *text) {
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        if (*p < 0x20 || *p > 0x7e || strchr("'\"{}\\[]*^$`", *p)) return false;
        n += *p != ' ';
    }
    return n >= 3;
}

static void add_changing(hn_tried *t, const char *x, const char *y, size_t n) {
    for (size_t i = 0; i < t->n_changing; i++)
        if (hn_starts_with(x, t->changing[i]) && hn_starts_with(y, t->changing[i])) return;
    const char *text = common_beginning(&t->arena, x, y, n);
    if (text && is_telling(text) && t->n_changing < HN_CHANGING_MOST)
        t->changing[t->n_changing++] = text;
    else
        t->unlike = true;
}

/* Lines of both runs beside each other. */
static void compare(hn_tried *t, const char *x, const char *y) {
    while (*x || *y) {
        size_t n = strcspn(x, "\n"), m = strcspn(y, "\n");
        const char *name;
        if (n != m || memcmp(x, y, n) != 0) {
            if (line_of(t, x, n, &name)) {
                add_own_line(t, name);
            } else {
                if (!t->differs) t->differs = n ? hn_strndup(&t->arena, x, n) : "(an empty line)";
                add_changing(t, x, y, n < m ? n : m);
            }
        }
        t->unlike |= !*x != !*y;
        x += n + (x[n] == '\n');
        y += m + (y[m] == '\n');
    }
    if (t->unlike) t->n_changing = 0;
}

static hone_rc look(hn_tried *t, const char *first, const char *second, hone_err *err) {
    hn_metrics m = {0};
    hone_rc rc = hn_metrics_from_lines(&t->arena, first, strlen(first), &m, NULL, err);
    if (rc) return rc;
    t->metric = HN_NEW_N(&t->arena, hone_draft_metric, METRICS_MAX);
    t->own_line = HN_NEW_N(&t->arena, const char *, METRICS_MAX);
    for (size_t i = 0; t->metric && i < m.n && t->n_metrics < METRICS_MAX; i++) {
        hone_draft_metric one = {.name = m.metric[i].name, .value = m.metric[i].sample[0]};
        judge(first, &one);
        if (strlen(one.name) < 60) t->metric[t->n_metrics++] = one;
    }
    compare(t, first, second);
    return hn_arena_ok(&t->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static hone_rc run_one(const hone_workload *w, const hn_recipe *r, const hn_build *b, const hone_draft_options *o,
                       hn_tried *t, char **out, hone_err *err) {
    static const char *const env[] = {"HONE_BENCH_ONCE=1", NULL};
    hn_str command = {0};
    hn_arena a = {0};
    hn_proc_result p;
    char what[200];
    hone_rc rc = hn_recipe_expand(w, r, w->run, "", w->input[0].args, "hone-output", &command, err);
    hn_proc_spec spec = {.shell = command.text,
                         .cwd = b->dir,
                         .env = env,
                         .cpu = -1,
                         .wall_s = w->limits.run_s,
                         .memory_b = w->limits.memory_b,
                         .file_b = w->limits.file_b,
                         .out_b = w->limits.output_b,
                         .n_procs = w->limits.n_procs};
    if (!rc) rc = hn_confine_run(w, HN_CONFINE_RUN, &a, &spec, err);
    if (!rc) rc = hn_proc_run(&spec, o->stop, &p, err);
    if (!rc) {
        t->run_s = p.wall_s;
        if (p.end != HN_PROC_EXITED || p.code != 0) {
            hn_str s = {0};
            hn_str_addf(&s, "%s%s%s%s", hn_proc_describe(&spec, &p, what, sizeof what), *p.err_tail ? ": " : "",
                        p.err_tail, hn_confine_hint(&p));
            say_fault(&t->fault, "the program was built, but its run ended with", s.text ? s.text : what, of_run,
                      sizeof of_run / sizeof *of_run);
            hn_str_free(&s);
        } else {
            *out = p.out ? p.out : strdup("");
            p.out = NULL;
        }
        hn_proc_result_free(&p);
    }
    hn_str_free(&command);
    hn_arena_free(&a);
    return rc;
}

/* A program that prints the time of day prints the same twice within a second, and something else in each trial. */
static void await_next_second(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    nanosleep(&(struct timespec){0, 999999999 - t.tv_nsec}, NULL);
}

static hone_rc run_twice(const hone_workload *w, const hn_recipe *r, const hn_build *b, const hone_draft_options *o,
                         hn_tried *t, hone_err *err) {
    char *first = NULL, *second = NULL;
    hone_rc rc = run_one(w, r, b, o, t, &first, err);
    bool looks = w->time_source != HN_FROM_HARNESS;
    if (!rc && first && looks) await_next_second();
    if (!rc && first) rc = run_one(w, r, b, o, t, &second, err);
    if (!rc && first && second && looks) rc = look(t, first, second, err);
    free(first);
    free(second);
    return rc;
}

static hone_rc build_and_run(const hone_workload *w, const hone_draft_options *o, const char *root, hn_tried *t,
                             hone_err *err) {
    hn_recipe r = {0};
    hn_build b = {0};
    double waited_s = 0;
    hone_tune_options tune = hone_tune_defaults();
    tune.stop = o->stop;
    hn_build_config cfg = {.w = w, .options = &tune, .root = root, .jobs = 1, .cpu = -1, .waited_s = &waited_s};
    char name[] = "draft", *names[] = {name};
    hone_rc rc = make_recipe(w, &r) ? hn_build_all(&cfg, &r, names, 1, &b, err)
                                    : hn_fail(err, HONE_E_NOMEM, "out of memory trying a draft");
    t->tried = !rc;
    t->build_s = b.build_s;
    if (!rc && b.cls != HONE_RUN_OK)
        say_fault(&t->fault, "the draft does not build as it stands", b.detail, of_build,
                  sizeof of_build / sizeof *of_build);
    else if (!rc)
        rc = run_twice(w, &r, &b, o, t, err);
    hn_build_drop(&b, false);
    hn_arena_free(&r.arena);
    return rc;
}

/* Device code has no program here; without main() there is none yet. */
static bool can_be_tried(const char *text, const hone_workload *w) {
    return *w->build && *w->run && !hn_workload_on_gpu(w) && !hn_template_has(w->run, "gpu_bench") &&
           !strstr(text, HN_DRAFT_NO_MAIN);
}

hone_rc hn_draft_try(const char *text, const hone_draft_options *o, hn_tried *out, hone_err *err) {
    hone_workload *w;
    hone_temp *temp = NULL;
    *out = (hn_tried){0};
    hone_rc rc = hone_workload_parse(text, strlen(text), "the draft", o->dir, &w, err);
    if (rc) return rc;
    if (can_be_tried(text, w)) {
        rc = hone_temp_open("hone-draft.", &temp, err);
        if (!rc) rc = build_and_run(w, o, hone_temp_path(temp), out, err);
        hone_temp_close(temp);
    }
    hone_workload_free(w);
    if (rc) hn_tried_free(out);
    return rc;
}

void hn_tried_free(hn_tried *t) {
    hn_str_free(&t->fault);
    hn_arena_free(&t->arena);
    *t = (hn_tried){0};
}
