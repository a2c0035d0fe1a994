/* cmd_help.c — `hone help`, `hone completion`. */
#include "cli.h"

#include <string.h>

static const cli_option no_options[] = {{0}};

static void command_json(cli_json *j, const cli_command *m) {
    cli_json_object(j);
    cli_json_ktext(j, "name", m->name);
    cli_json_ktext(j, "operands", m->operands);
    cli_json_ktext(j, "summary", m->summary);
    cli_json_key(j, "options");
    cli_json_array(j);
    for (size_t i = 0; cli_option_at(m, i); i++) {
        cli_json_object(j);
        cli_json_ktext(j, "name", cli_option_at(m, i)->name);
        cli_json_ktext(j, "value", cli_option_at(m, i)->value);
        cli_json_ktext(j, "help", cli_option_at(m, i)->help);
        cli_json_close(j);
    }
    cli_json_close(j);
    cli_json_close(j);
}

static hone_rc all_json(cli *c) {
    cli_json j = cli_json_begin(c, false);
    cli_json_array(&j);
    for (size_t i = 0; cli_command_at(i); i++)
        if (cli_command_at(i)->group) command_json(&j, cli_command_at(i));
    cli_json_end(&j);
    return HONE_OK;
}

static hone_rc run_help(cli *c, hone_err *err) {
    const cli_command *m;
    if (!c->n_args && c->json) return all_json(c);
    if (!c->n_args) return cli_print_overview(c, stdout), HONE_OK;
    hone_rc rc = cli_command_find(c->arg[0], &m, err);
    if (rc) return rc;
    if (!c->json) return cli_print_help(c, m, stdout), HONE_OK;
    cli_json j = cli_json_begin(c, false);
    command_json(&j, m);
    cli_json_end(&j);
    return HONE_OK;
}

const cli_command cli_cmd_help = {
    "help",
    "Other",
    "[COMMAND]",
    "explain a command",
    "Prints the overview of all commands, or what one command does with its options and examples. The same text is "
    "shown by `hone COMMAND --help` and, after `make install`, by `man hone-COMMAND`.",
    no_options,
    "hone help tune\twhat tune does, its options, examples\n"
    "hone help --json\tall commands and options as data\n",
    0,
    1,
    run_help,
};
