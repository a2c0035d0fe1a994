/* target/pgo.c — profiles between the two builds of profile-guided optimisation. */
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "target/target_int.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long hn_number_after(const char *text, const char *key) {
    const char *at = text ? strstr(text, key) : NULL;
    return at ? strtol(at + strlen(key), NULL, 10) : 0;
}

/* Only tools of the compiler's own version read its profiles. A tool that does not print a version is accepted. */
static bool is_of(const char *tool, long major) {
    const char *argv[] = {tool, "--version", NULL};
    hn_tool run;
    if (hn_tool_run(argv, 20, &run, NULL)) return false;
    long its = run.ok ? hn_number_after(run.out, "version ") : -1;
    hn_tool_free(&run);
    return its >= 0 && (!major || !its || its == major);
}

static char *tool_named(const char *name, long major) {
    char *path = hn_which(name);
    if (!path || is_of(path, major)) return path;
    free(path);
    return NULL;
}

char *hn_llvm_tool(const char *first, const char *name, long major) {
    char suffixed[80];
    snprintf(suffixed, sizeof suffixed, "%s-%ld", name, major);
    char *path = first ? tool_named(first, major) : NULL;
    if (!path) path = tool_named(suffixed, major);
    return path ? path : tool_named(name, major);
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

/* TOOL merge -o DIR/default.profdata DIR/a.profraw …; false when there is no raw profile. */
static bool merge_words(hn_flags *f, const char *tool, const char *dir) {
    DIR *d = opendir(dir);
    size_t raw = 0;
    hn_flags_add(f, tool);
    hn_flags_words(f, "merge -o");
    hn_flags_add(f, hn_format(f->a, "%s/default.profdata", dir));
    for (struct dirent *e; d && (e = readdir(d));)
        if (ends_with(e->d_name, ".profraw") && ++raw < 10000)
            hn_flags_add(f, hn_format(f->a, "%s/%s", dir, e->d_name));
    if (d) closedir(d);
    hn_flags_add(f, NULL);
    return raw > 0;
}

hone_rc hone_target_profile_merge(hone_target *t, const char *dir, hone_err *err) {
    if (!t->family->profile_tool) return HONE_OK;
    char *tool = t->family->profile_tool(t);
    if (!tool)
        return hn_fail(err, HONE_E_TOOL,
                       "llvm-profdata of the LLVM that '%s' is made of is not installed; it merges profiles (Debian: "
                       "package llvm-N for LLVM N)",
                       t->print.command);
    hn_arena a = {0};
    hn_flags f = {.a = &a};
    hn_tool run;
    hone_rc rc = HONE_OK;
    if (!merge_words(&f, tool, dir))
        rc = hn_fail(err, HONE_E_NOTFOUND, "the training run left no profile in '%s'", dir);
    else if (!hn_arena_ok(&a))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory merging the profiles in '%s'", dir);
    else if (!(rc = hn_tool_run(f.word, 300, &run, err))) {
        if (!run.ok) rc = hn_fail(err, HONE_E_TOOL, "'%s' fails on the profiles in '%s': %s", tool, dir, run.what);
        hn_tool_free(&run);
    }
    hn_arena_free(&a);
    free(tool);
    return rc;
}
