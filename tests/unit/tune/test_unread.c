/* Controls that leave out what nobody reads: offered under the strict contract, withheld with the place that reads. */
#include "tap.h"

#include "base/fs.h"
#include "base/str.h"
#include "tune/unread.h"

#include <math.h>
#include <unistd.h>

static char dir[] = "/tmp/hone-test-unread-XXXXXX", cache[] = "/tmp/hone-test-unread-cache-XXXXXX";

static const char roots[] = "#include <math.h>\n#include <stdio.h>\n"
                            "int main(int n, char **v) {\n    double s = 0;\n    (void)v;\n"
                            "    for (int i = 0; i < 1000; i++) s += sqrt(i * (double)n);\n";
static const char looks[] = "    if (errno) puts(\"of something negative\");\n";
static const char end[] = "    printf(\"%.17g\\n\", s);\n    return 0;\n}\n";

static void write_kernel(const char *extra_head, const char *extra) {
    hn_str s = {0};
    char path[200];
    hn_str_addf(&s, "%s%s%s%s", extra_head, roots, extra, end);
    snprintf(path, sizeof path, "%s/k.c", dir);
    hn_write_file(path, s.text, s.n, NULL);
    hn_str_free(&s);
}

static hone_workload *workload(const char *compiler, const char *more) {
    hn_str s = {0};
    hone_workload *w = NULL;
    hone_err err = {0};
    hn_str_addf(&s,
                "hone: 1\nname: roots\nsources: [k.c]\nbuild: '{cc} {flags} k.c -o {out} -lm'\nrun: '{out}'\n"
                "compilers: [%s]\nbaseline: {flags: -O2, floating_point: strict}\nobjectives: [minimize code_size]\n%s",
                compiler, more);
    if (hone_workload_parse(s.text, s.n, "roots", dir, &w, &err)) printf("# %s\n", err.text);
    hn_str_free(&s);
    return w;
}

/* of_own: the answer is kept in this test's folder, else where the probes of the compilers are. */
static hn_plan *open_plan(const hone_workload *w, bool of_own) {
    hone_tune_options o = hone_tune_defaults();
    hn_plan *plan = NULL;
    hone_err err = {0};
    if (of_own) o.cache_dir = cache;
    if (!w || hn_plan_open(w, &o, NULL, &plan, &err)) printf("# %s\n", err.text);
    return plan;
}

static bool has(const hn_plan *plan, const char *name) { return hone_space_find(plan->space, name) != SIZE_MAX; }

static bool says(const hn_plan *plan, const char *want) {
    char *text = hn_unread_text(plan);
    bool found = text && strstr(text, want);
    if (!found) printf("# %s\n", text ? text : "nothing");
    free(text);
    return found;
}

/* The words stand in the flags of a point that has the gene, under the strict contract. */
static bool reaches_the_compiler(const hn_plan *plan, const char *compiler) {
    char gene[80];
    hn_recipe r;
    bool found = false;
    snprintf(gene, sizeof gene, "%s.-fmath-errno", compiler);
    double *point = malloc(hone_space_slots(plan->space) * sizeof *point);
    memcpy(point, plan->base, hone_space_slots(plan->space) * sizeof *point);
    bool set = hn_plan_set(plan->space, point, hone_space_find(plan->space, gene), "off");
    if (set && !hn_plan_recipe(plan, point, &r, NULL)) {
        for (size_t i = 0; i < r.n_flags; i++) found |= !strcmp(r.flag[i], "-fno-math-errno");
        hn_recipe_free(&r);
    }
    free(point);
    return found;
}

static void test_compiler(const char *compiler) {
    char errno_gene[80], traps[80];
    snprintf(errno_gene, sizeof errno_gene, "%s.-fmath-errno", compiler);
    snprintf(traps, sizeof traps, "%s.-ftrapping-math", compiler);
    write_kernel("", "");
    hone_workload *w = workload(compiler, "parity: {rule: exact}\n");
    hn_plan *plan = open_plan(w, false);
    if (ok(plan != NULL, "unread/%s_opens", compiler)) {
        ok(has(plan, errno_gene) && has(plan, traps), "unread/%s_offers_both_when_nobody_looks", compiler);
        ok(says(plan, "-fno-math-errno is offered: nothing in the program reads errno"), "unread/%s_says_why",
           compiler);
        size_t i = hone_space_find(plan->space, errno_gene);
        const hone_param *p = i == SIZE_MAX ? NULL : hone_space_param(plan->space, i);
        ok(p && p->n_values == 1 && !strcmp(p->values[0], "off") && !strcmp(p->tag, "unread"),
           "unread/%s_offers_the_safe_value_alone", compiler);
        ok(reaches_the_compiler(plan, compiler), "unread/%s_is_told", compiler);
    }
    hn_plan_close(plan);
    write_kernel("#include <errno.h>\n", looks);
    plan = open_plan(w, false);
    if (ok(plan != NULL, "unread/%s_opens_again", compiler)) {
        ok(!has(plan, errno_gene) && has(plan, traps), "unread/%s_withholds_what_is_read", compiler);
        ok(says(plan, "-fno-math-errno is not offered: the program reads errno: '__errno_location', k.c:8"),
           "unread/%s_says_where", compiler);
        char *json = hn_unread_json(plan);
        ok(json && strstr(json, "\"offered\":false") && strstr(json, "\"place\":\"k.c:8\""), "unread/%s_json",
           compiler);
        free(json);
    }
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* Found once for the same sources, build and compiler: the second plan builds nothing. */
static void test_cache(void) {
    hone_workload *w = workload("gcc", "parity: {rule: exact}\n");
    write_kernel("", "");
    char shell[600], *probes = hn_cache_dir();
    snprintf(shell, sizeof shell, "cp '%s'/*.tsv %s/ && rm -f %s/readers-*", probes, cache, cache);
    ok(system(shell) == 0, "unread/the_compiler_was_probed");
    free(probes);
    hn_plan *plan = open_plan(w, true);
    hn_plan_close(plan);
    snprintf(shell, sizeof shell, "sed -i 's/^0\t/1\t/' %s/readers-*.tsv", cache);
    ok(system(shell) == 0, "unread/the_cache_is_there");
    plan = open_plan(w, true);
    ok(plan && !has(plan, "gcc.-fmath-errno"), "unread/the_cache_answers");
    hn_plan_close(plan);
    snprintf(shell, sizeof shell, "sed -i 's/readers 1/readers 0/' %s/readers-*.tsv", cache);
    ok(system(shell) == 0, "unread/the_cache_is_spoilt");
    plan = open_plan(w, true);
    ok(plan && has(plan, "gcc.-fmath-errno"), "unread/a_spoilt_cache_is_made_anew");
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* Nothing is built to look where it would not matter, and what does not build is not known. */
static void test_others(void) {
    write_kernel("", "");
    hone_workload *w = workload("gcc", "parity: {rule: rel, tolerance: 1e-6}\nfloating_point: fast\n");
    hn_plan *plan = open_plan(w, false);
    ok(plan && !plan->unread_known && has(plan, "gcc.-fmath-errno"), "unread/numeric_controls_are_offered_anyway");
    hn_plan_close(plan);
    hone_workload_free(w);
    w = workload("gcc", "parity: {rule: exact}\ncontrols: false\n");
    plan = open_plan(w, false);
    ok(plan && !plan->unread_known, "unread/without_controls_nothing_is_looked_at");
    hn_plan_close(plan);
    hone_workload_free(w);
    write_kernel("#error broken\n", "");
    w = workload("gcc", "parity: {rule: exact}\n");
    plan = open_plan(w, false);
    ok(plan && !has(plan, "gcc.-fmath-errno") && says(plan, "not known: the baseline does not build"),
       "unread/what_does_not_build_is_not_known");
    hn_plan_close(plan);
    hone_workload_free(w);
}

int main(void) {
    if (!mkdtemp(dir) || !mkdtemp(cache)) return 1;
    test_compiler("gcc");
    char *clang = hn_which("clang-19");
    if (clang)
        test_compiler("clang-19");
    else
        skip(1, "unread/clang: clang-19 is not installed");
    free(clang);
    test_cache();
    test_others();
    hn_remove_tree(dir, NULL);
    hn_remove_tree(cache, NULL);
    return done_testing();
}
