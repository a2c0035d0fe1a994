/* cmd_completion.c — `hone completion`: a completion script made from the table of commands. */
#include "cli.h"

#include <string.h>

static void words(const char *alternatives) {
    for (const char *p = alternatives; *p; p++) putchar(*p == '|' ? ' ' : *p);
}

static void put_names(void) {
    for (size_t i = 0; cli_command_at(i); i++)
        if (cli_command_at(i)->group) printf("%s%s", i ? " " : "", cli_command_at(i)->name);
}

static void put_case(const cli_command *m) {
    printf("    %s) options=\"", m->name);
    for (size_t i = 0; cli_option_at(m, i); i++) printf("%s--%s", i ? " " : "", cli_option_at(m, i)->name);
    printf("\" ;;\n");
}

/* After an option with a list of words those are offered; after one with another value, files. */
static void put_values(const cli_command *m) {
    for (size_t i = 0; cli_option_at(m, i); i++) {
        const cli_option *o = cli_option_at(m, i);
        if (o->kind != CLI_CHOICE) continue;
        printf("    %s:--%s) COMPREPLY=($(compgen -W \"", m->name, o->name);
        words(o->value);
        printf("\" -- \"$word\")); return ;;\n");
    }
}

static hone_rc run_completion(cli *c, hone_err *err) {
    if (strcmp(c->arg[0], "bash") != 0)
        return cli_fail(err, HONE_E_USAGE, "there is no completion for '%s'; bash is what hone knows", c->arg[0]);
    if (c->json) return cli_fail(err, HONE_E_USAGE, "a completion script has no JSON form; leave --json away");
    printf("# bash completion of hone %s; in ~/.bashrc: eval \"$(hone completion bash)\"\n", hone_version());
    printf("_hone() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\n");
    printf("  if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W \"");
    put_names();
    printf("\" -- \"$word\")); return; fi\n  case ${COMP_WORDS[1]}:$before in\n");
    for (size_t i = 0; cli_command_at(i); i++)
        if (cli_command_at(i)->group) put_values(cli_command_at(i));
    printf("    help:help) COMPREPLY=($(compgen -W \"");
    put_names();
    printf("\" -- \"$word\")); return ;;\n  esac\n  case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; cli_command_at(i); i++)
        if (cli_command_at(i)->group) put_case(cli_command_at(i));
    printf("  esac\n  case $word in -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;; esac\n}\n");
    printf("complete -o default -F _hone hone\n");
    return HONE_OK;
}

static const cli_option no_options[] = {{0}};

const cli_command cli_cmd_completion = {
    "completion",
    "Other",
    "bash",
    "print a completion script for the shell",
    "Prints a script that makes bash complete commands, options and file names. Put `eval \"$(hone completion bash)\"` "
    "into ~/.bashrc.",
    no_options,
    "eval \"$(hone completion bash)\"\tswitch completion on in this shell\n",
    1,
    1,
    run_completion,
};
