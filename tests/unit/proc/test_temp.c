/* Temporary folders: gone when freed, and when their process is killed. */
#include "base/fs.h"
#include "proc/temp.h"

#include "tap.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/hone-test-temp-XXXXXX";

static int is_gone(const char *path) {
    for (int i = 0; i < 500 && hn_exists(path); i++) nanosleep(&(struct timespec){0, 20000000}, NULL);
    return !hn_exists(path);
}

static void fill(const hn_temp *t) {
    char path[160];
    snprintf(path, sizeof path, "%s/deep", t->path);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/deep/file", t->path);
    FILE *f = fopen(path, "w");
    if (f) fclose(f);
}

static void test_free(void) {
    hn_temp t = {0};
    hone_err err = {0};
    hn_temp_free(&t);
    ok(!hn_temp_make(folder, "a-", &t, &err) && hn_exists(t.path), "temp/is_made: %s", err.text);
    ok(t.guardian > 0, "temp/has_a_guardian");
    char *path = strdup(t.path);
    fill(&t);
    hn_temp_free(&t);
    ok(path && !hn_exists(path) && !t.path, "temp/goes_when_freed");
    ok(waitpid(-1, NULL, WNOHANG) < 0, "temp/leaves_no_process");
    free(path);
    ok(hn_temp_make("/nowhere/at all", "a-", &t, &err) == HONE_E_IO && strstr(err.text, "'/nowhere/at all'"),
       "temp/no_place_is_an_error: %s", err.text);
}

/* In a child that ends by this signal with its whole session. */
static void test_killed(const char *dir, int sig, const char *name) {
    char path[128] = "";
    int to[2];
    if (pipe(to)) return;
    pid_t pid = fork();
    if (pid == 0) {
        hn_temp t = {0};
        setsid();
        signal(sig, SIG_DFL); /* a job in the background is started with some ignored */
        if (hn_temp_make(dir, "b-", &t, NULL)) _exit(1);
        fill(&t);
        if (write(to[1], t.path, strlen(t.path)) < 0) _exit(1);
        kill(0, sig);
        pause();
    }
    close(to[1]);
    ssize_t n = read(to[0], path, sizeof path - 1);
    close(to[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    ok(n > 0 && WIFSIGNALED(status) && is_gone(path), "temp/goes_after_%s", name);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    test_free();
    test_killed(folder, SIGKILL, "kill_9");
    test_killed(folder, SIGINT, "ctrl_c");
    if (!chdir(folder)) test_killed(".", SIGKILL, "kill_9_by_a_relative_path");
    ok(chdir("/") == 0 && rmdir(folder) == 0, "temp/leaves_nothing");
    return done_testing();
}
