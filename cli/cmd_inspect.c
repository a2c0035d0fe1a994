/* cmd_inspect.c — `hone inspect`: what is in a model file, and whether hone compiles it. */
#include "cli.h"

#include <hone/artifact.h>
#include <hone/import.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *j, const char *key) {
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

static void print_port(const cli *c, const char *label, const json_t *port) {
    const json_t *shape = json_object_get(port, "shape");
    printf("%-11s", label);
    cli_put(c, stdout, text_of(port, "name"), 60);
    printf("  %s", text_of(port, "type"));
    if (json_is_array(shape)) {
        putchar('[');
        for (size_t i = 0; i < json_array_size(shape); i++) {
            const json_t *d = json_array_get(shape, i);
            if (i) fputs(", ", stdout);
            if (json_is_integer(d))
                printf("%" JSON_INTEGER_FORMAT, json_integer_value(d));
            else if (json_is_string(d))
                cli_put(c, stdout, json_string_value(d), 40);
            else
                putchar('?');
        }
        putchar(']');
    }
    putchar('\n');
}

static void print_head(const cli *c, const json_t *j) {
    const json_t *line;
    size_t i;
    char buf[CLI_TEXT_N], buf2[CLI_TEXT_N];
    cli_put(c, stdout, text_of(j, "file"), 0);
    printf(": %s\n", text_of(j, "summary"));
    json_array_foreach(json_object_get(j, "about"), i, line) {
        printf("%-11s", json_string_value(json_array_get(line, 0)));
        cli_put(c, stdout, json_string_value(json_array_get(line, 1)), 0);
        putchar('\n');
    }
    const json_t *p = json_object_get(j, "parameters");
    printf("parameters %s in %s tensors\n",
           cli_text_number((double)json_integer_value(json_object_get(p, "elements")), buf),
           cli_text_number((double)json_integer_value(json_object_get(p, "tensors")), buf2));
}

static void print_operators(const cli *c, const json_t *j) {
    if (!json_array_size(json_object_get(j, "operators"))) return;
    const json_t *op;
    size_t i;
    char buf[CLI_TEXT_N];
    cli_table *t = cli_table_new("xlrl");
    cli_table_head(t, "operator");
    cli_table_head(t, "domain");
    cli_table_head(t, "nodes");
    cli_table_head(t, "supported");
    json_array_foreach(json_object_get(j, "operators"), i, op) {
        cli_table_cell(t, "%s", text_of(op, "name"));
        cli_table_cell(t, "%s", text_of(op, "domain"));
        cli_table_cell(t, "%s", cli_text_number((double)json_integer_value(json_object_get(op, "count")), buf));
        cli_table_cell(t, "%s",
                       json_is_true(json_object_get(op, "function"))    ? "function of the model"
                       : json_is_true(json_object_get(op, "supported")) ? "yes"
                                                                        : "no");
        if (!json_is_true(json_object_get(op, "supported"))) cli_table_ink(t, CLI_RED);
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

static void print_verdict(const cli *c, const json_t *j) {
    const json_t *line;
    size_t i;
    if (json_is_true(json_object_get(j, "supported"))) {
        puts("\nhone can compile this model");
        return;
    }
    puts("\nhone cannot compile this model:");
    json_array_foreach(json_object_get(j, "refusals"), i, line) {
        fputs("  ", stdout);
        cli_put(c, stdout, json_string_value(line), 0);
        putchar('\n');
    }
}

static void print_text(const cli *c, const json_t *j) {
    const json_t *port;
    size_t i;
    print_head(c, j);
    json_array_foreach(json_object_get(j, "inputs"), i, port) print_port(c, i ? "" : "inputs", port);
    json_array_foreach(json_object_get(j, "outputs"), i, port) print_port(c, i ? "" : "outputs", port);
    putchar('\n');
    print_operators(c, j);
    print_verdict(c, j);
}

static json_t *mebibytes(double b) {
    char text[64];
    snprintf(text, sizeof text, b < 10 * 0x1p20 ? "%.1f MiB" : "%.0f MiB", b / 0x1p20);
    return json_string(text);
}

/* --context: what a language model takes in memory at so many tokens, as "at_context" and as a line. */
static hone_rc add_context(const cli *c, json_t *j, hone_err *err) {
    json_int_t n = (json_int_t)cli_count(c, "context", 0), most = json_integer_value(json_object_get(j, "context"));
    double weights = json_number_value(json_object_get(j, "weights_b")),
           cache = (double)n * json_number_value(json_object_get(j, "cache_b_per_token"));
    if (!n) return HONE_OK;
    if (!most) return cli_fail(err, HONE_E_USAGE, "'%s' is no language model; leave --context out", c->arg[0]);
    if (n > most)
        return cli_fail(err, HONE_E_LIMIT, "--context %lld: '%s' has a context of %lld tokens", (long long)n, c->arg[0],
                        (long long)most);
    json_object_set_new(j, "at_context",
                        json_pack("{sI sI sI sI}", "tokens", n, "weights_b", (json_int_t)weights, "cache_b",
                                  (json_int_t)cache, "memory_b", (json_int_t)(weights + cache)));
    json_t *sum = mebibytes(weights + cache), *w = mebibytes(weights), *kv = mebibytes(cache);
    char line[300];
    snprintf(line, sizeof line, "%s at %lld tokens: %s of weights, %s of keys and values", json_string_value(sum),
             (long long)n, json_string_value(w), json_string_value(kv));
    json_array_append_new(json_object_get(j, "about"), json_pack("[ss]", "in use", line));
    json_decref(sum);
    json_decref(w);
    json_decref(kv);
    return HONE_OK;
}

/* --- libraries ---------------------------------------------------------------------------------------------------- */

static bool is_library(const char *path) {
    char head[4] = "";
    FILE *f = fopen(path, "rb");
    bool elf = f && fread(head, 1, 4, f) == 4 && !memcmp(head, "\177ELF", 4);
    if (f) fclose(f);
    return elf;
}

static const char *bytes_of(const json_t *j, const char *key, char buf[CLI_TEXT_N]) {
    return cli_text_bytes((double)json_integer_value(json_object_get(j, key)), buf);
}

static void print_target(const cli *c, const json_t *t, const char *taken) {
    char buf[CLI_TEXT_N];
    bool device = json_is_true(json_object_get(t, "device"));
    const char *code = text_of(t, "machine_code");
    printf("%-11s%s%s: %" JSON_INTEGER_FORMAT " kernels, arena %s\n", "target", text_of(t, "name"),
           strcmp(text_of(t, "name"), taken) ? "" : " (taken here)", json_integer_value(json_object_get(t, "kernels")),
           json_integer_value(json_object_get(t, "arena_b")) ? bytes_of(t, "arena_b", buf) : "by the sizes of a run");
    if (device) printf("%-11s%s\n", "", *code ? code : "text, which the device's driver compiles");
    if (*text_of(t, "split")) {
        printf("%-11ssplit: ", "");
        cli_put(c, stdout, text_of(t, "split"), 0);
        putchar('\n');
    }
}

static void print_shape(const cli *c, const char *label, const json_t *port) {
    printf("%-11s", label);
    cli_put(c, stdout, text_of(port, "name"), 60);
    printf("  %s", text_of(port, "type"));
    cli_put(c, stdout, text_of(port, "shape"), 0);
    putchar('\n');
}

static void print_library(const cli *c, const json_t *j) {
    static const char *const port[] = {"inputs", "outputs", "states"};
    char a[CLI_TEXT_N], b[CLI_TEXT_N];
    const json_t *x;
    size_t i;
    cli_put(c, stdout, text_of(j, "file"), 0);
    printf(": library of model '");
    cli_put(c, stdout, text_of(j, "name"), 100);
    printf("', by hone %s\n", text_of(j, "hone"));
    printf("%-11slibrary %s, weights %s%s%s\n", "sizes", bytes_of(j, "library_b", a), bytes_of(j, "weights_b", b),
           *text_of(j, "weights") ? ", " : "", text_of(j, "weights"));
    if (*text_of(j, "compiler")) printf("%-11s%s, %s\n", "compiler", text_of(j, "compiler"), text_of(j, "numeric"));
    json_array_foreach(json_object_get(j, "targets"), i, x) print_target(c, x, text_of(j, "taken"));
    json_array_foreach(json_object_get(j, "versions"), i, x) printf(
        "%-11s%s: %" JSON_INTEGER_FORMAT " launches\n", "version",
        *text_of(x, "sizes") ? text_of(x, "sizes") : "all sizes", json_integer_value(json_object_get(x, "calls")));
    for (size_t k = 0; k < sizeof port / sizeof *port; k++)
        json_array_foreach(json_object_get(j, port[k]), i, x) print_shape(c, i ? "" : port[k], x);
}

static hone_rc inspect_library(cli *c, hone_err *err) {
    char *text = NULL;
    hone_rc rc = hone_artifact_inspect(c->arg[0], &text, err);
    json_t *j = !rc ? json_loads(text, 0, NULL) : NULL;
    if (!rc && c->json) {
        cli_json out = cli_json_begin(c, true);
        cli_json_raw(&out, text);
        cli_json_end(&out);
    } else if (!rc && j) {
        print_library(c, j);
    } else if (!rc) {
        rc = cli_fail(err, HONE_E_INPUT, "'%s' has a name that is no UTF-8", c->arg[0]);
    }
    hone_free(text);
    json_decref(j);
    return rc;
}

static hone_rc run_inspect(cli *c, hone_err *err) {
    char *text;
    if (is_library(c->arg[0]) && cli_given(c, "context"))
        return cli_fail(err, HONE_E_USAGE, "'%s' is a library; leave --context out", c->arg[0]);
    if (is_library(c->arg[0])) return inspect_library(c, err);
    hone_rc rc = hone_import_inspect(c->arg[0], &text, err);
    if (rc) return rc;
    json_t *j = json_loads(text, 0, NULL);
    hone_free(text);
    rc = j ? add_context(c, j, err) : cli_fail(err, HONE_E_NOMEM, "out of memory");
    text = !rc && c->json ? json_dumps(j, JSON_COMPACT) : NULL;
    if (!rc && !c->json) {
        print_text(c, j);
    } else if (!rc && text) {
        cli_json out = cli_json_begin(c, true);
        cli_json_raw(&out, text);
        cli_json_end(&out);
    } else if (!rc) {
        rc = cli_fail(err, HONE_E_NOMEM, "out of memory");
    }
    free(text);
    json_decref(j);
    return rc;
}

static const cli_option options[] = {
    {"context", 0, CLI_COUNT, "N", 1, 1e9, "language models: memory with the keys and values of N tokens"}, {0}};

const cli_command cli_cmd_inspect = {
    "inspect",
    "Models",
    "MODEL|LIBRARY",
    "show what is in a model file and whether hone compiles it, or what a library holds",
    "Prints the inputs, outputs, parameters and operators of a model. The last lines say whether hone can compile it; "
    "if not, every unsupported node is listed with its operator, opset and the reason.\n\n"
    "Of a library that `hone compile` made: its targets with the architectures that it has machine code for, its "
    "versions, sizes, inputs and outputs, and the target that is taken here. The library is loaded for that.",
    options,
    "hone inspect model.onnx\tfor people\n"
    "hone inspect model.onnx --json\tfor programs\n"
    "hone inspect ./model.so\tthe targets, architectures and versions of a library\n"
    "hone inspect model.gguf --context 4096\tmemory that a conversation of 4,096 tokens takes\n",
    1,
    1,
    run_inspect,
};
