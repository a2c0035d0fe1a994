/* Validation with processes: one-line shell programs whose costs are printed, so that no timing is asserted, and small
 * C programs for the layouts. */
#include "tap.h"

#include "base/fs.h"
#include "base/str.h"
#include "proc/proc.h"
#include "prove/variant.h"

#include <hone/prove.h>

#include <math.h>
#include <unistd.h>

static char root[] = "/tmp/hone-test-validate-XXXXXX";

static char *sub(const char *name, const char *more) {
    hn_str s = {0};
    hn_str_addf(&s, "%s/%s%s", root, name, more);
    return hn_str_take(&s);
}

typedef struct seen {
    size_t n_warnings, n_pairs;
    char warning[2000];
    int *stop;
    size_t stop_at;   /* candidate */
    unsigned waste_s; /* how long the first pair of a candidate takes to be told */
} seen;

static void on_event(void *ctx, const hone_event *event) {
    const hone_prove_event *e = (const hone_prove_event *)event;
    seen *s = ctx;
    if (e->stage == HONE_PROVE_WARNING) {
        s->n_warnings++;
        size_t n = strlen(s->warning); /* on a loaded machine there are several */
        snprintf(s->warning + n, sizeof s->warning - n, "%s\n", e->base.text);
    }
    s->n_pairs += e->stage == HONE_PROVE_MEASURE;
    if (s->waste_s && e->stage == HONE_PROVE_MEASURE && !e->base.text) {
        sleep(s->waste_s);
        s->waste_s = 0;
    }
    if (s->stop && e->stage == HONE_PROVE_MEASURE && e->candidate == s->stop_at && !e->base.text) *s->stop = 1;
}

static hone_prove_options small(void) {
    hone_prove_options o = hone_prove_defaults();
    o.variants = 3;
    o.pairs_least = o.pairs_most = 12;
    return o;
}

static hone_rc validate(const char *text, const char *name, const char *const *point, size_t n,
                        const hone_prove_options *options, hone_proofs *out, hone_err *err) {
    char *dir = sub(name, "");
    hone_workload *w = NULL;
    hone_prove_options o = options ? *options : small();
    hn_make_dirs(dir, NULL);
    *out = (hone_proofs){0};
    hone_rc rc = hone_workload_parse(text, strlen(text), name, dir, &w, err);
    if (!rc) rc = hone_prove_validate(w, point, n, 0, &o, out, err);
    hone_workload_free(w);
    free(dir);
    return rc;
}

static bool runs(const char *text, const char *name, const char *const *point, size_t n, const hone_prove_options *o,
                 hone_proofs *out) {
    hone_err err = {0};
    bool fine = ok(validate(text, name, point, n, o, out, &err) == HONE_OK, "validate/%s_runs", name);
    if (!fine) printf("# %s\n", err.text);
    return fine;
}

static bool verdict(const hone_proof *p, hone_proof_reject why, const char *says, const char *name) {
    bool fine = ok(p->why == why && p->kept == !why && strstr(p->verdict, says), "validate/%s", name);
    if (!fine) printf("# %s: %s\n", hone_proof_reject_name(p->why), p->verdict);
    return fine;
}

/* Cost A with a noise of about 0.1 %; MODE makes it crash or print another result. */
#define PROGRAM(extra)                                                                                                 \
    "hone: 1\nname: cost\ncontrols: false\n"                                                                           \
    "run: 'set -- {input}; n=1$(date +%N); echo cost: {A}.$(( n / 1000000 )); "                                        \
    "case {MODE}$1 in crash*) exit 3;; wrongodd) echo sum: 8;; *) echo sum: 7;; esac'\n"                               \
    "parameters:\n  A: {type: int, range: [1, 2000], default: 1000}\n"                                                 \
    "  MODE: {type: choice, values: [fine, crash, wrong], default: fine}\n"                                            \
    "inputs: [one, {name: odd, args: odd, held_out: true}]\n"                                                          \
    "metrics: {source: lines, names: [cost]}\n" extra

static void test_verdicts(void) {
    static const char *const point[] = {"{\"A\":900,\"MODE\":\"fine\"}",  "{\"A\":1000,\"MODE\":\"fine\"}",
                                        "{\"A\":1100,\"MODE\":\"fine\"}", "{\"A\":900,\"MODE\":\"crash\"}",
                                        "{\"A\":900,\"MODE\":\"wrong\"}", "{\"A\":999,\"MODE\":\"fine\"}"};
    hone_proofs all;
    if (!runs(PROGRAM("objectives: minimize cost\n"), "cost", point, 6, NULL, &all)) return;
    const hone_proof *p = all.proof;
    verdict(&p[0], HONE_NOT_REJECTED, "kept: cost is better", "a_gain_is_kept");
    verdict(&p[1], HONE_REJECT_SAME, "same program", "the_baseline_itself_is_not_measured");
    ok(p[1].n_pairs == 0 && p[1].overall && p[1].by_input && !p[1].n_samples, "validate/same_has_no_samples");
    verdict(&p[2], HONE_REJECT_GAIN, "worse than the baseline's", "a_loss");
    verdict(&p[3], HONE_REJECT_FAILS, "run_crash", "a_crash");
    verdict(&p[4], HONE_REJECT_PARITY, "'odd'", "a_wrong_result_on_a_held_out_input");
    verdict(&p[5], HONE_REJECT_GAIN, "not beyond the minimum", "too_small_a_gain");
    ok(fabs(p[0].overall[0].gain.mid - 1.11) < 0.02 && p[0].n_pairs == 12, "validate/gain_is_right");
    ok(p[0].held_out && p[0].held_out[0].held_out && p[0].n_inputs == 2 && p[0].by_input[1].held_out,
       "validate/held_out_inputs_are_judged");
    ok(p[0].n_samples == 24 && p[0].sample[0].baseline > 1000 && p[0].sample[0].tuned < 1000,
       "validate/samples_are_kept");
    ok(p[0].overall[0].p_adjusted > p[0].overall[0].p_wilcoxon, "validate/p_is_adjusted_over_candidates");
    ok(strstr(p[0].layout, "none") && p[0].noise > 0, "validate/layout_and_noise_are_told");
    hone_proofs_free(&all);
}

static void test_is_recorded(void) {
    static const char *const point[] = {"{\"A\":900,\"MODE\":\"fine\"}", "{\"A\":1100,\"MODE\":\"fine\"}"};
    hone_proofs all, back = {0};
    hone_store *store = NULL;
    if (!runs(PROGRAM("objectives: minimize cost\n"), "record", point, 2, NULL, &all)) return;
    char *dir = sub("record", "/.hone"), *work = sub("record", "/.hone/work");
    hone_rc rc = hone_store_open(dir, false, &store, NULL);
    if (!rc) rc = hone_proofs_load(store, 0, &back, NULL);
    ok(!rc && back.n == 2 && !strcmp(back.proof[1].point, point[0]) && !strcmp(back.proof[0].point, point[1]),
       "validate/recorded_newest_first");
    ok(back.n == 2 && !strcmp(back.proof[1].verdict, all.proof[0].verdict) && back.proof[1].n_samples == 24 &&
           back.proof[1].overall[0].gain.lo == all.proof[0].overall[0].gain.lo,
       "validate/recorded_whole");
    ok(access(work, F_OK) || rmdir(work) == 0, "validate/leaves_no_builds");
    hone_proofs_free(&back);
    hone_store_close(store);
    hone_proofs_free(&all);
    free(dir);
    free(work);
}

static void test_directions(void) {
    static const char *const point[] = {"{\"A\":1100,\"MODE\":\"fine\"}"};
    hone_proofs all;
    if (!runs(PROGRAM("objectives: maximize cost\n"), "up", point, 1, NULL, &all)) return;
    verdict(&all.proof[0], HONE_NOT_REJECTED, "kept", "maximized");
    hone_proofs_free(&all);
    if (!runs(PROGRAM("objectives: [maximize cost, minimize code_size]\nlimits: [\"cost <= 1050\"]\n"), "limit", point,
              1, NULL, &all))
        return;
    verdict(&all.proof[0], HONE_REJECT_LIMIT, "'cost <= 1050'", "a_limit");
    hone_proofs_free(&all);
}

static void test_refusals(void) {
    static const char *const good[] = {"{\"A\":900,\"MODE\":\"fine\"}"}, *const bad[] = {"{\"B\":1}"};
    static const char program[] = PROGRAM("objectives: minimize cost\n");
    hone_proofs all;
    hone_err err = {0};
    hone_prove_options o = small();
    ok(validate(program, "none", good, 0, NULL, &all, &err) == HONE_E_INPUT, "validate/no_candidate");
    ok(validate(program, "bad", bad, 1, NULL, &all, &err) && strstr(err.text, "candidate 1 of 1"),
       "validate/a_point_of_another_space");
    o.variants = 2;
    ok(validate(program, "few", good, 1, &o, &all, &err) == HONE_E_INPUT, "validate/two_variants_are_too_few");
    o = small();
    o.pairs_most = 5;
    ok(validate(program, "most", good, 1, &o, &all, &err) == HONE_E_INPUT, "validate/most_below_least");
    static const char shaky[] =
        "hone: 1\nname: shaky\ncontrols: false\nrun: 'echo cost: {A}; date +%N'\n"
        "parameters:\n  A: {type: int, range: [1, 2000], default: 1000}\nmetrics: {source: lines, names: [cost]}\n";
    static const char *const a[] = {"{\"A\":900}"};
    ok(validate(shaky, "shaky", a, 1, NULL, &all, &err) == HONE_E_BASELINE && strstr(err.text, "deterministic"),
       "validate/a_baseline_that_disagrees_with_itself");
    static const char broken[] = "hone: 1\nname: broken\ncontrols: false\nbuild: 'exit 4 # {out}'\nrun: '{out} {A}'\n"
                                 "parameters:\n  A: {type: int, range: [1, 2000], default: 1000}\n";
    ok(validate(broken, "broken", a, 1, NULL, &all, &err) == HONE_E_BASELINE && strstr(err.text, "does not build"),
       "validate/a_baseline_that_does_not_build");
}

/* Noise that is the same every time: with a real one the verdict would be another one of twenty times. */
static void test_noise_is_told_before(void) {
    char text[1000], *count = sub("noisy", "-runs");
    snprintf(text, sizeof text,
             "hone: 1\nname: noisy\ncontrols: false\n"
             "run: 'echo >>%s; n=$(wc -l <%s); echo cost: $(( {A} + n * n * 48271 %% 65537 %% 5000 ))'\nparity: none\n"
             "parameters:\n  A: {type: int, range: [1, 2000], default: 1000}\nmetrics: {source: lines, names: [cost]}\n"
             "stages: {confine: false}\n",
             count, count);
    free(count);
    static const char *const a[] = {"{\"A\":999}"};
    hone_prove_options o = small();
    seen s = {0};
    hone_proofs all;
    o.pairs_least = o.pairs_most = 40; /* with a dozen the spread may seem to grow */
    o.progress = (hone_progress){on_event, &s};
    if (!runs(text, "noisy", a, 1, &o, &all)) return;
    ok(s.n_warnings == 1 && strstr(s.warning, "differs from itself") && strstr(s.warning, "min_gain"),
       "validate/noise_is_told_before_the_budget_is_spent");
    verdict(&all.proof[0], HONE_REJECT_UNDECIDED, "undecided", "noise_decides_nothing");
    hone_proofs_free(&all);
}

/* Builds that would take all the time: fewer of them, and some pairs. */
static void test_slow_builds(void) {
    static const char text[] =
        "hone: 1\nname: slow\ncontrols: false\nbuild: 'sleep 0.1; cp /bin/true {out}'\n"
        "run: 'n=1$(date +%N); echo cost: $(( {A} + n % 5 ))'\nparity: none\n"
        "parameters:\n  A: {type: int, range: [1, 2000], default: 1000}\nmetrics: {source: lines, names: [cost]}\n"
        "proof: {variants: 20}\n";
    static const char *const a[] = {"{\"A\":800}"};
    hone_prove_options o = small();
    seen s = {0};
    hone_proofs all;
    o.variants = 0;
    o.budget_s = 3;
    o.n_jobs = 1;
    o.progress = (hone_progress){on_event, &s};
    if (!runs(text, "slow", a, 1, &o, &all)) return;
    ok(all.proof[0].n_variants < 20 && all.proof[0].n_variants >= 3, "validate/slow_builds_are_fewer");
    ok(strstr(s.warning, "a build takes") && strstr(s.warning, "--time"), "validate/slow_builds_are_told");
    hone_proofs_free(&all);
}

static size_t lines_of(const char *file) {
    char *text;
    size_t n, lines = 0;
    if (hn_read_file(file, &text, &n, NULL)) return 0;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    free(text);
    return lines;
}

static size_t n_recorded(const char *name) {
    char *dir = sub(name, "/.hone");
    hone_store *store = NULL;
    hone_proofs back = {0};
    hone_rc rc = hone_store_open(dir, false, &store, NULL);
    if (!rc) rc = hone_proofs_load(store, 0, &back, NULL);
    size_t n = rc ? SIZE_MAX : back.n;
    hone_proofs_free(&back);
    hone_store_close(store);
    free(dir);
    return n;
}

/* The time is a promise: what is not reached by then has no verdict, is named, and nothing is built for it. */
static void test_out_of_time(void) {
    char text[1000], *count = sub("late", "-builds");
    snprintf(text, sizeof text,
             "hone: 1\nname: late\ncontrols: false\nbuild: 'echo >>%s; sleep 0.05; cp /bin/true {out}'\n"
             "run: 'n=1$(date +%%N); echo cost: $(( {A} + n %% 5 ))'\nparity: none\n"
             "parameters:\n  A: {type: int, range: [1, 2000], default: 1000}\n"
             "metrics: {source: lines, names: [cost]}\nstages: {confine: false}\n",
             count);
    static const char *const a[] = {"{\"A\":800}", "{\"A\":700}", "{\"A\":600}"};
    hone_prove_options o = small();
    hone_proofs all;
    o.budget_s = 0.01;
    o.n_jobs = 1;
    if (runs(text, "late", a, 3, &o, &all)) {
        ok(all.n == 3 && lines_of(count) == 1, "validate/no_time_no_builds (%zu)", lines_of(count));
        for (size_t i = 0; i < all.n; i++) {
            verdict(&all.proof[i], HONE_REJECT_UNREACHED, "not reached", "no_time_no_verdict");
            ok(!strcmp(all.proof[i].point, a[i]) && strstr(all.proof[i].verdict, "--time"), "validate/by_name");
        }
        ok(n_recorded("late") == 0, "validate/nothing_is_recorded");
        hone_proofs_free(&all);
    }
    seen s = {.waste_s = 3};
    o.budget_s = 3;
    o.progress = (hone_progress){on_event, &s};
    if (runs(text, "later", a, 3, &o, &all)) {
        bool none = all.n == 3;
        for (size_t i = 0; i < all.n; i++) none &= all.proof[i].why == HONE_REJECT_UNREACHED && !all.proof[i].kept;
        ok(none && all.proof[0].n_pairs < 3, "validate/time_that_ends_at_the_first_pair");
        if (!none) printf("# %s / %s\n", all.proof[0].verdict, all.proof[1].verdict);
        ok(n_recorded("later") == 0, "validate/nothing_is_recorded_of_them");
        hone_proofs_free(&all);
    }
    free(count);
}

static void test_interrupted(void) {
    static const char *const point[] = {"{\"A\":900,\"MODE\":\"fine\"}", "{\"A\":1100,\"MODE\":\"fine\"}"};
    int stop = 0;
    seen s = {.stop = &stop, .stop_at = 1};
    hone_prove_options o = small();
    hone_proofs all, back = {0};
    hone_err err = {0};
    hone_store *store = NULL;
    o.progress = (hone_progress){on_event, &s};
    o.stop = &stop;
    ok(validate(PROGRAM("objectives: minimize cost\n"), "stop", point, 2, &o, &all, &err) == HONE_E_INTERRUPTED,
       "validate/interrupted");
    char *dir = sub("stop", "/.hone");
    hone_rc rc = hone_store_open(dir, false, &store, NULL);
    if (!rc) rc = hone_proofs_load(store, 0, &back, NULL);
    ok(!rc && back.n == 1 && back.proof[0].kept, "validate/what_was_judged_by_then_is_recorded");
    hone_proofs_free(&back);
    hone_store_close(store);
    free(dir);
}

/* --- layouts ------------------------------------------------------------------------------------------------------ */

static void test_scripts(void) {
    hn_str a = {0}, b = {0}, c = {0}, code = {0};
    hn_layout_script(HN_LAYOUT_ORDER, NULL, 5, 1, &a);
    hn_layout_script(HN_LAYOUT_ORDER, NULL, 5, 1, &b);
    hn_layout_script(HN_LAYOUT_ORDER, NULL, 5, 3, &c);
    hn_layout_script(HN_LAYOUT_CODE, NULL, 5, 1, &code);
    ok(!strcmp(a.text, b.text) && strcmp(a.text, c.text) != 0, "variant/a_script_follows_from_its_seed");
    ok(strstr(a.text, ".hone_order") && !strstr(code.text, ".hone_order") && !strstr(code.text, ".data"),
       "variant/a_weaker_layout_does_less");
    hn_str_free(&a);
    hn_str_free(&b);
    hn_str_free(&c);
    hn_str_free(&code);
}

static const char source[] =
    "#include <stdio.h>\nint alpha(int x) { return x * 3; }\nint beta(int x) { return x ^ 9; }\n"
    "int zeta(int x) { return alpha(x) + beta(x); }\n"
    "const volatile int id = ID;\n"
    "int main(void) { printf(\"sum: %d\\ncost: %d\\n\", zeta(2), COST); return 0; }\n";

/* A compiled workload with one line of build; says which layout was found. */
static void check_layout(const char *name, const char *build, const char *expected) {
    hn_str text = {0};
    char *dir = sub(name, ""), *file = sub(name, "/k.c");
    hn_make_dirs(dir, NULL);
    hn_write_file(file, source, sizeof source - 1, NULL);
    hn_str_addf(
        &text,
        "hone: 1\nname: %s\ncontrols: false\nsources: k.c\nbuild: \"%s\"\nrun: \"{out}\"\nbaseline: -O1\n"
        "parameters:\n  ID: {type: int, range: [0, 9], default: 0}\n  COST: {type: int, range: [1, 200], default: "
        "100}\nmetrics: {source: lines, names: [cost]}\n",
        name, build);
    static const char *const point[] = {"{\"ID\":1,\"COST\":90}"};
    hone_proofs all;
    hone_prove_options o = small();
    o.variants = 4;
    if (runs(text.text, name, point, 1, &o, &all)) {
        bool fine = ok(hn_starts_with(all.proof[0].layout, expected), "variant/%s_layout", name);
        if (!fine) printf("# %s\n", all.proof[0].layout);
        verdict(&all.proof[0], HONE_NOT_REJECTED, "kept", name);
        hone_proofs_free(&all);
    }
    hn_str_free(&text);
    free(dir);
    free(file);
}

static void test_layouts(void) {
    check_layout("plain", "{cc} {flags} {defines} k.c -o {out}", "function order");
    check_layout("two_steps", "{cc} {flags} {defines} -c k.c -o k.o && {cc} {flags} k.o -o {out}", "function order");
    check_layout("no_link_flags", "{cc} {flags} {defines} -c k.c -o k.o && {cc} k.o -o {out}", "function order");
    check_layout("no_linker_scripts", "case '{flags}' in *-Wl,*) exit 1;; esac; {cc} {flags} {defines} k.c -o {out}",
                 "function alignment");
    check_layout("strict_flags",
                 "case '{flags}' in *-falign*|*-Wl,*) exit 1;; esac; {cc} {flags} {defines} k.c -o {out}", "none");
}

/* A size is the same in every run: no pairs, an interval without width, sizes of the build as it ships. */
static void test_sizes(void) {
    static const char text[] =
        "hone: 1\nname: size\ncontrols: false\nsources: k.c\nbuild: \"{cc} {flags} {defines} k.c -o {out}\"\n"
        "run: \"{out}\"\nbaseline: -O1\nparameters:\n  ID: {type: int, range: [0, 9], default: 0}\n"
        "  COST: {type: int, range: [1, 200], default: 100}\n  PAD: {type: choice, values: [1, 4000], default: 4000}\n"
        "metrics: {source: lines, names: [sum]}\nobjectives: minimize code_size\nparity: none\n";
    static const char padded[] = "const char pad[PAD] = {1};\nconst volatile int id = ID;\n"
                                 "int main(void) { return COST == pad[0]; }\n";
    static const char *const point[] = {"{\"ID\":0,\"COST\":100,\"PAD\":\"1\"}"};
    char *dir = sub("size", ""), *file = sub("size", "/k.c");
    hone_proofs all;
    hn_make_dirs(dir, NULL);
    hn_write_file(file, padded, sizeof padded - 1, NULL);
    if (runs(text, "size", point, 1, NULL, &all)) {
        const hone_interval g = all.proof[0].overall[0].gain;
        verdict(&all.proof[0], HONE_NOT_REJECTED, "kept: code_size", "a_smaller_program");
        ok(g.lo == g.hi && all.proof[0].n_pairs == 0 && !all.proof[0].tail[0].quantity, "validate/sizes_take_no_pairs");
        hone_proofs_free(&all);
    }
    free(dir);
    free(file);
}

int main(void) {
    if (!mkdtemp(root)) return 1;
    test_scripts();
    test_verdicts();
    test_is_recorded();
    test_directions();
    test_refusals();
    test_noise_is_told_before();
    test_slow_builds();
    test_out_of_time();
    test_interrupted();
    test_layouts();
    test_sizes();
    hn_remove_tree(root, NULL);
    return done_testing();
}
