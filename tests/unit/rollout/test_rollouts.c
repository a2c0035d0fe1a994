/* The store of deployments: which version answers, what a decision changes, what outlives a close, and what is refused.
 */
#include <hone/rollout.h>

#include "tap.h"

#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static const char *in_dir(const char *name) {
    static char path[4][128];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
    return path[at];
}
static void write_file(const char *name, const char *text) {
    FILE *f = fopen(in_dir(name), "w");
    if (f) fputs(text, f), fclose(f);
}

static hone_rollouts *opened(void) {
    hone_rollouts *r = NULL;
    hone_err err = {0};
    if (hone_rollouts_open(in_dir("r.db"), true, &r, &err)) printf("# %s\n", err.text);
    return r;
}
static bool answers(hone_rollouts *r, const char *name, bool promoted, bool under_way) {
    hone_rollout_current c = {0};
    hone_err err = {0};
    if (hone_rollouts_current(r, in_dir("a.onnx"), &c, &err)) return printf("# %s\n", err.text), false;
    bool right = !strcmp(c.path, in_dir(name)) && c.promoted == promoted && (c.under_way != 0) == under_way &&
                 strlen(c.hash) == 32;
    if (!right) printf("# %s promoted %d under way %lld\n", c.path, c.promoted, (long long)c.under_way);
    hone_rollout_current_free(&c);
    return right;
}
static int64_t begin(hone_rollouts *r, const char *next) {
    int64_t id = 0;
    hone_err err = {0};
    hone_rollout_rules rules = hone_rollout_defaults();
    rules.tolerance = 0.25;
    if (hone_rollouts_read(r, in_dir(next), &err) ||
        hone_rollouts_begin(r, in_dir("a.onnx"), in_dir(next), false, &rules, &id, &err))
        printf("# %s\n", err.text);
    return id;
}
static bool conclude(hone_rollouts *r, int64_t id, hone_rollout_verdict v) {
    hone_rollout_decision d = hone_rollout_by_hand(v, "as the test says");
    return hone_rollouts_conclude(r, id, &d, NULL) == HONE_OK;
}

static void test_evidence(hone_rollouts *r, int64_t id) {
    const double z[] = {0.25, -0.5}, more[] = {0.125};
    hone_rollout_evidence e = hone_rollout_no_evidence();
    hone_rollout x = {0};
    e.log_ratio = z, e.n = 2, e.compared = 2, e.elements = 20, e.runs_now = 90, e.runs_next = 10, e.failures_now = 1;
    ok(!hone_rollouts_add(r, id, &e, NULL), "rollouts/add");
    e = hone_rollout_no_evidence();
    e.log_ratio = more, e.n = 1, e.compared = 1, e.differing = 1, e.elements = 10, e.runs_next = 5, e.failures_next = 2,
    e.crashes_next = 1, e.crashes_now = 0;
    ok(!hone_rollouts_add(r, id, &e, NULL) && !hone_rollouts_get(r, id, &x, NULL), "rollouts/add_again");
    ok(x.evidence.n == 3 && x.evidence.log_ratio[0] == 0.25 && x.evidence.log_ratio[1] == -0.5 &&
           x.evidence.log_ratio[2] == 0.125,
       "rollouts/ratios_in_order");
    ok(x.evidence.compared == 3 && x.evidence.elements == 30 && x.evidence.differing == 1 &&
           x.evidence.runs_now == 90 && x.evidence.runs_next == 15 && x.evidence.failures_now == 1 &&
           x.evidence.failures_next == 2 && x.evidence.crashes_next == 1 && x.evidence.crashes_now == 0,
       "rollouts/counts_add_up");
    ok(x.state == HONE_ROLLOUT_RUNNING && x.rules.pairs == 100 && x.rules.margin == 0.01 && x.rules.tolerance == 0.25 &&
           x.evidence.age_s >= 0 && !strcmp(x.next, in_dir("b.onnx")) && !strcmp(x.now, in_dir("a.onnx")),
       "rollouts/row_is_whole");
    hone_rollout_free(&x);
    e.differing = 9;
    ok(hone_rollouts_add(r, id, &e, NULL) == HONE_E_INPUT, "rollouts/add_refuses_what_cannot_be");
}

static void test_life(void) {
    hone_rollouts *r = opened(), *other = NULL;
    int64_t id, none = 0;
    hone_err err = {0};
    ok(answers(r, "a.onnx", false, false), "rollouts/at_first_the_base_answers");
    ok((id = begin(r, "b.onnx")) > 0 && answers(r, "a.onnx", false, true), "rollouts/beginning_changes_nothing");
    ok(hone_rollouts_begin(r, in_dir("a.onnx"), in_dir("c.onnx"), false, NULL, &none, &err) == HONE_E_BUSY && !none,
       "rollouts/one_at_a_time: %s", err.text);
    test_evidence(r, id);
    ok(conclude(r, id, HONE_ROLLOUT_HOLD) && answers(r, "a.onnx", false, true), "rollouts/hold_is_under_way");
    hone_rollouts_close(r);
    r = opened();
    ok(answers(r, "a.onnx", false, true) && !hone_rollouts_take(r, id, &err), "rollouts/outlives_a_close: %s",
       err.text);
    ok(!hone_rollouts_open(in_dir("r.db"), true, &other, NULL) && hone_rollouts_take(other, id, &err) == HONE_E_BUSY,
       "rollouts/is_carried_out_by_one: %s", err.text);
    hone_rollouts_close(other);
    ok(conclude(r, id, HONE_ROLLOUT_PROMOTE) && answers(r, "b.onnx", true, false), "rollouts/promotion");
    ok(!conclude(r, id, HONE_ROLLOUT_ROLL_BACK), "rollouts/what_ended_has_ended");
    ok(hone_rollouts_take(r, id, &err) == HONE_E_NOTFOUND, "rollouts/what_ended_is_not_taken_up: %s", err.text);
    hone_rollouts_close(r);
}

static void test_second_version(void) {
    hone_rollouts *r = opened();
    hone_err err = {0};
    int64_t id = 0;
    ok(hone_rollouts_begin(r, in_dir("a.onnx"), in_dir("b.onnx"), false, NULL, &id, &err) == HONE_E_INPUT,
       "rollouts/what_answers_is_no_next_version: %s", err.text);
    ok((id = begin(r, "c.onnx")) > 0 && conclude(r, id, HONE_ROLLOUT_ROLL_BACK) && answers(r, "b.onnx", true, false),
       "rollouts/rolled_back_to_what_was_promoted");
    ok((id = begin(r, "c.onnx")) > 0 && conclude(r, id, HONE_ROLLOUT_PROMOTE) && answers(r, "c.onnx", true, false),
       "rollouts/second_promotion");
    ok(!hone_rollouts_revert(r, in_dir("a.onnx"), "too warm", &err) && answers(r, "b.onnx", true, false),
       "rollouts/revert_to_the_version_before: %s", err.text);
    ok(!hone_rollouts_revert(r, in_dir("a.onnx"), NULL, &err) && answers(r, "a.onnx", false, false),
       "rollouts/revert_to_the_base: %s", err.text);
    ok(hone_rollouts_revert(r, in_dir("a.onnx"), NULL, &err) == HONE_E_NOTFOUND, "rollouts/revert_ends: %s", err.text);
    ok(begin(r, "b.onnx") > 0 && !hone_rollouts_revert(r, in_dir("a.onnx"), "no", &err) &&
           answers(r, "a.onnx", false, false),
       "rollouts/revert_ends_what_is_under_way");
    hone_rollouts_close(r);
}

static void test_files_change(void) {
    hone_rollouts *r = opened();
    hone_err err = {0};
    int64_t id = begin(r, "b.onnx");
    write_file("b.onnx", "another b");
    hone_rollouts_close(r);
    r = opened();
    ok(hone_rollouts_take(r, id, &err) == HONE_E_MISMATCH && strstr(err.text, "b.onnx' has changed"),
       "rollouts/changed_next_is_not_taken_up: %s", err.text);
    ok(conclude(r, id, HONE_ROLLOUT_ROLL_BACK) && (id = begin(r, "b.onnx")) && conclude(r, id, HONE_ROLLOUT_PROMOTE) &&
           answers(r, "b.onnx", true, false),
       "rollouts/changed_next_is_promoted_anew");
    write_file("a.onnx", "another a");
    ok(answers(r, "a.onnx", false, false), "rollouts/changed_base_answers");
    write_file("a.onnx", "a");
    ok(answers(r, "b.onnx", true, false), "rollouts/the_old_base_again_has_its_promotion");
    unlink(in_dir("b.onnx"));
    ok(answers(r, "a.onnx", false, false), "rollouts/lost_promotion_falls_back");
    char *json = NULL;
    ok(!hone_rollouts_events(r, in_dir("a.onnx"), &json, NULL) && strstr(json, "\"lost\""),
       "rollouts/loss_is_an_event");
    hone_free(json);
    write_file("b.onnx", "another b");
    ok(answers(r, "a.onnx", false, false), "rollouts/what_was_lost_stays_lost");
    ok(hone_rollouts_begin(r, in_dir("a.onnx"), in_dir("none"), false, NULL, &id, &err) == HONE_E_IO,
       "rollouts/missing_next_is_io: %s", err.text);
    hone_rollouts_close(r);
}

static void test_history(void) {
    hone_rollouts *r = NULL;
    char *json = NULL, *one = NULL;
    hone_err err = {0};
    ok(hone_rollouts_open(in_dir("none.db"), false, &r, &err) == HONE_E_NOTFOUND, "rollouts/missing_file_is_notfound");
    ok(!hone_rollouts_open(in_dir("r.db"), false, &r, &err), "rollouts/opens_to_read: %s", err.text);
    ok(answers(r, "a.onnx", false, false), "rollouts/a_reader_sees_what_answers");
    ok(!hone_rollouts_history(r, NULL, 0, &json, &err) && strstr(json, "\"as the test says\"") &&
           strstr(json, "\"too warm\"") && strstr(json, "\"runs_next\":15") && strstr(json, "\"pairs\":3"),
       "rollouts/history_has_all");
    ok(!hone_rollouts_history(r, in_dir("a.onnx"), 1, &one, &err) && strlen(one) < strlen(json) && *one == '[',
       "rollouts/history_of_one");
    hone_free(json);
    hone_free(one);
    ok(!hone_rollouts_history(r, in_dir("z"), 0, &one, &err) && !strcmp(one, "[]"), "rollouts/history_of_none");
    hone_free(one);
    hone_rollouts_close(r);
}

static void test_folders(void) {
    hone_rollouts *r = opened();
    int64_t id = 0;
    hone_err err = {0};
    mkdir(in_dir("hf"), 0755), mkdir(in_dir("hg"), 0755);
    write_file("hf/x", "1"), write_file("hg/x", "1"), write_file("hg/y", "2");
    ok(!hone_rollouts_begin(r, in_dir("hf"), in_dir("hg"), true, NULL, &id, &err), "rollouts/folders_are_versions: %s",
       err.text);
    hone_rollouts_close(r);
}

int main(void) {
    strcpy(dir, "/tmp/hone-rollouts-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    write_file("a.onnx", "a"), write_file("b.onnx", "b"), write_file("c.onnx", "c");
    test_life();
    test_second_version();
    test_files_change();
    test_history();
    test_folders();
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) ? 1 : done_testing();
}
