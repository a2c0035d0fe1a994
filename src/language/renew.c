/* renew.c — a model file whose kernels were tuned: CACHE/language/tuned.HASH says when, which the key of its library
 * follows. And folders that stand for a model as it is tuned at one time: a link to it, and a stamp of their own. */
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "language/language_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char stamp_name[] = "tuned", link_name[] = "model", stamp_head[] = "hone tuned 1\n";

static char *stamp_path(const char *real) {
    char hex[33], *cache = hn_cache_dir(), *path = NULL;
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, real);
    hn_hash_end(&h, hex);
    if (cache && asprintf(&path, "%s/language/tuned.%s", cache, hex) < 0) path = NULL;
    free(cache);
    return path;
}

void hn_language_stamp(hn_hash *h, const char *real) {
    char *path = stamp_path(real), *text = NULL;
    size_t n = 0;
    if (path && !hn_read_file(path, &text, &n, NULL)) hn_hash_add(h, text, n);
    free(text);
    free(path);
}

hone_rc hone_text_renew(const char *path, hone_err *err) {
    char *real = realpath(path, NULL), *stamp = real ? stamp_path(real) : NULL, *slash;
    hn_str text = {0};
    hone_rc rc = HONE_OK;
    if (!real) return hn_fail(err, HONE_E_IO, "cannot open '%s'", path);
    hn_str_addf(&text, "%.9f\n", hn_unix_s());
    if (!stamp || text.failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory renewing '%s'", path);
    if (!rc && (slash = strrchr(stamp, '/'))) {
        *slash = 0;
        rc = hn_make_dirs(stamp, err);
        *slash = '/';
    }
    if (!rc) rc = hn_write_file(stamp, text.text, text.n, err);
    hn_str_free(&text);
    free(stamp);
    free(real);
    return rc;
}

/* --- folders --------------------------------------------------------------------------------------------------------
 */

hone_rc hn_language_resolve(const char *path, char **real, char **stamp, hone_err *err) {
    char *file = NULL, *link = NULL, *text = NULL, *found = NULL;
    size_t n = 0;
    hone_rc rc = HONE_OK;
    if (hn_is_folder(path) &&
        (asprintf(&file, "%s/%s", path, stamp_name) < 0 || asprintf(&link, "%s/%s", path, link_name) < 0))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", path);
    bool is_one = !rc && file && link && !hn_read_file(file, &text, &n, NULL) &&
                  !strncmp(text, stamp_head, sizeof stamp_head - 1);
    if (is_one && !(found = realpath(link, NULL)))
        rc = hn_fail(err, HONE_E_IO, "cannot open the model that '%s' leads to: %s", link, strerror(errno));
    if (!rc && !found && !(found = strdup(path))) rc = hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", path);
    free(file);
    free(link);
    if (rc || !is_one) {
        free(text);
        text = NULL;
    }
    if (rc) return rc;
    *real = found;
    *stamp = text;
    return HONE_OK;
}

static hone_rc put_link(const char *real, const char *folder, hone_err *err) {
    char *link = NULL;
    if (asprintf(&link, "%s/%s", folder, link_name) < 0)
        return hn_fail(err, HONE_E_NOMEM, "out of memory making '%s'", folder);
    hone_rc rc = symlink(real, link) ? hn_fail(err, HONE_E_IO, "cannot make '%s': %s", link, strerror(errno)) : HONE_OK;
    free(link);
    return rc;
}

static hone_rc put_stamp(const char *folder, hone_err *err) {
    hn_str text = {0};
    char *path = NULL;
    hn_str_addf(&text, "%s%.9f\n", stamp_head, hn_unix_s());
    hone_rc rc = text.failed || asprintf(&path, "%s/%s", folder, stamp_name) < 0
                     ? hn_fail(err, HONE_E_NOMEM, "out of memory making '%s'", folder)
                     : hn_write_file(path, text.text, text.n, err);
    free(path);
    hn_str_free(&text);
    return rc;
}

/* The stamp is last: a folder without it is none. */
hone_rc hone_text_tuned(const char *path, const char *folder, hone_err *err) {
    char *model = NULL, *stamp = NULL;
    hone_rc rc = hn_language_resolve(path, &model, &stamp, err);
    if (rc) return rc;
    char *real = realpath(model, NULL);
    if (!real) rc = hn_fail(err, HONE_E_IO, "cannot open '%s': %s", model, strerror(errno));
    if (!rc) rc = hn_make_dirs(folder, err);
    if (!rc) rc = put_link(real, folder, err);
    if (!rc) rc = put_stamp(folder, err);
    free(real);
    free(model);
    free(stamp);
    return rc;
}
