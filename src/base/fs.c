/* base/fs.c — files and folders over POSIX. */
#include "base/fs.h"

#include "base/err.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
    FILE *f = fopen(path, "rb");
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

hone_rc hn_write_file(const char *path, const void *data, size_t n, hone_err *err) {
    hn_str tmp = {0};
    hn_str_addf(&tmp, "%s.tmp%ld", path, (long)getpid());
    if (tmp.failed) return hn_fail(err, HONE_E_NOMEM, "out of memory writing '%s'", path);
    int fd = open(tmp.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool ok = fd >= 0 && write_all(fd, data, n) && fsync(fd) == 0;
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
    return ok ? HONE_OK : io_fail(err, "write", path);
}

hone_rc hn_make_dirs(const char *path, hone_err *err) {
    char *copy = strdup(path);
    if (!copy) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = HONE_OK;
    for (char *p = copy + 1; !rc; p++) {
        if (*p && *p != '/') continue;
        char was = *p;
        *p = 0;
        if (*copy && mkdir(copy, 0777) != 0 && errno != EEXIST) rc = io_fail(err, "create folder", copy);
        *p = was;
        if (!was) break;
    }
    free(copy);
    struct stat st;
    if (!rc && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
        rc = hn_fail(err, HONE_E_IO, "'%s' exists and is not a folder", path);
    return rc;
}

static hone_rc remove_at(int parent, const char *name, const char *shown, int depth, hone_err *err) {
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return HONE_OK;
    if ((errno != EISDIR && errno != EPERM) || depth > 200) return io_fail(err, "remove", shown);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0) close(fd);
        return io_fail(err, "remove", shown);
    }
    hone_rc rc = HONE_OK;
    for (struct dirent *e; !rc && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            rc = remove_at(dirfd(d), e->d_name, shown, depth + 1, err);
    closedir(d);
    if (!rc && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) rc = io_fail(err, "remove", shown);
    return rc;
}

hone_rc hn_remove_tree(const char *path, hone_err *err) { return remove_at(AT_FDCWD, path, path, 0, err); }

bool hn_exists(const char *path) { return access(path, F_OK) == 0; }

char *hn_path_join(const char *dir, const char *name) {
    hn_str s = {0};
    if (dir && *name != '/') hn_str_addf(&s, "%s/", dir);
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
