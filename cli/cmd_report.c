/* cmd_report.c — `hone report`: a session as one HTML file. */
#include "plot.h"

#include <string.h>

static hone_rc write_page(const cli *c, const hone_report *report, const char *path, hone_err *err) {
    char *html, size[CLI_TEXT_N];
    size_t n;
    if (strcmp(path, "-") != 0) {
        hone_rc rc = hone_report_write(report, path, &n, err);
        if (rc || c->json) return rc;
        printf("report    %s, %s\n", path, cli_text_bytes((double)n, size));
        printf("verdict   ");
        cli_put(c, stdout, report->verdict, 0);
        putchar('\n');
        return HONE_OK;
    }
    hone_rc rc = hone_report_html(report, &html, &n, err);
    if (rc) return rc;
    fwrite(html, 1, n, stdout);
    hone_free(html);
    return HONE_OK;
}

static hone_rc print_json(cli *c, const hone_report *report, hone_err *err) {
    char *text;
    hone_rc rc = hone_report_json(report, &text, err);
    if (rc) return rc;
    c->json_begun = true;
    puts(text);
    hone_free(text);
    return HONE_OK;
}

static hone_rc make(cli *c, const cli_record *r, hone_err *err) {
    cli_report p;
    hone_rc rc = cli_report_open(c, r, &p, err);
    if (rc) return rc;
    if (!c->json || cli_given(c, "out")) rc = write_page(c, &p.report, cli_text(c, "out", "report.html"), err);
    if (!rc && c->json) rc = print_json(c, &p.report, err);
    cli_report_close(&p);
    return rc;
}

static hone_rc run_report(cli *c, hone_err *err) {
    cli_record r;
    if (c->json && !strcmp(cli_text(c, "out", ""), "-"))
        return cli_fail(err, HONE_E_USAGE, "standard output cannot hold the page and --json; name a file with --out");
    hone_rc rc = cli_record_open(c, false, &r, err);
    if (rc) return rc;
    rc = make(c, &r, err);
    cli_record_close(&r);
    return rc;
}

static const cli_option options[] = {
    {"out", 'o', CLI_TEXT, "FILE", 0, 0, "the file to write (default report.html); - is standard output"},
    {"controls", 0, CLI_TEXT, "FILE", 0, 0, "a controls file of this session, for the share of each control"},
    CLI_RECORD_OPTIONS,
    {0},
};

const cli_command cli_cmd_report = {
    "report",
    "Look",
    "[SESSION]",
    "write a session as one HTML page with its pictures",
    "Writes a session (the newest unless a number is given) as one HTML file that needs no network and nothing beside "
    "it: the verdict, the winning flags, the best so far, trade-offs, values per input, shares of the controls, "
    "failures, trials, and where it all comes from. docs/report.md says how to read each picture.\n\n"
    "Flags are made from the workload file if it is the one the session was recorded with; shares come from the "
    "controls file NAME.hone beside it if that is of this session. With `--json` the data of the page is printed, and "
    "the "
    "page written only where `--out` says so.",
    options,
    "hone report\twrite report.html about the newest session\n"
    "hone report 3 --out softmax.html\tabout session 3\n"
    "hone report --json\twhat the page is drawn from\n",
    0,
    1,
    run_report,
};
