/* target/target.c — a target from open to close; the space from discovery, probing and the cache. */
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "base/str.h"
#include "target/target_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A path with a slash is made absolute, since builds run in folders of their own. */
static const char *make_exec(hn_arena *a, const char *name) {
    const hn_family *family = hn_family_of_command(name);
    if (!strchr(name, '/') && family->locate) {
        char *path = family->locate(name);
        const char *exec = hn_strdup(a, path ? path : name);
        free(path);
        return exec;
    }
    if (!strchr(name, '/') || *name == '/') return hn_strdup(a, name);
    char *cwd = getcwd(NULL, 0);
    const char *path = cwd ? hn_format(a, "%s/%s", cwd, name) : NULL;
    free(cwd);
    return path ? path : hn_strdup(a, name);
}

hone_rc hone_target_open(const char *name, const char *cache_dir, hone_target **out, hone_err *err) {
    if (!name || !*name) return hn_fail(err, HONE_E_TOOL, "a compiler's name is empty; give a command such as 'gcc'");
    hone_target *t = calloc(1, sizeof *t);
    if (!t) return hn_fail(err, HONE_E_NOMEM, "out of memory opening compiler '%s'", name);
    t->print.command = hn_strdup(&t->arena, name);
    t->exec = make_exec(&t->arena, name);
    t->cache_must = cache_dir != NULL;
    t->cache_dir = cache_dir ? strdup(cache_dir) : hn_cache_dir();
    hone_rc rc = HONE_OK;
    if (t->cache_dir && (rc = hn_make_dirs(t->cache_dir, err)) && !cache_dir)
        rc = HONE_OK; /* the default folder is optional */
    if (!rc && t->cache_dir && hn_arena_ok(&t->arena)) rc = hn_target_identify(t, err);
    if (!rc && (!t->cache_dir || !hn_arena_ok(&t->arena)))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory opening compiler '%s'", name);
    if (rc) {
        hone_target_close(t);
        return rc;
    }
    *out = t;
    return HONE_OK;
}

void hone_target_close(hone_target *t) {
    if (!t) return;
    hn_arena_free(&t->arena);
    free(t->cache_dir);
    free(t);
}

const hone_fingerprint *hone_target_fingerprint(const hone_target *t) { return &t->print; }

void hone_target_get_stats(const hone_target *t, hone_target_stats *out) { *out = t->stats; }

char *hn_cache_file(const hone_target *t, const char *name) { return hn_path_join(t->cache_dir, name); }

static void count_classes(hone_target *t, const hn_controls *list) {
    t->stats = (hone_target_stats){.n_discovered = list->n};
    for (size_t i = 0; i < list->n; i++) {
        t->stats.n_unsafe += list->item[i].cls == HN_UNSAFE;
        t->stats.n_numeric += list->item[i].cls == HN_NUMERIC;
    }
}

static size_t n_offerable(const hn_controls *list) {
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) n += list->item[i].cls == HN_CODEGEN || list->item[i].cls == HN_NUMERIC;
    return n;
}

static void drop_unoffered(hn_controls *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->item[i].cls == HN_CODEGEN || list->item[i].cls == HN_NUMERIC) list->item[kept++] = list->item[i];
    list->n = kept;
}

static hone_rc discover_and_probe(hone_target *t, hn_arena *a, const hone_target_options *o, hn_controls *list,
                                  hone_err *err) {
    bool complete = true;
    double start = hn_now_s();
    hone_rc rc = t->family->discover(t, a, o->all, list, err);
    if (rc) return rc;
    count_classes(t, list);
    drop_unoffered(list);
    if (o->no_probe) return HONE_OK;
    size_t before = n_offerable(list);
    if ((rc = hn_target_probe(t, a, list, o, &complete, err))) return rc;
    drop_unoffered(list);
    t->stats.n_rejected = before - list->n;
    t->stats.probe_s = hn_now_s() - start;
    return complete ? hn_cache_write(t, o->all, list, err) : HONE_OK;
}

hone_rc hone_target_space(hone_target *t, const hone_target_options *options, hone_space **out, hone_err *err) {
    hone_target_options o = hone_target_defaults();
    hn_arena scratch = {0};
    hn_controls list = {0};
    hone_rc rc = hn_options_read(&o, sizeof o, options, "target", err);
    if (rc) return rc;
    if (o.no_probe) {
        rc = discover_and_probe(t, &scratch, &o, &list, err);
    } else if (!hn_cache_read(t, &scratch, o.all, &list)) {
        hn_cache_lock lock = hn_cache_lock_take(t, o.all);
        if (!hn_cache_read(t, &scratch, o.all, &list)) rc = discover_and_probe(t, &scratch, &o, &list, err);
        hn_cache_lock_free(&lock);
    }
    if (!rc && (!hn_arena_ok(&scratch) || !hn_arena_ok(&t->arena)))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory listing the controls of '%s'", t->print.command);
    if (!rc) rc = hn_target_build_space(t, &list, &o, out, err);
    hn_arena_free(&scratch);
    return rc;
}
