/* mcp_protocol.c — messages of the Model Context Protocol: JSON-RPC 2.0, one message a line.
 *
 * Two kinds of revisions (modelcontextprotocol.io, "Versioning and Compatibility"): those that begin with the handshake
 * `initialize`, up to 2025-11-25; and 2026-07-28, where each request says in its _meta which revision it is of. A
 * client may use both; what a request is of decides how it is answered.
 */
#include "mcp.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
static const char modern[] = "2026-07-28";
enum { N_REVISIONS = sizeof revisions / sizeof *revisions, UNSUPPORTED_REVISION = -32022 };

#define META "io.modelcontextprotocol/"

static const char instructions[] =
    "hone searches compiler options, source parameters and kernel schedules, and proves what it finds. The order of "
    "work: init (or write hone.yaml by hand), tune, validate, minimize, then keep the controls file and check it in "
    "CI. Models: tune, compile, bench, profile. Tools that take long answer after wait_s with a job; status tells how "
    "it goes, stop ends it. Jobs that measure run one after the other. Searches are recorded: tune continues one that "
    "was stopped or lost.";

static int revision_index(const char *name) {
    for (int i = 0; i < N_REVISIONS; i++)
        if (strcmp(revisions[i], name) == 0) return i;
    return -1;
}

bool cli_mcp_since(const cli_mcp *m, const cli_mcp_call *call, const char *revision) {
    return call->modern || m->revision >= revision_index(revision);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

static json_t *server_info(void) {
    return json_pack("{s:s, s:s, s:s}", "name", "hone", "title", "hone", "version", hone_version());
}

static void batch_end(cli_mcp *m, cli_mcp_batch *b) {
    if (!b || --b->left) return;
    if (json_array_size(b->answers))
        cli_mcp_wire_send(&m->wire, b->answers);
    else
        json_decref(b->answers);
    free(b);
}

static void send_answer(cli_mcp *m, cli_mcp_batch *b, json_t *message) {
    if (b)
        json_array_append_new(b->answers, message);
    else
        cli_mcp_wire_send(&m->wire, message);
}

void cli_mcp_notify(cli_mcp *m, const char *method, json_t *params) {
    cli_mcp_wire_send(&m->wire, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

void cli_mcp_drop(cli_mcp *m, cli_mcp_call *call) {
    cli_mcp_call **at = &m->calls;
    while (*at && *at != call) at = &(*at)->next;
    if (*at) *at = call->next;
    batch_end(m, call->batch);
    json_decref(call->id);
    json_decref(call->token);
    free(call);
}

void cli_mcp_answer(cli_mcp *m, cli_mcp_call *call, json_t *result) {
    if (call->modern) {
        json_object_set_new(result, "resultType", json_string("complete"));
        json_object_set_new(result, "_meta", json_pack("{s:o}", META "serverInfo", server_info()));
    }
    send_answer(m, call->batch, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", call->id, "result", result));
    cli_mcp_drop(m, call);
}

/* id NULL: it could not be read. */
static void refuse(cli_mcp *m, cli_mcp_batch *b, json_t *id, int code, json_t *data, const char *text) {
    json_t *words = json_string(text);
    json_t *error = json_pack("{s:i, s:o}", "code", code, "message", words ? words : json_string("(not UTF-8)"));
    if (data) json_object_set_new(error, "data", data);
    json_t *whose = id ? json_incref(id) : json_null();
    send_answer(m, b, json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", whose, "error", error));
}

void cli_mcp_refuse(cli_mcp *m, cli_mcp_call *call, int code, json_t *data, const char *fmt, ...) {
    char text[1000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    refuse(m, call->batch, call->id, code, data, text);
    cli_mcp_drop(m, call);
}

/* --- methods ------------------------------------------------------------------------------------------------------ */

static json_t *capabilities(void) { return json_pack("{s:{}, s:{}}", "tools", "logging"); }

/* A revision we do not know is answered with our newest of that kind; the client decides. */
static void initialize(cli_mcp *m, cli_mcp_call *call, json_t *params) {
    const char *asked = json_string_value(json_object_get(params, "protocolVersion"));
    if (!asked) {
        cli_mcp_refuse(m, call, CLI_MCP_PARAMS, NULL, "initialize needs 'protocolVersion', a text");
        return;
    }
    if (m->revision >= 0) {
        cli_mcp_refuse(m, call, CLI_MCP_INVALID, NULL, "initialize was sent before; it belongs at the beginning, once");
        return;
    }
    int known = revision_index(asked);
    m->revision = known >= 0 ? known : N_REVISIONS - 1;
    cli_mcp_answer(m, call,
                   json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", revisions[m->revision], "capabilities",
                             capabilities(), "serverInfo", server_info(), "instructions", instructions));
}

static json_t *supported(void) {
    json_t *all = json_pack("[s]", modern);
    for (int i = N_REVISIONS; i-- > 0;) json_array_append_new(all, json_string(revisions[i]));
    return all;
}

static void discover(cli_mcp *m, cli_mcp_call *call, json_t *params) {
    (void)params;
    cli_mcp_answer(m, call,
                   json_pack("{s:o, s:o, s:s, s:i, s:s}", "supportedVersions", supported(), "capabilities",
                             capabilities(), "instructions", instructions, "ttlMs", 3600000, "cacheScope", "public"));
}

static void ping(cli_mcp *m, cli_mcp_call *call, json_t *params) {
    (void)params;
    cli_mcp_answer(m, call, json_object());
}

static void list_tools(cli_mcp *m, cli_mcp_call *call, json_t *params) {
    if (json_object_get(params, "cursor")) {
        cli_mcp_refuse(m, call, CLI_MCP_PARAMS, NULL, "there is no such cursor: tools/list has one page");
        return;
    }
    json_t *all = json_array();
    for (size_t i = 0; cli_mcp_tool_at(i); i++) {
        json_t *one = cli_mcp_describe(cli_mcp_tool_at(i));
        if (!cli_mcp_since(m, call, "2025-03-26")) json_object_del(one, "annotations");
        if (!cli_mcp_since(m, call, "2025-06-18")) json_object_del(one, "title"), json_object_del(one, "outputSchema");
        json_array_append_new(all, one);
    }
    json_t *result = json_pack("{s:o}", "tools", all);
    if (call->modern) {
        json_object_set_new(result, "ttlMs", json_integer(3600000));
        json_object_set_new(result, "cacheScope", json_string("public"));
    }
    cli_mcp_answer(m, call, result);
}

static int read_level(const json_t *v) {
    static const char *const name[] = {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};
    for (int i = 0; json_is_string(v) && i < (int)(sizeof name / sizeof *name); i++)
        if (strcmp(name[i], json_string_value(v)) == 0) return i;
    return -1;
}

static void set_level(cli_mcp *m, cli_mcp_call *call, json_t *params) {
    int level = read_level(json_object_get(params, "level"));
    if (level < 0) {
        cli_mcp_refuse(m, call, CLI_MCP_PARAMS, NULL,
                       "'level' has to be debug, info, notice, warning, error, critical, "
                       "alert or emergency");
        return;
    }
    m->log_level = level;
    cli_mcp_answer(m, call, json_object());
}

static const struct method {
    const char *name;
    bool old, now; /* of revisions with a handshake; of 2026-07-28 */
    void (*run)(cli_mcp *m, cli_mcp_call *call, json_t *params);
} methods[] = {
    {"initialize", true, false, initialize},
    {"server/discover", false, true, discover},
    {"ping", true, false, ping},
    {"logging/setLevel", true, false, set_level},
    {"tools/list", true, true, list_tools},
    {"tools/call", true, true, cli_mcp_call_tool},
};

/* --- receiving ---------------------------------------------------------------------------------------------------- */

/* Reads what _meta says. false: the request was refused. */
static bool read_meta(cli_mcp *m, cli_mcp_call *call, const char *method, json_t *meta) {
    json_t *version = json_object_get(meta, META "protocolVersion"), *token = json_object_get(meta, "progressToken");
    if (json_is_string(token) || json_is_integer(token)) call->token = json_incref(token);
    if (!version || strcmp(method, "initialize") == 0) return true;
    call->modern = true;
    if (!json_is_string(version)) {
        cli_mcp_refuse(m, call, CLI_MCP_PARAMS, NULL, "'" META "protocolVersion' has to be a text");
        return false;
    }
    if (strcmp(json_string_value(version), modern) != 0) {
        json_t *data = json_pack("{s:o, s:O}", "supported", supported(), "requested", version);
        cli_mcp_refuse(m, call, UNSUPPORTED_REVISION, data, "Unsupported protocol version");
        return false;
    }
    if (!json_is_object(json_object_get(meta, META "clientCapabilities"))) {
        cli_mcp_refuse(m, call, CLI_MCP_PARAMS, NULL, "_meta needs '" META "clientCapabilities', an object");
        return false;
    }
    call->log_level = read_level(json_object_get(meta, META "logLevel"));
    return true;
}

static void dispatch(cli_mcp *m, cli_mcp_call *call, const char *method, json_t *params) {
    const struct method *found = NULL;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, method) == 0) found = &methods[i];
    if (!read_meta(m, call, method, json_object_get(params, "_meta"))) return;
    if (found && !call->modern && !found->old)
        cli_mcp_refuse(m, call, CLI_MCP_PARAMS, NULL,
                       "'%s' is of revision %s: its _meta needs '" META "protocolVersion'", method, modern);
    else if (!found || (call->modern && !found->now))
        cli_mcp_refuse(m, call, CLI_MCP_UNKNOWN, NULL, "Method not found: %s", method);
    else if (!call->modern && m->revision < 0 && found->run != initialize && found->run != ping)
        cli_mcp_refuse(m, call, CLI_MCP_INVALID, NULL,
                       "send initialize first, or give each request the _meta of "
                       "revision 2026-07-28");
    else
        found->run(m, call, params);
}

static void receive_request(cli_mcp *m, cli_mcp_batch *b, json_t *id, const char *method, json_t *params) {
    for (const cli_mcp_call *call = m->calls; call; call = call->next)
        if (json_equal(call->id, id)) {
            refuse(m, b, id, CLI_MCP_INVALID, NULL, "a request with this id is under way");
            return;
        }
    if (params && !json_is_object(params)) {
        refuse(m, b, id, CLI_MCP_PARAMS, NULL, "'params' has to be an object");
        return;
    }
    cli_mcp_call *call = cli_alloc(1, sizeof *call);
    *call = (cli_mcp_call){.next = m->calls, .id = json_incref(id), .log_level = -1, .batch = b};
    call->begun_s = call->told_s = cli_now_s();
    if (b) b->left++;
    m->calls = call;
    dispatch(m, call, method, params);
}

static void receive(cli_mcp *m, cli_mcp_batch *b, json_t *message) {
    json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    const char *version = json_string_value(json_object_get(message, "jsonrpc"));
    const char *method = json_string_value(json_object_get(message, "method"));
    bool named = json_is_string(id) || json_is_integer(id);
    if (!version || strcmp(version, "2.0") != 0)
        refuse(m, b, named ? id : NULL, CLI_MCP_INVALID, NULL,
               "not a message of JSON-RPC 2.0: 'jsonrpc' is not \"2.0\"");
    else if (!method && (json_object_get(message, "result") || json_object_get(message, "error")))
        return; /* an answer, though nothing was asked */
    else if (!method)
        refuse(m, b, named ? id : NULL, CLI_MCP_INVALID, NULL, "a request needs 'method', a text");
    else if (id && !named)
        refuse(m, b, NULL, CLI_MCP_INVALID, NULL, "the 'id' of a request has to be a text or a whole number");
    else if (id)
        receive_request(m, b, id, method, params);
    else if (strcmp(method, "notifications/cancelled") == 0 && json_is_object(params))
        cli_mcp_cancel(m, json_object_get(params, "requestId"));
}

static void receive_batch(cli_mcp *m, json_t *all) {
    if (m->revision < 0 || m->revision > revision_index("2025-03-26") || !json_array_size(all)) {
        refuse(m, NULL, NULL, CLI_MCP_INVALID, NULL,
               "an array of messages is of revision 2025-03-26; send them one by one");
        return;
    }
    cli_mcp_batch *b = cli_alloc(1, sizeof *b);
    *b = (cli_mcp_batch){json_array(), 1};
    for (size_t i = 0; i < json_array_size(all); i++) receive(m, b, json_array_get(all, i));
    batch_end(m, b);
}

void cli_mcp_line(void *mcp, const char *text, size_t n) {
    cli_mcp *m = mcp;
    json_error_t why;
    char words[250];
    if (n == SIZE_MAX) {
        refuse(m, NULL, NULL, CLI_MCP_PARSE, NULL, "a message has 4 MiB at most");
        return;
    }
    while (n && strchr(" \t\r", text[n - 1])) n--;
    if (!n) return;
    json_t *message = json_loadb(text, n, JSON_DECODE_ANY, &why);
    if (!message) {
        snprintf(words, sizeof words, "not JSON: %s at column %d", why.text, why.column);
        refuse(m, NULL, NULL, CLI_MCP_PARSE, NULL, words);
    } else if (json_is_array(message))
        receive_batch(m, message);
    else
        receive(m, NULL, message);
    json_decref(message);
}
