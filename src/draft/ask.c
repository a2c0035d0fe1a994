/* draft/ask.c — asks the build system of a project for its commands. See project.h. */
#include "draft/project.h"

#include "base/err.h"
#include "base/fs.h"
#include "proc/proc.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_S = 120, COMMANDS_B = 64 << 20, DEPTH_MAX = 16, LINKS_MAX = 20000 };

/* --- which kind --------------------------------------------------------------------------------------------------- */

/* By these files a folder's build system is known; the first that is there counts. */
static const struct sign {
    const char *file;
    hn_project_kind kind;
    const char *advice; /* what to do where the folder is not ready to be asked; NULL: it is */
} signs[] = {
    {"build.ninja", HN_PROJECT_NINJA, NULL},
    {"compile_commands.json", HN_PROJECT_COMPILE_DB, NULL},
    {"CMakeCache.txt", HN_PROJECT_COMPILE_DB,
     "it has no compile_commands.json: `cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON %s` writes it"},
    {"Cargo.toml", HN_PROJECT_CARGO, NULL},
    {"GNUmakefile", HN_PROJECT_MAKE, NULL},
    {"makefile", HN_PROJECT_MAKE, NULL},
    {"Makefile", HN_PROJECT_MAKE, NULL},
    {"CMakeLists.txt", HN_PROJECT_COMPILE_DB,
     "configure it first, then name the folder of the build: `cmake -S %s -B build -DCMAKE_BUILD_TYPE=Release "
     "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON && cmake --build build && hone init --from build`"},
    {"meson.build", HN_PROJECT_NINJA,
     "configure it first, then name the folder of the build: `meson setup --buildtype=release build %s && hone init "
     "--from build`"},
    {"configure", HN_PROJECT_MAKE, "run its ./configure first (%s)"},
};
enum { N_SIGNS = sizeof signs / sizeof *signs };

static hone_rc not_ready(const struct sign *s, const char *dir, hone_err *err) {
    hn_arena a = {0};
    hone_rc rc = hn_fail(err, HONE_E_NOTFOUND, "'%s' has a %s but no commands that can be read; %s", dir, s->file,
                         hn_fill(&a, s->advice, dir));
    hn_arena_free(&a);
    return rc;
}

static const struct sign *sign_in(const char *dir) {
    for (size_t i = 0; i < N_SIGNS; i++) {
        char *path = hn_path_join(dir, signs[i].file);
        bool there = path && hn_exists(path);
        free(path);
        if (there) return &signs[i];
    }
    return NULL;
}

static const struct sign *sign_of_file(const char *name) {
    for (size_t i = 0; i < N_SIGNS; i++)
        if (!strcmp(signs[i].file, name)) return &signs[i];
    return NULL;
}

hone_rc hn_project_find(hn_arena *a, const char *path, hn_project *out, hone_err *err) {
    char *full = realpath(path, NULL);
    if (!full) return hn_fail(err, HONE_E_IO, "cannot open '%s': %s", path, strerror(errno));
    const char *at = hn_strdup(a, full), *slash = at ? strrchr(at, '/') : NULL;
    free(full);
    if (!slash) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    bool folder = hn_is_folder(at);
    const struct sign *s = folder ? sign_in(at) : sign_of_file(slash + 1);
    const char *dir = folder ? at : hn_strndup(a, at, slash == at ? 1 : (size_t)(slash - at));
    if (s && s->advice) return not_ready(s, path, err);
    if (!s && folder)
        return hn_fail(err, HONE_E_NOTFOUND,
                       "'%s' has none of Makefile, compile_commands.json, build.ninja, Cargo.toml; name a project's "
                       "folder, or where it was configured",
                       path);
    *out = (hn_project){.kind = s ? s->kind : HN_PROJECT_MAKE, .dir = dir};
    if (!folder && out->kind == HN_PROJECT_MAKE) out->file = slash + 1;
    return HONE_OK;
}

/* --- make, ninja -------------------------------------------------------------------------------------------------- */

static hone_rc ask(hn_arena *a, hn_project *p, const char *const *argv, hone_err *err) {
    static const char *const env[] = {"LC_ALL=C", "MAKEFLAGS=", "MAKELEVEL=", NULL};
    hn_proc_result r;
    char what[200];
    hn_proc_spec spec = {
        .argv = argv, .env = env, .cwd = p->dir, .cpu = -1, .wall_s = ASK_S, .out_b = COMMANDS_B, .keep_b = COMMANDS_B};
    hone_rc rc = hn_proc_run(&spec, NULL, &r, err);
    if (rc) return rc;
    if (r.end == HN_PROC_EXITED && r.code == 0)
        hn_project_take(a, p, r.out ? r.out : "", r.out_n, p->dir);
    else
        rc = hn_fail(err, HONE_E_TOOL, "'%s' in '%s', asked for its commands, ended with %s: %.1200s", argv[0], p->dir,
                     hn_proc_describe(&spec, &r, what, sizeof what), r.err_tail);
    hn_proc_result_free(&r);
    return rc;
}

/* -n: print, do not run (but for lines with $(MAKE) or +); -B: as if nothing were built; -w: say which folder. */
static hone_rc ask_make(hn_arena *a, hn_project *p, const char *target, hone_err *err) {
    const char *argv[8] = {"make", "-n", "-B", "-w"};
    size_t n = 4;
    if (p->file) argv[n++] = "-f", argv[n++] = p->file;
    if (target) argv[n++] = target;
    argv[n] = NULL;
    return ask(a, p, argv, err);
}

static hone_rc ask_ninja(hn_arena *a, hn_project *p, const char *target, hone_err *err) {
    static const char *const names[] = {"ninja", "ninja-build", "samu"};
    for (size_t i = 0; i < 3; i++) {
        char *path = hn_which(names[i]);
        if (!path) continue;
        free(path);
        const char *argv[] = {names[i], "-t", "commands", target, NULL};
        return ask(a, p, argv, err);
    }
    return hn_fail(err, HONE_E_TOOL, "'%s' is built by ninja, which is not installed (Debian: ninja-build)", p->dir);
}

/* --- compile_commands.json with link.txt ---------------------------------------------------------------------------
 */

static hone_rc take_entry(hn_arena *a, hn_project *p, const json_t *entry, size_t i, hone_err *err) {
    const char *dir = json_string_value(json_object_get(entry, "directory"));
    const char *command = json_string_value(json_object_get(entry, "command"));
    const json_t *words = json_object_get(entry, "arguments");
    if (!dir || (!command && !json_is_array(words)))
        return hn_fail(err, HONE_E_INPUT,
                       "'%s/compile_commands.json': entry %zu has no 'directory', or neither 'command' nor 'arguments'",
                       p->dir, i + 1);
    char *real = realpath(dir, NULL);
    hn_str s = {0};
    for (size_t k = 0; !command && k < json_array_size(words); k++) {
        const char *word = json_string_value(json_array_get(words, k));
        if (k) hn_str_add(&s, " ");
        hn_str_add_shell(&s, word ? word : "");
    }
    const char *text = command ? command : s.text ? s.text : "";
    hn_project_take(a, p, text, strlen(text), real ? real : hn_line_path(a, p->dir, dir));
    a->failed |= s.failed;
    hn_str_free(&s);
    free(real);
    return HONE_OK;
}

static hone_rc take_database(hn_arena *a, hn_project *p, hone_err *err) {
    char *path = hn_path_join(p->dir, "compile_commands.json");
    json_error_t why;
    json_t *root = path ? json_load_file(path, 0, &why) : NULL;
    free(path);
    if (!root)
        return hn_fail(err, HONE_E_INPUT, "'%s/compile_commands.json':%d:%d: %s", p->dir, why.line, why.column,
                       why.text);
    hone_rc rc = json_is_array(root)
                     ? HONE_OK
                     : hn_fail(err, HONE_E_INPUT, "'%s/compile_commands.json' is no list of commands", p->dir);
    for (size_t i = 0; !rc && i < json_array_size(root); i++) rc = take_entry(a, p, json_array_get(root, i), i, err);
    json_decref(root);
    return rc;
}

/* CMakeFiles/NAME.dir/link.txt, in any folder of the build: run where that CMakeFiles lies. */
static void take_links(hn_arena *a, hn_project *p, const char *dir, int depth, size_t *n) {
    DIR *d = depth < DEPTH_MAX ? opendir(dir) : NULL;
    for (struct dirent *e; d && (e = readdir(d)) && *n < LINKS_MAX;) {
        if (*e->d_name == '.') continue;
        char *path = hn_path_join(dir, e->d_name), *text = NULL;
        size_t len;
        const char *files = strstr(path ? path : "", "/CMakeFiles/");
        if (path && hn_is_folder(path)) {
            take_links(a, p, path, depth + 1, n);
        } else if (files && !strcmp(e->d_name, "link.txt") && !hn_read_file(path, &text, &len, NULL)) {
            const char *where = hn_strndup(a, path, (size_t)(files - path));
            if (where) hn_project_take(a, p, text, len, where);
            ++*n;
        }
        free(text);
        free(path);
    }
    if (d) closedir(d);
}

static hone_rc read_database(hn_arena *a, hn_project *p, hone_err *err) {
    size_t n_links = 0;
    hone_rc rc = take_database(a, p, err);
    if (!rc) take_links(a, p, p->dir, 0, &n_links);
    if (!rc && !n_links)
        rc = hn_fail(err, HONE_E_INPUT,
                     "'%s/compile_commands.json' tells how files are compiled, not how they are linked, and no "
                     "CMakeFiles/NAME.dir/link.txt is beside it: name the folder that CMake or Meson configured",
                     p->dir);
    return rc;
}

hone_rc hn_project_read(hn_arena *a, hn_project *p, const char *target, hone_err *err) {
    hone_rc rc = HONE_OK;
    if (p->kind == HN_PROJECT_MAKE) rc = ask_make(a, p, target, err);
    if (p->kind == HN_PROJECT_NINJA) rc = ask_ninja(a, p, target, err);
    if (p->kind == HN_PROJECT_COMPILE_DB) rc = read_database(a, p, err);
    if (!rc && !hn_arena_ok(a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading a project");
    return rc;
}
