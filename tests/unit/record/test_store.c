/* The store: what is put in comes out, one writer per session, incomparable things are refused, bad files are left. */
#include "record/proofs.h"
#include "store_fixture.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

static hone_err e;

static hone_store *open_store(bool write) {
    hone_store *s = NULL;
    if (hone_store_open(fix_dir, write, &s, &e)) printf("# %s\n", e.text);
    return s;
}

static void add(hone_store *s, int64_t session, int64_t from, int64_t n) {
    for (int64_t i = from; i < from + n; i++) {
        char point[64];
        hone_trial t = fix_trial(i, point);
        if (hone_trial_add(s, session, &t, NULL, &e)) printf("# trial %lld: %s\n", (long long)i, e.text);
    }
}

static void test_round_trip(void) {
    fix_make_dir();
    hone_store *s = open_store(true);
    hone_session x = fix_session(), y;
    ok(hone_session_begin(s, &x, &e) == HONE_OK && x.id == 1, "store/begin_gives_first_id");
    char point[64];
    hone_trial t = fix_trial(0, point);
    t.phase = "baseline";
    t.outcome.cls = HONE_WRONG_RESULT;
    t.outcome.value[0] = NAN;
    t.outcome.value[1] = -INFINITY;
    t.outcome.violation[0] = 0.1;
    t.n_objectives = 2;
    t.detail = "y[17]: expected 0.25, got 0.5\nund mehr: \xc3\xa4";
    t.suspect = true;
    bool written = false;
    ok(hone_trial_add(s, x.id, &t, &written, &e) == HONE_OK && written && t.id == 1, "store/add_numbers_from_one");
    add(s, x.id, 1, 4);
    hone_trials l;
    ok(hone_trials_load(s, x.id, true, &l, &e) == HONE_OK && l.n == 5, "store/load_all");
    const hone_trial *g = &l.trial[0];
    ok(g->outcome.cls == HONE_WRONG_RESULT && isnan(g->outcome.value[0]) && g->outcome.value[1] == -INFINITY &&
           g->outcome.violation[0] == 0.1 && g->n_objectives == 2 && g->n_constraints == 1 && g->suspect,
       "store/outcome_round_trips");
    is_text(g->detail, t.detail, "store/detail_round_trips");
    bool same = g->n_samples == t.n_samples;
    for (size_t i = 0; same && i < g->n_samples; i++)
        same = !strcmp(g->sample[i].metric, fix_samples[i].metric) &&
               !strcmp(g->sample[i].input, fix_samples[i].input) && g->sample[i].side == fix_samples[i].side &&
               g->sample[i].value == fix_samples[i].value;
    ok(same, "store/samples_keep_order_and_value");
    same = true;
    for (int64_t i = 1; i < 5; i++) same &= fix_same(&l.trial[i], i) && l.trial[i].id == i + 1;
    ok(same, "store/trials_round_trip");
    hone_trials_free(&l);
    ok(hone_trials_load(s, x.id, false, &l, &e) == HONE_OK && l.n == 5 && !l.trial[0].n_samples,
       "store/samples_left_out_when_not_wanted");
    hone_trials_free(&l);
    ok(hone_session_get(s, 0, "softmax", &y, &e) == HONE_OK && y.seed == x.seed && y.n_trials == 5 && y.n_asked == 5 &&
           !strcmp(y.space_text, x.space_text) && !strcmp(y.state, "running") && !strcmp(y.version, HONE_VERSION),
       "store/session_round_trips");
    hone_session_free(&y);
    ok(hone_session_get(s, 0, "other", &y, &e) == HONE_E_NOTFOUND && strstr(e.text, "'other'"),
       "store/get_unknown_workload");
    ok(hone_session_get(s, 7, NULL, &y, &e) == HONE_E_NOTFOUND && strstr(e.text, "session 7"), "store/get_unknown_id");
    ok(hone_session_end(s, x.id, "finished", "plateau", &e) == HONE_OK, "store/end");
    hone_session *list;
    size_t n;
    ok(hone_session_list(s, &list, &n, &e) == HONE_OK && n == 1 && !strcmp(list[0].state, "finished") &&
           !strcmp(list[0].reason, "plateau") && list[0].ended_s > list[0].started_s - 1,
       "store/list_shows_end");
    hone_session_list_free(list, n);
    hone_store_close(s);
    fix_remove_dir();
}

static void test_duplicates(void) {
    fix_make_dir();
    hone_store *s = open_store(true);
    hone_session x = fix_session();
    char point[64];
    bool written = true;
    hone_trial t = fix_trial(1, point);
    ok(hone_trial_add(s, 1, &t, &written, &e) == HONE_E_STORE && !written, "store/add_without_session_refused");
    hone_session_begin(s, &x, &e);
    hone_trial_add(s, x.id, &t, NULL, &e);
    written = true;
    ok(hone_trial_add(s, x.id, &t, &written, &e) == HONE_E_STORE && !written && strstr(e.text, "trial 1"),
       "store/search_point_twice_refused");
    t.phase = "race";
    ok(hone_trial_add(s, x.id, &t, NULL, &e) == HONE_OK && hone_trial_add(s, x.id, &t, NULL, &e) == HONE_OK,
       "store/race_may_repeat_points");
    ok(hone_session_begin(s, &x, &e) == HONE_E_BUSY, "store/one_session_at_a_time");
    hone_store_close(s);
    fix_remove_dir();
}

static void test_mismatch(void) {
    static const struct {
        const char *name;
        size_t offset;
        const char *value, *want[3];
    } row[] = {
        {"same_is_accepted", offsetof(hone_session, workload), "softmax", {NULL}},
        {"engine_may_differ", offsetof(hone_session, engine), "random", {NULL}},
        {"workload_hash", offsetof(hone_session, workload_hash), "w2", {"workload's content", "'w1'", "'w2'"}},
        {"source_hash", offsetof(hone_session, source_hash), "s2", {"sources", "'s1'", "'s2'"}},
        {"space_hash", offsetof(hone_session, space_hash), "p2", {"space", "'p1'", "'p2'"}},
        {"machine_same_words", offsetof(hone_session, machine_hash), "m2", {"machine (hash)", "'m1'", "'m2'"}},
        {"objectives", offsetof(hone_session, objectives), "[]", {"objectives", "p50(latency)", "'[]'"}},
        {"compiler_version",
         offsetof(hone_session, compilers),
         "[{\"command\":\"gcc\",\"version\":\"13.1\",\"hash\":\"aa\"}]",
         {"(gcc) version", "12.2", "13.1"}},
        {"compiler_number", offsetof(hone_session, compilers), "[]", {"compilers", "12.2", "'[]'"}},
    };
    fix_make_dir();
    hone_store *s = open_store(true);
    hone_session x = fix_session();
    hone_session_begin(s, &x, &e);
    hone_session_end(s, x.id, "interrupted", "", &e);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hone_session want = fix_session();
        *(const char **)(void *)((char *)&want + row[i].offset) = row[i].value;
        hone_rc rc = hone_session_resume(s, x.id, &want, &e);
        bool good = rc == (row[i].want[0] ? HONE_E_MISMATCH : HONE_OK);
        for (int k = 0; k < 3 && row[i].want[k]; k++) good &= strstr(e.text, row[i].want[k]) != NULL;
        if (!ok(good, "store/mismatch_%s", row[i].name)) printf("# %s\n", e.text);
    }
    hone_session want = fix_session();
    want.machine = "Zen 4";
    want.machine_hash = "m2";
    want.source_hash = "s2";
    ok(hone_session_resume(s, x.id, &want, &e) == HONE_E_MISMATCH && strstr(e.text, "Zen 5") &&
           strstr(e.text, "Zen 4") && strstr(e.text, "'s2'"),
       "store/mismatch_names_each_part");
    hone_store_close(s);
    fix_remove_dir();
}

static void test_lock(void) {
    fix_make_dir();
    hone_store *a = open_store(true), *b = open_store(true), *r = open_store(false);
    hone_session x = fix_session(), y = fix_session(), seen;
    char pid[32];
    snprintf(pid, sizeof pid, "process %ld", (long)getpid());
    hone_session_begin(a, &x, &e);
    ok(hone_session_resume(b, x.id, &y, &e) == HONE_E_BUSY && strstr(e.text, pid), "store/second_writer_refused");
    ok(hone_session_begin(b, &y, &e) == HONE_OK && y.id != x.id, "store/other_session_side_by_side");
    add(a, x.id, 0, 3);
    add(b, y.id, 0, 3);
    ok(hone_session_get(r, x.id, NULL, &seen, &e) == HONE_OK && seen.n_trials == 3 && !strcmp(seen.state, "running"),
       "store/reader_sees_running");
    hone_session_free(&seen);
    hone_store_close(a); /* without an end, as a killed process would */
    ok(hone_session_get(r, x.id, NULL, &seen, &e) == HONE_OK && !strcmp(seen.state, "interrupted") &&
           !strcmp(seen.reason, "killed"),
       "store/dead_writer_shows_as_killed");
    hone_session_free(&seen);
    hone_session_end(b, y.id, "finished", "target", &e);
    ok(hone_session_resume(b, x.id, &y, &e) == HONE_OK, "store/dead_writers_session_taken_over");
    add(b, x.id, 3, 1);
    ok(hone_session_get(r, x.id, NULL, &seen, &e) == HONE_OK && seen.n_trials == 4, "store/goes_on_after_take_over");
    hone_session_free(&seen);
    ok(hone_session_begin(r, &y, &e) == HONE_E_STORE && strstr(e.text, "reading only"), "store/reader_cannot_write");
    hone_store_close(b);
    hone_store_close(r);
    fix_remove_dir();
}

static void write_text(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", fix_dir, name);
    hn_write_file(path, text, strlen(text), NULL);
}

static void run_sql(const char *sql) {
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/hone.db", fix_dir);
    sqlite3_open(path, &db);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL)) printf("# %s\n", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static bool refused(bool write, hone_rc rc, const char *word) {
    hone_store *s = NULL;
    hone_rc got = hone_store_open(fix_dir, write, &s, &e);
    if (got == rc && strstr(e.text, word) && !s) return true;
    printf("# rc %s: %s\n", hone_rc_name(got), got ? e.text : "");
    hone_store_close(s);
    return false;
}

static void test_bad_files(void) {
    fix_make_dir();
    ok(refused(false, HONE_E_NOTFOUND, "hone tune"), "store/read_missing");
    write_text("hone.db", "this is not a database, but long enough to be told from one by its header\n");
    ok(refused(true, HONE_E_STORE, "not a database") && refused(false, HONE_E_STORE, "not a database"),
       "store/not_a_database");
    char *text, path[128];
    size_t n;
    snprintf(path, sizeof path, "%s/hone.db", fix_dir);
    ok(!hn_read_file(path, &text, &n, NULL) && hn_starts_with(text, "this is"), "store/foreign_file_left_alone");
    free(text);
    unlink(path);
    run_sql("CREATE TABLE customers (id)");
    ok(refused(true, HONE_E_STORE, "another program"), "store/foreign_database");
    unlink(path);
    hone_store *s = open_store(true);
    hone_store_close(s);
    run_sql("PRAGMA user_version = 99");
    ok(refused(true, HONE_E_STORE, "newer hone") && refused(false, HONE_E_STORE, "newer hone"), "store/newer_format");
    unlink(path);
    mkdir(path, 0755);
    ok(refused(true, HONE_E_STORE, "not a file"), "store/database_is_a_folder");
    fix_remove_dir();
    hn_write_file(fix_dir, "x", 1, NULL);
    ok(refused(true, HONE_E_STORE, "is a file") && refused(false, HONE_E_STORE, "is a file"), "store/folder_is_a_file");
    unlink(fix_dir);
    strcpy(fix_dir, "/proc/hone");
    ok(refused(true, HONE_E_STORE, "/proc/hone"), "store/folder_cannot_be_made");
}

/* Overwrites pages in the middle: opening or reading must say so, and not crash or repair. */
static void test_damaged(void) {
    fix_make_dir();
    hone_store *s = open_store(true);
    hone_session x = fix_session();
    hone_session_begin(s, &x, &e);
    add(s, x.id, 0, 200);
    hone_store_close(s);
    char path[128], junk[8192];
    memset(junk, 0xa5, sizeof junk);
    snprintf(path, sizeof path, "%s/hone.db", fix_dir);
    FILE *f = fopen(path, "r+b");
    fseek(f, 0, SEEK_END);
    for (long at = 4096; at + 4096 <= ftell(f) && at < 1 << 20; at += 4096) {
        long end = ftell(f);
        fseek(f, at, SEEK_SET);
        fwrite(junk, 1, 4096, f);
        fseek(f, end, SEEK_SET);
    }
    fclose(f);
    s = NULL;
    hone_rc rc = hone_store_open(fix_dir, false, &s, &e);
    hone_trials l = {0};
    if (!rc) rc = hone_trials_load(s, 1, true, &l, &e);
    ok(rc == HONE_E_STORE && strstr(e.text, "damaged") && !l.n, "store/damaged_database");
    hone_store_close(s);
    fix_remove_dir();
}

static void test_read_only_folder(void) {
    fix_make_dir();
    hone_store *s = open_store(true);
    hone_session x = fix_session(), y;
    hone_session_begin(s, &x, &e);
    add(s, x.id, 0, 3);
    hone_store_close(s);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) { /* as somebody who may read only */
        chmod(fix_dir, 0755);
        if (setgid(65534) || setuid(65534)) _exit(77);
        hone_rc rc = hone_store_open(fix_dir, false, &s, &e);
        if (!rc) rc = hone_session_get(s, 1, NULL, &y, &e);
        if (rc) printf("# %s\n", e.text), fflush(stdout);
        bool reads = !rc && y.n_trials == 3;
        if (!rc) hone_session_free(&y);
        if (!rc) hone_store_close(s);
        s = NULL;
        bool refuses = hone_store_open(fix_dir, true, &s, &e) == HONE_E_STORE;
        _exit((reads ? 0 : 1) | (refuses ? 0 : 2));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(2, "cannot change the user");
    else {
        ok(WIFEXITED(status) && !(WEXITSTATUS(status) & 1), "store/read_only_folder_is_read");
        ok(WIFEXITED(status) && !(WEXITSTATUS(status) & 2), "store/read_only_folder_is_not_written");
    }
    fix_remove_dir();
}

static void test_winners(void) {
    fix_make_dir();
    hone_store *s = open_store(true);
    char point[64];
    for (int k = 0; k < 2; k++) {
        hone_session x = fix_session();
        if (k) x.objectives = "[{\"expr\":\"rate\",\"direction\":\"maximize\"}]";
        hone_session_begin(s, &x, &e);
        for (int64_t i = 0; i < 6; i++) {
            hone_trial t = fix_trial(10 * k + i, point);
            if (i == 5) t.outcome.cls = HONE_RUN_CRASH; /* the smallest value, but not ok */
            if (i == 4) t.outcome.violation[0] = 1;     /* the next, but over a limit */
            hone_trial_add(s, x.id, &t, NULL, &e);
        }
        hone_session_end(s, x.id, "finished", "evaluations", &e);
    }
    char **points;
    size_t n;
    ok(hone_store_winners(s, "p1", 0, 3, &points, &n, &e) == HONE_OK && n == 3 && !points[3], "store/winners_count");
    is_text(points[0], "{\"x\":10}", "store/winners_newest_session_first_maximised");
    is_text(points[1], "{\"x\":3}", "store/winners_then_older_minimised_feasible");
    is_text(points[2], "{\"x\":11}", "store/winners_then_second_ranks");
    hone_free(points);
    ok(hone_store_winners(s, "p1", 2, 9, &points, &n, &e) == HONE_OK && n == 4, "store/winners_without_one_session");
    hone_free(points);
    ok(hone_store_winners(s, "other", 0, 9, &points, &n, &e) == HONE_OK && n == 0 && !points[0],
       "store/winners_of_unknown_space");
    hone_free(points);
    hone_store_close(s);
    fix_remove_dir();
}

static size_t n_proofs(hone_store *s, int64_t session, char *first, size_t room) {
    hn_arena a = {0};
    const char **text = NULL;
    size_t n = 0;
    *first = 0;
    if (hn_proofs_texts(s, session, &a, &text, &n, &e)) n = SIZE_MAX;
    if (n && n != SIZE_MAX) snprintf(first, room, "%s", text[0]);
    hn_arena_free(&a);
    return n;
}

/* What the big choices brought is kept, replaced when it is put again, and absent from an older store. */
static void test_effects(void) {
    static const hone_effect two[] = {{"fp", "fast", "strict", "fast floating point", 1.9, 1.8, 2.0, 4, 0},
                                      {"level", "s", "3", "-Os instead of -O3", NAN, NAN, NAN, 2, 2}};
    fix_make_dir();
    hone_store *s = open_store(true);
    hone_session x = fix_session();
    hone_effects all = {0};
    hone_session_begin(s, &x, &e);
    ok(!hone_session_effects(s, x.id, &all, &e) && all.n == 0, "store/no_effects_yet");
    hone_session_effects_free(&all);
    ok(!hone_session_put_effects(s, x.id, two, 2, &e) && !hone_session_put_effects(s, x.id, two, 2, &e),
       "store/effects_are_put_again");
    ok(!hone_session_effects(s, x.id, &all, &e) && all.n == 2, "store/effects_come_back");
    ok(all.n == 2 && !strcmp(all.effect[0].words, "fast floating point") && all.effect[0].hi == 2 &&
           all.effect[0].n_trials == 4,
       "store/an_effect_is_whole");
    ok(all.n == 2 && isnan(all.effect[1].gain) && all.effect[1].n_failed == 2 && !strcmp(all.effect[1].against, "3"),
       "store/an_effect_that_never_worked");
    hone_session_effects_free(&all);
    hone_store_close(s);
    run_sql("DROP TABLE fact; DROP TABLE effect; PRAGMA user_version = 2");
    s = open_store(false);
    ok(s && !hone_session_effects(s, x.id, &all, &e) && all.n == 0, "store/an_old_one_has_no_effects");
    hone_session_effects_free(&all);
    hone_store_close(s);
    fix_remove_dir();
}

static void test_facts(void) {
    fix_make_dir();
    hone_store *s = open_store(true);
    hone_session x = fix_session();
    char *json = NULL;
    hone_session_begin(s, &x, &e);
    ok(!hone_session_fact(s, x.id, "unread", &json, &e) && !json, "store/no_such_fact_yet");
    ok(!hone_session_put_fact(s, x.id, "unread", "[1]", &e) && !hone_session_put_fact(s, x.id, "unread", "[2]", &e),
       "store/a_fact_is_put_again");
    ok(!hone_session_fact(s, x.id, "unread", &json, &e) && json && !strcmp(json, "[2]"), "store/the_later_fact_counts");
    hone_free(json);
    json = NULL;
    ok(!hone_session_fact(s, x.id, "objects", &json, &e) && !json, "store/another_fact_is_another");
    hone_store_close(s);
    run_sql("DROP TABLE fact; PRAGMA user_version = 3");
    s = open_store(false);
    ok(s && !hone_session_fact(s, x.id, "unread", &json, &e) && !json, "store/an_old_one_has_no_facts");
    hone_store_close(s);
    fix_remove_dir();
}

static void test_proofs(void) {
    fix_make_dir();
    hone_store *s = open_store(true);
    hone_session x = fix_session();
    char first[64];
    hone_session_begin(s, &x, &e);
    add(s, x.id, 0, 3);
    hone_store_close(s);
    run_sql("DROP TABLE proof; DROP TABLE effect; DROP TABLE fact; PRAGMA user_version = 1");
    s = open_store(false);
    ok(s && n_proofs(s, x.id, first, sizeof first) == 0, "store/an_old_one_that_is_only_read_has_no_proofs");
    hone_store_close(s);
    s = open_store(true);
    hn_proof_row row = {
        .session = x.id, .workload_hash = "w1", .point = "{}", .kept = true, .why = "", .verdict = "kept"};
    char body[32];
    for (int i = 0; i < 20; i++) {
        snprintf(body, sizeof body, "{\"i\":%d}", i);
        row.body = body;
        row.session = i < 19 ? x.id : 0;
        if (hn_proofs_add(s, &row, &e)) printf("# %s\n", e.text);
    }
    ok(n_proofs(s, x.id, first, sizeof first) == 19 && !strcmp(first, "{\"i\":18}"), "store/proofs_newest_first");
    ok(n_proofs(s, 0, first, sizeof first) == 1 && n_proofs(s, 99, first, sizeof first) == 0,
       "store/proofs_by_session");
    hone_trials l;
    ok(hone_trials_load(s, x.id, false, &l, &e) == HONE_OK && l.n == 3, "store/upgrade_keeps_the_trials");
    hone_trials_free(&l);
    hone_store_close(s);
    s = open_store(false);
    ok(hn_proofs_add(s, &row, &e) == HONE_E_STORE, "store/a_reader_adds_no_proof");
    hone_store_close(s);
    fix_remove_dir();
}

int main(void) {
    test_round_trip();
    test_proofs();
    test_effects();
    test_facts();
    test_duplicates();
    test_mismatch();
    test_lock();
    test_bad_files();
    test_damaged();
    test_read_only_folder();
    test_winners();
    return done_testing();
}
