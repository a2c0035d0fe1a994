/* temp.c — see temp.h. */
#include "proc/temp.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "proc/proc_int.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *const hn_temp_here[] = {"TMPDIR=.", NULL};

/* One line on the pipe means a normal end. Processes that still write there die with their parent; until then rm may
 * fail. */
static const char script[] = "trap '' HUP INT QUIT TERM; cd /; read -r _ && exit; n=0; "
                             "until rm -rf -- \"$1\" || [ $n = 9 ]; do n=$((n + 1)); sleep 1; done";

/* The absolute path. */
static char *absolute(const char *path) {
    char *here = *path == '/' ? NULL : getcwd(NULL, 0), *whole = NULL;
    if (*path == '/') return strdup(path);
    if (here) whole = hn_path_join(here, path);
    free(here);
    return whole;
}

static bool set_up(posix_spawnattr_t *attr, posix_spawn_file_actions_t *actions, int from) {
    sigset_t none;
    sigemptyset(&none);
    return !posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK) &&
           !posix_spawnattr_setsigmask(attr, &none) && !posix_spawn_file_actions_adddup2(actions, from, 0) &&
           !posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0) &&
           !posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
}

static bool spawn(hn_temp *t, int from, char *path) {
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, "hone-temp", path, NULL};
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t actions;
    if (posix_spawnattr_init(&attr)) return false;
    bool started = false;
    if (!posix_spawn_file_actions_init(&actions)) {
        started =
            set_up(&attr, &actions, from) && !posix_spawn(&t->guardian, "/bin/sh", &actions, &attr, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attr);
    return started;
}

static void guard(hn_temp *t) {
    int fd[2];
    char *path = absolute(t->path);
    if (path && !pipe2(fd, O_CLOEXEC)) {
        bool started = spawn(t, fd[0], path);
        close(fd[0]);
        if (started)
            t->fd = fd[1];
        else
            close(fd[1]);
        if (!started) t->guardian = 0;
    }
    free(path);
}

hone_rc hn_temp_make(const char *dir, const char *prefix, hn_temp *out, hone_err *err) {
    const char *tmp = getenv("TMPDIR");
    hn_str path = {0};
    hn_temp t = {.fd = -1};
    if (!dir) dir = tmp && *tmp == '/' ? tmp : "/tmp";
    hn_str_addf(&path, "%s/%sXXXXXX", dir, prefix);
    t.path = hn_str_take(&path);
    if (!t.path) return hn_fail(err, HONE_E_NOMEM, "out of memory for a temporary folder");
    if (!mkdtemp(t.path)) {
        int why = errno;
        free(t.path);
        return hn_fail(err, HONE_E_IO, "cannot make a temporary folder in '%s': %s", dir, strerror(why));
    }
    guard(&t);
    *out = t;
    return HONE_OK;
}

static void dismiss(hn_temp *t) {
    hn_pipe_tell(t->fd, '\n'); /* the guardian may have ended */
    close(t->fd);
    while (waitpid(t->guardian, NULL, 0) < 0 && errno == EINTR) continue;
}

void hn_temp_free(hn_temp *t) {
    if (!t->path) return;
    hn_remove_tree(t->path, NULL);
    if (t->guardian > 0) dismiss(t);
    free(t->path);
    *t = (hn_temp){.fd = -1};
}

/* --- hone/process.h ------------------------------------------------------------------------------------------------
 */

struct hone_temp {
    hn_temp temp;
};

hone_rc hone_temp_open(const char *prefix, hone_temp **out, hone_err *err) {
    hone_temp *t = calloc(1, sizeof *t);
    hone_rc rc = t ? hn_temp_make(NULL, prefix, &t->temp, err)
                   : hn_fail(err, HONE_E_NOMEM, "out of memory for a temporary folder");
    if (rc) {
        free(t);
        return rc;
    }
    *out = t;
    return HONE_OK;
}

const char *hone_temp_path(const hone_temp *t) { return t->temp.path; }

void hone_temp_close(hone_temp *t) {
    if (!t) return;
    hn_temp_free(&t->temp);
    free(t);
}
