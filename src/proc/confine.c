/* proc/confine.c — what a run is kept from: writes outside the folders it was given, and the network.
 *
 * Writes: Landlock (Linux 5.13), by its system calls, as the C library has no functions for them. Each version of its
 * interface knows more rights; those that the kernel knows are handled. Reading stays free. Network: sockets of other
 * families than local and netlink are refused by a seccomp filter, and where Landlock knows of TCP (version 4) by it,
 * too. The filter says that the run wants no slow-downs against speculation (SPEC_ALLOW), so that nothing timed
 * changes. All of it holds for the process and its descendants for ever and needs no rights; set-user-id programs run
 * without theirs. What the kernel does not offer is left out; the bits given back say what holds.
 * Async-signal-safe, as it runs between vfork and exec.
 */
#include "proc/proc_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
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

unsigned hn_confine_self(const char *here, const char *paths) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
    unsigned by = by_landlock(here, paths);
    return by ? by | by_seccomp() : 0;
}

/* A process that tries. */
unsigned hn_proc_confines(int *landlock) {
    *landlock = version();
    pid_t pid = fork();
    if (pid == 0) {
        unsigned by = hn_confine_self("/proc/self/fdinfo", NULL);
        int file = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600), net = socket(AF_INET, SOCK_DGRAM, 0);
        if (file >= 0) by &= ~(unsigned)HN_CONFINED_WRITES;
        if (net >= 0) by &= ~(unsigned)HN_CONFINED_NETWORK;
        _exit((int)by);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return pid > 0 && WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;
}
