/* Files and folders, in a fresh folder under $TMPDIR. */
#include "base/fs.h"
#include "failalloc.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[200];

static const char *at(const char *name) {
    static char path[4][400];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", top, name);
    return p;
}
static void put(const char *name, const char *text) { hn_write_file(at(name), text, strlen(text), NULL); }
static bool holds(const char *name, const char *want) {
    char *text;
    size_t n;
    if (hn_read_file(at(name), &text, &n, NULL) != HONE_OK) return false;
    bool same = n == strlen(want) && !strcmp(text, want);
    free(text);
    return same;
}
static mode_t mode_of(const char *name) {
    struct stat st;
    return stat(at(name), &st) == 0 ? st.st_mode & 07777 : 0;
}

static void test_read(void) {
    char *text = (char *)top;
    size_t n = 77;
    hone_err err;
    put("nul", "x");
    ok(hn_write_file(at("nul"), "a\0b", 3, NULL) == HONE_OK, "fs/write_nul_bytes");
    ok(!hn_read_file(at("nul"), &text, &n, NULL) && n == 3 && !memcmp(text, "a\0b", 4), "fs/read_is_terminated");
    free(text);
    text = (char *)top;
    n = 77;
    ok(hn_read_file(at("none"), &text, &n, &err) == HONE_E_IO && strstr(err.text, "none"), "fs/read_missing_is_named");
    ok(hn_read_file(top, &text, &n, &err) == HONE_E_IO && strstr(err.text, "directory"), "fs/read_folder");
    ok(text == (char *)top && n == 77, "fs/read_failure_leaves_outputs");
    ok(!hn_write_file(at("empty"), "", 0, NULL) && !hn_read_file(at("empty"), &text, &n, NULL) && n == 0 && !*text,
       "fs/read_empty");
    free(text);
}

static void test_write(void) {
    hone_err err;
    put("f", "old");
    chmod(at("f"), 0600);
    put("f", "new");
    ok(holds("f", "new"), "fs/write_replaces");
    ok(mode_of("f") == 0600, "fs/write_keeps_the_mode");
    ok(symlink("f", at("link")) == 0, "fs/fixture_link");
    put("link", "through");
    ok(holds("f", "new") && holds("link", "through"), "fs/write_replaces_a_link_not_its_target");
    ok(hn_write_file(at("no/such"), "x", 1, &err) == HONE_E_IO && strstr(err.text, "no/such"), "fs/write_to_no_folder");
    mkdir(at("folder"), 0777);
    ok(hn_write_file(at("folder"), "x", 1, &err) == HONE_E_IO, "fs/write_over_a_folder");
    char got[8] = "";
    int pipe_end = mkfifo(at("pipe"), 0666) == 0 ? open(at("pipe"), O_RDONLY | O_NONBLOCK) : -1;
    ok(!hn_write_file(at("pipe"), "into", 4, &err) && read(pipe_end, got, 4) == 4 && !strcmp(got, "into"),
       "fs/write_to_a_pipe_goes_straight");
    close(pipe_end);
    char command[500];
    snprintf(command, sizeof command, "ls '%s' | grep -c tmp >/dev/null", top);
    ok(system(command) != 0, "fs/no_temporary_files_left");
}

/* Someone puts a link where the temporary file will be: it must not be followed. */
static void test_planted_link(void) {
    char tmp[400], victim[400];
    put("victim", "precious");
    snprintf(victim, sizeof victim, "%s", at("victim"));
    snprintf(tmp, sizeof tmp, "%s.%ld-0.tmp", at("g"), (long)getpid());
    ok(symlink(victim, tmp) == 0, "fs/fixture_planted_link");
    put("g", "text");
    ok(holds("g", "text") && holds("victim", "precious"), "fs/write_does_not_follow_a_planted_link");
    unlink(tmp);
}

static void test_dirs(void) {
    hone_err err;
    ok(!hn_make_dirs(at("a/b//c/"), NULL) && hn_exists(at("a/b/c")), "fs/make_dirs");
    ok(!hn_make_dirs(at("a/b/c"), NULL) && !hn_make_dirs("/", NULL) && !hn_make_dirs(".", NULL), "fs/make_dirs_again");
    put("file", "x");
    ok(hn_make_dirs(at("file"), &err) == HONE_E_IO && strstr(err.text, "not a folder"), "fs/make_dirs_over_a_file");
    ok(hn_make_dirs(at("file/x"), &err) == HONE_E_IO, "fs/make_dirs_below_a_file");
    ok(hn_make_dirs("", &err) == HONE_E_IO, "fs/make_dirs_empty_name");
}

static void test_remove(void) {
    hone_err err;
    hn_make_dirs(at("tree/x/y"), NULL);
    hn_make_dirs(at("outside"), NULL);
    put("outside/precious", "p");
    put("tree/f", "f");
    put("tree/x/y/g", "g");
    ok(!symlink(at("outside"), at("tree/x/to_folder")) && !symlink("nowhere", at("tree/dangling")), "fs/fixture_links");
    chmod(at("tree/x/y"), 0);
    chmod(at("tree/x"), 0500);
    ok(hn_remove_tree(at("tree"), &err) == HONE_OK && !hn_exists(at("tree")), "fs/remove_tree");
    ok(holds("outside/precious", "p"), "fs/remove_does_not_follow_links");
    ok(!symlink(at("outside"), at("to_outside")), "fs/fixture_link_as_top");
    ok(!hn_remove_tree(at("to_outside"), NULL) && holds("outside/precious", "p"), "fs/remove_of_a_link_takes_the_link");
    ok(hn_remove_tree(at("missing"), NULL) == HONE_OK, "fs/remove_missing");
    put("single", "x");
    ok(!hn_remove_tree(at("single"), NULL) && !hn_exists(at("single")), "fs/remove_file");
    char cwd[400];
    bool moved = getcwd(cwd, sizeof cwd) && chdir(top) == 0;
    ok(moved && hn_remove_tree(".", &err) == HONE_E_IO, "fs/remove_refuses_the_current_folder");
    ok(hn_remove_tree(top, &err) == HONE_E_IO && hn_exists(top), "fs/remove_refuses_the_current_folder_by_name");
    hn_make_dirs(at("above/below"), NULL);
    ok(chdir(at("above/below")) == 0 && hn_remove_tree(at("above"), &err) == HONE_E_IO && hn_exists(at("above/below")),
       "fs/remove_refuses_what_holds_the_current_folder");
    ok(chdir(cwd) == 0, "fs/back");
}

/* Never on the machine's own root, where a fault in the guard would take it away: in a child whose root is a folder of
 * ours and from where nothing else can be reached. */
static void test_remove_root(void) {
    hn_make_dirs(at("jail/etc"), NULL);
    hn_make_dirs(at("jail/tmp"), NULL);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        hone_err err;
        if (chroot(at("jail")) != 0) _exit(77);
        if (chdir("/tmp") != 0) _exit(1);
        bool good = hn_remove_tree("/", &err) == HONE_E_IO && strstr(err.text, "root folder") &&
                    hn_remove_tree("/etc/..", &err) == HONE_E_IO && strstr(err.text, "root folder");
        _exit(!(good && hn_exists("/etc") && hn_exists("/tmp")));
    }
    int status = 1;
    if (pid > 0) waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(1, "fs/remove_refuses_root: chroot is not permitted here");
    else
        ok(status == 0, "fs/remove_refuses_root");
}

/* Deeper than descriptors or the stack would carry, and with a name in the way. */
static void test_remove_deep(void) {
    hn_make_dirs(at("deep"), NULL);
    hn_make_dirs(at("deep/.hone-removing-0/inner"), NULL);
    int fd = open(at("deep"), O_RDONLY | O_DIRECTORY), depth = 0;
    for (; fd >= 0 && depth < 1000; depth++) {
        int below = mkdirat(fd, "d", 0777) == 0 ? openat(fd, "d", O_RDONLY | O_DIRECTORY) : -1;
        int file = openat(fd, "f", O_WRONLY | O_CREAT, 0666);
        close(fd);
        close(file);
        fd = below;
    }
    close(fd);
    ok(depth == 1000, "fs/fixture_deep");
    hone_err err = {HONE_OK, ""};
    struct rlimit old, few = {256, 256};
    getrlimit(RLIMIT_NOFILE, &old);
    few.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_NOFILE, &few);
    ok(hn_remove_tree(at("deep"), &err) == HONE_OK && !hn_exists(at("deep")), "fs/remove_deep_tree");
    setrlimit(RLIMIT_NOFILE, &old);
    if (*err.text) printf("# %s\n", err.text);
}

static void test_which(void) {
    char *sh = hn_which("sh"), *none = hn_which("no-such-command-here"), *empty = hn_which("");
    ok(sh && *sh == '/' && !access(sh, X_OK), "fs/which_sh");
    ok(!none && !empty, "fs/which_none");
    free(sh);
    hn_make_dirs(at("bin/tool"), NULL); /* a folder of that name is no command */
    hn_make_dirs(at("bin2"), NULL);
    put("bin2/tool", "#!/bin/sh\n");
    char path[900], *got;
    snprintf(path, sizeof path, "%s::%s", at("bin"), at("bin2"));
    setenv("PATH", path, 1);
    ok(!(got = hn_which("tool")), "fs/which_passes_over_folders_and_plain_files");
    chmod(at("bin2/tool"), 0755);
    got = hn_which("tool");
    char *want = realpath(at("bin2/tool"), NULL);
    is_text(got, want, "fs/which_finds_in_path_order");
    free(got);
    got = hn_which(at("bin2/tool"));
    is_text(got, want, "fs/which_with_a_slash");
    free(got);
    free(want);
}

static void test_join(void) {
    static const struct {
        const char *name, *dir, *file, *want;
    } cases[] = {
        {"fs/join", "d", "f", "d/f"},
        {"fs/join_absolute", "d", "/f", "/f"},
        {"fs/join_no_folder", NULL, "f", "f"},
        {"fs/join_empty_folder", "", "f", "f"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *p = hn_path_join(cases[i].dir, cases[i].file);
        is_text(p, cases[i].want, cases[i].name);
        free(p);
    }
}

static hone_rc read_back(void *ctx) {
    char *text = NULL;
    size_t n;
    hone_rc rc = hn_write_file(ctx, "0123456789", 10, NULL);
    if (rc == HONE_E_IO) rc = HONE_E_NOMEM; /* open_beside reports ENOMEM through errno */
    if (!rc) rc = hn_read_file(ctx, &text, &n, NULL);
    if (rc == HONE_E_IO) rc = HONE_E_NOMEM; /* fopen's own buffer */
    free(text);
    return rc;
}

/* Without HOME a user has the folder of passwd; one in /tmp must be the user's alone, for libraries are loaded from it.
 */
static void test_cache_dir(void) {
    const struct passwd *me = getpwuid(geteuid());
    char *dir, want[400];
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", top, 1);
    snprintf(want, sizeof want, "%s/.cache/hone", top);
    dir = hn_cache_dir();
    ok(dir && !strcmp(dir, want), "fs/cache_dir_is_below_home");
    free(dir);
    unsetenv("HOME");
    snprintf(want, sizeof want, "%.300s/.cache/hone", me ? me->pw_dir : "");
    dir = hn_cache_dir();
    ok(dir && (!me || !strcmp(dir, want)), "fs/cache_dir_without_home_is_of_passwd: %s", dir);
    free(dir);
    ok(hn_private_dir(at("mine")) && mode_of("mine") == 0700 && hn_private_dir(at("mine")), "fs/private_dir_is_made");
    ok(!chmod(at("mine"), 0777) && !hn_private_dir(at("mine")), "fs/private_dir_open_to_all_is_none");
    ok(!chmod(at("mine"), 0755) && !symlink(at("mine"), at("link_to_mine")) && !hn_private_dir(at("link_to_mine")),
       "fs/private_dir_is_no_link");
    ok(geteuid() || (!chown(at("mine"), 1, 1) && !hn_private_dir(at("mine"))), "fs/private_dir_of_another_is_none");
}

int main(void) {
    const char *tmp = getenv("TMPDIR");
    snprintf(top, sizeof top, "%s/hone-fs-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(top)) return 1;
    test_read();
    test_write();
    test_planted_link();
    test_dirs();
    test_remove();
    test_remove_root();
    test_remove_deep();
    sweep_allocations("fs/nth_allocation_fails", read_back, (void *)at("sweep"));
    test_join();
    test_cache_dir();
    ok(hn_remove_tree(top, NULL) == HONE_OK && !hn_exists(top), "fs/remove_everything");
    if (!mkdir(top, 0777)) test_which();
    hn_remove_tree(top, NULL);
    return done_testing();
}
