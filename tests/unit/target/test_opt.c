/* opt beside clang: found, of another version, silent, without a pipeline, remembered; the three stages as commands;
 * which words are declined. Tools that lie stand in for both. */
#include "base/fs.h"
#include "proc/temp.h"
#include "tap.h"
#include "target/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void script(const char *dir, const char *name, const char *text) {
    char *path = hn_path_join(dir, name), whole[600];
    snprintf(whole, sizeof whole, "#!/bin/sh\n%s\n", text);
    if (path && !hn_write_file(path, whole, strlen(whole), NULL)) chmod(path, 0755);
    free(path);
}

#define OPT_OF(version, pipeline)                                                                                      \
    "case \"$1\" in --version) echo 'LLVM version " version "';; *) echo '" pipeline "';; esac"

static const struct {
    const char *name, *clang, *suffixed, *plain, *found, *why;
} find[] = {
    {"of_one_version", "19.1.7 (x)", OPT_OF("19.1.7", "a,f(b)"), "exit 1", "opt-19", NULL},
    {"plain_where_the_other_differs", "19.1.7", OPT_OF("19.1.6", "a"), OPT_OF("19.1.7", "a,f(b)"), "opt", NULL},
    {"of_another_version", "19.1.7", OPT_OF("19.1.6", "a"), "exit 1", NULL, "'opt-19' is of LLVM 19.1.6 and"},
    {"that_does_not_run", "19.1.7", "exit 1", "kill -SEGV $$", NULL, "is not installed (Debian: package llvm-19)"},
    {"that_prints_no_pipeline", "19.1.7", OPT_OF("19.1.7", "a(b"), "exit 1", NULL, "does not print a pipeline"},
    {"that_does_not_read_its_own", "19.1.7", "case \"$1\" in -passes=a*) exit 1;; esac; " OPT_OF("19.1.7", "a"),
     "exit 1", NULL, "that it reads back"},
    {"of_a_clang_without_version", "x", "exit 1", "exit 1", NULL, "does not say which LLVM it is"},
};

static void test_find(const char *dir) {
    char clang[100], name[100];
    for (size_t i = 0; i < sizeof find / sizeof *find; i++) {
        hn_arena a = {0};
        hn_opt opt = {0};
        const char *why = NULL;
        snprintf(clang, sizeof clang, "echo 'clang version %s'", find[i].clang);
        script(dir, "clang-19", clang);
        script(dir, "opt-19", find[i].suffixed);
        script(dir, "opt", find[i].plain);
        bool there = hn_opt_find(&a, "clang-19", &opt, &why);
        snprintf(name, sizeof name, "opt/%s", find[i].name);
        if (find[i].found)
            ok(there && !strcmp(opt.command, find[i].found) && opt.pipeline.n == 2 && strlen(opt.hash) == 32, "%s",
               name);
        else
            ok(!there && why && strstr(why, find[i].why), "%s (%s)", name, why ? why : "");
        hn_arena_free(&a);
    }
}

static void test_tool(const char *dir) {
    hone_post_link_tool tool;
    hone_err err = {0};
    script(dir, "clang-19", "echo 'clang version 19.1.7'");
    script(dir, "opt-19", OPT_OF("19.1.7", "a,f(b)"));
    ok(!hone_target_pass_tool("clang-19", &tool, &err) && !strcmp(tool.version, "19.1.7"), "opt/tool_for_a_compiler");
    ok(hone_target_pass_tool("gcc-12", &tool, &err) == HONE_E_UNSUPPORTED, "opt/no_tool_for_gcc (%s)", err.text);
    ok(hone_target_pass_tool("clang-77", &tool, &err) == HONE_E_TOOL, "opt/no_tool_for_none (%s)", err.text);
}

/* --- what is remembered: programs, since scripts are asked each time, that count how often they run
 * -------------------
 */

static const char tool_text[] =
    "#include <stdio.h>\n#include <string.h>\n"
    "int main(int n, char **word) {\n"
    "    FILE *f = fopen(LOG, \"a\");\n    fputc('x', f);\n    fclose(f);\n"
    "    puts(n > 1 && !strcmp(word[1], \"--version\") ? \"LLVM version \" VERSION : PIPELINE);\n"
    "    return 0;\n}\n";

/* False: there is no compiler. */
static bool program(const char *dir, const char *name, const char *version, const char *pipeline) {
    char command[2400], source[600];
    snprintf(source, sizeof source, "%s/tool.c", dir);
    if (hn_write_file(source, tool_text, strlen(tool_text), NULL)) return false;
    snprintf(command, sizeof command,
             "cc -DLOG='\"%s/runs\"' -DVERSION='\"%s\"' -DPIPELINE='\"%s\"' -o %s/%s.new %s && mv %s/%s.new %s/%s", dir,
             version, pipeline, dir, name, source, dir, name, dir, name);
    return system(command) == 0;
}

static size_t runs(const char *dir) {
    char path[600], *text = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/runs", dir);
    if (hn_read_file(path, &text, &n, NULL)) return 0;
    free(text);
    remove(path);
    return n;
}

/* The pipeline that is found must be this one, after so many starts of both tools. */
static void finds(const char *dir, const char *pipeline, size_t n, const char *name) {
    hn_arena a = {0};
    hn_opt opt = {0};
    const char *why = "";
    bool there = hn_opt_find(&a, "clang-77", &opt, &why);
    size_t n_runs = runs(dir);
    ok(there && n_runs == n && !strcmp(opt.version, "77.1.7") && strlen(opt.hash) == 32 && strlen(opt.text_hash) == 32,
       "opt/%s (%zu runs%s%s)", name, n_runs, why ? ", " : "", why ? why : "");
    is_text(there ? opt.text : NULL, pipeline, name);
    hn_arena_free(&a);
}

static void damage(const char *dir) {
    char command[800];
    snprintf(command, sizeof command, "sed -i s/hone-opt/x/ %s/cache/hone/opt-*.tsv", dir);
    ok(system(command) == 0, "opt/what_is_remembered_is_in_the_cache");
}

static void test_remembered(const char *dir) {
    char cache[600], inner[700], path[1400], *before = strdup(getenv("PATH"));
    snprintf(cache, sizeof cache, "%s/cache", dir);
    setenv("XDG_CACHE_HOME", cache, 1);
    snprintf(path, sizeof path, "%s/opt-77", dir); /* of the tests before */
    remove(path);
    snprintf(path, sizeof path, "%s/opt", dir);
    remove(path);
    if (!program(dir, "clang-77", "77.1.7", "") || !program(dir, "opt", "77.1.7", "a,f(b)")) {
        skip(1, "opt/remembered: no C compiler");
        free(before);
        return;
    }
    finds(dir, "a,f(b)", 4, "is_asked_once");
    finds(dir, "a,f(b)", 0, "is_remembered");
    program(dir, "opt", "77.1.7", "a,f(c)");
    finds(dir, "a,f(c)", 4, "replaced_is_asked");
    finds(dir, "a,f(c)", 0, "replaced_is_remembered");
    program(dir, "opt-77", "77.1.7", "d,f(b)"); /* is looked for first */
    finds(dir, "d,f(b)", 4, "that_comes_in_front_is_asked");
    program(dir, "opt-77", "77.1.6", "d,f(b)");
    finds(dir, "a,f(c)", 5, "in_front_of_another_version_is_passed_over");
    finds(dir, "a,f(c)", 0, "behind_another_is_remembered");
    program(dir, "clang-77", "77.1.7", "x");
    finds(dir, "a,f(c)", 5, "of_another_compiler_is_asked");
    snprintf(inner, sizeof inner, "%s/inner", dir);
    snprintf(path, sizeof path, "%s:%s", inner, before);
    if (!hn_make_dirs(inner, NULL)) setenv("PATH", path, 1);
    script(inner, "opt-77", OPT_OF("77.1.7", "e,f(b)"));
    finds(dir, "e,f(b)", 1, "that_is_a_script_is_asked");
    finds(dir, "e,f(b)", 1, "that_is_a_script_is_asked_each_time");
    setenv("PATH", before, 1);
    finds(dir, "a,f(c)", 0, "by_the_path_of_before_is_remembered");
    damage(dir);
    finds(dir, "a,f(c)", 5, "after_damage_is_asked");
    free(before);
}

static void test_pipeline(void) {
    hn_arena a = {0};
    hn_opt opt = {.text = "a,f(b,c)"};
    const char *text = NULL;
    hone_err err = {0};
    ok(!hn_opt_pipeline(&opt, "-2 +3@3", &a, &text, &err), "opt/pipeline_with_edits");
    is_text(text, "a,f(c,c)", "opt/text_with_edits");
    ok(hn_opt_pipeline(&opt, "-4", &a, &text, &err) == HONE_E_INPUT, "opt/no_such_edit (%s)", err.text);
    hn_arena_free(&a);
}

static void test_commands(void) {
    static const char *const word[] = {"-O3", "-I", "in c", "-DX=1", "-std=c11",  "-mllvm", "-x86-a=1", "-MMD",   "-MF",
                                       "x.d", "-x", "c",    "-g",    "-mllvm=-b", "-Iinc2", "-include", "stdio.h"};
    hn_opt opt = {.path = "/l/bin/opt"};
    hn_opt_call c = {
        .cc = "clang-19", .word = word, .n = sizeof word / sizeof *word, .source = "x.c", .output = "o/x.o"};
    hn_str s = {0};
    hn_opt_compile(&s, &opt, &c, "f(a<b>)");
    is_text(
        s.text,
        "clang-19 -O3 -I 'in c' -DX=1 -std=c11 -mllvm -x86-a=1 -MMD -MF x.d -x c -g -mllvm=-b -Iinc2 -include stdio.h "
        "-Xclang -disable-llvm-passes -emit-llvm -c x.c -o o/x.o.bc"
        " && /l/bin/opt -x86-a=1 -b -passes='f(a<b>)' o/x.o.bc -o o/x.o.opt.part && mv o/x.o.opt.part o/x.o.opt.bc"
        " && clang-19 -O3 -mllvm -x86-a=1 -g -mllvm=-b -Qunused-arguments -Xclang -disable-llvm-passes -c o/x.o.opt.bc "
        "-o o/x.o && rm -f o/x.o.bc o/x.o.opt.bc",
        "opt/three_stages");
    hn_str_free(&s);
    c = (hn_opt_call){.cc = "clang-19", .source = "x.c", .output = "x.o", .has_bitcode = true, .keeps_bitcode = true};
    hn_opt_compile(&s, &opt, &c, "f");
    is_text(s.text,
            "/l/bin/opt -passes=f x.o.bc -o x.o.opt.part && mv x.o.opt.part x.o.opt.bc"
            " && clang-19 -Qunused-arguments -Xclang -disable-llvm-passes -c x.o.opt.bc -o x.o && rm -f x.o.opt.bc",
            "opt/two_stages_of_bitcode_that_is_there");
    hn_str_free(&s);
}

static void test_declined(void) {
    static const char *const no[] = {"-flto", "-flto=thin", "-fprofile-use=p", "-fsanitize=address", "-S", "-O0"},
                             *const yes[] = {"-O3", "-ffast-math", "-g", "-fno-lto-x", "-DNDEBUG", "-fopenmp"};
    hn_arena a = {0};
    size_t n_no = 0;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) n_no += hn_opt_declines(&a, &no[i], 1) != NULL;
    ok(n_no == sizeof no / sizeof *no, "opt/declines_what_clang_adds_passes_for");
    ok(!hn_opt_declines(&a, yes, sizeof yes / sizeof *yes), "opt/takes_others");
    hn_arena_free(&a);
}

int main(void) {
    hn_temp temp;
    char path[600];
    if (hn_temp_make(NULL, "hone-opt-", &temp, NULL)) return 1;
    test_pipeline();
    test_commands();
    test_declined();
    snprintf(path, sizeof path, "%s:/bin:/usr/bin", temp.path);
    setenv("PATH", path, 1);
    test_find(temp.path);
    test_tool(temp.path);
    test_remembered(temp.path);
    hn_temp_free(&temp);
    return done_testing();
}
