/* record/store_lock.c — one writer per session: a byte of the file `lock`, at the session's number, locked for as long
 * as the store is open. Open-file-description locks (fcntl F_OFD_SETLK) are released by the kernel however a process
 * ends, and also exclude two stores of one process. The session's row names the holder, for messages. */
#include "record/store_int.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_line(const char *path, char *buf, size_t n) {
    FILE *f = fopen(path, "re");
    bool got = f && fgets(buf, (int)n, f);
    if (f) fclose(f);
    if (!got) *buf = 0;
    buf[strcspn(buf, "\n")] = 0;
    return got;
}

/* Field 22 of /proc/PID/stat: start time in ticks since boot, which tells a process from a later one of its number. */
static unsigned long long start_of(long pid) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (!read_line(path, line, sizeof line)) return 0;
    char *at = strrchr(line, ')');
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

const char *hn_store_holder(char buf[160]) {
    char boot[64];
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    snprintf(buf, 160, "pid %ld start %llu boot %s", (long)getpid(), start_of((long)getpid()), boot);
    return buf;
}

/* True when the holder's process is certainly gone: its lock is then about to be free. */
static bool is_dead(const char *holder) {
    long pid;
    unsigned long long start;
    char boot[64], now[64];
    if (sscanf(holder, "pid %ld start %llu boot %63s", &pid, &start, boot) != 3) return false;
    read_line("/proc/sys/kernel/random/boot_id", now, sizeof now);
    return strcmp(boot, now) != 0 || start_of(pid) != start;
}

static struct flock byte_of(int64_t session, short type) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)session, .l_len = 1};
}

static int open_lock(const hone_store *s, int flags) {
    char *path = hn_path_join(s->dir, "lock");
    int fd = path ? open(path, flags | O_CLOEXEC, 0644) : -1;
    free(path);
    return fd;
}

static void read_holder(hone_store *s, int64_t session, char *buf, size_t n) {
    bool row = false;
    sqlite3_stmt *q;
    *buf = 0;
    if (hn_store_stmt(s, HN_SQL_GET_HOLDER, &q, NULL)) return;
    sqlite3_bind_int64(q, 1, session);
    if (!hn_store_step(s, q, &row, NULL) && row) snprintf(buf, n, "%s", hn_column(q, 0));
    sqlite3_reset(q);
}

hone_rc hn_store_lock(hone_store *s, int64_t session, hone_err *err) {
    if (s->locked == session) return HONE_OK;
    if (s->locked)
        return hn_fail(err, HONE_E_BUSY, "this store already writes session %lld; end it first", (long long)s->locked);
    if (s->lock_fd < 0) s->lock_fd = open_lock(s, O_RDWR | O_CREAT);
    if (s->lock_fd < 0) return hn_fail(err, HONE_E_STORE, "cannot open '%s/lock': %s", s->dir, strerror(errno));
    char holder[160];
    const double until = hn_now_s() + 2;
    for (;;) {
        struct flock l = byte_of(session, F_WRLCK);
        if (fcntl(s->lock_fd, F_OFD_SETLK, &l) == 0) {
            s->locked = session;
            return HONE_OK;
        }
        if (errno != EAGAIN && errno != EACCES)
            return hn_fail(err, HONE_E_STORE, "cannot lock '%s/lock': %s", s->dir, strerror(errno));
        read_holder(s, session, holder, sizeof holder);
        if (!is_dead(holder) || hn_now_s() > until) break;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return hn_fail(err, HONE_E_BUSY, "session %lld of '%s' is being written by process %.*s", (long long)session,
                   s->dir, (int)strcspn(holder + (*holder ? 4 : 0), " "), *holder ? holder + 4 : "?");
}

void hn_store_unlock(hone_store *s) {
    if (s->lock_fd >= 0) close(s->lock_fd);
    s->lock_fd = -1;
    s->locked = 0;
}

bool hn_store_is_locked(const hone_store *s, int64_t session) {
    if (s->locked == session) return true;
    int fd = open_lock(s, O_RDONLY);
    struct flock l = byte_of(session, F_WRLCK);
    bool held = fd >= 0 && fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
    if (fd >= 0) close(fd);
    return held;
}
