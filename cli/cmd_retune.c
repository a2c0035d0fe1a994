/* cmd_retune.c — `hone retune`: a new search that starts from the controls of a file. */
#include "prove.h"
#include "tune.h"

#include <hone/check.h>

#include <stdlib.h>
#include <string.h>

static void warn_of_dropped(const cli *c, char *dropped) {
    for (char *line = strtok(dropped, "\n"); line; line = strtok(NULL, "\n")) {
        fprintf(stderr, "%swarning:%s left out of the start: ", cli_paint(c->color_err, CLI_YELLOW),
                cli_paint(c->color_err, CLI_PLAIN));
        cli_put(c, stderr, line, 0);
        fputc('\n', stderr);
    }
}

static hone_rc search(cli *c, const hone_controls *controls, const hone_workload *workload, const char *path,
                      hone_err *err) {
    char *point, *dropped;
    hone_prove_options o = hone_prove_defaults();
    hone_rc rc = hone_controls_nearest(controls, workload, &o, &point, &dropped, err);
    if (rc) return rc;
    warn_of_dropped(c, dropped);
    const char *seeds[] = {point, NULL};
    rc = cli_tune(c, workload, path, seeds, err);
    hone_free(point);
    hone_free(dropped);
    if (!rc && !c->json) printf("next      `hone validate` proves the winner and writes its controls file\n");
    return rc;
}

static hone_rc run_retune(cli *c, hone_err *err) {
    hone_controls *controls;
    hone_workload *workload;
    hone_rc rc = hone_controls_read(c->arg[0], &controls, err);
    if (rc) return rc;
    char *path = cli_controls_workload(c, c->arg[0], controls);
    rc = hone_workload_load(path, &workload, err);
    if (!rc) {
        rc = search(c, controls, workload, path, err);
        hone_workload_free(workload);
    }
    free(path);
    hone_controls_free(controls);
    return rc;
}

static const cli_option options[] = {
    {"workload", 'w', CLI_TEXT, "FILE", 0, 0, "the workload file (default: the one that the controls file names)"},
    CLI_SEARCH_OPTIONS,
    {0},
};

const cli_command cli_cmd_retune = {
    "retune",
    "Keep",
    "FILE",
    "search again, starting from the controls of a file",
    "Begins a new session of the workload that tries the controls of the file first, right after the baseline, then "
    "the "
    "winners of earlier sessions, and goes on from there: what to do when `hone check` says `stale` or `regressed`. "
    "Controls and parameters that the present space lacks are left out, with a warning each.\n\n"
    "The file stays as it is. `hone validate` proves the new winner and writes its controls.",
    options,
    "hone retune softmax.hone\twith the workload's budget\n"
    "hone retune softmax.hone --evals 50\ta short one\n",
    1,
    1,
    run_retune,
};
