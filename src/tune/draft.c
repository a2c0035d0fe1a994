/* tune/draft.c — the text of a first workload file, from a source file or from a build command.
 *
 * The file is scanned, not parsed: a small scanner skips comments and literals. What is found (main,
 * the harness, its metrics and arguments, guarded macros, headers that need a library) only decides about a text that a
 * person then edits; the result is always a valid workload file. */
#include "tune/draft.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "base/yaml.h"
#include "proc/proc.h"
#include "target/family.h"
#include "tune/build.h"
#include "tune/cut_command.h"
#include "tune/workload.h"
#include "tune/workload_int.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOUND_MAX = 12, NAME_MAX_N = 48 };

typedef struct names {
    char name[FOUND_MAX][NAME_MAX_N], value[FOUND_MAX][NAME_MAX_N];
    size_t n;
} names;

typedef struct scan {
    bool has_main, harness, math, threads, openmp;
    names metric, arg, macro;
} scan;

static void add_name(names *l, const char *name, size_t n, const char *value, size_t value_n) {
    if (!n || n >= NAME_MAX_N || value_n >= NAME_MAX_N || l->n == FOUND_MAX) return;
    for (size_t i = 0; i < l->n; i++)
        if (strlen(l->name[i]) == n && !memcmp(l->name[i], name, n)) return;
    snprintf(l->name[l->n], NAME_MAX_N, "%.*s", (int)n, name);
    snprintf(l->value[l->n], NAME_MAX_N, "%.*s", (int)value_n, value);
    l->n++;
}

/* --- reading a source -------------------------------------------------------------------------------------------- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *skip_blanks(const char *s) { return s + strspn(s, " \t"); }

/* The end of a comment or of a string or character literal that starts at s; s itself where none does. */
static const char *skip_comment_or_literal(const char *s) {
    if (s[0] == '/' && s[1] == '/') return s + strcspn(s, "\n");
    if (s[0] == '/' && s[1] == '*') {
        const char *end = strstr(s + 2, "*/");
        return end ? end + 2 : s + strlen(s);
    }
    bool letter = *s == '\'' && (s[1] == '\\' || (s[1] && s[2] == '\'')); /* a literal 'a', not a Rust lifetime */
    if (*s != '"' && !letter) return s;
    char quote = *s++;
    while (*s && *s != quote && *s != '\n') s += *s == '\\' && s[1] ? 2 : 1;
    return *s == quote ? s + 1 : s;
}

/* The nth (from 0) argument of a call whose '(' is at s, as it stands there. */
static bool argument(const char *s, size_t nth, const char **at, size_t *n) {
    if (*s != '(') return false;
    const char *start = ++s;
    for (size_t depth = 0; *s;) {
        const char *after = skip_comment_or_literal(s);
        if (after != s) {
            s = after;
            continue;
        }
        bool ends = depth == 0 && (*s == ',' || *s == ')');
        if (ends && nth == 0) {
            while (start < s && isspace((unsigned char)*start)) start++;
            *at = start;
            *n = (size_t)(s - start);
            while (*n && isspace((unsigned char)start[*n - 1])) --*n;
            return true;
        }
        if (ends && *s == ')') return false;
        if (ends) {
            nth--;
            start = s + 1;
        }
        if (*s == '(') depth++;
        if (*s == ')') depth--;
        s++;
    }
    return false;
}

/* hone_bench_run(b, "latency", …), hone_bench_metric(b, "rate", …), hone_bench_arg_int(b, "n", 1024) */
static void read_call(scan *f, const char *name, size_t n, const char *paren) {
    const char *text, *dflt = "";
    size_t text_n, dflt_n = 0;
    bool arg = n > 14 && !memcmp(name, "hone_bench_arg", 14);
    bool metric =
        (n >= 14 && !memcmp(name, "hone_bench_run", 14)) || (n == 17 && !memcmp(name, "hone_bench_metric", 17));
    if (!arg && !metric) return;
    if (!argument(paren, 1, &text, &text_n) || text_n < 3 || *text != '"' || text[text_n - 1] != '"') return;
    for (size_t i = 1; i + 1 < text_n; i++)
        if (!is_word(text[i])) return;
    if (metric && isdigit((unsigned char)text[1])) return; /* a metric of a workload cannot have this name */
    if (arg && argument(paren, 2, &dflt, &dflt_n) && dflt_n >= 2 && *dflt == '"') {
        dflt++;
        dflt_n -= 2;
    }
    for (size_t i = 0; i < dflt_n; i++)
        if (!is_word(dflt[i]) && !strchr(".-", dflt[i])) dflt_n = 0;
    if (!arg || dflt_n) add_name(arg ? &f->arg : &f->metric, text + 1, text_n - 2, dflt, dflt_n);
}

/* #ifndef NAME, then #define NAME 32: a macro that the build may set. */
static void read_guard(scan *f, const char *at) {
    const char *name = skip_blanks(at + 6);
    size_t n = 0;
    while (is_word(name[n])) n++;
    const char *next = name + n + strcspn(name + n, "\n");
    next = skip_blanks(next + (*next == '\n'));
    if (*next != '#') return;
    next = skip_blanks(next + 1);
    if (strncmp(next, "define", 6) != 0) return;
    next = skip_blanks(next + 6);
    if (strncmp(next, name, n) != 0 || is_word(next[n])) return;
    const char *value = skip_blanks(next + n);
    size_t value_n = strspn(value, "0123456789");
    if (value_n && value_n < 8 && !is_word(value[value_n]) && value[value_n] != '.')
        add_name(&f->macro, name, n, value, value_n);
}

static void read_directive(scan *f, const char *s) {
    const char *at = skip_blanks(s + 1), *end = at + strcspn(at, "\n");
    char line[200];
    snprintf(line, sizeof line, "%.*s", (int)(end - at < 199 ? end - at : 199), at);
    if (hn_starts_with(line, "ifndef")) read_guard(f, at);
    if (hn_starts_with(line, "pragma") && strstr(line, "omp")) f->openmp = true;
    if (!hn_starts_with(line, "include")) return;
    f->harness |= strstr(line, "hone/bench.h") != NULL;
    f->math |= strstr(line, "<math.h>") || strstr(line, "<tgmath.h>") || strstr(line, "<cmath>");
    f->threads |= strstr(line, "<pthread.h>") || strstr(line, "<threads.h>") || strstr(line, "<thread>");
    f->openmp |= strstr(line, "<omp.h>") != NULL;
}

static void scan_source(const char *s, scan *f) {
    bool line_start = true;
    size_t depth = 0;
    while (*s) {
        const char *after = skip_comment_or_literal(s);
        if (after != s) {
            s = after;
            continue;
        }
        if (line_start && *s == '#') read_directive(f, s);
        if (is_word(*s)) {
            size_t n = 0;
            while (is_word(s[n])) n++;
            const char *paren = skip_blanks(s + n);
            if (*paren == '(' && n == 4 && depth == 0 && !memcmp(s, "main", 4)) f->has_main = true;
            if (*paren == '(') read_call(f, s, n, paren);
            s += n;
            line_start = false;
            continue;
        }
        if (*s == '{') depth++;
        if (*s == '}' && depth) depth--;
        line_start = *s == '\n' || (line_start && isspace((unsigned char)*s));
        s++;
    }
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void add_quoted(hn_str *s, const char *key, const char *text) {
    hn_str_addf(s, "%s: ", key);
    hn_str quoted = {0};
    hn_yaml_add_scalar(&quoted, text ? text : "");
    hn_str_add(s, quoted.text ? quoted.text : "\"\"");
    s->failed |= quoted.failed;
    hn_str_free(&quoted);
    hn_str_add(s, "\n");
}

/* Several lines stand as they are, in a block. */
static void add_commands(hn_str *s, const char *key, const char *text) {
    if (!text || !strchr(text, '\n') || strchr(text, '\r')) {
        add_quoted(s, key, text);
        return;
    }
    hn_str_addf(s, "%s: |-\n", key);
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        hn_str_addf(s, "  %.*s\n", (int)strcspn(at, "\n"), at);
}

/* A workload's name from a file's: what is allowed in one, without folders and ending. */
static void add_draft_name(hn_str *s, const char *path) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    hn_str_add(s, "name: \"");
    size_t n = 0;
    for (; base[n] && (base[n] != '.' || !n); n++)
        hn_str_addf(s, "%c", isalnum((unsigned char)base[n]) || strchr("_-+", base[n]) ? base[n] : '_');
    hn_str_add(s, n ? "\"\n" : "program\"\n");
}

static void add_macros(hn_str *s, const scan *f, const hn_family *family) {
    hn_str_add(s, "\n# Parameters of the program itself, handed over as ");
    family->define(s, "NAME", "value");
    hn_str_add(
        s, " beside the compiler's controls.\n"
           "# Only what leaves the results alone: tile sizes, unrolling, buffer sizes, not the size of the problem.\n");
    hn_str_add(s, "#parameters:\n");
    for (size_t i = 0; i < f->macro.n; i++) {
        long v = strtol(f->macro.value[i], NULL, 10), lo = v / 4 > 0 ? v / 4 : v > 0, hi = v ? 4 * v : 1;
        hn_str_addf(s, "#  %s: {type: int, range: [%ld, %ld], default: %ld}\n", f->macro.name[i], lo, hi, v);
    }
    if (!f->macro.n)
        hn_str_add(s, "#  TILE: {type: int, range: [8, 128], step: 8, default: 32}\n"
                      "#constraints:\n#  - TILE % 8 == 0\n");
}

static void add_inputs(hn_str *s, const scan *f, const char *given) {
    hn_str args = {0};
    if (given) hn_str_add(&args, given);
    for (size_t i = 0; f && f->harness && i < f->arg.n; i++)
        hn_str_addf(&args, "%s%s=%s", i ? " " : "", f->arg.name[i], f->arg.value[i]);
    hn_str_add(s,
               "\n# What it is run on: args stand for {input}; weights say how much each counts. Held-out inputs are\n"
               "# never tuned on: they show whether a gain carries over.\n");
    hn_str_addf(s, "%sinputs:\n", args.n ? "" : "#");
    hn_str_addf(s, "%s  - {name: default, args: ", args.n ? "" : "#");
    hn_yaml_add_quoted(s, args.n ? args.text : "small.txt");
    hn_str_add(s, "}\n");
    hn_str_add(s, "#  - {name: large, args: \"…\", weight: 2}\n#  - {name: unseen, args: \"…\", held_out: true}\n");
    s->failed |= args.failed;
    hn_str_free(&args);
}

static void add_goals(hn_str *s, const scan *f) {
    bool harness = f && f->harness;
    const char *metric = harness && f->metric.n ? f->metric.name[0] : "latency";
    if (hn_metric_is_taken(metric))
        hn_str_addf(s, "\n# What the program measures under a name that hone has, too, or nearly.\nmetrics: [%s]\n",
                    metric);
    hn_str_add(s,
               "\n# What better means. Taken by hone: time, cpu_time, memory, code_size, file_size, compile_time,\n"
               "# instructions, energy; any metric that the program prints as \"name: value\" or through the harness.\n"
               "objectives:\n");
    if (harness)
        hn_str_addf(s, "  - minimize p50(%s)\n", metric);
    else
        hn_str_add(s, "  - minimize time\n");
    hn_str_add(s, "#  - minimize code_size\n"
                  "\n# What must hold besides, for a result to count.\n#limits:\n#  - code_size <= 64 KiB\n");
    hn_str_addf(
        s,
        "\n# When outputs count as equal to the baseline's: exact, none, or\n"
        "# {rule: abs | rel | ulp, tolerance: 1e-5}, {command: \"cmp {expected} {actual}\"}; output: FILE judges a\n"
        "# file instead of %s.\nparity: exact\n",
        harness ? "what goes to hone_bench_output" : "what is printed");
}

#define START_RUN "{out} {input}"

static void add_rest(hn_str *s, const hn_family *family) {
    hn_draft_add_contracts(s, family);
    hn_str_add(
        s, "\n# Limits of one build and one run.\nstages: {build: 120 s, run: 60 s, memory: 4 GiB}\n"
           "\n# When to stop: at the first of these.\nbudget: {evaluations: 200} # time: 10 min, plateau: 60, target: "
           "1.3\n");
}

static void add_head(hn_str *s) {
    hn_str_add(s, "# A workload file for 'hone tune'. Every key is described in docs/workload.md.\nhone: 1\n");
}

static hone_rc finish(hn_str *s, char **text, hone_err *err) {
    char *out = hn_str_take(s);
    if (!out) return hn_fail(err, HONE_E_NOMEM, "out of memory drafting a workload");
    *text = out;
    return HONE_OK;
}

/* A file's name as one word of a command: quoted for the shell, its braces doubled. */
void hn_draft_add_word(hn_str *s, const char *path) {
    hn_str word = {0};
    hn_str_add_shell(&word, path);
    hn_template_escape(s, word.text ? word.text : "");
    s->failed |= word.failed;
    hn_str_free(&word);
}

/* What better means for code whose figures are known from the build. */
static void add_figures(hn_str *s) {
    hn_str_add(s,
               "\n# Figures of the machine code (docs/workload.md lists them); no device is needed. They rank "
               "candidates, they\n"
               "# prove nothing: where a device is, time them with the two lines below instead (docs/harness-gpu.md).\n"
               "metrics: {source: sass} # kernel: NAME, threads: 256 a block, for occupancy\n"
               "objectives:\n  - minimize instructions\n"
               "limits:\n  - spills == 0\n  - occupancy >= baseline\n");
}

/* Code for a device: built, and looked at or run by hone's own program. */
static hone_rc draft_device(const char *source, const scan *f, const hn_family *family, const hn_language *language,
                            char **text, hone_err *err) {
    hn_str s = {0}, file = {0}, run = {0};
    hn_arena a = {0};
    add_head(&s);
    add_draft_name(&s, source);
    add_quoted(&s, "sources", source);
    hn_draft_add_word(&file, source);
    hn_str_add(&s,
               "\n# {cc} {flags} {defines} {out} are filled in for each candidate; state the device's architecture.\n");
    add_quoted(&s, "build", hn_fill(&a, language->device, file.text ? file.text : ""));
    hn_str_addf(&s, "compilers: [%s]%s%s\n", language->command, *language->others ? " # " : "", language->others);
    hn_str_addf(&s, "baseline: %s # what gains are measured against\n", family->baseline);
    if (strstr(language->device, "{defines}")) add_macros(&s, f, family);
    if (language->figures) add_figures(&s);
    hn_str_addf(&run, "{gpu_bench} %.*s.kernel {out} {input}", (int)(strrchr(source, '.') - source), source);
    hn_str_addf(&s,
                "\n# What runs it: a file that says buffers, grid and arguments (docs/harness-gpu.md); name it under "
                "sources.\n%s",
                language->figures ? "#" : "");
    add_quoted(&s, "run", run.text);
    hn_str_addf(&s, "%s\n",
                language->figures ? "#objectives: [minimize p50(latency)]" : "objectives: [minimize p50(latency)]");
    add_rest(&s, family);
    s.failed |= file.failed || run.failed || !hn_arena_ok(&a);
    hn_str_free(&file);
    hn_str_free(&run);
    hn_arena_free(&a);
    return finish(&s, text, err);
}

static hone_rc draft_source(const char *source, char **text, hone_err *err) {
    char *code;
    size_t n;
    hone_rc rc = hn_read_file(source, &code, &n, err);
    if (rc) return rc;
    scan f = {0};
    scan_source(code, &f);
    free(code);
    const hn_family *family = hn_family_of_command(NULL);
    const hn_language *language = hn_language_of(source, &family);
    if (!language) language = family->languages[0];
    if (language->device) return draft_device(source, &f, family, language, text, err);
    hn_str s = {0}, build = {0};
    add_head(&s);
    add_draft_name(&s, source);
    hn_str_add(&s,
               "\n# What the build reads, relative to this file; headers too. A change in one starts a new session.\n");
    add_quoted(&s, "sources", source);
    if (!f.has_main && !language->harness)
        hn_str_add(&s, "\n# " HN_DRAFT_NO_MAIN ": add a second file with one that calls the kernel, prints its "
                       "results, and name it here.\n");
    if (!f.has_main && language->harness)
        hn_str_add(&s, "\n# " HN_DRAFT_NO_MAIN ": add a second file with one that calls the kernel through "
                       "<hone/bench.h> (see\n"
                       "# docs/harness.md), name it in sources and in build, and put {harness} into build.\n");
    hn_str_addf(&s, "\n# {cc} {flags} {defines} %s{out} are filled in for each candidate.\n",
                language->harness ? "{harness} " : "");
    hn_str_add(&build, "{cc} {flags} {defines} ");
    hn_draft_add_word(&build, source);
    hn_str_addf(&build, "%s%s%s%s -o {out}", f.openmp ? language->openmp : "", f.harness ? " {harness}" : "",
                f.math ? language->math : "", f.threads ? language->threads : "");
    add_quoted(&s, "build", build.text);
    add_quoted(&s, "run", START_RUN);
    hn_str_addf(&s, "compilers: [%s] # several may be offered: each brings its own controls\n", language->command);
    hn_str_addf(&s, "baseline: %s # what gains are measured against\n", family->baseline);
    hn_draft_add_offers(
        &s, &(hn_draft_offers){.family = family, .compiler = language->command, .run = START_RUN, .passes = true});
    add_macros(&s, &f, family);
    add_inputs(&s, &f, NULL);
    add_goals(&s, &f);
    add_rest(&s, family);
    s.failed |= build.failed;
    hn_str_free(&build);
    return finish(&s, text, err);
}

/* --- from a build command ----------------------------------------------------------------------------------------- */

typedef struct words {
    char **word; /* as written, quotes included */
    size_t n;
} words;

/* Splits at blanks outside of quotes and of "${…}"; the words keep them. A backslash in front changes nothing:
 * templates know none, and what they leave to the shell has to stay in one word. */
static bool split(hn_arena *a, const char *text, words *out) {
    out->word = HN_NEW_N(a, char *, strlen(text) / 2 + 1);
    while (out->word && *(text += strspn(text, " \t\n"))) {
        size_t n = 0;
        char quote = 0;
        for (; text[n] && (quote || !strchr(" \t\n", text[n])); n++) {
            size_t shell = hn_template_shell(text + n);
            if (shell)
                n += shell - 1;
            else if (text[n] == '\\' && quote != '\'' && text[n + 1] && !hn_template_shell(text + n + 1))
                n++;
            else if (quote ? text[n] == quote : text[n] == '"' || text[n] == '\'')
                quote = quote ? 0 : text[n];
        }
        out->word[out->n++] = hn_strndup(a, text, n);
        text += n;
    }
    return hn_arena_ok(a);
}

static bool is_assignment(const char *word) {
    size_t n = 0;
    while (is_word(word[n])) n++;
    return n && word[n] == '=' && !isdigit((unsigned char)*word);
}

/* How many words from here hone may choose: they become the baseline. 0: the word stays in the build command, as do all
 * that choose the machine or the semantics. */
static size_t tunable_words(const hn_family *family, char *const *word, size_t n) {
    hn_said said;
    char text[256] = "";
    family->read(NULL, (const char *const *)word, n, &said);
    for (size_t i = 0; i < said.n_words; i++) strncat(text, word[i], sizeof text - 1 - strlen(text));
    return hn_matches(family->tunable, text) && !hn_matches(family->stays, text) ? said.n_words : 0;
}

static bool is_source(const char *word) {
    return *word != '-' && !strpbrk(word, "\"'\\*?[$") && hn_language_of(word, NULL);
}

static void add_word(hn_str *s, const char *word) {
    if (s->n) hn_str_add(s, " ");
    hn_template_escape(s, word);
}

/* Words up to the compiler are kept (cd there && …); after it, flags, output and sources are separated. */
static void split_compiler_call(const words *w, size_t cc, hn_drafted *c) {
    for (size_t i = 0; i < cc; i++) add_word(&c->build, w->word[i]);
    hn_str_addf(&c->build, "%s{cc} {flags} {defines}", c->build.n ? " " : "");
    bool has_out = false;
    c->linked = true;
    if (cc == 0 && c->family->reads) hn_str_addf(&c->ask, "%s %s", w->word[0], c->family->reads);
    for (size_t i = cc + 1; i < w->n; i++) {
        const char *x = w->word[i];
        if (!strcmp(x, "-o") || (hn_starts_with(x, "-o") && strlen(x) > 2)) {
            bool apart = !x[2] && i + 1 < w->n;
            c->program = apart ? w->word[++i] : x + 2;
            if (!has_out) hn_str_add(&c->build, " -o {out}");
            has_out = true;
            continue;
        }
        if (strpbrk(x, ";&|<>`")) hn_str_free(&c->ask); /* other commands follow */
        if (c->ask.n) hn_str_addf(&c->ask, " %s", x);
        size_t tunable = tunable_words(c->family, w->word + i, w->n - i);
        for (size_t k = 0; k < tunable; k++)
            hn_str_addf(&c->baseline, "%s%s", c->baseline.n ? " " : "", w->word[i + k]);
        if (tunable) {
            i += tunable - 1;
            continue;
        }
        c->linked &= !hn_matches(c->family->no_program, x);
        if (is_source(x) && hn_exists(x)) hn_str_addf(&c->sources, "%s%s", c->sources.n ? "\n" : "", x);
        add_word(&c->build, x);
    }
    if (!has_out) hn_str_add(&c->build, " -o {out}");
}

/* Is it one of the lines? */
static bool is_listed(const hn_str *lines, const char *word, size_t n) {
    for (const char *at = lines->text; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strcspn(at, "\n") == n && !memcmp(at, word, n)) return true;
    return false;
}

/* Files from rules of make ("OBJECT: FILE FILE"): those that are not listed yet, and not by a full path. */
static void take_rules(const char *text, hn_str *sources) {
    for (const char *at = text; *(at += strspn(at, " \t\r\n\\")); at += strcspn(at, " \t\r\n")) {
        size_t n = strcspn(at, " \t\r\n");
        if (at[n - 1] == ':' || *at == '/' || hn_starts_with(at, "../") || is_listed(sources, at, n)) continue;
        char *path = strndup(at, n);
        if (path && hn_exists(path)) hn_str_addf(sources, "%s%s", sources->n ? "\n" : "", path);
        sources->failed |= !path;
        free(path);
    }
}

/* Headers and the like, which a command does not name: the compiler knows. Where it cannot say, the sources stay. */
static void ask_what_it_reads(hn_drafted *c) {
    enum { ASK_S = 20, RULES_B = 1 << 20 };
    hn_proc_result r;
    if (!c->ask.n || c->ask.failed || !c->sources.n) return;
    hn_proc_spec spec = {.shell = c->ask.text, .cpu = -1, .wall_s = ASK_S, .out_b = RULES_B};
    if (hn_proc_run(&spec, NULL, &r, NULL)) return;
    if (r.end == HN_PROC_EXITED && r.code == 0 && r.out) take_rules(r.out, &c->sources);
    hn_proc_result_free(&r);
}

/* Not a call of a compiler: gets CC and CFLAGS as make and most scripts expect them; the program is copied to {out}. */
static void pass_cc_and_cflags(const words *w, hn_drafted *c) {
    const char *base = strrchr(w->word[0], '/');
    bool make = !strcmp(base ? base + 1 : w->word[0], "make") || !strcmp(base ? base + 1 : w->word[0], "gmake");
    const char *settings = "CC={cc} CFLAGS=\"{flags} {defines}\"";
    c->linked = c->wrapped = true;
    if (!make) hn_str_add(&c->build, settings);
    for (size_t i = 0; i < w->n; i++) {
        if (make && (hn_starts_with(w->word[i], "CC=") || hn_starts_with(w->word[i], "CFLAGS="))) continue;
        add_word(&c->build, w->word[i]);
        if (make && i == 0) hn_str_addf(&c->build, " -B %s", settings);
        if (make && i && !strcmp(w->word[i - 1], "-C"))
            c->folder = w->word[i];
        else if (make && i && *w->word[i] != '-' && !strchr(w->word[i], '='))
            c->program = w->word[i];
    }
    hn_str_add(&c->build, " && cp ");
    if (c->folder) {
        hn_template_escape(&c->build, c->folder);
        hn_str_add(&c->build, "/");
    }
    hn_template_escape(&c->build, c->program ? c->program : "PROGRAM");
    hn_str_add(&c->build, " {out}");
}

/* Files of the drafted build, where it can be cut; *passes: and can be made with edited passes. */
static size_t n_files_cut(const hn_drafted *c, const char *cc, bool *passes) {
    static const hone_workload none = {.path = "draft"};
    hn_arena a = {0};
    const hn_binding pair[] = {{"cc", hn_quoted(&a, cc)}, {"flags", ""}, {"defines", ""},
                               {"out", "./prog"},         {"src", "."},  {"dir", "."}};
    hn_str shell = {0};
    hn_cut cut;
    bool known =
        hn_arena_ok(&a) && !hn_workload_expand(&none, c->build.text, pair, sizeof pair / sizeof *pair, &shell, NULL);
    bool fine = known && shell.text && hn_cut_command(c->family, cc, shell.text, false, &a, &cut);
    size_t n = fine ? cut.n : 0;
    *passes = fine && !hn_cut_stages(&cut, &a);
    hn_str_free(&shell);
    hn_arena_free(&a);
    return n;
}

static void add_offers(hn_str *s, const hn_drafted *c) {
    hn_draft_offers o = {.family = c->family,
                         .compiler = c->compiler ? c->compiler : c->family->command,
                         .run = c->run ? c->run : START_RUN};
    o.n_files = n_files_cut(c, o.compiler, &o.passes);
    o.passes &= !c->controls;
    hn_draft_add_offers(s, &o);
}

static void write_command(hn_str *s, hn_drafted *c) {
    add_head(s);
    if (c->note.n) hn_str_add(s, c->note.text);
    add_draft_name(s, c->program ? c->program : "program");
    hn_str_add(s,
               "\n# What the build reads, relative to this file: files, folders, patterns such as src/*.h. Builds run "
               "in private\n"
               "# folders into which these are linked, so headers belong here too; {src} is this file's own folder.\n");
    if (c->sources.n) {
        hn_str_add(s, "sources:\n");
        for (char *at = c->sources.text, *end; at; at = end ? end + 1 : NULL) {
            end = strchr(at, '\n');
            if (end) *end = 0;
            hn_str_add(s, "  - ");
            hn_yaml_add_scalar(s, at);
            hn_str_add(s, "\n");
        }
    } else {
        hn_str_add(s, c->wrapped ? "sources: . # all of this folder; name less\n" : "#sources: [src]\n");
    }
    hn_str_add(s, "\n# {cc} {flags} {defines} {out} are filled in for each candidate.\n");
    add_commands(s, "build", c->build.text);
    if (!c->linked)
        hn_str_add(
            s,
            "# The command only compiles: name a program that uses the object, or judge code_size and compile_time.\n");
    add_quoted(s, "run", c->run ? c->run : c->linked ? START_RUN : "true");
    hn_str_add(s, "compilers: [");
    hn_yaml_add_scalar(s, c->compiler ? c->compiler : c->family->command);
    hn_str_add(s, "] # several may be offered: each brings its own controls\n");
    add_quoted(s, "baseline", c->baseline.n ? c->baseline.text : c->family->plain);
    if (c->controls) hn_str_addf(s, "controls: %s\n", c->controls);
    if (c->linked) add_offers(s, c);
}

hone_rc hn_draft_write(hn_drafted *d, char **text, hone_err *err) {
    hn_str s = {0};
    scan none = {0};
    write_command(&s, d);
    add_macros(&s, &none, d->family);
    add_inputs(&s, NULL, d->args);
    add_goals(&s, NULL);
    add_rest(&s, d->family);
    s.failed |= d->build.failed || d->baseline.failed || d->sources.failed || d->note.failed;
    hone_rc rc = finish(&s, text, err);
    hn_str_free(&s);
    return rc;
}

void hn_drafted_free(hn_drafted *d) {
    hn_str_free(&d->build);
    hn_str_free(&d->baseline);
    hn_str_free(&d->sources);
    hn_str_free(&d->ask);
    hn_str_free(&d->note);
}

hone_rc hn_draft_read_build(hn_arena *a, const char *build, hn_drafted *c, hone_err *err) {
    words w = {0};
    if (!split(a, build, &w)) return hn_fail(err, HONE_E_NOMEM, "out of memory drafting a workload");
    for (const char *at = build; (at = strstr(at, "${")); at += hn_template_shell(at))
        if (!hn_template_shell(at))
            return hn_fail(err, HONE_E_INPUT, "the build command has a '${' that does not close: '%.60s'", at);
    if (!w.n) return hn_fail(err, HONE_E_INPUT, "the build command is empty");
    size_t cc = 0;
    while (cc < w.n && !hn_family_knows_command(w.word[cc])) cc++;
    bool direct = cc < w.n && (cc == 0 || is_assignment(w.word[cc - 1]) || strchr("&;|", w.word[cc - 1][0]));
    if (direct) c->compiler = w.word[cc];
    c->family = hn_family_of_command(c->compiler);
    if (direct)
        split_compiler_call(&w, cc, c), ask_what_it_reads(c);
    else
        pass_cc_and_cflags(&w, c);
    return HONE_OK;
}

static hone_rc draft_build(const char *build, char **text, hone_err *err) {
    hn_arena a = {0};
    hn_drafted c = {0};
    hone_rc rc = hn_draft_read_build(&a, build, &c, err);
    if (!rc) rc = hn_draft_write(&c, text, err);
    hn_drafted_free(&c);
    hn_arena_free(&a);
    return rc;
}

hone_rc hone_workload_draft(const char *source, const char *build, char **text, hone_err *err) {
    if (!source == !build) return hn_fail(err, HONE_E_USAGE, "name either a source file or a build command");
    return source ? draft_source(source, text, err) : draft_build(build, text, err);
}
