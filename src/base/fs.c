/* base/fs.c — files and folders over POSIX. */
#include "base/fs.h"

#include "base/err.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_MAX_B = 256 << 20 };

static hone_rc io_fail(hone_err *err, const char *verb, const char *path) {
    return hn_fail(err, HONE_E_IO, "cannot %s '%s': %s", verb, path, strerror(errno));
}

hone_rc hn_read_file(const char *path, char **text, size_t *n, hone_err *err) {
    FILE *f = fopen(path, "rbe");
    if (!f) return io_fail(err, "open", path);
    hn_str s = {0};
    char buf[16384];
    size_t got;
    while ((got = fread(buf, 1, sizeof buf, f)) > 0 && s.n <= READ_MAX_B) hn_str_add_n(&s, buf, got);
    bool bad = ferror(f) != 0;
    int why = errno;
    fclose(f);
    if (bad || s.n > READ_MAX_B || s.failed) {
        bool too_large = s.n > READ_MAX_B, no_memory = s.failed;
        hn_str_free(&s);
        errno = why;
        if (too_large) return hn_fail(err, HONE_E_LIMIT, "'%s' is larger than 256 MiB", path);
        if (no_memory) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
        return io_fail(err, "read", path);
    }
    size_t len = s.n;
    char *got_text = hn_str_take(&s);
    if (!got_text) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    *text = got_text;
    *n = len;
    return HONE_OK;
}

static bool write_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) return false;
        p += w;
        n -= (size_t)w;
    }
    return true;
}

/* A new file beside `path` that was not there before and is no link; its name in *name. */
static int open_beside(const char *path, hn_str *name) {
    for (unsigned i = 0; i < 100; i++) {
        name->n = 0;
        hn_str_addf(name, "%s.%ld-%u.tmp", path, (long)getpid(), i);
        if (name->failed) {
            errno = ENOMEM;
            return -1;
        }
        int fd = open(name->text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* Writes the contents of a file. */
typedef bool filler(int fd, void *arg);

static bool write_beside(const char *path, const struct stat *old, filler *fill, void *arg) {
    hn_str tmp = {0};
    int fd = open_beside(path, &tmp);
    bool ok = fd >= 0 && fill(fd, arg) && (!old || fchmod(fd, old->st_mode & 07777) == 0) && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && rename(tmp.text, path) != 0) {
        ok = false;
        why = errno;
    }
    if (!ok && fd >= 0) unlink(tmp.text);
    hn_str_free(&tmp);
    errno = why;
    return ok;
}

static bool write_straight(const char *path, filler *fill, void *arg) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fill(fd, arg);
    int why = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    errno = why;
    return ok;
}

static hone_rc write_filled(const char *path, filler *fill, void *arg, hone_err *err) {
    struct stat st;
    bool there = stat(path, &st) == 0;
    bool special = there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
    bool ok = special ? write_straight(path, fill, arg) : write_beside(path, there ? &st : NULL, fill, arg);
    return ok ? HONE_OK : io_fail(err, "write", path);
}

typedef struct bytes {
    const void *data;
    size_t n;
} bytes;

static bool fill_bytes(int fd, void *arg) {
    const bytes *b = arg;
    return write_all(fd, b->data, b->n);
}

hone_rc hn_write_file(const char *path, const void *data, size_t n, hone_err *err) {
    bytes b = {data, n};
    return write_filled(path, fill_bytes, &b, err);
}

typedef struct stream {
    bool (*put)(FILE *f, void *arg);
    void *arg;
} stream;

static bool fill_stream(int fd, void *arg) {
    const stream *s = arg;
    int own = dup(fd);
    FILE *f = own >= 0 ? fdopen(own, "wb") : NULL;
    if (!f) {
        if (own >= 0) close(own);
        return false;
    }
    bool ok = s->put(f, s->arg) && fflush(f) == 0;
    int why = errno;
    fclose(f);
    errno = why;
    return ok;
}

hone_rc hn_write_stream(const char *path, bool (*put)(FILE *f, void *arg), void *arg, hone_err *err) {
    stream s = {put, arg};
    return write_filled(path, fill_stream, &s, err);
}

hone_rc hn_make_dirs(const char *path, hone_err *err) {
    if (!*path) return hn_fail(err, HONE_E_IO, "cannot create a folder without a name");
    char *copy = strdup(path);
    if (!copy) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = HONE_OK;
    for (char *p = copy + 1; !rc; p++) {
        if (*p && *p != '/') continue;
        char was = *p;
        *p = 0;
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) rc = io_fail(err, "create folder", copy);
        *p = was;
        if (!was) break;
    }
    free(copy);
    struct stat st;
    if (!rc && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
        rc = hn_fail(err, HONE_E_IO, "'%s' exists and is not a folder", path);
    return rc;
}

/* --- removing a tree: by folder descriptors, so that no link in it can lead outside ------------------------------- */

enum { DEPTH_MAX = 100 };

typedef struct removal {
    const char *shown; /* the path asked for, for messages */
    int top;           /* its folder: what lies deeper than DEPTH_MAX is moved up here first */
    dev_t device;
    unsigned n_moved;
    hone_err *err;
} removal;

static hone_rc empty_folder(removal *r, int fd, int depth);

static hone_rc refuse(const removal *r, const char *why) {
    return hn_fail(r->err, HONE_E_IO, "will not remove '%s': %s", r->shown, why);
}

/* Opens a folder to read and write in, whatever its mode says. -1 with errno. */
static int open_folder(int parent, const char *name) {
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, flags);
    if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) fchmod(fd, 0700);
    return fd;
}

static hone_rc remove_at(removal *r, int parent, const char *name, int depth) {
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return HONE_OK;
    if (errno != EISDIR && errno != EPERM) return io_fail(r->err, "remove", r->shown);
    if (depth > DEPTH_MAX) {
        char up[40];
        do {
            snprintf(up, sizeof up, ".hone-removing-%u", r->n_moved++);
            if (renameat(parent, name, r->top, up) == 0) return HONE_OK;
        } while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
        return io_fail(r->err, "remove", r->shown);
    }
    int fd = open_folder(parent, name);
    if (fd < 0) return io_fail(r->err, "remove", r->shown);
    hone_rc rc = empty_folder(r, fd, depth);
    if (!rc && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) rc = io_fail(r->err, "remove", r->shown);
    return rc;
}

/* Takes over fd. */
static hone_rc empty_folder(removal *r, int fd, int depth) {
    struct stat st;
    DIR *d = fstat(fd, &st) == 0 ? fdopendir(fd) : NULL;
    if (!d) {
        close(fd);
        return io_fail(r->err, "remove", r->shown);
    }
    hone_rc rc = st.st_dev == r->device ? HONE_OK : refuse(r, "another file system is mounted in it");
    for (struct dirent *e; !rc && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) rc = remove_at(r, dirfd(d), e->d_name, depth + 1);
    closedir(d);
    return rc;
}

static bool same_folder(const struct stat *a, const char *path) {
    struct stat b;
    return stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

/* Does the current folder lie in it? Climbs by ".." until the root, whose parent is itself. */
static bool holds_current(const struct stat *folder) {
    struct stat now, above;
    int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool found = fd < 0 || fstat(fd, &now) != 0; /* when unknown, assume yes */
    while (!found) {
        found = now.st_dev == folder->st_dev && now.st_ino == folder->st_ino;
        int up = found ? -1 : openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (up < 0 || fstat(up, &above) != 0 || (above.st_dev == now.st_dev && above.st_ino == now.st_ino)) {
            if (up >= 0) close(up);
            break;
        }
        close(fd);
        fd = up;
        now = above;
    }
    if (fd >= 0) close(fd);
    return found;
}

hone_rc hn_remove_tree(const char *path, hone_err *err) {
    removal r = {.shown = path, .err = err};
    struct stat st;
    if (lstat(path, &st) != 0) return errno == ENOENT ? HONE_OK : io_fail(err, "remove", path);
    if (!S_ISDIR(st.st_mode)) return unlink(path) == 0 || errno == ENOENT ? HONE_OK : io_fail(err, "remove", path);
    if (same_folder(&st, "/")) return refuse(&r, "it is the root folder");
    if (holds_current(&st)) return refuse(&r, "the current folder lies in it");
    r.device = st.st_dev;
    r.top = open_folder(AT_FDCWD, path);
    if (r.top < 0) return io_fail(err, "remove", path);
    hone_rc rc = HONE_OK;
    for (unsigned seen = 1; !rc && seen != r.n_moved;) { /* repeat while something was moved up */
        seen = r.n_moved;
        int fd = openat(r.top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        rc = fd < 0 ? io_fail(err, "remove", path) : empty_folder(&r, fd, 0);
    }
    close(r.top);
    if (!rc && rmdir(path) != 0 && errno != ENOENT) rc = io_fail(err, "remove", path);
    return rc;
}

bool hn_exists(const char *path) { return access(path, F_OK) == 0; }

bool hn_is_folder(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

char *hn_path_join(const char *dir, const char *name) {
    hn_str s = {0};
    if (dir && *dir && *name != '/') hn_str_addf(&s, "%s/", dir);
    hn_str_add(&s, name);
    return hn_str_take(&s);
}

static char *executable(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || access(path, X_OK) != 0) return NULL;
    return realpath(path, NULL);
}

char *hn_which(const char *command) {
    if (strchr(command, '/')) return executable(command);
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        hn_str s = {0};
        hn_str_addf(&s, "%.*s/%s", (int)n, p, command);
        char *found = s.failed || n == 0 ? NULL : executable(s.text);
        hn_str_free(&s);
        if (found) return found;
        p += n + (p[n] == ':');
    }
    return NULL;
}

char *hn_home_dir(void) {
    const char *home = getenv("HOME");
    char text[4096];
    struct passwd entry, *found = NULL;
    if (home && *home == '/') return strdup(home);
    bool known = !getpwuid_r(geteuid(), &entry, text, sizeof text, &found) && found && *found->pw_dir == '/';
    return known ? strdup(found->pw_dir) : NULL;
}

bool hn_private_dir(const char *path) {
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

char *hn_cache_dir(void) {
    const char *xdg = getenv("XDG_CACHE_HOME");
    if (xdg && *xdg == '/') return hn_path_join(xdg, "hone");
    char *home = hn_home_dir(), tmp[40];
    if (home) {
        char *dir = hn_path_join(home, ".cache/hone");
        free(home);
        return dir;
    }
    snprintf(tmp, sizeof tmp, "/tmp/hone-%ld", (long)geteuid());
    return strdup(hn_private_dir(tmp) ? tmp : "/dev/null/set-HOME-or-XDG_CACHE_HOME");
}

const char *hn_noexec_advice(const char *why) {
    bool noexec = strstr(why, "failed to map segment") || strstr(why, "Permission denied");
    return noexec ? "; where its file system is mounted noexec, take another folder (TMPDIR names the one for what is "
                    "temporary)"
                  : "";
}

bool hn_is_lfs_pointer(const void *data, size_t n) {
    static const char begin[] = "version https://git-lfs.github.com/spec/";
    return n >= sizeof begin - 1 && !memcmp(data, begin, sizeof begin - 1);
}
