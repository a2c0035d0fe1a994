/* rollout/versions.c — paths and hashes of versions. */
#include "rollout/versions.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"

#include <hone/rollout.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parts of the path one after the other; ".." takes the last away. */
static void tidy(const char *from, char *to) {
    size_t n = 0;
    while (*from) {
        size_t part = strcspn(from, "/");
        if (part == 2 && !memcmp(from, "..", 2)) {
            while (n && to[--n] != '/') continue;
        } else if (part && !(part == 1 && *from == '.')) {
            to[n++] = '/';
            memcpy(to + n, from, part);
            n += part;
        }
        from += part + (from[part] == '/');
    }
    if (!n) to[n++] = '/';
    to[n] = 0;
}

char *hn_version_path(const char *path) {
    char *here = *path == '/' ? NULL : getcwd(NULL, 0), *whole = hn_path_join(here, path);
    char *out = whole ? malloc(strlen(whole) + 2) : NULL;
    if (out) tidy(whole, out);
    free(here);
    free(whole);
    return out;
}

/* What is done with each file: adds to *h. */
typedef hone_rc visit(hn_hash *h, const char *path, const struct stat *st, hone_err *err);

static hone_rc visit_stamp(hn_hash *h, const char *path, const struct stat *st, hone_err *err) {
    (void)path, (void)err;
    const int64_t part[] = {(int64_t)st->st_dev,         (int64_t)st->st_ino,          (int64_t)st->st_size,
                            (int64_t)st->st_mtim.tv_sec, (int64_t)st->st_mtim.tv_nsec, (int64_t)st->st_ctim.tv_sec,
                            (int64_t)st->st_ctim.tv_nsec};
    hn_hash_add(h, part, sizeof part);
    return HONE_OK;
}

static hone_rc visit_content(hn_hash *h, const char *path, const struct stat *st, hone_err *err) {
    (void)st;
    char hex[33];
    hone_rc rc = hn_hash_file(path, hex, err);
    if (!rc) hn_hash_text(h, hex);
    return rc;
}

enum { WHOLE_B = 256 << 20, END_B = 1 << 20 };

static bool add_range(hn_hash *h, int fd, char *piece, off_t from) {
    ssize_t n = pread(fd, piece, END_B, from);
    if (n > 0) hn_hash_add(h, piece, (size_t)n);
    return n >= 0;
}

/* All of a small file; of a large one its time and its two ends. */
static hone_rc visit_ends(hn_hash *h, const char *path, const struct stat *st, hone_err *err) {
    if (st->st_size <= WHOLE_B) return visit_content(h, path, st, err);
    const int64_t fact[] = {st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *piece = malloc(END_B);
    hn_hash_add(h, fact, sizeof fact);
    hone_rc rc = !piece ? hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path)
                 : fd < 0 || !add_range(h, fd, piece, 0) || !add_range(h, fd, piece, st->st_size - END_B)
                     ? hn_fail(err, HONE_E_IO, "cannot read '%s': %s", path, strerror(errno))
                     : HONE_OK;
    if (fd >= 0) close(fd);
    free(piece);
    return rc;
}

static hone_rc visit_folder(hn_hash *h, const char *path, visit *fn, hone_err *err) {
    struct dirent **entry;
    int n = scandir(path, &entry, NULL, alphasort);
    if (n < 0) return hn_fail(err, HONE_E_IO, "cannot read the folder '%s': %s", path, strerror(errno));
    hone_rc rc = HONE_OK;
    for (int i = 0; i < n; i++) {
        struct stat st;
        char *file = rc ? NULL : hn_path_join(path, entry[i]->d_name);
        if (!rc && !file) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
        if (file && stat(file, &st) == 0 && S_ISREG(st.st_mode)) {
            hn_hash_text(h, entry[i]->d_name);
            rc = fn(h, file, &st, err);
        }
        free(file);
        free(entry[i]);
    }
    free(entry);
    return rc;
}

static hone_rc hash_all(const char *path, visit *fn, char hex[33], hone_err *err) {
    struct stat st;
    hn_hash h;
    if (stat(path, &st))
        return hn_fail(err, HONE_E_IO, "cannot open '%s': %s", path,
                       errno == ENOENT ? "there is no such model" : strerror(errno));
    hn_hash_begin(&h);
    hone_rc rc = S_ISDIR(st.st_mode) ? visit_folder(&h, path, fn, err) : fn(&h, path, &st, err);
    if (!rc) hn_hash_end(&h, hex);
    return rc;
}

hone_rc hone_rollout_version_name(const char *path, char name[17], hone_err *err) {
    char hex[33];
    hone_rc rc = hash_all(path, visit_ends, hex, err);
    if (!rc) snprintf(name, 17, "%.16s", hex);
    return rc;
}
hone_rc hn_version_stamp(const char *path, char stamp[33], hone_err *err) {
    return hash_all(path, visit_stamp, stamp, err);
}
hone_rc hn_version_hash(const char *path, char hash[33], hone_err *err) {
    return hash_all(path, visit_content, hash, err);
}
