/* Calls of a compiler cut into compilations and a link; what is not understood stays whole. */
#include "target/cc.h"

#include "base/str.h"

#include "tap.h"

static void add_words(hn_str *s, const hn_cut_words *w) {
    for (size_t i = 0; i < w->n; i++) hn_str_addf(s, w->is_read[i] ? " [%s]" : " %s", w->word[i]);
}

/* "SOURCES | OPTIONS (in brackets: for the preprocessor alone) | LINK (%: an object)"; without a link its objects;
 * files with other options than the first: theirs in parentheses; "whole". */
static char *describe(const char *text) {
    hn_arena a = {0};
    hn_str s = {0};
    hn_cut c;
    const char *word[40];
    size_t n = 0;
    char *copy = strdup(text), *rest = copy;
    for (char *w; (w = strsep(&rest, " ")) && n < 40;) word[n++] = w;
    if (!hn_cc_cut(&a, word, n, &c)) {
        hn_str_add(&s, "whole");
    } else {
        for (size_t i = 0; i < c.n; i++) hn_str_addf(&s, "%s ", c.source[i]);
        hn_str_add(&s, "|");
        for (size_t i = 0; i < c.n; i++) {
            if (i && c.with[i] == c.with[0]) continue;
            if (i) hn_str_addf(&s, " (%s:", c.source[i]);
            add_words(&s, c.with[i]);
            if (i) hn_str_add(&s, ")");
        }
        hn_str_add(&s, " |");
        for (size_t i = 0; i < c.n_link; i++) hn_str_addf(&s, " %s", c.link[i] ? c.link[i] : "%");
        for (size_t i = 0; !c.n_link && i < c.n; i++) hn_str_addf(&s, " ->%s", c.object[i]);
    }
    free(copy);
    hn_arena_free(&a);
    return hn_str_take(&s);
}

static const struct {
    const char *name, *call, *want;
} row[] = {
    {"plain", "gcc -O2 a.c b.c -o prog -lm", "a.c b.c | -O2 | -O2 % % -o prog -lm"},
    {"preprocessor", "gcc -DN=2 -D M -I inc -include x.h -O3 a.c b.c -o p",
     "a.c b.c | [-DN=2] [-D] [M] [-I] [inc] [-include] [x.h] -O3 | -DN=2 -D M -I inc -include x.h -O3 % % -o p"},
    {"parameter_apart", "gcc --param inline-unit-growth=3 a.c b.cc -o p",
     "a.c b.cc | --param inline-unit-growth=3 | --param inline-unit-growth=3 % % -o p"},
    {"llvm", "clang -mllvm -x=3 a.c b.c -o p", "a.c b.c | -mllvm -x=3 | -mllvm -x=3 % % -o p"},
    {"linker", "gcc a.c -Wl,-O1 b.c -L lib -l z -static x.o y.a z.so.1 -o p",
     "a.c b.c | | % -Wl,-O1 % -L lib -l z -static x.o y.a z.so.1 -o p"},
    {"link_time", "gcc -flto -fuse-ld=lld a.c b.c -o p", "a.c b.c | -flto | -flto -fuse-ld=lld % % -o p"},
    {"threads", "gcc -pthread a.c b.c -o p", "a.c b.c | -pthread | -pthread % % -o p"},
    {"order_is_kept", "gcc b.c x.a a.c -o p", "b.c a.c | | % x.a % -o p"},
    {"one_file", "gcc -O2 a.c -o p", "a.c | -O2 | -O2 % -o p"},
    {"no_file", "gcc -O2 a.o -o p", "| | -O2 a.o -o p"},
    {"no_output", "gcc a.c b.c", "whole"},
    {"objects", "gcc -O2 -DX -c lib/a.c b.cc", "lib/a.c b.cc | -O2 [-DX] | ->a.o ->b.o"},
    {"object_named", "gcc -c a.c -O2 -o x/y.o", "a.c | -O2 | ->x/y.o"},
    {"objects_share_a_name", "gcc -c a.c b.c -o p", "whole"},
    {"objects_of_an_object", "gcc -c a.c b.o", "whole"},
    {"objects_of_nothing", "gcc -c -O2", "whole"},
    {"language_given", "g++ -x c a.c b.c -O2 -x none m.cc x.o -o p",
     "a.c b.c m.cc | -x c -O2 (b.c: -x c -O2) (m.cc: -O2) | % % -O2 % x.o -o p"},
    {"language_glued", "gcc -xc++ -c a.c", "a.c | -x c++ | ->a.o"},
    {"language_of_an_object", "gcc -x c a.c b.o -o p", "whole"},
    {"language_is_missing", "gcc a.c -o p -x", "whole"},
    {"dependencies", "gcc -MMD a.c b.c -o p", "whole"},
    {"profile", "gcc -fprofile-use=p a.c b.c -o p", "whole"},
    {"coverage", "gcc --coverage a.c b.c -o p", "whole"},
    {"saved", "gcc -save-temps=obj a.c b.c -o p", "whole"},
    {"response_file", "gcc @flags a.c b.c -o p", "whole"},
    {"standard_input", "gcc a.c b.c - -o p", "whole"},
    {"plugin", "gcc -fplugin=x.so a.c b.c -o p", "whole"},
    {"other_file", "gcc a.c b.f90 -o p", "whole"},
    {"assembly", "gcc a.c b.s -o p", "whole"},
    {"word_is_missing", "gcc a.c b.c -o p -I", "whole"},
};

int main(void) {
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *got = describe(row[i].call), name[80];
        snprintf(name, sizeof name, "cut/%s", row[i].name);
        is_text(got, row[i].want, name);
        free(got);
    }
    return done_testing();
}
