/* tune/environment.c — see environment.h. */
#include "tune/environment.h"

#include "base/err.h"
#include "base/fs.h"
#include "proc/proc.h"
#include "target/linker.h"

#include <glob.h>
#include <gnu/libc-version.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOCATOR HN_ENV_FIRST
#define LINKER "env.linker"

/* --- allocators --------------------------------------------------------------------------------------------------- */

/* Files by which an allocator is known, the preferred first. */
static const struct allocator {
    const char *name, *file[3];
} allocators[HN_N_ALLOCATORS] = {
    {"jemalloc", {"libjemalloc.so.2", "libjemalloc.so.1", NULL}},
    {"mimalloc", {"libmimalloc.so.[23]", "libmimalloc.so.2.*", NULL}},
    {"tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", NULL}},
};

static const char *const folders[] = {"/usr/lib/*-linux-gnu*", "/lib/*-linux-gnu*", "/usr/lib64", "/usr/lib",
                                      "/usr/local/lib"};

/* Does a program start with it? */
static bool loads(const char *path) {
    const char *const argv[] = {"/bin/true", NULL};
    hn_arena a = {0};
    const char *env[] = {hn_format(&a, "LD_PRELOAD=%s", path), NULL};
    hn_proc_spec spec = {.argv = argv, .env = env, .cpu = -1, .wall_s = 10};
    hn_proc_result r;
    bool fine = false;
    if (hn_arena_ok(&a) && !hn_proc_run(&spec, NULL, &r, NULL)) {
        fine = r.end == HN_PROC_EXITED && r.code == 0 && !*r.err_tail;
        hn_proc_result_free(&r);
    }
    hn_arena_free(&a);
    return fine;
}

/* The library of this name, in `a`; NULL: there is none that works. */
static const char *find_allocator(hn_arena *a, const struct allocator *x) {
    const char *found = NULL;
    for (size_t f = 0; !found && x->file[f]; f++)
        for (size_t d = 0; !found && d < sizeof folders / sizeof *folders; d++) {
            char pattern[200];
            glob_t g;
            snprintf(pattern, sizeof pattern, "%s/%s", folders[d], x->file[f]);
            if (glob(pattern, 0, NULL, &g)) continue;
            for (size_t i = 0; !found && i < g.gl_pathc; i++)
                if (loads(g.gl_pathv[i])) found = hn_strdup(a, g.gl_pathv[i]);
            globfree(&g);
        }
    return found;
}

static const char *library_of(const hn_plan *plan, const char *name) {
    for (size_t i = 0; i < HN_N_ALLOCATORS; i++)
        if (!strcmp(allocators[i].name, name)) return plan->allocator[i];
    return NULL;
}

/* --- glibc -------------------------------------------------------------------------------------------------------- */

/* Tunables of malloc (glibc manual, "Memory Allocation Tunables"). since: the minor version of glibc 2 that has it. */
static const struct tunable {
    const char *name;
    int since;
    const char *value[4], *doc;
} tunables[] = {
    {"arena_max", 26, {"1", "2", "4", NULL}, "most arenas that threads share"},
    {"mmap_threshold", 26, {"1048576", "8388608", "33554432", NULL}, "blocks from this size on are mapped, in bytes"},
    {"trim_threshold", 26, {"1048576", "33554432", "268435456", NULL}, "free memory at the top that is kept, in bytes"},
    {"top_pad", 26, {"1048576", "16777216", NULL}, "bytes asked of the system beyond what is needed"},
    {"tcache_count", 26, {"0", "32", "127", NULL}, "free blocks of a size that a thread keeps (default 7)"},
    {"tcache_max", 26, {"256", "4096", "16384", NULL}, "largest block that a thread keeps, in bytes"},
    {"hugetlb", 35, {"1", NULL}, "1: malloc asks for transparent huge pages"},
};
enum { N_TUNABLES = sizeof tunables / sizeof *tunables };

static int glibc_minor(void) {
    const char *version = gnu_get_libc_version();
    return hn_starts_with(version, "2.") ? atoi(version + 2) : 0;
}

/* Can a program ask for transparent huge pages here? */
static bool huge_pages(void) {
    char *text = NULL;
    size_t n;
    bool can = !hn_read_file("/sys/kernel/mm/transparent_hugepage/enabled", &text, &n, NULL) &&
               (strstr(text, "[madvise]") || strstr(text, "[always]"));
    free(text);
    return can;
}

/* --- the space ---------------------------------------------------------------------------------------------------- */

static hone_rc add(hn_plan *plan, const char *name, const char *const *value, size_t n, const char *when,
                   const char *doc, hone_err *err) {
    hone_param p = {.name = name,
                    .kind = HONE_CHOICE,
                    .values = value,
                    .n_values = n,
                    .dflt = (double)NAN,
                    .optional = true,
                    .knockout = .6,
                    .when = when,
                    .doc = doc,
                    .tag = "environment"};
    return hone_space_add(plan->space, &p, err);
}

/* Looked for once: trying one starts a program. */
static hone_rc add_allocators(hn_plan *plan, bool *any, hone_err *err) {
    const char *name[HN_N_ALLOCATORS];
    size_t n = 0;
    for (size_t i = 0; i < HN_N_ALLOCATORS; i++) {
        plan->allocator[i] = find_allocator(&plan->arena, &allocators[i]);
        if (plan->allocator[i]) name[n++] = allocators[i].name;
    }
    *any = n > 0;
    return n ? add(plan, ALLOCATOR, name, n, NULL, "allocator that is loaded first; absent: the C library's", err)
             : HONE_OK;
}

static hone_rc add_tunables(hn_plan *plan, bool allocators_too, hone_err *err) {
    int minor = glibc_minor();
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < N_TUNABLES; i++) {
        const struct tunable *x = &tunables[i];
        char name[64];
        size_t n = 0;
        if (minor < x->since || (!strcmp(x->name, "hugetlb") && !huge_pages())) continue;
        while (x->value[n]) n++;
        snprintf(name, sizeof name, "env.malloc.%s", x->name);
        rc = add(plan, name, x->value, n, allocators_too ? "not defined(" ALLOCATOR ")" : NULL, x->doc, err);
    }
    return rc;
}

static hone_rc add_linkers(hn_plan *plan, hone_err *err) {
    const char *name[HN_N_LINKERS];
    size_t n = 0;
    if (!plan->n_targets || !hn_template_has(plan->w->build, "flags")) return HONE_OK;
    for (size_t i = 0; i < HN_N_LINKERS; i++)
        if (hn_linker_works(plan->target[0], hn_linker_at(i))) name[n++] = hn_linker_at(i);
    return n > 1 ? add(plan, LINKER, name, n, NULL, "linker; absent: the compiler's own", err) : HONE_OK;
}

hone_rc hn_environment_add(hn_plan *plan, hone_err *err) {
    const hone_workload *w = plan->w;
    bool any = false;
    hone_rc rc = HONE_OK;
    if (!w->environment) return HONE_OK;
    if (w->on)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "%s: `environment` is about libraries of this machine, but programs run on '%s'; leave one out",
                       w->path, w->on);
    if (w->environment & HN_ENV_ALLOCATOR) rc = add_allocators(plan, &any, err);
    if (!rc && (w->environment & HN_ENV_MALLOC)) rc = add_tunables(plan, any, err);
    if (!rc && (w->environment & HN_ENV_LINKER)) rc = add_linkers(plan, err);
    return rc;
}

/* --- recipes ------------------------------------------------------------------------------------------------------ */

/* The value that the point has for this parameter; NULL: absent, or there is none. */
static const char *chosen(const hn_plan *plan, const double *point, const char *name) {
    size_t i = hone_space_find(plan->space, name);
    if (i == SIZE_MAX || !hone_point_active(plan->space, point, i)) return NULL;
    const hone_param *p = hone_space_param(plan->space, i);
    return isnan(point[p->slot]) ? NULL : p->values[(size_t)point[p->slot]];
}

static void add_variables(const hn_plan *plan, const double *point, hn_recipe *r) {
    hn_arena *a = &r->arena;
    size_t n = 0;
    while (r->env && r->env[n]) n++;
    const char **env = HN_NEW_N(a, const char *, n + 3);
    for (size_t i = 0; env && i < n; i++) env[i] = r->env[i];
    const char *name = chosen(plan, point, ALLOCATOR);
    const char *library = name ? library_of(plan, name) : NULL;
    if (env && library) env[n++] = hn_format(a, "LD_PRELOAD=%s", library);
    hn_str s = {0};
    for (size_t i = 0; i < N_TUNABLES; i++) {
        char full[64];
        snprintf(full, sizeof full, "env.malloc.%s", tunables[i].name);
        const char *value = chosen(plan, point, full);
        if (value) hn_str_addf(&s, "%sglibc.malloc.%s=%s", s.n ? ":" : "", tunables[i].name, value);
    }
    if (env && s.n) env[n++] = hn_format(a, "GLIBC_TUNABLES=%s", s.text);
    a->failed |= s.failed;
    hn_str_free(&s);
    r->env = env;
}

static void add_linker(const hn_plan *plan, const double *point, hn_recipe *r) {
    const char *name = chosen(plan, point, LINKER);
    const char *word = name ? hn_linker_word(&r->arena, r->target, name) : NULL;
    if (!word) return;
    const char **flag = HN_NEW_N(&r->arena, const char *, r->n_flags + 2);
    if (!flag) return;
    for (size_t i = 0; i < r->n_flags; i++) flag[i] = r->flag[i];
    flag[r->n_flags++] = word;
    r->flag = flag;
}

hone_rc hn_environment_apply(const hn_plan *plan, const double *point, hn_recipe *r, hone_err *err) {
    if (!plan->w->environment || !point) return HONE_OK;
    add_variables(plan, point, r);
    add_linker(plan, point, r);
    return hn_arena_ok(&r->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}
