/* Controls of single files: their parameters, their flags in a recipe, what is tried first; which files there are. */
#include "tap.h"

#include "tune/by_file.h"

#include <math.h>

#define HEAD "hone: 1\nname: files\nrun: '{out}'\nobjectives: [minimize code_size]\nparity: {rule: none}\n"
#define BUILD "build: '{cc} {flags} main.c lib/hot.c cold.c -o {out}'\n"

static hn_plan *open_plan(const char *text, hone_workload **w, hone_err *err) {
    hn_plan *plan = NULL;
    *w = NULL;
    *err = (hone_err){0};
    hone_rc rc = hone_workload_parse(text, strlen(text), "files", "/tmp", w, err);
    if (!rc) rc = hn_plan_open(*w, NULL, NULL, &plan, err);
    return rc ? NULL : plan;
}

static size_t find(const hn_plan *plan, const char *name) { return hone_space_find(plan->space, name); }

static double *whole_point(const hn_plan *plan) {
    double *x = calloc(hone_space_slots(plan->space) + 1, sizeof *x);
    memcpy(x, plan->base, hone_space_slots(plan->space) * sizeof *x);
    return x;
}

/* What a file gets behind the program's flags, as one line; "" for a file without any. */
static const char *flags_of(const hn_plan *plan, const double *point, const char *file, char out[500]) {
    hn_recipe r;
    *out = 0;
    if (hn_plan_recipe(plan, point, &r, NULL)) return "?";
    for (size_t f = 0; f < r.n_files; f++)
        for (size_t i = 0; !strcmp(r.file[f].name, file) && i < r.file[f].n_flags; i++)
            snprintf(out + strlen(out), 500 - strlen(out), "%s%s", *out ? " " : "", r.file[f].flag[i]);
    hn_recipe_free(&r);
    return out;
}

static void test_space(const hn_plan *plan) {
    size_t level = find(plan, "file.lib_hot.c.gcc.-O");
    ok(plan->n_files == 2 && !strcmp(plan->file[0], "lib/hot.c") && !plan->no_files, "by_file/those_that_were_named");
    if (!ok(level != SIZE_MAX && find(plan, "file.cold.c.gcc.-O") != SIZE_MAX, "by_file/parameters")) return;
    const hone_param *p = hone_space_param(plan->space, level);
    ok(p->optional && isnan(p->dflt), "by_file/absent_by_default");
    ok(find(plan, "file.main.c.gcc.-O") == SIZE_MAX, "by_file/no_other_file_has_any");
    ok(find(plan, "gcc.lto") != SIZE_MAX && find(plan, "file.lib_hot.c.gcc.lto") == SIZE_MAX,
       "by_file/what_belongs_to_the_whole_is_not_offered");
    size_t at, n, n_global = hone_space_slots(plan->global);
    const hone_space *own = hn_by_file_space(plan, 0, &at, &n);
    ok(at == n_global && at + n == hone_space_slots(plan->space) && hone_space_slots(own) == n,
       "by_file/they_stand_at_the_end");
    ok(hone_space_find(plan->global, "file.cold.c.gcc.-O") == SIZE_MAX, "by_file/the_rest_has_none_of_them");
}

static void test_recipes(const hn_plan *plan) {
    double *x = whole_point(plan);
    char text[500];
    ok(!hn_by_file_used(plan, x), "by_file/the_baseline_uses_none");
    is_text(flags_of(plan, x, "lib/hot.c", text), "", "by_file/no_flags_where_none_is_set");
    ok(hn_plan_set(plan->space, x, find(plan, "file.lib_hot.c.gcc.-O"), "s") &&
           hn_plan_set(plan->space, x, find(plan, "file.lib_hot.c.gcc.-funroll-loops"), "on"),
       "by_file/set");
    ok(hn_by_file_used(plan, x), "by_file/used");
    flags_of(plan, x, "lib/hot.c", text);
    ok(strstr(text, "-Os") && strstr(text, "-funroll-loops"), "by_file/flags_of_a_file (%s)", text);
    is_text(flags_of(plan, x, "cold.c", text), "", "by_file/of_that_file_alone");
    hn_recipe r;
    bool clean = !hn_plan_recipe(plan, x, &r, NULL) && r.n_files == 1;
    for (size_t i = 0; clean && i < r.n_flags; i++) clean = strcmp(r.flag[i], "-Os") != 0;
    ok(clean, "by_file/the_program_keeps_its_own");
    hn_recipe_free(&r);
    clean = !hn_plan_recipe(plan, NULL, &r, NULL) && !r.n_files;
    ok(clean, "by_file/the_baseline_has_none");
    hn_recipe_free(&r);
    free(x);
}

/* Each seed sets controls of one file; every file has its plain levels before its rules. */
static void test_seeds(const hn_plan *plan) {
    double *seed = NULL;
    size_t n = 0, at, slots, of[2] = {0, 0}, legal = 0, mixed = 0;
    hone_err err = {0};
    ok(hn_by_file_seeds(plan, 0, &seed, &n, &err) == HONE_OK && n > 4, "by_file/seeds (%zu)", n);
    const hone_space *own = hn_by_file_space(plan, 0, &at, &slots);
    size_t each = slots / 2;
    for (size_t i = 0; i < n; i++) {
        size_t set[2] = {0, 0};
        for (size_t k = 0; k < slots; k++) set[k >= each] += !isnan(seed[i * slots + k]);
        of[set[1] > 0] += set[0] || set[1];
        mixed += set[0] && set[1];
        legal += hone_point_legal(own, seed + i * slots, NULL);
    }
    ok(!mixed && of[0] == n / 2 && of[1] == n / 2 && legal == n, "by_file/each_is_of_one_file");
    size_t level = hone_space_find(own, "file.lib_hot.c.gcc.-O");
    ok(level != SIZE_MAX && !isnan(seed[hone_space_param(own, level)->slot]), "by_file/a_plain_level_comes_first");
    free(seed);
}

static void test_named(void) {
    hone_workload *w;
    hone_err err;
    hn_plan *plan = open_plan(HEAD BUILD "compilers: [gcc]\nbaseline: -O2\nper_file: [lib/hot.c, cold.c]\n", &w, &err);
    if (ok(plan != NULL, "by_file/open")) {
        test_space(plan);
        test_recipes(plan);
        test_seeds(plan);
    } else {
        printf("# %s\n", err.text);
    }
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* Of two compilers each has its own, active while it is chosen. */
static void test_two_compilers(void) {
    hone_workload *w;
    hone_err err;
    hn_plan *plan = open_plan(HEAD BUILD "compilers: [gcc, gcc-12]\nbaseline: -O2\nper_file: [cold.c]\n", &w, &err);
    if (!plan || plan->n_targets < 2) {
        skip(3, "gcc-12 is not installed");
    } else {
        size_t at[2], n[2];
        hn_by_file_space(plan, 0, &at[0], &n[0]);
        hn_by_file_space(plan, 1, &at[1], &n[1]);
        ok(at[1] == at[0] + n[0] && at[1] + n[1] == hone_space_slots(plan->space), "by_file/one_behind_the_other");
        double *x = whole_point(plan);
        char text[500];
        hn_plan_set(plan->space, x, find(plan, "file.cold.c.gcc-12.-O"), "1");
        hone_point_canon(plan->space, x);
        ok(!hn_by_file_used(plan, x), "by_file/of_the_other_compiler_none_is_active");
        hn_plan_set(plan->space, x, plan->i_compiler, "gcc-12");
        hn_plan_set(plan->space, x, find(plan, "file.cold.c.gcc-12.-O"), "1");
        hone_point_canon(plan->space, x);
        is_text(flags_of(plan, x, "cold.c", text), "-O1", "by_file/of_the_chosen_one_it_is");
        free(x);
    }
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* Which files have controls: those named, none with a reason, or an error. */
static void test_which(void) {
    static const struct {
        const char *name, *text, *error, *none;
    } cases[] = {
        {"a_name_that_is_not_compiled", BUILD "per_file: [lib/hat.c]\n", "did you mean 'lib/hot.c'?", NULL},
        {"no_file_by_that_name", BUILD "per_file: [zzzzzzzz.x]\n", "compiles no 'zzzzzzzz.x'", NULL},
        {"another_machine", BUILD "per_file: 1\nmeasure: {on: ssh://elsewhere}\n", "leave one out", NULL},
        {"a_command_for_a_shell", "build: '{cc} {flags} a.c b.c -o {out} && true'\nper_file: 2\n", NULL,
         "not calls of the compiler alone"},
        {"one_file", "build: '{cc} {flags} a.c -o {out}'\nper_file: 2\n", NULL, "not calls of the compiler alone"},
        {"not_asked_for", BUILD, NULL, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        hone_workload *w;
        hone_err err;
        snprintf(text, sizeof text, HEAD "compilers: [gcc]\n%s", cases[i].text);
        hn_plan *plan = open_plan(text, &w, &err);
        bool fine = cases[i].error ? !plan && strstr(err.text, cases[i].error)
                                   : plan && !plan->n_files && !plan->global &&
                                         (*cases[i].none ? plan->no_files && strstr(plan->no_files, cases[i].none)
                                                         : !plan->no_files);
        if (!ok(fine, "hot_files/%s", cases[i].name))
            printf("# %s\n", plan && plan->no_files ? plan->no_files : err.text);
        hn_plan_close(plan);
        hone_workload_free(w);
    }
}

int main(void) {
    test_named();
    test_two_compilers();
    test_which();
    return done_testing();
}
