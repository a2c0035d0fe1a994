/* hone_check_controls and the key: every part that is touched is caught and named, and nothing else is. */
#include "check_fixture.h"
#include "controls/check.h"
#include "record/controls_file.h"
#include "tap.h"

#include <hone/check.h>
#include <hone/reduce.h>

#include <sys/stat.h>

/* --- the workload's part, without compilers -------------------------------------------------------------------------
 */

static hone_rc key_of(const site *s, const char *text, hone_controls *c, hn_arena *a, char hash[33], hone_err *err) {
    hone_workload *w;
    hone_rc rc = hone_workload_parse(text, strlen(text), "hone.yaml", s->dir, &w, err);
    if (rc) return rc;
    *c = (hone_controls){.format = 1, .compiler = "gcc", .baseline = ""};
    rc = hn_key_workload(w, c, a, err);
    if (!rc) rc = hn_key_sources(w, c, a, err);
    hone_workload_hash(w, hash);
    hone_workload_free(w);
    return rc;
}

static char *replaced(const char *text, const char *from, const char *to) {
    hn_str s = {0};
    const char *hit = strstr(text, from);
    if (!hit) printf("Bail out! '%s' is not in the text\n", from), exit(1);
    hn_str_add_n(&s, text, (size_t)(hit - text));
    hn_str_add(&s, to);
    hn_str_add(&s, hit + strlen(from));
    return hn_str_take(&s);
}

/* part and what: of a difference that must be among those found, which are n. */
typedef struct mutation {
    const char *name, *from, *to, *part, *what;
    size_t n;
} mutation;
static const mutation mutations[] = {
    {"build_command", "bowl.c -o {out}", "bowl.c -lm -o {out}", "workload", "build command", 1},
    {"run_command", "'{out} {input} {STEP}'", "'{out} -q {input} {STEP}'", "workload", "run command", 1},
    {"train_command", "controls: false\n", "train: '{out} n=4'\ncontrols: false\n", "workload", "training command", 1},
    {"baseline_flag", "-O3 -march=native", "-O2 -march=native", "baseline", "flags", 1},
    {"baseline_flag_more", "-O3 -march=native", "-O3 -march=native -g", "baseline", "flags", 1},
    {"floating_point", "controls: false\n", "floating_point: fast\ncontrols: false\n", "floating point",
     "floating point", 1},
    {"controls", "controls: false\n", "controls: true\n", "space", "controls", 1},
    {"controls_pgo", "controls: false\n", "controls: {pgo: true}\n", "space", "controls", 1},
    {"compiler_more", "[./mycc]", "[./mycc, clang]", "space", "compilers", 1},
    {"range", "range: [0, 9]", "range: [0, 8]", "space", "parameter TILE", 1},
    {"range_low", "range: [1, 4]", "range: [0, 4]", "space", "parameter STEP", 1},
    {"step", "range: [0, 9], default: 0", "range: [0, 9], step: 3, default: 0", "space", "parameter TILE", 1},
    {"default", "default: 1", "default: 2", "space", "parameter STEP", 1},
    {"parameter_kind", "TILE: {type: int, range: [0, 9], default: 0}", "TILE: {type: float, range: [0, 9], default: 0}",
     "space", "parameter TILE", 1},
    {"parameter_more", "constraints:", "  MORE: {type: int, range: [0, 9], default: 0}\nconstraints:", "space",
     "parameter MORE", 1},
    {"constraint", "<= 30", "<= 31", "space", "constraint TILE * STEP <= 31", 2},
    {"constraint_gone", "constraints: ['TILE * STEP <= 30']\n", "", "space", "constraint TILE * STEP <= 30", 1},
    {"input_args", "args: n=1000", "args: n=1001", "input", "large", 1},
    {"input_weight", "weight: 3", "weight: 2", "input", "large", 1},
    {"input_held_out", "args: n=7, held_out: true", "args: n=7", "input", "odd", 1},
    {"input_name", "name: small", "name: tiny", "input", "tiny", 2},
    {"input_added", "metrics:", "  - {name: huge, args: n=9999}\nmetrics:", "input", "huge", 1},
    {"input_removed", "  - {name: large, args: n=1000}\n", "", "input", "large", 1},
    {"metrics_source", "source: lines", "source: harness", "workload", "metrics", 3},
    {"objective", "minimize cost", "minimize p90(cost)", "workload", "objectives", 1},
    {"objective_direction", "minimize cost", "maximize cost", "workload", "objectives", 1},
    {"objective_order", "[minimize cost, minimize code_size]", "[minimize code_size, minimize cost]", "workload",
     "objectives", 1},
    {"objective_gone", "[minimize cost, minimize code_size]", "[minimize cost]", "workload", "objectives", 1},
    {"limit_bound", "<= 100", "<= 101", "workload", "limit p99(cost) <=", 1},
    {"limit_gone", "limits: ['p99(cost) <= 100']\n", "", "workload", "limit p99(cost) <=", 1},
    {"limit_other", "p99(cost)", "p95(cost)", "workload", "limit p95(cost) <=", 2},
    {"parity_rule", "rule: rel", "rule: abs", "workload", "parity", 1},
    {"parity_tolerance", "1e-5", "1e-6", "workload", "parity", 1},
    {"stage_limit", "run: 10 s", "run: 11 s", "workload", "stages", 1},
    {"memory_limit", "stages: {run: 10 s}", "stages: {run: 10 s, memory: 1 GiB}", "workload", "stages", 1},
    {"repeats", "repeats: 2", "repeats: 3", "workload", "measure", 1},
    {"min_time", "50 ms", "60 ms", "workload", "measure", 1},
    {"cold", "repeats: 2", "cold: true, repeats: 2", "workload", "measure", 1},
    {"source_gone", "sources: [bowl.c, deep]", "sources: [bowl.c]", "source", "deep/bowl.h", 1},
};

/* What changes no measurement: order of keys, comments, words about it, how it is searched. */
static const mutation harmless[] = {
    {"comment", "hone: 1\n", "# a comment\nhone: 1 # another\n", NULL, NULL, 0},
    {"key_order", "hone: 1\nname: bowl\n", "name: bowl\nhone: 1\n", NULL, NULL, 0},
    {"key_order_inside", "{name: small, args: n=10, weight: 3}", "{weight: 3, name: small, args: n=10}", NULL, NULL, 0},
    {"parameter_order",
     "  TILE: {type: int, range: [0, 9], default: 0}\n  STEP: {type: int, range: [1, 4], default: 1}\n",
     "  STEP: {default: 1, type: int, range: [1, 4]}\n  TILE: {type: int, range: [0, 9], default: 0}\n", NULL, NULL, 0},
    {"input_order", "  - {name: small, args: n=10, weight: 3}\n  - {name: large, args: n=1000}\n",
     "  - {name: large, args: n=1000}\n  - {name: small, args: n=10, weight: 3}\n", NULL, NULL, 0},
    {"source_order", "[bowl.c, deep]", "[deep, bowl.c]", NULL, NULL, 0},
    {"quotes", "name: bowl", "name: 'bowl'", NULL, NULL, 0},
    {"spaces", "-O3 -march=native", "'-O3   -march=native'", NULL, NULL, 0},
    {"weights_scaled", "weight: 3", "weight: 3.0", NULL, NULL, 0},
    {"number_text", "1e-5", "0.00001", NULL, NULL, 0},
    {"unit", "50 ms", "0.05 s", NULL, NULL, 0},
    {"budget", "evaluations: 40", "evaluations: 400", NULL, NULL, 0},
    {"name", "name: bowl", "name: dish", NULL, NULL, 0},
    {"doc", "name: bowl\n", "name: bowl\ndoc: about bowls\n", NULL, NULL, 0},
    {"engine", "name: bowl\n", "name: bowl\nengine: random\n", NULL, NULL, 0},
};

static bool found(const hn_differences *d, const char *part, const char *what) {
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->item[i].part, part) && !strcmp(d->item[i].what, what)) return true;
    return false;
}

static void tell(const hn_differences *d) {
    for (size_t i = 0; i < d->n; i++)
        printf("#   %s '%s': %s -> %s\n", d->item[i].part, d->item[i].what, d->item[i].then, d->item[i].now);
}

static void test_workload_mutations(const site *s) {
    for (size_t m = 0; m < sizeof mutations / sizeof *mutations; m++) {
        hn_arena a = {0};
        hn_differences d = {.a = &a};
        hone_controls then, now = {0};
        char h1[33], h2[33] = "";
        hone_err err = {0};
        char *text = replaced(fix_workload, mutations[m].from, mutations[m].to), *first = text;
        if (!strcmp(mutations[m].to, "source: harness")) /* which alone is refused */
            text = replaced(first, "bowl.c -o {out}", "bowl.c {harness} -o {out}"), free(first);
        hone_rc rc = key_of(s, fix_workload, &then, &a, h1, &err);
        if (!rc) rc = key_of(s, text, &now, &a, h2, &err);
        if (!rc) hn_key_compare(&then, &now, NULL, &d);
        if (!ok(!rc && found(&d, mutations[m].part, mutations[m].what) && d.n == mutations[m].n,
                "check/key_names_%s (%s)", mutations[m].name, err.text))
            tell(&d);
        free(text);
        hn_arena_free(&a);
    }
}

static void test_harmless(const site *s) {
    for (size_t m = 0; m < sizeof harmless / sizeof *harmless; m++) {
        hn_arena a = {0};
        hn_differences d = {.a = &a};
        hone_controls then, now = {0};
        char h1[33], h2[33];
        hone_err err = {0};
        char *text = replaced(fix_workload, harmless[m].from, harmless[m].to);
        hone_rc rc = key_of(s, fix_workload, &then, &a, h1, &err);
        if (!rc) rc = key_of(s, text, &now, &a, h2, &err);
        if (!rc) hn_key_compare(&then, &now, NULL, &d);
        if (!ok(!rc && d.n == 0 && !strcmp(then.space_hash, now.space_hash), "check/key_lets_%s_be (%s)",
                harmless[m].name, err.text))
            tell(&d);
        free(text);
        hn_arena_free(&a);
    }
}

/* --- compiler and machine: injected ---------------------------------------------------------------------------- */

static void test_injected(void) {
    static const struct {
        const char *name, *field, *part;
        int list; /* 0 compiler, 1 baseline's compiler, 2 machine */
    } injected[] = {
        {"compiler_family", "family", "compiler", 0},
        {"compiler_version", "version", "compiler", 0},
        {"compiler_binary", "hash", "compiler", 0},
        {"compiler_march", "march", "cpu", 0},
        {"baseline_version", "version", "baseline", 1},
        {"baseline_binary", "hash", "baseline", 1},
        {"cpu_model", "cpu", "cpu", 2},
        {"cpu_features", "features", "cpu", 2},
        {"driver", "driver", "driver", 2},
        {"compiler_path", "path", NULL, 0},
        {"kernel", "kernel", NULL, 2},
        {"memory", "memory", NULL, 2},
    };
    for (size_t i = 0; i < sizeof injected / sizeof *injected; i++) {
        hone_pair tool[] = {{"family", "gcc"}, {"version", "12"}, {"hash", "aa"}, {"march", "x"}, {"path", "/p"}};
        hone_pair machine[] = {{"cpu", "A"}, {"features", "f"}, {"driver", "none"}, {"kernel", "k"}, {"memory", "1"}};
        hone_pair other[5], other_machine[5];
        memcpy(other, tool, sizeof tool);
        memcpy(other_machine, machine, sizeof machine);
        hone_controls then = {.format = 1,
                              .compiler = "gcc",
                              .baseline = "",
                              .tool = tool,
                              .n_tool = 5,
                              .baseline_tool = tool,
                              .n_baseline_tool = 5,
                              .machine = machine,
                              .n_machine = 5};
        hone_controls now = then;
        if (injected[i].list == 0) now.tool = other;
        if (injected[i].list == 1) now.baseline_tool = other;
        if (injected[i].list == 2) now.machine = other_machine;
        hone_pair *list = injected[i].list == 2 ? other_machine : other;
        for (int k = 0; k < 5; k++)
            if (!strcmp(list[k].name, injected[i].field)) list[k].value = "other";
        hn_arena a = {0};
        hn_differences d = {.a = &a};
        hn_key_compare(&then, &now, NULL, &d);
        if (injected[i].part)
            ok(d.n == 1 && found(&d, injected[i].part, injected[i].field) && !strcmp(d.item[0].now, "other"),
               "check/key_names_%s", injected[i].name);
        else
            ok(d.n == 0, "check/key_lets_%s_be", injected[i].name);
        hn_arena_free(&a);
    }
}

static void test_features(void) {
    hone_machine a, b;
    hone_machine_get(&a);
    hone_machine_get(&b);
    ok(strlen(a.features) == 32 && !strcmp(a.features, b.features) && strcmp(a.features, a.hash) != 0,
       "check/features_of_the_machine_are_stable");
}

/* --- whole files ----------------------------------------------------------------------------------------------- */

static hone_check_result check(const site *s, const hone_check_options *base) {
    char path[200], cache[200];
    hone_check_options o = base ? *base : hone_check_defaults();
    hone_check_result r = {.status = HONE_N_CHECK};
    hone_err err = {0};
    hone_prove_options prove = site_options(s, cache);
    o.prove = &prove;
    snprintf(path, sizeof path, "%s/bowl.hone", s->dir);
    if (hone_check_controls(path, &o, &r, &err)) r.text = "", printf("# error: %s\n", err.text);
    return r;
}

static void expect(const char *name, hone_check_result r, hone_check_status status, const char *part, const char *what,
                   const char *text) {
    bool named = !part;
    for (size_t i = 0; i < r.n_differences; i++)
        named |= part && !strcmp(r.difference[i].part, part) && !strcmp(r.difference[i].what, what);
    if (!ok(r.status == status && named && (!text || strstr(r.text, text)), "check/%s", name)) {
        printf("#   %s: %s\n", hone_check_name(r.status), r.text ? r.text : "");
        for (size_t i = 0; i < r.n_differences; i++)
            printf("#   %s '%s': %s -> %s\n", r.difference[i].part, r.difference[i].what, r.difference[i].then,
                   r.difference[i].now);
    }
    hone_check_free(&r);
}

static char *slurp(const site *s, const char *name, size_t *n) {
    char path[200], *text = NULL;
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    if (hn_read_file(path, &text, n, NULL)) abort();
    return text;
}

static void drop(const site *s, const char *name) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    unlink(path);
}

static void test_world(const site *s) {
    expect("untouched_is_valid", check(s, NULL), HONE_CHECK_VALID, NULL, NULL, "nothing that counts has changed");
    put(s, "bowl.c", "int main(void) { return 1; }\n");
    expect("one_byte_of_a_source", check(s, NULL), HONE_CHECK_STALE, "source", "bowl.c", "source 'bowl.c'");
    put(s, "bowl.c", "int main(void) { return 0; }\n");
    put(s, "deep/bowl.h", "#define A 2\n");
    expect("one_byte_of_a_header", check(s, NULL), HONE_CHECK_STALE, "source", "deep/bowl.h", NULL);
    put(s, "deep/bowl.h", "#define A 1\n");
    put(s, "deep/more.h", "\n");
    expect("source_added", check(s, NULL), HONE_CHECK_STALE, "source", "deep/more.h", NULL);
    drop(s, "deep/more.h");
    drop(s, "bowl.c");
    expect("source_missing", check(s, NULL), HONE_CHECK_STALE, "source", "bowl.c", NULL);
    put(s, "bowl.c", "int main(void) { return 0; }\n");
    char *text = replaced(fix_workload, "n=1000", "n=1001");
    put(s, "hone.yaml", text);
    free(text);
    expect("input_shape", check(s, NULL), HONE_CHECK_STALE, "input", "large", NULL);
    put(s, "hone.yaml", "nonsense: 1\n");
    expect("workload_broken", check(s, NULL), HONE_CHECK_STALE, "workload", "file", NULL);
    drop(s, "hone.yaml");
    expect("workload_missing", check(s, NULL), HONE_CHECK_STALE, "workload", "file", NULL);
    put(s, "other.yaml", fix_workload);
    hone_check_options o = {.size = sizeof(hone_check_options), .workload = "other.yaml"};
    expect("workload_named", check(s, &o), HONE_CHECK_VALID, NULL, NULL, NULL);
    put(s, "hone.yaml", fix_workload);
    put_compiler(s, "two");
    expect("compiler_binary", check(s, NULL), HONE_CHECK_STALE, "compiler", "hash", NULL);
    drop(s, "mycc");
    expect("compiler_gone", check(s, NULL), HONE_CHECK_STALE, "compiler", "command", NULL);
    put_compiler(s, "two");
    o = (hone_check_options){.size = sizeof(hone_check_options), .ignore = "compiler, cpu"};
    expect("compiler_ignored", check(s, &o), HONE_CHECK_VALID, NULL, NULL, "not looked at: compiler, cpu");
    put(s, "bowl.c", "int main(void) { return 2; }\n");
    expect("source_beside_ignored_compiler", check(s, &o), HONE_CHECK_STALE, "source", "bowl.c", "1 part differs");
    put(s, "bowl.c", "int main(void) { return 0; }\n");
    put_compiler(s, "one");
    hone_check_result r;
    hone_err err = {0};
    o.ignore = "compilr";
    ok(hone_check_controls("bowl.hone", &o, &r, &err) == HONE_E_INPUT && strstr(err.text, "did you mean 'compiler'"),
       "check/unknown_part_to_ignore (%s)", err.text);
    o.ignore = "format";
    ok(hone_check_controls("bowl.hone", &o, &r, &err) == HONE_E_INPUT, "check/format_cannot_be_ignored (%s)", err.text);
    expect("back_to_valid", check(s, NULL), HONE_CHECK_VALID, NULL, NULL, NULL);
}

/* Edits of the file that keep it readable: every one is tampered, whatever it touches. */
static void test_edits(const site *s) {
    static const struct {
        const char *name, *from, *to;
    } edit[] = {
        {"control", "  TILE: 7", "  TILE: 6"},
        {"flag", "- \"-O3\"", "- \"-O2\""},
        {"verdict", "1.25 times", "1.95 times"},
        {"claim", "[1.2, 1.25, 1.3]", "[1.2, 1.25, 1.4]"},
        {"source_hash", "    bowl.c: \"", "    bowl.c: \"0"},
        {"comment", "# Compiler", "# compiler"},
        {"pairs", "pairs: 100", "pairs: 101"},
        {"extra_key", "format: 1\n", "format: 1\nmore: 1\n"},
        {"extra_line_at_the_end", "digest:", "\ndigest:"},
        {"response_hash", "response_file: ", "response_file: 0"},
        {"cpu", "    cpu: ", "    cpu:  "},
    };
    size_t n;
    char *whole = slurp(s, "bowl.hone", &n);
    for (size_t i = 0; i < sizeof edit / sizeof *edit; i++) {
        char *text = replaced(whole, edit[i].from, edit[i].to), name[80];
        put(s, "bowl.hone", text);
        free(text);
        snprintf(name, sizeof name, "edited_%s_is_tampered", edit[i].name);
        expect(name, check(s, NULL), HONE_CHECK_TAMPERED, NULL, NULL, "changed after it was written");
    }
    char *text = replaced(whole, "format: 1\n", "format: 2\n");
    put(s, "bowl.hone", text);
    free(text);
    expect("later_format", check(s, NULL), HONE_CHECK_STALE, "format", "controls file", "newer hone");
    put(s, "bowl.hone", whole);
    free(whole);
}

static void test_response(const site *s) {
    size_t n;
    char *rsp = slurp(s, "bowl.rsp", &n);
    rsp[1] ^= 1;
    put(s, "bowl.rsp", rsp);
    expect("response_file_changed", check(s, NULL), HONE_CHECK_TAMPERED, "response file", "flags", NULL);
    rsp[1] ^= 1;
    drop(s, "bowl.rsp");
    expect("response_file_missing", check(s, NULL), HONE_CHECK_STALE, "response file", "file", NULL);
    put(s, "bowl.rsp", rsp);
    free(rsp);
}

static void test_broken(const site *s) {
    size_t n;
    char *whole = slurp(s, "bowl.hone", &n), *half = strndup(whole, n / 2);
    put(s, "bowl.hone", "");
    expect("empty_is_broken", check(s, NULL), HONE_CHECK_BROKEN, NULL, NULL, "empty");
    put(s, "bowl.hone", half);
    expect("truncated_is_broken", check(s, NULL), HONE_CHECK_BROKEN, NULL, NULL, "cut short");
    put(s, "bowl.hone", "hello\n");
    expect("other_text_is_broken", check(s, NULL), HONE_CHECK_BROKEN, NULL, NULL, "no controls file");
    drop(s, "bowl.hone");
    expect("missing_is_broken", check(s, NULL), HONE_CHECK_BROKEN, NULL, NULL, "No such file");
    put(s, "bowl.hone", whole);
    free(half);
    free(whole);
}

static void test_signed(const site *s) {
    char key[200], pub[200], other[200], other_pub[200], path[200];
    snprintf(key, sizeof key, "%s/key", s->dir);
    snprintf(pub, sizeof pub, "%s/key.pub", s->dir);
    snprintf(other, sizeof other, "%s/other", s->dir);
    snprintf(other_pub, sizeof other_pub, "%s/other.pub", s->dir);
    snprintf(path, sizeof path, "%s/bowl.hone", s->dir);
    if (hone_key_generate(key, NULL, NULL) || hone_key_generate(other, NULL, NULL)) abort();
    hone_check_options o = hone_check_defaults(), wrong = o, none = o;
    o.public_key = pub, wrong.public_key = other_pub, none.public_key = "/no/key";
    expect("unsigned_where_a_key_is_asked_for", check(s, &o), HONE_CHECK_TAMPERED, NULL, NULL, "not signed");
    if (hone_controls_sign(path, key, NULL)) abort();
    expect("signed_is_valid", check(s, &o), HONE_CHECK_VALID, NULL, NULL, NULL);
    expect("signed_is_valid_without_a_key", check(s, NULL), HONE_CHECK_VALID, NULL, NULL, NULL);
    expect("other_key", check(s, &wrong), HONE_CHECK_TAMPERED, NULL, NULL, "another key");
    hone_check_result r;
    hone_err err = {0};
    ok(hone_check_controls(path, &none, &r, &err) == HONE_E_IO, "check/key_missing_is_an_error (%s)", err.text);
    size_t n, bad = 0;
    char *text = slurp(s, "bowl.hone", &n);
    for (size_t i = 0; i < n; i++) { /* through the file and the whole check */
        if (i % 7) continue;
        text[i] ^= 4;
        if (hn_write_file(path, text, n, NULL)) abort();
        text[i] ^= 4;
        r = check(s, &o);
        bad += r.status != HONE_CHECK_TAMPERED;
        hone_check_free(&r);
    }
    ok(bad == 0, "check/flipped_bytes_of_a_signed_file_are_tampered (%zu are not)", bad);
    put(s, "bowl.hone", text);
    free(text);
    test_response(s);
}

/* --- measured again -------------------------------------------------------------------------------------------- */

static void test_proof(void) {
    static hone_controls_row rows[] = {{"median(cost)", "", false, {1.2, 1.25, 1.3}, {0}, {0}},
                                       {"code_size", "", false, {0.9, 0.9, 0.9}, {0}, {0}}};
    hone_controls claim = {.row = rows, .n_rows = 2};
    static const struct {
        const char *name;
        hone_interval gain, size;
        bool kept;
        hone_proof_reject why;
        hone_check_status status;
    } t[] = {
        {"same", {1.2, 1.25, 1.3}, {0.9, 0.9, 0.9}, true, HONE_NOT_REJECTED, HONE_CHECK_VALID},
        {"better", {1.4, 1.5, 1.6}, {0.95, 0.95, 0.95}, true, HONE_NOT_REJECTED, HONE_CHECK_VALID},
        {"wide", {0.9, 1.1, 1.35}, {0.9, 0.9, 0.9}, false, HONE_REJECT_UNDECIDED, HONE_CHECK_VALID},
        {"less_than_claimed", {1.1, 1.15, 1.19}, {0.9, 0.9, 0.9}, true, HONE_NOT_REJECTED, HONE_CHECK_REGRESSED},
        {"gone", {0.99, 1, 1.005}, {0.9, 0.9, 0.9}, false, HONE_REJECT_GAIN, HONE_CHECK_REGRESSED},
        {"second_objective", {1.2, 1.25, 1.3}, {0.8, 0.8, 0.8}, true, HONE_NOT_REJECTED, HONE_CHECK_REGRESSED},
        {"wrong_result", {1.2, 1.25, 1.3}, {0.9, 0.9, 0.9}, false, HONE_REJECT_PARITY, HONE_CHECK_REGRESSED},
        {"does_not_build", {NAN, NAN, NAN}, {NAN, NAN, NAN}, false, HONE_REJECT_FAILS, HONE_CHECK_REGRESSED},
        {"same_object", {NAN, NAN, NAN}, {NAN, NAN, NAN}, false, HONE_REJECT_SAME, HONE_CHECK_REGRESSED},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        hone_comparison overall[] = {{.quantity = "median(cost)", .input = "", .gain = t[i].gain},
                                     {.quantity = "code_size", .input = "", .gain = t[i].size}};
        hone_proof p = {.kept = t[i].kept, .why = t[i].why, .verdict = "words", .n_objectives = 2, .overall = overall};
        hn_arena a = {0};
        const char *why = NULL;
        ok(hn_check_proof(&claim, &p, 0.01, &a, &why) == t[i].status && (t[i].status == HONE_CHECK_VALID) == !why,
           "check/measured_%s", t[i].name);
        hn_arena_free(&a);
    }
}

/* --- making and importing -------------------------------------------------------------------------------------- */

static void test_make(const site *s, const hone_controls *c) {
    char cache[200];
    hone_prove_options o = site_options(s, cache);
    hone_workload *w;
    hone_controls *got = NULL;
    hone_err err = {0};
    is_text(c->workload, "hone.yaml", "make/workload_is_relative");
    ok(c->n_parameters == 2 && c->n_controls == 0 && c->n_sources == 2 && c->n_inputs == 3, "make/parts");
    ok(c->n_flags && !strcmp(c->flag[c->n_flags - 1], "-DTILE=7"), "make/flags_end_with_defines");
    if (hone_workload_load("hone.yaml", &w, &err)) abort();
    hone_proof p = fix_proof();
    hone_reduction other = {.point = "{\"TILE\":6,\"STEP\":2}"};
    ok(hone_controls_make(w, &p, &other, 0, NULL, &o, &got, &err) == HONE_E_MISMATCH && !got,
       "make/proof_of_another_point_is_refused (%s)", err.text);
    p.kept = false;
    p.why = HONE_REJECT_TAIL;
    ok(hone_controls_make(w, &p, NULL, 0, NULL, &o, &got, &err) == HONE_E_INPUT && strstr(err.text, "tail"),
       "make/rejected_is_refused (%s)", err.text);
    hone_workload_free(w);
}

static void import_as(const char *name, const site *s, const hone_controls *c, const char *from, const char *to,
                      const char *want_gone) {
    char cache[200], *point = NULL, *gone = NULL, *strict = NULL;
    hone_prove_options o = site_options(s, cache);
    hone_workload *w;
    hone_err err = {0};
    char *text = replaced(fix_workload, from, to);
    if (hone_workload_parse(text, strlen(text), "hone.yaml", s->dir, &w, &err))
        printf("Bail out! %s\n", err.text), exit(1);
    hone_rc rc = hone_controls_nearest(c, w, &o, &point, &gone, &err);
    bool fine = !rc && (*want_gone ? strstr(gone, want_gone) != NULL : !*gone);
    rc = hone_controls_point(c, w, &o, &strict, &err);
    fine = fine && (*want_gone ? rc == HONE_E_MISMATCH && strstr(err.text, want_gone) && !strict : !rc && strict);
    if (!ok(fine, "import/%s", name)) printf("#   gone: %s\n#   strict: %s\n", gone ? gone : "", err.text);
    hone_free(point);
    hone_free(gone);
    hone_free(strict);
    hone_workload_free(w);
    free(text);
}

static void test_import(const site *s, const hone_controls *c) {
    import_as("same_space", s, c, "name: bowl", "name: bowl", "");
    import_as("wider_space", s, c, "constraints:", "  MORE: {type: int, range: [0, 9], default: 0}\nconstraints:", "");
    import_as("value_out_of_range", s, c, "range: [0, 9]", "range: [0, 6]", "TILE = 7");
    import_as("parameter_gone", s, c,
              "  TILE: {type: int, range: [0, 9], default: 0}\n"
              "  STEP: {type: int, range: [1, 4], default: 1}\n"
              "constraints: ['TILE * STEP <= 30']\n",
              "  TILES: {type: int, range: [0, 9], default: 0}\n"
              "  STEP: {type: int, range: [1, 4], default: 1}\n",
              "TILE = 7: the space has no such parameter");
    import_as("constraint_broken", s, c, "<= 30", "<= 3", "constraint");
    import_as("other_family", s, c, "[./mycc]", "[clang-19]", "compiler");
}

int main(void) {
    site s = make_site();
    hone_controls *c = NULL;
    make_file(&s, &c);
    test_workload_mutations(&s);
    test_harmless(&s);
    test_injected();
    test_features();
    test_proof();
    test_make(&s, c);
    test_world(&s);
    test_edits(&s);
    test_response(&s);
    test_broken(&s);
    test_signed(&s);
    test_import(&s, c);
    hone_controls_free(c);
    if (chdir("/")) return 1;
    hn_remove_tree(s.dir, NULL);
    return done_testing();
}
