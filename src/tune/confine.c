/* tune/confine.c — see confine.h. */
#include "tune/confine.h"

#include "base/err.h"
#include "base/fs.h"
#include "far/far.h"

#include <stdlib.h>
#include <string.h>

#define TEMP ".tmp" /* of the private folder */

/* Folders outside their own that programs write to. Where the user set the variable, that folder may be written. Else
 * the variable is set to the private temporary folder; a cache that is of use only while it lasts stays in its usual
 * place below the home folder (fallback), which may be written then. */
typedef struct place {
    const char *name;
    bool of_builds;          /* builds alone */
    const char *fallback[2]; /* below the home folder */
} place;

static const place places[] = {
    {"TMPDIR", false, {NULL}},         {"CCACHE_DIR", true, {".cache/ccache", ".ccache"}},
    {"CCACHE_TEMPDIR", true, {NULL}},  {"CUDA_CACHE_PATH", false, {NULL}},
    {"POCL_CACHE_DIR", false, {NULL}},
};
enum { N_PLACES = sizeof places / sizeof *places };

static bool is_set(const hn_proc_spec *spec, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; spec->env && spec->env[i]; i++)
        if (!strncmp(spec->env[i], name, n) && spec->env[i][n] == '=') return true;
    return false;
}

typedef struct lists {
    const char **env, **write;
    size_t n_env, n_write;
} lists;

static void add_place(const place *p, const hn_proc_spec *spec, const char *temp, const char *home, hn_arena *a,
                      lists *l) {
    const char *set = getenv(p->name);
    bool own_temp = !strcmp(p->name, "TMPDIR"); /* the user's is shared with all others */
    if (is_set(spec, p->name)) return;
    if (set && *set && !own_temp)
        l->write[l->n_write++] = set;
    else if (!p->fallback[0])
        l->env[l->n_env++] = hn_format(a, "%s=%s", p->name, temp);
    for (size_t i = 0; home && !(set && *set) && i < 2 && p->fallback[i]; i++)
        l->write[l->n_write++] = hn_format(a, "%s/%s", home, p->fallback[i]);
}

hone_rc hn_confine_run(const hone_workload *w, hn_confined what, hn_arena *a, hn_proc_spec *spec, hone_err *err) {
    if (!w->confine) return HONE_OK;
    lists l = {0};
    size_t n = 0;
    while (spec->env && spec->env[n]) n++;
    bool far = w->far && what == HN_CONFINE_RUN, builds = what == HN_CONFINE_BUILD;
    const char *temp = hn_format(a, "%s/" TEMP, far ? HN_FAR_HERE : spec->cwd);
    l.env = HN_NEW_N(a, const char *, n + N_PLACES + 1);
    l.write = HN_NEW_N(a, const char *, w->n_writable + 2 * N_PLACES + 1);
    if (!temp || !l.env || !l.write) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = far ? HONE_OK : hn_make_dirs(temp, err);
    if (rc) return rc;
    char *full = realpath(temp, NULL), *home = hn_home_dir(); /* the run is in another folder */
    if (full) temp = hn_format(a, "%s", full);
    free(full);
    for (; l.n_env < n; l.n_env++) l.env[l.n_env] = spec->env[l.n_env];
    for (; l.n_write < w->n_writable; l.n_write++) l.write[l.n_write] = w->writable[l.n_write];
    for (size_t i = 0; i < N_PLACES; i++)
        if (builds || !places[i].of_builds) add_place(&places[i], spec, temp, home, a, &l);
    free(home);
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    spec->confine = true;
    spec->env = l.env;
    spec->write = l.write;
    return HONE_OK;
}

const char *hn_confine_hint(const hn_proc_result *r) {
    static const char *const said[] = {"ermission denied",      "PermissionDenied",       "PermissionError",
                                       "Read-only file system", "peration not permitted", "Network is unreachable"};
    for (size_t i = 0; r->confined && i < sizeof said / sizeof *said; i++)
        if (strstr(r->err_tail, said[i]))
            return "; it may write in its private folder alone and has no network: `stages.confine` loosens that";
    return "";
}
