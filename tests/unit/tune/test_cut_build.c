/* Builds that are cut into compilations and a link: the same program, objects that were compiled before, what stays
 * whole, failures. */
#include "tap.h"

#include "base/fs.h"
#include "tune/build.h"

#include <unistd.h>

static char root[] = "/tmp/hone-test-cut-XXXXXX";
static hone_target *target;
static const char *compiler = "gcc";

static void put(const char *name, const char *text) {
    char *path = hn_path_join(root, name);
    hn_write_file(path, text, strlen(text), NULL);
    free(path);
}

static void put_sources(void) {
    put("lib.h", "int a(int);\nint b(int);\n");
    put("a.c", "#include \"lib.h\"\nint a(int x) { return x * N; }\n");
    put("b.c", "#include \"lib.h\"\nint b(int x) { for (int i = 0; i < 9; i++) x = x * 3 + i; return x; }\n");
    put("main.c", "#include \"lib.h\"\nint main(int n, char **v) { (void)v; return a(n) + b(n); }\n");
}

static hone_workload *workload(const char *command, const char *objective) {
    char text[600];
    hone_workload *w = NULL;
    hone_err err = {0};
    snprintf(text, sizeof text,
             "hone: 1\nname: cut\nsources: [main.c, a.c, b.c, lib.h]\nbuild: '%s'\nrun: '{out}'\n"
             "compilers: [%s]\nparameters: {N: {type: int, range: [1, 9], default: 2}}\nobjectives: [minimize %s]\n"
             "parity: {rule: none}\n",
             command, compiler, objective);
    if (hone_workload_parse(text, strlen(text), "cut", root, &w, &err)) printf("# %s\n", err.text);
    return w;
}

typedef struct result {
    hone_outcome_class cls;
    char hash[33], detail[400];
    hn_object_counts c;
} result;

static const char plain[] = "{cc} {flags} {defines} main.c a.c b.c -o {out} -lm";

/* Builds in root/work, so objects stay from one call to the next; the cache is root/cache. */
static result build_with(hone_workload *w, const char *flag, const char *defines, const volatile int *stop) {
    result out = {0};
    const char *flags[] = {flag};
    char *dir = hn_path_join(root, "work"), name[] = "one", *names[] = {name};
    double waited_s = 0;
    hn_build b;
    hone_err err = {0};
    char *cache = hn_path_join(root, "cache");
    hone_tune_options o = {.size = sizeof(hone_tune_options), .cpu = -1, .stop = stop, .cache_dir = cache};
    hn_build_config cfg = {.w = w, .options = &o, .root = dir, .jobs = 2, .cpu = -1};
    cfg.waited_s = &waited_s;
    cfg.objects = &out.c;
    hn_recipe r = {.target = target, .cc = compiler, .flag = flags, .n_flags = 1, .defines = defines};
    if (hn_build_all(&cfg, &r, names, 1, &b, &err)) {
        printf("# %s\n", err.text);
        out.cls = HONE_N_CLASSES;
    } else {
        out.cls = b.cls;
        memcpy(out.hash, b.object_hash, sizeof out.hash);
        snprintf(out.detail, sizeof out.detail, "%.390s", b.detail);
        hn_build_drop(&b, false);
    }
    free(dir);
    free(cache);
    return out;
}

static result build(const char *command, const char *flag, const char *defines) {
    hone_workload *w = workload(command, "code_size");
    result out = w ? build_with(w, flag, defines, NULL) : (result){.cls = HONE_N_CLASSES};
    hone_workload_free(w);
    return out;
}

static bool counted(const result *r, size_t n_cut, size_t n_compiled, size_t n_known) {
    bool same = r->c.n_cut == n_cut && r->c.n_compiled == n_compiled && r->c.n_known == n_known;
    if (!same) printf("# cut %zu, compiled %zu, known %zu: %s\n", r->c.n_cut, r->c.n_compiled, r->c.n_known, r->detail);
    return same;
}

static void forget(const char *name) {
    char *dir = hn_path_join(root, name);
    hn_remove_tree(dir, NULL);
    free(dir);
}

static void test_same_program(void) {
    static const char *const flag[] = {"-O2", "-O3", "-O0", "-flto", "-g"};
    for (size_t i = 0; i < sizeof flag / sizeof *flag; i++) {
        result cut = build(plain, flag[i], "-DN=2");
        result whole = build("true; {cc} {flags} {defines} main.c a.c b.c -o {out} -lm", flag[i], "-DN=2");
        ok(cut.c.n_cut == 1 && whole.c.n_whole == 1 && !whole.c.n_cut, "cut_build/one_call_is_cut %s", flag[i]);
        ok(cut.cls == HONE_RUN_OK && *cut.hash && !strcmp(cut.hash, whole.hash), "cut_build/the_same_program %s",
           flag[i]);
    }
}

/* Each file with options of its own. */
static void test_several_calls(void) {
    static const char calls[] =
        "{cc} {flags} {defines} -c main.c && {cc} {flags} {defines} -DM=3 -x c -c a.c -o x.o &&\n"
        "{cc} {flags} {defines} -fno-builtin -c b.c && {cc} {flags} {defines} main.o x.o b.o -o {out}";
    char whole[400];
    snprintf(whole, sizeof whole, "true; %s", calls);
    put("a.c", "#include \"lib.h\"\nint a(int x) { return x * N * M; }\n");
    static const char *const flag[] = {"-O2", "-O3", "-flto"};
    for (size_t i = 0; i < sizeof flag / sizeof *flag; i++) {
        result cut = build(calls, flag[i], "-DN=2"), as_one = build(whole, flag[i], "-DN=2");
        ok(cut.c.n_cut == 1 && as_one.c.n_whole == 1 && !as_one.c.n_cut, "cut_build/several_calls_are_cut %s", flag[i]);
        ok(cut.cls == HONE_RUN_OK && *cut.hash && !strcmp(cut.hash, as_one.hash),
           "cut_build/several_calls_make_the_same_program %s", flag[i]);
    }
    result r = build(calls, "-O2", "-DN=3");
    ok(counted(&r, 1, 1, 2), "cut_build/of_several_calls_objects_are_kept_too");
    put_sources();
}

static void test_known_objects(void) {
    forget("work");
    forget("cache");
    result r = build(plain, "-O2", "-DN=2"), first = r;
    ok(counted(&r, 1, 3, 0), "cut_build/all_are_compiled_at_first");
    r = build(plain, "-O2", "-DN=2");
    ok(counted(&r, 1, 0, 3) && !strcmp(r.hash, first.hash), "cut_build/all_are_known_the_second_time");
    r = build(plain, "-O2", "-DN=3");
    ok(counted(&r, 1, 1, 2) && strcmp(r.hash, first.hash) != 0, "cut_build/a_parameter_compiles_what_it_reaches");
    r = build(plain, "-O1", "-DN=2");
    ok(counted(&r, 1, 3, 0), "cut_build/other_options_are_other_objects");
    put("lib.h", "int a(int);\nint b(int);\nstatic const int unused = 1;\n");
    r = build(plain, "-O2", "-DN=2");
    ok(counted(&r, 1, 3, 0), "cut_build/a_changed_header_counts");
    put_sources();
    put("b.c", "#include \"lib.h\"\nint b(int x) { return x - 1; }\n");
    r = build(plain, "-O2", "-DN=2");
    ok(counted(&r, 1, 1, 2) && strcmp(r.hash, first.hash) != 0, "cut_build/a_changed_file_is_compiled");
    put("b.c", "int b(int x) { __asm__(\".pushsection .note.x; .incbin \\\"lib.h\\\"; .popsection\"); return x; }\n");
    build(plain, "-O2", "-DN=2");
    r = build(plain, "-O2", "-DN=2");
    ok(counted(&r, 1, 1, 2), "cut_build/what_reads_further_files_is_compiled_each_time");
    put_sources();
}

/* Another run finds the objects in the cache, but for one that was damaged there. */
static void test_later_runs(void) {
    forget("work");
    forget("cache");
    result first = build(plain, "-O2", "-DN=2");
    forget("work");
    result r = build(plain, "-O2", "-DN=2");
    ok(counted(&r, 1, 0, 3) && !strcmp(r.hash, first.hash), "cut_build/objects_of_an_earlier_run_are_known");
    forget("work");
    hn_str shell = {0};
    hn_str_addf(&shell, "cd %s/cache/objects && for f in *; do echo damaged >> $f; break; done", root);
    ok(!system(shell.text), "cut_build/one_is_damaged");
    hn_str_free(&shell);
    r = build(plain, "-O2", "-DN=2");
    ok(counted(&r, 1, 1, 2) && !strcmp(r.hash, first.hash), "cut_build/a_damaged_object_is_compiled");
    forget("work");
    forget("cache");
    r = build(plain, "-O2", "-DN=2");
    ok(counted(&r, 1, 3, 0), "cut_build/without_the_cache_all_are_compiled");
}

static void test_whole(void) {
    static const char *const command[] = {
        "cd . && {cc} {flags} {defines} main.c a.c b.c -o {out}",
        "{cc} {flags} {defines} main.c a.c b.c -o {out} 2>log",
        "{cc} {flags} {defines} *.c -o {out}",
        "X=1 {cc} {flags} {defines} main.c a.c b.c -o {out}",
        "{cc} {flags} {defines} main.c a.c b.c -o \"{out}${NOTHING}\"",
        "sh -c \"{cc} {flags} {defines} main.c a.c b.c -o {out}\"",
    };
    for (size_t i = 0; i < sizeof command / sizeof *command; i++) {
        result r = build(command[i], "-O2", "-DN=2");
        ok(r.cls == HONE_RUN_OK && r.c.n_whole == 1 && !r.c.n_cut, "cut_build/stays_whole %s", command[i]);
    }
    result r = build("{cc} {flags} {defines} ''main.c'' \"a.c\" b\\.c -o {out}", "-O2", "-DN=2");
    ok(r.cls == HONE_RUN_OK && r.c.n_cut == 1, "cut_build/quotes_are_understood");
    hone_workload *w = workload(plain, "compile_time");
    r = build_with(w, "-O2", "-DN=2", NULL);
    ok(r.cls == HONE_RUN_OK && r.c.n_whole == 1, "cut_build/stays_whole_where_compile_time_counts");
    hone_workload_free(w);
}

static void test_failures(void) {
    put("b.c", "#error no b today\n");
    result r = build(plain, "-O2", "-DN=2");
    ok(r.cls == HONE_BUILD_ERROR && strstr(r.detail, "no b today"), "cut_build/a_compilation_that_fails_says_why");
    put("b.c", "int b(int x);\n");
    r = build(plain, "-O2", "-DN=2");
    ok(r.cls == HONE_BUILD_ERROR && strstr(r.detail, "undefined reference"), "cut_build/a_link_that_fails_says_why");
    r = build(plain, "-fno-such-option", "-DN=2");
    ok(r.cls == HONE_BUILD_ERROR && strstr(r.detail, "no-such-option"), "cut_build/an_unknown_option_says_why");
    put_sources();
    static const volatile int stop = 1;
    hone_workload *w = workload(plain, "code_size");
    r = build_with(w, "-O2", "-DN=2", &stop);
    ok(r.cls == HONE_N_CLASSES || r.cls == HONE_RUN_OK, "cut_build/an_interruption_leaves_nothing_behind");
    hone_workload_free(w);
}

int main(void) {
    hone_err err = {0};
    if (!mkdtemp(root) || hone_target_open(compiler, NULL, &target, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    put_sources();
    test_same_program();
    test_several_calls();
    test_known_objects();
    test_later_runs();
    test_whole();
    test_failures();
    hone_target_close(target);
    hn_remove_tree(root, NULL);
    return done_testing();
}
