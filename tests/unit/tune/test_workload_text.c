/* Commands with placeholders, where the harness is found, drafts. */
#include "base/fs.h"
#include "base/str.h"
#include "tap.h"
#include "tune/workload.h"

#include <unistd.h>

static hone_err e;
static char dir[64];

static hone_workload *parse(const char *text) {
    hone_workload *w = NULL;
    if (hone_workload_parse(text, strlen(text), "w.yaml", dir, &w, &e)) printf("# %s\n", e.text);
    return w;
}

static void test_expand(void) {
    static const hn_binding pair[] = {{"cc", "gcc"}, {"out", "'/tmp/a b'"}, {"input", "n=1 m=2"}, {"x", ""}};
    static const struct {
        const char *name, *text, *want;
    } row[] = {
        {"plain", "make all", "make all"},
        {"names", "{cc} -o {out} {input}{x}", "gcc -o '/tmp/a b' n=1 m=2"},
        {"braces", "awk '{{print $1}}'", "awk '{print $1}'"},
        {"no_name", "find {} {1} { cc } {a,b} }", "find {} {1} { cc } {a,b} }"},
        {"shell", "${HOME}/${A:-${cc}} $cc $", "${HOME}/${A:-${cc}} $cc $"},
        {"shell_open", "${HOME", "${HOME"},
        {"open", "a {cc", "a {cc"},
        {"nothing", "", ""},
    };
    hone_workload *w = parse("build: '{cc} {flags} -o {out}'\nrun: '{out}'\n");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hn_str s = {0};
        char name[64];
        snprintf(name, sizeof name, "workload/expand_%s", row[i].name);
        hone_rc rc = hn_workload_expand(w, row[i].text, pair, 4, &s, &e);
        is_text(rc ? e.text : s.n ? s.text : "", row[i].want, name);
        hn_str_free(&s);
    }
    hn_str s = {0};
    ok(hn_workload_expand(w, "a {cc} {nope}", pair, 4, &s, &e) == HONE_E_INPUT && !s.n && strstr(e.text, "'{nope}'"),
       "workload/expand_unbound");
    ok(hn_template_has("{cc} x", "cc") && !hn_template_has("{{cc}} ${cc} {ccc}", "cc") && !hn_template_has(NULL, "cc"),
       "workload/template_has");
    hone_workload_free(w);
}

static void put(const char *name, const char *text) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    hn_write_file(path, text, strlen(text), NULL);
}

static void test_harness(void) {
    char *flags = NULL, path[128];
    setenv("HONE_HARNESS_DIR", dir, 1);
    ok(hn_harness_flags(&flags, &e) == HONE_E_NOTFOUND && strstr(e.text, dir) && strstr(e.text, "HONE_HARNESS_DIR"),
       "workload/harness_not_found");
    snprintf(path, sizeof path, "%s/pre fix/lib", dir);
    hn_make_dirs(path, NULL);
    snprintf(path, sizeof path, "%s/pre fix/include/hone", dir);
    hn_make_dirs(path, NULL);
    put("pre fix/lib/libhonebench.a", "x");
    put("pre fix/include/hone/bench.h", "x");
    snprintf(path, sizeof path, "%s/pre fix", dir);
    setenv("HONE_HARNESS_DIR", path, 1);
    if (ok(hn_harness_flags(&flags, &e) == HONE_OK, "workload/harness_found")) {
        ok(strstr(flags, "pre fix/include' '") && strstr(flags, "pre fix/lib/libhonebench.a'"),
           "workload/harness_quoted");
        hone_free(flags);
    }
    unsetenv("HONE_HARNESS_DIR");
    if (ok(hn_harness_flags(&flags, &e) == HONE_OK, "workload/harness_beside_the_program")) hone_free(flags);
}

static hone_workload *draft(const char *source, const char *build) {
    char *text = NULL;
    if (hone_workload_draft(source, build, &text, &e)) {
        printf("# %s\n", e.text);
        return NULL;
    }
    hone_workload *w = parse(text);
    if (!w) printf("# %s\n", text);
    hone_free(text);
    return w;
}

static const char kernel[] =
    "/* int main(void) is not here: \"main(\" */\n#include <hone/bench.h>\n#  include <math.h>\n"
    "#ifndef TILE\n#define TILE 32 // ok\n#endif\n#ifndef N_MAX\n# define N_MAX (1 << 4)\n#endif\n"
    "static const char *s = \"int main(\", c = '\"';\n"
    "int main (int argc, char **argv) {\n  hone_bench *b = hone_bench_open(argc, argv);\n"
    "  f(hone_bench_arg_int(b, \"n\", 1024), hone_bench_arg_text(b, \"kind\", \"fast\"));\n"
    "  hone_bench_run(b, \"cycles\", work, g(1, 2));\n}\n";

static void test_draft_source(void) {
    char path[128];
    snprintf(path, sizeof path, "%s/kernel.c", dir);
    put("kernel.c", kernel);
    hone_workload *w = draft(path, NULL);
    if (ok(w != NULL, "draft/harness_file_parses")) {
        is_text(w->name, "kernel", "draft/name");
        is_text(w->objective[0].quantity.text, "median(cycles)", "draft/metric_of_the_harness");
        is_text(w->input[0].args, "n=1024 kind=fast", "draft/arguments_of_the_harness");
        ok(strstr(w->build, "{harness}") && strstr(w->build, "-lm"), "draft/libraries");
    }
    hone_workload_free(w);
    char *text = NULL;
    hone_workload_draft(path, NULL, &text, &e);
    ok(text && strstr(text, "#  TILE: {type: int, range: [8, 128], default: 32}") && !strstr(text, "N_MAX"),
       "draft/guarded_macros_are_offered");
    ok(text && !strstr(text, "no main()"), "draft/main_seen");
    hone_free(text);
    put("odd {name} 'q'.c", "void f(void);\n");
    snprintf(path, sizeof path, "%s/odd {name} 'q'.c", dir);
    w = draft(path, NULL);
    ok(w && w->time_source == HN_FROM_LINES && w->n_sources == 1, "draft/odd_file_name_parses");
    hone_workload_free(w);
    text = NULL;
    hone_workload_draft(path, NULL, &text, &e);
    ok(text && strstr(text, "no main()"), "draft/main_missed");
    hone_free(text);
    ok(hone_workload_draft("/nonexistent.c", NULL, &text, &e) == HONE_E_IO, "draft/missing_file");
    ok(hone_workload_draft(NULL, NULL, &text, &e) == HONE_E_USAGE &&
           hone_workload_draft("a", "b", &text, &e) == HONE_E_USAGE,
       "draft/one_of_two");
}

static void test_draft_build(void) {
    static const struct {
        const char *name, *build, *want_build, *want_baseline, *want_compiler;
    } row[] = {
        {"simple", "gcc -O2 -march=native -Wall k.c -lm -o prog", "{cc} {flags} {defines} -Wall k.c -lm -o {out}",
         "-O2 -march=native", "gcc"},
        {"no_output", "clang-19 k.c", "{cc} {flags} {defines} k.c -o {out}", "-O2", "clang-19"},
        {"output_joined", "gcc -oprog k.c", "{cc} {flags} {defines} -o {out} k.c", "-O2", "gcc"},
        {"path_and_kept_flags", "/usr/bin/x86_64-linux-gnu-gcc-12 -m64 -fPIC -O3 -DX='a b' k.c",
         "{cc} {flags} {defines} -m64 -fPIC -DX='a b' k.c -o {out}", "-O3", "/usr/bin/x86_64-linux-gnu-gcc-12"},
        {"environment", "LC_ALL=C gcc k.c -o p", "LC_ALL=C {cc} {flags} {defines} k.c -o {out}", "-O2", "gcc"},
        {"shell_words", "gcc ${A:-x y} k.c", "{cc} {flags} {defines} ${A:-x y} k.c -o {out}", "-O2", "gcc"},
        {"braces", "gcc -DF={1} k.c -o p", "{cc} {flags} {defines} -DF={{1}} k.c -o {out}", "-O2", "gcc"},
        {"make", "make -C src CFLAGS=-O2 prog",
         "make -B CC={cc} CFLAGS=\"{flags} {defines}\" -C src prog && cp src/prog {out}", "-O2", "gcc"},
        {"script", "./build.sh --release",
         "CC={cc} CFLAGS=\"{flags} {defines}\" ./build.sh --release && cp PROGRAM {out}", "-O2", "gcc"},
        {"compile_only", "gcc -c k.c -o k.o", "{cc} {flags} {defines} -c k.c -o {out}", "-O2", "gcc"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hone_workload *w = draft(NULL, row[i].build);
        bool good = w && !strcmp(w->build, row[i].want_build) && !strcmp(w->baseline, row[i].want_baseline) &&
                    !strcmp(w->compiler[0], row[i].want_compiler);
        if (!ok(good, "draft/build_%s", row[i].name) && w)
            printf("#   build: %s\n#   baseline: %s, compiler %s\n", w->build, w->baseline, w->compiler[0]);
        hone_workload_free(w);
    }
    char *text;
    ok(hone_workload_draft(NULL, "  ", &text, &e) == HONE_E_INPUT, "draft/build_empty");
    ok(hone_workload_draft(NULL, "gcc ${A k.c", &text, &e) == HONE_E_INPUT && strstr(e.text, "${A"),
       "draft/build_open");
}

int main(void) {
    strcpy(dir, "/tmp/hone-workload-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    put("k.c", "int main(void) { return 0; }\n");
    test_expand();
    test_harness();
    test_draft_source();
    test_draft_build();
    hn_remove_tree(dir, NULL);
    return done_testing();
}
