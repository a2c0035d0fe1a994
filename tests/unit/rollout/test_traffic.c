/* What models are asked for: kept, decayed, bounded, as JSON and back, and the plan that follows from it. */
#include <hone/traffic.h>

#include "tap.h"

#include <math.h>
#include <sqlite3.h>
#include <unistd.h>

static char dir[64], db[96];

static hone_rollouts *opened(void) {
    hone_rollouts *r = NULL;
    hone_err err = {0};
    if (hone_rollouts_open(db, true, &r, &err)) printf("# %s\n", err.text);
    return r;
}
static void sql(const char *text) {
    sqlite3 *s = NULL;
    sqlite3_open(db, &s);
    if (sqlite3_exec(s, text, NULL, NULL, NULL) != SQLITE_OK) printf("# %s\n", sqlite3_errmsg(s));
    sqlite3_close(s);
}

static void test_store(void) {
    hone_rollouts *r = opened();
    hone_traffic_row row[] = {{"run", "batch=1", 10, 2}, {"run", "batch=8", 2, 5}, {"prompt", "64", 7, 0}}, *got = NULL;
    size_t n = 0;
    hone_err err = {0};
    ok(hone_traffic_read(r, "/m.onnx", &got, &n, &err) == HONE_E_NOTFOUND && strstr(err.text, "asked for nothing yet"),
       "traffic/nothing_is_notfound");
    ok(!hone_traffic_add(r, "/m.onnx", row, 3, NULL) && !hone_traffic_add(r, "/m.onnx", row, 1, NULL), "traffic/add");
    ok(!hone_traffic_add(r, "/other.onnx", row, 1, NULL), "traffic/add_of_another");
    ok(!hone_traffic_read(r, "/x/../m.onnx", &got, &n, &err) && n == 3, "traffic/read: %s", err.text);
    ok(!strcmp(got[0].kind, "prompt") && !strcmp(got[1].size, "batch=8") && !strcmp(got[2].size, "batch=1") &&
           fabs(got[2].count - 20) < 1e-3 && fabs(got[2].time_s - 4) < 1e-3,
       "traffic/by_kind_and_time");
    hone_free(got);
    row[0].count = NAN;
    ok(hone_traffic_add(r, "/m.onnx", row, 1, NULL) == HONE_E_INPUT, "traffic/nan_is_input");
    hone_rollouts_close(r);
}

static void test_decay(void) {
    hone_rollouts *r;
    hone_traffic_row row[] = {{"run", "batch=1", 20, 4}}, *got = NULL;
    size_t n = 0;
    sql("UPDATE asked SET at_s = at_s - 7 * 86400 WHERE base = '/m.onnx'");
    sql("UPDATE asked SET count = 20, time_s = 4 WHERE base = '/m.onnx' AND kind = 'run'");
    r = opened();
    ok(!hone_traffic_add(r, "/m.onnx", row, 1, NULL) && !hone_traffic_read(r, "/m.onnx", &got, &n, NULL) &&
           fabs(got[1].count - 30) < 0.01 && fabs(got[1].time_s - 6) < 0.01 && fabs(got[2].count - 10) < 0.01,
       "traffic/half_is_left_after_a_week");
    hone_free(got);
    hone_rollouts_close(r);
}

static void test_bound(void) {
    hone_rollouts *r = opened();
    hone_traffic_row *got = NULL;
    size_t n = 0;
    bool added = true, small = false;
    for (int i = 0; i < 100; i++) {
        char size[32];
        snprintf(size, sizeof size, "batch=%d", i);
        hone_traffic_row row = {"run", size, 1, i + 1};
        added &= !hone_traffic_add(r, "/b.onnx", &row, 1, NULL);
    }
    ok(added && !hone_traffic_read(r, "/b.onnx", &got, &n, NULL) && n == 64, "traffic/64_sizes_of_a_kind_stay");
    for (size_t i = 0; i < n; i++) small |= got[i].time_s < 36;
    ok(!small && got[0].time_s > 99, "traffic/the_largest_stay");
    hone_free(got);
    hone_rollouts_close(r);
}

static void test_json(void) {
    const hone_traffic_row row[] = {{"run", "a=\"1\"", 0.1, 0.2}, {"decode", "4", 3, 1e-9}};
    hone_traffic_row *back = NULL;
    size_t n = 0;
    hone_err err = {0};
    char *text = hone_traffic_json(row, 2);
    ok(text && !hone_traffic_parse(text, strlen(text), "t", &back, &n, &err) && n == 2 &&
           !strcmp(back[0].size, row[0].size) && back[0].count == 0.1 && back[1].time_s == 1e-9 &&
           !strcmp(back[1].kind, "decode"),
       "traffic/json_and_back: %s", err.text);
    hone_free(text);
    hone_free(back);
    static const char *const bad[] = {"",
                                      "[",
                                      "{}",
                                      "[1]",
                                      "[{\"kind\": \"run\", \"size\": 4, \"count\": 1}]",
                                      "[{\"kind\": \"run\", \"size\": \"\", \"count\": -1}]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(hone_traffic_parse(bad[i], strlen(bad[i]), "t.json", &back, &n, &err) == HONE_E_INPUT &&
               !strncmp(err.text, "t.json", 6),
           "traffic/bad_json_%zu: %s", i, err.text);
}

static void test_plan_of_tensors(void) {
    const hone_traffic_row row[] = {{"run", "batch=1", 900, 5},
                                    {"run", "batch=32", 50, 3},
                                    {"run", "batch=7", 4, 0.9},
                                    {"run", "batch=3", 4, 0.8},
                                    {"run", "other", 4, 0.3}};
    hone_traffic_plan p;
    hone_err err = {0};
    ok(!hone_traffic_plan_make(row, 5, &p, &err) && p.n == 3 && !p.language, "traffic/plan: %s", err.text);
    ok(!strcmp(p.part[0].sizes, "batch=1") && p.part[0].hot && fabs(p.part[0].share - 0.5) < 1e-9 &&
           !strcmp(p.part[1].sizes, "batch=32") && p.part[1].hot,
       "traffic/plan_hot_sizes");
    ok(!strcmp(p.part[2].sizes, "batch=7") && !p.part[2].hot && fabs(p.part[2].share - 0.2) < 1e-9,
       "traffic/plan_the_rest_at_its_most_asked_size");
    const hone_traffic_row fixed[] = {{"run", "", 10, 5}};
    ok(!hone_traffic_plan_make(fixed, 1, &p, NULL) && p.n == 1 && !p.part[0].hot && p.part[0].share == 1,
       "traffic/plan_without_symbols");
    hone_traffic_row many[20];
    for (int i = 0; i < 20; i++) many[i] = (hone_traffic_row){"run", "batch=2", 1, 1};
    ok(!hone_traffic_plan_make(many, 20, &p, NULL) && p.n == 1 && !p.part[0].hot && p.part[0].share == 1,
       "traffic/plan_of_many_small_sizes");
    ok(hone_traffic_plan_make(NULL, 0, &p, &err) == HONE_E_EMPTY, "traffic/plan_of_nothing: %s", err.text);
    const hone_traffic_row words[] = {{"prompt", "10", 3, 0}};
    ok(hone_traffic_plan_make(words, 1, &p, &err) == HONE_E_EMPTY, "traffic/plan_without_times");
}

static void test_plan_of_language(void) {
    const hone_traffic_row row[] = {{"decode", "1", 100, 1},
                                    {"decode", "4", 100, 6},
                                    {"prefill", "128", 10, 3},
                                    {"prompt", "256", 10, 0},
                                    {"answer", "64", 10, 0}};
    hone_traffic_plan p;
    ok(!hone_traffic_plan_make(row, 5, &p, NULL) && p.language && p.n == 2 && p.count == 210, "traffic/plan_of_steps");
    is_text(p.part[0].sizes, "tokens=4,past=288,wanted=4", "traffic/plan_of_answers");
    is_text(p.part[0].also, "tokens=128,past=0,wanted=1", "traffic/plan_answers_do_not_slow_prompts");
    ok(!strcmp(p.part[1].sizes, p.part[0].also) && !strcmp(p.part[1].also, p.part[0].sizes) &&
           fabs(p.part[1].share - 0.3) < 1e-9,
       "traffic/plan_of_prompts");
    ok(!hone_traffic_plan_make(row, 2, &p, NULL) && p.n == 1 && p.part[0].share == 1, "traffic/plan_of_answers_alone");
    ok(!hone_traffic_plan_make(row + 2, 1, &p, NULL) && p.n == 1 &&
           !strcmp(p.part[0].sizes, "tokens=128,past=0,wanted=1"),
       "traffic/plan_of_prompts_alone");
}

int main(void) {
    strcpy(dir, "/tmp/hone-traffic-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    snprintf(db, sizeof db, "%s/r.db", dir);
    test_store();
    test_decay();
    test_bound();
    test_json();
    test_plan_of_tensors();
    test_plan_of_language();
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) ? 1 : done_testing();
}
