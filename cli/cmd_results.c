/* cmd_results.c — `hone results`: the trials of a session as table, CSV or JSON. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct listing {
    const cli_record *r;
    const hone_trial **trial;
    size_t n;
    bool failures; /* shows only failures, in other columns */
} listing;

/* --- which trials --------------------------------------------------------------------------------------------- */

/* The best trial comes first: the closing race chose it, even if another has a better single value. */
static int by_first_goal(const void *a, const void *b, void *record) {
    const hone_trial *const *x = a, *const *y = b, *best = ((const cli_record *)record)->best;
    if (*x == best || *y == best) return (*y == best) - (*x == best);
    if (cli_better(record, *x, *y)) return -1;
    if (cli_better(record, *y, *x)) return 1;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* Keeps the trials that no other one beats in every goal. */
static hone_rc keep_front(listing *l, hone_err *err) {
    size_t m = l->r->n_goals ? l->r->n_goals : 1, kept = 0;
    double *value = cli_alloc(l->n * m, sizeof *value);
    uint32_t *rank = cli_alloc(l->n, sizeof *rank);
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < m; k++)
            value[i * m + k] = (l->r->goal[k].maximize ? -1 : 1) * l->trial[i]->outcome.value[k];
    hone_rc rc = l->n ? hone_pareto_rank(value, l->n, m, rank, err) : HONE_OK;
    for (size_t i = 0; !rc && i < l->n; i++)
        if (rank[i] == 0) l->trial[kept++] = l->trial[i];
    l->n = kept;
    free(value);
    free(rank);
    return rc;
}

/* Was the point of this trial of the search measured again, on a fresh build, by the closing race? */
static bool raced(const cli_record *r, const hone_trial *t) {
    if (strcmp(t->phase, "search") != 0) return false;
    for (size_t i = r->trials.n; i-- > 0 && strcmp(r->trials.trial[i].phase, "race") == 0;)
        if (r->trials.trial[i].point_hash == t->point_hash && cli_feasible(&r->trials.trial[i])) return true;
    return false;
}

/* The table shows each point once; the formats for programs hold every trial. */
static bool wanted(const cli *c, const cli_record *r, const hone_trial *t) {
    if (cli_given(c, "all")) return true;
    if (cli_given(c, "failures")) return t->outcome.cls != HONE_RUN_OK;
    if (!cli_feasible(t) || strcmp(t->phase, "baseline") == 0) return false;
    return c->json || cli_given(c, "csv") || !raced(r, t);
}

static hone_rc gather(const cli *c, const cli_record *r, listing *l, hone_err *err) {
    bool failures = cli_given(c, "failures") && !cli_given(c, "all"), ordered = !failures && !cli_given(c, "all");
    *l = (listing){r, cli_alloc(r->trials.n, sizeof *l->trial), 0, failures};
    for (size_t i = 0; i < r->trials.n; i++)
        if (wanted(c, r, &r->trials.trial[i])) l->trial[l->n++] = &r->trials.trial[i];
    hone_rc rc = cli_given(c, "pareto") ? keep_front(l, err) : HONE_OK;
    if (ordered) qsort_r(l->trial, l->n, sizeof *l->trial, by_first_goal, (void *)(uintptr_t)r);
    size_t most =
        cli_count(c, "top", ordered && !c->json && !cli_given(c, "csv") && !cli_given(c, "pareto") ? 10 : l->n);
    if (l->n > most) l->n = most;
    return rc;
}

/* --- table ---------------------------------------------------------------------------------------------------- */

static void first_line(cli_table *t, const char *text) { cli_table_cell(t, "%.*s", (int)strcspn(text, "\n"), text); }

static void failures_table(const cli *c, const listing *l) {
    static const char *const head[] = {"trial", "class", "engine", "what happened"};
    cli_table *t = cli_table_new("rllx");
    for (size_t i = 0; i < 4; i++) cli_table_head(t, head[i]);
    for (size_t i = 0; i < l->n; i++) {
        const hone_trial *x = l->trial[i];
        cli_table_cell(t, "%lld", (long long)x->id);
        cli_table_cell(t, "%s", hone_outcome_class_name(x->outcome.cls));
        cli_table_cell(t, "%s", x->origin);
        first_line(t, x->detail);
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

static const char *note_of(const hone_trial *x) {
    if (x->outcome.cls != HONE_RUN_OK) return hone_outcome_class_name(x->outcome.cls);
    return x->suspect ? "suspect" : cli_feasible(x) ? strcmp(x->phase, "search") ? x->phase : "" : "over a limit";
}

/* Most settings of a point in the table; --json and --csv have all of them. */
enum { ITEMS_SHOWN = 12 };

/* Cuts a list at blanks after `most` items; how many were cut off. */
static size_t cut_items(char *list, size_t most) {
    size_t n = *list != 0;
    char *end = NULL;
    for (char *p = list; *p; p++)
        if (*p == ' ' && n++ == most) end = p;
    if (end) *end = 0;
    return end ? n - most : 0;
}

static void put_row(const cli *c, cli_table *t, const listing *l, const hone_trial *x) {
    const cli_record *r = l->r;
    char text[CLI_TEXT_N];
    bool ok = x->outcome.cls == HONE_RUN_OK;
    cli_table_cell(t, "%lld", (long long)x->id);
    for (size_t k = 0; k < r->n_goals; k++) {
        cli_table_cell(t, "%s", ok ? cli_text_quantity(r->goal[k].expr, x->outcome.value[k], text) : "-");
        cli_table_cell(t, "%s", cli_text_ratio(c, cli_gain(r, x, k), text));
    }
    cli_table_cell(t, "%s", note_of(x));
    cli_table_cell(t, "%s", x->origin);
    char *delta = cli_point_delta(x->point, r->baseline && x != r->baseline ? r->baseline->point : NULL, false);
    size_t more = cut_items(delta, ITEMS_SHOWN);
    if (more)
        cli_table_cell(t, "%s and %zu more", delta, more);
    else
        cli_table_cell(t, "%s", x == r->baseline ? "the baseline" : *delta ? delta : "nothing");
    free(delta);
    if (x == r->best) cli_table_ink(t, CLI_GREEN);
    if (!ok) cli_table_ink(t, CLI_DIM);
}

static void trials_table(const cli *c, const listing *l) {
    char layout[2 * HONE_MAX_OBJECTIVES + 8] = "r";
    for (size_t k = 0; k < l->r->n_goals; k++) strcat(layout, "rr");
    strcat(layout, "llx");
    cli_table *t = cli_table_new(layout);
    cli_table_head(t, "trial");
    for (size_t k = 0; k < l->r->n_goals; k++) {
        cli_table_head(t, l->r->goal[k].expr);
        cli_table_head(t, "gain");
    }
    cli_table_head(t, "note");
    cli_table_head(t, "engine");
    cli_table_head(t, "unlike the baseline");
    for (size_t i = 0; i < l->n; i++) put_row(c, t, l, l->trial[i]);
    cli_table_print(c, t, stdout, cli_width(stdout));
}

/* --- CSV (RFC 4180) ------------------------------------------------------------------------------------------- */

static void csv_text(const char *text) {
    bool quote = strpbrk(text, ",\"\r\n") != NULL;
    if (quote) putchar('"');
    for (const char *p = text; *p; p++) {
        if (*p == '"') putchar('"');
        putchar(*p);
    }
    if (quote) putchar('"');
}

static void csv_number(double x) {
    if (isfinite(x))
        printf(",%.17g", x);
    else
        putchar(',');
}

static void csv_row(const cli_record *r, const hone_trial *x) {
    bool ok = x->outcome.cls == HONE_RUN_OK;
    printf("%lld,%s,%s", (long long)x->id, x->phase, hone_outcome_class_name(x->outcome.cls));
    for (size_t k = 0; k < r->n_goals; k++) csv_number(ok ? x->outcome.value[k] : NAN), csv_number(cli_gain(r, x, k));
    printf(",%d,%d,", cli_feasible(x), x->suspect);
    csv_text(x->origin);
    csv_number(x->build_s);
    csv_number(x->run_s);
    printf(",%.3f", x->at_s);
    if (x->same_as)
        printf(",%lld,", (long long)x->same_as);
    else
        printf(",,");
    csv_text(x->object_hash);
    putchar(',');
    csv_text(x->point);
    putchar(',');
    csv_text(x->detail);
    fputs("\r\n", stdout);
}

static void print_csv(const listing *l) {
    printf("trial,phase,class");
    for (size_t k = 0; k < l->r->n_goals; k++) {
        char *gain = cli_format("gain of %s", l->r->goal[k].expr);
        putchar(',');
        csv_text(l->r->goal[k].expr);
        putchar(',');
        csv_text(gain);
        free(gain);
    }
    printf(",feasible,suspect,origin,build_s,run_s,at,same_as,object,point,detail\r\n");
    for (size_t i = 0; i < l->n && !ferror(stdout); i++) csv_row(l->r, l->trial[i]);
}

/* --- JSON ----------------------------------------------------------------------------------------------------- */

static void trial_json(cli_json *j, const cli_record *r, const hone_trial *x) {
    bool ok = x->outcome.cls == HONE_RUN_OK;
    cli_json_object(j);
    cli_json_kcount(j, "trial", (uint64_t)x->id);
    cli_json_ktext(j, "phase", x->phase);
    cli_json_ktext(j, "class", hone_outcome_class_name(x->outcome.cls));
    cli_json_key(j, "values");
    cli_json_object(j);
    for (size_t k = 0; k < r->n_goals; k++) cli_json_knumber(j, r->goal[k].expr, ok ? x->outcome.value[k] : NAN);
    cli_json_close(j);
    cli_json_knumber(j, "speedup", cli_gain(r, x, 0));
    cli_json_key(j, "violations");
    cli_json_array(j);
    for (size_t k = 0; k < x->n_constraints && k < HONE_MAX_CONSTRAINTS; k++)
        cli_json_number(j, ok ? x->outcome.violation[k] : NAN);
    cli_json_close(j);
    cli_json_kbool(j, "feasible", cli_feasible(x));
    cli_json_kbool(j, "suspect", x->suspect);
    cli_json_ktext(j, "origin", x->origin);
    cli_json_knumber(j, "build_s", x->build_s);
    cli_json_knumber(j, "run_s", x->run_s);
    cli_json_knumber(j, "at", x->at_s);
    cli_json_key(j, "same_as");
    if (x->same_as)
        cli_json_count(j, (uint64_t)x->same_as);
    else
        cli_json_raw(j, NULL);
    cli_json_ktext(j, "object", *x->object_hash ? x->object_hash : NULL);
    cli_json_kraw(j, "point", x->point);
    cli_json_ktext(j, "detail", x->detail);
    cli_json_close(j);
}

static void print_json(cli *c, const listing *l) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_kcount(&j, "session", (uint64_t)l->r->session.id);
    cli_json_kcount(&j, "best", l->r->best ? (uint64_t)l->r->best->id : 0);
    cli_json_key(&j, "trials");
    cli_json_array(&j);
    for (size_t i = 0; i < l->n && !ferror(stdout); i++) trial_json(&j, l->r, l->trial[i]);
    cli_json_end(&j);
}

/* --- the command ---------------------------------------------------------------------------------------------- */

static void print_text(const cli *c, const listing *l) {
    size_t n_class[HONE_N_CLASSES], n_reused, n = cli_count_classes(l->r, n_class, &n_reused);
    if (l->failures)
        failures_table(c, l);
    else if (l->n)
        trials_table(c, l);
    if (!l->n && !l->failures)
        fprintf(stderr, "hone: no trial of session %lld gave a result yet\n", (long long)l->r->session.id);
    char *failures = cli_failures_text(n_class);
    fprintf(stderr, "session %lld: %zu trials, %zu shown%s%s\n", (long long)l->r->session.id, n, l->n,
            *failures ? "; " : "", failures);
    free(failures);
}

static hone_rc check_words(const cli *c, hone_err *err) {
    static const char *const other[] = {"top", "all", "failures", "pareto", "csv"};
    if (c->json && cli_given(c, "csv")) return cli_fail(err, HONE_E_USAGE, "choose one of --csv and --json");
    if (cli_given(c, "pareto") && (cli_given(c, "all") || cli_given(c, "failures")))
        return cli_fail(err, HONE_E_USAGE, "--pareto shows the front; it cannot be joined with --all or --failures");
    for (size_t i = 0; cli_given(c, "plot") && i < sizeof other / sizeof *other; i++)
        if (cli_given(c, other[i]))
            return cli_fail(err, HONE_E_USAGE,
                            "--plot draws pictures of the whole session; it cannot be joined with --%s", other[i]);
    if (cli_given(c, "plot") && c->json)
        return cli_fail(err, HONE_E_USAGE, "--plot draws for people; `hone report --json` has the same as JSON");
    return HONE_OK;
}

static hone_rc draw(const cli *c, const cli_record *r, hone_err *err) {
    cli_report p;
    hone_rc rc = cli_report_open(c, r, &p, err);
    if (rc) return rc;
    cli_plot(c, &p.report, cli_width(stdout));
    cli_report_close(&p);
    return HONE_OK;
}

static hone_rc list(cli *c, const cli_record *r, hone_err *err) {
    listing l;
    hone_rc rc = gather(c, r, &l, err);
    if (!rc && c->json)
        print_json(c, &l);
    else if (!rc && cli_given(c, "csv"))
        print_csv(&l);
    else if (!rc)
        print_text(c, &l);
    free(l.trial);
    return rc;
}

static hone_rc run_results(cli *c, hone_err *err) {
    cli_record r;
    hone_rc rc = check_words(c, err);
    if (!rc) rc = cli_record_open(c, false, &r, err);
    if (rc) return rc;
    rc = cli_given(c, "plot") ? draw(c, &r, err) : list(c, &r, err);
    cli_record_close(&r);
    return rc;
}

static const cli_option options[] = {
    {"top", 'n', CLI_COUNT, "N", 1, 0, "at most N trials (default 10 in the table, all in CSV and JSON)"},
    {"all", 'a', CLI_FLAG, NULL, 0, 0, "every trial in the order of measuring, failures too"},
    {"failures", 0, CLI_FLAG, NULL, 0, 0, "only trials that failed, and why"},
    {"pareto", 0, CLI_FLAG, NULL, 0, 0, "only trials that no other beats in every objective"},
    {"csv", 0, CLI_FLAG, NULL, 0, 0, "comma-separated values with a header line"},
    {"plot", 0, CLI_FLAG, NULL, 0, 0, "draw the session: best so far, trade-offs, values per input, failures"},
    CLI_RECORD_OPTIONS,
    {0},
};

const cli_command cli_cmd_results = {
    "results",
    "Look",
    "[SESSION]",
    "list trials of a session: table, CSV, JSON, plots",
    "Lists the trials of a session (the newest unless a number is given), best first. `gain` is how many times better "
    "than the baseline a trial was. The last column names the settings in which it differs from the baseline; on a "
    "terminal it is shortened to fit.\n\n"
    "CSV and JSON give values in base units: seconds, bytes, counts.",
    options,
    "hone results\tthe ten best\n"
    "hone results --failures\twhat went wrong and how often\n"
    "hone results --csv > trials.csv\teverything that worked, for a spreadsheet\n"
    "hone results --pareto\tthe trade-offs between several objectives\n"
    "hone results --plot\tthe same pictures as in `hone report`, on the terminal\n",
    0,
    1,
    run_results,
};
