/* mcp_calls.c — tool calls: begun, told of, answered. What a command refuses is a result with isError, in the command
 * line's own words; a job that goes on when the time of its call is over is told of by its number. */
#include "mcp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double beat_s = 2, least_gap_s = 0.25; /* between two tellings of progress */
static const double patience_s = 10;                /* for a job that was asked to end */

/* --- answers ------------------------------------------------------------------------------------------------------ */

static json_t *text_block(const char *text) {
    json_t *words = json_string(text);
    return json_pack("{s:s, s:o}", "type", "text", "text", words ? words : json_string("(not UTF-8)"));
}

static void answer_problem(cli_mcp *m, cli_mcp_call *call, const char *id, const char *text) {
    char *words = cli_format("%s: %s", id, text);
    cli_mcp_answer(m, call, json_pack("{s:[o], s:b}", "content", text_block(words), "isError", 1));
    free(words);
}

/* value is taken. The JSON is in a text, too, for clients that do not show structured content. */
static void answer_value(cli_mcp *m, cli_mcp_call *call, const char *text, json_t *value) {
    char *whole = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_t *result =
        json_pack("{s:[o, o], s:b}", "content", text_block(text), text_block(whole ? whole : "null"), "isError", 0);
    if (cli_mcp_since(m, call, "2025-06-18")) json_object_set(result, "structuredContent", value);
    json_decref(value);
    free(whole);
    cli_mcp_answer(m, call, result);
}

static const char *problem_text(const cli_mcp_job *job, const char *key) {
    const char *text = json_string_value(json_object_get(job->problem, key));
    return text ? text : "";
}

/* Of a job that has ended with a result. */
static char *result_text(const cli_mcp_job *job) {
    char *text = cli_mcp_fill(job->tool->text, job->result), *made;
    bool stopped = job->stopped_s > 0;
    if (!stopped && !job->exit_code) return text;
    made = stopped ? cli_format("stopped; %s", text) : cli_format("%s (exit %d)", text, job->exit_code);
    free(text);
    return made;
}

static char *job_text(const cli_mcp_job *job) {
    const char *report = json_string_value(json_object_get(job->report, "text"));
    char session[40] = "";
    unsigned long long id = job->id;
    if (job->session) snprintf(session, sizeof session, ", session %lld", (long long)job->session);
    if (job->state == CLI_MCP_QUEUED)
        return cli_format("job %llu (%s) waits until no other job measures; `status` with job %llu tells when it runs",
                          id, job->tool->name, id);
    if (job->state == CLI_MCP_RUNNING)
        return cli_format("job %llu (%s%s) is running: %s; `status` with job %llu tells more, `stop` ends it", id,
                          job->tool->name, session, report ? report : "no news yet", id);
    if (job->result) return result_text(job);
    return cli_format("job %llu (%s%s) %s: %s: %s", id, job->tool->name, session,
                      job->stopped_s > 0 ? "was stopped" : "failed", problem_text(job, "id"),
                      problem_text(job, "text"));
}

static json_t *jobs_json(const cli_mcp *m) {
    json_t *all = json_array();
    for (const cli_mcp_job *job = m->jobs.first; job; job = job->next)
        if (job->id) json_array_append_new(all, cli_mcp_job_json(job, false));
    return all;
}

static json_t *status_json(const cli_mcp *m, json_t *job, json_t *record, json_t *sessions) {
    return json_pack("{s:o, s:o, s:o, s:o}", "job", job ? job : json_null(), "jobs", jobs_json(m), "record",
                     record ? record : json_null(), "sessions", sessions ? sessions : json_null());
}

/* Of `hone status`, which has ended. Without a record there may be jobs to tell of. */
static void answer_status(cli_mcp *m, cli_mcp_call *call, const cli_mcp_job *job) {
    json_t *jobs = jobs_json(m), *value;
    size_t n = json_array_size(jobs);
    json_decref(jobs);
    if (job->problem && !n) {
        answer_problem(m, call, problem_text(job, "id"), problem_text(job, "text"));
        return;
    }
    if (json_is_array(job->result))
        value = status_json(m, NULL, NULL, json_incref(job->result));
    else
        value = status_json(m, NULL, job->result ? json_incref(job->result) : NULL, NULL);
    char *text =
        job->problem ? cli_format("%s; %zu jobs", problem_text(job, "text"), n) : cli_mcp_fill(call->tool->text, value);
    answer_value(m, call, text, value);
    free(text);
}

static void answer_job(cli_mcp *m, cli_mcp_call *call) {
    const cli_mcp_job *job = call->job;
    bool failed = job->problem && !job->result;
    if (call->tool->kind == CLI_MCP_STATUS && !job->id) {
        answer_status(m, call, job);
    } else if (failed && call->owner) {
        answer_problem(m, call, problem_text(job, "id"), problem_text(job, "text"));
    } else {
        char *text = job_text(job);
        json_t *value = !job->id ? json_incref(job->result) : cli_mcp_job_json(job, true);
        answer_value(m, call, text, call->tool->kind == CLI_MCP_STATUS ? status_json(m, value, NULL, NULL) : value);
        free(text);
    }
}

/* --- beginning and cancelling ------------------------------------------------------------------------------------- */

static void about_job(cli_mcp *m, cli_mcp_call *call, const cli_mcp_request *r) {
    char text[120];
    cli_mcp_job *job = cli_mcp_job_find(&m->jobs, r->job);
    if (!job) {
        snprintf(text, sizeof text, "this server has no job %llu; `status` without a job lists those it has",
                 (unsigned long long)r->job);
        answer_problem(m, call, "E_NOTFOUND", text);
        return;
    }
    if (call->tool->kind == CLI_MCP_STOP) cli_mcp_job_stop(job);
    call->job = job;
    call->until_s = cli_now_s() + (call->tool->kind == CLI_MCP_STOP ? patience_s + 2 : r->wait_s);
}

static hone_rc begin_job(cli_mcp *m, cli_mcp_call *call, cli_mcp_request *r, hone_err *err) {
    double now = cli_now_s();
    hone_rc rc = cli_mcp_job_add(&m->jobs, call->tool, r, &call->job, err);
    call->owner = true;
    call->until_s = call->tool->kind == CLI_MCP_WORK ? now + r->wait_s : INFINITY;
    return rc;
}

void cli_mcp_call_tool(cli_mcp *m, cli_mcp_call *call, json_t *params) {
    json_t *arguments = json_object_get(params, "arguments"), *none = json_object();
    const char *name = json_string_value(json_object_get(params, "name")), *near = NULL;
    cli_mcp_request r = {0};
    hone_err err = {0};
    call->tool = name ? cli_mcp_tool_find(name, &near) : NULL;
    if (!name)
        cli_mcp_refuse(m, call, CLI_MCP_PARAMS, NULL, "tools/call needs 'name', the name of a tool");
    else if (!call->tool)
        cli_mcp_refuse(m, call, CLI_MCP_PARAMS, NULL, "Unknown tool: %s%s%s", name,
                       near ? "; did you mean " : "; tools/list lists them", near ? near : "");
    else if (arguments && !json_is_object(arguments) && !json_is_null(arguments))
        cli_mcp_refuse(m, call, CLI_MCP_PARAMS, NULL, "'arguments' of tools/call has to be an object");
    else if (cli_mcp_request_read(call->tool, json_is_object(arguments) ? arguments : none, &r, &err))
        answer_problem(m, call, hone_rc_name(err.rc), err.text);
    else if (r.job)
        about_job(m, call, &r);
    else if (begin_job(m, call, &r, &err))
        answer_problem(m, call, hone_rc_name(err.rc), err.text);
    json_decref(none);
    cli_mcp_request_free(&r);
}

void cli_mcp_cancel(cli_mcp *m, json_t *id) {
    cli_mcp_call *call = m->calls;
    while (call && !json_equal(call->id, id)) call = call->next;
    if (!call) return;
    if (call->owner && call->job) cli_mcp_job_stop(call->job);
    cli_mcp_drop(m, call);
}

/* --- progress and log --------------------------------------------------------------------------------------------- */

/* In seconds, which is what grows steadily; the total is known where the rest is. */
static void tell_progress(cli_mcp *m, cli_mcp_call *call) {
    double now = cli_now_s(), done_s = now - call->begun_s;
    const cli_mcp_job *job = call->job;
    const json_t *left = json_object_get(job->report, "left_s"), *text = json_object_get(job->report, "text");
    if (!call->token || now - call->told_s < least_gap_s || cli_mcp_wire_full(&m->wire)) return;
    call->told_s = now;
    json_t *params = json_pack("{s:O, s:f}", "progressToken", call->token, "progress", done_s);
    if (json_is_number(left) && job->state == CLI_MCP_RUNNING)
        json_object_set_new(params, "total", json_real(done_s + json_number_value(left)));
    const char *words = job->state == CLI_MCP_QUEUED ? "waits until no other job measures" : json_string_value(text);
    if (words && cli_mcp_since(m, call, "2025-03-26")) json_object_set_new(params, "message", json_string(words));
    cli_mcp_notify(m, "notifications/progress", params);
}

static void log_text(cli_mcp *m, int level, const char *text) {
    static const char *const name[] = {"debug", "info", "notice", "warning", "error"};
    if (cli_mcp_wire_full(&m->wire)) return;
    cli_mcp_notify(m, "notifications/message",
                   json_pack("{s:s, s:s, s:o}", "level", name[level], "logger", "hone", "data", json_string(text)));
}

/* To a client that shook hands as it asked; to another only for calls that ask for a log. */
static void log_job(cli_mcp *m, const cli_mcp_job *job, int level, const char *text) {
    char *words = job->id ? cli_format("job %llu (%s): %s", (unsigned long long)job->id, job->tool->name, text)
                          : cli_format("%s: %s", job->tool->name, text);
    bool wanted = m->revision >= 0 && level >= m->log_level;
    for (const cli_mcp_call *call = m->calls; call; call = call->next)
        wanted |= call->job == job && call->modern && call->log_level >= 0 && level >= call->log_level;
    if (wanted) log_text(m, level, words);
    free(words);
}

void cli_mcp_reported(void *mcp, cli_mcp_job *job, json_t *report) {
    cli_mcp *m = mcp;
    const char *stage = json_string_value(json_object_get(report, "stage"));
    const char *text = json_string_value(json_object_get(report, "text"));
    bool warning = stage && strcmp(stage, "warning") == 0;
    log_job(m, job, warning ? CLI_MCP_WARNING : CLI_MCP_DEBUG, text ? text : "");
    for (cli_mcp_call *call = m->calls; call && !warning; call = call->next)
        if (call->job == job) tell_progress(m, call);
}

/* --- the turn of the loop ----------------------------------------------------------------------------------------- */

static bool waited_for(const cli_mcp *m, const cli_mcp_job *job) {
    for (const cli_mcp_call *call = m->calls; call; call = call->next)
        if (call->job == job) return true;
    return false;
}

/* A search's number is worth some more seconds. */
static double until(const cli_mcp_call *call) {
    const cli_mcp_job *job = call->job;
    bool search = call->owner && strcmp(job->tool->name, "tune") == 0;
    return call->until_s + (search && !job->session && job->state == CLI_MCP_RUNNING ? 20 : 0);
}

double cli_mcp_settle(cli_mcp *m) {
    double now = cli_now_s(), next = INFINITY;
    cli_mcp_jobs_start(&m->jobs);
    for (cli_mcp_call *call = m->calls, *after; call; call = after) {
        after = call->next;
        if (call->job->state == CLI_MCP_ENDED || now >= until(call)) {
            answer_job(m, call);
            continue;
        }
        if (now - call->told_s >= beat_s) tell_progress(m, call);
        next = fmin(next, fmin(until(call), call->told_s + beat_s));
    }
    for (cli_mcp_job *job = m->jobs.first, *after; job; job = after) {
        after = job->next;
        cli_mcp_job_press(job, patience_s);
        bool closing = job->state == CLI_MCP_RUNNING && job->out.fd < 0;
        if (closing || job->stopped_s > 0) next = fmin(next, now + (closing ? 0.01 : 0.5));
        if (job->state == CLI_MCP_ENDED && !job->id && !waited_for(m, job)) cli_mcp_job_free(&m->jobs, job);
    }
    return fmax(0, next - now);
}
