/* target/family.c — the registry of compiler families, and those installed. */
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "target/target_int.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const hn_family hn_family_gcc, hn_family_clang, hn_family_rustc, hn_family_nvcc, hn_family_nvrtc,
    hn_family_ptxas, hn_family_clang_cuda, hn_family_opencl;
const hn_family *const hn_families[] = {&hn_family_gcc,        &hn_family_clang,  &hn_family_rustc,
                                        &hn_family_nvcc,       &hn_family_nvrtc,  &hn_family_ptxas,
                                        &hn_family_clang_cuda, &hn_family_opencl, NULL};

const hn_family *hn_target_family(const hone_target *t) { return t ? t->family : hn_families[0]; }

const char *hn_target_program(const hone_target *t) { return t->family->locate ? t->exec : t->print.command; }

const hn_family *hn_family_named(const char *name) {
    for (size_t i = 0; hn_families[i]; i++)
        if (!strcmp(hn_families[i]->name, name)) return hn_families[i];
    return NULL;
}

/* Is the file called "NAME", "NAME-12", or that behind a machine's name: "x86_64-linux-gnu-NAME-12"? */
static bool is_called(const char *file, const char *name) {
    for (const char *at = file; (at = strstr(at, name)); at++) {
        const char *end = at + strlen(name);
        if ((at == file || at[-1] == '-') && (!*end || (*end == '-' && isdigit((unsigned char)end[1])))) return true;
    }
    return false;
}

static bool is_one_of(const char *file, const char *names) {
    char name[64];
    for (const char *p = names; *p; p += strcspn(p, "|"), p += *p == '|') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "|"), p);
        if (is_called(file, name)) return true;
    }
    return false;
}

static const hn_family *family_called(const char *command) {
    const char *slash = strrchr(command, '/'), *file = slash ? slash + 1 : command;
    for (size_t i = 0; hn_families[i]; i++)
        if (is_one_of(file, hn_families[i]->command) || is_one_of(file, hn_families[i]->aliases)) return hn_families[i];
    return NULL;
}

char *hn_family_locate(const char *command) {
    const hn_family *f = strchr(command, '/') ? NULL : family_called(command);
    return f && f->locate ? f->locate(command) : hn_which(command);
}

const hn_family *hn_family_of_command(const char *command) {
    const hn_family *f = command ? family_called(command) : NULL;
    return f ? f : hn_families[0];
}

bool hn_family_knows_command(const char *word) { return family_called(word) != NULL; }

bool hn_matches(const char *patterns, const char *text) {
    char pattern[80];
    for (const char *p = patterns; *p; p += strcspn(p, "|"), p += *p == '|') {
        snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(p, "|"), p);
        if (hn_glob(pattern, text)) return true;
    }
    return false;
}

const hn_language *hn_language_of(const char *path, const hn_family **family) {
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && hn_families[i]; i++)
        for (size_t k = 0; hn_families[i]->languages && hn_families[i]->languages[k]; k++) {
            if (!hn_matches(hn_families[i]->languages[k]->endings, dot)) continue;
            if (family) *family = hn_families[i];
            return hn_families[i]->languages[k];
        }
    return NULL;
}

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

bool hone_family_is_command(const char *command) {
    for (size_t i = 0; hn_families[i]; i++)
        if (is_command(command, hn_families[i]->command)) return true;
    return false;
}

const char *const *hone_family_kernel_flags(const char *family) {
    const hn_family *f = hn_family_named(family);
    return f ? f->kernel_flags : NULL;
}

const char *hone_family_cross_flag(const char *command, const char *processor) {
    const hn_family *f = hn_family_of_command(command);
    return f->cross ? f->cross(processor) : NULL;
}

typedef struct found {
    char *name, *path;
} found;
typedef struct search {
    found item[64];
    size_t n;
} search;

/* Of two names for one binary the shorter is kept, then the first in PATH: "gcc" before "gcc-12". */
static void note(search *s, const char *name) {
    char *path = hn_family_locate(name);
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
static bool belongs(const hn_family *family, const found *item) {
    const char *const argv[] = {family->locate ? item->path : item->name, "--version", NULL};
    hn_tool run;
    if (hn_tool_run(argv, 10, &run, NULL)) return false;
    bool yes = run.ok && family->recognise(run.out);
    hn_tool_free(&run);
    return yes;
}

static void keep_members(search *s, const hn_family *family) {
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (belongs(family, &s->item[i])) {
            s->item[kept++] = s->item[i];
            continue;
        }
        free(s->item[i].name);
        free(s->item[i].path);
    }
    s->n = kept;
}

hone_rc hone_family_installed(const char *name, char ***names, size_t *n, hone_err *err) {
    const hn_family *family = hn_family_named(name);
    if (!family)
        return hn_fail(err, HONE_E_NOTFOUND, "compiler family '%s' is not known; `hone targets` lists them", name);
    search s = {0};
    scan_path(&s, family->command);
    if (family->locate) note(&s, family->command);
    keep_members(&s, family);
    if (!s.n && !family->locate) {
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
