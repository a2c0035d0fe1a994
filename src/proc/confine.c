/* proc/confine.c — what a run is kept from: writes outside the folders it was given, and the network.
 *
 * Writes: Landlock (Linux 5.13), by its system calls, as the C library has no functions for them. Each version of its
 * interface knows more rights; those that the kernel knows are handled. Without it: a user namespace and a mount
 * namespace, in which all is mounted read-only but the folders that may be written. Reading stays free. Network:
 * sockets of other families than local and netlink are refused by a seccomp filter, and where Landlock knows of TCP
 * (version 4) by it, too. The filter says that the run wants no slow-downs against speculation (SPEC_ALLOW), so that
 * nothing timed changes. All of it holds for the process and its descendants for ever and needs no rights; set-user-id
 * programs run without theirs. What the kernel does not offer is left out; the bits given back say what holds.
 * Async-signal-safe, as it runs between vfork and exec.
 */
#include "proc/proc_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- Landlock (landlock(7); headers of older systems know a part) ------------------------ */

enum { LANDLOCK_CREATE = 444, LANDLOCK_ADD = 445, LANDLOCK_RESTRICT = 446, ASK_VERSION = 1, BENEATH = 1 };
enum {
    MAY_WRITE = 1 << 1,
    MAY_REMOVE = 1 << 4 | 1 << 5,          /* folders, files */
    MAY_MAKE = 0x7f << 6,                  /* devices, folders, files, sockets, pipes, links */
    MAY_MOVE = 1 << 13,                    /* from folder to folder; version 2 */
    MAY_TRUNCATE = 1 << 14,                /* version 3 */
    MAY_BIND_OR_CONNECT = 1 << 0 | 1 << 1, /* TCP; version 4 */
    NO_SIGNALS = 1 << 1,                   /* to processes outside; version 6 */
};

typedef struct ruleset {
    uint64_t files, net, scoped;
} ruleset;

typedef struct __attribute__((packed)) rule {
    uint64_t may;
    int32_t at;
} rule;

static int version(void) {
    long v = syscall(LANDLOCK_CREATE, NULL, 0, ASK_VERSION);
    return v > 0 ? (int)v : 0;
}

static uint64_t rights_of(int v) {
    return MAY_WRITE | MAY_REMOVE | MAY_MAKE | (v >= 2 ? MAY_MOVE : 0) | (v >= 3 ? MAY_TRUNCATE : 0);
}

static void allow(int set, const char *path, uint64_t rights) {
    struct stat st;
    int at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0) return;
    rule r = {rights, at};
    if (fstat(at, &st) == 0 && !S_ISDIR(st.st_mode)) r.may &= MAY_WRITE | MAY_TRUNCATE;
    syscall(LANDLOCK_ADD, set, BENEATH, &r, 0);
    close(at);
}

/* Files of the system that are no one's: the usual devices, shared memory, and the processors that are not the CPU. */
static void allow_devices(int set, uint64_t rights) {
    static const char *const path[] = {
        "/dev/null",          "/dev/zero",        "/dev/full",      "/dev/random",     "/dev/urandom",
        "/dev/tty",           "/dev/shm",         "/dev/dri",       "/dev/kfd",        "/dev/accel",
        "/dev/dxg",           "/dev/nvidia-caps", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
        "/dev/nvidia-modeset"};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) allow(set, path[i], rights);
    char name[40] = "/dev/nvidia";
    for (int i = 0; i < 32; i++) {
        char *p = name + 11;
        if (i > 9) *p++ = (char)('0' + i / 10);
        *p++ = (char)('0' + i % 10);
        *p = 0;
        allow(set, name, rights);
    }
}

static unsigned by_landlock(const char *here, const char *paths) {
    int v = version();
    if (v < 1) return 0;
    uint64_t rights = rights_of(v);
    ruleset want = {rights, v >= 4 ? MAY_BIND_OR_CONNECT : 0, v >= 6 ? NO_SIGNALS : 0};
    size_t size = v >= 6 ? sizeof want : v >= 4 ? offsetof(ruleset, scoped) : offsetof(ruleset, net);
    int set = (int)syscall(LANDLOCK_CREATE, &want, size, 0);
    if (set < 0) return 0;
    allow(set, here, rights);
    for (const char *p = paths; p && *p; p += strlen(p) + 1) allow(set, p, rights);
    allow_devices(set, rights);
    bool held = syscall(LANDLOCK_RESTRICT, set, 0) == 0;
    close(set);
    return held ? HN_CONFINED_WRITES | HN_BY_LANDLOCK : 0;
}

/* --- a user namespace and a mount namespace ----------------------------------------------------------------------- */

enum { MOUNT_SETATTR = 442, READ_ONLY = 1, ALL_BELOW = 0x8000, PATH_B = 4096 };

struct attributes {
    uint64_t set, clear, propagation, user_ns;
};

/* Linux 5.12. */
static bool set_read_only(const char *path, bool all_below, bool on) {
    struct attributes a = {.set = on ? READ_ONLY : 0, .clear = on ? 0 : READ_ONLY};
    return syscall(MOUNT_SETATTR, AT_FDCWD, path, all_below ? ALL_BELOW : 0, &a, sizeof a) == 0;
}

static bool put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return good;
}

/* "ID ID 1" */
static bool put_map(const char *path, unsigned id) {
    char text[40], digits[12];
    size_t n = 0, at = 0;
    do digits[n++] = (char)('0' + id % 10);
    while ((id /= 10) > 0);
    for (int k = 0; k < 2; k++) {
        for (size_t i = n; i-- > 0;) text[at++] = digits[i];
        text[at++] = ' ';
    }
    text[at++] = '1';
    text[at] = 0;
    return put(path, text);
}

/* A mount point of mountinfo: blanks and backslashes are three octal digits. In place. */
static void unescape(char *s) {
    char *to = s;
    for (; *s; s++) {
        if (*s == '\\' && s[1] && s[2] && s[3]) {
            *to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
            s += 3;
        } else
            *to++ = *s;
    }
    *to = 0;
}

/* Flags that this namespace may not take away. */
static unsigned long locked_flags(const char *options) {
    static const struct {
        const char *name;
        unsigned long flag;
    } known[] = {{"nosuid", MS_NOSUID},   {"nodev", MS_NODEV},           {"noexec", MS_NOEXEC},
                 {"noatime", MS_NOATIME}, {"nodiratime", MS_NODIRATIME}, {"relatime", MS_RELATIME},
                 {"ro", MS_RDONLY}};
    unsigned long flags = 0;
    for (const char *p = options; *p; p += strcspn(p, ","), p += *p == ',')
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcspn(p, ",") == strlen(known[i].name) && !strncmp(p, known[i].name, strlen(known[i].name)))
                flags |= known[i].flag;
    return flags;
}

static bool is_among(const char *point, const char *here, const char *paths) {
    if (!strcmp(point, here) || !strcmp(point, "/dev/shm")) return true;
    for (const char *p = paths; p && *p; p += strlen(p) + 1)
        if (!strcmp(point, p)) return true;
    return false;
}

/* A line of mountinfo, whose fifth and sixth fields are the mount point and its options. */
static bool remount(char *line, const char *here, const char *paths) {
    char *field[6], *p = line;
    for (size_t i = 0; i < 6; i++) {
        field[i] = p;
        p += strcspn(p, " ");
        if (!*p) return true;
        *p++ = 0;
    }
    unescape(field[4]);
    if (is_among(field[4], here, paths)) return true;
    unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | locked_flags(field[5]);
    bool good = mount(NULL, field[4], NULL, flags, NULL) == 0;
    return good || strcmp(field[4], "/") != 0;
}

/* Before Linux 5.12: mount by mount. False when the root stays writable. */
static bool remount_all(const char *here, const char *paths) {
    char buf[PATH_B * 2];
    size_t n = 0;
    bool good = true;
    int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    for (ssize_t k; good && (k = read(fd, buf + n, sizeof buf - 1 - n)) > 0;) {
        n += (size_t)k;
        buf[n] = 0;
        char *line = buf;
        for (char *end; good && (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            good = remount(line, here, paths);
        }
        n -= (size_t)(line - buf);
        memmove(buf, line, n);
        if (n == sizeof buf - 1) n = 0; /* a line that is too long */
    }
    close(fd);
    return good;
}

static void keep_writable(const char *path) {
    if (*path == '/') mount(path, path, NULL, MS_BIND, NULL);
}

static bool make_read_only(const char *here, const char *paths, bool one_by_one) {
    keep_writable(here);
    keep_writable("/dev/shm");
    for (const char *p = paths; p && *p; p += strlen(p) + 1) keep_writable(p);
    if (one_by_one || !set_read_only("/", true, true)) return remount_all(here, paths);
    set_read_only(here, false, false);
    set_read_only("/dev/shm", false, false);
    for (const char *p = paths; p && *p; p += strlen(p) + 1) set_read_only(p, false, false);
    return true;
}

/* What a new namespace gives this process is given back: neither it nor what it executes mounts anything. */
static bool give_up_rights(void) {
    return prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0) == 0;
}

static unsigned by_namespace(const char *here, const char *paths, bool one_by_one) {
    char folder[PATH_B];
    unsigned uid = geteuid(), gid = getegid();
    if (chdir(here) != 0 || syscall(SYS_getcwd, folder, sizeof folder) <= 0) return 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 0;
    put("/proc/self/setgroups", "deny");
    bool good = put_map("/proc/self/uid_map", uid) && put_map("/proc/self/gid_map", gid) &&
                mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && make_read_only(folder, paths, one_by_one);
    good = chdir(folder) == 0 && good; /* into the mount of its own */
    return give_up_rights() && good ? HN_CONFINED_WRITES | HN_BY_NAMESPACE : 0;
}

/* --- seccomp ------------------------------------------------------------------------------------------------------ */

#if defined __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define NATIVE AUDIT_ARCH_AARCH64
#endif

/* socket() of another family than these two gives EACCES. Programs of another word size are not looked at. */
static unsigned by_seccomp(void) {
#ifdef NATIVE
    enum { LOAD = BPF_LD | BPF_W | BPF_ABS, EQUAL = BPF_JMP | BPF_JEQ | BPF_K, END = BPF_RET | BPF_K };
    struct sock_filter code[] = {
        BPF_STMT(LOAD, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(EQUAL, NATIVE, 0, 5),
        BPF_STMT(LOAD, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(EQUAL, SYS_socket, 0, 3),
        BPF_STMT(LOAD, offsetof(struct seccomp_data, args)), /* its lower half: both machines are little-endian */
        BPF_JUMP(EQUAL, AF_UNIX, 1, 0),
        BPF_JUMP(EQUAL, AF_NETLINK, 0, 1),
        BPF_STMT(END, SECCOMP_RET_ALLOW),
        BPF_STMT(END, SECCOMP_RET_ERRNO | EACCES),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0
               ? HN_CONFINED_NETWORK
               : 0;
#else
    return 0;
#endif
}

/* --- both --------------------------------------------------------------------------------------------------------- */

bool hn_confine_forks(unsigned char means) { return means != HN_CONFINE_BEST || version() < 1; }

unsigned hn_confine_self(unsigned char means, const char *here, const char *paths) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
    unsigned by = means == HN_CONFINE_BEST ? by_landlock(here, paths) : 0;
    if (!by) by = by_namespace(here, paths, means == HN_CONFINE_REMOUNT);
    return by | by_seccomp();
}

unsigned char hn_confine_means(void) {
    const char *asked = getenv("HONE_CONFINE");
    if (asked && !strcmp(asked, "namespace")) return HN_CONFINE_NAMESPACE;
    return asked && !strcmp(asked, "remount") ? HN_CONFINE_REMOUNT : HN_CONFINE_BEST;
}

/* A process that tries. */
unsigned hn_proc_confines(int *landlock) {
    *landlock = version();
    pid_t pid = fork();
    if (pid == 0) {
        unsigned by = hn_confine_self(hn_confine_means(), "/proc/self/fdinfo", NULL);
        int file = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600), net = socket(AF_INET, SOCK_DGRAM, 0);
        if (file >= 0) by &= ~(unsigned)HN_CONFINED_WRITES;
        if (net >= 0) by &= ~(unsigned)HN_CONFINED_NETWORK;
        _exit((int)by);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return pid > 0 && WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;
}
