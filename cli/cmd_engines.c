/* cmd_engines.c — `hone engines`: the registry of search engines. */
#include "cli.h"

#include <hone/search.h>

#include <string.h>

static void print_json(cli *c) {
    hone_engine_info e;
    cli_json j = cli_json_begin(c, false);
    cli_json_array(&j);
    for (size_t i = 0; hone_engine_at(i, &e); i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "name", e.name);
        cli_json_ktext(&j, "summary", e.summary);
        cli_json_ktext(&j, "options", e.options);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static hone_rc run_engines(cli *c, hone_err *err) {
    hone_engine_info e;
    (void)err;
    if (c->json) return print_json(c), HONE_OK;
    cli_table *t = cli_table_new("lxx");
    cli_table_head(t, "engine");
    cli_table_head(t, "how it searches");
    cli_table_head(t, "options and their defaults");
    for (size_t i = 0; hone_engine_at(i, &e); i++) {
        cli_table_cell(t, "%s", e.name);
        cli_table_cell(t, "%s", e.summary);
        cli_table_cell(t, "%s", e.options);
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
    return HONE_OK;
}

static const cli_option no_options[] = {{0}};

const cli_command cli_cmd_engines = {
    "engines",
    "Explore",
    "",
    "list the search engines",
    "Lists the search engines with their options. `hone tune --engine NAME` chooses one; `auto`, the default, rotates "
    "over those that fit the size of the space and the number of observations.",
    no_options,
    "hone engines\twhat there is\n"
    "hone replay space.tsv.xz --engine forest\tjudge one on a recorded space\n",
    0,
    0,
    run_engines,
};
