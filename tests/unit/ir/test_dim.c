/* Dimension expressions: canonical text of what is built, ranges, relations, evaluation. */
#include "base/str.h"
#include "ir/dim.h"
#include "tap.h"

static hn_arena arena;

static const char *text_of(const hn_dims *t, hn_dim d) {
    static char buf[1000];
    hn_str s = {0};
    hn_dim_print(t, d, &s);
    snprintf(buf, sizeof buf, "%s", s.text ? s.text : "");
    hn_str_free(&s);
    return buf;
}

static hn_dims *table(void) {
    hn_dims *t = hn_dims_new(&arena);
    hn_dim_symbol(t, "n", 0, INT64_MAX);
    hn_dim_symbol(t, "m", 1, 64);
    hn_dim_symbol(t, "k", 0, 100);
    return t;
}

static hn_dim parse(hn_dims *t, const char *text) {
    const char *at = text;
    hn_dim d = hn_dim_parse(t, &at);
    return *at ? 0 : d;
}

static const struct {
    const char *name, *in, *out;
} canon[] = {
    {"sum_in_order", "1 + n*2", "2*n + 1"},
    {"sum_cancels", "n + m - n", "m"},
    {"sum_of_constants", "2 + 3*4 - 20", "-6"},
    {"zero", "n - n", "0"},
    {"product_expands", "(n + 1)*(m - 1)", "m*n + m - n - 1"},
    {"product_sorts", "n*m*k", "k*m*n"},
    {"square", "(n + m)*(n + m)", "m*m + 2*m*n + n*n"},
    {"negative_first", "-n*2", "-2*n"},
    {"floordiv_constants", "floordiv(-7, 2)", "-4"},
    {"floordiv_infix", "(n + 1) floordiv 2", "floordiv(n + 1, 2)"},
    {"floordiv_exact", "floordiv(4*n + 8*m, 4)", "2*m + n"},
    {"floordiv_takes_out", "floordiv(4*n + 7, 4)", "n + 1"},
    {"floordiv_moves_constant", "floordiv(n - 1, 2) + 1", "floordiv(n + 1, 2)"},
    {"floordiv_cancels_factor", "floordiv(6*n + 3, 12)", "floordiv(n, 2)"},
    {"floordiv_nested", "floordiv(floordiv(n + 1, 2) + 1, 2)", "floordiv(n + 3, 4)"},
    {"floordiv_small", "floordiv(m, 100)", "0"},
    {"floordiv_product", "floordiv(n*m, m)", "n"},
    {"floordiv_polynomial", "floordiv((n + 1)*m, n + 1)", "m"},
    {"floordiv_cancels_symbol", "floordiv(3*n*m, 2*m)", "n + floordiv(n, 2)"},
    {"floordiv_by_zero_stays", "floordiv(n, 0)", "floordiv(n, 0)"},
    {"mod_constants", "mod(-7, 4)", "1"},
    {"mod_reduces", "mod(5*n + 9, 4)", "mod(n + 1, 4)"},
    {"mod_exact", "mod(n*m, m)", "0"},
    {"mod_small", "mod(m, 65)", "m"},
    {"mod_nested", "mod(mod(n, 8) + m, 4)", "mod(m + n, 4)"},
    {"mod_cancels", "mod(2*n, 4)", "2*mod(n, 2)"},
    {"min_decided", "min(m, n + 64)", "m"},
    {"min_stays", "min(n, m)", "min(m, n)"},
    {"max_decided", "max(m, 0)", "m"},
    {"max_flat", "max(n, max(m, n + k))", "max(m, k + n)"},
    {"parenthesis", "((n))", "n"},
    {"overflow_is_none", "9223372036854775807*2", "?"},
    {"syntax_is_none", "n +", "?"},
    {"unclosed_is_none", "floordiv(n, 2", "?"},
    {"too_large_number_is_none", "99999999999999999999", "?"},
};

static void canonical(void) {
    for (size_t i = 0; i < sizeof canon / sizeof *canon; i++) {
        hn_dims *t = table();
        char name[100];
        snprintf(name, sizeof name, "dim/%s", canon[i].name);
        is_text(text_of(t, parse(t, canon[i].in)), canon[i].out, name);
    }
}

static void symbols(void) {
    hn_dims *t = table();
    hn_symbol s;
    hn_dim a = hn_dim_symbol(t, "batch size", 1, 8), b = hn_dim_symbol(t, "batch size", 1, 8);
    is_text(text_of(t, a), "batch_size", "dim/name_is_made_an_identifier");
    is_text(text_of(t, b), "batch_size_2", "dim/name_is_made_unique");
    is_text(text_of(t, hn_dim_symbol(t, "min", 0, 1)), "min_", "dim/reserved_name_is_changed");
    is_text(text_of(t, hn_dim_symbol(t, "3d", 0, 1)), "_3d", "dim/digit_gets_a_letter");
    is_text(text_of(t, hn_dim_symbol(t, "", 0, 1)), "d", "dim/empty_name_gets_one");
    ok(hn_dim_find(t, "batch size") == a, "dim/find_by_source_name");
    ok(hn_dim_is_symbol(t, a, &s) && !strcmp(hn_symbol_name(t, s), "batch_size"), "dim/is_symbol");
    ok(!hn_dim_is_symbol(t, hn_dim_add(t, a, b), NULL), "dim/sum_is_no_symbol");
}

static const struct {
    const char *in;
    int64_t low, high;
} range[] = {
    {"m", 1, 64},
    {"2*m + 1", 3, 129},
    {"-m", -64, -1},
    {"m*k", 0, 6400},
    {"floordiv(m, 2)", 0, 32},
    {"n", 0, INT64_MAX},
    {"n - m", -64, INT64_MAX},
    {"mod(n, 7)", 0, 6},
    {"min(n, m)", 0, 64},
    {"max(n, m)", 1, INT64_MAX},
};

static void ranges(void) {
    for (size_t i = 0; i < sizeof range / sizeof *range; i++) {
        hn_dims *t = table();
        int64_t low, high;
        hn_dim_range(t, parse(t, range[i].in), &low, &high);
        ok(low == range[i].low && high == range[i].high, "dim/range_%s", range[i].in);
    }
    hn_dims *t = table();
    hn_dim d = parse(t, "2*n");
    int64_t low, high;
    hn_symbol_limit(t, 0, 3, 5);
    hn_dim_range(t, d, &low, &high);
    ok(low == 6 && high == 10, "dim/limit_reaches_expressions");
    d = parse(t, "min(k, 8) + 1");
    hn_symbol_limit(t, 2, 0, 7);
    is_text(text_of(t, d), "k + 1", "dim/limit_simplifies");
}

static void relations(void) {
    hn_dims *t = table();
    const hn_relation *list;
    hn_dim before = parse(t, "2*k + m");
    hn_dim_assume_equal(t, parse(t, "k"), parse(t, "n"));
    is_text(text_of(t, parse(t, "k + 1")), "n + 1", "dim/equal_replaces_the_newer");
    is_text(text_of(t, before), "m + 2*n", "dim/equal_reaches_what_was_built");
    ok(hn_dim_equal(t, before, parse(t, "m + n + k")) == HN_EQUAL, "dim/equal_is_known");
    ok(hn_dim_relations(t, &list) == 1, "dim/relation_is_listed");
    is_text(text_of(t, list[0].a), "k", "dim/relation_keeps_its_sides");
    int64_t value[3] = {7, 2, 8}, x = 0, y = 0, low, high;
    ok(hn_dim_eval(t, list[0].a, value, &x) && hn_dim_eval(t, list[0].b, value, &y) && x == 8 && y == 7,
       "dim/relation_can_be_checked");
    hn_dim_range(t, parse(t, "n"), &low, &high);
    ok(high == 100, "dim/equal_narrows_the_range");

    t = table();
    hn_dim_assume_equal(t, parse(t, "2*n*m"), parse(t, "6*k*m"));
    ok(hn_dim_equal(t, parse(t, "2*n*m"), parse(t, "6*k*m")) == HN_EQUAL, "dim/equal_without_a_lone_symbol");
    is_text(text_of(t, parse(t, "6*k*m - k")), "6*k*m - k", "dim/text_is_read_as_it_stands");
    hn_dim_assume_equal(t, parse(t, "m"), parse(t, "2"));
    ok(hn_dim_equal(t, parse(t, "4*n"), parse(t, "12*k")) == HN_EQUAL, "dim/alias_follows_a_later_equality");
    hn_dim_assume_equal(t, parse(t, "2*k + 4"), parse(t, "8"));
    is_text(text_of(t, parse(t, "k")), "2", "dim/equation_is_solved");

    t = table();
    hn_dim bounded = parse(t, "min(n, 512)");
    hn_dim_assume_equal(t, bounded, parse(t, "n"));
    hn_dim_range(t, parse(t, "n"), &low, &high);
    ok(high == 512 && hn_dim_relations(t, &list) == 0, "dim/equality_with_a_bound_is_a_range");
    is_text(text_of(t, bounded), "n", "dim/bound_decides_min");

    t = table();
    hn_dim built = parse(t, "4*floordiv(n, 4) + m");
    hn_dim_assume_equal(t, parse(t, "12*floordiv(n, 4)"), parse(t, "3*n"));
    is_text(text_of(t, built), "m + n", "dim/equality_with_a_quotient_is_divisibility");
    ok(hn_dim_relations(t, &list) == 1 && list[0].by == 4, "dim/divisibility_is_listed_as_such");
    hn_dim_assume_divisible(t, parse(t, "k"), 4);
    hn_dim_assume_equal(t, parse(t, "floordiv(n, 4)"), parse(t, "floordiv(k, 4)"));
    is_text(text_of(t, parse(t, "k")), "n", "dim/equal_quotients_of_multiples");

    t = table();
    hn_dim_assume_equal(t, parse(t, "floordiv(n, 4)"), parse(t, "floordiv(k, 2)"));
    hn_dim_assume_divisible(t, parse(t, "n"), 4);
    hn_dim_assume_divisible(t, parse(t, "k"), 2);
    is_text(text_of(t, parse(t, "2*k")), "n", "dim/divisibility_reaches_earlier_equalities");

    t = table();
    hn_dim_assume_divisible(t, parse(t, "n"), 8);
    is_text(text_of(t, parse(t, "mod(n*m, 4)")), "0", "dim/divisible_mod");
    is_text(text_of(t, parse(t, "floordiv(n, 8)*8")), "n", "dim/divisible_floordiv");
    ok(hn_dim_relations(t, &list) == 1 && list[0].by == 8 && !list[0].b, "dim/divisible_is_listed");
    hn_dim_assume_divisible(t, parse(t, "3*n"), 24);
    ok(hn_dim_relations(t, &list) == 1, "dim/known_divisor_is_not_listed_again");
}

static void equality(void) {
    hn_dims *t = table();
    ok(hn_dim_equal(t, parse(t, "n + m"), parse(t, "m + n")) == HN_EQUAL, "dim/equal_sums");
    ok(hn_dim_equal(t, parse(t, "n"), parse(t, "m")) == HN_MAYBE, "dim/equal_maybe");
    ok(hn_dim_equal(t, parse(t, "n + m"), parse(t, "n")) == HN_DIFFERENT, "dim/different_by_range");
    ok(hn_dim_equal(t, parse(t, "2*n"), parse(t, "2*k + 1")) == HN_DIFFERENT, "dim/different_by_parity");
    ok(hn_dim_equal(t, 0, parse(t, "n")) == HN_MAYBE, "dim/none_is_not_known");
}

static void evaluation(void) {
    hn_dims *t = table();
    int64_t value[3] = {10, 3, INT64_MIN}, x = 0;
    ok(hn_dim_eval(t, parse(t, "floordiv(n, m) + mod(n, m)*min(n, m)"), value, &x) && x == 6, "dim/eval");
    ok(!hn_dim_eval(t, parse(t, "n + k"), value, &x), "dim/eval_needs_all_symbols");
    ok(!hn_dim_eval(t, parse(t, "floordiv(n, m - 3)"), value, &x), "dim/eval_refuses_division_by_zero");
    value[0] = INT64_MAX;
    ok(!hn_dim_eval(t, parse(t, "2*n"), value, &x), "dim/eval_refuses_overflow");
}

static void in_c(void) {
    hn_dims *t = table();
    hn_str s = {0};
    hn_dim_print_c(t, parse(t, "floordiv(n + 1, 2)*m - 5000000000"), "s", &s);
    is_text(s.text, "(s1*hn_floordiv(s0 + 1, 2) - 5000000000ll)", "dim/print_c");
    hn_str_free(&s);
}

static void copies(void) {
    hn_dims *from = table(), *to = hn_dims_new(&arena);
    hn_dim map[3] = {0};
    map[0] = hn_dim_int(to, 4);
    is_text(text_of(to, hn_dim_copy(to, from, parse(from, "n*m + floordiv(k + n, 4)"), map)),
            "4*m + floordiv(k, 4) + 1", "dim/copy_maps_symbols");
    ok(map[1] && map[2], "dim/copy_fills_the_map");
    const hn_relation *r;
    hn_dim_assume_equal(from, parse(from, "n + k"), parse(from, "m"));
    hn_dim_relations(from, &r);
    is_text(text_of(from, parse(from, "n + k")), "m", "dim/sum_becomes_the_symbol");
    ok(!hn_dim_is_symbol(from, r->a, NULL), "dim/relation_keeps_its_sum");
    is_text(text_of(to, hn_dim_copy(to, from, r->a, NULL)), "k + n", "dim/copy_of_a_relation_keeps_its_sum");
}

int main(void) {
    canonical();
    symbols();
    ranges();
    relations();
    equality();
    evaluation();
    in_c();
    copies();
    hn_arena_free(&arena);
    return done_testing();
}
