/* cmd_inspect.c — `hone inspect`: what is in a model file, and whether hone compiles it. */
#include "cli.h"

#include <hone/import.h>

#include <jansson.h>
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

static hone_rc run_inspect(cli *c, hone_err *err) {
    char *text;
    hone_rc rc = hone_import_inspect(c->arg[0], &text, err);
    if (rc) return rc;
    if (c->json) {
        cli_json j = cli_json_begin(c, true);
        cli_json_raw(&j, text);
        cli_json_end(&j);
    } else {
        json_t *j = json_loads(text, 0, NULL);
        if (j)
            print_text(c, j);
        else
            rc = cli_fail(err, HONE_E_NOMEM, "out of memory");
        json_decref(j);
    }
    hone_free(text);
    return rc;
}

static const cli_option no_options[] = {{0}};

const cli_command cli_cmd_inspect = {
    "inspect",
    "Models",
    "MODEL",
    "show what is in a model file and whether hone compiles it",
    "Prints the inputs, outputs, parameters and operators of a model. The last lines say whether hone can compile it; "
    "if not, every unsupported node is listed with its operator, opset and the reason.",
    no_options,
    "hone inspect model.onnx\tfor people\n"
    "hone inspect model.onnx --json\tfor programs\n",
    1,
    1,
    run_inspect,
};
