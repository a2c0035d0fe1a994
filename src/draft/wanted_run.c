/* draft/wanted_run.c — the run that a user gave, as the run of a workload. */
#include "draft/draft_int.h"

#include "base/fs.h"
#include "tune/workload.h"

#include <string.h>

#define ENDS " \t\n<>|&;'\"()=`$"

static bool is_program(const char *word, size_t n, const char *program) {
    size_t m = strlen(program);
    return n >= m && !memcmp(word + n - m, program, m) && (n == m || word[n - m - 1] == '/');
}

/* Where the program stands in the run; NULL: nowhere. */
static const char *find_program(const char *run, const char *program, size_t *n) {
    for (const char *at = run; *(at += strspn(at, ENDS)); at += *n) {
        *n = strcspn(at, ENDS);
        if (is_program(at, *n, program)) return at;
    }
    return NULL;
}

static void add_files(hn_arena *a, const char *root, const char *run, const char *skip, hn_drafted *d) {
    for (const char *at = run; *(at += strspn(at, ENDS)); at += strcspn(at, ENDS)) {
        const char *word = hn_strndup(a, at, strcspn(at, ENDS));
        const char *path = word ? hn_line_path(a, root, word) : NULL;
        if (at == skip || !path || !hn_exists(path)) continue;
        const char *relative = hn_draft_relative(a, root, path);
        bool whole = hn_is_folder(path) && (*relative == '/' || !strcmp(relative, "."));
        if (relative && !whole) hn_draft_add_source(d, relative);
    }
}

void hn_draft_run(hn_arena *a, const char *root, const char *program, const char *run, hn_drafted *d, bool files) {
    size_t n = 0;
    const char *at = find_program(run, program, &n);
    if (files) add_files(a, root, run, at, d);
    hn_str s = {0};
    if (!at) {
        hn_template_escape(&s, run);
    } else if (strspn(run, " \t") == (size_t)(at - run)) {
        const char *args = at + n + strspn(at + n, " \t");
        if (*args) d->args = hn_strdup(a, args);
    } else {
        const char *before = hn_strndup(a, run, (size_t)(at - run));
        hn_template_escape(&s, before ? before : "");
        hn_str_add(&s, "{out}");
        hn_template_escape(&s, at + n);
    }
    if (s.n) d->run = hn_strdup(a, s.text);
    a->failed |= s.failed;
    hn_str_free(&s);
}
