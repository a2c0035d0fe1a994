/* report.c — a record as a report: with its workload file and its controls file, where they are of this session. */
#include "plot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

/* The workload file only adds flags and the budget: a record without one can be reported too. */
static hone_rc open_workload(const cli *c, const cli_record *r, hone_workload **out, hone_err *err) {
    *out = NULL;
    if (!cli_given(c, "workload") && !exists(r->workload)) return HONE_OK;
    hone_rc rc = hone_workload_load(r->workload, out, err);
    if (!rc || cli_given(c, "workload")) return rc;
    fprintf(stderr, "hone: the report goes without the workload file: %s\n", err->text);
    return HONE_OK;
}

/* NAME.hone beside the workload file, where `hone minimize` and `hone validate` put it, if it is of this session. */
static hone_rc open_controls(const cli *c, const cli_record *r, hone_controls **out, hone_err *err) {
    const char *given = cli_text(c, "controls", NULL), *slash = strrchr(r->workload, '/');
    *out = NULL;
    if (given) return hone_controls_read(given, out, err);
    char *path =
        cli_format("%.*s%s.hone", slash ? (int)(slash - r->workload) + 1 : 0, r->workload, r->session.workload);
    hone_controls *k = NULL;
    if (exists(path) && hone_controls_read(path, &k, NULL) == HONE_OK) {
        if (k->session == r->session.id && !strcmp(k->workload_hash, r->session.workload_hash))
            *out = k;
        else
            hone_controls_free(k);
    }
    free(path);
    return HONE_OK;
}

hone_rc cli_report_open(const cli *c, const cli_record *r, cli_report *out, hone_err *err) {
    cli_report p = {0};
    hone_rc rc = open_workload(c, r, &p.workload, err);
    if (!rc) rc = open_controls(c, r, &p.controls, err);
    if (!rc) rc = hone_report_open(r->store, r->session.id, p.workload, p.controls, &p.report, err);
    if (rc)
        cli_report_close(&p);
    else
        *out = p;
    return rc;
}

void cli_report_close(cli_report *p) {
    hone_report_free(&p->report);
    hone_controls_free(p->controls);
    hone_workload_free(p->workload);
    *p = (cli_report){0};
}
