/* A team's report: rows of controls files and of sessions, what is left out, states, groups and their means, damaged
 * files and stores, texts of any origin, lack of memory. */
#include "base/arena.h"
#include "controls/check_fixture.h"
#include "failalloc.h"
#include "record/proofs.h"
#include "record/store_fixture.h"
#include "report/team_int.h"

#include <hone/team.h>

static hone_err e;

/* --- a place with controls files and a store -----------------------------------------------------------------------
 */

/* A session with one trial that is `ratio` of the baseline; 0: nothing better was found. */
static int64_t add_session(const char *dir, const char *program, const char *machine, double ratio) {
    hone_store *s = NULL;
    hone_session x = fix_session();
    x.workload = program, x.workload_hash = program, x.machine = machine, x.machine_hash = machine;
    bool fine = !hone_store_open(dir, true, &s, &e) && !hone_session_begin(s, &x, &e);
    for (int i = 0; fine && i < 2; i++) {
        hone_trial t = {.phase = i ? "search" : "baseline",
                        .point = i ? "{\"compiler\":\"gcc\",\"x\":1}" : "{\"compiler\":\"gcc\",\"x\":0}",
                        .point_hash = (uint64_t)i,
                        .object_hash = "",
                        .n_objectives = 1,
                        .origin = "seed",
                        .detail = ""};
        t.outcome.value[0] = !i ? 1 : ratio > 0 ? ratio : 2;
        fine = !hone_trial_add(s, x.id, &t, NULL, &e);
    }
    if (!fine) printf("# %s\n", e.text);
    hone_store_close(s);
    return x.id;
}

static void add_proof(const char *dir, int64_t session, bool kept) {
    hone_store *s = NULL;
    char *body = NULL;
    hone_proof p = fix_proof();
    p.point = "{\"compiler\":\"gcc\",\"x\":1}";
    p.argv = "gcc";
    p.kept = kept;
    p.why = kept ? HONE_NOT_REJECTED : HONE_REJECT_TAIL;
    p.verdict = "a verdict with <b>";
    bool fine = !hone_store_open(dir, true, &s, &e) && !hone_proof_to_json(&p, false, &body, &e);
    hn_proof_row row = {.session = session,
                        .workload_hash = "w1",
                        .point = p.point,
                        .kept = kept,
                        .why = hone_proof_reject_name(p.why),
                        .verdict = p.verdict,
                        .at_s = 1.7e9,
                        .body = body};
    if (!fine || hn_proofs_add(s, &row, &e)) printf("# %s\n", e.text);
    hone_free(body);
    hone_store_close(s);
}

/* bowl.hone as it was made, in another folder of the same depth, by another processor. */
static void write_elsewhere(const site *s, hone_controls *c, const char *name, const char *created) {
    char path[200];
    const char *was = c->created;
    hone_pair *machine = malloc(c->n_machine * sizeof *machine), *keep = c->machine;
    for (size_t i = 0; machine && i < c->n_machine; i++) {
        machine[i] = keep[i];
        if (!strcmp(machine[i].name, "cpu")) machine[i].value = "Another CPU";
        if (!strcmp(machine[i].name, "driver")) machine[i].value = "none";
    }
    c->machine = machine;
    if (created) c->created = created;
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    if (hone_controls_write(c, path, &e)) printf("# %s\n", e.text);
    c->machine = keep, c->created = was;
    free(machine);
}

static hone_team opened(const char *const *path, size_t n) {
    hone_team t = {0};
    if (hone_team_open(path, n, &t, &e)) printf("# %s\n", e.text);
    return t;
}

static const hone_team_row *row_of(const hone_team *t, const char *program, const char *machine) {
    for (size_t i = 0; i < t->n_rows; i++)
        if (!strcmp(t->row[i].program, program) && strstr(t->row[i].machine, machine)) return &t->row[i];
    return NULL;
}

/* --- cases ---------------------------------------------------------------------------------------------------------
 */

static void test_version(void) {
    static const char *const text[][2] = {{"gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"},
                                          {"Debian clang version 19.1.7 (3+b1)", "19.1.7"},
                                          {"rustc 1.63.0", "1.63.0"},
                                          {"12.2.0", "12.2.0"},
                                          {"of (one (two 3.4", "of (one (two 3.4"},
                                          {"))( 5.6", "))( 5.6"},
                                          {"unknown", "unknown"},
                                          {"", ""}};
    hn_arena a = {0};
    bool same = true;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        if (strcmp(hn_team_version(&a, text[i][0]), text[i][1]) != 0)
            same = false, printf("# %s: %s\n", text[i][0], hn_team_version(&a, text[i][0]));
    ok(same && !*hn_team_version(&a, NULL), "team/version_is_the_number");
    is_text(hn_team_metric(&a, "p50(latency)"), "latency", "team/metric_of_an_expression");
    is_text(hn_team_metric(&a, "cost"), "cost", "team/metric_that_stands_alone");
    hn_arena_free(&a);
}

static void test_controls(const site *s, hone_controls *c) {
    const char *here[] = {s->dir};
    hone_team t = opened(here, 1);
    const hone_team_row *r = t.n_rows == 1 ? &t.row[0] : NULL;
    ok(r && r->state == HONE_TEAM_VALID && !*r->why && !r->session && r->n_goals == 2, "team/controls_file_is_a_row");
    ok(r && r->goal[0].gain.mid == 1.25 && r->goal[1].gain.lo == 0.99 && !strcmp(r->goal[0].metric, "cost") &&
           !strcmp(r->goal[1].metric, "code_size"),
       "team/goals_over_all_inputs_alone");
    ok(t.n_groups == 2 && t.group[0].n_holding == 1 && fabs(t.group[0].gain.mid - 1.25) < 1e-12, "team/group_of_one");
    hone_team_free(&t);
    write_elsewhere(s, c, "other.hone", NULL);
    put_compiler(s, "two");
    t = opened(here, 1);
    r = row_of(&t, "bowl", "Another");
    ok(r && r->state == HONE_TEAM_ELSEWHERE && !*r->why, "team/another_processor_is_not_stale_for_its_compiler");
    ok(t.n_rows == 2 && t.n_programs == 1 && t.n_machines == 2 && t.n_state[HONE_TEAM_STALE] == 1 &&
           t.n_state[HONE_TEAM_ELSEWHERE] == 1,
       "team/the_compiler_here_makes_stale");
    hone_team_free(&t);
    put_compiler(s, "one");
    put(s, "bowl.c", "int main(void) { return 1; }\n");
    t = opened(here, 1);
    r = row_of(&t, "bowl", "Another");
    ok(r && t.n_state[HONE_TEAM_STALE] == 2 && !strcmp(r->why, "source bowl.c"),
       "team/a_source_makes_stale_everywhere");
    ok(t.n_groups == 4 && !t.group[0].n_holding && isnan(t.group[0].gain.mid), "team/stale_gains_are_in_no_mean");
    hone_team_free(&t);
    put(s, "bowl.c", "int main(void) { return 0; }\n");
}

static void test_sessions(void) {
    fix_make_dir();
    char store[100];
    snprintf(store, sizeof store, "%s/.hone", fix_dir);
    const char *here[] = {fix_dir}, *itself[] = {store}, *twice[] = {store, fix_dir};
    add_session(store, "claims", "AMD 1, 2 cores, 8.0 GiB, Linux", 0.9);
    add_session(store, "claims", "AMD 1, 2 cores, 8.0 GiB, Linux", 0.5);
    add_session(store, "claims", "Intel 2, 64 cores, 8.0 GiB, Linux; a GPU, driver 5", 0);
    add_proof(store, add_session(store, "kept", "AMD 1, 2 cores, 8.0 GiB, Linux", 0.8), true);
    add_proof(store, add_session(store, "rejected", "AMD 1, 2 cores, 8.0 GiB, Linux", 0.8), false);
    hone_team t = opened(here, 1);
    const hone_team_row *r = row_of(&t, "claims", "AMD 1");
    ok(t.n_rows == 4 && r && r->state == HONE_TEAM_UNPROVEN && r->session == 2 && r->goal[0].claimed == 2 &&
           isnan(r->goal[0].gain.mid),
       "team/newest_session_of_a_program_and_machine");
    ok(r && !strcmp(r->machine, "AMD 1") && !strcmp(r->compiler, "gcc") && !strcmp(r->version, "12.2") &&
           strlen(r->when) == 10 && r->when[4] == '-',
       "team/session_has_machine_compiler_and_date");
    r = row_of(&t, "claims", "Intel");
    ok(r && r->state == HONE_TEAM_NO_GAIN && !strcmp(r->machine, "Intel 2; a GPU, driver 5"), "team/no_gain");
    r = row_of(&t, "kept", "AMD");
    ok(r && r->state == HONE_TEAM_UNWRITTEN && r->goal[0].gain.mid == 1.25 && !*r->why, "team/proof_without_a_file");
    r = row_of(&t, "rejected", "AMD");
    ok(r && r->state == HONE_TEAM_REJECTED && !strcmp(r->why, "a verdict with <b>"), "team/rejected_says_why");
    ok(t.n_programs == 3 && t.n_machines == 2 && !t.n_problems, "team/counts");
    hone_team_free(&t);
    t = opened(itself, 1);
    ok(t.n_rows == 4, "team/a_store_itself");
    hone_team_free(&t);
    t = opened(twice, 2);
    ok(t.n_rows == 4, "team/what_operands_share_counts_once");
    hone_team_free(&t);
    fix_remove_dir();
}

static void rewrite(const site *s, hone_controls *c, const char *created) {
    char path[200];
    const char *keep = c->created;
    c->created = created;
    snprintf(path, sizeof path, "%s/bowl.hone", s->dir);
    if (hone_controls_write(c, path, &e)) printf("# %s\n", e.text);
    c->created = keep;
}

/* A controls file covers sessions that began before it was written, of the same workload alone. */
static void test_covered(const site *s, hone_controls *c) {
    const char *here[] = {s->dir};
    char store[100];
    snprintf(store, sizeof store, "%s/.hone", s->dir);
    hone_store *db = NULL;
    hone_session x = fix_session();
    x.workload = "bowl", x.workload_hash = c->workload_hash;
    ok(!hone_store_open(store, true, &db, &e) && !hone_session_begin(db, &x, &e), "team/a_session_of_the_file");
    hone_store_close(db);
    rewrite(s, c, "2999-01-01T00:00:00Z");
    hone_team t = opened(here, 1);
    ok(t.n_rows == 2 && !row_of(&t, "bowl", "Zen"), "team/session_behind_a_controls_file_is_no_row");
    hone_team_free(&t);
    rewrite(s, c, "2001-01-01T00:00:00Z");
    write_elsewhere(s, c, "other.hone", "2001-01-01T00:00:00Z");
    t = opened(here, 1);
    const hone_team_row *r = row_of(&t, "bowl", "Zen");
    ok(t.n_rows == 3 && r && r->session == x.id, "team/session_after_a_controls_file_is_a_row");
    hone_team_free(&t);
}

static void test_damaged(const site *s) {
    char path[200];
    const char *here[] = {s->dir}, *nowhere[] = {"/nonexistent/place"}, *empty[] = {path};
    hone_team t = {0};
    put(s, "cut.hone", "format: 1\n");
    put(s, "hone.db", "junk");
    t = opened(here, 1);
    ok(t.n_rows == 3 && t.n_problems == 2 && strstr(t.problem[0].where, "cut.hone") &&
           strstr(t.problem[0].text, "broken") && strstr(t.problem[1].text, "not a database"),
       "team/damaged_ones_are_named_and_the_others_reported");
    ok(strstr(t.sentence, "2 files or stores cannot be read") != NULL, "team/sentence_counts_what_is_damaged");
    hone_team_free(&t);
    snprintf(path, sizeof path, "%s/deep", s->dir);
    ok(hone_team_open(empty, 1, &t, &e) == HONE_E_NOTFOUND && strstr(e.text, "nothing was tuned") && !t.block,
       "team/nothing_there");
    ok(hone_team_open(nowhere, 1, &t, &e) == HONE_E_NOTFOUND && strstr(e.text, "'/nonexistent/place'"),
       "team/no_such_folder");
}

/* Two gains of 1.2 and 1.3 with half widths of 3 % and 4 %: the logarithms' mean, and half of the root of 9 + 16. */
static void test_mean(const site *s, hone_controls *c) {
    hone_controls_row keep = c->row[0];
    char path[200];
    c->n_rows = 1;
    c->row[0].gain = (hone_interval){1.2 / exp(0.03), 1.2, 1.2 * exp(0.03)};
    snprintf(path, sizeof path, "%s/mean", s->dir);
    if (hn_make_dirs(path, NULL)) abort();
    const char *there[] = {path};
    write_elsewhere(s, c, "mean/a.hone", NULL);
    c->row[0].gain = (hone_interval){1.3 / exp(0.04), 1.3, 1.3 * exp(0.04)};
    write_elsewhere(s, c, "mean/b.hone", NULL);
    c->row[0] = keep;
    put(s, "mean/hone.yaml", fix_workload);
    put(s, "mean/bowl.c", "int main(void) { return 0; }\n");
    snprintf(path, sizeof path, "%s/mean/deep", s->dir);
    if (hn_make_dirs(path, NULL)) abort();
    snprintf(path, sizeof path, "%s/mean", s->dir);
    put(s, "mean/deep/bowl.h", "#define A 1\n");
    hone_team t = opened(there, 1);
    hone_interval g = t.n_groups == 1 ? t.group[0].gain : (hone_interval){0, 0, 0};
    ok(t.n_rows == 2 && t.n_state[HONE_TEAM_ELSEWHERE] == 2, "team/two_of_one_machine");
    ok(fabs(g.mid - sqrt(1.2 * 1.3)) < 1e-4 && fabs(log(g.hi / g.lo) - 0.05) < 1e-4, "team/mean_and_its_interval");
    hone_team_free(&t);
}

static hone_rc whole(void *ctx) {
    const char *here[] = {ctx};
    char *json = NULL;
    hone_team t = {0};
    hone_rc rc = hone_team_open(here, 1, &t, &e);
    if (rc) return t.block ? HONE_E_FAILED : rc;
    rc = hone_team_json(&t, &json, &e);
    if (!rc && strpbrk(json, "<>&")) rc = HONE_E_FAILED;
    hone_free(json);
    hone_team_free(&t);
    return rc;
}

static void test_no_memory(void) {
    char store[100];
    fix_make_dir();
    snprintf(store, sizeof store, "%s/.hone", fix_dir);
    add_session(store, "p", "AMD, 2 cores, 1 GiB, x", 0.8); /* without a proof: as in test_report.c */
    sweep_allocations("team/nth_allocation_fails", whole, fix_dir);
    fix_remove_dir();
}

int main(void) {
    hone_controls *c = NULL;
    site s = make_site();
    make_file(&s, &c);
    test_version();
    test_controls(&s, c);
    test_covered(&s, c);
    test_damaged(&s);
    test_mean(&s, c);
    test_sessions();
    test_no_memory();
    hone_controls_free(c);
    if (chdir("/")) abort();
    hn_remove_tree(s.dir, NULL);
    return done_testing();
}
