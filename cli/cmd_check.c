/* cmd_check.c — `hone check`: are controls files still valid? */
#include "check_report.h"
#include "controls_files.h"
#include "prove.h"

#include <hone/check.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From the least to the most serious: the worst of all files gives the exit code. */
static const struct {
    hone_check_status status;
    hone_rc rc;
    cli_ink ink;
} severity[] = {
    {HONE_CHECK_VALID, HONE_OK, CLI_GREEN},
    {HONE_CHECK_STALE, HONE_E_STALE, CLI_YELLOW},
    {HONE_CHECK_REGRESSED, HONE_E_REGRESSED, CLI_RED},
    {HONE_CHECK_BROKEN, HONE_E_INPUT, CLI_RED},
    {HONE_CHECK_TAMPERED, HONE_E_TAMPERED, CLI_RED},
};

static size_t rank_of(hone_check_status status) {
    size_t i = 0;
    while (i + 1 < sizeof severity / sizeof *severity && severity[i].status != status) i++;
    return i;
}

static size_t worst_of(const cli_checked *list, size_t n) {
    size_t worst = 0;
    for (size_t i = 0; i < n; i++)
        if (rank_of(list[i].result.status) > worst) worst = rank_of(list[i].result.status);
    return worst;
}

/* --- output ---------------------------------------------------------------------------------------------------- */

static void put_json(cli *c, const cli_checked *list, size_t n) {
    cli_json j = cli_json_begin(c, false);
    size_t worst = worst_of(list, n);
    cli_json_object(&j);
    cli_json_ktext(&j, "status", hone_check_name(severity[worst].status));
    cli_json_kcount(&j, "exit", (uint64_t)hone_rc_exit(severity[worst].rc));
    cli_json_key(&j, "files");
    cli_json_array(&j);
    for (size_t i = 0; i < n; i++) {
        const hone_check_result *r = &list[i].result;
        cli_json_object(&j);
        cli_json_ktext(&j, "file", list[i].path);
        cli_json_ktext(&j, "status", hone_check_name(r->status));
        cli_json_ktext(&j, "text", r->text);
        cli_json_key(&j, "differences");
        cli_json_array(&j);
        for (size_t k = 0; k < r->n_differences; k++) {
            cli_json_object(&j);
            cli_json_ktext(&j, "part", r->difference[k].part);
            cli_json_ktext(&j, "what", r->difference[k].what);
            cli_json_ktext(&j, "then", r->difference[k].then);
            cli_json_ktext(&j, "now", r->difference[k].now);
            cli_json_close(&j);
        }
        cli_json_close(&j);
        cli_json_knumber(&j, "gain", r->gain.mid);
        cli_json_knumber(&j, "gain_lo", r->gain.lo);
        cli_json_knumber(&j, "gain_hi", r->gain.hi);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void put_difference(const cli *c, const hone_difference *d) {
    printf("  %s ", d->part);
    cli_put(c, stdout, d->what, 0);
    printf("\n    then: ");
    cli_put(c, stdout, d->then, 0);
    printf("\n    now:  ");
    cli_put(c, stdout, d->now, 0);
    putchar('\n');
}

static void put_text(const cli *c, const cli_checked *x) {
    const hone_check_result *r = &x->result;
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    cli_put(c, stdout, x->path, 0);
    printf(": %s%s%s: ", cli_paint(c->color_out, severity[rank_of(r->status)].ink), hone_check_name(r->status),
           cli_paint(c->color_out, CLI_PLAIN));
    cli_put(c, stdout, r->text, 0);
    putchar('\n');
    for (size_t i = 0; i < r->n_differences; i++) put_difference(c, &r->difference[i]);
    if (isfinite(r->gain.mid))
        printf("  measured now: %s (%s to %s)\n", cli_text_ratio(c, r->gain.mid, a), cli_text_ratio(c, r->gain.lo, lo),
               cli_text_ratio(c, r->gain.hi, hi));
}

static void put_all(cli *c, const cli_checked *list, size_t n) {
    if (c->json)
        put_json(c, list, n);
    else if (cli_given(c, "github"))
        cli_github_put(stdout, list, n);
    for (size_t i = 0; i < n && !c->json && !cli_given(c, "github"); i++)
        if (!cli_given(c, "quiet") || list[i].result.status != HONE_CHECK_VALID) put_text(c, &list[i]);
}

/* --- the command ----------------------------------------------------------------------------------------------- */

static hone_check_options read_options(const cli *c, const hone_prove_options *prove) {
    hone_check_options o = hone_check_defaults();
    o.prove = prove;
    o.workload = cli_text(c, "workload", NULL);
    o.public_key = cli_text(c, "key", NULL);
    o.ignore = cli_text(c, "ignore", NULL);
    o.measure = cli_given(c, "measure");
    return o;
}

static hone_rc check_all(cli *c, const cli_paths *files, cli_checked *list, size_t *n, hone_err *err) {
    cli_live live;
    cli_signals on = cli_catch_signals(false);
    hone_prove_options prove = cli_prove_options(c, cli_text(c, "store", NULL), &live, on);
    hone_check_options o = read_options(c, &prove);
    hone_rc rc = HONE_OK;
    cli_live_begin(&live, c, on.resized);
    for (*n = 0; *n < files->n && !rc; *n += !rc) {
        double from = cli_now_s();
        list[*n].path = files->path[*n];
        rc = hone_check_controls(files->path[*n], &o, &list[*n].result, err);
        list[*n].seconds = cli_now_s() - from;
    }
    cli_live_end(&live);
    return rc;
}

static hone_rc run_check(cli *c, hone_err *err) {
    cli_paths files;
    size_t n = 0;
    if (c->json && cli_given(c, "github")) return cli_fail(err, HONE_E_USAGE, "choose one of --json and --github");
    hone_rc rc = cli_controls_files(c, &files, err);
    if (rc) return rc;
    cli_checked *list = cli_alloc(files.n + 1, sizeof *list);
    rc = check_all(c, &files, list, &n, err);
    if (!rc && cli_text(c, "junit", NULL)) rc = cli_junit_write(cli_text(c, "junit", NULL), list, n, err);
    if (!rc) {
        put_all(c, list, n);
        c->exit_code = hone_rc_exit(severity[worst_of(list, n)].rc);
    }
    for (size_t i = 0; i < n; i++) hone_check_free(&list[i].result);
    free(list);
    cli_paths_free(&files);
    return rc;
}

static const cli_option options[] = {
    {"workload", 'w', CLI_TEXT, "FILE", 0, 0, "the workload file (default: the one that the controls file names)"},
    {"key", 'k', CLI_TEXT, "PUB", 0, 0, "a public key: only what is signed with it passes"},
    {"ignore", 'i', CLI_TEXT, "PARTS", 0, 0,
     "parts of the key that do not count here, separated by commas: cpu on a machine that only builds"},
    {"measure", 'm', CLI_FLAG, NULL, 0, 0, "measure again, as `hone validate` does: regressed when the gain is gone"},
    {"junit", 0, CLI_TEXT, "FILE", 0, 0, "write a JUnit report, too"},
    {"github", 0, CLI_FLAG, NULL, 0, 0, "print annotations for GitHub Actions instead of text"},
    {"time", 't', CLI_SECONDS, "TIME", 0, 0, "with --measure: time at most for a file"},
    {"jobs", 'j', CLI_COUNT, "N", 1, 1024, "with --measure: builds side by side (default: one per core)"},
    {"cpu", 0, CLI_COUNT, "N", 0, 4095, "with --measure: the core to measure on (default: the last usable one)"},
    {"store", 0, CLI_TEXT, "DIR", 0, 0, "with --measure: the folder of the record (default .hone beside the workload)"},
    {"quiet", 'q', CLI_FLAG, NULL, 0, 0, "say nothing of valid files"},
    {0},
};

const cli_command cli_cmd_check = {
    "check",
    "Keep",
    "[FILE|FOLDER]...",
    "say whether controls files still hold: sources, workload, compiler, machine",
    "Compares the key of each controls file with the present state: sources, the workload's rules and inputs, the "
    "compiler's binaries, the baseline's flags, the CPU, the format. A folder stands for all `*.hone` below it; "
    "without "
    "an operand, the current one.\n\n"
    "`valid`: nothing that counts has changed. `stale`: it has; each part is named, then and now. `regressed`: "
    "measured "
    "again (--measure), the gain is gone. `broken`: the file is missing, cut short or no controls file. `tampered`: "
    "the "
    "file or its response file was changed after it was written, or --key asks for another signature.\n\n"
    "Exit status, of the worst file: 0 valid, 18 stale, 19 regressed, 3 broken, 20 tampered.",
    options,
    "hone check\tall controls files below this folder\n"
    "hone check softmax.hone --measure\tand is it still as fast?\n"
    "hone check --key team.pub --junit hone.xml kernels\tin CI\n"
    "hone check --github\tin a GitHub workflow\n",
    0,
    -1,
    run_check,
};
