/* rollout/sweep.c — versions that nothing can go back to any more, removed from the folder that they were made in.
 *
 * A version stays while a deployment of it is under way, while it answers, while it is what a rollback by hand returns
 * to, and while it is a base. What goes is renamed first, so that a removal that is cut off is found and ended by the
 * next sweep, and looked up once more under its name: a deployment that began meanwhile gets it back. */
#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "rollout/rollouts_int.h"
#include "rollout/versions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char gone_head[] = ".gone-";

/* --- what is needed -------------------------------------------------------------------------------------------------
 */

static bool lies_in(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return path && !strncmp(path, folder, n) && (!path[n] || path[n] == '/');
}

/* Does what answers for the deployment's base, or the version before it, lie in the folder? */
static hone_rc serves(hone_rollouts *r, const char *base, const char *folder, hn_arena *a, bool *out, hone_err *err) {
    hn_serving x = {0};
    hn_deployment d;
    hone_rc rc = hn_serving_get(r->store, base, a, &x, err);
    if (rc || !x.path) return rc;
    *out = lies_in(x.path, folder);
    if (*out || !x.deployment) return HONE_OK;
    rc = hn_deployment_get(r->store, x.deployment, a, &d, err);
    if (!rc) *out = lies_in(d.now, folder);
    return rc;
}

static hone_rc is_needed(hone_rollouts *r, const char *folder, bool *out, hone_err *err) {
    hn_arena a = {0};
    int64_t *id;
    size_t n = 0;
    hone_rc rc = hn_deployment_ids(r->store, NULL, &a, &id, &n, err);
    *out = false;
    for (size_t i = 0; !rc && i < n && !*out; i++) {
        hn_mark mark = hn_arena_mark(&a);
        hn_deployment d;
        rc = hn_deployment_get(r->store, id[i], &a, &d, err);
        if (!rc) *out = lies_in(d.base, folder);
        if (!rc && !*out && !(d.ended_s > 0)) *out = lies_in(d.now, folder) || lies_in(d.next, folder);
        if (!rc && !*out) rc = serves(r, d.base, folder, &a, out, err);
        hn_arena_release(&a, mark);
    }
    hn_arena_free(&a);
    return rc;
}

/* --- removing -------------------------------------------------------------------------------------------------------
 */

typedef struct sweep {
    hone_rollouts *r;
    char *folder; /* without links */
    bool (*may)(void *arg, const char *path);
    void *arg;
    size_t n;
} sweep;

/* A folder that was renamed: ended, or given back where it is needed all the same. */
static hone_rc finish(sweep *s, const char *path, const char *gone, hone_err *err) {
    bool needed;
    hone_rc rc = is_needed(s->r, path, &needed, err);
    if (rc) return rc;
    if (needed) {
        if (rename(gone, path)) return hn_fail(err, HONE_E_IO, "cannot rename '%s': %s", gone, strerror(errno));
        return HONE_OK;
    }
    rc = hn_remove_tree(gone, err);
    s->n += !rc;
    return rc;
}

static hone_rc look_at(sweep *s, const char *name, hone_err *err) {
    bool begun = !strncmp(name, gone_head, sizeof gone_head - 1), needed = false;
    struct stat st;
    char *path = hn_path_join(s->folder, begun ? name + sizeof gone_head - 1 : name);
    char *gone = NULL;
    hone_rc rc = HONE_OK;
    if (asprintf(&gone, "%s/%s%s", s->folder, begun ? "" : gone_head, name) < 0) gone = NULL;
    if (!path || !gone) rc = hn_fail(err, HONE_E_NOMEM, "out of memory removing old versions");
    bool is_version = !rc && !lstat(begun ? gone : path, &st) && S_ISDIR(st.st_mode);
    if (is_version && !begun) rc = is_needed(s->r, path, &needed, err);
    bool goes = is_version && !needed && !rc && (begun || !s->may || s->may(s->arg, path));
    if (goes && !begun && rename(path, gone))
        rc = hn_fail(err, HONE_E_IO, "cannot rename '%s': %s", path, strerror(errno));
    if (goes && !rc) rc = finish(s, path, gone, err);
    free(path);
    free(gone);
    return rc;
}

static hone_rc look_at_all(sweep *s, hone_err *err) {
    struct dirent **entry;
    int n = scandir(s->folder, &entry, NULL, alphasort);
    if (n < 0) return hn_fail(err, HONE_E_IO, "cannot read the folder '%s': %s", s->folder, strerror(errno));
    hone_rc rc = HONE_OK;
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        if (!rc && (*name != '.' || !strncmp(name, gone_head, sizeof gone_head - 1))) rc = look_at(s, name, err);
        free(entry[i]);
    }
    free(entry);
    return rc;
}

hone_rc hone_rollouts_sweep(hone_rollouts *r, const char *folder, bool (*may)(void *arg, const char *path), void *arg,
                            size_t *n, hone_err *err) {
    sweep s = {.r = r, .folder = realpath(folder, NULL), .may = may, .arg = arg};
    *n = 0;
    if (!s.folder && errno == ENOENT) return HONE_OK;
    if (!s.folder) return hn_fail(err, HONE_E_IO, "cannot open '%s': %s", folder, strerror(errno));
    int fd = open(s.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    hone_rc rc = fd < 0 ? hn_fail(err, HONE_E_IO, "cannot open '%s': %s", folder, strerror(errno)) : HONE_OK;
    if (!rc && !flock(fd, LOCK_EX | LOCK_NB)) rc = look_at_all(&s, err); /* else a version is being made */
    if (fd >= 0) close(fd);
    free(s.folder);
    *n = s.n;
    return rc;
}
