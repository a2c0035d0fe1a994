/* target/pgo.c — profiles between the two builds of profile-guided optimisation. */
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "target/target_int.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* What follows "version " in the text; 0: nothing does. */
static long major_of(const char *text) {
    const char *at = text ? strstr(text, "version ") : NULL;
    return at ? strtol(at + strlen("version "), NULL, 10) : 0;
}

/* Profiles are read by tools of the compiler's own version alone. */
static bool same_version(const hone_target *t, const char *tool) {
    const char *argv[] = {tool, "--version", NULL};
    hn_tool run;
    if (hn_tool_run(argv, 20, &run, NULL)) return false;
    long mine = major_of(t->print.version), other = run.ok ? major_of(run.out) : -1;
    hn_tool_free(&run);
    return other >= 0 && (!mine || !other || mine == other);
}

/* The tool of this name, if it is of the compiler's version; to be freed. */
static char *tool_named(const hone_target *t, const char *name) {
    char *path = name ? hn_which(name) : NULL;
    if (!path || same_version(t, path)) return path;
    free(path);
    return NULL;
}

/* The tool that belongs to this compiler: as it says itself (which may be whatever is in PATH), else by its own version
 * suffix, else the plain name. */
char *hn_profile_tool(hone_target *t) {
    const char *name = t->family->profile_tool;
    if (!name) return NULL;
    const char *args[] = {hn_format(&t->arena, "-print-prog-name=%s", name), NULL};
    char *text = NULL, *path = NULL;
    if (args[0] && hn_tool_ask(t, args, &text, NULL) == HONE_OK) {
        text[strcspn(text, "\n")] = 0;
        path = *text == '/' ? tool_named(t, text) : NULL;
        free(text);
    }
    const char *dash = strrchr(t->print.command, '-');
    if (!path && dash) path = tool_named(t, hn_format(&t->arena, "%s%s", name, dash));
    return path ? path : tool_named(t, name);
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
    char *tool = hn_profile_tool(t);
    if (!tool)
        return hn_fail(err, HONE_E_TOOL,
                       "'%s' of the version of '%s' is not installed; it merges profiles (Debian: package llvm-N for "
                       "clang-N)",
                       t->family->profile_tool, t->print.command);
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
