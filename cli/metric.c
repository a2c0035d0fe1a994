/* metric.c — the user's own metric of `--precision mixed`: a command that is handed a folder of outputs and prints a
 * number. It runs under a guardian, with a limit of time. */
#include "model_io.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static hone_rc write_outputs(const cli_metric *j, const char *folder, const hone_array *out, size_t n_outputs,
                             size_t index, hone_err *err) {
    char *path = cli_format("%s/%06zu.npz", folder, index);
    cli_arrays x = {.a = cli_alloc(n_outputs + 1, sizeof *x.a), .name = cli_alloc(n_outputs + 1, sizeof *x.name)};
    x.n = n_outputs;
    hone_rc rc = HONE_OK;
    for (size_t k = 0; k < n_outputs && !rc; k++) {
        hone_graph_port port = {0};
        rc = hone_graph_output(j->g, k, &port, err);
        x.a[k] = out[k];
        x.name[k] = cli_strdup(port.name ? port.name : "output");
    }
    if (!rc) rc = cli_arrays_write(path, &x, err);
    for (size_t k = 0; k < n_outputs; k++) free(x.name[k]);
    free(x.name), free(x.a), free(path);
    return rc;
}

/* The last line that has something on it. */
static char *last_line(char *text) {
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1])) text[--n] = 0;
    char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    return line + strspn(line, " \t");
}

static hone_rc read_number(const cli_metric *j, char *text, double *out, hone_err *err) {
    char *line = last_line(text), *end;
    double x = strtod(line, &end);
    if (end == line || *end)
        return cli_fail(err, HONE_E_FAILED,
                        "the last line that the metric '%s' prints is '%.80s'; it should be one number, less for a "
                        "better model",
                        j->command, line);
    if (!(x - x == 0)) return cli_fail(err, HONE_E_FAILED, "the metric '%s' gives %s", j->command, line);
    *out = x;
    return HONE_OK;
}

/* --- the command in a process of its own -------------------------------------------------------------------------
 */

/* The end of what the command prints. */
typedef struct tail {
    char text[4096];
    size_t n;
} tail;

static void add(tail *t, const char *part, size_t got) {
    enum { MOST = sizeof t->text - 1 };
    size_t keep = t->n + got < MOST ? t->n : got < MOST ? MOST - got : 0;
    memmove(t->text, t->text + t->n - keep, keep);
    memcpy(t->text + keep, part, got);
    t->n = keep + got;
    t->text[t->n] = 0;
}

_Noreturn static void be_command(const char *line, int out) {
    int in = open("/dev/null", O_RDONLY);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    if (in >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

/* Until the pipe's other end is closed, which the guardian of the command sees to when the command ends. */
static hone_rc listen_to(const cli_metric *j, int fd, tail *t, hone_err *err) {
    const double end_s = cli_now_s() + j->limit_s;
    for (char part[1024];;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        double left_s = end_s - cli_now_s();
        if (j->stop && *j->stop) return cli_fail(err, HONE_E_INTERRUPTED, "interrupted");
        if (left_s <= 0)
            return cli_fail(err, HONE_E_LIMIT,
                            "the metric '%s' ran for more than %g s and was ended; make it quicker, or give it more "
                            "with --metric-limit",
                            j->command, j->limit_s);
        int ready = poll(&p, 1, left_s < .1 ? (int)ceil(1000 * left_s) : 100);
        if (ready <= 0) continue; /* nothing yet, or a signal */
        ssize_t got = read(fd, part, sizeof part);
        if (!got) return HONE_OK;
        if (got > 0)
            add(t, part, (size_t)got);
        else if (errno != EINTR)
            return cli_fail(err, HONE_E_IO, "cannot read what the metric '%s' prints: %s", j->command, strerror(errno));
    }
}

static hone_rc judge_status(const cli_metric *j, int status, hone_err *err) {
    if (WIFSIGNALED(status))
        return cli_fail(err, HONE_E_FAILED, "the metric '%s' was ended by signal %d", j->command, WTERMSIG(status));
    if (status)
        return cli_fail(err, HONE_E_FAILED, "the metric '%s' ended with exit code %d", j->command, WEXITSTATUS(status));
    return HONE_OK;
}

static hone_rc run_line(const cli_metric *j, const char *line, tail *t, hone_err *err) {
    int fd[2], pid, status = 0;
    if (pipe2(fd, O_CLOEXEC)) return cli_fail(err, HONE_E_IO, "cannot make a pipe: %s", strerror(errno));
    fflush(stdout);
    hone_rc rc = hone_process_fork(&pid, err);
    if (!rc && !pid) be_command(line, fd[1]);
    close(fd[1]);
    if (!rc) {
        rc = listen_to(j, fd[0], t, err);
        if (rc) kill(pid, SIGTERM); /* the guardian takes all below it down */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    close(fd[0]);
    return rc ? rc : judge_status(j, status, err);
}

static hone_rc run_command(const cli_metric *j, const char *folder, tail *t, hone_err *err) {
    char *line = cli_format("%s \"$HONE_OUTPUTS\"", j->command);
    hone_rc rc = setenv("HONE_OUTPUTS", folder, 1)
                     ? cli_fail(err, HONE_E_IO, "cannot run '%s': %s", j->command, strerror(errno))
                     : run_line(j, line, t, err);
    unsetenv("HONE_OUTPUTS");
    free(line);
    return rc;
}

hone_rc cli_metric_ask(void *arg, const hone_array *out, size_t n_outputs, const size_t *index, size_t n, double *error,
                       hone_err *err) {
    const cli_metric *j = arg;
    hone_temp *temp;
    tail t = {0};
    hone_rc rc = hone_temp_open("hone-outputs-", &temp, err);
    if (rc) return rc;
    for (size_t i = 0; i < n && !rc; i++)
        rc = write_outputs(j, hone_temp_path(temp), out + i * n_outputs, n_outputs, index[i], err);
    if (!rc) rc = run_command(j, hone_temp_path(temp), &t, err);
    if (!rc) rc = read_number(j, t.text, error, err);
    hone_temp_close(temp);
    return rc;
}
