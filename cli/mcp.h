/* mcp.h — what the parts of `hone mcp` share: a server of the Model Context Protocol on standard input and output.
 *
 * One thread in one loop (cmd_mcp.c) over descriptors: lines of JSON-RPC from and to the client (mcp_wire.c), and
 * the commands of hone that run as child processes, the jobs (mcp_jobs.c). mcp_protocol.c answers the client,
 * mcp_calls.c its tool calls, mcp_tools.c is the table of tools, mcp_schema.c says their types.
 * Owns: cli_mcp owns everything below it. JSON values follow jansson's counts: a json_t argument is borrowed
 * unless its comment says that it is taken.
 */
#ifndef CLI_MCP_H
#define CLI_MCP_H

#include "cli.h"

#include <jansson.h>
#include <sys/types.h>

/* --- the wire ----------------------------------------------------------------------------------------------------- */

typedef struct cli_mcp_wire {
    int in, out;
    char *line; /* what was read of a line */
    size_t line_n, line_room;
    bool skipping; /* the rest of a line that is too long */
    char *queue;   /* what is still to be written, from queue_at on */
    size_t queue_n, queue_at, queue_room;
    bool ended; /* the client closed an end */
} cli_mcp_wire;

enum { CLI_MCP_LINE_MOST = 4 << 20 };

/* Reads what there is; line is called for each whole one, with n = SIZE_MAX for one that was too long. */
void cli_mcp_wire_read(cli_mcp_wire *w, void (*line)(void *arg, const char *text, size_t n), void *arg);
void cli_mcp_wire_send(cli_mcp_wire *w, json_t *message); /* takes it */
bool cli_mcp_wire_full(const cli_mcp_wire *w);            /* the client is slow: what may be left out is */
void cli_mcp_wire_write(cli_mcp_wire *w);                 /* as much as goes without waiting */
void cli_mcp_wire_flush(cli_mcp_wire *w); /* the rest, for a second at most: the client may still read */
void cli_mcp_wire_free(cli_mcp_wire *w);

/* --- tools -------------------------------------------------------------------------------------------------------- */

typedef enum cli_mcp_kind {
    CLI_MCP_QUICK,  /* answers with what the command prints */
    CLI_MCP_WORK,   /* a job: waited for up to wait_s, then told of by `status` */
    CLI_MCP_STATUS, /* of a job, or the command */
    CLI_MCP_STOP,   /* of a job */
} cli_mcp_kind;

typedef struct cli_mcp_tool {
    const char *name; /* of the tool and, unless it is CLI_MCP_STOP, of its command */
    cli_mcp_kind kind;
    bool reads; /* changes nothing but caches */
    const char *title, *description;
    const char *operand; /* the argument that is the command's operand, "NAME type" with a type of mcp_schema.c; NULL */
    const char *operand_help;
    const char *options; /* of the command, those that are arguments; separated by spaces */
    const char *fixed;   /* options that are always given; "" */
    const char *result;  /* fields of the command's JSON, as mcp_schema.c reads them */
    const char *text;    /* the result in a sentence, as cli_mcp_fill reads it */
} cli_mcp_tool;

const cli_mcp_tool *cli_mcp_tool_at(size_t i); /* NULL at the end */
/* NULL: unknown; *near (may be NULL) is then the nearest name or NULL. */
const cli_mcp_tool *cli_mcp_tool_find(const char *name, const char **near);

/* A call's arguments, read. */
typedef struct cli_mcp_request {
    char **argv; /* of hone; NULL-terminated */
    char *dir;   /* NULL: where hone mcp runs */
    double wait_s;
    uint64_t job; /* 0: none given */
    bool measures;
} cli_mcp_request;
/* E_USAGE names the argument and what it takes. */
hone_rc cli_mcp_request_read(const cli_mcp_tool *tool, json_t *arguments, cli_mcp_request *out, hone_err *err);
void cli_mcp_request_free(cli_mcp_request *r);

/* --- schemas and texts -------------------------------------------------------------------------------------------- */

json_t *cli_mcp_type(const char *type);     /* JSON schema of a type */
json_t *cli_mcp_fields(const char *fields); /* of an object with these fields */
json_t *cli_mcp_option_type(const cli_option *o);
/* The argument that stands for an option of the tool's command, malloc'ed; NULL where the tool has none for it. */
char *cli_mcp_argument(const cli_mcp_tool *tool, const cli_option *o);
/* One entry of tools/list. */
json_t *cli_mcp_describe(const cli_mcp_tool *tool);
/* `text` with each {a.b.0} replaced by that member of `value`; where one is absent, what follows the next | is used
 * instead. malloc'ed. */
char *cli_mcp_fill(const char *text, json_t *value);

/* --- jobs --------------------------------------------------------------------------------------------------------- */

typedef enum cli_mcp_state { CLI_MCP_QUEUED, CLI_MCP_RUNNING, CLI_MCP_ENDED } cli_mcp_state;

typedef struct cli_mcp_pipe {
    int fd; /* -1: closed */
    char *text;
    size_t n, room, at; /* at: what was read of text */
} cli_mcp_pipe;

typedef struct cli_mcp_job {
    struct cli_mcp_job *next;
    uint64_t id; /* 0: of a quick tool, which has no number */
    const cli_mcp_tool *tool;
    char **argv, *dir;
    bool measures; /* runs when no other does that measures */
    cli_mcp_state state;
    int guardian, child;                /* processes; 0: none */
    cli_mcp_pipe out, words, reports;   /* standard output, standard error, HONE_PROGRESS_FD */
    double begun_s, ended_s, stopped_s; /* stopped_s: when it was asked to end; 0: it was not */
    bool killed;
    int exit_code;                     /* 128 + signal */
    json_t *report, *result, *problem; /* the latest report; what it printed; {id, text} of a failure; or NULL */
    int64_t session;                   /* of a search, once it is known */
} cli_mcp_job;

typedef struct cli_mcp_jobs {
    cli_mcp_job *first; /* the oldest */
    uint64_t newest;
} cli_mcp_jobs;

/* Takes argv and dir out of the request. E_LIMIT: too many. */
hone_rc cli_mcp_job_add(cli_mcp_jobs *all, const cli_mcp_tool *tool, cli_mcp_request *r, cli_mcp_job **out,
                        hone_err *err);
cli_mcp_job *cli_mcp_job_find(const cli_mcp_jobs *all, uint64_t id);
/* Starts those whose turn it is. */
void cli_mcp_jobs_start(cli_mcp_jobs *all);
/* Reads what its pipes have; reported is called for each new report. Notices its end. */
void cli_mcp_job_read(cli_mcp_job *job, void (*reported)(void *arg, cli_mcp_job *job, json_t *report), void *arg);
/* Asks it to end; one that does not within 10 s is killed by cli_mcp_job_press. */
void cli_mcp_job_stop(cli_mcp_job *job);
void cli_mcp_job_press(cli_mcp_job *job, double patience_s);
/* {job, tool, state, ...}: what a tool tells of a job; whole: not only what a list of jobs shows. */
json_t *cli_mcp_job_json(const cli_mcp_job *job, bool whole);
void cli_mcp_job_free(cli_mcp_jobs *all, cli_mcp_job *job);
/* Ends all, within about 2 s. */
void cli_mcp_jobs_end(cli_mcp_jobs *all);

/* --- requests of the client --------------------------------------------------------------------------------------- */

/* Answers to requests that came in one array (revision 2025-03-26) go out in one. */
typedef struct cli_mcp_batch {
    json_t *answers;
    size_t left;
} cli_mcp_batch;

/* A request that is not answered yet. */
typedef struct cli_mcp_call {
    struct cli_mcp_call *next;
    json_t *id, *token; /* token: of progress, or NULL */
    bool modern;        /* of a revision without a handshake */
    int log_level;      /* least severity that is logged for it; -1: nothing is */
    cli_mcp_batch *batch;
    const cli_mcp_tool *tool;
    cli_mcp_job *job;
    bool owner;                      /* began the job: cancelling the call stops it */
    double begun_s, until_s, told_s; /* told_s: when progress was told */
} cli_mcp_call;

typedef struct cli_mcp {
    cli_mcp_wire wire;
    cli_mcp_jobs jobs;
    cli_mcp_call *calls;
    int revision; /* of the handshake, an index of revisions in mcp_protocol.c; -1: none yet */
    int log_level;
} cli_mcp;

/* The severities of RFC 5424, the least severe first. */
enum { CLI_MCP_DEBUG, CLI_MCP_INFO, CLI_MCP_NOTICE, CLI_MCP_WARNING, CLI_MCP_ERROR };
enum { CLI_MCP_PARSE = -32700, CLI_MCP_INVALID = -32600, CLI_MCP_UNKNOWN = -32601, CLI_MCP_PARAMS = -32602 };

/* mcp_protocol.c */
void cli_mcp_line(void *mcp, const char *text, size_t n);
/* Answers, and ends the call. result and data are taken; data may be NULL. */
void cli_mcp_answer(cli_mcp *m, cli_mcp_call *call, json_t *result);
void cli_mcp_refuse(cli_mcp *m, cli_mcp_call *call, int code, json_t *data, const char *fmt, ...) HONE_PRINTF(5, 6);
void cli_mcp_notify(cli_mcp *m, const char *method, json_t *params); /* takes params */
void cli_mcp_drop(cli_mcp *m, cli_mcp_call *call);                   /* no answer: cancelled */
bool cli_mcp_since(const cli_mcp *m, const cli_mcp_call *call, const char *revision);

/* mcp_calls.c */
void cli_mcp_call_tool(cli_mcp *m, cli_mcp_call *call, json_t *params);
void cli_mcp_cancel(cli_mcp *m, json_t *id);
void cli_mcp_reported(void *mcp, cli_mcp_job *job, json_t *report);
/* Answers what can be answered by now, tells progress; gives how many seconds it has time for. */
double cli_mcp_settle(cli_mcp *m);

#endif
