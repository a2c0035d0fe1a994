/* main.c — finds the command, reads its options, runs it, reports errors, and gives the exit code. */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int report(cli *c, const hone_err *err) {
    int code = hone_rc_exit(err->rc);
    if (c->json && !c->json_begun) {
        cli_json j = cli_json_begin(c, false);
        cli_json_object(&j);
        cli_json_key(&j, "error");
        cli_json_object(&j);
        cli_json_ktext(&j, "id", hone_rc_name(err->rc));
        cli_json_knumber(&j, "exit", code);
        cli_json_ktext(&j, "text", err->text);
        cli_json_end(&j);
    }
    fflush(stdout);
    fprintf(stderr, "%shone:%s ", cli_paint(c->color_err, CLI_RED), cli_paint(c->color_err, CLI_PLAIN));
    cli_put(c, stderr, *err->text ? err->text : hone_rc_text(err->rc), 0);
    fputc('\n', stderr);
    return code;
}

/* Output that could not be written is a failure, except that a closed pipe (`hone results | head`) ends hone quietly,
 * like any filter. */
static int finish(cli *c, int code) {
    hone_err err = {.rc = HONE_E_IO};
    bool bad = ferror(stdout);
    int why = errno;
    if (fflush(stdout)) bad = true, why = errno;
    if (!bad) return code;
    if (why == EPIPE) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    c->json_begun = true;
    if (code) return code;
    cli_fail(&err, HONE_E_IO, "cannot write to standard output: %s", strerror(why));
    return report(c, &err);
}

static bool has_word(int argc, char **argv, const char *word) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0) return true;
    return false;
}

static void print_version(cli *c) {
    if (!c->json) {
        printf("hone %s\n", hone_version());
        return;
    }
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "version", hone_version());
    cli_json_end(&j);
}

static hone_rc run_command(cli *c, int argc, char **argv, const char **words, hone_err *err) {
    hone_rc rc = cli_command_find(argv[1], &c->command, err);
    if (!rc) rc = cli_parse(c, argc - 2, argv + 2, words, err);
    if (rc) return rc;
    cli_set_color(c, cli_text(c, "color", "auto"));
    if (cli_given(c, "help")) return cli_print_help(c, c->command, stdout), HONE_OK;
    return c->command->run(c, err);
}

/* hone's own few options, before a command or without one. */
static hone_rc run_bare(cli *c, int argc, char **argv, hone_err *err) {
    static const char *const known[] = {"--help", "--version", "--json"};
    int at = 1;
    while (at < argc && strcmp(argv[at], "--json") == 0) at++;
    const char *word = at < argc ? argv[at] : "--help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) return print_version(c), HONE_OK;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        hone_rc rc = cli_command_find("help", &c->command, err);
        return rc ? rc : c->command->run(c, err);
    }
    if (word[0] != '-') return cli_fail(err, HONE_E_USAGE, "options stand behind the command: hone %s --json", word);
    const char *near = cli_nearest(word, known, 3);
    if (near) return cli_fail(err, HONE_E_USAGE, "hone has no option '%s'; did you mean '%s'?", word, near);
    return cli_fail(err, HONE_E_USAGE, "hone has no option '%s' before a command; `hone help` lists the commands",
                    word);
}

int main(int argc, char **argv) {
    cli c = {.json = has_word(argc, argv, "--json")};
    hone_err err = {0};
    cli_terminal_setup(&c);
    const char **words = cli_alloc((size_t)argc + 1, sizeof *words);
    bool bare = argc < 2 || argv[1][0] == '-';
    hone_rc rc = bare ? run_bare(&c, argc, argv, &err) : run_command(&c, argc, argv, words, &err);
    err.rc = rc;
    int code = finish(&c, rc ? report(&c, &err) : c.exit_code);
    free(words);
    return code;
}
