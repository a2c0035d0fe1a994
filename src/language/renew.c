/* renew.c — a model file whose kernels were tuned: CACHE/language/tuned.HASH says when, which the key of its library
 * follows. */
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "language/language_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
