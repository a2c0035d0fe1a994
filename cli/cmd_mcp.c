/* cmd_mcp.c — `hone mcp`: a server of the Model Context Protocol on standard input and output. */
#include "mcp.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The protocol gets descriptors of its own; what else would print to standard output goes to standard error. */
static hone_rc take_streams(cli_mcp_wire *w, hone_err *err) {
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    w->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    w->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (null < 0 || w->in < 0 || w->out < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return cli_fail(err, HONE_E_IO, "cannot take standard input and output over: %s", strerror(errno));
    close(null);
    return HONE_OK;
}

typedef struct polled {
    struct pollfd *fd;
    size_t n, room;
} polled;

static void watch(polled *p, int fd, short events) {
    if (fd < 0) return;
    p->fd = cli_grow(p->fd, &p->room, p->n, sizeof *p->fd);
    p->fd[p->n++] = (struct pollfd){fd, events, 0};
}

/* Waits until something happens or the time is over. true: there is something to read from the client. */
static bool wait_for_news(cli_mcp *m, polled *p, double timeout_s) {
    bool to_write = m->wire.queue_at < m->wire.queue_n;
    p->n = 0;
    watch(p, m->wire.in, POLLIN);
    watch(p, m->wire.out, to_write ? POLLOUT : 0); /* without events: whether its reader is gone */
    for (const cli_mcp_job *job = m->jobs.first; job; job = job->next)
        if (job->state == CLI_MCP_RUNNING) {
            watch(p, job->out.fd, POLLIN);
            watch(p, job->words.fd, POLLIN);
            watch(p, job->reports.fd, POLLIN);
        }
    int n = poll(p->fd, p->n, timeout_s < 3600 ? (int)(1000 * timeout_s) + 1 : 3600000);
    if (n <= 0) return false;
    if (p->fd[1].revents & (POLLERR | POLLNVAL)) m->wire.ended = true;
    return p->fd[0].revents != 0;
}

static void serve(cli_mcp *m, const volatile int *stop) {
    polled p = {0};
    double timeout_s = 0;
    while (!m->wire.ended && !*stop) {
        if (wait_for_news(m, &p, timeout_s)) cli_mcp_wire_read(&m->wire, cli_mcp_line, m);
        for (cli_mcp_job *job = m->jobs.first; job; job = job->next) cli_mcp_job_read(job, cli_mcp_reported, m);
        timeout_s = cli_mcp_settle(m);
        cli_mcp_wire_write(&m->wire);
    }
    free(p.fd);
}

static hone_rc run_mcp(cli *c, hone_err *err) {
    cli_mcp m = {.revision = -1, .log_level = CLI_MCP_WARNING};
    const char *dir = cli_text(c, "dir", NULL);
    if (c->json) return cli_fail(err, HONE_E_USAGE, "'hone mcp' speaks JSON already; leave --json away");
    if (dir && chdir(dir)) return cli_fail(err, HONE_E_IO, "cannot enter '%s': %s", dir, strerror(errno));
    if (isatty(STDIN_FILENO))
        fputs("hone mcp: waiting for a client of the Model Context Protocol on standard input; Ctrl-D ends it\n",
              stderr);
    hone_rc rc = take_streams(&m.wire, err);
    if (rc) return rc;
    cli_signals on = cli_catch_signals(true);
    signal(SIGPIPE, SIG_IGN);
    serve(&m, on.stop);
    cli_mcp_jobs_end(&m.jobs);
    cli_mcp_wire_flush(&m.wire);
    while (m.calls) cli_mcp_drop(&m, m.calls);
    cli_mcp_wire_free(&m.wire);
    return HONE_OK;
}

static const cli_option options[] = {
    {"dir", 0, CLI_TEXT, "DIR", 0, 0, "the folder that calls work in which name none (default: the current one)"},
    {0},
};

const cli_command cli_cmd_mcp = {
    "mcp",
    "Other",
    "",
    "serve agents by the Model Context Protocol on standard input and output",
    "Speaks the Model Context Protocol (JSON-RPC 2.0, one message a line; revisions 2024-11-05 to 2026-07-28) for an "
    "agent's program that starts it. Its tools are hone's commands with typed arguments and results: init, tune, "
    "status, stop, results, best, validate, minimize, explain, check, compile, bench, profile.\n\n"
    "Work that takes long runs in a process of its own: the call is answered when it ends, or with the number of a job "
    "after `wait_s` seconds. Progress is told to clients that ask for it, a cancelled call stops its job. What "
    "measures runs alone, the rest waits its turn. When the client goes away, whatever runs is ended; a search has its "
    "trials on record, and the next `tune` goes on from there.\n\n"
    "docs/agents.md has the lines of configuration for the usual agents.",
    options,
    "hone mcp\tas an agent's program starts it\n"
    "hone mcp --dir ~/project\tin a folder, where the agent's program starts it elsewhere\n",
    0,
    0,
    run_mcp,
};
