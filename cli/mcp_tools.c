/* mcp_tools.c — the table of tools, and a call's arguments as the words of a command. */
#include "mcp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double default_wait_s = 30, longest_wait_s = 86400;

/* Members that several results have. */
#define INTERVAL "{lo:num? mid:num? hi:num?}"
#define PROOF "{kept:bool why:text verdict:text n_pairs:int overall:any}"

static const cli_mcp_tool tools[] = {
    {"init", CLI_MCP_QUICK, false, "Write a workload file",
     "Writes hone.yaml, the file that says how one program is built, run, measured and judged, for a C file (`source`) "
     "a build command (`build`), or a project of make, CMake, Meson or Cargo (`from`; `run` says how the program is "
     "run). The draft is built and run; `metrics` are what it prints about its speed, `changes` what differs from run "
     "to run. Read it afterwards and say in it what better means; then call `tune`.",
     "source text", "the C file", "build from program run metric no-try output force", "",
     "path:text tried:bool changes:text? metrics:*{name:text value:num? direction:text}",
     "wrote {path}: read it, say there what better means, then call tune"},
    {"tune", CLI_MCP_WORK, false, "Search for the best controls",
     "Searches the compiler options and parameters that make a workload better, or the schedules of a model's kernels. "
     "With `precision` (mixed, int8, bf16 or a file) and `data` it first chooses which products of a model may be "
     "narrow. "
     "A search takes minutes to hours: the answer comes after `wait_s` with a job and a session; `status` with the job "
     "tells how it goes, `stop` ends it. Everything finished is recorded: a stopped or lost search is continued by the "
     "same call. A gain reported here is not yet a proof: call `validate`.",
     "workload text", "the workload file (default hone.yaml), or a model file",
     "evals time engine seed jobs cpu no-canary store resume new warm-start pack budget target symbol size threads "
     "kernels winners cc relaxed precision data calibrate percentile no-smooth max-error metric metric-limit front "
     "points key prove-latency output",
     "-q",
     "session~int workload~text reason~text speedup~num? speedup_lo~num? speedup_hi~num? trials~int reused~int "
     "classes~object point~object? argv~text? elapsed_s:num own_s~num store~text gain~any kernels~*object winners~text "
     "precision_file~text products~int narrow~int sample_sizes~text? front~object precision~object",
     "session {session} of '{workload}' ended ({reason}) after {trials} trials; the best is better than the baseline "
     "by a factor of {speedup} (closing race: {speedup_lo} to {speedup_hi}); `validate` proves it|tuned in {elapsed_s} "
     "s; default against tuned time of the whole model (low, middle, high):\n{gain}"},
    {"status", CLI_MCP_STATUS, true, "How a search or a job is doing",
     "With `job`: its state, progress and, at its end, its result; with `wait_s` it waits for the end. Without: the "
     "state of a recorded session (the newest unless `session` says which), and the jobs of this server.",
     "session int", "a session's number", "all workload store", "",
     "record:{session:int workload:text state:text reason:text engine:text trials:int elapsed_s:num? classes:object "
     "objectives:*{expr:text direction:text baseline:num? best:num? speedup:num?}}? sessions:*object?",
     "session {record.session} of '{record.workload}': {record.state}, {record.trials} trials, best better than the "
     "baseline by a factor of {record.objectives.0.speedup}|listed"},
    {"stop", CLI_MCP_STOP, false, "End a job",
     "Ends a job that runs or waits. What a search has finished is recorded, and `tune` continues it.", NULL, NULL, "",
     "", "", ""},
    {"results", CLI_MCP_QUICK, true, "List trials of a session",
     "Lists the trials of a session, best first, with their values, points and, for those that failed, why; ten "
     "unless `top` says how many.",
     "session int", "a session's number (default: the newest)", "top all failures pareto workload store", "--top=10",
     "session:int best:int trials:*{trial:int phase:text class:text values:object speedup:num? feasible:bool "
     "point:object? detail:text?}",
     "session {session}: the best trial is {best}"},
    {"best", CLI_MCP_QUICK, true, "Print the best controls",
     "The best point of a session as compiler flags, environment and build command.", "session int",
     "a session's number (default: the newest)", "workload store", "",
     "session:int trial:int speedup:num? values:object point:object argv:*text env:any pgo:bool command:text?",
     "session {session}, trial {trial}, better than the baseline by a factor of {speedup}:\n{command}"},
    {"validate", CLI_MCP_WORK, false, "Prove candidates",
     "Measures the best candidates of a session beside the baseline, on fresh builds and in interleaved pairs, until "
     "each is kept or rejected by statistics. Writes the best kept one as a controls file, NAME.hone. Exit 17: nothing "
     "was kept.",
     "session int", "a session's number (default: the newest)",
     "top point controls pairs pairs-most variants min-gain time seed jobs cpu out no-controls workload store", "-q",
     "session:int workload:text kept:int controls:text? proofs:*{trial:int claimed:num? proof:" PROOF "?}",
     "{kept} kept, controls file: {controls}\n{proofs.0.proof.verdict}|{kept} kept"},
    {"minimize", CLI_MCP_WORK, false, "Reduce to the controls that matter",
     "Finds the fewest controls that keep the gain of a point, says what each brings, and proves what is left.",
     "from either", "a session's number or a controls file (default: the newest session)",
     "objective keep no-proof variants time seed jobs cpu out point workload store", "-q",
     "session:int workload:text objective:text before:int after:int measurements:int complete:bool "
     "gain_before:" INTERVAL " gain_after:" INTERVAL " shares:*{name:text value:any gain:" INTERVAL
     "} point:object? argv:text? proof:" PROOF "? controls:text?",
     "{before} controls reduced to {after}, which have a gain of {gain_after.mid}; controls file: {controls}"},
    {"explain", CLI_MCP_WORK, true, "Show what changed in the machine code",
     "Builds the baseline and a point and says what differs in their machine code.", "from either",
     "a session's number or a controls file (default: the newest session)", "diff jobs point workload store", "-q",
     "session:int workload:text point:object? sentences:*text facts:*{function:text what:text baseline:num? "
     "tuned:num?} function:text? baseline_code:text? tuned_code:text?",
     "{sentences}"},
    {"check", CLI_MCP_WORK, true, "Do controls files still hold?",
     "Compares controls files with today's sources, workload, compiler and machine; with `measure` also measures "
     "whether the gain is still there. Exit 18: stale, 19: regressed, 3: broken, 20: tampered.",
     "files *text", "controls files, or folders that are searched for them (default: the current folder)",
     "workload key ignore measure time jobs cpu store", "-q",
     "status:text exit:int files:*{file:text status:text text:text differences:*{part:text what:text then:text? "
     "now:text?} gain:num? gain_lo:num? gain_hi:num?}",
     "{status}: {files.0.text}|{status}"},
    {"compile", CLI_MCP_WORK, false, "Compile a model",
     "Compiles an ONNX file or a graph text to a native shared library, its header and its weights; each kernel is "
     "checked against a reference.",
     "model text", "the model file",
     "output emit embed-weights target relaxed tolerance reference no-parity symbol specialize cc winners no-winners "
     "jobs state threads precision data calibrate percentile no-smooth max-error metric metric-limit front points key "
     "prove-latency",
     "",
     "output:text nodes:int kernels:int distinct:int fallbacks:int winners:int cached:bool arena_b:int weights_b:int "
     "code_b:int time_s:num stages:object text:text? front~object precision~object",
     "wrote {output}: {kernels} kernels of {nodes} nodes, {fallbacks} of them fell back to the reference"},
    {"bench", CLI_MCP_WORK, true, "Time a model",
     "Times a compiled library, a model file or a language model on random inputs, alone or in turns with another "
     "engine.",
     "model text", "a compiled library or a model file",
     "profile against threads size time seed prompt-tokens tokens steps target relaxed tolerance symbol cc winners "
     "no-winners "
     "state",
     "", "model:text profile~text threads~int rounds~int results:*object",
     "{model}: median {results.0.p50_s} s of {results.0.runs} runs|{model}: "
     "{results.0.generation_tokens_per_s} tokens per second|timed"},
    {"profile", CLI_MCP_WORK, true, "Where a model's time goes",
     "Times each kernel of a model and sets it against what this machine can do.", "model text", "the model file",
     "calls html trace threads size time seed steps state target relaxed tolerance reference symbol specialize cc "
     "winners "
     "no-winners jobs",
     "",
     "model:text target:text threads:int runs:int run_s:num kernels_s:num of_roof:num? kernels:*{kernel:text kind:text "
     "shape:text schedule:text? calls:int time_s:num share:num of_roof:num?} calls~*object",
     "{model}: a run takes {run_s} s; the kernel with most of it is {kernels.0.kernel} ({kernels.0.kind}), a share of "
     "{kernels.0.share}|profiled"},
};

const cli_mcp_tool *cli_mcp_tool_at(size_t i) { return i < sizeof tools / sizeof *tools ? &tools[i] : NULL; }

const cli_mcp_tool *cli_mcp_tool_find(const char *name, const char **near) {
    const char *names[sizeof tools / sizeof *tools];
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(names[i] = tools[i].name, name) == 0) return &tools[i];
    if (near) *near = cli_nearest(name, names, sizeof tools / sizeof *tools);
    return NULL;
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

char *cli_mcp_argument(const cli_mcp_tool *tool, const cli_option *o) {
    size_t n = strlen(o->name);
    for (const char *p = tool->options; *p; p += strspn(p, " ")) {
        size_t k = strcspn(p, " ");
        if (k == n && strncmp(p, o->name, n) == 0) {
            char *name = cli_strdup(o->name);
            for (char *q = name; *q; q++)
                if (*q == '-') *q = '_';
            return name;
        }
        p += k;
    }
    return NULL;
}

typedef struct reading {
    const cli_mcp_tool *tool;
    const cli_command *command;
    char **argv, **operand;
    size_t n, room, n_operands, operand_room;
    cli_mcp_request *out;
} reading;

static void add(char ***list, size_t *n, size_t *room, char *word) {
    *list = cli_grow(*list, room, *n, sizeof **list);
    (*list)[(*n)++] = word;
}
static void add_word(reading *r, char *word) { add(&r->argv, &r->n, &r->room, word); }
static void add_operand(reading *r, char *word) { add(&r->operand, &r->n_operands, &r->operand_room, word); }

static const char *kind_of(const json_t *v) {
    static const char *const name[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a text",   [JSON_INTEGER] = "a number",
        [JSON_REAL] = "a number",    [JSON_TRUE] = "a boolean", [JSON_FALSE] = "a boolean", [JSON_NULL] = "null"};
    return name[json_typeof(v)];
}

static hone_rc wrong(const reading *r, const char *name, const json_t *v, const char *takes, hone_err *err) {
    return cli_fail(err, HONE_E_USAGE, "argument '%s' of tool '%s' is %s; it takes %s", name, r->tool->name, kind_of(v),
                    takes);
}

/* A text or a number as a word; NULL: neither. */
static char *as_word(const json_t *v) {
    char text[CLI_TEXT_N];
    if (json_is_string(v)) return cli_strdup(json_string_value(v));
    if (json_is_integer(v)) return cli_format("%" JSON_INTEGER_FORMAT, json_integer_value(v));
    return json_is_real(v) && isfinite(json_real_value(v)) ? cli_strdup(cli_text_exact(json_real_value(v), text))
                                                           : NULL;
}

static hone_rc read_count(const reading *r, const char *name, const cli_option *o, const json_t *v, hone_err *err) {
    char takes[100];
    double x = (double)json_integer_value(v);
    if (o->hi > 0)
        snprintf(takes, sizeof takes, "a whole number from %.0f to %.0f", o->lo, o->hi);
    else
        snprintf(takes, sizeof takes, "a whole number from %.0f on", o->lo);
    if (!json_is_integer(v)) return wrong(r, name, v, takes, err);
    if (x >= o->lo && (o->hi <= 0 || x <= o->hi)) return HONE_OK;
    return cli_fail(err, HONE_E_USAGE, "argument '%s' of tool '%s' is %.0f; it takes %s", name, r->tool->name, x,
                    takes);
}

static hone_rc read_option(reading *r, const char *name, const cli_option *o, const json_t *v, hone_err *err) {
    bool text = o->kind == CLI_TEXT || o->kind == CLI_CHOICE, flag = o->kind == CLI_FLAG || o->kind == CLI_MAYBE;
    hone_rc rc = HONE_OK;
    if (text && !json_is_string(v)) return wrong(r, name, v, "a text", err);
    if (o->kind == CLI_FLAG && !json_is_boolean(v)) return wrong(r, name, v, "true or false", err);
    if (o->kind == CLI_SECONDS && !json_is_number(v) && !json_is_string(v))
        return wrong(r, name, v, "seconds, or a text such as 10m", err);
    if (o->kind == CLI_COUNT || (o->kind == CLI_MAYBE && !json_is_boolean(v))) rc = read_count(r, name, o, v, err);
    if (rc || json_is_false(v)) return rc;
    if (flag && json_is_true(v)) {
        add_word(r, cli_format("--%s", o->name));
        return HONE_OK;
    }
    char *word = as_word(v);
    add_word(r, cli_format("--%s=%s", o->name, word ? word : ""));
    free(word);
    return HONE_OK;
}

static hone_rc read_operand(reading *r, const char *name, json_t *v, hone_err *err) {
    const char *type = strchr(r->tool->operand, ' ') + 1;
    bool number = strcmp(type, "int") == 0, either = strcmp(type, "either") == 0;
    if (*type == '*') {
        if (!json_is_array(v)) return wrong(r, name, v, "an array of texts", err);
        for (size_t i = 0; i < json_array_size(v); i++) {
            if (!json_is_string(json_array_get(v, i)))
                return wrong(r, name, json_array_get(v, i), "an array of texts", err);
            add_operand(r, cli_strdup(json_string_value(json_array_get(v, i))));
        }
        return HONE_OK;
    }
    if (number && !json_is_integer(v)) return wrong(r, name, v, "a whole number", err);
    if (!number && !json_is_string(v) && !(either && json_is_integer(v)))
        return wrong(r, name, v, either ? "a whole number or a text" : "a text", err);
    add_operand(r, as_word(v));
    return HONE_OK;
}

static hone_rc read_dir(reading *r, const json_t *v, hone_err *err) {
    struct stat st;
    if (!json_is_string(v)) return wrong(r, "dir", v, "a text", err);
    if (stat(json_string_value(v), &st) || !S_ISDIR(st.st_mode))
        return cli_fail(err, HONE_E_IO, "there is no folder '%s'", json_string_value(v));
    r->out->dir = cli_strdup(json_string_value(v));
    return HONE_OK;
}

static hone_rc read_wait(reading *r, const json_t *v, hone_err *err) {
    double x = json_number_value(v);
    if (!json_is_number(v) || !(x >= 0 && x <= longest_wait_s))
        return cli_fail(err, HONE_E_USAGE, "argument 'wait_s' of tool '%s' takes seconds, 0 to %.0f", r->tool->name,
                        longest_wait_s);
    r->out->wait_s = x;
    return HONE_OK;
}

static hone_rc read_job(reading *r, const json_t *v, hone_err *err) {
    if (!json_is_integer(v) || json_integer_value(v) < 1) return wrong(r, "job", v, "a whole number from 1 on", err);
    r->out->job = (uint64_t)json_integer_value(v);
    return HONE_OK;
}

/* The properties that the tool's schema names. */
static hone_rc unknown(const reading *r, const char *name, hone_err *err) {
    json_t *described = cli_mcp_describe(r->tool);
    json_t *properties = json_object_get(json_object_get(described, "inputSchema"), "properties");
    const char *known[100], *key;
    size_t n = 0;
    json_t *value;
    json_object_foreach(properties, key, value) if (n < 100) known[n++] = key;
    const char *near = cli_nearest(name, known, n);
    hone_rc rc = near ? cli_fail(err, HONE_E_USAGE, "tool '%s' has no argument '%s'; did you mean '%s'?", r->tool->name,
                                 name, near)
                      : cli_fail(err, HONE_E_USAGE, "tool '%s' has no argument '%s'; its inputSchema lists them",
                                 r->tool->name, name);
    json_decref(described);
    return rc;
}

static hone_rc read_argument(reading *r, const char *name, json_t *v, hone_err *err) {
    const cli_mcp_tool *t = r->tool;
    size_t n = t->operand ? strcspn(t->operand, " ") : 0;
    bool told = t->kind == CLI_MCP_STATUS || t->kind == CLI_MCP_STOP;
    if (json_is_null(v)) return HONE_OK; /* as if it were not there */
    if (n && strlen(name) == n && strncmp(name, t->operand, n) == 0) return read_operand(r, name, v, err);
    if (t->kind != CLI_MCP_STOP && strcmp(name, "dir") == 0) return read_dir(r, v, err);
    if ((t->kind == CLI_MCP_WORK || t->kind == CLI_MCP_STATUS) && strcmp(name, "wait_s") == 0)
        return read_wait(r, v, err);
    if (told && strcmp(name, "job") == 0) return read_job(r, v, err);
    for (size_t i = 0; r->command && cli_option_at(r->command, i); i++) {
        char *mine = cli_mcp_argument(t, cli_option_at(r->command, i));
        bool same = mine && strcmp(mine, name) == 0;
        free(mine);
        if (same) return read_option(r, name, cli_option_at(r->command, i), v, err);
    }
    return unknown(r, name, err);
}

static hone_rc check_needed(const reading *r, hone_err *err) {
    if (r->tool->kind == CLI_MCP_STOP && !r->out->job)
        return cli_fail(err, HONE_E_USAGE, "tool 'stop' needs the argument 'job', a number");
    if (!r->command || r->n_operands >= (size_t)r->command->min_args) return HONE_OK;
    return cli_fail(err, HONE_E_USAGE, "tool '%s' needs the argument '%.*s'", r->tool->name,
                    (int)strcspn(r->tool->operand, " "), r->tool->operand);
}

/* hone COMMAND --json FIXED OPTIONS -- OPERANDS; FIXED: unless the call says otherwise. */
static void begin_words(reading *r, json_t *arguments) {
    const char *fixed = r->tool->fixed;
    char *name = cli_format("%.*s", (int)strcspn(fixed, "="), fixed);
    add_word(r, cli_strdup("hone"));
    add_word(r, cli_strdup(r->tool->name));
    add_word(r, cli_strdup("--json"));
    if (*fixed && !json_object_get(arguments, name + strspn(name, "-"))) add_word(r, cli_strdup(fixed));
    free(name);
}
static void end_words(reading *r) {
    if (r->n_operands) add_word(r, cli_strdup("--"));
    for (size_t i = 0; i < r->n_operands; i++) add_word(r, r->operand[i]);
    r->n_operands = 0;
    add_word(r, NULL);
    r->out->argv = r->argv;
}

hone_rc cli_mcp_request_read(const cli_mcp_tool *tool, json_t *arguments, cli_mcp_request *out, hone_err *err) {
    *out = (cli_mcp_request){.wait_s = tool->kind == CLI_MCP_WORK ? default_wait_s : 0};
    reading r = {.tool = tool, .out = out};
    hone_rc rc = HONE_OK;
    const char *name;
    json_t *value;
    if (tool->kind != CLI_MCP_STOP) rc = cli_command_find(tool->name, &r.command, err);
    begin_words(&r, arguments);
    json_object_foreach(arguments, name, value) if (!rc) rc = read_argument(&r, name, value, err);
    if (!rc) rc = check_needed(&r, err);
    if (rc)
        for (size_t i = 0; i < r.n_operands; i++) free(r.operand[i]);
    if (rc) r.n_operands = 0;
    end_words(&r);
    free(r.operand);
    bool measured = json_is_true(json_object_get(arguments, "measure"));
    out->measures = tool->kind == CLI_MCP_WORK && (strcmp(tool->name, "check") != 0 || measured);
    if (rc) cli_mcp_request_free(out);
    return rc;
}

void cli_mcp_request_free(cli_mcp_request *r) {
    for (char **p = r->argv; p && *p; p++) free(*p);
    free(r->argv);
    free(r->dir);
    *r = (cli_mcp_request){0};
}
