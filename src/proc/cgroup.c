/* proc/cgroup.c — a cgroup (v2) for one run: memory and number of processes.
 *
 * hone looks for a place where it may create cgroups: below the one it is in, so that outer limits still apply, or
 * beside it when that part of the tree was delegated to this user. The supervisor creates the run's cgroup, starts
 * the child inside it (clone3 with CLONE_INTO_CGROUP) and removes it. Moving a running process into a cgroup, all
 * that v1 offers, waits for an RCU grace period, 10 ms and more each time, which is too slow, so v1 is not used.
 * Wherever any step fails there is no cgroup, and rlimits and counting by way of /proc serve.
 */
#include "proc/proc_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

/* --- finding a place (hone) ------------------------------------------------------------------------------------ */

static bool gives_to_children(const char *dir) {
    char path[HN_CGROUP_DIR_B + 32], text[512];
    snprintf(path, sizeof path, "%s/cgroup.subtree_control", dir);
    FILE *f = access(dir, W_OK) == 0 ? fopen(path, "re") : NULL;
    bool found = f && fgets(text, sizeof text, f) && strstr(text, "memory") && strstr(text, "pids");
    if (f) fclose(f);
    return found;
}

static bool delegated(const char *dir) {
    struct stat st;
    return geteuid() != 0 && stat(dir, &st) == 0 && st.st_uid == geteuid();
}

static bool find_place(const char *path, char dir[HN_CGROUP_DIR_B]) {
    int n = snprintf(dir, HN_CGROUP_DIR_B, CGROUP_ROOT "%s", strcmp(path, "/") == 0 ? "" : path);
    if (n < 0 || n >= HN_CGROUP_DIR_B - 64) return false;
    if (gives_to_children(dir)) return true;
    *strrchr(dir, '/') = 0;
    return delegated(dir) && gives_to_children(dir);
}

/* The v2 line of /proc/self/cgroup is "0::PATH". */
void hn_cgroup_find(const char *name, char dir[HN_CGROUP_DIR_B]) {
    char line[1024];
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        found = strncmp(line, "0::/", 4) == 0 && find_place(line + 3, dir);
    }
    if (f) fclose(f);
    if (found)
        snprintf(strchr(dir, 0), 64, "/hone-%.48s", name);
    else
        *dir = 0;
}

bool hn_cgroup_offered(void) {
    char dir[HN_CGROUP_DIR_B];
    hn_cgroup_find("probe", dir);
    bool good = *dir && mkdir(dir, 0700) == 0;
    if (good) rmdir(dir);
    return good;
}

/* --- using it (supervisor: async-signal-safe) ------------------------------------------------------------------ */

static bool put_text(int dir, const char *name, const char *text) {
    int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return good;
}

static bool put_number(int dir, const char *name, uint64_t v) {
    char text[24], *p = text + sizeof text;
    *--p = 0;
    do *--p = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    return put_text(dir, name, p);
}

/* The number behind `key` in a small file of "key number" lines; 0 when there is none. */
static uint64_t get_number(int dir, const char *name, const char *key) {
    char text[1024];
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *p = strstr(text, key);
    uint64_t v = 0;
    for (p = p ? p + strlen(key) : ""; *p >= '0' && *p <= '9'; p++) v = v * 10 + (uint64_t)(*p - '0');
    return v;
}

int hn_cgroup_make(const char *path, uint64_t memory_b, unsigned n_procs) {
    if (!*path || mkdir(path, 0700) != 0) return -1;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = dir >= 0;
    if (good && memory_b) {
        good = put_number(dir, "memory.max", memory_b);
        put_text(dir, "memory.swap.max", "0"); /* not there without swap accounting */
    }
    if (good && n_procs) good = put_number(dir, "pids.max", n_procs);
    if (good) return dir;
    if (dir >= 0) close(dir);
    rmdir(path);
    return -1;
}

pid_t hn_cgroup_fork(int dir) {
    struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)dir};
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

void hn_cgroup_stop(int dir) {
    put_text(dir, "pids.max", "0");
    put_text(dir, "cgroup.kill", "1"); /* Linux 5.14 */
}

void hn_cgroup_read(int dir, bool *oom_killed, bool *count_refused) {
    *oom_killed = get_number(dir, "memory.events", "oom_kill ") > 0;
    *count_refused = get_number(dir, "pids.events", "max ") > 0;
}

/* A process leaves its cgroup a moment after it was reaped. */
void hn_cgroup_remove(const char *path) {
    for (int tries = 0; *path && tries < 100 && rmdir(path) != 0 && errno == EBUSY; tries++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}
