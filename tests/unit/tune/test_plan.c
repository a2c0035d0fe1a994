/* Baseline words as genes, contracts, seeds, defines and recipes, with the gcc and clang that are here. */
#include "tap.h"

#include "base/fs.h"
#include "proc/proc.h"
#include "tune/plan.h"

#include <math.h>
#include <unistd.h>

static hone_workload *parse(const char *text) {
    hone_workload *w = NULL;
    hone_err err = {0};
    if (hone_workload_parse(text, strlen(text), "plan", "/tmp", &w, &err)) printf("# %s\n", err.text);
    return w;
}

static hn_plan *open_plan(const hone_workload *w) {
    hn_plan *plan = NULL;
    hone_err err = {0};
    if (!w || hn_plan_open(w, NULL, NULL, &plan, &err)) printf("# %s\n", err.text);
    return plan;
}

static double gene(const hn_plan *plan, const double *point, const char *name) {
    size_t i = hone_space_find(plan->space, name);
    return i == SIZE_MAX ? -1 : point[hone_space_param(plan->space, i)->slot];
}

static bool is_set(const hn_plan *plan, const double *point, const char *name, const char *want) {
    char text[100] = "absent";
    size_t i = hone_space_find(plan->space, name);
    if (i != SIZE_MAX) hone_point_text(plan->space, point, i, text, sizeof text);
    if (strcmp(text, want)) printf("# '%s' is %s\n", name, text);
    return !strcmp(text, want);
}

static bool line_has(const hn_plan *plan, const double *point, const char *word) {
    hn_recipe r;
    hone_err err = {0};
    if (hn_plan_recipe(plan, point, &r, &err)) return false;
    bool found = false;
    for (size_t i = 0; i < r.n_flags; i++) found |= !strcmp(r.flag[i], word);
    hn_recipe_free(&r);
    return found;
}

static bool keeps(const hn_plan *plan, const char *word) {
    for (size_t i = 0; i < plan->n_keep; i++)
        if (!strcmp(plan->keep[i], word)) return true;
    return false;
}

/* Each word of the baseline is a gene, or goes to all candidates as it is. */
static void test_baseline_words(void) {
    static const char text[] =
        "hone: 1\nname: words\nbuild: '{cc} {flags} a.c -o {out}'\nrun: '{out}'\ncompilers: [gcc]\n"
        "baseline: {flags: '-O2 -march=native -DNDEBUG -fno-tree-vectorize -funroll-loops -pthread "
        "--param=max-unroll-times=5 --param=no-such-thing=3 -fno-strict-aliasing -Wall'}\n"
        "objectives: [minimize code_size]\nparity: {rule: none}\n";
    hone_workload *w = parse(text);
    hn_plan *plan = open_plan(w);
    if (ok(plan != NULL, "plan/words_open")) {
        static const struct {
            const char *name, *value;
        } genes[] = {
            {"gcc.-O", "2"},
            {"gcc.-march", "native"},
            {"gcc.-ftree-vectorize", "off"},
            {"gcc.-funroll-loops", "on"},
            {"gcc.--param=max-unroll-times", "5"},
        };
        for (size_t i = 0; i < sizeof genes / sizeof *genes; i++)
            ok(is_set(plan, plan->base, genes[i].name, genes[i].value), "plan/word_is_gene %s", genes[i].name);
        static const char *const kept[] = {"-DNDEBUG", "-pthread", "--param=no-such-thing=3", "-fno-strict-aliasing",
                                           "-Wall"};
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
            ok(keeps(plan, kept[i]), "plan/word_is_kept %s", kept[i]);
            ok(line_has(plan, plan->base, kept[i]) && line_has(plan, NULL, kept[i]), "plan/kept_reaches_both_sides %s",
               kept[i]);
        }
        hn_recipe r;
        if (!hn_plan_recipe(plan, plan->base, &r, NULL)) {
            is_text(r.flag[r.n_flags - 1], "-Wall", "plan/kept_words_come_last");
            hn_recipe_free(&r);
        }
        double *none = calloc(hone_space_slots(plan->space), sizeof *none);
        hone_space_default(plan->space, none);
        ok(line_has(plan, none, "-fno-strict-aliasing"), "plan/no_candidate_loses_what_the_code_may_need");
        free(none);
        ok(hone_point_legal(plan->space, plan->base, NULL), "plan/baseline_is_a_legal_point");
        ok(line_has(plan, plan->base, "-O2") && line_has(plan, plan->base, "-fno-tree-vectorize"),
           "plan/baseline_point_renders_its_words");
    }
    hn_plan_close(plan);
    hone_workload_free(w);
}

static void test_contracts(void) {
    static const struct {
        const char *name, *flags, *parity, *want;
        bool gene;
    } cases[] = {
        {"plain_exact", "-O2", "exact", NULL, false},
        {"off_is_strict", "-O2 -ffp-contract=off", "exact", "-ffp-contract=off", false},
        {"fast_is_kept", "-O2 -ffast-math", "exact", "-ffast-math", false},
        {"tolerance_offers", "-O2", "{rule: rel, tolerance: 1e-6}", NULL, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_str text = {0};
        hn_str_addf(&text,
                    "hone: 1\nname: fp\nbuild: '{cc} {flags} a.c -o {out}'\nrun: '{out}'\n"
                    "compilers: [gcc]\nbaseline: {flags: '%s'}\nobjectives: [minimize code_size]\nparity: %s%s%s\n",
                    cases[i].flags, *cases[i].parity == '{' ? "" : "{rule: ", cases[i].parity,
                    *cases[i].parity == '{' ? "" : "}");
        hone_workload *w = parse(text.text);
        hn_plan *plan = open_plan(w);
        if (ok(plan != NULL, "plan/contract_%s_opens", cases[i].name)) {
            ok((plan->i_fp != SIZE_MAX) == cases[i].gene, "plan/contract_%s_gene", cases[i].name);
            const char *want = cases[i].want;
            ok(!want || (line_has(plan, NULL, want) && line_has(plan, plan->base, want)),
               "plan/contract_%s_on_both_sides", cases[i].name);
            ok(!want || !keeps(plan, want), "plan/contract_%s_is_not_kept", cases[i].name);
            if (cases[i].gene)
                ok(gene(plan, plan->base, "fp") == (double)w->fp_baseline - (double)w->fp_min,
                   "plan/contract_%s_of_the_baseline", cases[i].name);
        }
        hn_plan_close(plan);
        hone_workload_free(w);
        hn_str_free(&text);
    }
}

static void test_two_compilers(void) {
    static const char text[] =
        "hone: 1\nname: two\nbuild: '{cc} {flags} {defines} a.c -o {out}'\nrun: '{out}'\n"
        "compilers: [gcc, gcc-12]\nparameters: {N: [1, 2]}\nobjectives: [minimize code_size]\nparity: {rule: none}\n";
    hone_workload *w = parse(text);
    hn_plan *plan = open_plan(w);
    if (!ok(plan != NULL, "plan/two_compilers_open")) {
        hone_workload_free(w);
        return;
    }
    hn_seeds s = {0};
    size_t slots = hone_space_slots(plan->space), of[2] = {0, 0}, n_legal = 0, n_drawn = 0, at_drawn = 0;
    ok(hn_plan_seeds(plan, 6, &s, NULL) == HONE_OK && s.n == 1 + s.n_plain + 6 + 1, "plan/as_many_rule_seeds_as_asked");
    ok(s.n && !memcmp(s.point, plan->base, slots * sizeof *s.point), "plan/first_seed_is_the_baseline");
    for (size_t i = 1; i < s.n; i++) {
        bool drawn = gene(plan, s.point + i * slots, "N") != plan->base[0]; /* the only other value of N */
        if (drawn) n_drawn++, at_drawn = i;
        of[(size_t)gene(plan, s.point + i * slots, "compiler")] += i > s.n_plain && !drawn;
        n_legal += hone_point_legal(plan->space, s.point + i * slots, NULL);
    }
    ok(of[0] == 3 && of[1] == 3, "plan/rule_seeds_are_dealt_in_turn");
    ok(n_legal == s.n - 1, "plan/seeds_are_legal");
    ok(n_drawn == 1 && at_drawn > s.n_plain && at_drawn < s.n - 1, "plan/own_parameters_are_drawn_among_the_rules");
    if (n_drawn) {
        const double *p = s.point + at_drawn * slots;
        ok(!memcmp(p + 1, plan->base + 1, (slots - 1) * sizeof *p), "plan/controls_stay_where_parameters_are_drawn");
    }
    hn_recipe r;
    if (ok(s.n > 2 && hn_plan_recipe(plan, s.point + 2 * slots, &r, NULL) == HONE_OK, "plan/recipe_of_the_other")) {
        is_text(r.cc, "gcc-12", "plan/other_compiler_builds");
        is_text(r.defines, "-DN=1", "plan/defines_at_default");
        hn_recipe_free(&r);
    }
    hn_seeds_free(&s);
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* The place of a command line among the seeds; 0: it is none of the big choices. */
static size_t plain_at(const hn_plan *plan, const hn_seeds *s, const char *line) {
    for (size_t i = 1; i <= s->n_plain; i++) {
        hn_recipe r;
        if (hn_plan_recipe(plan, s->point + i * hone_space_slots(plan->space), &r, NULL)) return 0;
        char *text = hn_recipe_line(&r, true);
        bool same = text && !strcmp(text, line);
        free(text);
        hn_recipe_free(&r);
        if (same) return i;
    }
    return 0;
}

/* Each compiler's -O3 under each contract is among the first points, before -O2 and all rule seeds. */
static void test_big_choices(void) {
    static const char text[] =
        "hone: 1\nname: big\nbuild: '{cc} {flags} a.c -o {out}'\nrun: '{out}'\ncompilers: [gcc, gcc-12]\n"
        "baseline: {flags: '-O3 -march=x86-64-v3 -funroll-loops'}\nfloating_point: fast\n"
        "objectives: [minimize code_size]\nparity: {rule: rel, tolerance: 1e-4}\n";
    static const struct {
        const char *line;
        size_t before;
    } want[] = {
        {"gcc -O3 -march=x86-64-v3 -funroll-loops -ffast-math -ffp-contract=fast", 1},
        {"gcc -O3 -march=x86-64-v3 -ffast-math -ffp-contract=fast", 8},
        {"gcc-12 -O3 -march=x86-64-v3 -ffast-math -ffp-contract=fast", 8},
        {"gcc -O3 -march=x86-64-v3 -ffp-contract=fast", 8},
        {"gcc-12 -O3 -march=x86-64-v3 -ffp-contract=off", 8},
        {"gcc -O3 -march=x86-64-v3 -ffp-contract=off", 8},
        {"gcc -O2 -march=x86-64-v3 -ffast-math -ffp-contract=fast", 14},
        {"gcc-12 -O2 -march=x86-64-v3 -ffp-contract=off", 14},
        {"gcc -Os -march=x86-64-v3 -ffp-contract=fast", 18},
        {"gcc-12 -O1 -march=x86-64-v3 -ffp-contract=fast", 18},
    };
    hone_workload *w = parse(text);
    hn_plan *plan = open_plan(w);
    hn_seeds s = {0};
    if (ok(plan && !hn_plan_seeds(plan, 3, &s, NULL), "plan/big_choices_open")) {
        for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
            size_t at = plain_at(plan, &s, want[i].line);
            if (!ok(at && at <= want[i].before, "plan/big_choice_comes_early %s", want[i].line))
                printf("# at %zu of %zu\n", at, s.n_plain);
        }
        ok(s.n_plain == 18, "plan/big_choices_come_once (%zu)", s.n_plain);
    }
    hn_seeds_free(&s);
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* Whether a big choice is under this contract and, with a level, has its genes. */
static bool has_choice(const hn_plan *plan, const hn_seeds *s, const double *level, size_t fp) {
    for (size_t i = 0; i <= s->n_plain; i++) {
        const double *point = s->point + i * hone_space_slots(plan->space);
        bool same = gene(plan, point, "fp") == (double)fp;
        for (size_t k = 0; level && same && k < hone_space_n_params(plan->part[0]); k++) {
            const hone_param *from = hone_space_param(plan->part[0], k);
            const hone_param *to = hone_space_param(plan->space, hn_plan_control(plan, 0, from->name));
            double want = level[from->slot], got = point[to->slot];
            same = got == want || (isnan(got) && isnan(want)) || (from->optional && !isnan(want));
        }
        if (same) return true;
    }
    return false;
}

/* Whatever the compiler: its baseline and its first level under each contract that it offers come before all rule
 * seeds, and rule seeds stay under the baseline's contract. */
static void test_contracts_of(const hn_family *family) {
    static const char *const name[] = {
        [HONE_FP_STRICT] = "strict", [HONE_FP_CONTRACT] = "contract", [HONE_FP_FAST] = "fast"};
    hone_target *t = NULL;
    size_t most = HONE_N_FP, n = 0, kept = 0;
    while (most-- > 0 && !family->contract[most]) {
    }
    if (hone_target_open(family->command, NULL, &t, NULL)) {
        skip(1, "plan: '%s' is not here", family->command);
        return;
    }
    hone_target_close(t);
    hn_str text = {0};
    hn_str_addf(&text,
                "hone: 1\nname: each\nbuild: '{cc} {flags} a -o {out}'\nrun: '{out}'\ncompilers: [%s]\n"
                "baseline: {flags: '%s'}\nfloating_point: %s\nobjectives: [minimize code_size]\n"
                "parity: {rule: rel, tolerance: 1e-4}\n",
                family->command, family->baseline, name[most]);
    hone_workload *w = parse(text.text);
    hn_plan *plan = open_plan(w);
    hn_seeds s = {0};
    double *level = NULL;
    if (ok(plan && !hn_plan_seeds(plan, 4, &s, NULL), "plan/%s_opens", family->name)) {
        size_t slots = hone_space_slots(plan->space), i_fp = plan->i_fp, missing = 0;
        size_t contracts = i_fp == SIZE_MAX ? 0 : hone_space_param(plan->space, i_fp)->n_values;
        ok(!hone_target_levels(plan->target[0], plan->part[0], &level, &n, NULL) && n, "plan/%s_levels", family->name);
        for (size_t fp = 0; fp < contracts; fp++)
            missing += !has_choice(plan, &s, NULL, fp) + !has_choice(plan, &s, level, fp);
        ok(!missing, "plan/%s_plain_under_each_of_%zu_contracts", family->name, contracts);
        for (size_t i = 1 + s.n_plain; i < s.n; i++)
            kept += i_fp == SIZE_MAX || gene(plan, s.point + i * slots, "fp") == gene(plan, plan->base, "fp");
        ok(s.n_plain && kept == s.n - 1 - s.n_plain, "plan/%s_rules_under_the_baselines_contract", family->name);
    }
    hone_free(level);
    hn_seeds_free(&s);
    hn_plan_close(plan);
    hone_workload_free(w);
    hn_str_free(&text);
}

/* Values with quotes, spaces and dollars; flags as 1 and 0; absent parameters. */
static void test_defines(void) {
    static const char text[] =
        "hone: 1\nname: defs\ncontrols: false\nbuild: 'cc {defines} -o {out} x.c # {R}'\nrun: '{out} {R}{RUN}'\n"
        "parameters:\n  S: {type: choice, values: [plain, \"it's $HOME \\\"x\\\"\"], default: plain}\n"
        "  F: {type: flag, default: on}\n  G: {type: int, range: [1, 9], default: 4, when: F}\n"
        "  R: {type: int, range: [1, 3], default: 2, when: F}\n"
        "  RUN: {type: int, range: [1, 3], default: 3}\n  RUNS: {type: int, range: [1, 3], default: 1}\n"
        "metrics: {source: lines, names: [c]}\nobjectives: [minimize c]\nparity: {rule: none}\n";
    hone_workload *w = parse(text);
    hn_plan *plan = open_plan(w);
    if (!ok(plan != NULL, "plan/defines_open")) {
        hone_workload_free(w);
        return;
    }
    hn_recipe r;
    if (ok(hn_plan_recipe(plan, NULL, &r, NULL) == HONE_OK, "plan/defines_recipe")) {
        is_text(r.defines, "-DS=plain -DF=1 -DG=4 -DRUNS=1", "plan/defines_of_the_baseline");
        hn_recipe_free(&r);
    }
    double p[16];
    memcpy(p, plan->base, hone_space_slots(plan->space) * sizeof *p);
    p[hone_space_param(plan->space, hone_space_find(plan->space, "S"))->slot] = 1;
    p[hone_space_param(plan->space, hone_space_find(plan->space, "F"))->slot] = 0;
    hone_point_canon(plan->space, p);
    if (ok(hn_plan_recipe(plan, p, &r, NULL) == HONE_OK, "plan/odd_values_recipe")) {
        hn_str cmd = {0};
        hn_str_addf(&cmd, "printf '[%%s]' %s", r.defines);
        hn_proc_spec spec = {.shell = cmd.text, .cpu = -1};
        hn_proc_result got;
        if (!hn_proc_run(&spec, NULL, &got, NULL)) {
            is_text(got.out, "[-DS=it's $HOME \"x\"][-DF=0][-DRUNS=1]", "plan/odd_values_survive_the_shell");
            hn_proc_result_free(&got);
        }
        hn_str_free(&cmd);
        bool empty = false;
        for (size_t i = 0; i < r.n_app; i++) empty |= !strcmp(r.app_name[i], "R") && !*r.app_text[i];
        ok(empty, "plan/absent_parameter_is_an_empty_text");
        hn_recipe_free(&r);
    }
    hone_command c;
    hone_err err = {0};
    if (ok(hone_workload_flags(w, plan->space, plan->base, NULL, &c, &err) == HONE_OK, "plan/flags")) {
        bool run_only = false;
        for (size_t i = 0; i < c.n_argv; i++) run_only |= !strncmp(c.argv[i], "-DRUN=", 6);
        ok(!run_only, "plan/flags_leave_out_what_the_run_command_takes");
        hone_command_free(&c);
    }
    hn_plan_close(plan);
    hone_workload_free(w);
}

int main(void) {
    test_baseline_words();
    test_contracts();
    test_two_compilers();
    test_big_choices();
    for (size_t i = 0; hn_families[i]; i++) /* asking all compilers for their options takes minutes */
        if (getenv("HONE_LONG") || !strcmp(hn_families[i]->name, "gcc")) test_contracts_of(hn_families[i]);
    test_defines();
    return done_testing();
}
