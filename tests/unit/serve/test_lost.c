/* Mapped files that are cut, changed or replaced: what is read then, and what is noted. */
#include "serve/lost.h"
#include "tap.h"

#include <fcntl.h>
#include <hone/serve.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 4 };
static char folder[] = "/tmp/hone-lost-XXXXXX";

static void on_bus(int sig, siginfo_t *info, void *context) {
    (void)context;
    if (!hone_serve_lost(info->si_addr)) signal(sig, SIG_DFL);
}

static void catch_bus(void) {
    struct sigaction sa = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &sa, NULL);
}

static char *path_of(const char *name) {
    static char path[2][256];
    static int at;
    char *p = path[at++ % 2];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void write_file(const char *path, size_t n) {
    char *data = malloc(n);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    memset(data, 7, n);
    ok(write(fd, data, n) == (ssize_t)n, "lost/a_file_is_written");
    close(fd);
    free(data);
}

static volatile char *map_file(const char *path, size_t n) {
    int fd = open(path, O_RDONLY);
    char *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static void cut(size_t page) {
    hn_lost_file f = {0};
    char *path = path_of("cut");
    write_file(path, PAGES * page);
    volatile char *p = map_file(path, PAGES * page);
    hn_lost_watch(&f, path);
    ok(f.area[0] > 0 && !hn_lost_is(&f) && p[3 * page] == 7, "lost/whole");
    ok(!truncate(path, (off_t)page) && p[0] == 7 && p[2 * page] == 0 && p[page] == 0 && p[3 * page + 9] == 0,
       "lost/zeros_where_nothing_is");
    struct timespec as_it_was[2] = {f.changed, f.changed};
    ok(!truncate(path, f.size_b) && !utimensat(AT_FDCWD, path, as_it_was, 0) && hn_lost_is(&f),
       "lost/noted_whatever_the_file_says");
    hn_lost_free(&f);
    ok(!hn_lost_is(&f), "lost/forgotten");
    munmap((void *)(uintptr_t)p, PAGES * page);
}

static void changed(size_t page) {
    hn_lost_file f = {0};
    char *path = path_of("changed"), *other = path_of("other");
    write_file(path, PAGES * page);
    volatile char *p = map_file(path, PAGES * page);
    hn_lost_watch(&f, path);
    struct timespec later[2] = {f.changed, f.changed};
    later[1].tv_nsec = (later[1].tv_nsec + 1) % 1000000000;
    ok(!hn_lost_is(&f) && !utimensat(AT_FDCWD, path, later, 0) && hn_lost_is(&f), "lost/written_in_place");
    hn_lost_free(&f);
    hn_lost_watch(&f, path);
    write_file(other, page);
    ok(!rename(other, path) && !hn_lost_is(&f) && p[3 * page] == 7, "lost/replaced_by_rename_is_still_there");
    hn_lost_free(&f);
    hn_lost_watch(&f, "/nowhere");
    ok(!f.path && !hn_lost_is(&f), "lost/no_such_file");
    munmap((void *)(uintptr_t)p, PAGES * page);
}

/* Of a child: a file that nobody watches. */
static void others(size_t page) {
    char *path = path_of("others");
    int status = 0;
    write_file(path, page);
    pid_t pid = fork();
    if (!pid) {
        volatile char *p = map_file(path, page);
        if (truncate(path, 0)) _exit(2);
        _exit(p[0]);
    }
    waitpid(pid, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "lost/what_nobody_watches_faults_as_ever");
}

int main(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!mkdtemp(folder)) return 1;
    catch_bus();
    cut(page);
    changed(page);
    others(page);
    for (const char *const *name = (const char *const[]){"cut", "changed", "others", NULL}; *name; name++)
        unlink(path_of(*name));
    rmdir(folder);
    return done_testing();
}
