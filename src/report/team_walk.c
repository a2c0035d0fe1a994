/* report/team_walk.c — from operands to controls files and stores. All controls files are read before the first store,
 * since a session is left out where a controls file is of it. */
#include "report/team_int.h"

#include "base/err.h"
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 32 };

typedef hone_rc reader(hn_team_gathering *g, const char *path, hone_err *err);

typedef struct walk {
    hn_team_gathering *g;
    bool stores; /* this time */
    hone_rc rc;
    hone_err *err;
} walk;

static bool is_new(hn_team_gathering *g, const struct stat *st) {
    for (size_t i = 0; i < g->n_seen; i++)
        if (g->seen[i].device == st->st_dev && g->seen[i].inode == st->st_ino) return false;
    hn_team_seen *list = hn_arena_grow(g->a, g->seen, g->n_seen, &g->seen_room, sizeof *list);
    if (!list) return false;
    g->seen = list;
    g->seen[g->n_seen++] = (hn_team_seen){st->st_dev, st->st_ino};
    return true;
}

static void read_one(walk *w, const char *path, const struct stat *st, reader *read) {
    if (!w->rc && is_new(w->g, st)) w->rc = read(w->g, path, w->err);
}

static bool ends_in(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n > m && !strcmp(name + n - m, end);
}

static char *join(walk *w, const char *folder, const char *name) {
    char *path = strcmp(folder, ".") ? hn_path_join(folder, name) : strdup(name);
    if (!path) w->rc = hn_fail(w->err, HONE_E_NOMEM, "out of memory looking through '%s'", folder);
    return path;
}

static bool is_store(walk *w, const char *folder) {
    char *db = join(w, folder, "hone.db");
    bool is = db && hn_exists(db);
    free(db);
    return is;
}

static void folder(walk *w, const char *path, int depth);

static void entry(walk *w, const char *parent, const char *name, int depth) {
    struct stat st;
    char *path = join(w, parent, name);
    if (path && lstat(path, &st) == 0) {
        bool is_folder = S_ISDIR(st.st_mode), hidden = *name == '.' && strcmp(name, ".hone") != 0;
        if (is_folder && !hidden && depth < DEPTH_MAX)
            folder(w, path, depth + 1);
        else if (!is_folder && *name != '.' && !w->stores && ends_in(name, ".hone"))
            read_one(w, path, &st, hn_team_controls);
    }
    free(path);
}

static void folder(walk *w, const char *path, int depth) {
    struct dirent **list;
    struct stat st;
    int n = scandir(path, &list, NULL, alphasort);
    if (n < 0 && errno == ENOMEM) w->rc = hn_fail(w->err, HONE_E_NOMEM, "out of memory looking through '%s'", path);
    if (n < 0 && !w->stores) hn_team_problem(w->g, path, hn_format(w->g->a, "cannot be read: %s", strerror(errno)));
    if (n >= 0 && w->stores && is_store(w, path) && stat(path, &st) == 0) read_one(w, path, &st, hn_team_store);
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (!w->rc && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) entry(w, path, name, depth);
        free(list[i]);
    }
    if (n >= 0) free(list);
}

static void operand(walk *w, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0)
        w->rc = hn_fail(w->err, HONE_E_NOTFOUND, "cannot look at '%s': %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        folder(w, path, 0);
    else if (!w->stores)
        read_one(w, path, &st, hn_team_controls);
}

hone_rc hn_team_walk(hn_team_gathering *g, const char *const *path, size_t n, hone_err *err) {
    walk w = {.g = g, .err = err};
    for (int pass = 0; pass < 2; pass++) {
        w.stores = pass == 1;
        for (size_t i = 0; !w.rc && i < n; i++) operand(&w, path[i]);
    }
    return w.rc;
}
