/* Build commands of one call and of several as compilations and a link: which file has which options, in which order
 * they are linked; what stays whole. */
#include "tap.h"

#include "base/str.h"
#include "tune/cut_command.h"

/* "SOURCE: OPTIONS; SOURCE: OPTIONS | LINK (%: an object)"; "whole". */
static char *describe(const char *shell, bool pgo) {
    hn_arena a = {0};
    hn_str s = {0};
    hn_cut c;
    if (!hn_cut_command(hn_family_of_command("gcc"), "gcc", shell, pgo, &a, &c)) {
        hn_str_add(&s, "whole");
    } else {
        for (size_t i = 0; i < c.n; i++) {
            hn_str_addf(&s, "%s%s:", i ? "; " : "", c.source[i]);
            for (size_t k = 0; k < c.with[i]->n; k++)
                hn_str_addf(&s, c.with[i]->is_read[k] ? " [%s]" : " %s", c.with[i]->word[k]);
        }
        hn_str_add(&s, " |");
        for (size_t i = 0; i < c.n_link; i++) hn_str_addf(&s, " %s", c.link[i] ? c.link[i] : "%");
    }
    hn_arena_free(&a);
    return hn_str_take(&s);
}

static const struct {
    const char *name, *shell, *want;
    bool pgo;
} row[] = {
    {"one_call", "gcc -O2 a.c b.c -o p -lm", "a.c: -O2; b.c: -O2 | -O2 % % -o p -lm", false},
    {"quotes", " gcc '-DX=\"a b\"' \"my a.c\" b\\ c.c -o p\n",
     "my a.c: [-DX=\"a b\"]; b c.c: [-DX=\"a b\"] | -DX=\"a b\" % % -o p", false},
    {"options_of_their_own", "gcc -O2 -DA -c a.c &&\ngcc -O2 -DB=2 -c b.c c.c &&\ngcc -O2 a.o b.o c.o -lm -o p",
     "a.c: -O2 [-DA]; b.c: -O2 [-DB=2]; c.c: -O2 [-DB=2] | -O2 % % % -lm -o p", false},
    {"the_link_has_the_order", "gcc -DA -c a.c; gcc -c b.c -o x/b.o\ngcc x/b.o -O1 a.o y.a -o p;",
     "b.c:; a.c: [-DA] | % -O1 % y.a -o p", false},
    {"the_link_compiles_too", "gcc -DA -c a.c && gcc -O3 m.c a.o z.c -o p",
     "m.c: -O3; a.c: [-DA]; z.c: -O3 | -O3 % % % -o p", false},
    {"one_file_twice", "gcc -DN=1 -c a.c -o 1.o && gcc -DN=2 -c a.c -o 2.o && gcc 1.o 2.o -o p",
     "a.c: [-DN=1]; a.c: [-DN=2] | % % -o p", false},
    {"the_program_is_called_like_an_object", "gcc -c a.c b.c && gcc a.o b.o -o a.o", "a.c:; b.c: | % % -o a.o", false},
    {"another_language", "gcc -x c -c a.c && gcc -c b.cc && gcc a.o b.o -o p", "a.c: -x c; b.cc: | % % -o p", false},
    {"profile", "gcc -fprofile-use=q -DA -c a.c && gcc -c b.c -fprofile-use=q -O2 && gcc -fprofile-use=q a.o b.o -o p",
     "a.c: [-DA] -fprofile-use=q; b.c: -O2 -fprofile-use=q | % % -o p -fprofile-use=q", true},
    {"profile_unasked", "gcc -fprofile-use=q a.c b.c -o p", "whole", false},
    {"an_object_is_left_over", "gcc -c a.c b.c && gcc a.o -o p", "whole", false},
    {"an_object_is_linked_twice", "gcc -c a.c b.c && gcc a.o b.o a.o -o p", "whole", false},
    {"an_object_is_made_twice", "gcc -DN=1 -c a.c && gcc -DN=2 -c a.c && gcc a.o -o p", "whole", false},
    {"an_object_under_another_name", "gcc -c a.c b.c && gcc ./a.o b.o -o p", "whole", false},
    {"nothing_is_linked", "gcc -c a.c && gcc -c b.c", "whole", false},
    {"nothing_is_compiled", "gcc a.o b.o -o p", "whole", false},
    {"two_programs", "gcc a.c -o p && gcc b.c -o q", "whole", false},
    {"compiled_behind_the_link", "gcc a.c -o p && gcc -c b.c", "whole", false},
    {"another_compiler", "gcc -c a.c && cc a.o b.c -o p", "whole", false},
    {"another_program", "gcc -c a.c b.c && ar rcs l.a a.o b.o && gcc l.a -o p", "whole", false},
    {"a_folder", "cd x && gcc a.c b.c -o p", "whole", false},
    {"in_the_background", "gcc -c a.c & gcc b.c a.o -o p", "whole", false},
    {"either", "gcc -c a.c || gcc a.c b.c -o p", "whole", false},
    {"a_pipe", "gcc a.c b.c -o p | cat", "whole", false},
    {"a_comment", "gcc a.c b.c -o p # done", "whole", false},
    {"nothing_follows", "gcc a.c b.c -o p &&", "whole", false},
    {"nothing_between", "gcc -c a.c &&; gcc a.o b.c -o p", "whole", false},
    {"nothing_before", "; gcc a.c b.c -o p", "whole", false},
    {"a_quote_is_open", "gcc a.c 'b.c -o p", "whole", false},
    {"nothing", " \n", "whole", false},
};

int main(void) {
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *got = describe(row[i].shell, row[i].pgo), name[80];
        snprintf(name, sizeof name, "cut_command/%s", row[i].name);
        is_text(got, row[i].want, name);
        free(got);
    }
    hn_arena a = {0};
    hn_cut c;
    const hn_family *clang = hn_family_of_command("clang");
    ok(hn_cut_command(clang, "clang", "clang -DA -c a.c && clang b.c a.o -o p", false, &a, &c) &&
           !hn_cut_stages(&c, &a),
       "cut_command/edited_passes");
    const char *why =
        hn_cut_command(clang, "clang", "clang -c a.c && clang -c -O0 b.c && clang a.o b.o -o p", false, &a, &c)
            ? hn_cut_stages(&c, &a)
            : NULL;
    ok(why && strstr(why, "'-O0'"), "cut_command/one_file_cannot_have_edited_passes");
    hn_arena_free(&a);
    return done_testing();
}
