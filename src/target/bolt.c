/* target/bolt.c — see bolt.h. */
#include "target/bolt.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "target/target_int.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- which one ---------------------------------------------------------------------------------------------------- */

enum { NEWEST = 30, OLDEST = 14 };

/* What a tool prints, in `a`; NULL: it does not run. */
static const char *printed(hn_arena *a, const char *path, const char *word) {
    const char *argv[] = {path, word, NULL};
    hn_tool run;
    if (hn_tool_run(argv, 20, &run, NULL)) return NULL;
    const char *text = run.ok ? hn_strdup(a, run.out) : NULL;
    hn_tool_free(&run);
    return text;
}

static const char *version_in(hn_arena *a, const char *text) {
    const char *at = strstr(text, "version ");
    if (!at) return "unknown";
    at += strlen("version ");
    return hn_strndup(a, at, strcspn(at, " \n\r\t"));
}

/* merge-fdata of the same folder, else of the same name's ending. */
static const char *merge_tool(hn_arena *a, const char *path, const char *suffix) {
    const char *slash = strrchr(path, '/');
    char *beside = hn_which(hn_format(a, "%.*s/merge-fdata", (int)(slash ? slash - path : 0), path));
    char *found = beside ? beside : hn_which(hn_format(a, "merge-fdata%s", suffix));
    const char *kept = found ? hn_strdup(a, found) : NULL;
    free(found);
    return kept;
}

static bool take(hn_arena *a, const char *path, const char *suffix, hn_bolt *out, const char **why) {
    hn_bolt b = {.path = hn_strdup(a, path), .command = hn_format(a, "llvm-bolt%s", suffix)};
    char hex[33] = "";
    const char *text = printed(a, path, "--version");
    b.help = text ? printed(a, path, "--help") : NULL;
    b.merge = merge_tool(a, path, suffix);
    *why = !b.help    ? hn_format(a, "'%s' does not run", path)
           : !b.merge ? hn_format(a, "merge-fdata%s, which belongs to '%s', is not installed", suffix, path)
                      : NULL;
    if (*why) return false;
    b.version = version_in(a, text);
    hn_hash_file(path, hex, NULL);
    b.hash = hn_strdup(a, hex);
    *out = b;
    return hn_arena_ok(a);
}

bool hn_bolt_find(hn_arena *a, hn_bolt *out, const char **why) {
    *why = "llvm-bolt is not installed (Debian: package bolt-19)";
    for (int n = NEWEST + 1; n >= OLDEST; n--) {
        char suffix[16] = "", name[32];
        if (n <= NEWEST) snprintf(suffix, sizeof suffix, "-%d", n);
        snprintf(name, sizeof name, "llvm-bolt%s", suffix);
        char *path = hn_which(name);
        bool fine = path && take(a, path, suffix, out, why);
        free(path);
        if (fine) return true;
    }
    return false;
}

hone_rc hone_target_post_link(const char *stage, hone_post_link_tool *out, hone_err *err) {
    hn_arena a = {0};
    hn_bolt b;
    const char *why;
    if (strcmp(stage, "bolt")) return hn_fail(err, HONE_E_NOTFOUND, "there is no stage '%s'; there is bolt", stage);
    bool there = hn_bolt_find(&a, &b, &why), fits = hn_arena_ok(&a);
    hone_rc rc = !fits    ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                 : !there ? hn_fail(err, HONE_E_TOOL, "%s", why)
                          : HONE_OK;
    if (!rc) {
        snprintf(out->command, sizeof out->command, "%s", b.command);
        snprintf(out->version, sizeof out->version, "%s", b.version);
        snprintf(out->path, sizeof out->path, "%s", b.path);
    }
    hn_arena_free(&a);
    return rc;
}

/* --- options ------------------------------------------------------------------------------------------------------ */

enum { FLAG, VALUES, ANY };

static const struct row {
    const char *name;
    int kind;
    const char *values, *under, *doc;
} rows[] = {
#define HN_BOLT(name, kind, values, under, doc) {name, kind, values, under, doc},
#include "target/bolt_options.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* The line of --help that lists it: "  --NAME  - …" or "  --NAME=<value>  - …". */
static const char *line_of(const hn_bolt *bolt, const char *name) {
    size_t n = strlen(name);
    for (const char *at = bolt->help; (at = strstr(at, "  --")); at++)
        if (!strncmp(at + 4, name, n) && strchr(" =\n", at[4 + n])) return at;
    return NULL;
}

/* Does the list below the option's line have the value? */
static bool has_value(const char *line, const char *value, size_t n) {
    for (const char *at = strchr(line, '\n'); at; at = strchr(at + 1, '\n')) {
        const char *word = at + 1 + strspn(at + 1, " ");
        if (*word != '=') return false;
        if (!strncmp(word + 1, value, n) && strchr(" \n", word[1 + n])) return true;
    }
    return false;
}

/* False: this BOLT has none of it. */
static bool read_row(const hn_bolt *bolt, const struct row *r, hn_arena *a, hn_bolt_option *out) {
    const char *line = line_of(bolt, r->name);
    if (!line) return false;
    bool takes = line[4 + strlen(r->name)] == '=';
    *out = (hn_bolt_option){.name = r->name, .under = r->under, .doc = r->doc};
    if (r->kind == FLAG) return !takes;
    for (const char *v = r->values; takes && v; v = strchr(v, '|') ? strchr(v, '|') + 1 : NULL) {
        size_t n = strcspn(v, "|");
        if (out->n_values < HN_BOLT_VALUES && (r->kind == ANY || has_value(line, v, n)))
            out->value[out->n_values++] = hn_strndup(a, v, n);
    }
    return out->n_values > 0;
}

bool hn_bolt_option_at(const hn_bolt *bolt, size_t i, hn_arena *a, hn_bolt_option *out) {
    for (size_t r = 0; r < N_ROWS; r++)
        if (read_row(bolt, &rows[r], a, out) && i-- == 0) return true;
    return false;
}

const char *hn_bolt_word(hn_arena *a, const char *name, const char *value) {
    return value ? hn_format(a, "-%s=%s", name, value) : hn_format(a, "-%s", name);
}

bool hn_bolt_needs_binding(const char *name) { return !strcmp(name, "plt"); }

const char *hn_bolt_seed(size_t i) {
    static const char *const seed[] = {
        "reorder-blocks=ext-tsp reorder-functions=cdsort split-functions split-all-cold icf",
        "reorder-blocks=ext-tsp reorder-functions=cdsort",
        ("reorder-blocks=ext-tsp reorder-functions=cdsort split-functions split-all-cold icf peepholes=all "
         "indirect-call-promotion=all inline-small-functions jump-tables=move frame-opt=hot simplify-rodata-loads"),
    };
    return i < sizeof seed / sizeof *seed ? seed[i] : NULL;
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

const char *const *hn_bolt_link_words(hn_arena *a, const hone_target *t, bool bound) {
    const hn_family *family = t ? hn_target_family(t) : NULL;
    if (!family || !family->to_linker) return NULL;
    const char **word = HN_NEW_N(a, const char *, 4);
    size_t n = 0;
    if (word && family->unsplit) word[n++] = family->unsplit;
    if (word) word[n++] = hn_fill(a, family->to_linker, "--emit-relocs");
    if (word && bound) word[n++] = hn_fill(a, family->to_linker, "-z,now");
    return word;
}

void hn_bolt_instrument(hn_str *s, const hn_bolt *bolt) {
    hn_str_add(s, "mv ./prog ./prog.linked && ");
    hn_str_add_shell(s, bolt->path);
    hn_str_add(s,
               " ./prog.linked -instrument -instrumentation-file-append-pid -instrumentation-file=\"$PWD/prog.fdata\""
               " -instrumentation-binpath=\"$PWD/prog\" -o ./prog");
}

void hn_bolt_optimise(hn_str *s, const hn_bolt *bolt, const char *options, bool merge) {
    if (merge) {
        hn_str_add(
            s, "set -- ./prog.fdata.*; test -s \"$1\" || { echo 'the training left no profile: a program that ends by "
               "_exit or a signal writes none' >&2; exit 1; }; ");
        hn_str_add_shell(s, bolt->merge);
        hn_str_add(s, " -q \"$@\" -o ./" HN_BOLT_PROFILE " 2> merged || { cat merged >&2; exit 1; }; rm -f \"$@\"; ");
    } else {
        hn_str_add(s, "mv ./prog ./prog.linked && ");
    }
    hn_str_add_shell(s, bolt->path);
    hn_str_addf(s, " ./prog.linked -data=./" HN_BOLT_PROFILE "%s%s -o ./prog", *options ? " " : "", options);
}

/* Debian's command is a link, beside which BOLT looks for its libraries in vain. */
void hn_bolt_recipe(hn_str *s, const char *head, const char *command, const char *options) {
    const char *suffix = strrchr(command, '-');
    bool numbered = suffix && isdigit((unsigned char)suffix[1]);
    hn_str_addf(s, "%sbolt=$(realpath \"$(command -v %s)\")\n", head, command);
    hn_str_addf(s,
                "%s$bolt PROGRAM -instrument -instrumentation-file-append-pid "
                "-instrumentation-file=\"$PWD/PROGRAM.fdata\" -o PROGRAM.train\n",
                head);
    hn_str_addf(s, "%s./PROGRAM.train ...    on inputs like the workload's\n", head);
    hn_str_addf(s, "%smerge-fdata%s -q PROGRAM.fdata.* -o PROGRAM.profile\n", head, numbered ? suffix : "");
    hn_str_addf(s, "%s$bolt PROGRAM -data=PROGRAM.profile%s%s -o PROGRAM.bolt\n", head, *options ? " " : "", options);
}

const char *hn_bolt_reason(hn_arena *a, const char *text) {
    static const char mark[] = "BOLT-ERROR: ";
    const char *at = strstr(text, mark);
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1])) n--;
    if (!at) return hn_strndup(a, text, n);
    at += strlen(mark);
    return hn_format(a, "BOLT says: %.*s", (int)strcspn(at, "\n"), at);
}
