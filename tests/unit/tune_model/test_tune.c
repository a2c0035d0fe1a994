/* Tuning one kernel from end to end: search, proof, parity, the row of its winner; candidates that crash, hang or
 * compute something else; what an earlier search measured. Nothing here depends on which candidate is fastest. */
#include "base/clock.h"
#include "base/fs.h"
#include "compile/driver.h"
#include "compile/winner.h"
#include "parity/parity.h"
#include "tap.h"
#include "tune_model/tune_model_int.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char product[] = "ir 1\ninput %0 : f32[64, 192] \"x\"\ninput %1 : f32[192, 192] \"w\"\n"
                              "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n"
                              "output %2 \"y\"\n";

static const char small[] = "ir 1\ninput %0 : f32[8, 8] \"x\"\ninput %1 : f32[8, 8] \"w\"\n"
                            "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n"
                            "output %2 \"y\"\n";

static char folder[64];
static size_t n_events[8];
static void count(void *ctx, const hone_event *event) {
    const hone_tune_model_event *e = (const hone_tune_model_event *)event;
    (void)ctx;
    n_events[e->stage]++;
}

static uint32_t n_threads = 1; /* on one core, as tests may have no more */
static hone_compile_options compiling;
/* The tuning of a graph's first kernel, whose default is the schedule `plain`. */
static int begin(hn_tuning *t, hn_tuned *k, const hone_tune_model_options *o, const char *text) {
    const hone_compile_options plain = {
        .size = sizeof(hone_compile_options), .no_winners = true, .n_threads = n_threads};
    hone_err err = {0};
    hone_graph *g = NULL;
    char path[128];
    cpu_set_t set;
    compiling = plain;
    *t =
        (hn_tuning){.o = o, .lib = {.options = &compiling}, .folder = folder, .kernel = k, .n_kernels = 1, .n_jobs = 1};
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((unsigned)i, &set)) t->team.cpu[0] = t->team.cpu[1] = i;
    t->team.n = n_threads;
    t->build_cpu[0] = t->team.cpu[0], t->n_build_cpu = 1;
    t->start_s = hn_now_s(), t->end_s = t->start_s + 60;
    snprintf(path, sizeof path, "%s/w.db", folder);
    hone_rc rc = hone_graph_parse(text, strlen(text), &g, &err);
    if (!rc) rc = hn_compile_kernels(&t->lib, g, "test", &err);
    if (!rc) rc = hone_winners_open(path, true, &t->winners, &err);
    t->m = t->lib.model;
    if (!rc) rc = hn_winner_key_begin(t->m, &err);
    hone_graph_free(g);
    if (rc) return printf("# %s\n", err.text), 0;
    t->symbol = (int64_t *)hn_alloc(&t->a, 64) + 1;
    const hn_emit_how how = {.dialect = t->m->dialect, .machine = t->m->machine, .schedule = "plain"};
    *k = (hn_tuned){.k = &t->m->kernel[0], .share = 1, .default_s = NAN, .fastest_s = {NAN, NAN}, .best = 1};
    rc = hn_emit_kernel(t->m->g, k->k->body, k->k->kind, k->k->name, &how, &t->m->arena, &k->k->code, &err);
    return !rc && !hn_tuned_open(t, k, &err);
}

static void end(hn_tuning *t, hn_tuned *k) {
    hn_tuned_close(k);
    hone_winners_close(t->winners);
    hn_library_free(&t->lib);
    hn_arena_free(&t->a);
}

static int is_known_end(const char *end) {
    static const char *const known[] = {"patience", "exhausted", "roofline"};
    for (size_t i = 0; end && i < 3; i++)
        if (!strcmp(end, known[i])) return 1;
    return !end;
}

enum { SLICES = 40 };

static void test_search(void) {
    hone_tune_model_options o = hone_tune_model_defaults();
    hn_tuning t;
    hn_tuned k;
    hone_err err = {0};
    hone_winner found = {0};
    o.progress.fn = count;
    ok(begin(&t, &k, &o, product), "tune/kernel_opens");
    hone_rc rc = HONE_OK;
    for (int i = 0; !rc && !k.end && k.n_seen < 2 && i < SLICES; i++) /* a loaded machine sees one in a slice */
        rc = hn_tuned_slice(&t, &k, hn_now_s() + 1.5, &err);
    ok(rc == HONE_OK && k.n_seen > 1 && k.best <= 1 && is_known_end(k.end), "tune/slice_measures: %s", err.text);
    size_t n = k.n_seen;
    rc = hn_tuned_slice(&t, &k, hn_now_s() + 0.5, &err);
    ok(rc == HONE_OK && k.n_seen >= n, "tune/slice_goes_on: %s", err.text);
    if (k.n_seen > 1) k.seen[1].cls = HONE_RUN_OK, k.seen[1].ratio = 0.5;
    rc = hn_tuned_prove(&t, &k, 0, 0, &err);
    ok(rc == HONE_OK && !k.winner && n_events[HONE_TUNE_MODEL_PROOF] == 1, "tune/proof_without_time_keeps_nothing: %s",
       err.text);
    rc = hn_tuned_prove(&t, &k, hn_now_s() + 5, INFINITY, &err);
    ok(rc == HONE_OK && n_events[HONE_TUNE_MODEL_PROOF] == 2, "tune/proof_ends: %s", err.text);
    bool kept = !hone_winners_find(t.winners, &k.key, &found, NULL);
    ok(kept == k.winner && n_events[HONE_TUNE_MODEL_WINNER] == (size_t)kept, "tune/winner_is_the_row");
    ok(!kept || (found.gain_lo > 1.01 && found.gain >= found.gain_lo && found.pairs >= 8 && *found.schedule &&
                 !strcmp(found.default_code, k.default_code)),
       "tune/winner_is_proven");
    printf("# %s: %s %s, %.3f (%.3f .. %.3f), %zu candidates\n", kept ? "winner" : "no winner",
           kept ? found.schedule : "", kept ? found.flags : "", found.gain, found.gain_lo, found.gain_hi, k.n_seen);
    hone_winner_free(&found);
    n = k.n_seen;
    end(&t, &k);
    ok(begin(&t, &k, &o, product) && k.n_seen >= n - 1, "tune/earlier_measurements_are_known");
    end(&t, &k);
    o.fresh = true;
    ok(begin(&t, &k, &o, product) && k.n_seen == 1, "tune/fresh_knows_nothing");
    end(&t, &k);
}

/* The default is as fast as the machine allows, says the roofline; the search goes on where it is asked to. */
static void test_exhaust(void) {
    hone_tune_model_options o = hone_tune_model_defaults();
    hn_tuning t;
    hn_tuned k;
    hone_err err = {0};
    o.fresh = true;
    for (int exhaust = 0; exhaust < 2; exhaust++) {
        o.exhaust = exhaust;
        if (!begin(&t, &k, &o, product)) break;
        k.roof_s = 1e9;
        ok(hn_tuned_slice(&t, &k, hn_now_s() + 1, &err) == HONE_OK, "tune/slice_at_the_roofline: %s", err.text);
        ok(exhaust ? !k.end || !strcmp(k.end, "exhausted") : k.end && !strcmp(k.end, "roofline"),
           "tune/%s_the_roofline", exhaust ? "goes_on_at" : "ends_at");
        end(&t, &k);
    }
}

/* Candidates are screened on one thread, looked at closely and proven on all; the winner is that of so many. */
static void test_threads(void) {
    hone_tune_model_options o = hone_tune_model_defaults();
    hn_tuning t;
    hn_tuned k;
    hone_err err = {0};
    hone_winner found = {0};
    o.fresh = true;
    n_threads = 2;
    ok(begin(&t, &k, &o, product) && k.n_threads == 2 && !strcmp(k.key.sizes, "2 threads"),
       "tune/threads_are_of_the_key");
    hone_rc rc = hn_tuned_slice(&t, &k, hn_now_s() + 1.5, &err);
    ok(rc == HONE_OK && k.n_seen > 1 && k.best <= 1, "tune/threads_slice_measures: %s", err.text);
    ok(k.fastest_s[0] > 0 && (k.best == 1 || k.fastest_s[1] > 0), "tune/threads_have_a_default_of_their_own");
    rc = hn_tuned_prove(&t, &k, hn_now_s() + 5, INFINITY, &err);
    bool kept = !hone_winners_find(t.winners, &k.key, &found, NULL) && !strcmp(found.sizes, "2 threads");
    ok(rc == HONE_OK && kept == k.winner, "tune/threads_winner_is_the_row: %s", err.text);
    printf("# %s, %zu candidates\n", kept ? found.schedule : "no winner", k.n_seen);
    hone_winner_free(&found);
    end(&t, &k);
    ok(begin(&t, &k, &o, small) && k.n_threads == 1 && !*k.key.sizes, "tune/threads_of_a_small_kernel_do_not_matter");
    end(&t, &k);
    n_threads = 1;
}

static void test_balance(void) {
    static const struct {
        int64_t work;
        uint32_t n_threads;
        double want;
    } cases[] = {{1, 2, 2}, {2, 2, 1}, {3, 2, 4.0 / 3}, {64, 2, 1}, {5, 4, 8.0 / 5}, {7, 1, 1}};
    hone_tune_model_options o = hone_tune_model_defaults();
    hn_tuning t;
    hn_tuned k;
    if (!begin(&t, &k, &o, product)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = hn_lab_balance(t.m, k.k, t.symbol, cases[i].work, cases[i].n_threads);
        ok(fabs(got - cases[i].want) < 1e-9, "tune/balance_of_%lld_items_on_%u: %.3f", (long long)cases[i].work,
           cases[i].n_threads, got);
    }
    end(&t, &k);
}

/* A candidate of one kernel as one of another: compiler and flags as they are, knobs as near as they can be. */
static void test_carry(void) {
    static const char wider[] = "ir 1\ninput %0 : f32[20, 64] \"x\"\ninput %1 : f32[64, 1000] \"w\"\n"
                                "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n"
                                "output %2 \"y\"\n";
    hone_tune_model_options o = hone_tune_model_defaults();
    hn_tuning t[2];
    hn_tuned k[2];
    hn_setting had = {.cc = ""}, got = {.cc = ""};
    double point[256] = {0}, carried[256] = {0};
    o.fresh = true;
    if (!begin(&t[0], &k[0], &o, product) || !begin(&t[1], &k[1], &o, wider)) return;
    const hn_tune_space *from = &k[0].space;
    hone_space_default(from->space, point);
    for (size_t i = 0; i < from->n_fits; i++)
        if (!strcmp(from->fit[i].sketch->name, "gemm"))
            point[hone_space_param(from->space, hone_space_find(from->space, "sketch"))->slot] = (double)i;
    point[hone_space_param(from->space, hone_space_find(from->space, "default.-O3"))->slot] = 1;
    hone_point_canon(from->space, point);
    hn_tune_space_setting(from, point, &had);
    ok(hn_tune_space_carry(from, point, &k[1].space, carried), "tune/carry");
    hn_tune_space_setting(&k[1].space, carried, &got);
    ok(!strncmp(got.schedule, "gemm ", 5) && !strcmp(got.flags, "-O3") && !*got.cc,
       "tune/carry_keeps: %s, %s -> %s, %s", had.schedule, had.flags, got.schedule, got.flags);
    end(&t[0], &k[0]);
    end(&t[1], &k[1]);
}

/* A candidate that is not the kernel, in the place of one. */
static hn_lab_reply try_code(hn_tuning *t, hn_tuned *k, hn_lab *lab, const char *does, const char *name) {
    hn_kernel_code code = k->k->code;
    hn_lab_build b;
    hn_arena a = {0};
    hn_proc_result r = {0};
    hn_lab_reply reply = {.cls = HONE_BUILD_ERROR};
    static const hn_setting usual = {.cc = ""};
    code.text = hn_format(&a,
                          "#define %s right_one\n%s\n#undef %s\nstatic void %s(void *const *buf, const int64_t *s, "
                          "int64_t begin, int64_t end, char *scratch) {\n    right_one(buf, s, begin, end, scratch);\n"
                          "    float *Y = buf[2];\n    (void)Y;\n    %s\n}\n",
                          k->k->name, k->k->code.text, k->k->name, k->k->name, does);
    const hn_lab_how how = {.cpu = -1, .lean = true};
    if (hn_lab_build_start(t->m, folder, name, &code, k->k->name, &usual, how, &a, &b, NULL)) return reply;
    hn_proc_collect(b.proc, &r);
    if (r.code) printf("# %s\n", r.err_tail);
    hn_lab_request q = {.n_pairs = 2, .block_s = 1e-5, .max_s = 1};
    int64_t work = 0;
    hn_dim_eval(t->m->g->dims, code.work, t->symbol, &work);
    for (int side = 0; side < 2; side++) {
        snprintf(q.side[side].path, sizeof q.side[side].path, "%s/%s.so", folder, side ? name : "right");
        q.side[side].work = work;
        hn_dim_eval(t->m->g->dims, code.scratch_b, t->symbol, &q.side[side].scratch_b);
    }
    hn_lab_send(lab, &q, strstr(does, "for (;;)") ? 0.5 : 20, NULL);
    while (!hn_lab_poll(lab, 0.05, &reply)) continue;
    hn_proc_result_free(&r);
    hn_arena_free(&a);
    return reply;
}

static void test_lab(void) {
    static const struct {
        const char *name, *does;
        hone_outcome_class want;
    } cases[] = {{"right", "", HONE_RUN_OK},
                 {"crash", "*(volatile int *)16 = 1;", HONE_RUN_CRASH},
                 {"hang", "for (;;) __asm__ volatile(\"\");", HONE_RUN_TIMEOUT},
                 {"wrong", "if (begin == 0) Y[0] += 1000;", HONE_WRONG_RESULT},
                 {"after", "", HONE_RUN_OK}};
    hone_tune_model_options o = hone_tune_model_defaults();
    hn_tuning t;
    hn_tuned k;
    hn_lab lab = {.fd = -1};
    o.fresh = true;
    ok(begin(&t, &k, &o, product), "tune/lab_opens");
    ok(!hn_lab_open(&lab, t.m, k.k, t.symbol, NULL, 1, NULL), "tune/lab_starts");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_lab_reply r = try_code(&t, &k, &lab, cases[i].does, cases[i].name);
        ok(r.cls == cases[i].want, "tune/candidate_%s: %s %s", cases[i].name, hone_outcome_class_name(r.cls), r.text);
        if (r.cls == HONE_RUN_OK) ok(r.n_pairs >= 2 && r.time_s[0][1] > 0, "tune/candidate_%s_is_timed", cases[i].name);
    }
    hn_lab_close(&lab);
    end(&t, &k);
}

int main(void) {
    strcpy(folder, "/tmp/hone-tuned-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    test_search();
    test_exhaust();
    test_threads();
    test_balance();
    test_carry();
    test_lab();
    ok(hn_remove_tree(folder, NULL) == HONE_OK, "tune/cleans_up");
    return done_testing();
}
