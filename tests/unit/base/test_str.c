/* Strings: growth, quoting for sh, number texts, the nearest name. */
#include "base/str.h"
#include "failalloc.h"

#include <float.h>
#include <math.h>

static void test_growth(void) {
    hn_str s = {0};
    char *nothing = hn_str_take(&s);
    is_text(nothing, "", "str/take_of_nothing_is_empty");
    free(nothing);
    for (int i = 0; i < 1000; i++) hn_str_addf(&s, "%d,", i);
    ok(s.n == 3890 && !strncmp(s.text, "0,1,2,", 6) && s.text[s.n] == 0, "str/many_appends");
    hn_str_add_n(&s, "a\0b", 3);
    ok(s.n == 3893 && s.text[3891] == 0 && s.text[3892] == 'b', "str/add_n_takes_nul_bytes");
    hn_str_free(&s);
    ok(!s.text && !s.n && !s.failed, "str/free_leaves_an_empty_string");
    hn_str_add_n(&s, "x", SIZE_MAX - 1);
    ok(s.failed, "str/length_overflow_fails");
    hn_str_add(&s, "more");
    ok(s.failed && hn_str_take(&s) == NULL, "str/failure_is_sticky_until_taken");
    hn_str_add(&s, "new");
    is_text(s.text, "new", "str/usable_after_take");
    hn_str_free(&s);
}

static void test_shell(void) {
    static const struct {
        const char *name, *word, *want;
    } cases[] = {
        {"str/shell_plain", "-O3", "-O3"},
        {"str/shell_assignment", "-DN=4", "-DN=4"},
        {"str/shell_empty", "", "''"},
        {"str/shell_space", "a b", "'a b'"},
        {"str/shell_quote", "it's", "'it'\\''s'"},
        {"str/shell_dollar", "$(rm x)", "'$(rm x)'"},
        {"str/shell_glob", "*.c", "'*.c'"},
        {"str/shell_tilde", "~/x", "'~/x'"},
        {"str/shell_newline", "a\nb", "'a\nb'"},
        {"str/shell_utf8", "\xc3\xa9", "'\xc3\xa9'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_str s = {0};
        hn_str_add_shell(&s, cases[i].word);
        is_text(s.text, cases[i].want, cases[i].name);
        hn_str_free(&s);
    }
}

static void test_double_text(void) {
    static const struct {
        double x;
        const char *want;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {100, "100"},
        {128, "128"},
        {4096000, "4096000"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {1e-5, "1e-05"},
        {1e300, "1e+300"},
        {1.0 / 3, "0.3333333333333333"},
        {0x1p53, "9007199254740992"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    char buf[32], name[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(name, sizeof name, "str/double_text_%s", cases[i].want);
        is_text(hn_double_text(cases[i].x, buf), cases[i].want, name);
    }
}

static void test_nearest(void) {
    static const char *const names[] = {"evaluations", "seconds", "plateau", "target", "inputs", "lo"};
    static const struct {
        const char *name, *typed, *want;
    } cases[] = {
        {"str/nearest_same", "target", "target"},
        {"str/nearest_one_missing", "evaluation", "evaluations"},
        {"str/nearest_swapped", "tagret", "target"},
        {"str/nearest_swapped_case", "TAGRET", "target"},
        {"str/nearest_swapped_in_a_short_name", "OL", "lo"},
        {"str/nearest_one_wrong", "platoau", "plateau"},
        {"str/nearest_other_case", "SECONDS", "seconds"},
        {"str/nearest_nothing_near", "compiler", NULL},
        {"str/nearest_empty", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = hn_nearest(cases[i].typed, names, 6);
        if (cases[i].want)
            is_text(got, cases[i].want, cases[i].name);
        else
            ok(!got, "%s", cases[i].name);
    }
    char long_name[5000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    const char *const longs[] = {long_name, "y"};
    ok(hn_nearest(long_name, longs, 1) == NULL, "str/nearest_gives_up_on_very_long_names");
    ok(hn_nearest("y", longs, 2) == longs[1], "str/nearest_passes_over_very_long_names");
    ok(hn_nearest("y", NULL, 0) == NULL, "str/nearest_of_none");
}

static hone_rc append(void *ctx) {
    hn_str s = {0};
    (void)ctx;
    for (int i = 0; i < 300; i++) hn_str_addf(&s, "%d", i);
    char *text = hn_str_take(&s);
    free(text);
    return text ? HONE_OK : HONE_E_NOMEM;
}

int main(void) {
    test_growth();
    test_shell();
    test_double_text();
    test_nearest();
    ok(hn_starts_with("abc", "ab") && hn_starts_with("abc", "") && !hn_starts_with("a", "ab"), "str/starts_with");
    sweep_allocations("str/nth_allocation_fails", append, NULL);
    return done_testing();
}
