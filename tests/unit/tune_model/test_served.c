/* Language models as they are served: sizes of a step; attention over blocks as a kernel that is tuned: its space,
 * inputs that reach as far as was asked for, and knobs that change no bit. */
#include "base/clock.h"
#include "base/fs.h"
#include "compile/driver.h"
#include "compile/winner.h"
#include "parity/parity.h"
#include "tap.h"
#include "tune_model/tune_model_int.h"

#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char attend[] = "ir 1\nsymbol tokens in 1..8192\nsymbol sequences in 1..1024\nsymbol blocks in 1..256\n"
                             "symbol rows in 64..\n"
                             "input %q : f32[tokens, 6, 24] \"q\"\ninput %k : f16[rows, 2, 24] \"k\"\n"
                             "input %v : f16[rows, 2, 24] \"v\"\ninput %t : i64[sequences, blocks] \"table\"\n"
                             "input %s : i64[tokens] \"sequence\"\ninput %p : i64[tokens] \"position\"\n"
                             "%y = attend %q, %k, %v, %t, %s, %p {block = 32}\noutput %y \"y\"\n";

/* A step's symbols, and nothing that they are for. */
#define STEP(context, blocks)                                                                                          \
    "ir 1\nsymbol tokens in 1.." context "\nsymbol wanted in 1.." context                                              \
    "\nsymbol sequences in 1..1024\nsymbol " blocks "\nsymbol rows in 64..268435456\n"                                 \
    "input %a : f32[tokens] \"a\"\ninput %b : f32[wanted] \"b\"\n"                                                     \
    "input %c : f32[sequences] \"c\"\ninput %d : f32[rows] \"d\"\n"
static const char step[] = STEP("8192", "blocks in 1..256") "input %e : f32[blocks] \"e\"\noutput %a \"y\"\n";
static const char windowed[] =
    STEP("8192", "blocks_of_window_64 in 1..256") "input %e : f32[blocks_of_window_64] \"e\"\noutput %a \"y\"\n";
static const char short_one[] = STEP("256", "blocks in 1..8") "input %e : f32[blocks] \"e\"\noutput %a \"y\"\n";

static hone_graph *parse(const char *text) {
    hone_graph *g = NULL;
    hone_err err = {0};
    if (hone_graph_parse(text, strlen(text), &g, &err)) printf("# %s\n", err.text);
    return g;
}

static void test_sizes(void) {
    static const struct {
        const char *graph, *given, *want; /* NULL: refused */
    } cases[] = {
        {step, "tokens=1,past=512,wanted=1", "tokens=1,wanted=1,sequences=1,blocks=17,rows=544"},
        {step, "", "tokens=1,wanted=1,sequences=1,blocks=17,rows=544"},
        {step, "tokens=128,past=0,wanted=1", "tokens=128,wanted=1,sequences=1,blocks=4,rows=128"},
        {step, "tokens=16,past=300,wanted=16", "tokens=16,wanted=16,sequences=16,blocks=10,rows=5120"},
        {step, "past=1,tokens=1", "tokens=1,wanted=1,sequences=1,blocks=1,rows=64"},
        {step, "tokens=4,past=31,wanted=1,rows=640", "tokens=4,wanted=1,sequences=1,blocks=2,rows=640"},
        {step, "tokens=1,past=9000", "tokens=1,wanted=1,sequences=1,blocks=256,rows=8192"},
        {windowed, "tokens=1,past=40", "tokens=1,wanted=1,sequences=1,blocks_of_window_64=2,rows=64"},
        {step, "tokens=1,past=512,wanted=2", NULL},
        {step, "token=1", NULL},
        {step, "tokens", NULL},
        {step, "tokens=x", NULL},
        {step, "past=-1", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_graph *g = parse(cases[i].graph);
        hn_arena a = {0};
        hone_err err = {0};
        const char *got = "";
        hone_rc rc = g ? hn_served_sizes(g->dims, cases[i].given, &a, &got, &err) : HONE_E_INPUT;
        ok(cases[i].want ? !rc && !strcmp(got, cases[i].want) : rc == HONE_E_USAGE, "served/sizes_%zu: %s -> %s %s", i,
           cases[i].given, got, err.text);
        hn_arena_free(&a);
        hone_graph_free(g);
    }
}

static void test_rows(void) {
    char inputs[128];
    ok(hn_served_rows("tokens=1,wanted=1,sequences=1,blocks=17,rows=544", inputs, sizeof inputs) == 544 &&
           !strcmp(inputs, "tokens=1,wanted=1,sequences=1,blocks=17"),
       "served/rows_are_no_input_s: %s", inputs);
    ok(hn_served_rows("batch=1", inputs, sizeof inputs) == 0 && !strcmp(inputs, "batch=1"), "served/no_rows");
    ok(hn_served_rows(NULL, inputs, sizeof inputs) == 0 && !*inputs, "served/no_sizes");
}

static void test_usual(void) {
    hone_graph *g = parse(step), *s = parse(short_one), *other = parse(attend);
    hn_arena a = {0};
    const char *sizes = "", *also = "";
    ok(g && hn_served_is(g->dims) && other && !hn_served_is(other->dims), "served/a_step_is_known_by_its_symbols");
    hn_served_usual(g->dims, &a, &sizes, &also);
    ok(!strcmp(sizes, "tokens=1,past=512,wanted=1") &&
           !strcmp(also, "tokens=128,past=0,wanted=1;tokens=1,past=4096,wanted=1"),
       "served/usual: %s; %s", sizes, also);
    hn_served_usual(s->dims, &a, &sizes, &also);
    ok(!strcmp(sizes, "tokens=1,past=255,wanted=1") && !strcmp(also, "tokens=128,past=0,wanted=1"),
       "served/usual_of_a_short_context: %s; %s", sizes, also);
    hn_arena_free(&a);
    hone_graph_free(g);
    hone_graph_free(s);
    hone_graph_free(other);
}

/* --- a kernel -------------------------------------------------------------------------------------------------------
 */

static char folder[64];
static hone_compile_options compiling;

static bool begin(hn_tuning *t, const hone_tune_model_options *o) {
    hone_graph *g = parse(attend);
    hone_err err = {0};
    char path[128];
    cpu_set_t set;
    compiling = (hone_compile_options){
        .size = sizeof compiling, .compiler = getenv("HONE_QUICK_CC"), .no_winners = true, .n_threads = 1};
    *t = (hn_tuning){.o = o, .lib = {.options = &compiling}, .folder = folder, .n_jobs = 1};
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((unsigned)i, &set)) t->team.cpu[0] = t->build_cpu[0] = i;
    t->team.n = 1, t->n_build_cpu = 1;
    t->start_s = hn_now_s(), t->end_s = t->start_s + 60;
    snprintf(path, sizeof path, "%s/w.db", folder);
    hone_rc rc = g ? hn_compile_kernels(&t->lib, g, "test", &err) : HONE_E_INPUT;
    if (!rc) rc = hone_winners_open(path, true, &t->winners, &err);
    t->m = t->lib.model;
    if (!rc) rc = hn_winner_key_begin(t->m, &err);
    hone_graph_free(g);
    if (rc) return printf("# %s\n", err.text), false;
    t->symbol = (int64_t *)hn_alloc_n(&t->a, 16, sizeof *t->symbol) + 1;
    const int64_t size[] = {10, 2, 5, 320};
    memcpy(t->symbol, size, sizeof size);
    return true;
}

static void end(hn_tuning *t) {
    hone_winners_close(t->winners);
    hn_library_free(&t->lib);
    hn_arena_free(&t->a);
}

static void test_search(void) {
    hone_tune_model_options o = hone_tune_model_defaults();
    hn_tuning t;
    hone_err err = {0};
    if (!begin(&t, &o)) return;
    hn_tuned k = {.k = &t.m->kernel[0], .share = 1, .default_s = NAN, .fastest_s = {NAN, NAN}, .best = 1, .screen = 1};
    t.kernel = &k, t.n_kernels = 1;
    ok(!strcmp(k.k->code.schedule, "attend few=8 tile=8 touch=2") && !k.k->reference,
       "served/attention_has_a_schedule: %s", k.k->code.schedule);
    ok(!hn_tuned_open(&t, &k, &err) && k.space.n_fits == 1 && hone_space_find(k.space.space, "attend.few") != SIZE_MAX,
       "served/attention_has_a_space: %s", err.text);
    hone_rc rc = hn_tuned_slice(&t, &k, hn_now_s() + 1, &err);
    for (int i = 0; i < 30 && !rc && k.n_seen < 3 && !k.end; i++) rc = hn_tuned_slice(&t, &k, hn_now_s() + 1, &err);
    ok(!rc && k.n_seen > 1, "served/attention_is_searched: %zu candidates %s", k.n_seen, err.text);
    bool right = true;
    for (size_t i = 0; i < k.n_seen; i++) right &= k.seen[i].cls == HONE_RUN_OK;
    ok(right, "served/candidates_of_attention_run");
    hn_tuned_close(&k);
    end(&t);
}

/* --- bits -----------------------------------------------------------------------------------------------------------
 */

static bool make_inputs(hn_tuning *t, hn_arena *a, hn_trial *out) {
    *out = (hn_trial){.m = t->m, .k = &t->m->kernel[0], .a = a, .rng = hn_rng_make(3, 1), .symbol = t->symbol};
    hn_traits traits;
    out->n_symbols = hn_dims_symbols(t->m->g->dims);
    if (hn_trial_traits(out, &traits) || !hn_trial_inputs(out, &traits, HN_FILL_RANDOM)) return false;
    hn_served_kernel(t->m, out->k, out->in);
    return true;
}

static void test_inputs(hn_tuning *t) {
    hn_arena a = {0};
    hn_trial x;
    ok(make_inputs(t, &a, &x), "served/inputs");
    const int64_t *sequence = x.in[4].data, *position = x.in[5].data, *table = x.in[3].data;
    bool right = true;
    for (int64_t i = 0; i < 10; i++) right &= sequence[i] == i / 5 && position[i] == 155 + i % 5;
    for (int64_t i = 0; i < 10; i++) right &= table[i] == i;
    ok(right, "served/tokens_are_the_last_of_their_sequences");
    hn_arena_free(&a);
}

/* The kernel with a schedule, as a library, run on the same inputs: the result, in the arena. */
static const float *result_of(hn_tuning *t, hn_arena *a, const char *schedule, unsigned n) {
    hn_model *m = t->m;
    const hn_kernel *k = &m->kernel[0];
    const hn_emit_how how = {.dialect = m->dialect, .machine = m->machine, .schedule = schedule};
    const hn_setting usual = {.cc = ""};
    hn_kernel_code code = {0};
    hn_lab_build b;
    hn_proc_result r = {0};
    hn_trial x;
    hone_err err = {0};
    char name[16], path[128];
    snprintf(name, sizeof name, "b%u", n);
    if (hn_emit_kernel(m->g, k->body, k->kind, k->name, &how, a, &code, &err) ||
        hn_lab_build_start(m, folder, name, &code, k->name, &usual, (hn_lab_how){.cpu = -1}, a, &b, &err))
        return printf("# %s\n", err.text), NULL;
    hn_proc_collect(b.proc, &r);
    if (r.code) printf("# %s\n", r.err_tail);
    hn_proc_result_free(&r);
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    hone_kernel_fn *run = NULL;
    void *symbol = library ? dlsym(library, "hone_kernel") : NULL;
    memcpy(&run, &symbol, sizeof run);
    int64_t work = 0, scratch_b = 0;
    float *out = hn_alloc_n(a, 10 * 6 * 24, sizeof *out);
    if (!run || !out || !make_inputs(t, a, &x) || !hn_dim_eval(m->g->dims, code.work, t->symbol, &work) ||
        !hn_dim_eval(m->g->dims, code.scratch_b, t->symbol, &scratch_b))
        return NULL;
    void *buf[7];
    for (int i = 0; i < 6; i++) buf[i] = x.in[i].data;
    buf[6] = out;
    char *scratch = aligned_alloc(64, (size_t)(scratch_b + 127) / 64 * 64);
    t->symbol[-1] = 0;
    run(buf, t->symbol, 0, work, scratch);
    free(scratch);
    dlclose(library);
    return t->symbol[-1] ? NULL : out;
}

static void test_bits(hn_tuning *t) {
    static const char *const schedules[] = {"attend few=0 tile=1 touch=0", "attend few=0 tile=8",
                                            "attend few=1048576 tile=2", "attend few=32 tile=4 touch=0"};
    hn_arena a = {0};
    const float *want = result_of(t, &a, "attend", 0);
    ok(want && want[0] != 0, "served/attention_runs");
    for (unsigned i = 0; want && i < sizeof schedules / sizeof *schedules; i++) {
        const float *got = result_of(t, &a, schedules[i], i + 1);
        ok(got && !memcmp(got, want, 10 * 6 * 24 * sizeof *got), "served/knobs_change_no_bit: %s", schedules[i]);
    }
    hn_kernel_code code;
    const hn_kernel *k = &t->m->kernel[0];
    static const char *const wrong[] = {"attend few=3", "attend tiles=1", "packed", "plain"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const hn_emit_how how = {.dialect = t->m->dialect, .machine = t->m->machine, .schedule = wrong[i]};
        hone_rc rc = hn_emit_kernel(t->m->g, k->body, k->kind, k->name, &how, &a, &code, NULL);
        ok(rc == HONE_E_INPUT, "served/schedule_%s_is_refused", wrong[i]);
    }
    hn_arena_free(&a);
}

int main(void) {
    hn_tuning t;
    const hone_tune_model_options o = hone_tune_model_defaults();
    strcpy(folder, "/tmp/hone-served-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    test_sizes();
    test_rows();
    test_usual();
    test_search();
    if (begin(&t, &o)) {
        test_inputs(&t);
        test_bits(&t);
        end(&t);
    }
    ok(hn_remove_tree(folder, NULL) == HONE_OK, "served/cleans_up");
    return done_testing();
}
