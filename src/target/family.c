/* target/family.c — the registry of compiler families, and those installed. */
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "target/target_int.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const hn_family *const hn_families[] = {&hn_family_gcc, &hn_family_clang, NULL};

bool hone_family_at(size_t i, hone_family_info *out) {
    if (i >= sizeof hn_families / sizeof *hn_families - 1) return false;
    *out = (hone_family_info){hn_families[i]->name, hn_families[i]->summary};
    return true;
}

const char *hone_fp_name(hone_fp fp) {
    static const char *const name[] = {"strict", "contract", "fast"};
    _Static_assert(sizeof name / sizeof *name == HONE_N_FP, "one name for each contract");
    return (unsigned)fp < HONE_N_FP ? name[fp] : "unknown";
}

/* "gcc", "gcc-12", "clang-19.1": the base name, or it with a version. */
static bool is_command(const char *file, const char *base) {
    size_t n = strlen(base);
    if (strncmp(file, base, n) != 0) return false;
    if (!file[n]) return true;
    if (file[n] != '-' || !isdigit((unsigned char)file[n + 1])) return false;
    return file[n + 1 + strspn(file + n + 1, "0123456789.")] == 0;
}

typedef struct found {
    char *name, *path;
} found;
typedef struct search {
    found item[64];
    size_t n;
} search;

/* Of two names for one binary the shorter stays, then the first in PATH: "gcc" before "gcc-12". */
static void note(search *s, const char *name) {
    char *path = hn_which(name);
    if (!path) return;
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->item[i].path, path) != 0 && strcmp(s->item[i].name, name) != 0) continue;
        if (!strcmp(s->item[i].path, path) && strlen(name) < strlen(s->item[i].name)) {
            char *copy = strdup(name);
            if (copy) {
                free(s->item[i].name);
                s->item[i].name = copy;
            }
        }
        free(path);
        return;
    }
    char *copy = s->n < sizeof s->item / sizeof *s->item ? strdup(name) : NULL;
    if (copy)
        s->item[s->n++] = (found){copy, path};
    else
        free(path);
}

static void scan_folder(search *s, const char *dir, const char *base) {
    DIR *d = opendir(dir);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));)
        if (is_command(e->d_name, base)) note(s, e->d_name);
    closedir(d);
}

static void scan_path(search *s, const char *base) {
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        char *dir = n ? strndup(p, n) : NULL;
        if (dir) scan_folder(s, dir, base);
        free(dir);
        p += n + (p[n] == ':');
    }
}

/* The plain name first, then by version, newest first. */
static int by_version(const void *pa, const void *pb) {
    const found *x = pa, *y = pb;
    const char *vx = strchr(x->name, '-'), *vy = strchr(y->name, '-');
    if (!vx != !vy) return vx ? 1 : -1;
    int c = vx ? strverscmp(vy, vx) : 0;
    return c ? c : strcmp(x->name, y->name);
}

static char **name_list(const search *s) {
    size_t bytes = (s->n + 1) * sizeof(char *);
    for (size_t i = 0; i < s->n; i++) bytes += strlen(s->item[i].name) + 1;
    char **list = malloc(bytes);
    if (!list) return NULL;
    char *text = (char *)(list + s->n + 1);
    for (size_t i = 0; i < s->n; i++) {
        list[i] = text;
        text = stpcpy(text, s->item[i].name) + 1;
    }
    list[s->n] = NULL;
    return list;
}

/* Does the command belong to this family? `cc` and the like may be anything. */
static bool belongs(const hn_family *family, const char *name) {
    const char *const argv[] = {name, "--version", NULL};
    hn_tool run;
    if (hn_tool_run(argv, 10, &run, NULL)) return false;
    bool yes = run.ok && family->recognise(run.out);
    hn_tool_free(&run);
    return yes;
}

static void keep_members(search *s, const hn_family *family) {
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (belongs(family, s->item[i].name)) {
            s->item[kept++] = s->item[i];
            continue;
        }
        free(s->item[i].name);
        free(s->item[i].path);
    }
    s->n = kept;
}

hone_rc hone_family_installed(const char *name, char ***names, size_t *n, hone_err *err) {
    const hn_family *family = NULL;
    for (size_t i = 0; hn_families[i]; i++)
        if (!strcmp(hn_families[i]->name, name)) family = hn_families[i];
    if (!family)
        return hn_fail(err, HONE_E_NOTFOUND, "compiler family '%s' is not known; `hone targets` lists them", name);
    search s = {0};
    scan_path(&s, family->command);
    keep_members(&s, family);
    if (!s.n) {
        note(&s, "cc");
        keep_members(&s, family);
    }
    if (s.n) qsort(s.item, s.n, sizeof *s.item, by_version);
    char **list = name_list(&s);
    size_t count = s.n;
    for (size_t i = 0; i < s.n; i++) {
        free(s.item[i].name);
        free(s.item[i].path);
    }
    if (!list) return hn_fail(err, HONE_E_NOMEM, "out of memory listing compilers");
    *names = list;
    *n = count;
    return HONE_OK;
}
