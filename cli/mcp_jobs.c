/* mcp_jobs.c — commands of hone as child processes: started in turn, listened to, ended.
 *
 * Each runs below a guardian (hone/process.h), so nothing of it outlives this process, however that ends. Its first
 * report is its own number, which is what SIGINT is sent to: that ends a search with what is finished recorded.
 */
#include "mcp.h"

#include <hone/process.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAITING_MOST = 32, ENDED_MOST = 64, OUT_MOST_B = 64 << 20, WORDS_KEPT_B = 4096 };

/* --- the list ----------------------------------------------------------------------------------------------------- */

cli_mcp_job *cli_mcp_job_find(const cli_mcp_jobs *all, uint64_t id) {
    cli_mcp_job *job = all->first;
    while (job && (!id || job->id != id)) job = job->next;
    return job;
}

void cli_mcp_job_free(cli_mcp_jobs *all, cli_mcp_job *job) {
    cli_mcp_job **at = &all->first;
    while (*at && *at != job) at = &(*at)->next;
    if (*at) *at = job->next;
    for (char **p = job->argv; p && *p; p++) free(*p);
    free(job->argv);
    free(job->dir);
    free(job->out.text);
    free(job->words.text);
    free(job->reports.text);
    json_decref(job->report);
    json_decref(job->result);
    json_decref(job->problem);
    free(job);
}

/* Of the jobs that have ended the newest are kept. */
static void forget(cli_mcp_jobs *all) {
    size_t n = 0;
    for (const cli_mcp_job *job = all->first; job; job = job->next) n += job->id && job->state == CLI_MCP_ENDED;
    for (cli_mcp_job *job = all->first, *next; job && n > ENDED_MOST; job = next) {
        next = job->next;
        if (job->id && job->state == CLI_MCP_ENDED) cli_mcp_job_free(all, job), n--;
    }
}

hone_rc cli_mcp_job_add(cli_mcp_jobs *all, const cli_mcp_tool *tool, cli_mcp_request *r, cli_mcp_job **out,
                        hone_err *err) {
    size_t n = 0;
    forget(all);
    cli_mcp_job **last = &all->first;
    for (; *last; last = &(*last)->next) n += (*last)->state != CLI_MCP_ENDED;
    if (n >= WAITING_MOST)
        return cli_fail(err, HONE_E_LIMIT, "%zu calls are under way; wait for some, or `stop` their jobs", n);
    cli_mcp_job *job = cli_alloc(1, sizeof *job);
    job->tool = tool;
    job->id = tool->kind == CLI_MCP_WORK ? ++all->newest : 0;
    job->argv = r->argv, job->dir = r->dir, job->measures = r->measures;
    r->argv = NULL, r->dir = NULL;
    job->out.fd = job->words.fd = job->reports.fd = -1;
    *last = *out = job;
    return HONE_OK;
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

static _Noreturn void be_command(const cli_mcp_job *job, const int out[2], const int words[2], const int reports[2]) {
    char fd[16];
    int zero = open("/dev/null", O_RDONLY | O_CLOEXEC), told = dup(reports[1]);
    dup2(zero, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(words[1], STDERR_FILENO);
    snprintf(fd, sizeof fd, "%d", told);
    setenv("HONE_PROGRESS_FD", fd, 1);
    for (size_t i = 0; i < 3; i++) signal((const int[]){SIGPIPE, SIGINT, SIGTERM}[i], SIG_DFL);
    dprintf(told, "{\"pid\": %ld}\n", (long)getpid());
    if (job->dir && chdir(job->dir)) {
        fprintf(stderr, "hone: cannot enter '%s': %s\n", job->dir, strerror(errno));
        _exit(hone_rc_exit(HONE_E_IO));
    }
    execv("/proc/self/exe", job->argv);
    fprintf(stderr, "hone: cannot start hone again: %s\n", strerror(errno));
    _exit(hone_rc_exit(HONE_E_IO));
}

static void close_pair(int pair[2]) {
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0) close(pair[i]);
}

static void set_problem(cli_mcp_job *job, const char *id, const char *text) {
    json_decref(job->problem);
    json_t *words = json_string(text);
    job->problem = json_pack("{s:s, s:o}", "id", id, "text", words ? words : json_string("its words are no text"));
}

static void start(cli_mcp_job *job) {
    int pair[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, pid = 0;
    hone_err err = {0};
    hone_rc rc = HONE_OK;
    for (int i = 0; i < 3 && !rc; i++)
        if (pipe2(pair[i], O_CLOEXEC)) rc = cli_fail(&err, HONE_E_IO, "cannot open a pipe: %s", strerror(errno));
    if (!rc) rc = hone_process_fork(&pid, &err);
    if (!rc && !pid) be_command(job, pair[0], pair[1], pair[2]);
    job->begun_s = cli_now_s();
    job->state = rc ? CLI_MCP_ENDED : CLI_MCP_RUNNING;
    if (rc) {
        for (int i = 0; i < 3; i++) close_pair(pair[i]);
        job->ended_s = job->begun_s;
        job->exit_code = hone_rc_exit(rc);
        set_problem(job, hone_rc_name(rc), err.text);
        return;
    }
    cli_mcp_pipe *const end[] = {&job->out, &job->words, &job->reports};
    for (int i = 0; i < 3; i++) {
        close(pair[i][1]);
        end[i]->fd = pair[i][0];
        fcntl(end[i]->fd, F_SETFL, O_NONBLOCK);
    }
    job->guardian = pid;
}

void cli_mcp_jobs_start(cli_mcp_jobs *all) {
    bool measuring = false;
    for (const cli_mcp_job *job = all->first; job; job = job->next)
        measuring |= job->measures && job->state == CLI_MCP_RUNNING;
    for (cli_mcp_job *job = all->first; job; job = job->next) {
        if (job->state != CLI_MCP_QUEUED || (job->measures && measuring)) continue;
        start(job);
        measuring |= job->measures && job->state == CLI_MCP_RUNNING;
    }
}

/* --- listening ---------------------------------------------------------------------------------------------------- */

/* Of words the last are kept, of the rest the first `most` bytes. */
static void read_pipe(cli_mcp_pipe *p, size_t most, bool last) {
    char chunk[16384];
    while (p->fd >= 0) {
        ssize_t n = read(p->fd, chunk, sizeof chunk);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            close(p->fd);
            p->fd = -1;
            return;
        }
        if (p->n + (size_t)n > most && !last) continue;
        while (p->n + (size_t)n + 1 > p->room) p->text = cli_grow(p->text, &p->room, p->room, 1);
        memcpy(p->text + p->n, chunk, (size_t)n);
        p->n += (size_t)n;
        if (last && p->n > 2 * most) {
            memmove(p->text, p->text + p->n - most, most);
            p->n = most;
        }
        p->text[p->n] = 0;
    }
}

static void take_report(cli_mcp_job *job, const char *line, size_t n, void (*reported)(void *, cli_mcp_job *, json_t *),
                        void *arg) {
    json_t *report = json_loadb(line, n, 0, NULL), *pid = json_object_get(report, "pid");
    json_t *session = json_object_get(report, "session");
    if (pid) job->child = (int)json_integer_value(pid);
    if (pid && job->stopped_s > 0) kill(job->child, SIGINT);
    if (json_integer_value(session) > 0) job->session = json_integer_value(session);
    if (report && !pid) {
        const char *stage = json_string_value(json_object_get(report, "stage"));
        if (stage && strcmp(stage, "warning") != 0) {
            json_decref(job->report);
            job->report = json_incref(report);
        }
        reported(arg, job, report);
    }
    json_decref(report);
}

static void read_reports(cli_mcp_job *job, void (*reported)(void *, cli_mcp_job *, json_t *), void *arg) {
    cli_mcp_pipe *p = &job->reports;
    read_pipe(p, 1 << 20, false);
    for (char *end; p->at < p->n && (end = memchr(p->text + p->at, '\n', p->n - p->at));) {
        take_report(job, p->text + p->at, (size_t)(end - p->text) - p->at, reported, arg);
        p->at = (size_t)(end - p->text) + 1;
    }
    if (p->at) memmove(p->text, p->text + p->at, p->n - p->at);
    p->n -= p->at;
    p->at = 0;
}

/* The words of the command that are no error line of its own, which the problem has already. */
static char *further_words(const cli_mcp_job *job) {
    size_t n = job->words.n < WORDS_KEPT_B ? job->words.n : WORDS_KEPT_B, size = 0;
    const char *p = n ? job->words.text + job->words.n - n : "";
    char *made = NULL;
    FILE *f = open_memstream(&made, &size);
    for (size_t k; f && *p; p += k + (p[k] == '\n')) {
        k = strcspn(p, "\n");
        if (k && strncmp(p, "hone: ", 6) != 0) fprintf(f, "\n%.*s", (int)k, p);
    }
    if (f) fclose(f);
    return made ? made : cli_strdup("");
}

/* From what the command printed and how it ended: a result or a problem. */
static void conclude(cli_mcp_job *job) {
    json_t *value = job->out.n ? json_loadb(job->out.text, job->out.n, 0, NULL) : NULL;
    json_t *problem = json_object_get(value, "error");
    char *words = further_words(job);
    if (problem) {
        const char *id = json_string_value(json_object_get(problem, "id"));
        const char *text = json_string_value(json_object_get(problem, "text"));
        char *all = cli_format("%s%s", text ? text : "", words);
        set_problem(job, id ? id : "E_FAILED", all);
        free(all);
        json_decref(value);
    } else if (value) {
        job->result = value;
    } else {
        bool killed = job->exit_code > 128 && job->exit_code != hone_rc_exit(HONE_E_INTERRUPTED);
        const char *last = job->words.n ? job->words.text : "";
        char *all = job->stopped_s > 0 ? cli_strdup("stopped before it had a result")
                    : killed           ? cli_format("hone ended by signal %d%s", job->exit_code - 128, words)
                                       : cli_format("hone ended with exit code %d: %.*s", job->exit_code, 2000, last);
        set_problem(job, job->stopped_s > 0 ? "E_INTERRUPTED" : "E_FAILED", all);
        free(all);
    }
    free(words);
}

void cli_mcp_job_read(cli_mcp_job *job, void (*reported)(void *, cli_mcp_job *, json_t *), void *arg) {
    int status;
    if (job->state != CLI_MCP_RUNNING) return;
    read_pipe(&job->out, OUT_MOST_B, false);
    read_pipe(&job->words, WORDS_KEPT_B, true);
    read_reports(job, reported, arg);
    if (job->out.fd >= 0 || job->words.fd >= 0 || job->reports.fd >= 0) return;
    if (waitpid(job->guardian, &status, WNOHANG) != job->guardian) return;
    job->guardian = job->child = 0;
    job->state = CLI_MCP_ENDED;
    job->ended_s = cli_now_s();
    job->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    conclude(job);
}

/* --- telling ------------------------------------------------------------------------------------------------------ */

static const char *state_word(const cli_mcp_job *job) {
    if (job->state == CLI_MCP_QUEUED) return "queued";
    if (job->state == CLI_MCP_RUNNING) return job->stopped_s > 0 ? "stopping" : "running";
    if (job->stopped_s > 0) return "stopped";
    return job->problem ? "failed" : "finished";
}

static json_t *or_null(json_t *value) { return value ? json_incref(value) : json_null(); }

static json_t *progress_json(const cli_mcp_job *job) {
    static const char *const keys[] = {"stage", "done", "total", "left_s", "best", "text"};
    if (!job->report) return json_null();
    json_t *made = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_object_set_new(made, keys[i], or_null(json_object_get(job->report, keys[i])));
    return made;
}

json_t *cli_mcp_job_json(const cli_mcp_job *job, bool whole) {
    bool ended = job->state == CLI_MCP_ENDED, begun = job->begun_s > 0;
    double elapsed_s = begun ? (ended ? job->ended_s : cli_now_s()) - job->begun_s : 0;
    json_t *session = job->session ? json_integer(job->session) : json_null();
    json_t *made = json_pack("{s:I, s:s, s:s, s:o, s:f}", "job", (json_int_t)job->id, "tool", job->tool->name, "state",
                             state_word(job), "session", session, "elapsed_s", floor(elapsed_s * 1000) / 1000);
    if (!whole) return made;
    json_object_set_new(made, "exit", ended ? json_integer(job->exit_code) : json_null());
    json_object_set_new(made, "progress", progress_json(job));
    json_object_set_new(made, "error", or_null(job->problem));
    json_object_set_new(made, "result", or_null(job->result));
    return made;
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

void cli_mcp_job_stop(cli_mcp_job *job) {
    if (job->state == CLI_MCP_ENDED || job->stopped_s > 0) return;
    job->stopped_s = cli_now_s();
    if (job->state == CLI_MCP_QUEUED) {
        job->state = CLI_MCP_ENDED;
        job->begun_s = job->ended_s = job->stopped_s;
        job->exit_code = hone_rc_exit(HONE_E_INTERRUPTED);
        set_problem(job, "E_INTERRUPTED", "stopped before it began");
    } else if (job->child > 0)
        kill(job->child, SIGINT);
}

void cli_mcp_job_press(cli_mcp_job *job, double patience_s) {
    if (job->state != CLI_MCP_RUNNING || !(job->stopped_s > 0) || job->killed) return;
    if (cli_now_s() - job->stopped_s < patience_s) return;
    job->killed = true;
    kill(job->guardian, SIGTERM); /* the guardian ends all below it */
}

static void nothing(void *arg, cli_mcp_job *job, json_t *report) { (void)arg, (void)job, (void)report; }

void cli_mcp_jobs_end(cli_mcp_jobs *all) {
    double patience_s = 1.2; /* a client gives a server 2 s to end */
    for (cli_mcp_job *job = all->first; job; job = job->next) cli_mcp_job_stop(job);
    for (bool left = true; left;) {
        left = false;
        for (cli_mcp_job *job = all->first; job; job = job->next) {
            cli_mcp_job_read(job, nothing, NULL);
            cli_mcp_job_press(job, patience_s);
            left |= job->state == CLI_MCP_RUNNING;
        }
        if (left) poll(NULL, 0, 10);
    }
    while (all->first) cli_mcp_job_free(all, all->first);
}
