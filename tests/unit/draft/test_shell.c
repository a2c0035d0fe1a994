/* Texts of builds as simple commands, and those as compilations and links. */
#include "base/str.h"
#include "draft/project.h"
#include "draft/shell.h"
#include "tap.h"

static void test_shell(void) {
    static const struct {
        const char *name, *text, *want; /* "DIR: WORD|WORD;" for each command */
    } row[] = {
        {"words", "gcc -c a.c\n", "/w: gcc|-c|a.c;"},
        {"quotes", "gcc '-DA=\"x y\"' \"b c\".c \\\"\n", "/w: gcc|-DA=\"x y\"|b c.c|\";"},
        {"empty_word", "gcc '' a", "/w: gcc||a;"},
        {"operators", "a && b; c || d | e & f", "/w: a;/w: b;/w: c;/w: d;/w: e;/w: f;"},
        {"cd_lasts_a_line", "cd x/../y && gcc a.c\ngcc b.c", "/w/y: gcc|a.c;/w: gcc|b.c;"},
        {"cd_absolute", "cd /q/./r; gcc a.c", "/q/r: gcc|a.c;"},
        {"continued", "gcc a.c \\\n  b.c", "/w: gcc|a.c|b.c;"},
        {"comment", "# gcc x.c\ngcc a#b.c # c", "/w: gcc|a#b.c;"},
        {"redirections", "gcc a.c >x 2>&1 <y >> z; b 2>/dev/null", "/w: gcc|a.c;/w: b;"},
        {"substitution", "gcc `test -f a.c || echo ./`a.c $(pkg-config --libs (x)) b.c", "/w: gcc|a.c|b.c;"},
        {"substitution_in_quotes", "x=\"`sed s/a/b/`\" gcc \"$(a)b\"", "/w: x=|gcc|b;"},
        {"make_enters", "make[1]: Entering directory '/w/sub'\ngcc a.c\nmake[1]: Leaving directory '/w/sub'\ngcc b.c\n",
         "/w/sub: gcc|a.c;/w: gcc|b.c;"},
        {"make_leaves_too_often", "make: Leaving directory '/w'\ngcc a.c\n",
         "/w: make:|Leaving|directory|/w;/w: gcc|a.c;"},
        {"keywords", "if test -f x; then gcc a.c; fi; (cd z; gcc b.c)",
         "/w: test|-f|x;/w: gcc|a.c;/w: fi;/w/z: gcc|b.c;"},
        {"unclosed", "gcc 'a b", "/w: gcc|a b;"},
        {"unclosed_substitution", "gcc $(a", "/w: gcc;"},
        {"nothing", "", ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hn_arena a = {0};
        hn_simples s = {0};
        hn_str got = {0};
        hn_shell_commands(&a, row[i].text, strlen(row[i].text), "/w", &s);
        for (size_t k = 0; k < s.n; k++) {
            hn_str_addf(&got, "%s: ", s.command[k].dir);
            for (size_t w = 0; w < s.command[k].n; w++) hn_str_addf(&got, "%s%s", w ? "|" : "", s.command[k].word[w]);
            hn_str_add(&got, ";");
        }
        ok(!strcmp(got.text ? got.text : "", row[i].want), "shell/%s", row[i].name);
        if (strcmp(got.text ? got.text : "", row[i].want) != 0) printf("# %s\n", got.text ? got.text : "");
        hn_str_free(&got);
        hn_arena_free(&a);
    }
}

/* The kinds of parts as letters, with what they say. */
static void show(const hn_line *l, hn_str *s) {
    static const char *const makes[] = {"other", "object", "archive", "shared", "program"};
    static const char kinds[] = "bcltiyd";
    hn_str_addf(s, "%s%s%s", makes[l->makes], l->output ? " " : "", l->output ? l->output : "");
    for (size_t i = 0; i < l->n; i++) {
        const hn_line_part *p = &l->part[i];
        hn_str_addf(s, " %c:%s%s%s", kinds[p->kind], p->lead, p->apart ? "_" : "",
                    p->path                                 ? p->path
                    : p->name && p->kind != HN_PART_LIBRARY ? p->name
                                                            : "");
    }
}

static void test_line(void) {
    static const struct {
        const char *name, *text, *want;
    } row[] = {
        {"object", "gcc -O2 -I inc -DX=1 -c a.c -o b/a.o", "object /w/b/a.o t:-O2 c:-I_/w/inc c:-DX=1 i:/w/a.c"},
        {"object_unnamed", "/usr/bin/cc -c ../a.c", "object i:/a.c"},
        {"program", "g++ -o x a.o -Lq -lm -Wl,--gc-sections -pthread",
         "program /w/x i:/w/a.o d:-L/w/q y:-lm l:-Wl,--gc-sections b:-pthread"},
        {"program_unnamed", "gcc a.c", "program /w/a.out i:/w/a.c"},
        {"shared", "gcc -shared -fPIC -o libx.so a.o -Wl,-soname,libx.so.1", "shared /w/libx.so b:-fPIC i:/w/a.o"},
        {"archive", "ar rcs libx.a a.o b.o", "archive /w/libx.a i:/w/a.o i:/w/b.o"},
        {"archive_of_a_cross_compiler", "gcc-ar csrDT libx.a a.o", "archive /w/libx.a i:/w/a.o"},
        {"listing_is_none", "ar t libx.a", "other"},
        {"dependencies_are_dropped", "gcc -MD -MF a.d -MT a.o -MP -c a.c", "object i:/w/a.c"},
        {"warnings_as_errors_are_dropped", "gcc -Wall -Werror -Werror=vla -c a.c", "object c:-Wall i:/w/a.c"},
        {"included_file", "gcc -include cfg.h -isystem /s -c a.c", "object c:-include_/w/cfg.h c:-isystem_/s i:/w/a.c"},
        {"linker_script", "gcc a.o -Wl,--version-script=v.map -o x",
         "program /w/x i:/w/a.o l:-Wl,--version-script=/w/v.map"},
        {"machine", "gcc -march=native -m32 -c a.c", "object t:-march=native b:-m32 i:/w/a.c"},
        {"wrapped", "ccache gcc -c a.c", "object i:/w/a.c"},
        {"libtool", "/bin/bash ./libtool --tag=CC --mode=compile gcc -c -o a.lo a.c", "object /w/a.lo i:/w/a.c"},
        {"setting", "LC_ALL=C gcc -c a.c", "object i:/w/a.c"},
        {"preprocessed", "gcc -E a.c", "other"},
        {"version", "gcc --version", "other"},
        {"echo", "echo gcc -c a.c", "other"},
        {"argument_missing", "gcc -c a.c -I", "object i:/w/a.c"},
        {"rust", "rustc -O a.rs", "other"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hn_arena a = {0};
        hn_simples s = {0};
        hn_str got = {0};
        hn_line l;
        hn_shell_commands(&a, row[i].text, strlen(row[i].text), "/w", &s);
        hn_line_read(&a, s.command[0].dir, s.command[0].word, s.command[0].n, &l);
        show(&l, &got);
        ok(!strcmp(got.text, row[i].want), "line/%s", row[i].name);
        if (strcmp(got.text, row[i].want) != 0) printf("# %s\n", got.text);
        hn_str_free(&got);
        hn_arena_free(&a);
    }
}

/* A project's text, one of its programs, its units in order. */
static void test_project(void) {
    static const char text[] =
        "gcc -c main.c\ngcc -c x.c -o o/x.o\ngcc -c y.c\nar rcs libx.a o/x.o\nar rcs libx.a y.o\n"
        "gcc -o app main.o -L. -lx -lm\ngcc -o tool tool.c /dev/null\n";
    hn_arena a = {0};
    hn_project p = {.dir = "/w"};
    const hn_line *link = NULL;
    hn_made made;
    hone_err e;
    hn_project_take(&a, &p, text, strlen(text), "/w");
    ok(p.n == 7, "project/commands");
    ok(hn_project_choose(&a, &p, NULL, NULL, &link, &e) == HONE_E_USAGE && strstr(e.text, "'app', 'tool'"),
       "project/several_programs_are_named");
    ok(hn_project_choose(&a, &p, "none", NULL, &link, &e) == HONE_E_NOTFOUND && strstr(e.text, "'none'"),
       "project/an_unknown_program");
    ok(!hn_project_choose(&a, &p, NULL, "cat x | ./build/tool -n 3", &link, &e) && !strcmp(link->output, "/w/tool"),
       "project/the_run_names_the_program");
    ok(!hn_project_choose(&a, &p, "app", NULL, &link, &e), "project/chosen");
    ok(!hn_project_flatten(&a, &p, link, &made, &e) && made.n == 3 && !strcmp(made.unit[2].source, "/w/y.c"),
       "project/archives_are_flattened_by_all_their_commands");
    ok(made.n_parts == 2 && !strcmp(made.part[1]->lead, "-lm"), "project/libraries_of_others_stay");
    hn_arena_free(&a);
}

int main(void) {
    test_shell();
    test_line();
    test_project();
    return done_testing();
}
