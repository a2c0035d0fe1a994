/* target/line.c — see line.h. Options by a table: the first row that matches decides. */
#include "target/line.h"

#include "base/fs.h"

#include <stdlib.h>
#include <string.h>

typedef enum argument {
    NO_ARGUMENT,
    PATH_GLUED,  /* what follows `lead` is a path */
    PATH_EITHER, /* the same, or the next word */
    PATH_NEXT,
    WORD_NEXT, /* the next word, no path */
    WORD_EITHER,
} argument;

typedef struct option {
    const char *lead;
    hn_part_kind kind;
    argument argument;
    bool drop; /* of no use in a draft: outputs besides the object, warnings as errors */
} option;

static const option options[] = {
    {"-MF", HN_PART_COMPILE, WORD_EITHER, true},
    {"-MT", HN_PART_COMPILE, WORD_EITHER, true},
    {"-MQ", HN_PART_COMPILE, WORD_EITHER, true},
    {"-MJ", HN_PART_COMPILE, WORD_EITHER, true},
    {"-M", HN_PART_COMPILE, NO_ARGUMENT, true},
    {"-pipe", HN_PART_BOTH, NO_ARGUMENT, true},
    {"-save-temps", HN_PART_BOTH, NO_ARGUMENT, true},
    {"-fdiagnostics-color", HN_PART_BOTH, NO_ARGUMENT, true},
    {"-isystem", HN_PART_COMPILE, PATH_EITHER, false},
    {"-iquote", HN_PART_COMPILE, PATH_EITHER, false},
    {"-idirafter", HN_PART_COMPILE, PATH_EITHER, false},
    {"-include", HN_PART_COMPILE, PATH_NEXT, false},
    {"-imacros", HN_PART_COMPILE, PATH_NEXT, false},
    {"-I", HN_PART_COMPILE, PATH_EITHER, false},
    {"-D", HN_PART_COMPILE, WORD_EITHER, false},
    {"-U", HN_PART_COMPILE, WORD_EITHER, false},
    {"-Werror", HN_PART_COMPILE, NO_ARGUMENT, true},
    {"-Wl,--version-script=", HN_PART_LINK, PATH_GLUED, false},
    {"-Wl,--version-script,", HN_PART_LINK, PATH_GLUED, false},
    {"-Wl,--dynamic-list=", HN_PART_LINK, PATH_GLUED, false},
    {"-Wl,-T,", HN_PART_LINK, PATH_GLUED, false},
    {"-Wl,-rpath", HN_PART_LINK, NO_ARGUMENT, false},
    {"-Wl,-soname", HN_PART_LINK, NO_ARGUMENT, true},
    {"-Wl,-Map", HN_PART_LINK, NO_ARGUMENT, true},
    {"-Wl,", HN_PART_LINK, NO_ARGUMENT, false},
    {"-Wa,", HN_PART_COMPILE, NO_ARGUMENT, false},
    {"-Wp,-M", HN_PART_COMPILE, NO_ARGUMENT, true},
    {"-W", HN_PART_COMPILE, NO_ARGUMENT, false},
    {"-pedantic", HN_PART_COMPILE, NO_ARGUMENT, false},
    {"-std=", HN_PART_COMPILE, NO_ARGUMENT, false},
    {"-ansi", HN_PART_COMPILE, NO_ARGUMENT, false},
    {"-Xlinker", HN_PART_LINK, WORD_NEXT, false},
    {"-x", HN_PART_COMPILE, WORD_EITHER, true}, /* endings say it, and hn_line_language */
    {"-L", HN_PART_LIBDIR, PATH_EITHER, false},
    {"-T", HN_PART_LINK, PATH_EITHER, false},
    {"-static-", HN_PART_LINK, NO_ARGUMENT, false},
    {"-static", HN_PART_LINK, NO_ARGUMENT, false},
    {"-rdynamic", HN_PART_LINK, NO_ARGUMENT, false},
    {"-export-dynamic", HN_PART_LINK, NO_ARGUMENT, true}, /* libtool's own */
    {"-no-install", HN_PART_LINK, NO_ARGUMENT, true},
    {"-version-info", HN_PART_LINK, WORD_NEXT, true},
    {"-release", HN_PART_LINK, WORD_NEXT, true},
    {"-rpath", HN_PART_LINK, WORD_NEXT, true},
    {"--sysroot=", HN_PART_BOTH, PATH_GLUED, false},
};

static bool is_exact(const option *o) { return o->argument == PATH_NEXT || o->argument == WORD_NEXT; }

static const option *find_option(const char *word) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (is_exact(&options[i]) ? !strcmp(word, options[i].lead) : hn_starts_with(word, options[i].lead))
            return &options[i];
    return NULL;
}

const char *hn_line_path(hn_arena *a, const char *dir, const char *path) {
    char *full = *path == '/' ? hn_strdup(a, path) : hn_format(a, "%s/%s", dir, path);
    if (!full) return "/";
    char *to = full;
    for (const char *at = full; *at;) {
        at += strspn(at, "/");
        size_t n = strcspn(at, "/");
        if (n == 2 && !memcmp(at, "..", 2)) {
            while (to > full && *--to != '/') {
            }
        } else if (n && !(n == 1 && *at == '.')) {
            *to++ = '/';
            memmove(to, at, n);
            to += n;
        }
        at += n;
    }
    if (to == full) *to++ = '/';
    *to = 0;
    return full;
}

static void add_part(hn_arena *a, hn_line *l, hn_line_part part) {
    hn_line_part *grown = hn_arena_grow(a, l->part, l->n, &l->room, sizeof *grown);
    if (!grown) return;
    l->part = grown;
    l->part[l->n++] = part;
}

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool hn_line_is_source(const char *path) {
    const char *dot = strrchr(base_of(path), '.');
    const hn_language *language = dot ? hn_language_of(path, NULL) : NULL;
    return (language && !language->device) || (dot && (!strcmp(dot, ".S") || !strcmp(dot, ".s")));
}

const char *hn_line_object(hn_arena *a, const hn_line *line, const char *source) {
    const char *base = base_of(source), *dot = strrchr(base, '.');
    return hn_line_path(a, line->dir, hn_format(a, "%.*s.o", (int)(dot ? dot - base : (long)strlen(base)), base));
}

const char *hn_line_language(const char *compiler, const char *path) {
    const char *dot = strrchr(base_of(path), '.');
    return strstr(base_of(compiler), "++") && dot && !strcmp(dot, ".c") ? "-x c" : NULL;
}

const char *hn_line_no_language(void) { return "-x none"; }

const char *hn_line_command(hn_arena *a, const char *written) {
    const char *const plain[] = {base_of(written), "gcc", "g++", "clang", "clang++"};
    bool general = !strcmp(plain[0], "cc") || !strcmp(plain[0], "c++"), cxx = strstr(plain[0], "++") != NULL;
    char *want = hn_which(written);
    const char *found = NULL;
    for (size_t i = general; want && !found && i < sizeof plain / sizeof *plain; i++) {
        char *have = (i == 0 || (strstr(plain[i], "++") != NULL) == cxx) ? hn_which(plain[i]) : NULL;
        if (have && !strcmp(have, want)) found = hn_strdup(a, plain[i]);
        free(have);
    }
    free(want);
    return found ? found : hn_strdup(a, written);
}

/* --- an option ---------------------------------------------------------------------------------------------------- */

/* Reads word[0], which some option's row describes; gives how many words it took. */
static size_t read_known(hn_arena *a, const option *o, const char *const *word, size_t n, hn_line *l) {
    size_t lead = strlen(o->lead);
    const char *rest = word[0] + lead;
    bool apart = is_exact(o) || ((o->argument == PATH_EITHER || o->argument == WORD_EITHER) && !*rest);
    if (apart && n < 2) return 1;
    const char *text = apart ? word[1] : rest;
    hn_line_part part = {.kind = o->kind, .lead = o->lead, .apart = apart};
    bool is_path = o->argument == PATH_GLUED || o->argument == PATH_EITHER || o->argument == PATH_NEXT;
    if (is_path && *text != '=') /* "=" stands for the sysroot */
        part.path = hn_line_path(a, l->dir, text);
    else if (apart)
        part.name = hn_strdup(a, text);
    else
        part.lead = hn_strdup(a, word[0]);
    if (!o->drop) add_part(a, l, part);
    return apart ? 2 : 1;
}

/* Words of the family's own that hone tunes; 0: word[0] is none. */
static size_t read_tuned(hn_arena *a, const char *const *word, size_t n, hn_line *l) {
    hn_said said;
    char text[256] = "";
    l->family->read(NULL, word, n, &said);
    for (size_t i = 0; i < said.n_words && i < n; i++) strncat(text, word[i], sizeof text - 1 - strlen(text));
    if (!hn_matches(l->family->tunable, text) || hn_matches(l->family->stays, text)) return 0;
    for (size_t i = 0; i < said.n_words && i < n; i++)
        add_part(a, l, (hn_line_part){.kind = HN_PART_TUNE, .lead = hn_strdup(a, word[i])});
    return said.n_words ? said.n_words : 1;
}

static void read_response(hn_arena *a, const char *path, hn_line *l);

static size_t read_word(hn_arena *a, const char *const *word, size_t n, hn_line *l) {
    const char *x = word[0];
    if (*x == '@') {
        read_response(a, hn_line_path(a, l->dir, x + 1), l);
        return 1;
    }
    if (*x != '-' || !x[1]) {
        add_part(a, l, (hn_line_part){.kind = HN_PART_INPUT, .lead = "", .path = hn_line_path(a, l->dir, x)});
        return 1;
    }
    if (!strcmp(x, "-c")) {
        l->makes = HN_LINE_OBJECT;
        return 1;
    }
    if (!strcmp(x, "-shared") || !strcmp(x, "-r")) {
        if (l->makes == HN_LINE_PROGRAM) l->makes = x[1] == 'r' ? HN_LINE_ARCHIVE : HN_LINE_SHARED;
        return 1;
    }
    if (!strcmp(x, "-S") || !strcmp(x, "-E") || !strcmp(x, "-fsyntax-only") || !strcmp(x, "--version") ||
        !strcmp(x, "-M") || !strcmp(x, "-MM")) {
        l->family = NULL;
        return 1;
    }
    if (hn_starts_with(x, "-o")) {
        bool apart = !x[2] && n > 1;
        l->output = hn_line_path(a, l->dir, apart ? word[1] : x + 2);
        return apart ? 2 : 1;
    }
    if (hn_starts_with(x, "-l") && x[2]) {
        add_part(a, l, (hn_line_part){.kind = HN_PART_LIBRARY, .lead = hn_strdup(a, x), .name = hn_strdup(a, x + 2)});
        return 1;
    }
    const option *o = find_option(x);
    if (o) return read_known(a, o, word, n, l);
    size_t tuned = read_tuned(a, word, n, l);
    if (!tuned) add_part(a, l, (hn_line_part){.kind = HN_PART_BOTH, .lead = hn_strdup(a, x)});
    return tuned ? tuned : 1;
}

/* Words of a response file, by blanks and plain quotes; files that cannot be read are passed over. */
static void read_response(hn_arena *a, const char *path, hn_line *l) {
    char *text;
    size_t n;
    if (hn_read_file(path, &text, &n, NULL)) return;
    for (const char *at = text; *(at += strspn(at, " \t\r\n"));) {
        char quote = *at == '"' || *at == '\'' ? *at++ : 0, end[2] = {quote, 0};
        size_t len = strcspn(at, quote ? end : " \t\r\n");
        const char *word = hn_strndup(a, at, len);
        if (word && *word != '@') read_word(a, &word, 1, l);
        at += len + (quote && at[len] == quote);
    }
    free(text);
}

/* --- a command ---------------------------------------------------------------------------------------------------- */

/* "NAME=value" before a command. */
static bool is_setting(const char *word) {
    const char *equals = strchr(word, '=');
    return equals && equals > word && strcspn(word, "/-.") > (size_t)(equals - word);
}

static bool is_wrapper(const char *word) {
    return hn_matches("ccache|sccache|distcc|env|libtool|sh|bash|time|nice", base_of(word));
}

/* "ar rcs libx.a a.o b.o" */
static void read_archive(hn_arena *a, const char *const *word, size_t n, hn_line *out) {
    size_t i = 1;
    while (i < n && hn_starts_with(word[i], "--")) i++;
    if (i + 1 >= n || !strpbrk(word[i], "rq")) return;
    out->makes = HN_LINE_ARCHIVE;
    out->output = hn_line_path(a, out->dir, word[i + 1]);
    for (i += 2; i < n; i++)
        add_part(a, out, (hn_line_part){.kind = HN_PART_INPUT, .lead = "", .path = hn_line_path(a, out->dir, word[i])});
}

void hn_line_read(hn_arena *a, const char *dir, const char *const *word, size_t n, hn_line *out) {
    *out = (hn_line){.dir = hn_strdup(a, dir)};
    size_t cc = 0;
    while (cc < n && is_setting(word[cc])) cc++;
    if (cc < n && hn_matches("ar|*-ar|ar-*|*-ar-*", base_of(word[cc]))) {
        read_archive(a, word + cc, n - cc, out);
        return;
    }
    bool wrapped = cc < n && is_wrapper(word[cc]);
    while (wrapped && cc < n && !hn_family_knows_command(word[cc])) cc++;
    if (cc >= n || !hn_family_knows_command(word[cc])) return;
    out->compiler = hn_strdup(a, word[cc]);
    out->family = hn_family_of_command(out->compiler);
    out->makes = HN_LINE_PROGRAM;
    if (!out->family->reads) out->family = NULL; /* a command line of another kind */
    for (size_t i = cc + 1; i < n && out->family;) i += read_word(a, word + i, n - i, out);
    if (!out->family) out->makes = HN_LINE_OTHER;
    if (out->makes == HN_LINE_PROGRAM && !out->output) out->output = hn_line_path(a, dir, "a.out");
}
