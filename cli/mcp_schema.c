/* mcp_schema.c — types of tools as JSON Schema (2020-12), from a short text, and results as sentences.
 *
 *     fields  NAME:type NAME~type ...   (~: may be absent), separated by spaces
 *     type    int num text bool object any either    either: int or text; with * before it: an array of it, with ?
 *             {fields}                               behind it: or null; {fields}: an object
 */
#include "mcp.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static json_t *read_fields(const char **p);

static const struct word {
    const char *name, *type;
} words[] = {{"int", "integer"},  {"num", "number"},    {"text", "string"},
             {"bool", "boolean"}, {"object", "object"}, {"any", NULL}};

static json_t *read_word(const char **p) {
    size_t n = strspn(*p, "abcdefghijklmnopqrstuvwxyz");
    json_t *type = json_object();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].name) == n && strncmp(words[i].name, *p, n) == 0 && words[i].type)
            json_object_set_new(type, "type", json_string(words[i].type));
    if (n == 6 && strncmp(*p, "either", n) == 0)
        json_object_set_new(type, "type", json_pack("[s, s]", "integer", "string"));
    *p += n;
    return type;
}

static json_t *read_plain(const char **p) {
    if (**p == '*') {
        ++*p;
        return json_pack("{s:s, s:o}", "type", "array", "items", read_plain(p));
    }
    if (**p != '{') return read_word(p);
    ++*p;
    json_t *type = read_fields(p);
    *p += **p == '}';
    return type;
}

static json_t *read_type(const char **p) {
    json_t *type = read_plain(p);
    if (**p != '?') return type;
    ++*p;
    json_t *name = json_object_get(type, "type");
    if (name) json_object_set_new(type, "type", json_pack("[O, s]", name, "null"));
    return type;
}

static json_t *read_fields(const char **p) {
    json_t *properties = json_object(), *required = json_array();
    while (**p && **p != '}') {
        size_t n = strcspn(*p, ":~");
        char *name = cli_format("%.*s", (int)n, *p);
        if ((*p)[n] == ':') json_array_append_new(required, json_string(name));
        *p += n + ((*p)[n] != 0);
        json_object_set_new(properties, name, read_type(p));
        free(name);
        *p += strspn(*p, " ");
    }
    json_t *object = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (json_array_size(required)) json_object_set(object, "required", required);
    json_decref(required);
    return object;
}

json_t *cli_mcp_type(const char *type) { return read_type(&type); }
json_t *cli_mcp_fields(const char *fields) { return read_fields(&fields); }

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static void bound(json_t *type, const cli_option *o) {
    json_object_set_new(type, "minimum", json_integer((json_int_t)o->lo));
    if (o->hi > 0) json_object_set_new(type, "maximum", json_integer((json_int_t)o->hi));
}

json_t *cli_mcp_option_type(const cli_option *o) {
    json_t *type = json_object();
    switch (o->kind) {
    case CLI_FLAG: json_object_set_new(type, "type", json_string("boolean")); break;
    case CLI_TEXT: json_object_set_new(type, "type", json_string("string")); break;
    case CLI_COUNT: json_object_set_new(type, "type", json_string("integer")), bound(type, o); break;
    case CLI_SECONDS: json_object_set_new(type, "type", json_pack("[s, s]", "number", "string")); break;
    case CLI_MAYBE: json_object_set_new(type, "type", json_pack("[s, s]", "boolean", "integer")), bound(type, o); break;
    case CLI_CHOICE: {
        json_t *all = json_array();
        for (const char *v = o->value; *v; v += strcspn(v, "|"), v += *v == '|')
            json_array_append_new(all, json_stringn(v, strcspn(v, "|")));
        json_object_set_new(type, "type", json_string("string"));
        json_object_set_new(type, "enum", all);
        break;
    }
    }
    char *help = o->kind == CLI_SECONDS ? cli_format("%s; a number is seconds", o->help) : cli_strdup(o->help);
    json_object_set_new(type, "description", json_string(help));
    free(help);
    return type;
}

static void argument(json_t *properties, const char *name, const char *type, const char *help) {
    json_t *schema = cli_mcp_type(type);
    json_object_set_new(schema, "description", json_string(help));
    json_object_set_new(properties, name, schema);
}

static void own_arguments(const cli_mcp_tool *t, json_t *properties) {
    if (t->kind == CLI_MCP_STATUS || t->kind == CLI_MCP_STOP)
        argument(properties, "job", "int", "number of a job, as the tool that began it told");
    if (t->kind != CLI_MCP_STOP)
        argument(properties, "dir", "text", "folder to work in; paths are seen from there (default: the server's own)");
    if (t->kind == CLI_MCP_WORK)
        argument(properties, "wait_s", "num",
                 "answer after this many seconds even if the work goes on; `status` tells the rest (default 30)");
    if (t->kind == CLI_MCP_STATUS)
        argument(properties, "wait_s", "num", "with job: wait for its end up to this many seconds (default 0)");
}

static json_t *input_schema(const cli_mcp_tool *t) {
    json_t *properties = json_object(), *required = json_array();
    const cli_command *command = NULL;
    if (t->operand) {
        char *name = cli_format("%.*s", (int)strcspn(t->operand, " "), t->operand);
        argument(properties, name, strchr(t->operand, ' ') + 1, t->operand_help);
        if (!cli_command_find(t->name, &command, NULL) && command->min_args)
            json_array_append_new(required, json_string(name));
        free(name);
    }
    for (size_t i = 0; *t->options && !cli_command_find(t->name, &command, NULL); i++) {
        const cli_option *o = cli_option_at(command, i);
        char *name = o ? cli_mcp_argument(t, o) : NULL;
        if (name) json_object_set_new(properties, name, cli_mcp_option_type(o));
        free(name);
        if (!o) break;
    }
    own_arguments(t, properties);
    if (t->kind == CLI_MCP_STOP) json_array_append_new(required, json_string("job"));
    json_t *schema =
        json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
    if (json_array_size(required)) json_object_set(schema, "required", required);
    json_decref(required);
    return schema;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* What cli_mcp_job_json gives. */
#define JOB_SHORT "job:int tool:text state:text session:int? elapsed_s:num "
#define JOB                                                                                                            \
    JOB_SHORT                                                                                                          \
    "exit:int? progress:{stage:text done:int total:int left_s:num? best:num? text:text?}? error:{id:text text:text}? "

static json_t *output_schema(const cli_mcp_tool *t) {
    if (t->kind == CLI_MCP_QUICK) return cli_mcp_fields(t->result);
    char *fields = t->kind == CLI_MCP_WORK ? cli_format(JOB "result:{%s}?", t->result)
                   : t->kind == CLI_MCP_STOP
                       ? cli_format(JOB "result:object?")
                       : cli_format("job:{" JOB "result:object?}? jobs:*{" JOB_SHORT "} %s", t->result);
    json_t *schema = cli_mcp_fields(fields);
    free(fields);
    return schema;
}

json_t *cli_mcp_describe(const cli_mcp_tool *t) {
    json_t *hints = json_pack("{s:b, s:b, s:b}", "readOnlyHint", t->reads, "destructiveHint", 0, "openWorldHint", 0);
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", t->name, "title", t->title, "description",
                     t->description, "inputSchema", input_schema(t), "outputSchema", output_schema(t), "annotations",
                     hints);
}

/* --- sentences ---------------------------------------------------------------------------------------------------- */

static json_t *member(json_t *value, const char *path, size_t n) {
    while (n && value) {
        size_t k = 0;
        while (k < n && path[k] != '.') k++;
        char *name = cli_format("%.*s", (int)k, path);
        value = json_is_array(value) ? json_array_get(value, (size_t)strtoul(name, NULL, 10))
                                     : json_object_get(value, name);
        free(name);
        path += k + (k < n);
        n -= k + (k < n);
    }
    return value;
}

static void put_value(FILE *f, const json_t *v) {
    char text[CLI_TEXT_N];
    if (json_is_string(v)) fputs(json_string_value(v), f);
    if (json_is_integer(v)) fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    if (json_is_real(v)) snprintf(text, sizeof text, "%.4g", json_real_value(v)), fputs(text, f);
    if (json_is_boolean(v)) fputs(json_is_true(v) ? "yes" : "no", f);
    if (json_is_null(v)) fputs("unknown", f);
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (i) fputc('\n', f);
        put_value(f, json_array_get(v, i));
    }
}

/* false: a member that the sentence names is absent. */
static bool put_sentence(FILE *f, const char *text, size_t n, json_t *value) {
    for (const char *p = text, *end = text + n; p < end; p++) {
        const char *close = *p == '{' ? memchr(p, '}', (size_t)(end - p)) : NULL;
        if (!close) {
            fputc(*p, f);
            continue;
        }
        json_t *v = member(value, p + 1, (size_t)(close - p) - 1);
        if (!v) return false;
        put_value(f, v);
        p = close;
    }
    return true;
}

char *cli_mcp_fill(const char *text, json_t *value) {
    for (;; text++) {
        size_t n = strcspn(text, "|"), size = 0;
        char *made = NULL;
        FILE *f = open_memstream(&made, &size);
        if (!f) return cli_strdup("");
        bool whole = put_sentence(f, text, n, value);
        fclose(f);
        if (whole) return made;
        free(made);
        text += n;
        if (!*text) return cli_strdup("done");
    }
}
