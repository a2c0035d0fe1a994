/* cmd_best.c — `hone best`: the best point of a session, in the form that a person, a script or a build wants. */
#include "flags.h"

#include <stdlib.h>
#include <string.h>

/* Renders a point; needs the unchanged workload file. */
typedef struct renderer {
    hone_workload *workload;
    hone_space *space;
    double *point;
} renderer;

static hone_rc open_renderer(const cli_record *r, const char *point, renderer *out, hone_err *err) {
    renderer x = {0};
    char hash[33];
    hone_rc rc = hone_workload_load(r->workload, &x.workload, err);
    if (rc) return rc;
    hone_workload_hash(x.workload, hash);
    if (strcmp(hash, r->session.workload_hash) != 0)
        rc = cli_fail(
            err, HONE_E_MISMATCH,
            "'%s' is not the workload that session %lld was recorded with (hash %s, then %s); name the right one "
            "with --workload, or ask for --point",
            r->workload, (long long)r->session.id, hash, r->session.workload_hash);
    if (!rc) rc = hone_space_parse(r->session.space_text, strlen(r->session.space_text), "the record", &x.space, err);
    if (!rc) {
        x.point = cli_alloc(hone_space_slots(x.space), sizeof *x.point);
        rc = hone_point_from_json(x.space, point, x.point, err);
    }
    *out = x;
    return rc;
}

static void close_renderer(renderer *x) {
    hone_workload_free(x->workload);
    hone_space_free(x->space);
    free(x->point);
}

static hone_rc flags_of(const renderer *x, hone_command *out, hone_err *err) {
    hone_tune_options options = hone_tune_defaults();
    return hone_workload_flags(x->workload, x->space, x->point, &options, out, err);
}

static hone_rc command_of(const renderer *x, char **text, hone_err *err) {
    hone_tune_options options = hone_tune_defaults();
    return hone_workload_command(x->workload, x->space, x->point, &options, text, err);
}

/* One word as sh reads it back. */
static void put_shell(FILE *f, const char *word) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
    if (*word && word[strspn(word, safe)] == 0) {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", f);
        else
            fputc(*word, f);
    fputc('\'', f);
}

static void put_argv(FILE *f, const hone_command *m) {
    for (size_t i = 0; i < m->n_argv; i++) {
        if (i) fputc(' ', f);
        put_shell(f, m->argv[i]);
    }
    fputc('\n', f);
}

static hone_rc put_rsp(const hone_command *m, hone_err *err) {
    char *text;
    hone_rc rc = hone_command_rsp(m, &text, err);
    if (rc) return rc;
    fputs(text, stdout);
    hone_free(text);
    return HONE_OK;
}

/* --argv, --rsp, --command: one of them, nothing else on stdout. */
static hone_rc print_one(const cli *c, const renderer *x, hone_err *err) {
    hone_command m;
    char *text;
    if (cli_given(c, "command")) {
        hone_rc rc = command_of(x, &text, err);
        if (rc) return rc;
        if (!*text)
            rc = cli_fail(err, HONE_E_NOTFOUND, "workload '%s' builds nothing", hone_workload_name(x->workload));
        else
            puts(text);
        hone_free(text);
        return rc;
    }
    hone_rc rc = flags_of(x, &m, err);
    if (rc) return rc;
    if (m.pgo) fprintf(stderr, "hone: this build is profile-guided: these flags are half of it, see --command\n");
    if (m.by_file)
        fprintf(stderr, "hone: files have flags of their own behind these, which `hone cc` applies:\n%s\n", m.by_file);
    if (m.passes)
        fprintf(stderr, "hone: opt runs edited passes besides (%s), which `hone cc` applies\n",
                *m.passes ? m.passes : "no edit");
    if (m.post_link) fprintf(stderr, "hone: behind the link comes `%s`, which takes a profile\n", m.post_link);
    if (cli_given(c, "rsp"))
        rc = put_rsp(&m, err);
    else
        put_argv(stdout, &m);
    hone_command_free(&m);
    return rc;
}

/* --- everything at once --------------------------------------------------------------------------------------- */

static hone_rc print_json(cli *c, const cli_record *r, const renderer *x, hone_err *err) {
    hone_command m;
    char *text = NULL;
    hone_rc rc = flags_of(x, &m, err);
    if (rc) return rc;
    if ((rc = command_of(x, &text, err))) {
        hone_command_free(&m);
        return rc;
    }
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_kcount(&j, "session", (uint64_t)r->session.id);
    cli_json_kcount(&j, "trial", (uint64_t)r->best->id);
    cli_json_knumber(&j, "speedup", cli_gain(r, r->best, 0));
    cli_json_key(&j, "values");
    cli_json_object(&j);
    for (size_t k = 0; k < r->n_goals; k++) cli_json_knumber(&j, r->goal[k].expr, r->best->outcome.value[k]);
    cli_json_close(&j);
    cli_json_kraw(&j, "point", r->best->point);
    cli_json_key(&j, "argv");
    cli_json_array(&j);
    for (size_t i = 0; i < m.n_argv; i++) cli_json_text(&j, m.argv[i]);
    cli_json_close(&j);
    cli_json_key(&j, "env");
    cli_json_array(&j);
    for (size_t i = 0; i < m.n_env; i++) cli_json_text(&j, m.env[i]);
    cli_json_close(&j);
    cli_json_kbool(&j, "pgo", m.pgo);
    if (m.post_link) cli_json_ktext(&j, "post_link", m.post_link);
    if (m.by_file) cli_json_ktext(&j, "by_file", m.by_file);
    if (m.passes) cli_json_ktext(&j, "passes", m.passes);
    cli_json_ktext(&j, "command", text);
    cli_json_end(&j);
    hone_free(text);
    hone_command_free(&m);
    return HONE_OK;
}

static void field(const cli *c, const char *name, const char *text) {
    printf("%s%-8s%s ", cli_paint(c->color_out, CLI_BOLD), name, cli_paint(c->color_out, CLI_PLAIN));
    cli_put(c, stdout, text, 0);
    putchar('\n');
}

static hone_rc print_text(const cli *c, const cli_record *r, const renderer *x, hone_err *err) {
    char g[CLI_TEXT_N], v[CLI_TEXT_N], *text;
    hone_rc rc = command_of(x, &text, err);
    if (rc) return rc;
    for (size_t k = 0; k < r->n_goals; k++) {
        char *line =
            cli_format("%s = %s, %s against the baseline (trial %lld of session %lld)", r->goal[k].expr,
                       cli_text_quantity(r->goal[k].expr, r->best->outcome.value[k], v),
                       cli_text_ratio(c, cli_gain(r, r->best, k), g), (long long)r->best->id, (long long)r->session.id);
        field(c, "value", line);
        free(line);
    }
    cli_lines lines;
    cli_flags_compare(x->workload, r, r->best->point, r->baseline ? r->baseline->point : NULL, &lines);
    for (size_t i = 0; i < lines.n; i++) field(c, i ? "" : "changes", lines.line[i]);
    if (!lines.n) field(c, "changes", "none: the baseline is the best");
    cli_lines_free(&lines);
    if (*text) field(c, "build", text);
    hone_free(text);
    return HONE_OK;
}

static hone_rc check_words(const cli *c, hone_err *err) {
    int n = c->json + cli_given(c, "argv") + cli_given(c, "rsp") + cli_given(c, "point") + cli_given(c, "command");
    if (n < 2) return HONE_OK;
    return cli_fail(err, HONE_E_USAGE, "choose one of --argv, --rsp, --command, --point and --json");
}

static hone_rc print_best(cli *c, const cli_record *r, hone_err *err) {
    renderer x = {0};
    if (cli_given(c, "point")) return puts(r->best->point), HONE_OK;
    hone_rc rc = open_renderer(r, r->best->point, &x, err);
    if (!rc && c->json)
        rc = print_json(c, r, &x, err);
    else if (!rc && (cli_given(c, "argv") || cli_given(c, "rsp") || cli_given(c, "command")))
        rc = print_one(c, &x, err);
    else if (!rc)
        rc = print_text(c, r, &x, err);
    close_renderer(&x);
    return rc;
}

static hone_rc run_best(cli *c, hone_err *err) {
    cli_record r;
    hone_rc rc = check_words(c, err);
    if (!rc) rc = cli_record_open(c, false, &r, err);
    if (rc) return rc;
    if (r.best)
        rc = print_best(c, &r, err);
    else
        rc = cli_fail(err, HONE_E_NOTFOUND,
                      "session %lld has no trial that worked; `hone results %lld --failures` says why",
                      (long long)r.session.id, (long long)r.session.id);
    cli_record_close(&r);
    return rc;
}

static const cli_option options[] = {
    {"argv", 0, CLI_FLAG, NULL, 0, 0, "the flags on one line, quoted for the shell"},
    {"rsp", 0, CLI_FLAG, NULL, 0, 0, "the flags as a response file: gcc and clang read it with @FILE"},
    {"command", 0, CLI_FLAG, NULL, 0, 0, "the whole build command"},
    {"point", 0, CLI_FLAG, NULL, 0, 0, "the point as recorded: one line of JSON"},
    CLI_RECORD_OPTIONS,
    {0},
};

const cli_command cli_cmd_best = {
    "best",
    "Look",
    "[SESSION]",
    "print the best controls: flags, response file, build command",
    "Prints the best point of a session (the newest unless a number is given): what the closing race on fresh builds "
    "found "
    "best, or else the search. Its gain is what this session measured; it is not yet a proof.\n\n"
    "Flags are made from the workload file, which must be the one the session was recorded with.",
    options,
    "hone best\tvalue, settings, build command\n"
    "eval gcc \"$(hone best --argv)\" -c kernel.c\tuse the flags\n"
    "hone best --rsp > kernel.rsp; gcc @kernel.rsp -c kernel.c\tuse them without hone\n",
    0,
    1,
    run_best,
};
