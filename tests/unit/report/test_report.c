/* Reports: which proof counts, what is drawn, texts of any origin, lack of memory. The page itself is looked at by
 * tests/e2e/report.t. */
#include "failalloc.h"
#include "record/proofs.h"
#include "record/store_fixture.h"
#include "report/report_int.h"

static hone_err e;

/* --- a record ------------------------------------------------------------------------------------------------------
 */

typedef struct row {
    const char *phase, *point;
    hone_outcome_class cls;
    double value, size;
    double over; /* a limit */
    bool suspect;
} row;

static hone_store *record(const char *objectives, size_t n_goals, const row *rows, size_t n) {
    hone_store *s = NULL;
    hone_session x = fix_session();
    fix_make_dir();
    x.objectives = objectives;
    bool fine = !hone_store_open(fix_dir, true, &s, &e) && !hone_session_begin(s, &x, &e);
    for (size_t i = 0; fine && i < n; i++) {
        hone_trial t = {.phase = rows[i].phase,
                        .point = rows[i].point,
                        .point_hash = (uint64_t)rows[i].point[5],
                        .object_hash = "",
                        .outcome.cls = rows[i].cls,
                        .n_objectives = n_goals,
                        .n_constraints = 1,
                        .origin = "seed",
                        .detail = rows[i].cls ? "went wrong" : "",
                        .suspect = rows[i].suspect,
                        .sample = fix_samples,
                        .n_samples = rows[i].cls ? 0 : 5};
        t.outcome.value[0] = rows[i].value;
        t.outcome.value[1] = rows[i].size;
        t.outcome.violation[0] = rows[i].over;
        fine = !hone_trial_add(s, x.id, &t, NULL, &e);
    }
    if (!fine) printf("# %s\n", e.text);
    return s;
}

static void drop(hone_store *s, hone_report *r) {
    hone_report_free(r);
    hone_store_close(s);
    fix_remove_dir();
}

static hone_report opened(hone_store *s) {
    hone_report r = {0};
    if (hone_report_open(s, 0, NULL, NULL, &r, &e)) printf("# %s\n", e.text);
    return r;
}

static const char latency[] = "[{\"expr\":\"p50(latency)\",\"direction\":\"minimize\"}]";
static const char both[] = "[{\"expr\":\"p50(latency)\",\"direction\":\"minimize\"},"
                           "{\"expr\":\"code_size\",\"direction\":\"minimize\"}]";

/* --- curve ----------------------------------------------------------------------------------------------------------
 */

static const row search[] = {
    {"baseline", "{\"x\":0}", HONE_RUN_OK, 10, 100, -1, false},
    {"search", "{\"x\":1}", HONE_RUN_OK, 12, 90, -1, false},
    {"search", "{\"x\":2}", HONE_RUN_OK, 8, 120, -1, false},
    {"search", "{\"x\":3}", HONE_BUILD_ERROR, 0, 0, 0, false},
    {"search", "{\"x\":4}", HONE_RUN_OK, 4, 10, 0.5, false},
    {"search", "{\"x\":5}", HONE_RUN_OK, 1, 10, -1, true},
    {"search", "{\"x\":6}", HONE_RUN_OK, 5, 110, -1, false},
    {"search", "{\"x\":7}", HONE_RUN_OK, 9, 130, -1, false},
    {"race", "{\"x\":6}", HONE_RUN_OK, 9.5, 110, -1, false},
    {"race", "{\"x\":2}", HONE_RUN_OK, 8.5, 120, -1, false},
};

static void test_curve(void) {
    hone_store *s = record(latency, 1, search, sizeof search / sizeof *search);
    hone_report r = opened(s);
    static const double best[] = {1, 1, 1.25, 1.25, 1.25, 1.25, 2, 2, 2, 2};
    bool same = r.n_trials == 10;
    for (size_t i = 0; same && i < 10; i++) same = fabs(r.trial[i].best - best[i]) < 1e-12;
    ok(same && r.ratios, "report/best_so_far_skips_failed_over_limit_and_suspect");
    ok(r.n_search == 7 && r.n_class[HONE_BUILD_ERROR] == 1 && r.n_class[HONE_RUN_OK] == 6, "report/counts_the_search");
    ok(r.best == &r.trial[9] && r.baseline == &r.trial[0], "report/race_outranks_search");
    ok(r.trial[0].x == 0 && r.trial[7].x == 7 && r.trial[9].x == 7, "report/x_is_evaluations_by_then");
    ok(r.axis_lo < 0.9 && r.axis_hi > 2 && r.axis_lo >= 0, "report/axis_holds_best_and_below");
    ok(r.standing == HONE_UNPROVEN && !strcmp(r.verdict, "not validated: the search claims 1.176x on p50(latency); "
                                                         "run hone validate"),
       "report/claim_without_proof");
    is_text(r.point, "{\"x\":2}", "report/point_of_the_race");
    ok(!r.argv && r.no_argv, "report/no_flags_without_workload");
    ok(r.n_boxes == 2 && !strcmp(r.box[0].input, "small") && r.box[0].tuned.n == 2 && r.box[0].baseline.n == 1 &&
           fabs(r.box[0].tuned.p50 - 1.255e-3) < 1e-12 && !r.boxes_proven && isnan(r.box[0].gain.mid),
       "report/boxes_from_samples");
    drop(s, &r);
}

static void test_front(void) {
    hone_store *s = record(both, 2, search, sizeof search / sizeof *search);
    hone_report r = opened(s);
    /* 12/90 | 8/120 raced | 5/110 raced | 9/130 | race 9.5/110, 8.5/120; the baseline 10/100 */
    static const bool front[] = {true, true, false, false, false, false, false, false, true, true};
    bool same = r.n_trials == 10;
    for (size_t i = 0; same && i < 10; i++) same = r.trial[i].front == front[i];
    ok(same, "report/front_of_what_the_race_left");
    ok(strstr(r.verdict, "1.176x on p50(latency) and 0.833x on code_size, one of 4 trade-offs"),
       "report/claim_names_every_objective");
    drop(s, &r);
}

/* Points of what is worth proving, in order: "2 6 7". */
static const char *chosen(const hone_report *r, size_t most) {
    static char text[64];
    hone_report_candidate c[HONE_CANDIDATES_MAX];
    size_t n = hone_report_candidates(r, most, c), at = 0;
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%c", i ? " " : "", c[i].trial->trial->point[5]);
    text[at] = 0;
    return text;
}

static void test_candidates(void) {
    hone_report_candidate c[HONE_CANDIDATES_MAX];
    hone_store *s = record(latency, 1, search, sizeof search / sizeof *search);
    hone_report r = opened(s);
    is_text(chosen(&r, 0), "2 6 7", "report/candidates_of_the_race_first_and_each_point_once");
    is_text(chosen(&r, 99), "2 6 7 1", "report/candidates_worked_within_limits");
    ok(hone_report_candidates(&r, 1, c) == 1 && c[0].trial == &r.trial[9] && c[0].claimed[0] == 1.25,
       "report/candidate_claims_what_the_search_saw");
    drop(s, &r);
    s = record(both, 2, search, sizeof search / sizeof *search);
    r = opened(s);
    is_text(chosen(&r, 0), "2 6 1", "report/candidates_of_two_objectives_are_the_front");
    drop(s, &r);
}

static void test_signed(void) {
    static const row rows[] = {{"baseline", "{\"x\":0}", HONE_RUN_OK, -1, 0, -1, false},
                               {"search", "{\"x\":1}", HONE_RUN_OK, -3, 0, -1, false},
                               {"search", "{\"x\":2}", HONE_RUN_OK, 2, 0, -1, false}};
    hone_store *s = record("[{\"expr\":\"score\",\"direction\":\"maximize\"}]", 1, rows, 3);
    hone_report r = opened(s);
    ok(!r.ratios && isnan(r.trial[0].best) && r.trial[1].best == -3 && r.trial[2].best == 2,
       "report/values_without_ratio");
    ok(!strcmp(r.verdict, "not validated: the search claims score = 2; run hone validate"), "report/claim_is_a_value");
    drop(s, &r);
    s = record("[{\"expr\":\"score\",\"direction\":\"minimize\"}]", 1, rows, 1);
    r = opened(s);
    ok(r.standing == HONE_NO_GAIN && !r.point && !strcmp(r.verdict, "nothing was measured yet"),
       "report/nothing_measured");
    drop(s, &r);
    static const row fails[] = {{"baseline", "{\"x\":0}", HONE_RUN_OK, 1, 0, -1, false},
                                {"search", "{\"x\":1}", HONE_RUN_CRASH, 0, 0, 0, false}};
    s = record(latency, 1, fails, 2);
    r = opened(s);
    ok(r.standing == HONE_NO_GAIN && !r.best && strstr(r.verdict, "none of 1 candidates worked"),
       "report/nothing_worked");
    drop(s, &r);
    s = record(latency, 1, search, 2);
    r = opened(s);
    ok(r.standing == HONE_NO_GAIN && strstr(r.verdict, "nothing better than the baseline in 1 evaluations"),
       "report/nothing_better");
    drop(s, &r);
    s = record("not JSON", 1, search, 2);
    r = opened(s);
    char *json = NULL;
    ok(r.n_goals == 0 && !hone_report_json(&r, &json, &e), "report/session_without_goals");
    hone_free(json);
    drop(s, &r);
}

/* --- proofs ---------------------------------------------------------------------------------------------------------
 */

static void prove(hone_store *s, const char *point, bool kept, double gain, const char *verdict) {
    hone_comparison c = {.quantity = "p50(latency)", .input = "", .gain = {gain - 0.01, gain, gain + 0.01}};
    hone_comparison by = {.quantity = "p50(latency)", .input = "small", .gain = {gain, gain, gain}};
    by.baseline.n = by.tuned.n = 7;
    hone_proof p = {.point = point,
                    .argv = "gcc -O3",
                    .kept = kept,
                    .why = kept ? HONE_NOT_REJECTED : HONE_REJECT_GAIN,
                    .verdict = verdict,
                    .n_objectives = 1,
                    .n_inputs = 1,
                    .overall = &c,
                    .by_input = &by,
                    .layout = ""};
    char *body = NULL;
    hone_proof_to_json(&p, false, &body, &e);
    hn_proof_row written = {1, "w1", point, kept, hone_proof_reject_name(p.why), verdict, 1.7e9, body};
    if (hn_proofs_add(s, &written, &e)) printf("# %s\n", e.text);
    hone_free(body);
}

static void test_proofs(void) {
    static const struct {
        const char *name, *verdict;
        hone_report_standing standing;
        struct {
            const char *point;
            bool kept;
            double gain;
            const char *verdict;
        } proof[4]; /* the newest last */
    } cases[] = {
        {"report/kept", "a", HONE_KEPT, {{"{\"x\":6}", true, 1.1, "a"}}},
        {"report/rejected", "a", HONE_REJECTED, {{"{\"x\":6}", false, 1.0, "a"}}},
        {"report/kept_beats_rejected", "a", HONE_KEPT, {{"{\"x\":6}", true, 1.1, "a"}, {"{\"x\":2}", false, 1.2, "b"}}},
        {"report/the_kept_that_gains_most",
         "b",
         HONE_KEPT,
         {{"{\"x\":6}", true, 1.1, "a"}, {"{\"x\":2}", true, 1.2, "b"}, {"{\"x\":7}", true, 1.05, "c"}}},
        {"report/newest_of_a_point_counts",
         "b",
         HONE_REJECTED,
         {{"{\"x\":6}", true, 1.1, "a"}, {"{\"x\":6}", false, 1, "b"}}},
        {"report/rejected_of_the_best_point",
         "a",
         HONE_REJECTED,
         {{"{\"x\":2}", false, 1, "a"}, {"{\"x\":7}", false, 1, "b"}}},
        {"report/rejected_of_other_points",
         "b",
         HONE_REJECTED,
         {{"{\"x\":7}", false, 1, "a"}, {"{\"x\":9}", false, 1, "b"}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_store *s = record(latency, 1, search, sizeof search / sizeof *search);
        for (size_t k = 0; k < 4 && cases[i].proof[k].point; k++)
            prove(s, cases[i].proof[k].point, cases[i].proof[k].kept, cases[i].proof[k].gain,
                  cases[i].proof[k].verdict);
        hone_report r = opened(s);
        ok(r.standing == cases[i].standing && r.verdict && !strcmp(r.verdict, cases[i].verdict) && r.boxes_proven &&
               r.n_boxes == 1 && r.box[0].tuned.n == 7 && r.argv && !strcmp(r.argv, "gcc -O3"),
           "%s", cases[i].name);
        drop(s, &r);
    }
}

/* The reduced winner stands in the controls file: it counts, though the whole one gained more. */
static void test_controls(void) {
    hone_store *s = record(latency, 1, search, sizeof search / sizeof *search);
    hone_share share[] = {{"x", {1.01, 1.02, 1.03}}};
    hone_controls k = {.point = "{ \"x\": 6 }", .share = share, .n_shares = 1, .created = "", .verdict = ""};
    hone_report r = {0};
    char *json = NULL;
    prove(s, "{\"x\":6}", true, 1.1, "reduced");
    prove(s, "{\"x\":2}", true, 1.2, "whole");
    ok(!hone_report_open(s, 0, NULL, &k, &r, &e) && !strcmp(r.verdict, "reduced"), "report/proof_of_the_controls_file");
    ok(!hone_report_json(&r, &json, &e) && strstr(json, "\"row\":[{\"name\":\"x\""),
       "report/shares_of_the_controls_file");
    hone_free(json);
    hone_report_free(&r);
    k.point = "{\"x\":7}";
    ok(!hone_report_open(s, 0, NULL, &k, &r, &e) && !strcmp(r.verdict, "whole"),
       "report/controls_file_of_another_point");
    drop(s, &r);
}

/* --- texts ----------------------------------------------------------------------------------------------------------
 */

static void test_texts(void) {
    static const struct {
        const char *name, *text, *clean, *html;
    } cases[] = {
        {"plain", "a-b_c", "a-b_c", "a-b_c"},
        {"markup", "<a href=\"x\">&'</a>", "<a href=\"x\">&'</a>", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;"},
        {"utf8", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
         "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"broken_utf8", "a\xff\xc3", "a\xef\xbf\xbd\xef\xbf\xbd", "a\xef\xbf\xbd\xef\xbf\xbd"},
        {"overlong", "\xc0\xaf\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"controls",
         "a\x1b[31m\x07\tb\nc\x7f\xc2\x9b"
         "1m",
         "a [31m \tb\nc  1m", "a [31m \tb\nc  1m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_str a = {0}, b = {0};
        hn_report_clean(&a, cases[i].text);
        hn_report_escape(&b, cases[i].text);
        char *x = hn_str_take(&a), *y = hn_str_take(&b);
        ok(x && y && !strcmp(x, cases[i].clean) && !strcmp(y, cases[i].html), "report/text_%s", cases[i].name);
        free(x);
        free(y);
    }
}

static void test_page(void) {
    static const row rows[] = {{"baseline", "{\"x\":0}", HONE_RUN_OK, 10, 0, -1, false},
                               {"search", "{\"x\":\"</script><!--\"}", HONE_RUN_OK, 5, 0, -1, false}};
    hone_store *s = record("[{\"expr\":\"<!--hone:data-->\",\"direction\":\"minimize\"}]", 1, rows, 2);
    hone_report r = opened(s);
    char *html = NULL, *again = NULL, *json = NULL;
    size_t n = 0;
    ok(!hone_report_html(&r, &html, &n, &e) && n == strlen(html) && !hone_report_html(&r, &again, NULL, &e) &&
           !strcmp(html, again),
       "report/page_is_the_same_again");
    ok(!hone_report_json(&r, &json, &e) && !strpbrk(json, "<>&") && strstr(json, "\\u003c/script\\u003e"),
       "report/data_has_no_markup");
    size_t blocks = 0;
    for (const char *p = html; (p = strstr(p, "</script>")); p++) blocks++;
    ok(blocks == 3 && !strstr(html, "<!--hone:"), "report/page_has_no_mark_left");
    hone_free(html);
    hone_free(again);
    hone_free(json);
    drop(s, &r);
}

/* --- lack of memory --------------------------------------------------------------------------------------------------
 */

static hone_rc whole(void *ctx) {
    hone_report r = {0};
    char *html = NULL;
    hone_rc rc = hone_report_open(ctx, 0, NULL, NULL, &r, &e);
    if (rc) return r.block || r.n_trials ? HONE_E_FAILED : rc;
    rc = hone_report_html(&r, &html, NULL, &e);
    hone_report_free(&r);
    if (rc && html) return HONE_E_FAILED;
    hone_free(html);
    return rc;
}

static void test_no_memory(void) {
    hone_store *s = record(both, 2, search, sizeof search / sizeof *search);
    /* without a proof: jansson calls a text that it had no memory to read malformed */
    sweep_allocations("report/nth_allocation_fails", whole, s);
    hone_store_close(s);
    fix_remove_dir();
}

int main(void) {
    test_curve();
    test_front();
    test_candidates();
    test_signed();
    test_proofs();
    test_controls();
    test_texts();
    test_page();
    test_no_memory();
    return done_testing();
}
