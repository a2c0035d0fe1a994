/* Recordings: what is read, what is refused and where; replays of a small one. */
#include "synthetic.h"

#include <unistd.h>

static char path[600];

static void write_text(const char *text) {
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/recording-%ld.tsv", dir ? dir : "/tmp", (long)getpid());
    FILE *f = fopen(path, "wb");
    if (!f || fputs(text, f) < 0 || fclose(f)) {
        printf("Bail out! cannot write '%s'\n", path);
        exit(1);
    }
}

#define HEAD "# kernel=k\n# values A=1|2|4 K=row|column P=3\n"

static void refuses(void) {
    static const struct {
        const char *name, *text, *want;
    } row[] = {
        {"no_values", "A\ttime_ms\n1\t2\n", "no line '# values name=value|value ...' before the header"},
        {"empty", "", "no line '# values name=value|value ...' before the header"},
        {"no_header", HEAD, "no header line"},
        {"two_values", HEAD "# values B=1\n", ":3: a second values line"},
        {"no_time", HEAD "A\tK\n", ":3: the header has no column 'time_ms'"},
        {"missing_parameter", HEAD "A\ttime_ms\n", ":3: the header has no column for parameter 'K'"},
        {"unknown_value", HEAD "A\tK\ttime_ms\n1\trow\t2\n3\trow\t2\n", ":5: '3' is not among the values of 'A'"},
        {"few_fields", HEAD "A\tK\ttime_ms\n1\trow\n", ":4: 2 fields where the header has 3"},
        {"many_fields", HEAD "A\tK\ttime_ms\n1\trow\t2\t3\n", ":4: 4 fields where the header has 3"},
        {"no_number", HEAD "A\tK\ttime_ms\n1\trow\tfast\n", ":4: 'fast' is not a number (or '-')"},
        {"ok_without_time", HEAD "A\tK\ttime_ms\tstatus\n1\trow\t-\tok\n", ":4: status 'ok' needs a positive time"},
        {"none_ok", HEAD "A\tK\ttime_ms\tstatus\n1\trow\t-\trun_crash\n", "no configuration has status 'ok'"},
        {"twice", HEAD "A\tK\ttime_ms\n1\trow\t2\n1\trow\t3\n", "rows 1 and 2 are the same configuration"},
        {"not_xz",
         "\xFD"
         "7zXZ garbage",
         "not an intact xz file"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hone_recording *rec = NULL;
        hone_err err = {.text = ""};
        write_text(row[i].text);
        hone_rc rc = hone_recording_load(path, &rec, &err);
        bool told = rc == HONE_E_INPUT && !rec && strstr(err.text, row[i].want) && strstr(err.text, path);
        ok(told, "recording/refuses_%s", row[i].name);
        if (!told) printf("# %s\n", err.text);
        hone_recording_free(rec);
    }
    hone_recording *rec = NULL;
    hone_err err;
    ok(hone_recording_load("/nonexistent/x.tsv", &rec, &err) == HONE_E_IO && !rec, "recording/refuses_missing_file");
}

static const char small[] = HEAD "time_ms\tK\tA\tsd_ms\tcompile_ms\tstatus\n"
                                 "4\trow\t1\t0.1\t10\tok\r\n"
                                 "2\trow\t2\t-\t20\tok\n"
                                 "\n"
                                 "1\tcolumn\t4\t0.5\t40\tok\n"
                                 "-\tcolumn\t1\t-\t-\tCompilationFailedConfig\n"
                                 "3\tcolumn\t2\t0\t-\tok\n";

static void reads(void) {
    hone_recording *rec = NULL;
    hone_err err;
    hone_outcome_class cls;
    double t, sd, compile;
    write_text(small);
    if (!ok(!hone_recording_load(path, &rec, &err), "recording/loads")) {
        printf("# %s\n", err.text);
        return;
    }
    const hone_space *s = hone_recording_space(rec);
    ok(hone_recording_rows(rec) == 5 && hone_recording_best(rec) == 0.001, "recording/rows_and_best");
    ok(hone_space_param(s, 0)->kind == HONE_ORDINAL && hone_space_param(s, 1)->kind == HONE_CHOICE &&
           hone_space_param(s, 2)->kind == HONE_LITERAL,
       "recording/kinds");
    ok(hone_recording_lookup(rec, (double[]){0, 0, 0}, &cls, &t, &sd, &compile) && cls == HONE_RUN_OK && t == 4 / 1e3 &&
           sd == 0.1 / 1e3 && compile == 10 / 1e3,
       "recording/finds_a_row");
    ok(hone_recording_lookup(rec, (double[]){0, 1, 0}, &cls, &t, &sd, &compile) && cls == HONE_BUILD_ERROR && isnan(t),
       "recording/finds_a_failure");
    ok(!hone_recording_lookup(rec, (double[]){2, 0, 0}, NULL, NULL, NULL, NULL), "recording/misses_what_is_not_there");
    ok(!hone_recording_lookup(rec, (double[]){NAN, 0, 0}, NULL, NULL, NULL, NULL), "recording/misses_absent");
    static const struct {
        const char *name;
        hone_replay_options c;
    } run[] = {
        {"known", {.size = sizeof(hone_replay_options), .n_evals = 30, .n_seeds = 3, .constraints_known = true}},
        {"unknown", {.size = sizeof(hone_replay_options), .n_evals = 30, .n_seeds = 3}},
        {"noisy_batch",
         {.size = sizeof(hone_replay_options),
          .n_evals = 30,
          .n_seeds = 3,
          .constraints_known = true,
          .batch = 4,
          .noisy = true}},
        {"two_objectives",
         {.size = sizeof(hone_replay_options),
          .n_evals = 30,
          .n_seeds = 3,
          .two_objectives = true,
          .constraints_known = true}},
    };
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        hone_replay_result r = {0};
        if (!ok(!hone_replay_run(rec, &run[i].c, &r, &err), "replay/%s_runs", run[i].name)) printf("# %s\n", err.text);
        /* five lines, all asked within 30: the end of every curve is the optimum */
        bool noisy = run[i].c.noisy;
        ok(r.curve && (noisy ? r.curve[29] > 0.4 : fabs(r.curve[29] - 1) < 1e-9), "replay/%s_ends_at_the_best",
           run[i].name);
        ok(isnan(r.fraction[1]) && r.n_evals == 30, "replay/%s_says_nothing_beyond", run[i].name);
        bool rising = r.curve != NULL;
        for (size_t k = 1; rising && !noisy && k < 30; k++) rising = r.curve[k] >= r.curve[k - 1] - 1e-12;
        ok(rising, "replay/%s_curve_rises", run[i].name);
        hone_free(r.curve);
    }
    hone_recording_free(rec);
}

/* Lists out of order, numbers written in another way, columns of other measurements, a comment without a blank. */
static void reads_other_hands(void) {
    hone_recording *rec = NULL;
    hone_err err;
    hone_outcome_class cls;
    double t, sd, compile;
    write_text("#values A=8|1|2 B=0.5|1.0 C=1|1.0\nA\tB\tenergy_J\tC\ttime_ms\n8\t1\t3.5\t1.0\t2\n1.0\t.5\t-\t1\t4\n");
    if (!ok(!hone_recording_load(path, &rec, &err), "recording/reads_other_hands")) {
        printf("# %s\n", err.text);
        return;
    }
    const hone_space *s = hone_recording_space(rec);
    ok(hone_space_param(s, 0)->kind == HONE_ORDINAL && !strcmp(hone_space_param(s, 0)->values[2], "8"),
       "recording/orders_numbers");
    ok(hone_space_param(s, 2)->kind == HONE_CHOICE, "recording/one_number_twice_is_a_choice");
    ok(hone_recording_lookup(rec, (double[]){2, 1, 1}, &cls, &t, &sd, &compile) && t == 2 / 1e3 &&
           hone_recording_lookup(rec, (double[]){0, 0, 0}, &cls, &t, &sd, &compile) && t == 4 / 1e3,
       "recording/compares_numbers_as_numbers");
    hone_recording_free(rec);
}

int main(void) {
    refuses();
    reads();
    reads_other_hands();
    unlink(path);
    return done_testing();
}
