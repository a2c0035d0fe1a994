/* draft/wanted_run.c — the run that a user gave, as the run of a workload. */
#include "draft/draft_int.h"

#include "base/fs.h"
#include "tune/workload.h"

#include <string.h>
#include <sys/stat.h>

#define ENDS " \t\n<>|&;()=`$"

/* The next word of a command for sh, without its quotes; `from` is where it stands, *at ends behind it. NULL: none. */
static const char *next_word(hn_arena *a, const char **at, const char **from) {
    hn_str s = {0};
    const char *p = *at + strspn(*at, ENDS);
    char quote = 0;
    *from = p;
    for (; *p && (quote || !strchr(ENDS, *p)); p++) {
        if (quote ? *p == quote : *p == '"' || *p == '\'')
            quote = quote ? 0 : *p;
        else if (*p == '\\' && quote != '\'' && p[1])
            hn_str_add_n(&s, ++p, 1);
        else
            hn_str_add_n(&s, p, 1);
    }
    *at = p;
    const char *word = p > *from ? hn_strdup(a, s.text ? s.text : "") : NULL;
    a->failed |= s.failed;
    hn_str_free(&s);
    return word;
}

static bool is_program(const char *word, const char *program) {
    size_t n = strlen(word), m = strlen(program);
    return n >= m && !strcmp(word + n - m, program) && (n == m || word[n - m - 1] == '/');
}

/* Where the program stands in the run, and its end; NULL: nowhere. */
static const char *find_program(hn_arena *a, const char *run, const char *program, const char **end) {
    const char *from, *word;
    for (const char *at = run; (word = next_word(a, &at, &from));)
        if (is_program(word, program)) {
            *end = at;
            return from;
        }
    return NULL;
}

/* A file or a folder; no device. */
static bool is_data(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

/* Files beside or above the workload's folder are not linked into the private one: they are named by their full path.
 */
static const char *name_outer_files(hn_arena *a, const char *root, const char *run) {
    const char *from, *word, *done = run;
    hn_str s = {0};
    for (const char *at = run; (word = next_word(a, &at, &from));) {
        const char *path = hn_starts_with(word, "../") ? hn_line_path(a, root, word) : NULL;
        if (!path || !is_data(path)) continue;
        hn_str_add_n(&s, done, (size_t)(from - done));
        hn_str_add_shell(&s, path);
        done = at;
    }
    hn_str_add(&s, done);
    const char *text = hn_strdup(a, s.text ? s.text : "");
    a->failed |= s.failed;
    hn_str_free(&s);
    return text ? text : run;
}

static void add_files(hn_arena *a, const char *root, const char *run, const char *skip, hn_drafted *d) {
    const char *from, *word;
    for (const char *at = run; (word = next_word(a, &at, &from));) {
        const char *path = hn_line_path(a, root, word);
        if (!*word || from == skip || !path || !is_data(path)) continue;
        const char *relative = hn_draft_relative(a, root, path);
        bool whole = hn_is_folder(path) && (*relative == '/' || !strcmp(relative, "."));
        if (relative && !whole) hn_draft_add_source(d, relative);
    }
}

void hn_draft_run(hn_arena *a, const char *root, const char *program, const char *run, hn_drafted *d, bool files) {
    run = name_outer_files(a, root, run);
    const char *end = NULL, *at = find_program(a, run, program, &end);
    if (files) add_files(a, root, run, at, d);
    hn_str s = {0};
    if (!at) {
        hn_template_escape(&s, run);
    } else if (strspn(run, " \t") == (size_t)(at - run)) {
        const char *args = end + strspn(end, " \t");
        if (*args) d->args = hn_strdup(a, args);
    } else {
        const char *before = hn_strndup(a, run, (size_t)(at - run));
        hn_template_escape(&s, before ? before : "");
        hn_str_add(&s, "{out}");
        hn_template_escape(&s, end);
    }
    if (s.n) d->run = hn_strdup(a, s.text);
    a->failed |= s.failed;
    hn_str_free(&s);
}
