/* cmd_init.c — `hone init`: a workload file to start from. */
#include "cli.h"

#include <hone/tune.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Does not replace an existing file unless told to. After a failed write the file is removed only if it was created
 * here. */
static hone_rc write_text(const char *path, const char *text, bool force, hone_err *err) {
    size_t n = strlen(text), done = 0;
    int fd = open(path, O_WRONLY | O_CREAT | (force ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0 && errno == EEXIST)
        return cli_fail(err, HONE_E_IO, "'%s' exists already; --force replaces it, -o FILE writes elsewhere", path);
    if (fd < 0) return cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    while (done < n) {
        ssize_t k = write(fd, text + done, n - done);
        if (k < 0 && errno != EINTR) break;
        if (k > 0) done += (size_t)k;
    }
    int why = errno;
    if (done == n && close(fd) == 0) return HONE_OK;
    if (done < n) close(fd);
    if (done < n && !force) unlink(path);
    return cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(why));
}

static hone_rc check_words(const cli *c, hone_err *err) {
    bool build = cli_given(c, "build"), source = c->n_args > 0;
    if (build && source)
        return cli_fail(err, HONE_E_USAGE, "give a C file or --build, not both ('%s' and '%s')", c->arg[0],
                        cli_text(c, "build", ""));
    if (!build && !source)
        return cli_fail(err, HONE_E_USAGE, "'hone init' needs a C file, or a build command with --build \"COMMAND\"");
    return HONE_OK;
}

/* Paths in a workload file are taken from the file's folder: so a file in another folder needs an absolute path. */
static const char *source_path(const cli *c, const char *output, char *full) {
    if (!c->n_args || !strchr(output, '/')) return c->n_args ? c->arg[0] : NULL;
    return realpath(c->arg[0], full) ? full : c->arg[0];
}

static void report(cli *c, const char *path) {
    if (c->json) {
        cli_json j = cli_json_begin(c, false);
        cli_json_object(&j);
        cli_json_ktext(&j, "path", path);
        cli_json_end(&j);
        return;
    }
    fprintf(stderr, "wrote %s: read it, say there what better means, then run `hone tune%s%s`\n", path,
            strcmp(path, "hone.yaml") == 0 ? "" : " ", strcmp(path, "hone.yaml") == 0 ? "" : path);
}

static hone_rc run_init(cli *c, hone_err *err) {
    char *text, full[4096];
    const char *output = cli_text(c, "output", "hone.yaml");
    hone_rc rc = check_words(c, err);
    if (!rc) rc = hone_workload_draft(source_path(c, output, full), cli_text(c, "build", NULL), &text, err);
    if (rc) return rc;
    if (strcmp(output, "-") == 0 && !c->json)
        fputs(text, stdout);
    else if (strcmp(output, "-") == 0)
        rc = cli_fail(err, HONE_E_USAGE, "--json has no use for -o -; name a file");
    else if (!(rc = write_text(output, text, cli_given(c, "force"), err)))
        report(c, output);
    hone_free(text);
    return rc;
}

static const cli_option options[] = {
    {"build", 0, CLI_TEXT, "COMMAND", 0, 0, "start from a build command instead of a C file"},
    {"output", 'o', CLI_TEXT, "FILE", 0, 0, "the file to write (default hone.yaml); - is standard output"},
    {"force", 0, CLI_FLAG, NULL, 0, 0, "replace a file that exists"},
    {0},
};

const cli_command cli_cmd_init = {
    "init",
    "Tune",
    "[SOURCE.c]",
    "write a workload file from a C file or a build command",
    "Writes a commented workload file to start from: how to build, how to run, what is measured, what counts as "
    "correct, "
    "how long to search. A C file may have a main of its own, use the harness hone/bench.h, or be a whole program. "
    "Of a build command that calls a compiler, that compiler is asked which headers it reads. "
    "Read "
    "the file before tuning: what it says is what \"better\" means.",
    options,
    "hone init softmax.c\tfor one C file\n"
    "hone init --build \"make CC={cc} CFLAGS='{flags}'\"\tfor a project with a build of its own\n",
    0,
    1,
    run_init,
};
