/* tune/workload_text.c — commands with placeholders, sources, the location of the harness. */
#include "tune/workload_int.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- placeholders ------------------------------------------------------------------------------------------------- */

typedef enum piece_kind { PIECE_TEXT, PIECE_NAME } piece_kind;
typedef struct piece {
    piece_kind kind;
    const char *text;
    size_t n;
} piece;

static size_t name_length(const char *s) {
    if (!isalpha((unsigned char)*s) && *s != '_') return 0;
    size_t n = 1;
    while (isalnum((unsigned char)s[n]) || (s[n] && strchr("_.+=-", s[n]))) n++;
    return n;
}

size_t hn_template_shell(const char *text) {
    if (text[0] != '$' || text[1] != '{') return 0;
    size_t depth = 0;
    for (size_t n = 1; text[n]; n++) {
        if (text[n] == '{') depth++;
        if (text[n] == '}' && --depth == 0) return n + 1;
    }
    return 0;
}

/* As hn_template_shell, but an unclosed "${" extends to the end of the text. */
static size_t shell_length(const char *s) {
    size_t n = hn_template_shell(s);
    return n ? n : strlen(s);
}

/* The piece at *at, and *at moved behind it; false at the end. */
static bool next_piece(const char **at, piece *out) {
    const char *s = *at;
    if (!*s) return false;
    size_t name = *s == '{' ? name_length(s + 1) : 0;
    if (name && s[name + 1] == '}') {
        *out = (piece){PIECE_NAME, s + 1, name};
        *at = s + name + 2;
        return true;
    }
    *out = (piece){PIECE_TEXT, s, 1};
    size_t used = 1;
    if ((*s == '{' || *s == '}') && s[1] == *s)
        used = 2;
    else if (*s == '$' && s[1] == '{')
        used = out->n = shell_length(s);
    else if (*s != '{' && *s != '}' && *s != '$')
        used = out->n = strcspn(s, "{}$");
    *at = s + used;
    return true;
}

bool hn_template_each(const char *text, bool (*seen)(void *ctx, const char *name, size_t n), void *ctx) {
    piece p;
    while (next_piece(&text, &p))
        if (p.kind == PIECE_NAME && !seen(ctx, p.text, p.n)) return false;
    return true;
}

static bool differs(void *ctx, const char *name, size_t n) {
    const char *want = ctx;
    return strlen(want) != n || memcmp(want, name, n) != 0;
}

bool hn_template_has(const char *text, const char *name) {
    return text && !hn_template_each(text, differs, (void *)(uintptr_t)name);
}

void hn_template_escape(hn_str *out, const char *text) {
    while (*text) {
        size_t n = *text == '$' && text[1] == '{' ? shell_length(text) : 1;
        if (*text == '{' || *text == '}') hn_str_add_n(out, text, 1);
        hn_str_add_n(out, text, n);
        text += n;
    }
}

hone_rc hn_workload_expand(const hone_workload *w, const char *text, const hn_binding *pair, size_t n, hn_str *out,
                           hone_err *err) {
    hn_str s = {0};
    piece p;
    for (const char *at = text; next_piece(&at, &p);) {
        if (p.kind == PIECE_TEXT) {
            hn_str_add_n(&s, p.text, p.n);
            continue;
        }
        size_t i = 0;
        while (i < n && !(strlen(pair[i].name) == p.n && !memcmp(pair[i].name, p.text, p.n))) i++;
        if (i == n) {
            hn_str_free(&s);
            return hn_fail(err, HONE_E_INPUT, "%s: placeholder '{%.*s}' has no meaning in '%s'", w->path, (int)p.n,
                           p.text, text);
        }
        hn_str_add(&s, pair[i].text);
    }
    if (s.n) hn_str_add_n(out, s.text, s.n);
    bool failed = s.failed || out->failed;
    hn_str_free(&s);
    return failed ? hn_fail(err, HONE_E_NOMEM, "out of memory expanding a command of '%s'", w->path) : HONE_OK;
}

/* --- sources ------------------------------------------------------------------------------------------------------ */

enum { SOURCES_MAX = 20000, VISITS_MAX = 200000, DEPTH_MAX = 32, STARS_MAX = 6 };

/* Paths found so far, relative to the workload's folder; malloc'ed. */
typedef struct paths {
    char **p;
    size_t n, room, n_visited;
    bool failed, too_many;
} paths;

static void add_path(paths *l, const char *path) {
    l->too_many |= l->n >= SOURCES_MAX;
    l->failed |= l->too_many;
    if (l->failed) return;
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 16;
        char **p = realloc(l->p, room * sizeof *p);
        if (!p) {
            l->failed = true;
            return;
        }
        l->p = p;
        l->room = room;
    }
    l->p[l->n] = strdup(path);
    if (l->p[l->n])
        l->n++;
    else
        l->failed = true;
}

static void free_paths(paths *l) {
    for (size_t i = 0; i < l->n; i++) free(l->p[i]);
    free(l->p);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static mode_t kind_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

static bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Files of `folder` (relative to `dir`) whose name matches `pattern`; NULL: all, recursively, without hidden names.
 * Links to folders are not followed. */
static void add_folder(paths *l, const char *dir, const char *folder, const char *pattern, int depth) {
    char *full = hn_path_join(dir, folder);
    DIR *d = full ? opendir(full) : NULL;
    free(full);
    for (struct dirent *e; d && (e = readdir(d)) && !l->failed;) {
        if (e->d_name[0] == '.' || (pattern && fnmatch(pattern, e->d_name, FNM_PERIOD))) continue;
        char *rel = strcmp(folder, ".") ? hn_path_join(folder, e->d_name) : strdup(e->d_name);
        char *at = rel ? hn_path_join(dir, rel) : NULL;
        mode_t kind = at ? kind_of(at) : 0;
        l->too_many |= ++l->n_visited > VISITS_MAX;
        l->failed |= l->too_many;
        if (kind == S_IFREG) add_path(l, rel);
        if (kind == S_IFDIR && !pattern && depth < DEPTH_MAX && !is_link(at)) add_folder(l, dir, rel, NULL, depth + 1);
        free(at);
        free(rel);
    }
    if (d) closedir(d);
}

static size_t count_stars(const char *s) {
    size_t n = 0;
    for (; *s; s++) n += *s == '*';
    return n;
}

/* One entry of `sources`: a file, a folder, or a pattern in the last part of a path. */
static hone_rc add_source(const hn_reader *r, const hn_ynode *node, const char *text, paths *l) {
    const char *dir = r->w->dir, *slash = strrchr(text, '/'), *last = slash ? slash + 1 : text;
    if (strpbrk(text, "*?[")) {
        if (slash && strcspn(text, "*?[") < (size_t)(slash - text))
            return hn_yaml_fail(
                r->doc, node, r->err,
                "source '%s': a pattern may stand in the last part only; a folder's name stands for all "
                "files in it",
                text);
        if (count_stars(last) > STARS_MAX)
            return hn_yaml_fail(r->doc, node, r->err, "source '%s' has more than %d '*'", text, STARS_MAX);
        char *folder = slash ? strndup(text, slash == text ? 1 : (size_t)(slash - text)) : strdup(".");
        size_t before = l->n;
        if (folder) add_folder(l, dir, folder, last, 0);
        free(folder);
        if (l->n == before && !l->failed)
            return hn_yaml_fail(r->doc, node, r->err, "no file in '%s' matches '%s'", dir, text);
        return HONE_OK;
    }
    char *full = hn_path_join(dir, text);
    mode_t kind = full ? kind_of(full) : 0;
    int why = errno;
    free(full);
    if (kind == S_IFREG)
        add_path(l, text);
    else if (kind == S_IFDIR)
        add_folder(l, dir, text, NULL, 0);
    else
        return hn_yaml_fail(r->doc, node, r->err, "source '%s' in '%s': %s", text, dir,
                            kind ? "not a file or folder" : strerror(why));
    return HONE_OK;
}

/* Without `sources`: the words of the build command that are files. */
static void guess_sources(const hone_workload *w, paths *l) {
    for (const char *at = w->build; *at;) {
        at += strspn(at, " \t\n;&|()<>'\"");
        size_t n = strcspn(at, " \t\n;&|()<>'\"");
        char *word = n ? strndup(at, n) : NULL;
        char *full = word ? hn_path_join(w->dir, word) : NULL;
        if (full && *word != '/' && !strpbrk(word, "{}$") && kind_of(full) == S_IFREG) add_path(l, word);
        free(full);
        free(word);
        at += n;
    }
}

static hone_rc keep_sources(const hn_reader *r, const hn_ynode *node, paths *l) {
    hone_workload *w = r->w;
    if (l->failed)
        return l->too_many ? hn_yaml_fail(r->doc, node, r->err,
                                          "more than %d source files, or folders as large; name less", SOURCES_MAX)
                           : hn_reader_nomem(r);
    if (l->n) qsort(l->p, l->n, sizeof *l->p, by_text);
    w->source = HN_NEW_N(&w->arena, const char *, l->n + 1);
    for (size_t i = 0; w->source && i < l->n; i++)
        if (!i || strcmp(l->p[i], l->p[i - 1])) w->source[w->n_sources++] = hn_strdup(&w->arena, l->p[i]);
    return hn_arena_ok(&w->arena) ? HONE_OK : hn_reader_nomem(r);
}

/* The files of compiler controls: sources as well, so that their contents count and the build finds them. */
static hone_rc add_control_files(const hn_reader *r, paths *sources) {
    hone_workload *w = r->w;
    const hn_ynode *node = hn_yaml_get(hn_yaml_get(r->root, "controls"), "files");
    if (!w->control_files || !node) return HONE_OK;
    paths l = {0};
    hone_rc rc = add_source(r, node, w->control_files, &l);
    if (l.n) qsort(l.p, l.n, sizeof *l.p, by_text);
    w->control_file = HN_NEW_N(&w->arena, const char *, l.n + 1);
    for (size_t i = 0; i < l.n && !rc && w->control_file; i++) {
        add_path(sources, l.p[i]);
        w->control_file[w->n_control_files++] = hn_strdup(&w->arena, l.p[i]);
    }
    sources->failed |= l.failed;
    free_paths(&l);
    return rc;
}

hone_rc hn_read_sources(const hn_reader *r) {
    const hn_ynode *node = hn_yaml_get(r->root, "sources");
    const char **entry = NULL;
    size_t n = 0;
    paths l = {0};
    hone_rc rc = node ? hn_read_texts(r, node, "sources", SOURCES_MAX, &entry, &n) : HONE_OK;
    for (size_t i = 0; i < n && !rc; i++) rc = add_source(r, hn_item(node, i), entry[i], &l);
    if (!node) guess_sources(r->w, &l);
    if (!rc) rc = add_control_files(r, &l);
    if (!rc) rc = keep_sources(r, node ? node : r->root, &l);
    free_paths(&l);
    return rc;
}

hone_rc hn_workload_source_hash(const hone_workload *w, char hex[33], hone_err *err) {
    hn_hash h;
    hn_hash_begin(&h);
    for (size_t i = 0; i < w->n_sources; i++) {
        char file[33];
        char *path = hn_path_join(w->dir, w->source[i]);
        if (!path) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        hone_rc rc = hn_hash_file(path, file, err);
        free(path);
        if (rc) return rc;
        hn_hash_text(&h, w->source[i]);
        hn_hash_text(&h, file);
    }
    hn_hash_end(&h, hex);
    return HONE_OK;
}

bool hn_workload_on_gpu(const hone_workload *w) { return w->device || hn_template_has(w->run, "gpu_bench"); }

/* --- the harness -------------------------------------------------------------------------------------------------- */

/* First of folder, folder/lib (or folder/include …) and the same above it that holds `file`; malloc'ed. */
static char *look_upwards(const char *folder, const char *sub, const char *file) {
    char *at = strdup(folder);
    while (at && *at) {
        for (int in_sub = 0; in_sub < 2; in_sub++) {
            char *base = in_sub ? hn_path_join(at, sub) : strdup(at);
            char *path = base ? hn_path_join(base, file) : NULL;
            bool found = path && kind_of(path) == S_IFREG;
            free(path);
            if (found) {
                free(at);
                return base;
            }
            free(base);
        }
        char *slash = strrchr(at, '/');
        if (!slash || slash == at) break;
        *slash = 0;
    }
    free(at);
    return NULL;
}

static bool harness_below(const char *folder, hn_str *out) {
    char *lib = look_upwards(folder, "lib", "libhonebench.a");
    char *include = lib ? look_upwards(lib, "include", "hone/bench.h") : NULL;
    bool found = lib && include;
    if (found) {
        hn_str word = {0};
        hn_str_addf(&word, "-I%s", include);
        hn_str_add_shell(out, word.text ? word.text : "");
        hn_str_free(&word);
        hn_str_addf(&word, "%s/libhonebench.a", lib);
        hn_str_add(out, " ");
        hn_str_add_shell(out, word.text ? word.text : "");
        out->failed |= word.failed;
        hn_str_free(&word);
    }
    free(lib);
    free(include);
    return found;
}

/* Folder of the running program, or of the file this code was loaded from; malloc'ed, may be NULL. */
static char *own_folder(bool of_library) {
    char *path = NULL;
    Dl_info info;
    if (!of_library)
        path = realpath("/proc/self/exe", NULL);
    else if (dladdr((void *)(uintptr_t)own_folder, &info) && info.dli_fname)
        path = realpath(info.dli_fname, NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) *slash = 0;
    return path;
}

hone_rc hn_harness_flags(char **flags, hone_err *err) {
    const char *env = getenv("HONE_HARNESS_DIR");
    hn_str out = {0}, tried = {0};
    bool found = false;
    for (int i = 0; i < 3 && !found; i++) {
        char *folder = i ? own_folder(i == 2) : env && *env ? realpath(env, NULL) : NULL;
        if (folder) {
            found = harness_below(folder, &out);
            hn_str_addf(&tried, "%s'%s'", tried.n ? ", " : "", folder);
        }
        free(folder);
        if (i == 0 && env && *env && !found) break;
    }
    hone_rc rc = HONE_OK;
    if (!found)
        rc = hn_fail(err, HONE_E_NOTFOUND,
                     "libhonebench.a and include/hone/bench.h not found in or above %s; set HONE_HARNESS_DIR to the "
                     "folder that holds them",
                     tried.n       ? tried.text
                     : env && *env ? env
                                   : "the program's folder");
    char *text = found ? hn_str_take(&out) : NULL;
    if (found && !text) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) *flags = text;
    hn_str_free(&tried);
    hn_str_free(&out);
    return rc;
}
