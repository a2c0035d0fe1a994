/* What a confined run may write, and that it has no network. Skipped where the kernel offers nothing. */
#include "base/fs.h"
#include "proc/proc.h"
#include "proc/temp.h"

#include "tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct folders {
    hn_temp top;
    char own[200], other[200], given[200];
} folders;

static hn_proc_result run(const folders *f, const char *shell, bool confine) {
    const char *const write[] = {f->given, "/no/such/folder", NULL};
    char other[220], given[220];
    snprintf(other, sizeof other, "OTHER=%s", f->other);
    snprintf(given, sizeof given, "GIVEN=%s", f->given);
    const char *const env[] = {other, given, NULL};
    hn_proc_spec spec = {
        .shell = shell, .cwd = f->own, .env = env, .cpu = -1, .wall_s = 20, .confine = confine, .write = write};
    hn_proc_result r = {.end = HN_PROC_NOT_STARTED};
    hone_err err;
    if (hn_proc_run(&spec, NULL, &r, &err)) printf("# %s\n", err.text);
    return r;
}

/* Succeeds with and without confinement, or only without. */
typedef struct row {
    const char *name, *shell;
    bool allowed;
} row;

static const row rows[] = {
    {"own_folder", "echo x >a && mkdir d && mv a d/b && ln d/b c && rm -r d c && echo y >>keep && : >keep", true},
    {"devices", "echo x >/dev/null && head -c 4 /dev/zero >/dev/null", true},
    {"shared_memory", "f=/dev/shm/hone-$$; [ ! -d /dev/shm ] || { echo x >$f && rm $f; }", true},
    {"reading", "cat \"$OTHER/read\" >/dev/null && ls / >/dev/null", true},
    {"given_folder", "echo x >\"$GIVEN/a\" && rm \"$GIVEN/a\"", true},
    {"pipes_and_children", "(echo x | cat) | sort >out && rm out", true},
    {"another_folder", "echo x >\"$OTHER/new\"", false},
    {"anothers_file", "echo x >>\"$OTHER/read\"", false},
    {"removing_anothers_file", "rm -f \"$OTHER/gone\"; [ ! -e \"$OTHER/gone\" ]", false},
    {"moving_out", "echo x >a; mv a \"$OTHER/a\" 2>/dev/null; [ -e \"$OTHER/a\" ]", false},
    {"grandchildren", "sh -c 'sh -c \"echo x >$OTHER/new\"'", false},
    {"a_way_around", "ln -s \"$OTHER\" way; echo x >way/new; rc=$?; rm way; exit $rc", false},
};

static void check_writes(const folders *f, const char *means, unsigned by) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[100], path[1200];
        snprintf(path, sizeof path, "%s/gone", f->other);
        hn_write_file(path, "x", 1, NULL);
        hn_proc_result r = run(f, rows[i].shell, false);
        snprintf(name, sizeof name, "confine/%s_%s_works_unconfined", means, rows[i].name);
        ok(r.end == HN_PROC_EXITED && r.code == 0 && !r.confined, "%s", name);
        hn_proc_result_free(&r);
        snprintf(path, sizeof path, "rm -f '%s/new' '%s/a'; echo x >'%s/gone'", f->other, f->other, f->other);
        if (system(path)) break;
        r = run(f, rows[i].shell, true);
        snprintf(name, sizeof name, "confine/%s_%s_is_%s", means, rows[i].name,
                 rows[i].allowed ? "allowed" : "refused");
        ok(r.end == HN_PROC_EXITED && (r.code == 0) == rows[i].allowed && (r.confined & HN_CONFINED_WRITES) &&
               (r.confined & by),
           "%s", name);
        if ((r.code == 0) != rows[i].allowed) printf("# %s: %d %s\n", rows[i].shell, r.code, r.err_tail);
        hn_proc_result_free(&r);
    }
}

/* This program again, as the child: connects to the port on loopback. */
static int connects(const char *port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET6, SOCK_DGRAM, 0), local[2];
    bool reached = tcp >= 0 && connect(tcp, (struct sockaddr *)&to, sizeof to) == 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, local)) return 3;
    return reached || udp >= 0 ? 0 : 1;
}

static void check_network(const folders *f) {
    struct sockaddr_in here = {.sin_family = AF_INET};
    socklen_t n = sizeof here;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char command[4200], self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) || listen(fd, 4) || len < 0 ||
        getsockname(fd, (struct sockaddr *)&here, &n)) {
        skip(1, "confine/network: needs a loopback interface");
        if (fd >= 0) close(fd);
        return;
    }
    self[len] = 0;
    snprintf(command, sizeof command, "exec '%s' connect %d", self, ntohs(here.sin_port));
    hn_proc_result r = run(f, command, false);
    ok(r.end == HN_PROC_EXITED && r.code == 0, "confine/loopback_is_reached_unconfined");
    hn_proc_result_free(&r);
    r = run(f, command, true);
    ok(r.end == HN_PROC_EXITED && r.code == 1 && (r.confined & HN_CONFINED_NETWORK), "confine/loopback_is_refused");
    hn_proc_result_free(&r);
    close(fd);
}

static const struct {
    const char *name;
    unsigned by;
} means[] = {{"landlock", HN_BY_LANDLOCK}, {"namespace", HN_BY_NAMESPACE}, {"remount", HN_BY_NAMESPACE}};

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "connect")) return connects(argv[2]);
    folders f;
    hone_err err;
    if (hn_temp_make(NULL, "confine-", &f.top, &err)) return 1;
    snprintf(f.own, sizeof f.own, "%s/own", f.top.path);
    snprintf(f.other, sizeof f.other, "%s/other", f.top.path);
    snprintf(f.given, sizeof f.given, "%s/given", f.top.path);
    char path[400];
    hn_make_dirs(f.own, NULL);
    hn_make_dirs(f.other, NULL);
    hn_make_dirs(f.given, NULL);
    snprintf(path, sizeof path, "%s/read", f.other);
    hn_write_file(path, "text\n", 5, NULL);
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        int landlock;
        setenv("HONE_CONFINE", means[i].name, 1);
        unsigned offered = hn_proc_confines(&landlock);
        if (!(offered & HN_CONFINED_WRITES) || !(offered & means[i].by)) {
            skip(1, "confine/%s: this kernel does not offer it", means[i].name);
            continue;
        }
        check_writes(&f, means[i].name, means[i].by);
        if (offered & HN_CONFINED_NETWORK) check_network(&f);
    }
    hn_temp_free(&f.top);
    return done_testing();
}
