/* Baseline words as genes, contracts, seeds, defines and recipes, with the gcc and clang that are here. */
#include "tap.h"

#include "base/fs.h"
#include "proc/proc.h"
#include "tune/big_choices.h"

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

/* Rule seeds that are none of those without learned ones; points of N alone, which are drawn, do not count. */
static size_t count_learned(const hn_plan *plan, size_t most) {
    hn_seeds with = {0}, without = {0};
    size_t slots = hone_space_slots(plan->space), n = 0;
    if (hn_plan_rules(plan, plan->base, 8, most, &with, NULL) || hn_plan_rules(plan, plan->base, 8, 0, &without, NULL))
        return SIZE_MAX;
    for (size_t i = 0; i < with.n; i++) {
        bool there = gene(plan, with.point + i * slots, "N") != plan->base[0];
        for (size_t k = 0; k < without.n; k++)
            there |= hone_point_equal(plan->space, with.point + i * slots, without.point + k * slots);
        n += !there;
    }
    hn_seeds_free(&with);
    hn_seeds_free(&without);
    return n;
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
    ok(hn_plan_rules(plan, plan->base, 6, 3, &s, NULL) == HONE_OK && s.n == 6 + 1, "plan/as_many_rule_seeds_as_asked");
    for (size_t most = 0; most < 4; most++) /* each compiler has one */
        ok(count_learned(plan, most) == (most < 2 ? most : 2), "plan/learned_seeds_of_both_together (%zu)", most);
    for (size_t i = 0; i < s.n; i++) {
        bool drawn = gene(plan, s.point + i * slots, "N") != plan->base[0]; /* the only other value of N */
        if (drawn) n_drawn++, at_drawn = i;
        of[(size_t)gene(plan, s.point + i * slots, "compiler")] += !drawn;
        n_legal += hone_point_legal(plan->space, s.point + i * slots, NULL);
    }
    ok(of[0] == 3 && of[1] == 3, "plan/rule_seeds_are_dealt_in_turn");
    ok(n_legal == s.n, "plan/seeds_are_legal");
    ok(n_drawn == 1 && at_drawn < s.n - 1, "plan/own_parameters_are_drawn_among_the_rules");
    if (n_drawn) {
        const double *p = s.point + at_drawn * slots;
        ok(!memcmp(p + 1, plan->base + 1, (slots - 1) * sizeof *p), "plan/controls_stay_where_parameters_are_drawn");
    }
    hn_recipe r;
    size_t other = 0;
    while (other < s.n && gene(plan, s.point + other * slots, "compiler") == 0) other++;
    if (ok(other < s.n && hn_plan_recipe(plan, s.point + other * slots, &r, NULL) == HONE_OK,
           "plan/recipe_of_the_other")) {
        is_text(r.cc, "gcc-12", "plan/other_compiler_builds");
        is_text(r.defines, "-DN=1", "plan/defines_at_default");
        hn_recipe_free(&r);
    }
    hn_seeds_free(&s);
    hn_plan_close(plan);
    hone_workload_free(w);
}

typedef struct design {
    hn_big_choices c;
    hn_combination x[HN_DESIGN_MOST];
    size_t n;
    double *point;
} design;

static bool open_design(const hn_plan *plan, design *d) {
    *d = (design){0};
    if (!plan || hn_big_choices_open(plan, &d->c, NULL)) return false;
    d->n = hn_big_choices_design(&d->c, d->x);
    d->point = calloc((d->n + 1) * hone_space_slots(plan->space), sizeof *d->point);
    return d->point != NULL;
}

static void close_design(design *d) {
    if (d->c.plan) hn_big_choices_close(&d->c);
    free(d->point);
}

static char *line_of(const design *d, size_t i) {
    hn_recipe r;
    double *point = d->point + i * hone_space_slots(d->c.plan->space);
    if (!hn_big_choices_point(&d->c, &d->x[i], point) || hn_plan_recipe(d->c.plan, point, &r, NULL)) return NULL;
    char *text = hn_recipe_line(&r, true);
    hn_recipe_free(&r);
    return text;
}

/* How often a level of a choice is in the design. */
static size_t n_with(const design *d, const char *choice, const char *value) {
    size_t n = 0;
    for (size_t k = 0; k < d->c.factors.n; k++)
        for (size_t i = 0; !strcmp(d->c.item[k].name, choice) && i < d->n; i++)
            n += !strcmp(d->c.item[k].value[d->x[i].level[k]], value);
    return n;
}

/* The contracts come first, each level of each choice is there, and nothing else differs from the baseline. */
static void test_big_choices(void) {
    static const char text[] =
        "hone: 1\nname: big\nbuild: '{cc} {flags} a.c -o {out}'\nrun: '{out}'\ncompilers: [gcc, gcc-12]\n"
        "baseline: {flags: '-O3 -march=x86-64-v3 -funroll-loops -fno-gcse'}\nfloating_point: fast\n"
        "objectives: [minimize code_size]\nparity: {rule: rel, tolerance: 1e-4}\n";
    static const char *const each[][2] = {{"compiler", "gcc-12"}, {"fp", "fast"},        {"fp", "strict"},
                                          {"level", "2"},         {"level", "s"},        {"level", "1"},
                                          {"-funroll-loops", ""}, {"others", "left out"}};
    hone_workload *w = parse(text);
    hn_plan *plan = open_plan(w);
    design d;
    if (ok(open_design(plan, &d), "plan/big_choices_open")) {
        size_t n_legal = 0, n_terms = 0;
        for (size_t k = 0; k < d.c.factors.n; k++) n_terms += d.c.item[k].n - 1;
        char *first = line_of(&d, 0), *second = line_of(&d, 1);
        is_text(first ? first : "", "gcc -O3 -march=x86-64-v3 -fno-gcse -funroll-loops -ffast-math -ffp-contract=fast",
                "plan/loosest_contract_alone_comes_first");
        is_text(second ? second : "", "gcc -O3 -march=x86-64-v3 -fno-gcse -funroll-loops -ffp-contract=off",
                "plan/then_the_others");
        free(first);
        free(second);
        ok(d.n == n_terms + 3, "plan/three_more_than_effects (%zu for %zu)", d.n, n_terms);
        for (size_t i = 0; i < sizeof each / sizeof *each; i++)
            ok(n_with(&d, each[i][0], each[i][1]) > 0, "plan/%s_%s_is_tried", each[i][0], each[i][1]);
        ok(n_with(&d, "level", "1") <= 3 && n_with(&d, "fp", "fast") >= 5, "plan/what_may_pay_is_tried_often");
        for (size_t i = 0; i < d.n; i++)
            n_legal += hn_big_choices_point(&d.c, &d.x[i], d.point) && gene(plan, d.point, "gcc-12.-fgcse") != 0;
        ok(n_legal == d.n, "plan/big_choices_are_legal");
    }
    close_design(&d);
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* Effects planted in the design come back in words, a level that never works is named, and the best combination is
 * the one that joins what helps and works. */
static void test_effects_in_words(void) {
    static const char text[] =
        "hone: 1\nname: words\nbuild: '{cc} {flags} a.c -o {out}'\nrun: '{out}'\ncompilers: [gcc, gcc-12]\n"
        "baseline: {flags: '-O2 -march=native'}\nfloating_point: fast\n"
        "objectives: [minimize code_size]\nparity: {rule: rel, tolerance: 1e-4}\n";
    hone_workload *w = parse(text);
    hn_plan *plan = open_plan(w);
    design d;
    hn_effects e;
    hn_combination seen[HN_DESIGN_MOST], best[3];
    double y[HN_DESIGN_MOST];
    bool failed[HN_DESIGN_MOST] = {false};
    size_t n = 0, n_effects = 0, n_right = 0;
    hone_effect *effect = NULL;
    if (ok(open_design(plan, &d), "plan/effects_open")) {
        for (size_t i = 0; i < d.n; i++) {
            char *line = line_of(&d, i);
            failed[i] = strstr(line, "-Os") != NULL;
            double value = (strstr(line, "-ffast-math") ? -0.65 : 0) + (strstr(line, "gcc-12") ? -0.05 : 0) +
                           (strstr(line, "-O3") ? -0.1 : 0) + (strstr(line, "-funroll") ? 0.08 : 0);
            if (!failed[i]) seen[n] = d.x[i], y[n++] = value;
            free(line);
        }
        hn_effects_fit(&d.c.factors, seen, y, n, 0.003, &e);
        ok(!hn_big_choices_effects(&d.c, &e, d.x, failed, d.n, &effect, &n_effects, NULL), "plan/effects_are_told");
        char words[200];
        hone_tune_effect_text(&effect[0], words, sizeof words);
        ok(!strncmp(words, "fast floating point: 1.9", 24), "plan/largest_effect_first (%s)", words);
        for (size_t i = 0; i < n_effects; i++) {
            hone_tune_effect_text(&effect[i], words, sizeof words);
            n_right += !strncmp(words, "gcc-12 instead of gcc: 1.0", 26) ||
                       !strncmp(words, "-O3 instead of -O2: 1.1", 23) ||
                       !strncmp(words, "-Os instead of -O2: none of", 27) || !strncmp(words, "-funroll-loops: 0.9", 19);
        }
        if (!ok(n_right == 4, "plan/effects_in_words (%zu)", n_right))
            for (size_t i = 0; i < n_effects; i++)
                hone_tune_effect_text(&effect[i], words, sizeof words), printf("# %s\n", words);
        size_t n_best = hn_big_choices_promising(&d.c, &e, d.x, failed, d.n, -0.5, 3, best);
        double *point = d.point;
        if (ok(n_best == 3 && hn_big_choices_point(&d.c, &best[0], point), "plan/combinations_are_promised")) {
            ok(gene(plan, point, "compiler") == 1 && gene(plan, point, "fp") == 2 && line_has(plan, point, "-O3") &&
                   !line_has(plan, point, "-funroll-loops"),
               "plan/the_best_joins_what_helps");
        }
        ok(!hn_big_choices_promising(&d.c, &e, d.x, failed, d.n, -2, 3, best),
           "plan/none_beats_what_is_better_already");
    }
    close_design(&d);
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* Values of a few are dealt evenly, the baseline's counted, as far as constraints let them; no drawn point is illegal.
 */
static void test_own_values_are_balanced(void) {
    static const char text[] =
        "hone: 1\nname: own\nbuild: '{cc} {flags} {defines} a.c -o {out}'\nrun: '{out}'\ncompilers: [gcc]\n"
        "parameters:\n  A: {type: choice, values: [0, 1, 2, 4, 8, full]}\n  B: {type: ordinal, values: [1, 2, 3]}\n"
        "  C: {type: int, range: [1, 4]}\n  W: {type: int, range: [1, 1000]}\n"
        "constraints: ['B != 3 or C <= 2']\nobjectives: [minimize code_size]\nparity: {rule: none}\n";
    static const size_t n_values[3] = {6, 3, 4};
    hone_workload *w = parse(text);
    hn_plan *plan = open_plan(w);
    hn_seeds s = {0};
    if (ok(plan != NULL && !hn_plan_rules(plan, plan->base, 24, 3, &s, NULL), "plan/own_opens")) {
        size_t slots = hone_space_slots(plan->space), n[3][6] = {{0}}, n_drawn = 0, n_legal = 0, n_wide = 0;
        for (size_t i = 0; i <= s.n; i++) {
            const double *x = i < s.n ? s.point + i * slots : plan->base;
            if (i < s.n && !memcmp(x, plan->base, 4 * sizeof *x)) continue;
            n_drawn++;
            n_legal += hone_point_legal(plan->space, x, NULL);
            n_wide += x[3] > 16;
            for (size_t k = 0; k < 3; k++) n[k][(size_t)x[k] - (k == 2)]++;
        }
        ok(n_drawn > 12 && n_legal == n_drawn && n_wide > 6, "plan/own_points_are_drawn (%zu)", n_drawn);
        for (size_t k = 0; k < 3; k++) {
            size_t least = SIZE_MAX, most = 0;
            for (size_t v = 0; v < n_values[k]; v++) {
                least = n[k][v] < least ? n[k][v] : least;
                most = n[k][v] > most ? n[k][v] : most;
            }
            ok(most <= least + (k ? 2 : 1), "plan/own_values_of_%c_are_balanced (%zu to %zu)", 'A' + (int)k, least,
               most);
        }
    }
    hn_seeds_free(&s);
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* Rules are laid over the best point: its contract stays, and its own compiler's options where a rule says nothing. */
static void test_rules_over_the_best(void) {
    static const char text[] =
        "hone: 1\nname: over\nbuild: '{cc} {flags} a.c -o {out}'\nrun: '{out}'\ncompilers: [gcc, gcc-12]\n"
        "baseline: {flags: '-O3 -march=native'}\nfloating_point: fast\n"
        "objectives: [minimize code_size]\nparity: {rule: rel, tolerance: 1e-4}\n";
    hone_workload *w = parse(text);
    hn_plan *plan = open_plan(w);
    hn_seeds s = {0};
    if (ok(plan != NULL, "plan/over_opens")) {
        size_t slots = hone_space_slots(plan->space), n_fast = 0, n_kept = 0, n_own = 0;
        double *from = malloc(slots * sizeof *from);
        memcpy(from, plan->base, slots * sizeof *from);
        hn_plan_set(plan->space, from, plan->i_fp, "fast");
        hn_plan_set(plan->space, from, hn_plan_control(plan, 0, "-fsplit-paths"), "off");
        ok(!hn_plan_rules(plan, from, 8, 3, &s, NULL) && s.n == 8, "plan/rules_over_the_best (%zu)", s.n);
        for (size_t i = 0; i < s.n; i++) {
            const double *point = s.point + i * slots;
            bool own = gene(plan, point, "compiler") == 0;
            n_fast += gene(plan, point, "fp") == 2;
            n_own += own;
            n_kept += own && line_has(plan, point, "-fno-split-paths");
        }
        ok(n_fast == s.n, "plan/rules_keep_the_best_contract");
        ok(n_own && n_kept == n_own, "plan/rules_keep_what_they_do_not_say (%zu of %zu)", n_kept, n_own);
        free(from);
    }
    hn_seeds_free(&s);
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* Whatever the compiler: each contract and each plain level that it offers is in the design, and all of it can be
 * built. */
static void test_contracts_of(const hn_family *family) {
    hone_target *t = NULL;
    size_t most = HONE_N_FP, n_points = 0, missing = 0;
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
                family->command, family->baseline, hone_fp_name((hone_fp)most));
    hone_workload *w = parse(text.text);
    hn_plan *plan = open_plan(w);
    design d;
    if (ok(open_design(plan, &d), "plan/%s_opens", family->name)) {
        for (size_t k = 0; k < d.c.factors.n; k++)
            for (size_t v = 0; d.c.item[k].kind != HN_CHOICE_CONTROL && v < d.c.item[k].n; v++)
                missing += !n_with(&d, d.c.item[k].name, d.c.item[k].value[v]);
        for (size_t i = 0; i < d.n; i++) n_points += hn_big_choices_point(&d.c, &d.x[i], d.point);
        ok(d.n && n_points == d.n, "plan/%s_choices_can_be_built (%zu of %zu)", family->name, n_points, d.n);
        ok(!missing, "plan/%s_tries_every_contract_and_level", family->name);
    }
    close_design(&d);
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
    test_effects_in_words();
    test_own_values_are_balanced();
    test_rules_over_the_best();
    for (size_t i = 0; hn_families[i]; i++) /* asking all compilers for their options takes minutes */
        if (getenv("HONE_LONG") || !strcmp(hn_families[i]->name, "gcc")) test_contracts_of(hn_families[i]);
    test_defines();
    return done_testing();
}
