/* BOLT's options as --help lists them, its commands; the table against the BOLT that is here. */
#include "tap.h"

#include "target/bolt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "OVERVIEW: BOLT\n\n"
                           "  --icf=<value>                    - fold (takes a value since version 20)\n"
                           "  --plt=<value>                    - calls\n"
                           "    =none                          -   do not\n"
                           "    =hot                           -   hot ones\n"
                           "  --reorder-blocks=<value>         - layout\n"
                           "    =none                          -   none\n"
                           "    =reverse                       -   reverse\n"
                           "    =cache+                        -   a longer name\n"
                           "    =ext-tsp                       -   good\n"
                           "  --peepholes=<value>              - its values are none that are offered\n"
                           "    =none                          -   none\n"
                           "  --split-all-cold                 - cold\n"
                           "  --align-functions=<uint>         - bytes\n";

/* "plt=hot|…; NAME" of all that are offered. */
static char *listed(const hn_bolt *bolt, hn_arena *a) {
    hn_str s = {0};
    hn_bolt_option x;
    for (size_t i = 0; hn_bolt_option_at(bolt, i, a, &x); i++) {
        hn_str_addf(&s, "%s%s", i ? "; " : "", x.name);
        for (size_t k = 0; k < x.n_values; k++) hn_str_addf(&s, "%s%s", k ? "|" : "=", x.value[k]);
    }
    return hn_str_take(&s);
}

static void test_options(hn_arena *a) {
    hn_bolt bolt = {.help = help};
    char *text = listed(&bolt, a);
    is_text(text, "reorder-blocks=ext-tsp; split-all-cold; plt=hot; align-functions=16|32|128", "bolt/options_of_help");
    free(text);
    bolt.help = "";
    text = listed(&bolt, a);
    is_text(text, "", "bolt/no_help_no_options");
    free(text);
    is_text(hn_bolt_word(a, "plt", "hot"), "-plt=hot", "bolt/word_with_value");
    is_text(hn_bolt_word(a, "hugify", NULL), "-hugify", "bolt/word");
    ok(hn_bolt_needs_binding("plt") && !hn_bolt_needs_binding("icf"), "bolt/plt_needs_binding");
}

static void test_commands(hn_arena *a) {
    hn_bolt bolt = {.path = "/opt/a b/llvm-bolt", .merge = "/opt/merge-fdata"};
    hn_str s = {0};
    hn_bolt_optimise(&s, &bolt, "-icf", false);
    is_text(s.text, "mv ./prog ./prog.linked && '/opt/a b/llvm-bolt' ./prog.linked -data=./prog.profile -icf -o ./prog",
            "bolt/optimise");
    hn_str_free(&s);
    hn_bolt_instrument(&s, &bolt);
    ok(strstr(s.text, "'/opt/a b/llvm-bolt' ./prog.linked -instrument "), "bolt/instrument");
    hn_str_free(&s);
    hn_bolt_recipe(&s, "# ", "llvm-bolt-19", "");
    ok(strstr(s.text, "# merge-fdata-19 -q") && strstr(s.text, "PROGRAM.profile -o PROGRAM.bolt\n"), "bolt/recipe");
    hn_str_free(&s);
    hn_bolt_recipe(&s, "# ", "llvm-bolt", "-icf");
    ok(strstr(s.text, "# merge-fdata -q") && strstr(s.text, "PROGRAM.profile -icf -o"), "bolt/recipe_without_number");
    hn_str_free(&s);
    is_text(hn_bolt_reason(a, "x\nBOLT-WARNING: w\nBOLT-ERROR: bad\nmore"), "BOLT says: bad", "bolt/reason");
    is_text(hn_bolt_reason(a, "exit code 1 \n"), "exit code 1", "bolt/reason_of_others");
}

/* Is every "NAME" or "NAME=VALUE" an option, of the kind that takes a value or not? */
static bool all_offered(const hn_bolt *bolt, const char *seed, hn_arena *a) {
    for (const char *at = seed; *at; at += strcspn(at, " "), at += *at == ' ') {
        hn_bolt_option x;
        size_t n = strcspn(at, "= ");
        bool found = false;
        for (size_t i = 0; !found && hn_bolt_option_at(bolt, i, a, &x); i++)
            found = strlen(x.name) == n && !strncmp(x.name, at, n) && (x.n_values > 0) == (at[n] == '=');
        if (!found) return false;
    }
    return *seed != 0;
}

static void test_here(hn_arena *a) {
    hn_bolt bolt;
    hn_bolt_option x;
    const char *why = NULL;
    if (!hn_bolt_find(a, &bolt, &why)) {
        ok(why && *why, "bolt/says_why_not # SKIP %s", why ? why : "");
        return;
    }
    size_t n = 0;
    while (hn_bolt_option_at(&bolt, n, a, &x)) n++;
    ok(n >= 10, "bolt/has_most_options");
    ok(*bolt.version >= '1' && *bolt.version <= '9' && strlen(bolt.hash) == 32, "bolt/version_and_hash");
    for (size_t i = 0; hn_bolt_seed(i); i++) ok(all_offered(&bolt, hn_bolt_seed(i), a), "bolt/seed_%zu_is_offered", i);
}

int main(void) {
    hn_arena a = {0};
    test_options(&a);
    test_commands(&a);
    test_here(&a);
    hn_arena_free(&a);
    return done_testing();
}
