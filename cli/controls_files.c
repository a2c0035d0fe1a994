/* controls_files.c — operands to controls files. */
#include "controls_files.h"

#include "text_file.h"

#include <dirent.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 32 };

static void add(cli_paths *p, const char *path) {
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->path[i], path) == 0) return;
    p->path = cli_grow(p->path, &p->room, p->n, sizeof *p->path);
    p->path[p->n++] = cli_strdup(path);
}

void cli_paths_free(cli_paths *p) {
    for (size_t i = 0; i < p->n; i++) free(p->path[i]);
    free(p->path);
    *p = (cli_paths){0};
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

static bool ends_in(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static bool is_wanted(const cli_paths *p, const char *name) {
    return ends_in(name, ".hone") || (p->precision && ends_in(name, ".precision"));
}

bool cli_is_precision_file(const char *path) {
    char *text = NULL;
    if (ends_in(path, ".hone") || ends_in(path, ".precision")) return ends_in(path, ".precision");
    if (!strcmp(path, "-") || cli_read_text(path, &text, NULL)) return false;
    bool yes = !strncmp(text, "precision: ", 11) || strstr(text, "\nprecision: ");
    free(text);
    return yes;
}

/* Links to folders are not followed. */
static void add_folder(cli_paths *p, const char *folder, int depth) {
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        char *path = strcmp(folder, ".") ? cli_format("%s/%s", folder, name) : cli_strdup(name);
        struct stat st;
        if (*name != '.' && lstat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) add_folder(p, path, depth + 1);
            if (!S_ISDIR(st.st_mode) && is_wanted(p, name)) add(p, path);
        }
        free(path);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

static void add_one(cli_paths *p, const char *path) {
    if (is_folder(path))
        add_folder(p, path, 0);
    else
        add(p, path);
}

static hone_rc add_operand(cli_paths *p, const char *word, hone_err *err) {
    glob_t g;
    size_t before = p->n;
    if (exists(word) || !word[strcspn(word, "*?[")]) {
        add_one(p, word);
    } else if (glob(word, 0, NULL, &g) == 0) {
        for (size_t i = 0; i < g.gl_pathc; i++) add_one(p, g.gl_pathv[i]);
        globfree(&g);
    }
    bool already = is_folder(word) && before > 0; /* all of it named before */
    if (p->n > before || already || (exists(word) && !is_folder(word))) return HONE_OK;
    return cli_fail(err, HONE_E_NOTFOUND, "no controls file in '%s'; `hone validate` writes them (NAME.hone)", word);
}

static hone_rc files_of(const cli *c, bool precision, cli_paths *out, hone_err *err) {
    cli_paths p = {.precision = precision};
    hone_rc rc = c->n_args ? HONE_OK : add_operand(&p, ".", err);
    for (size_t i = 0; i < c->n_args && !rc; i++) rc = add_operand(&p, c->arg[i], err);
    if (rc)
        cli_paths_free(&p);
    else
        *out = p;
    return rc;
}

hone_rc cli_controls_files(const cli *c, cli_paths *out, hone_err *err) { return files_of(c, false, out, err); }

hone_rc cli_signed_files(const cli *c, cli_paths *out, hone_err *err) { return files_of(c, true, out, err); }
