/* far/agent.c — the agent: what hone runs on another machine. It keeps its files in the folder it is started in:
 * `blobs`, contents by their hash; `w/ID`, the folders of one hone; `.lock`, held while something runs.
 *
 * It ends when its standard input does, and takes what runs and its own folders with it. Folders of an agent that died
 * with its machine are removed by the next one.
 */
#ifdef HN_FAR_AGENT_MAIN

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "far/gpus.h"
#include "far/wire.h"
#include "proc/proc.h"

#include <hone/machine.h>
#include <hone/process.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static const double beat_s = 2, look_s = 0.2;
static const double keep_blobs_s = 7 * 24 * 3600.0;

typedef struct agent {
    char mine[PATH_MAX]; /* absolute: the folder of this hone */
    int mine_fd, lock_fd;
} agent;

/* --- the stream --------------------------------------------------------------------------------------------------- */

static bool read_all(char *p, size_t n) {
    while (n > 0) {
        ssize_t k = read(0, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static bool write_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* Without its reader there is nothing left to do. */
static void say(char kind, const char *data, size_t n) {
    char head[HN_FAR_HEAD_B + 1];
    hn_far_head(head, kind, n);
    if (!write_all(1, head, HN_FAR_HEAD_B) || !write_all(1, data, n)) _exit(1);
}

static void say_error(const char *text) { say('e', text, strlen(text) + 1); }

static void say_failed(const char *what, const char *path) {
    char text[600];
    snprintf(text, sizeof text, "%s '%.300s': %s", what, path, strerror(errno));
    say_error(text);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static bool is_hash(const char *text) { return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32; }

static void blob_path(const char *hash, char path[64]) { snprintf(path, 64, "blobs/%.32s", hash); }

static void take_blob(const char *data, size_t n) {
    const char *nul = memchr(data, 0, n);
    char path[64], part[80];
    if (!nul || !is_hash(data)) {
        say_error("a damaged message: contents without a hash");
        return;
    }
    blob_path(data, path);
    snprintf(part, sizeof part, "%s.%ld", path, (long)getpid());
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_all(fd, nul + 1, n - (size_t)(nul + 1 - data));
    good = fd >= 0 && close(fd) == 0 && good;
    if (!good || rename(part, path) != 0) {
        say_failed("cannot write", path);
        unlink(part);
    }
}

typedef struct file {
    const char *path, *hash;
    mode_t mode;
    double size;
} file;

static bool next_file(hn_far_fields *f, file *out) {
    *out = (file){.path = hn_far_field(f)};
    out->mode = (mode_t)hn_far_number(f) & 0777;
    out->size = hn_far_number(f);
    out->hash = hn_far_field(f);
    return !f->bad && hn_far_is_inside(out->path) && is_hash(out->hash);
}

static bool has_blob(const file *x) {
    struct stat st;
    char path[64];
    blob_path(x->hash, path);
    if (stat(path, &st) != 0 || (double)st.st_size != x->size) return false;
    utimensat(AT_FDCWD, path, NULL, 0); /* used today */
    return true;
}

static bool is_name(const char *text) { return *text && !strchr(text, '/') && *text != '.'; }

static void ask_for_missing(hn_far_fields f) {
    hn_str missing = {0};
    const char *name = hn_far_field(&f);
    file x;
    bool good = is_name(name);
    while (good && f.at < f.end && (good = next_file(&f, &x)))
        if (!has_blob(&x)) hn_far_put(&missing, x.hash);
    if (!good || missing.failed)
        say_error("a damaged list of files");
    else
        say('n', missing.text ? missing.text : "", missing.n);
    hn_str_free(&missing);
}

static bool copy_blob(const file *x, const char *to) {
    char from[64], buf[65536];
    blob_path(x->hash, from);
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, x->mode | 0600);
    bool good = in >= 0 && out >= 0;
    for (ssize_t n; good && (n = read(in, buf, sizeof buf)) != 0;) good = n > 0 && write_all(out, buf, (size_t)n);
    if (in >= 0) close(in);
    if (out >= 0) good = close(out) == 0 && good;
    return good;
}

static bool put_file(const char *folder, const file *x) {
    char to[PATH_MAX];
    if (snprintf(to, sizeof to, "%s/%s", folder, x->path) >= (int)sizeof to) return false;
    char *slash = strrchr(to, '/');
    *slash = 0;
    bool good = !hn_make_dirs(to, NULL);
    *slash = '/';
    return good && copy_blob(x, to);
}

static bool folder_of(const agent *a, const char *name, char path[PATH_MAX]) {
    return is_name(name) && snprintf(path, PATH_MAX, "%s/%s", a->mine, name) < PATH_MAX - 16;
}

static void lay_out(const agent *a, hn_far_fields f) {
    char folder[PATH_MAX], temp[PATH_MAX + 8];
    hone_err err;
    file x;
    if (!folder_of(a, hn_far_field(&f), folder)) {
        say_error("a damaged list of files");
        return;
    }
    snprintf(temp, sizeof temp, "%s/.tmp", folder);
    if (hn_remove_tree(folder, &err) || hn_make_dirs(temp, &err)) {
        say_error(err.text);
        return;
    }
    while (f.at < f.end) {
        if (!next_file(&f, &x)) {
            say_error("a damaged list of files");
            return;
        }
        if (!put_file(folder, &x)) {
            say_failed("cannot write", x.path);
            return;
        }
    }
    say('k', "", 0);
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

static int last_core(void) {
    cpu_set_t set;
    int last = -1;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) last = i;
    return last;
}

/* Did the other side end, or say stop? */
static bool asked_to_stop(void) {
    struct pollfd fd = {0, POLLIN, 0};
    char head[HN_FAR_HEAD_B];
    if (poll(&fd, 1, 0) <= 0) return false;
    if (!read_all(head, sizeof head)) _exit(0); /* the supervisor sees that this process is gone */
    return head[2] == 's';
}

static bool beat(double *next_s) {
    if (hn_now_s() >= *next_s) {
        say('.', "", 0);
        *next_s = hn_now_s() + beat_s;
    }
    return true;
}

/* One run at a time on this machine. */
static bool take_turn(const agent *a) {
    double next_s = hn_now_s() + beat_s;
    while (flock(a->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (asked_to_stop()) return false;
        beat(&next_s);
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
    return true;
}

static void remove_back(const char *folder, const char *const *back) {
    char path[PATH_MAX];
    for (; *back; back++)
        if (hn_far_is_inside(*back) && snprintf(path, sizeof path, "%s/%s", folder, *back) < (int)sizeof path)
            unlink(path);
}

static void send_file(const char *name, const char *data, size_t n) {
    hn_str s = {0};
    hn_far_put(&s, name);
    hn_str_add_n(&s, data, n);
    if (s.failed)
        say_error("out of memory");
    else
        say('o', s.text, s.n);
    hn_str_free(&s);
}

static void send_back(const char *folder, const char *const *back) {
    char path[PATH_MAX];
    struct stat st;
    for (; *back; back++) {
        char *text;
        size_t n;
        if (!hn_far_is_inside(*back) || snprintf(path, sizeof path, "%s/%s", folder, *back) >= (int)sizeof path)
            continue;
        if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || hn_read_file(path, &text, &n, NULL)) continue;
        send_file(*back, text, n);
        free(text);
    }
}

static void send_result(const hn_proc_result *r) {
    hn_str s = {0};
    const double number[] = {r->end,      r->code,    (double)r->signal,    r->wall_s,
                             r->user_s,   r->sys_s,   (double)r->max_rss_b, r->instructions,
                             r->energy_j, r->confined};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) hn_far_put_number(&s, number[i]);
    hn_far_put(&s, r->err_tail);
    if (s.failed)
        say_error("out of memory");
    else
        say('d', s.text, s.n);
    hn_str_free(&s);
}

static void carry_out(const agent *a, const char *folder, const hn_proc_spec *spec, const char *const *back) {
    hn_proc *proc;
    hn_proc_result r;
    hone_err err;
    bool stop = false;
    if (!take_turn(a)) {
        r = (hn_proc_result){.end = HN_PROC_STOPPED};
        send_result(&r);
        return;
    }
    remove_back(folder, back);
    hone_rc rc = hn_proc_start(spec, &proc, &err);
    if (!rc) {
        double next_s = hn_now_s() + beat_s;
        while (hn_proc_wait_any(&proc, 1, look_s, NULL) < 0) {
            if (!stop && (stop = asked_to_stop())) hn_proc_kill(proc);
            beat(&next_s);
        }
        hn_proc_collect(proc, &r);
    }
    flock(a->lock_fd, LOCK_UN);
    if (rc) {
        say_error(err.text);
        return;
    }
    send_back(folder, back);
    send_file("", r.out ? r.out : "", r.out_n);
    send_result(&r);
    hn_proc_result_free(&r);
}

/* The folder's own path for HN_FAR_HERE; malloc'ed. */
static char *replaced(const char *text, const char *mark, const char *folder) {
    const char *at = strstr(text, mark);
    hn_str s = {0};
    if (!at) return strdup(text);
    hn_str_add_n(&s, text, (size_t)(at - text));
    hn_str_add(&s, folder);
    hn_str_add(&s, at + strlen(mark));
    return hn_str_take(&s);
}

static void run(const agent *a, hn_far_fields f) {
    char folder[PATH_MAX];
    bool known = folder_of(a, hn_far_field(&f), folder);
    hn_proc_spec spec = {.shell = hn_far_field(&f), .cwd = folder};
    spec.cpu = (int)hn_far_number(&f);
    spec.stack_pad_b = (size_t)hn_far_number(&f);
    spec.wall_s = hn_far_number(&f);
    spec.cpu_s = hn_far_number(&f);
    spec.memory_b = (uint64_t)hn_far_number(&f);
    spec.file_b = (uint64_t)hn_far_number(&f);
    spec.out_b = (uint64_t)hn_far_number(&f);
    spec.keep_b = (uint64_t)hn_far_number(&f);
    spec.n_procs = (unsigned)hn_far_number(&f);
    unsigned flags = (unsigned)hn_far_number(&f);
    const char *mark = hn_far_field(&f);
    const char **env = hn_far_list(&f), **write = hn_far_list(&f), **back = hn_far_list(&f);
    spec.no_aslr = flags & 1;
    spec.count_instructions = flags & 2;
    spec.count_energy = flags & 4;
    spec.confine = flags & 8;
    spec.env = env;
    spec.write = write;
    if (spec.cpu < 0) spec.cpu = last_core();
    bool good = known && env && write && back && !f.bad;
    for (size_t i = 0; good && env[i]; i++) good = (env[i] = replaced(env[i], mark, folder)) != NULL;
    if (good)
        carry_out(a, folder, &spec, back);
    else
        say_error(known ? "a damaged description of a run" : "a damaged name of a folder");
    for (size_t i = 0; good && env[i]; i++) free((char *)(uintptr_t)env[i]);
    free(env);
    free(write);
    free(back);
}

/* --- the machine -------------------------------------------------------------------------------------------------- */

static void describe(void) {
    hone_machine m;
    hone_confinement c;
    struct statvfs fs;
    char gpus[512];
    hn_str s = {0};
    hone_machine_get(&m);
    hone_process_confinement(&c);
    hn_far_gpus(gpus, sizeof gpus);
    const char *const text[] = {m.cpu, m.kernel, m.governor, m.os, m.features, m.hash, gpus, c.by};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) hn_far_put(&s, text[i]);
    double free_b = statvfs(".", &fs) == 0 ? (double)fs.f_bavail * (double)fs.f_frsize : 0;
    const double number[] = {
        m.n_cpu,     m.n_usable, (double)m.memory_b, m.turbo,   m.smt, m.virtual_machine, m.perf_instructions, m.rapl,
        m.callgrind, m.cgroup,   c.writes,           c.network, free_b};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) hn_far_put_number(&s, number[i]);
    say('i', s.text ? s.text : "", s.failed ? 0 : s.n);
    hn_str_free(&s);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void drop(const agent *a, const char *name) {
    char folder[PATH_MAX];
    if (folder_of(a, name, folder)) hn_remove_tree(folder, NULL);
}

/* Folders that no agent holds, and contents that were not used for a week. */
static void clear_up(void) {
    char path[PATH_MAX];
    struct stat st;
    DIR *d = opendir("w");
    for (struct dirent *e; d && (e = readdir(d));) {
        if (*e->d_name == '.' || snprintf(path, sizeof path, "w/%s", e->d_name) >= (int)sizeof path) continue;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) hn_remove_tree(path, NULL);
        if (fd >= 0) close(fd);
    }
    if (d) closedir(d);
    d = opendir("blobs");
    for (struct dirent *e; d && (e = readdir(d));) {
        if (*e->d_name == '.' || snprintf(path, sizeof path, "blobs/%s", e->d_name) >= (int)sizeof path) continue;
        if (stat(path, &st) == 0 && (double)(time(NULL) - st.st_mtime) > keep_blobs_s) unlink(path);
    }
    if (d) closedir(d);
}

static bool set_up(agent *a) {
    char here[PATH_MAX - 64];
    if (!getcwd(here, sizeof here)) return false;
    mkdir("blobs", 0700);
    mkdir("w", 0700);
    a->lock_fd = open(".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    clear_up();
    snprintf(a->mine, sizeof a->mine, "%s/w/%ld-%ld", here, (long)getpid(), (long)time(NULL));
    if (mkdir(a->mine, 0700) != 0) return false;
    a->mine_fd = open(a->mine, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return a->lock_fd >= 0 && a->mine_fd >= 0 && flock(a->mine_fd, LOCK_SH | LOCK_NB) == 0;
}

static void answer(const agent *a, char kind, const char *data, size_t n) {
    hn_far_fields f = {data, data + n, false};
    switch (kind) {
    case 'f': ask_for_missing(f); break;
    case 'b': take_blob(data, n); break;
    case 'l': lay_out(a, f); break;
    case 'r': run(a, f); break;
    case 'x': drop(a, hn_far_field(&f)); break;
    case 'i': describe(); break;
    default: break; /* 's' after the run has ended by itself */
    }
}

int main(void) {
    agent a;
    char head[HN_FAR_HEAD_B], kind, *data;
    size_t n;
    sigset_t pipe_only;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigprocmask(SIG_BLOCK, &pipe_only, NULL);
    if (!set_up(&a)) {
        char why[200];
        int len = snprintf(why, sizeof why, "hone: cannot keep files in this folder: %s\n", strerror(errno));
        write_all(2, why, (size_t)len);
        return 1;
    }
    if (!write_all(1, HN_FAR_HELLO, strlen(HN_FAR_HELLO))) return 1;
    while (read_all(head, sizeof head) && hn_far_read_head(head, &kind, &n) && (data = malloc(n + 1))) {
        data[n] = 0;
        bool whole = read_all(data, n);
        if (whole) answer(&a, kind, data, n);
        free(data);
        if (!whole) break;
    }
    hn_remove_tree(a.mine, NULL);
    return 0;
}

#else
typedef int hn_far_agent_is_a_program_of_its_own;
#endif
