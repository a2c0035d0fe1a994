/* NVIDIA's compilers: what their help says, which controls follow from it, how these are written and read. */
#include "target/carried.h"
#include "target/nvidia.h"

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The layout of ptxas --help, in other words. */
static const char help[] = "\n"
                           "Usage  : ptxas [options] <ptx file>,...\n"
                           "\n"
                           "Options\n"
                           "=======\n"
                           "\n"
                           "--apply-controls                                    (-apply-controls)           \n"
                           "        A file of controls.\n"
                           "\n"
                           "--def-load-cache                                    (-dlcm)                     \n"
                           "        What loads are hinted.\n"
                           "\n"
                           "--fmad <true|false>                                 (-fmad)                     \n"
                           "        Fuse or not. See '--use' elsewhere.\n"
                           "        Default value:  true.\n"
                           "\n"
                           "--maxrregcount <N>                                  (-maxrregcount)             \n"
                           "        Registers.\n"
                           "--opt-level <N>                                     (-O)                        \n"
                           "        Level.\n"
                           "--register-usage-level <0..10>                      (-regUsageLevel)            \n"
                           "        Registers, by how much.\n"
                           "        Allowed values for this option:  '0','2',\n"
                           "        '4','10'.\n"
                           "        Default value:  '5'.\n"
                           "--device-stack-protector <true|false>               (-device-stack-protector)   \n"
                           "        Canaries.\n"
                           "--strange                                           --strange\n"
                           "        Two long names.\n"
                           "--a-name-that-is-longer-than-its-column-which-is-cut(-cut)\n";

static void test_help(void) {
    hn_arena a = {0};
    hn_help h = {0};
    hn_help_nvidia(&a, help, sizeof help - 1, &h);
    hn_help_sort(&h);
    const hn_help_row *level = hn_help_find(&h, "-regUsageLevel", true), *load = hn_help_find(&h, "-dlcm", false);
    ok(h.n == 9, "nvidia/help_lists_every_option %zu", h.n);
    ok(load && !strcmp(load->type, "--def-load-cache") && !strcmp(load->rest, "What loads are hinted."),
       "nvidia/help_has_long_names_and_descriptions");
    ok(level && level->n_values == 4 && !strcmp(level->value[0], "0") && !strcmp(level->value[3], "10"),
       "nvidia/help_has_values_over_several_lines");
    ok(hn_help_find(&h, "--strange", false) != NULL, "nvidia/help_without_a_short_name");
    h = (hn_help){0};
    hn_help_nvidia(&a, "ptxas fatal : no\n  --x (-y)\n", 28, &h);
    ok(!h.n, "nvidia/help_that_is_none_has_no_rows");
    hn_arena_free(&a);
}

static const hn_control *control(const hn_controls *list, const char *name) {
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->item[i].name, name)) return &list->item[i];
    return NULL;
}

static size_t n_values(const hn_controls *list, const char *name) {
    const hn_control *c = control(list, name);
    return c && (c->cls == HN_CODEGEN || c->cls == HN_NUMERIC) ? c->n_values : 0;
}

static void test_discovery(void) {
    hn_arena a = {0};
    hn_controls p = {0}, n = {0}, r = {0};
    hn_nv_discover(&a, &p, 'P', help, NULL, false);
    ok(n_values(&p, "-dlcm") == 5 && n_values(&p, "-regUsageLevel") == 4 && !control(&p, "-dscm"),
       "nvidia/an_older_ptxas_offers_what_its_help_lists");
    ok(n_values(&p, "-O") == 4, "nvidia/levels_without_-Ofc");
    ok(control(&p, "-fmad")->cls == HN_NUMERIC && control(&p, "-device-stack-protector")->cls == HN_UNSAFE &&
           control(&p, "-cut")->cls == HN_IRRELEVANT,
       "nvidia/classes");
    ok(hn_control_takes_file(control(&p, "-apply-controls")), "nvidia/controls_in_files_where_the_help_has_them");
    hn_nv_discover(&a, &n, 'N', "--maxrregcount <n>   (-maxrregcount)\n", help, false);
    ok(n_values(&n, "-maxrregcount") > 8 && n_values(&n, "-Xptxas=-dlcm") == 5 && !control(&n, "-Xptxas=-maxrregcount"),
       "nvidia/nvcc_passes_on_what_its_ptxas_lists");
    ok(n_values(&n, "-Xcicc=-O") == 4 && !n_values(&n, "-Xcompiler=-march") && !control(&n, "-ftz"),
       "nvidia/nvcc_alone_and_for_the_host");
    hn_nv_discover(&a, &r, 'R', NULL, NULL, true);
    ok(n_values(&r, "-Xptxas=-O") == 10 && n_values(&r, "-use_fast_math") == 1, "nvidia/nvrtc_is_not_asked_but_probed");
    ok(hn_nv_classify('P', "-dlcm").cls == HN_CODEGEN && hn_nv_classify('N', "-dlcm").cls == HN_IRRELEVANT &&
           hn_nv_classify('N', "-Xptxas=-dlcm").cls == HN_CODEGEN && hn_nv_classify('N', "-restrict").cls == HN_UNSAFE,
       "nvidia/classified_by_who_takes_it");
    hn_arena_free(&a);
}

/* Words (NULL-terminated) as nvcc reads them. */
static void reads(const char *level, const char *const *word, const char *name, const char *value, size_t n_words) {
    hn_said said;
    size_t n = 0;
    while (word[n]) n++;
    hn_nv_read(level, word, n, &said);
    if (!ok(!strcmp(said.name, name) && !strcmp(said.value, value) && said.n_words == n_words, "nvidia/reads %s",
            word[0]))
        printf("# '%s' = '%s', %zu words\n", said.name, said.value, said.n_words);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_words(void) {
    static const char nvcc[] = "-Xptxas=-O";
    reads(nvcc, WORDS("-Xptxas", "-O3", "x.cu"), nvcc, "3", 2);
    reads(nvcc, WORDS("--ptxas-options=--def-load-cache=cg"), "-Xptxas=-dlcm", "cg", 1);
    reads(nvcc, WORDS("-maxrregcount", "64"), "-maxrregcount", "64", 2);
    reads(nvcc, WORDS("--maxrregcount=64"), "-maxrregcount", "64", 1);
    reads(nvcc, WORDS("--use_fast_math", "x.cu"), "-use_fast_math", "on", 1);
    reads(nvcc, WORDS("-Ofc=min"), nvcc, "all-min", 1);
    reads(nvcc, WORDS("-Xptxas=-Ofc=mid"), nvcc, "mid", 1);
    reads(nvcc, WORDS("-O3"), "-O", "3", 1);
    reads(nvcc, WORDS("-Xptxas=-v,-dlcm=cg"), "", "", 1);
    reads(nvcc, WORDS("-Xptxas"), "-Xptxas=on", "on", 1);
    reads("-O", WORDS("--opt-level=1"), "-O", "1", 1);
    reads("-O", WORDS("--Ofast-compile=max"), "-O", "max", 1);
    reads("-O", WORDS("-O2", "x.ptx"), "-O", "2", 1);
}

/* "-fmad=false" says strict, whoever says it; the level comes with every candidate and excludes -Ofc. */
static void test_contracts(void) {
    const hn_family *nvcc = hn_family_named("nvcc");
    ok(nvcc->contract_of("-Xptxas=-O3", "") == HONE_FP_CONTRACT &&
           nvcc->contract_of("-fmad=false", "") == HONE_FP_STRICT &&
           nvcc->contract_of("-Xptxas=-O3", "{cc} --use_fast_math") == HONE_FP_FAST,
       "nvidia/contracts");
    hn_arena a = {0};
    hn_flags f = {.a = &a};
    hn_nv_spell(&f, NULL, "-Xptxas=-O", "min");
    hn_nv_spell(&f, NULL, "-Xptxas=-O", "all-max");
    hn_nv_spell(&f, NULL, "-O", "1");
    hn_nv_spell(&f, NULL, "-Xptxas=-opt-fp-atomics", "on");
    ok(f.n == 4 && !strcmp(f.word[0], "-Xptxas=-Ofc=min") && !strcmp(f.word[1], "-Ofc=max") &&
           !strcmp(f.word[2], "-O1") && !strcmp(f.word[3], "-Xptxas=-opt-fp-atomics"),
       "nvidia/spelt");
    hn_arena_free(&a);
}

/* A copy of the driver has its settings, and says what is wrong. */
static void test_driver(void) {
    char *path = hn_carried_driver("nvrtc", "library=/nonexistent/libnvrtc.so\n");
    const char *const plain[] = {path, "a.cu", "-o", "b", NULL}, *const without[] = {path, "-O3", NULL};
    hn_tool run = {0};
    ok(path && !hn_tool_run(plain, 10, &run, NULL) && !run.ok && strstr(run.errors, "/nonexistent/libnvrtc.so"),
       "nvidia/driver_names_the_library_that_is_missing: %s", run.errors);
    hn_tool_free(&run);
    ok(path && !hn_tool_run(without, 10, &run, NULL) && !run.ok && strstr(run.errors, "no input"),
       "nvidia/driver_wants_an_input: %s", run.errors);
    hn_tool_free(&run);
    free(path);
}

int main(void) {
    test_help();
    test_discovery();
    test_words();
    test_contracts();
    test_driver();
    return done_testing();
}
