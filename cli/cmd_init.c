/* cmd_init.c — `hone init`: a workload file to start from. */
#include "signals.h"
#include "text_file.h"

#include <hone/draft.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hone_rc exists_already(const char *path, hone_err *err) {
    return cli_fail(err, HONE_E_IO, "'%s' exists already; --force replaces it, -o FILE writes elsewhere", path);
}

/* Makes the file, empty, so that no other command makes it too. */
static hone_rc claim(const char *path, hone_err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) return exists_already(path, err);
    if (fd < 0) return cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    close(fd);
    return HONE_OK;
}

/* Does not replace an existing file unless told to. */
static hone_rc write_draft(const char *path, const char *text, bool force, hone_err *err) {
    hone_rc rc = force ? HONE_OK : claim(path, err);
    if (rc) return rc;
    rc = cli_write_text(path, text, err);
    if (rc && !force) unlink(path);
    return rc;
}

static hone_rc check_words(const cli *c, hone_err *err) {
    static const char *const of_project[] = {"from", "build"};
    const char *first = c->n_args ? c->arg[0] : NULL;
    for (size_t i = 0; i < 2; i++) {
        if (!cli_given(c, of_project[i])) continue;
        if (first)
            return cli_fail(err, HONE_E_USAGE, "give one of a C file, --build and --from, not two ('%s' and '%s')",
                            first, cli_text(c, of_project[i], ""));
        first = cli_text(c, of_project[i], "");
    }
    if (!first)
        return cli_fail(
            err, HONE_E_USAGE,
            "'hone init' needs a C file, a build command with --build \"COMMAND\", or a project with --from "
            "PATH");
    if (cli_given(c, "program") && !cli_given(c, "from"))
        return cli_fail(err, HONE_E_USAGE, "--program names a program of a project: it goes with --from");
    if (cli_given(c, "run") && c->n_args)
        return cli_fail(err, HONE_E_USAGE, "--run goes with --from or --build; of a C file edit `run` and `inputs`");
    if (cli_given(c, "metric") && cli_given(c, "no-try"))
        return cli_fail(err, HONE_E_USAGE, "--metric needs a run to look for it: it does not go with --no-try");
    return HONE_OK;
}

/* Paths in a workload file are taken from the file's folder: so a file in another folder needs an absolute path. */
static const char *source_path(const cli *c, const char *output, char *full) {
    if (!c->n_args || !strchr(output, '/')) return c->n_args ? c->arg[0] : NULL;
    return realpath(c->arg[0], full) ? full : c->arg[0];
}

static void report_json(cli *c, const char *path, const hone_draft *d) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "path", path);
    cli_json_kbool(&j, "tried", d->tried);
    cli_json_ktext(&j, "changes", *d->changes ? d->changes : NULL);
    cli_json_key(&j, "metrics");
    cli_json_array(&j);
    for (size_t i = 0; i < d->n_metrics; i++) {
        if (!d->metric[i].is_measure) continue;
        cli_json_object(&j);
        cli_json_ktext(&j, "name", d->metric[i].name);
        cli_json_knumber(&j, "value", d->metric[i].value);
        cli_json_ktext(&j, "direction", d->metric[i].maximize ? "maximize" : "minimize");
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void report(cli *c, const char *path, const hone_draft *d) {
    char build[CLI_TEXT_N], run[CLI_TEXT_N];
    if (c->json) {
        report_json(c, path, d);
        return;
    }
    if (d->tried)
        fprintf(stderr, "the baseline was built (%s) and run (%s)\n", cli_text_seconds(d->build_s, build),
                cli_text_seconds(d->run_s, run));
    if (*d->changes) fprintf(stderr, "%s\n", d->changes);
    for (size_t i = 0; i < d->n_metrics && !cli_given(c, "metric"); i++)
        if (d->metric[i].is_measure)
            fprintf(stderr, "it prints %s: `--metric %s` makes it what is searched for\n", d->metric[i].name,
                    d->metric[i].name);
    fprintf(stderr, "wrote %s: read it, say there what better means, then run `hone tune%s%s`\n", path,
            strcmp(path, "hone.yaml") == 0 ? "" : " ", strcmp(path, "hone.yaml") == 0 ? "" : path);
}

/* A draft that does not work yet is written all the same: it is what has to be mended. */
static hone_rc hand_out(cli *c, const char *output, const hone_draft *d, hone_err *err) {
    bool to_stdout = strcmp(output, "-") == 0;
    hone_rc rc = HONE_OK;
    if (to_stdout)
        fputs(d->text, stdout);
    else
        rc = write_draft(output, d->text, cli_given(c, "force"), err);
    if (!rc && *d->fault && to_stdout) return cli_fail(err, HONE_E_BASELINE, "%s", d->fault);
    if (!rc && *d->fault)
        return cli_fail(
            err, HONE_E_BASELINE,
            "%s; the draft is in '%s': mend it there, or draft again with --force (--no-try leaves trying out)",
            d->fault, output);
    if (!rc && !to_stdout) report(c, output, d);
    return rc;
}

static const char *folder_of(const char *output) {
    const char *slash = strrchr(output, '/');
    return slash ? cli_format("%.*s", slash == output ? 1 : (int)(slash - output), output) : NULL;
}

static hone_rc run_init(cli *c, hone_err *err) {
    char full[4096];
    hone_draft d;
    hone_draft_options o = hone_draft_defaults();
    const char *output = cli_text(c, "output", "hone.yaml");
    hone_rc rc = check_words(c, err);
    if (!rc && !cli_given(c, "force") && access(output, F_OK) == 0) rc = exists_already(output, err);
    if (!rc && strcmp(output, "-") == 0 && c->json)
        rc = cli_fail(err, HONE_E_USAGE, "--json has no use for -o -; name a file");
    if (rc) return rc;
    o.source = source_path(c, output, full);
    o.build = cli_text(c, "build", NULL);
    o.from = cli_text(c, "from", NULL);
    o.program = cli_text(c, "program", NULL);
    o.run = cli_text(c, "run", NULL);
    o.metric = cli_text(c, "metric", NULL);
    o.no_try = cli_given(c, "no-try");
    o.stop = cli_catch_signals(false).stop;
    char *folder = (char *)(uintptr_t)folder_of(output);
    o.dir = folder;
    if (!(rc = hone_draft_make(&o, &d, err))) {
        rc = hand_out(c, output, &d, err);
        hone_draft_free(&d);
    }
    free(folder);
    return rc;
}

static const cli_option options[] = {
    {"from", 0, CLI_TEXT, "PATH", 0, 0,
     "start from a project: a folder with a Makefile or Cargo.toml, or one that CMake or Meson configured"},
    {"build", 0, CLI_TEXT, "COMMAND", 0, 0, "start from a build command instead of a C file"},
    {"program", 0, CLI_TEXT, "NAME", 0, 0, "with --from: which of its programs"},
    {"run", 0, CLI_TEXT, "COMMAND", 0, 0,
     "how it is run, from here: its arguments become the input, its files are listed; chooses the program, too"},
    {"metric", 0, CLI_TEXT, "NAME", 0, 0,
     "what the program prints as \"NAME: VALUE\" is the objective; \"maximize NAME\" says which way"},
    {"no-try", 0, CLI_FLAG, NULL, 0, 0, "do not build and run the draft"},
    {"output", 'o', CLI_TEXT, "FILE", 0, 0, "the file to write (default hone.yaml); - is standard output"},
    {"force", 0, CLI_FLAG, NULL, 0, 0, "replace a file that exists"},
    {0},
};

const cli_command cli_cmd_init = {
    "init",
    "Tune",
    "[SOURCE.c]",
    "write a workload file from a C file, a build command or a project",
    "Writes a commented workload file to start from: how to build, how to run, what is measured, what counts as "
    "correct, how long to search. A C file may have a main of its own, use the harness hone/bench.h, or be a whole "
    "program. Of a build command that calls a compiler, that compiler is asked which headers it reads.\n\n"
    "A project (`--from`) is asked for its commands and nothing of it is built: `make -n -B` prints them, `ninja -t "
    "commands` does, CMake's compile_commands.json and link.txt hold them (`cmake "
    "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON`), `cargo metadata` lists the programs. Sources, headers and generated files "
    "of "
    "the one program are listed, wherever they were archived. Lines of a makefile that call `$(MAKE)` or begin with + "
    "are "
    "run by make even then. What the build generates must be there: build the project once before.\n\n"
    "The draft is tried: the baseline is built and run twice in a private folder. What does not work is told, with "
    "what "
    "to do (exit code 10; the draft is written all the same). What the program prints about its speed is offered as "
    "metrics. Read the file before tuning: what it says is what \"better\" means.",
    options,
    "hone init softmax.c\tfor one C file\n"
    "hone init --build \"make CC={cc} CFLAGS='{flags}'\"\tfor a project with a build of its own\n"
    "hone init --from . --run \"./app data.txt\"\tthe program `app` of the Makefile here, run like this\n"
    "hone init --from build --program app --metric rate\tof a folder that CMake configured\n",
    0,
    1,
    run_init,
};
