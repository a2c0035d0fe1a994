/* version.c — a name for what a model's file or folder holds, so that two versions can be told apart. */
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "serve/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WHOLE_B = 256 << 20, END_B = 1 << 20, PIECE_B = 1 << 20 };

static bool add_range(hn_hash *h, int fd, char *piece, off_t from, off_t to) {
    while (from < to) {
        size_t want = to - from < PIECE_B ? (size_t)(to - from) : PIECE_B;
        ssize_t n = pread(fd, piece, want, from);
        if (n <= 0) return n == 0; /* it became shorter */
        hn_hash_add(h, piece, (size_t)n);
        from += n;
    }
    return true;
}

/* All of a small file; of a large one its time and its two ends. */
static hone_rc add_file(hn_hash *h, const char *path, const struct stat *st, hone_err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *piece = malloc(PIECE_B);
    int64_t fact[3] = {st->st_size, 0, 0};
    bool fine = fd >= 0 && piece;
    if (fine && st->st_size > WHOLE_B) {
        fact[1] = st->st_mtim.tv_sec;
        fact[2] = st->st_mtim.tv_nsec;
        fine = add_range(h, fd, piece, 0, END_B) && add_range(h, fd, piece, st->st_size - END_B, st->st_size);
    } else if (fine)
        fine = add_range(h, fd, piece, 0, st->st_size);
    hn_hash_add(h, fact, sizeof fact);
    hone_rc rc = fine     ? HONE_OK
                 : !piece ? hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path)
                          : hn_fail(err, HONE_E_IO, "cannot read '%s': %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    free(piece);
    return rc;
}

static int visible(const struct dirent *d) { return d->d_name[0] != '.'; }

/* The files in a folder, by name; folders below it are none of a model's. */
static hone_rc add_folder(hn_hash *h, const char *path, hone_err *err) {
    struct dirent **entry = NULL;
    struct stat st;
    int n = scandir(path, &entry, visible, alphasort);
    hone_rc rc = n < 0 ? hn_fail(err, HONE_E_IO, "cannot read the folder '%s': %s", path, strerror(errno)) : HONE_OK;
    for (int i = 0; i < n; i++) {
        char *file = rc ? NULL : hn_path_join(path, entry[i]->d_name);
        if (file && !stat(file, &st) && S_ISREG(st.st_mode)) {
            hn_hash_text(h, entry[i]->d_name);
            rc = add_file(h, file, &st, err);
        }
        free(file);
        free(entry[i]);
    }
    free(entry);
    return rc;
}

hone_rc hn_version_of(const char *path, char version[40], hone_err *err) {
    struct stat st;
    char hex[33];
    hn_hash h;
    if (stat(path, &st)) return hn_fail(err, HONE_E_IO, "cannot open '%s': there is no such model", path);
    hn_hash_begin(&h);
    hone_rc rc = S_ISDIR(st.st_mode) ? add_folder(&h, path, err) : add_file(&h, path, &st, err);
    if (rc) return rc;
    hn_hash_end(&h, hex);
    memcpy(version, hex, 16);
    version[16] = 0;
    return HONE_OK;
}
