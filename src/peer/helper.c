/* helper.c — see helper.h. */
#include "peer/helper.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_ARGS = 8 };

const char *hn_helper_python(const char *given, size_t i) {
    const char *const python[] = {getenv("HONE_PYTHON"), "build/venv/bin/python", "python3"};
    size_t n = 0;
    if (given) return i ? NULL : given;
    for (size_t k = 0; k < sizeof python / sizeof *python; k++)
        if (python[k] && *python[k] && (!strchr(python[k], '/') || hn_exists(python[k])) && n++ == i) return python[k];
    return NULL;
}

bool hn_helper_start(hn_helper *h, const char *python, const char *program, const char *const *arg) {
    int pair[2];
    posix_spawn_file_actions_t actions;
    char *argv[MOST_ARGS + 4] = {(char *)(uintptr_t)python, "-c", (char *)(uintptr_t)program};
    for (size_t i = 0; i < MOST_ARGS && arg[i]; i++) argv[3 + i] = (char *)(uintptr_t)arg[i];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return false;
    if (posix_spawn_file_actions_init(&actions)) {
        close(pair[0]), close(pair[1]);
        return false;
    }
    posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
    posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&h->pid, python, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    h->to = pair[0];
    h->from = fdopen(pair[0], "r");
    if (!h->from) close(pair[0]);
    if (failed) h->pid = 0;
    return !failed && h->from;
}

const char *hn_helper_answer(hn_helper *h, hone_err *err) {
    ssize_t n = getline(&h->line, &h->room, h->from);
    if (n <= 0) {
        hn_fail(err, HONE_E_TOOL, "the Python process of %s ended", h->what);
        return NULL;
    }
    h->line[strcspn(h->line, "\n")] = 0;
    if (hn_starts_with(h->line, "ok ")) return h->line + 3;
    if (hn_starts_with(h->line, "missing "))
        hn_fail(err, HONE_E_UNSUPPORTED, "no %s: %.300s; set HONE_PYTHON to a Python that has it", h->what,
                h->line + 8);
    else
        hn_fail(err, HONE_E_TOOL, "%s: %.600s", h->what, hn_starts_with(h->line, "error ") ? h->line + 6 : h->line);
    return NULL;
}

/* When the process has exited, reading the next answer fails; no signal is raised. */
const char *hn_helper_ask(hn_helper *h, const char *line, hone_err *err) {
    size_t n = strlen(line);
    kill(h->pid, SIGCONT);
    if (send(h->to, line, n, MSG_NOSIGNAL) != (ssize_t)n) shutdown(h->to, SHUT_RDWR);
    const char *said = hn_helper_answer(h, err);
    kill(h->pid, SIGSTOP);
    return said;
}

void hn_helper_stop(hn_helper *h) {
    if (h->from) fclose(h->from);
    if (h->pid > 0) kill(h->pid, SIGCONT);
    if (h->pid > 0)
        while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR) continue;
    free(h->line);
    *h = (hn_helper){.what = h->what};
}
