/* check_report.h — results of `hone check` for continuous integration: JUnit XML, GitHub annotations. */
#ifndef CLI_CHECK_REPORT_H
#define CLI_CHECK_REPORT_H

#include "cli.h"

#include <hone/check.h>
#include <hone/prove.h>

typedef struct cli_checked {
    const char *path;
    hone_check_result result;
    double seconds;
} cli_checked;

/* A JUnit file: one suite "hone", one case per controls file; failure: stale, regressed, tampered; error: broken. */
hone_rc cli_junit_write(const char *path, const cli_checked *list, size_t n, hone_err *err);
/* A workflow command of GitHub Actions for each file that is not valid. */
void cli_github_put(FILE *f, const cli_checked *list, size_t n);

#endif
