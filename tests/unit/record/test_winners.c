/* Winners: kept and found by their key, as text and back, and what a bad text or file gives. */
#include <hone/winners.h>

#include "tap.h"

#include <math.h>
#include <unistd.h>

static hone_winner sample(const char *body, const char *sizes, double at_s) {
    return (hone_winner){.kind = "contract",
                         .body = body,
                         .sizes = sizes,
                         .target = "x86-64-v4",
                         .device = "a processor; \"quoted\": #1",
                         .driver = "",
                         .compiler = "gcc; gcc 12; 0123",
                         .numeric = "exact",
                         .schedules = "1",
                         .schedule = "gemm rows=12 cols=2",
                         .cc = "",
                         .cc_identity = "",
                         .flags = "-O3 -funroll-loops",
                         .code = "aa",
                         .default_code = "bb",
                         .provenance = "minilm, hone 1",
                         .default_s = 1e-3,
                         .tuned_s = 0.1 + 0.2,
                         .gain_lo = 1.01,
                         .gain = 1.25,
                         .gain_hi = 1.5,
                         .pairs = 100,
                         .at_s = at_s};
}

static const char *folder(void) {
    static char path[64];
    if (!*path) {
        strcpy(path, "/tmp/hone-winners-XXXXXX");
        if (!mkdtemp(path)) *path = 0;
    }
    return path;
}
static const char *file_named(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    return path;
}

/* Where the cases of rows and trials are kept: a file of that name, or the place that HONE_TEST_WINNERS says
 * (tests/e2e/winners_server.t runs this program on a server). */
static hone_winners *place(const char *name) {
    const char *url = getenv("HONE_TEST_WINNERS");
    hone_winners *w = NULL;
    hone_err err = {0};
    ok(hone_winners_open(url ? url : file_named(name), true, &w, &err) == HONE_OK, "winners/opens_%s: %s", name,
       err.text);
    return w;
}
static void make_empty(hone_winners *w) {
    hone_winner *list = NULL;
    size_t n = 0;
    char id[33];
    if (hone_winners_list(w, &list, &n, NULL)) return;
    for (size_t i = 0; i < n; i++) hone_winner_id(&list[i], id), hone_winners_remove(w, id, NULL);
    hone_winners_list_free(list, n);
}

static void test_key(void) {
    char id[33], other[33], family[33], family2[33];
    hone_winner w = sample("%1 = add %0, %0\n", "n=4", 1), x = w;
    hone_winner_id(&w, id);
    is_text(id, "2d7034a976cd07a5a2d8feceb057ffe3", "winners/key_is_stable");
    x.schedule = "plain", x.gain = 2, x.provenance = "";
    hone_winner_id(&x, other);
    is_text(other, id, "winners/key_leaves_out_what_was_found");
    x = w, x.sizes = "n=5";
    hone_winner_id(&x, other);
    hone_winner_family(&w, family), hone_winner_family(&x, family2);
    ok(strcmp(other, id) && !strcmp(family, family2), "winners/family_leaves_out_sizes");
    x = w, x.driver = "a", x.device = "";
    hone_winner_id(&x, other);
    ok(strcmp(other, id), "winners/key_has_every_part");
}

static void test_rows(void) {
    hone_winners *none = NULL, *w;
    hone_winner a = sample("a\n", "n=4", 1), b = sample("a\n", "n=8", 2), key = a, got = {0}, *list = NULL;
    size_t n = 0;
    hone_err err = {0};
    ok(hone_winners_open(file_named("none.db"), false, &none, &err) == HONE_E_NOTFOUND,
       "winners/missing_file_is_notfound");
    w = place("w.db");
    make_empty(w);
    ok(!hone_winners_put(w, &a, NULL) && !hone_winners_put(w, &b, NULL), "winners/put");
    ok(!hone_winners_find(w, &key, &got, NULL) && !strcmp(got.sizes, "n=4") && got.tuned_s == 0.1 + 0.2 &&
           !strcmp(got.flags, a.flags) && got.pairs == 100,
       "winners/find_prefers_equal_sizes");
    hone_winner_free(&got);
    key.sizes = "n=100";
    ok(!hone_winners_find(w, &key, &got, NULL) && !strcmp(got.sizes, "n=8"),
       "winners/find_takes_the_newest_of_the_family");
    hone_winner_free(&got);
    key.numeric = "relaxed";
    ok(hone_winners_find(w, &key, &got, NULL) == HONE_E_NOTFOUND, "winners/find_another_key");
    a.gain = 3, a.gain_lo = 2;
    ok(!hone_winners_put(w, &a, NULL) && !hone_winners_list(w, &list, &n, NULL) && n == 2, "winners/put_replaces");
    ok(list[0].at_s == 2 && list[1].gain == 3, "winners/list_newest_first");
    char id[33], trials[33];
    const hone_winner_trial one = {"{}", "c", HONE_RUN_OK, 0.5, 1e-3, 10};
    hone_winner_trial *left = NULL;
    size_t n_left = 9;
    hone_winner_id(&list[0], id);
    hone_winner_trial_id(&list[0], trials);
    hone_winners_put_trial(w, trials, &one, NULL);
    hone_winners_list_free(list, n);
    ok(!hone_winners_remove(w, id, NULL) && hone_winners_remove(w, id, NULL) == HONE_E_NOTFOUND, "winners/remove");
    ok(!hone_winners_trials(w, trials, &left, &n_left, NULL) && n_left == 0, "winners/remove_takes_its_trials");
    hone_free(left);
    key = a, key.compiler = "another";
    ok(hone_winners_find(w, &key, &got, NULL) == HONE_E_NOTFOUND && !hone_winners_nearest(w, &key, &got, NULL) &&
           !strcmp(got.compiler, a.compiler),
       "winners/nearest_of_another_compiler");
    hone_winner_free(&got);
    key.body = "another";
    ok(hone_winners_nearest(w, &key, &got, NULL) == HONE_E_NOTFOUND, "winners/nearest_of_another_kernel_is_none");
    hone_winners_close(w);
}

static void test_trials(void) {
    hone_winners *w = place("w.db");
    hone_winner_trial *t = NULL;
    size_t n = 9;
    ok(!hone_winners_trials(w, "x", &t, &n, NULL) && n == 0, "winners/no_trials");
    hone_free(t);
    hone_winner_trial one = {"{\"a\": 1}", "c1", HONE_RUN_OK, 0.5, 1e-3, 10},
                      two = {"{\"a\": 2}", "", HONE_BUILD_ERROR, NAN, NAN, 5};
    ok(!hone_winners_put_trial(w, "x", &one, NULL) && !hone_winners_put_trial(w, "x", &two, NULL) &&
           !hone_winners_put_trial(w, "x", &one, NULL),
       "winners/put_trial");
    ok(!hone_winners_trials(w, "x", &t, &n, NULL) && n == 2 && t[0].cls == HONE_BUILD_ERROR && isnan(t[0].ratio) &&
           t[1].ratio == 0.5 && !strcmp(t[1].candidate, "{\"a\": 1}") && !strcmp(t[1].code, "c1"),
       "winners/trials_in_order");
    hone_free(t);
    hone_winners_close(w);
}

static void test_text(void) {
    hone_winners *from = NULL, *to = place("to.db");
    hone_winner odd = sample("  first line is indented\n\n  x: \"y\" # no comment\n", "", 7);
    hone_winner plain = sample("no line end", "n=1", 8), nasty = sample("tab\there\nB\xc3\xa4r\n", "", 9);
    char *text = NULL, *again = NULL;
    size_t n_read = 0, n_new = 0;
    hone_err err = {0};
    hone_winners_open(file_named("from.db"), true, &from, NULL);
    make_empty(to);
    hone_winners_put(from, &odd, NULL), hone_winners_put(from, &plain, NULL), hone_winners_put(from, &nasty, NULL);
    ok(!hone_winners_export(from, &text, NULL) && strstr(text, "hone-winners: 1"), "winners/export");
    ok(!hone_winners_import(to, text, strlen(text), "t", &n_read, &n_new, &err) && n_read == 3 && n_new == 3,
       "winners/import: %s", err.text);
    ok(!hone_winners_export(to, &again, NULL), "winners/export_again");
    is_text(again, text, "winners/text_round_trips");
    ok(!hone_winners_import(to, text, strlen(text), "t", &n_read, &n_new, &err) && n_new == 0,
       "winners/import_keeps_newer");
    hone_free(text), hone_free(again);
    hone_winners_close(from), hone_winners_close(to);
}

static void test_bad_text(void) {
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"empty", "", "t:1:1: this is no file of winners: 'hone-winners: 1' is missing"},
        {"list", "hone-winners: 1\nwinners: 3\n", "t:2:10: 'winners' is a list"},
        {"version", "hone-winners: 2\nwinners: []\n", "t:1:15: format 2 is not known, only 1"},
        {"row", "hone-winners: 1\nwinners:\n  - 5\n", "t:3:5: a winner is a map of keys and values"},
        {"key", "hone-winners: 1\nwinners:\n  - kindd: 5\n", NULL},
        {"lacks", "hone-winners: 1\nwinners:\n  - kind: map\n", "t:3:5: this winner has no 'body'"},
    };
    hone_winner *list;
    size_t n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_err err = {0};
        hone_rc rc = hone_winners_parse(cases[i].text, strlen(cases[i].text), "t", &list, &n, &err);
        ok(rc == HONE_E_INPUT && !strncmp(err.text, "t:", 2), "winners/bad_text_%s_has_a_place: %s", cases[i].name,
           err.text);
        if (cases[i].want) is_text(err.text, cases[i].want, cases[i].name);
    }
    hone_winner one = sample("a\n", "", 1);
    char *text = NULL, *at = NULL;
    hone_err err = {0};
    ok(!hone_winners_format(&one, 1, &text, NULL) && (at = strstr(text, "x86-64-v4")) != NULL, "winners/format");
    at[8] = '3';
    ok(hone_winners_parse(text, strlen(text), "t", &list, &n, &err) == HONE_E_INPUT &&
           strstr(err.text, "the key of this winner was changed"),
       "winners/bad_text_changed_key: %s", err.text);
    hone_free(text);
}

/* What two places do with a second proof of the same key. */
static void test_second_proof(void) {
    static const struct {
        const char *name, *default_code;
        double lo, pairs, at_s;
        bool stays; /* at a server; a file takes the latest word */
    } cases[] = {{"less_gain", "bb", 1.005, 500, 9, true},     {"more_gain", "bb", 1.02, 10, 1, false},
                 {"same_less_pairs", "bb", 1.01, 99, 9, true}, {"same_more_pairs", "bb", 1.01, 101, 1, false},
                 {"same_newer", "bb", 1.01, 100, 9, false},    {"same_older", "bb", 1.01, 100, 1, true},
                 {"other_code_newer", "cc", 1, 1, 9, false},   {"other_code_older", "cc", 9, 900, 1, true}};
    bool server = getenv("HONE_TEST_WINNERS") != NULL;
    hone_winners *w = place("w.db");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_winner old = sample("second\n", "n=1", 5), new = old, got = {0};
        make_empty(w);
        new.default_code = cases[i].default_code, new.gain_lo = cases[i].lo, new.pairs = cases[i].pairs;
        new.at_s = cases[i].at_s, new.provenance = "new";
        bool put = !hone_winners_put(w, &old, NULL) && !hone_winners_put(w, &new, NULL);
        put = put && !hone_winners_find(w, &old, &got, NULL);
        ok(put && !strcmp(got.provenance, "new") == !(server && cases[i].stays), "winners/second_proof_%s",
           cases[i].name);
        hone_winner_free(&got);
    }
    make_empty(w);
    hone_winners_close(w);
}

/* HONE_TEST_BREAK: a command that ends all connections to the server. */
static void test_broken_connection(void) {
    const char *command = getenv("HONE_TEST_BREAK");
    hone_winner a = sample("broken\n", "n=1", 5), got = {0};
    hone_err err = {0};
    if (!command) return;
    hone_winners *w = place("w.db");
    ok(!system(command) && !hone_winners_put(w, &a, &err), "winners/put_connects_again: %s", err.text);
    ok(!system(command) && !hone_winners_find(w, &a, &got, &err), "winners/find_connects_again: %s", err.text);
    hone_winner_free(&got);
    make_empty(w);
    hone_winners_close(w);
}

static void test_places(void) {
    static const struct {
        const char *where, *name;
    } cases[] = {
        {"/var/winners.db", "/var/winners.db"},
        {"winners.db", "winners.db"},
        {"sqlite:///var/w.db", "/var/w.db"},
        {"postgresql://db.example/hone", "postgresql://db.example/hone"},
        {"postgres://u@db.example:5432/hone", "postgresql://db.example:5432/hone"},
        {"postgresql://u:secret@db.example/hone?sslmode=require", "postgresql://db.example/hone"},
        {"postgresql://u:sec%2fret@/hone?host=/run/secret", "postgresql:///hone"},
        {"postgresql://a:1,b:2/hone", "postgresql://a:1,b:2/hone"},
        {"postgresql://u:secret@[::1]:5432/hone", "postgresql://[::1]:5432/hone"},
        {"postgresql://h/hone?user=u&password=secret@x", "postgresql://h/hone"},
        /* a password that was not encoded, or stands where it does not belong */
        {"postgresql://u:secret", "postgresql://…"},
        {"postgresql://u:sec/secret@db/hone", "postgresql://…"},
        {"postgresql://u:x@secret@db/hone", "postgresql://…"},
        {"postgresql://u:x?secret@db/hone", "postgresql://…"},
        {"postgresql://u:x@db/hone@secret", "postgresql://…"},
        {"mysql://u:secret@db/hone", "mysql://…"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_winners *w = NULL;
        hone_err err = {0};
        char *name = hone_winners_name(cases[i].where);
        is_text(name, cases[i].name, "winners/name_of_a_place");
        hone_free(name);
        if (!strstr(cases[i].name, "…")) continue;
        hone_rc rc = hone_winners_open(cases[i].where, true, &w, &err);
        ok((rc == HONE_E_USAGE || rc == HONE_E_UNSUPPORTED) && !strstr(err.text, "secret"),
           "winners/unclear_url_is_refused: %s", err.text);
    }
}

static void test_bad_file(void) {
    hone_winners *w = NULL;
    hone_err err = {0};
    FILE *f = fopen(file_named("bad.db"), "w");
    for (int i = 0; f && i < 400; i++) fputs("this is no database at all\n", f);
    if (f) fclose(f);
    ok(hone_winners_open(file_named("bad.db"), true, &w, &err) == HONE_E_STORE && strstr(err.text, "is not a database"),
       "winners/bad_file_is_refused: %s", err.text);
}

int main(void) {
    test_key();
    test_rows();
    test_trials();
    test_text();
    test_second_proof();
    test_broken_connection();
    test_places();
    test_bad_text();
    test_bad_file();
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder());
    ok(system(command) == 0, "winners/cleans_up");
    return done_testing();
}
