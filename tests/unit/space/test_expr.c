/* Tables of expressions over a fixed space: values, unknowns, refusals with their column. */
#include "space/space_int.h"
#include "tap.h"

#include <hone/space.h>

#include <math.h>

/* i = 7, f = 0.5, o = '4' (numbers), l = 'mid' (low mid high), c = 'row', m = 'auto' (8 16 auto), b = on, off = off,
 * x = absent, `a-b` = 3, v = literal 2, perm. */
static hone_space *space;
static double point[16];

static void add(hone_param p) {
    hone_err err;
    if (hone_space_add(space, &p, &err)) printf("Bail out! %s\n", err.text);
}

static void set(const char *name, double value) {
    point[hone_space_param(space, hone_space_find(space, name))->slot] = value;
}

static void make_space(void) {
    static const char *const o[] = {"1", "2", "4", "8"}, *const l[] = {"low", "mid", "high"},
                             *const c[] = {"row", "col", "it's"}, *const m[] = {"8", "16", "auto"}, *const v[] = {"2"},
                             *const r[] = {"col", "row"};
    hone_err err;
    if (hone_space_new("t", &space, &err)) return;
    add((hone_param){.name = "i", .kind = HONE_INT, .lo = -100, .hi = 100});
    add((hone_param){.name = "f", .kind = HONE_FLOAT, .lo = 0, .hi = 1});
    add((hone_param){.name = "o", .kind = HONE_ORDINAL, .values = o, .n_values = 4});
    add((hone_param){.name = "l", .kind = HONE_ORDINAL, .values = l, .n_values = 3});
    add((hone_param){.name = "c", .kind = HONE_CHOICE, .values = c, .n_values = 3});
    add((hone_param){.name = "c2", .kind = HONE_CHOICE, .values = r, .n_values = 2});
    add((hone_param){.name = "m", .kind = HONE_CHOICE, .values = m, .n_values = 3});
    add((hone_param){.name = "b", .kind = HONE_FLAG});
    add((hone_param){.name = "off", .kind = HONE_FLAG});
    add((hone_param){.name = "x", .kind = HONE_INT, .lo = 0, .hi = 9, .dflt = NAN, .optional = true});
    add((hone_param){.name = "a-b", .kind = HONE_INT, .lo = 0, .hi = 9});
    add((hone_param){.name = "v", .kind = HONE_LITERAL, .values = v, .n_values = 1});
    add((hone_param){.name = "perm", .kind = HONE_PERMUTATION, .values = c, .n_values = 3});
    if (hone_space_seal(space, &err)) printf("Bail out! %s\n", err.text);
    hone_space_default(space, point);
    set("i", 7);
    set("f", 0.5);
    set("o", 2);
    set("l", 1);
    set("c2", 1);
    set("m", 2);
    set("b", 1);
    set("a-b", 3);
}

#define U NAN
static const struct {
    const char *text;
    double want;
} value_row[] = {
    /* precedence and associativity */
    {"1 + 2 * 3", 7},
    {"(1 + 2) * 3", 9},
    {"10 - 4 - 3", 3},
    {"16 / 4 / 2", 2},
    {"-2 * -3", 6},
    {"- - 3", 3},
    {"2 - -3", 5},
    {"1 + 1 == 2", 1},
    {"1 or 0 and 0", 1},
    {"(1 or 0) and 0", 0},
    {"not 1 == 2", 1},
    {"not 1 and 0", 0},
    {"not not i", 1},
    {".5 + 1e1 + 0x10", 26.5},
    {" \t1\n+\r1 ", 2},
    /* floored remainder */
    {"7 % 3", 1},
    {"-7 % 3", 2},
    {"7 % -3", -2},
    {"-7 % -3", -1},
    {"6 % -3", 0},
    {"7.5 % 2", 1.5},
    {"i % 0", U},
    /* division by zero and overflow are unknown */
    {"i / 0", U},
    {"i / 0 > 1", U},
    {"1e308 * 10", U},
    {"1e308 + 1e308 > 0", U},
    {"i / 2", 3.5},
    /* functions */
    {"min(3, 1, 2)", 1},
    {"max(3, i, 2)", 7},
    {"min(i)", 7},
    {"abs(-3)", 3},
    {"abs(i - 10)", 3},
    {"max(i, x)", U},
    {"min(x, 1) < 0", U},
    /* Kleene's and, or, not */
    {"x > 1", U},
    {"not x > 1", U},
    {"x > 1 and 0", 0},
    {"0 and x > 1", 0},
    {"x > 1 and 1", U},
    {"x > 1 or 1", 1},
    {"1 or x > 1", 1},
    {"x > 1 or 0", U},
    {"x == x", U},
    {"x != 3", U},
    {"x + 1", U},
    {"defined(x)", 0},
    {"not defined(x) or x > 3", 1},
    {"defined(i) and defined(perm) and defined(`a-b`)", 1},
    /* numbers of listed parameters */
    {"o == 4", 1},
    {"4 == o", 1},
    {"o >= 4 and o < 8", 1},
    {"3 < o", 1},
    {"5 < o", 0},
    {"o * 2", 8},
    {"o == i - 3", 1},
    {"o == '4'", 1},
    {"o != '8'", 1},
    {"o > '2'", 1},
    {"v == 2 and v == '2'", 1},
    {"v + o", 6},
    {"o > v", 1},
    {"o == -4", 0},
    /* texts */
    {"c == 'row'", 1},
    {"'row' == c", 1},
    {"c != \"col\"", 1},
    {"c == 'it\\'s' or c == \"it's\"", 0},
    {"c == c2", 1},
    {"c != c2", 0},
    {"l >= 'mid'", 1},
    {"l > 'mid'", 0},
    {"'low' < l", 1},
    /* a list of numbers and texts */
    {"m == 'auto'", 1},
    {"m == 8", 0},
    {"m != 8", 1},
    {"m < 10", U},
    {"m + 1", U},
    /* flags and truths are 0 and 1 */
    {"b", 1},
    {"b == true and off == false", 1},
    {"b == 'on' and off == 'off'", 1},
    {"off != 'on'", 1},
    {"b == 1", 1},
    {"b + b + off", 2},
    {"(i > 3) + (i > 5)", 2},
    {"i and f", 1},
    {"`a-b` == 3", 1},
    {"`i`", 7},
};

static const struct {
    const char *text, *want;
} error_row[] = {
    {"", "column 1: expected a value, found the end"},
    {"i <", "column 4: expected a value, found the end"},
    {"(i", "column 3: expected ')', found the end"},
    {"i)", "column 2: expected an operator or the end, found ')'"},
    {"i 3", "column 3: expected an operator or the end, found '3'"},
    {"1 < i < 3", "column 7: chained comparison; write 'a < b and b < c' instead of 'a < b < c'"},
    {"i == 1 == 1", "column 8: chained comparison; write 'a < b and b < c' instead of 'a < b < c'"},
    {"i && 1", "column 3: write 'and' instead of '&&'"},
    {"i || 1", "column 3: write 'or' instead of '||'"},
    {"!i", "column 1: write 'not' instead of '!'"},
    {"i = 1", "column 3: write '==' instead of '='"},
    {"i ** 2", "column 3: there is no power operator '**'"},
    {"i // 2", "column 3: there is no operator '//'"},
    {"i $ 2", "column 3: unexpected character '$'"},
    {"c == 'row", "column 6: a text without its closing quote"},
    {"`a-b == 1", "column 1: a name without its closing backquote"},
    {"1..2", "column 1: not a number (a name that starts with a digit needs backquotes): '1..'"},
    {"2x == 1", "column 1: not a number (a name that starts with a digit needs backquotes): '2x'"},
    {"1e999", "column 1: a number too large: '1e999'"},
    {"mni(i)", "column 1: unknown function 'mni'; did you mean 'min'?"},
    {"round(i)", "column 1: unknown function 'round'; known are min, max, abs, defined"},
    {"min()", "column 5: expected a value, found ')'"},
    {"abs(1, 2)", "column 6: expected ')', found ','"},
    {"defined(1)", "column 9: defined() takes the name of a parameter, found '1'"},
    {"perm2 == 1", "column 1: unknown parameter 'perm2'; did you mean 'perm'?"},
    {"i > longname", "column 5: unknown parameter 'longname'; a text is written in quotes"},
    {"zzzzzz-1 > 1 or zzzzzz",
     "column 1: unknown parameter 'zzzzzz'; a name with - + = in it is written in backquotes"},
    {"defined(zzzzzz)", "column 9: unknown parameter 'zzzzzz'; a text is written in quotes"},
    {"c == 'rwo'", "column 6: 'c' has no value 'rwo'; did you mean 'row'?"},
    {"c == 'zzzzzz'", "column 6: 'c' has no value 'zzzzzz'; its first is 'row'"},
    {"c < 'row'", "column 5: 'c' is a choice: its values have no order, only == and != apply"},
    {"c == 1", "column 1: 'c' holds texts, not numbers; compare it with a text in quotes"},
    {"c + 1 > 2", "column 1: 'c' holds texts, not numbers; compare it with a text in quotes"},
    {"c and b", "column 1: 'c' holds texts, not numbers; compare it with a text in quotes"},
    {"c < c2", "column 3: 'c' and 'c2' hold texts: only == and != apply"},
    {"i == 'x'", "column 6: 'i' is an int; it cannot be compared with the text 'x'"},
    {"b == 'yes'", "column 6: 'b' is a flag: it is 'on' or 'off', not 'yes'"},
    {"b < 'on'", "column 5: 'b' is a flag: only == and != apply"},
    {"'a' == 'a'", "column 1: a text can only be compared with a parameter"},
    {"i + 1 == 'a'", "column 10: a text can only be compared with a parameter"},
    {"'a'", "column 1: the text 'a' where a number or a truth is wanted"},
    {"perm == 1", "column 1: 'perm' is a permutation; only defined(...) applies"},
    {"\xc3\xbc", "column 1: unexpected character '\xc3'"},
    {"'\xc3\xbc' + $", "column 7: unexpected character '$'"},
};

static void test_values(void) {
    for (size_t k = 0; k < sizeof value_row / sizeof *value_row; k++) {
        hn_arena a = {0};
        hn_prog prog;
        hone_err err;
        bool compiled = !hn_prog_compile(&a, space, value_row[k].text, &prog, &err);
        if (!compiled) printf("# %s\n", err.text);
        double got = compiled ? hn_prog_eval(&prog, point) : INFINITY;
        bool same = got == value_row[k].want || (isnan(got) && isnan(value_row[k].want));
        char name[100];
        snprintf(name, sizeof name, "%s", value_row[k].text);
        for (char *at = name; *at; at++)
            if (*at < ' ') *at = ' ';
        ok(same, "expr/value_of_%s", name);
        if (!same) printf("# got %g, want %g\n", got, value_row[k].want);
        hn_arena_free(&a);
    }
}

static void test_errors(void) {
    for (size_t k = 0; k < sizeof error_row / sizeof *error_row; k++) {
        hn_arena a = {0};
        hn_prog prog;
        hone_err err = {0};
        hone_rc rc = hn_prog_compile(&a, space, error_row[k].text, &prog, &err);
        char name[200];
        snprintf(name, sizeof name, "expr/error_of_%s", error_row[k].text);
        is_text(rc == HONE_E_INPUT ? err.text : "no E_INPUT", error_row[k].want, name);
        hn_arena_free(&a);
    }
}

static hone_rc compile_repeated(const char *head, const char *part, size_t n, const char *tail, hone_err *err) {
    size_t size = strlen(head) + n * strlen(part) + strlen(tail) + 1;
    char *text = malloc(size), *at = text + sprintf(text, "%s", head);
    for (size_t k = 0; k < n; k++) at += sprintf(at, "%s", part);
    sprintf(at, "%s", tail);
    hn_arena a = {0};
    hn_prog prog;
    hone_rc rc = hn_prog_compile(&a, space, text, &prog, err);
    hn_arena_free(&a);
    free(text);
    return rc;
}

static void test_limits(void) {
    hone_err err;
    ok(compile_repeated("i", " + 1", 2000, "", &err) == HONE_OK, "expr/long_chain_compiles");
    ok(compile_repeated("i", " + 1", 3000, "", &err) == HONE_E_LIMIT, "expr/too_many_operators");
    ok(compile_repeated("i > 1", " ", 70000, "", &err) == HONE_E_LIMIT, "expr/too_long");
    ok(compile_repeated("", "(", 5000, "", &err) == HONE_E_INPUT && strstr(err.text, "too deeply"),
       "expr/nested_parentheses_end");
    ok(compile_repeated("", "not ", 5000, "i", &err) == HONE_E_INPUT, "expr/nested_not_ends");
    ok(compile_repeated("", "-", 5000, "i", &err) == HONE_E_INPUT, "expr/nested_minus_ends");
    ok(compile_repeated("", "min(", 5000, "i", &err) == HONE_E_INPUT, "expr/nested_calls_end");
    ok(compile_repeated("", "1 or 1 and 1 < 1 + 1 * (", 40, "1", &err) != HONE_OK, "expr/deep_stack_refused");
}

int main(void) {
    make_space();
    test_values();
    test_errors();
    test_limits();
    hone_space_free(space);
    return done_testing();
}
