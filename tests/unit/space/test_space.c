/* Spaces: building and its refusals, points, sampling, counting, including. */
#include "space/space_int.h"
#include "tap.h"

#include <hone/space.h>

#include <math.h>

static const char *const words[] = {"row", "col", "tiled"};
static const char *const numbers[] = {"1", "2", "4", "8"};
static hone_err err;

static hone_space *new_space(void) {
    hone_space *s;
    if (hone_space_new("t", &s, &err)) printf("Bail out! %s\n", err.text);
    return s;
}
static hone_rc add(hone_space *s, hone_param p) { return hone_space_add(s, &p, &err); }
static hone_rc add_int(hone_space *s, const char *name, double lo, double hi, const char *when) {
    return add(s, (hone_param){.name = name, .kind = HONE_INT, .lo = lo, .hi = hi, .dflt = lo, .when = when});
}
static hone_rc add_flag(hone_space *s, const char *name, const char *when) {
    return add(s, (hone_param){.name = name, .kind = HONE_FLAG, .when = when});
}

/* --- building ------------------------------------------------------------------------------------------------ */

#define INT .kind = HONE_INT
#define VALUES .values = words, .n_values = 3
static const char *const twice[] = {"a", "b", "a"}, *const blank[] = {"a", ""}, *const bad[] = {"a\n"},
                         *const latin[] = {"\xe9"};
static const struct {
    const char *name;
    hone_param param;
    const char *want; /* part of the error, NULL = accepted */
} add_row[] = {
    {"int", {.name = "a", INT, .lo = 1, .hi = 8, .dflt = 8}, NULL},
    {"name_of_all_characters", {.name = "gcc-12.-fa_b+c=D", .kind = HONE_FLAG}, NULL},
    {"name_missing", {.kind = HONE_FLAG}, "no name"},
    {"name_with_blank", {.name = "a b", .kind = HONE_FLAG}, "a name consists of"},
    {"name_twice", {.name = "taken", .kind = HONE_FLAG}, "is given twice"},
    {"kind_unknown", {.name = "a", .kind = (hone_kind)99}, "unknown kind 99"},
    {"range_reversed", {.name = "a", INT, .lo = 8, .hi = 1}, "range 8..1 is empty; swap its ends"},
    {"range_infinite", {.name = "a", .kind = HONE_FLOAT, .hi = INFINITY}, "not finite"},
    {"range_nan", {.name = "a", .kind = HONE_FLOAT, .hi = NAN}, "not finite"},
    {"int_of_half", {.name = "a", INT, .lo = 0.5, .hi = 2}, "whole numbers"},
    {"int_step_of_half", {.name = "a", INT, .hi = 2, .step = 0.5}, "whole numbers"},
    {"int_beyond_2_53", {.name = "a", INT, .hi = 1e17}, "whole numbers"},
    {"step_negative", {.name = "a", INT, .hi = 2, .step = -1}, "not finite"},
    {"step_too_fine", {.name = "a", .kind = HONE_FLOAT, .lo = 1, .hi = 2, .step = 1e-17, .dflt = 1}, "too fine"},
    {"log_from_zero", {.name = "a", INT, .hi = 2, .log = true}, "log needs a range above 0"},
    {"default_outside", {.name = "a", INT, .lo = 1, .hi = 8}, "default 0 is not a value of its range"},
    {"default_off_grid", {.name = "a", INT, .lo = 1, .hi = 9, .step = 2, .dflt = 4}, "default 4 is not a value"},
    {"default_index_outside", {.name = "a", .kind = HONE_CHOICE, VALUES, .dflt = 3}, "default 3 is not the number"},
    {"default_index_half", {.name = "a", .kind = HONE_CHOICE, VALUES, .dflt = 0.5}, "default 0.5 is not the number"},
    {"default_absent_required", {.name = "a", .kind = HONE_FLAG, .dflt = NAN}, "it is not optional"},
    {"default_absent_optional", {.name = "a", .kind = HONE_FLAG, .dflt = NAN, .optional = true}, NULL},
    {"knockout_required", {.name = "a", .kind = HONE_FLAG, .knockout = 0.5}, "needs 'optional'"},
    {"knockout_above_1", {.name = "a", .kind = HONE_FLAG, .optional = true, .knockout = 2}, "within 0..1"},
    {"seed_outside",
     {.name = "a", INT, .hi = 8, .has_seed = true, .seed_lo = 4, .seed_hi = 9},
     "seed window 4..9 is not within the range"},
    {"seed_between_steps",
     {.name = "a", INT, .hi = 8, .step = 4, .has_seed = true, .seed_lo = 1, .seed_hi = 3},
     "holds no value"},
    {"seed_of_flag", {.name = "a", .kind = HONE_FLAG, .has_seed = true}, "int and float only"},
    {"values_missing", {.name = "a", .kind = HONE_CHOICE}, "has no values"},
    {"values_twice", {.name = "a", .kind = HONE_ORDINAL, .values = twice, .n_values = 3}, "'a' is given twice"},
    {"values_blank", {.name = "a", .kind = HONE_CHOICE, .values = blank, .n_values = 2}, "value 2 is empty"},
    {"values_with_newline", {.name = "a", .kind = HONE_CHOICE, .values = bad, .n_values = 1}, "control character"},
    {"values_not_utf8", {.name = "a", .kind = HONE_CHOICE, .values = latin, .n_values = 1}, "not UTF-8"},
    {"literal_of_three", {.name = "a", .kind = HONE_LITERAL, VALUES}, "a literal has one value, not 3"},
    {"permutation_too_long", {.name = "a", .kind = HONE_PERMUTATION, .values = words, .n_values = 65}, "at most 64"},
    {"doc_of_two_lines", {.name = "a", .kind = HONE_FLAG, .doc = "a\nb"}, "its doc"},
};

static void test_add(void) {
    for (size_t k = 0; k < sizeof add_row / sizeof *add_row; k++) {
        hone_space *s = new_space();
        add_flag(s, "taken", NULL);
        hone_err e = {0};
        hone_rc rc = hone_space_add(s, &add_row[k].param, &e);
        bool good = add_row[k].want ? rc && strstr(e.text, add_row[k].want) : rc == HONE_OK;
        ok(good && hone_space_n_params(s) == 1 + !add_row[k].want, "space/add_%s", add_row[k].name);
        if (!good) printf("# got: %s\n", e.text);
        hone_space_free(s);
    }
}

static void test_seal(void) {
    hone_space *s = new_space();
    add_flag(s, "a", "b");
    add_flag(s, "b", "c or d");
    add_flag(s, "c", "not a");
    add_flag(s, "d", NULL);
    ok(hone_space_seal(s, &err) == HONE_E_INPUT && strstr(err.text, "depends on itself"), "space/seal_cycle_refused");
    hone_space_free(s);
    s = new_space();
    add_flag(s, "a", "a");
    ok(hone_space_seal(s, &err) == HONE_E_INPUT && strstr(err.text, "'a' ('a')"), "space/seal_own_condition_refused");
    hone_space_free(s);
    s = new_space();
    add_flag(s, "a", "bb > 1");
    ok(hone_space_seal(s, &err) == HONE_E_INPUT, "space/seal_unknown_name_refused");
    is_text(err.text, "condition of 'a' ('bb > 1'): column 1: unknown parameter 'bb'; a text is written in quotes",
            "space/seal_names_condition");
    ok(!add_flag(s, "bb", NULL) && !hone_space_seal(s, &err), "space/seal_again_after_failure");
    ok(add_flag(s, "c", NULL) == HONE_E_USAGE, "space/sealed_refuses_parameters");
    ok(hone_space_constrain(s, "a", &err) == HONE_E_USAGE, "space/sealed_refuses_constraints");
    hone_space_free(s);
    s = new_space();
    ok(hone_space_constrain(s, "a +* 2", &err) == HONE_E_INPUT, "space/constrain_syntax_refused");
    is_text(err.text, "space 't', constraint 'a +* 2': column 4: expected a value, found '*'",
            "space/constrain_names_column");
    ok(!hone_space_seal(s, &err) && hone_space_slots(s) == 0, "space/empty_space_seals");
    double none;
    ok(!hone_space_sample(s, 1, false, &none, &err), "space/empty_space_has_one_point");
    hone_space_free(s);
    hone_space_free(NULL);
}

static void test_many(void) {
    hone_space *s = new_space();
    char name[32];
    hone_rc rc = HONE_OK;
    size_t n = 0;
    for (; n < 70000 && !rc; n++) {
        snprintf(name, sizeof name, "p%zu", n);
        rc = add_flag(s, name, n ? "p0" : NULL);
    }
    ok(rc == HONE_E_LIMIT && n == 65537 && strstr(err.text, "more than 65536"), "space/too_many_parameters_refused");
    ok(hone_space_find(s, "p65535") == 65535 && hone_space_find(s, "p65536") == SIZE_MAX, "space/find_among_many");
    ok(!hone_space_seal(s, &err) && s->n_conds == 1, "space/equal_conditions_are_shared");
    hone_space_free(s);
}

/* --- points -------------------------------------------------------------------------------------------------- */

static hone_space *point_space(void) {
    hone_space *s = new_space();
    add(s, (hone_param){.name = "i", INT, .lo = 8, .hi = 130, .step = 8, .dflt = 32});
    add(s, (hone_param){.name = "f", .kind = HONE_FLOAT, .lo = 0.001, .hi = 1, .log = true, .dflt = 0.1});
    add(s, (hone_param){.name = "o", .kind = HONE_ORDINAL, .values = numbers, .n_values = 4, .dflt = 1});
    add(s, (hone_param){.name = "c", .kind = HONE_CHOICE, VALUES});
    add(s, (hone_param){.name = "b", .kind = HONE_FLAG, .when = "c == 'tiled'"});
    add(s, (hone_param){.name = "p", .kind = HONE_PERMUTATION, VALUES, .when = "b"});
    add(s, (hone_param){.name = "k", INT, .lo = -2, .hi = 2, .dflt = NAN, .optional = true, .knockout = 0.5});
    hone_space_constrain(s, "i * o <= 256", &err);
    if (hone_space_seal(s, &err)) printf("Bail out! %s\n", err.text);
    return s;
}

static const struct {
    const char *name, *in, *out; /* out: JSON read back, or part of the error after "!" */
} json_row[] = {
    {"default", "{}", "{\"i\": 32, \"f\": 0.1, \"o\": 2, \"c\": \"row\"}"},
    {"full", "{\"p\":[\"col\",\"row\",\"tiled\"],\"k\":-1,\"b\":true,\"c\":\"tiled\",\"o\":4,\"f\":0.25,\"i\":8}",
     "{\"i\": 8, \"f\": 0.25, \"o\": 4, \"c\": \"tiled\", \"b\": true, \"p\": [\"col\", \"row\", \"tiled\"], \"k\": "
     "-1}"},
    {"ordinal_as_text", "{\"o\":\"8\"}", "{\"i\": 32, \"f\": 0.1, \"o\": 8, \"c\": \"row\"}"},
    {"inactive_is_dropped", "{\"b\":true}", "{\"i\": 32, \"f\": 0.1, \"o\": 2, \"c\": \"row\"}"},
    {"flag_as_text", "{\"c\":\"tiled\",\"b\":\"off\"}",
     "{\"i\": 32, \"f\": 0.1, \"o\": 2, \"c\": \"tiled\", \"b\": false}"},
    {"int_written_real", "{\"i\":16.0}", "{\"i\": 16, \"f\": 0.1, \"o\": 2, \"c\": \"row\"}"},
    {"unknown_name", "{\"ii\":1}", "!space 't' has no parameter 'ii'; did you mean 'i'?"},
    {"off_grid", "{\"i\":9}", "!parameter 'i': expected a whole number in 8..128 on the grid of its step, found 9"},
    {"out_of_range", "{\"f\":2}", "!parameter 'f': expected a number in 0.001..1, found 2"},
    {"wrong_type", "{\"i\":\"x\"}", "!found \"x\""},
    {"unknown_value", "{\"c\":\"rwo\"}", "!did you mean 'row'?"},
    {"ordinal_unknown", "{\"o\":3}", "!expected one of its values, such as '1', found 3"},
    {"flag_of_number", "{\"b\":1}", "!expected true or false, found 1"},
    {"permutation_short", "{\"p\":[\"row\"]}", "!each once"},
    {"permutation_repeats", "{\"p\":[\"row\",\"row\",\"col\"]}", "!each once"},
    {"duplicate_key", "{\"i\":8,\"i\":8}", "!duplicate"},
    {"no_object", "[1]", "!a point is a JSON object"},
    {"no_json", "{\"i\"", "!point: line 1"},
};

static void test_json(const hone_space *s) {
    for (size_t k = 0; k < sizeof json_row / sizeof *json_row; k++) {
        double x[16] = {42};
        char *json = NULL, name[100];
        hone_err e = {0};
        hone_rc rc = hone_point_from_json(s, json_row[k].in, x, &e);
        snprintf(name, sizeof name, "point/json_%s", json_row[k].name);
        if (*json_row[k].out == '!') {
            bool good = rc == HONE_E_INPUT && strstr(e.text, json_row[k].out + 1) && x[0] == 42;
            ok(good, "%s", name);
            if (!good) printf("# got: %s\n", e.text);
            continue;
        }
        if (!rc) rc = hone_point_to_json(s, x, &json, &e);
        is_text(rc ? e.text : json, json_row[k].out, name);
        hone_free(json);
    }
}

static void test_text(const hone_space *s) {
    double x[16];
    char buf[64], tiny[4];
    hone_point_from_json(s, "{\"c\":\"tiled\",\"b\":true,\"p\":[\"col\",\"row\",\"tiled\"]}", x, &err);
    static const char *const want[] = {"32", "0.1", "2", "tiled", "on", "[col, row, tiled]", "absent"};
    for (size_t i = 0; i < 7; i++) {
        size_t n = hone_point_text(s, x, i, buf, sizeof buf);
        is_text(buf, want[i], "point/text");
        ok(n == strlen(want[i]), "point/text_length");
    }
    ok(hone_point_text(s, x, 5, tiny, sizeof tiny) == 17 && !strcmp(tiny, "[co"), "point/text_truncates");
    ok(hone_point_text(s, x, 5, NULL, 0) == 17, "point/text_measures");
}

static void test_canon(const hone_space *s) {
    double x[9] = {31, 5, 2.4, 1.9, 1, 0, 0, 5, -1.6};
    hone_point_canon(s, x);
    ok(x[0] == 32 && x[1] == 1 && x[2] == 2 && x[3] == 2 && x[4] == 1 && x[8] == -2, "point/canon_snaps");
    ok(x[5] == 0 && x[6] == 1 && x[7] == 2, "point/canon_mends_permutation");
    ok(hone_point_legal(s, x, &err), "point/canon_is_legal");
    ok(hone_point_active(s, x, 4) && hone_point_active(s, x, 5), "point/active");
    x[3] = 0;
    ok(!hone_point_legal(s, x, &err) && strstr(err.text, "'b' has a value but is inactive"), "point/legal_inactive");
    hone_point_canon(s, x);
    ok(isnan(x[4]) && isnan(x[5]) && isnan(x[7]), "point/canon_drops_chain_of_inactive");
    ok(!hone_point_active(s, x, 4) && !hone_point_active(s, x, 5), "point/inactive");
    x[3] = 2;
    hone_point_canon(s, x);
    ok(x[4] == 0 && isnan(x[5]), "point/canon_activated_gets_default");
    x[0] = 128;
    x[2] = 3;
    ok(!hone_point_legal(s, x, &err), "point/legal_constraint");
    is_text(err.text, "constraint 'i * o <= 256' is broken", "point/legal_names_constraint");
    x[0] = 9;
    ok(!hone_point_legal(s, x, &err) && strstr(err.text, "'i': 9 is not in its domain"), "point/legal_off_grid");
    x[0] = NAN;
    ok(!hone_point_legal(s, x, &err) && strstr(err.text, "'i' is active but absent"), "point/legal_absent");
    x[0] = INFINITY;
    ok(!hone_point_legal(s, x, NULL), "point/legal_infinite");
    hone_point_canon(s, x);
    ok(x[0] == 128, "point/canon_infinite");
}

/* A point keeps its hash when parameters that are absent in it join, and when parameters change places. */
static void test_hash(void) {
    hone_space *s = new_space(), *t = new_space();
    add_int(s, "a", 0, 9, NULL);
    add(s, (hone_param){.name = "c", .kind = HONE_CHOICE, VALUES});
    add(t, (hone_param){.name = "new", .kind = HONE_FLAG, .dflt = NAN, .optional = true});
    add(t, (hone_param){.name = "c", .kind = HONE_CHOICE, VALUES});
    add_int(t, "a", 0, 9, NULL);
    hone_space_seal(s, &err);
    hone_space_seal(t, &err);
    double x[2] = {3, 1}, y[3] = {NAN, 1, 3}, z[2] = {-0.0, 1}, w[2] = {0, 1};
    ok(hone_point_hash(s, x) == hone_point_hash(t, y), "point/hash_by_name_and_value");
    y[0] = 0;
    ok(hone_point_hash(s, x) != hone_point_hash(t, y), "point/hash_differs_when_present");
    ok(hone_point_hash(s, z) == hone_point_hash(s, w) && hone_point_equal(s, z, w), "point/hash_of_minus_zero");
    ok(hone_point_hash(s, x) == 0x8840cde3dbbca3acu,
       "point/hash_is_stable"); /* stored hashes depend on it: never change */
    hone_space_free(s);
    hone_space_free(t);
}

/* --- sampling ------------------------------------------------------------------------------------------------ */

/* n ints lo..hi named a, b, …, and one constraint. */
static hone_space *int_space(size_t n, double lo, double hi, const char *constraint) {
    hone_space *s = new_space();
    for (size_t i = 0; i < n; i++) add_int(s, (char[]){(char)('a' + i), 0}, lo, hi, NULL);
    if (hone_space_constrain(s, constraint, &err) || hone_space_seal(s, &err)) printf("Bail out! %s\n", err.text);
    return s;
}

static const struct {
    const char *name;
    size_t n;
    double lo, hi;
    const char *constraint;
} sparse_row[] = {
    {"product", 2, 1, 4096, "a * b == 4096"},
    {"sum_of_five", 5, 1, 100, "a + b + c + d + e == 499"},
    {"equal_chain", 6, 0, 99, "a == b and b == c and c == d and d == e and e == f"},
    {"large_domains", 2, 1, 1000000, "a * b == 999000"},
    {"huge_domains", 3, 0, 1e12, "a + b == 123456789012 and b - c == 77"},
    {"remainders", 3, 0, 999, "a % 97 == 5 and b % 89 == 7 and (a + b + c) % 101 == 3 and c > 990"},
    {"all_different_sum", 3, 1, 3, "a != b and b != c and a != c"},
    {"squares", 2, 1, 1000, "a * a + b * b == 1000 * 1000"},
};

static void test_sparse(void) {
    for (size_t k = 0; k < sizeof sparse_row / sizeof *sparse_row; k++) {
        hone_space *s = int_space(sparse_row[k].n, sparse_row[k].lo, sparse_row[k].hi, sparse_row[k].constraint);
        double x[8], first[8];
        bool good = true, differ = false;
        for (uint64_t seed = 0; seed < 8 && good; seed++) {
            good = !hone_space_sample(s, seed, false, x, &err) && hone_point_legal(s, x, &err);
            if (!seed) memcpy(first, x, sizeof x);
            differ |= !hone_point_equal(s, x, first);
        }
        ok(good, "sample/finds_%s", sparse_row[k].name);
        if (!good) printf("# %s\n", err.text);
        ok(differ, "sample/varies_%s", sparse_row[k].name);
        hone_space_default(s, x);
        ok(!hone_point_repair(s, 1, x, &err) && hone_point_legal(s, x, &err), "repair/finds_%s", sparse_row[k].name);
        hone_space_free(s);
    }
}

static const struct {
    const char *name;
    size_t n;
    double lo, hi;
    const char *constraint;
} empty_row[] = {
    {"parity", 2, 0, 999, "2 * a == 2 * b + 1"},
    {"prime", 2, 2, 500, "a * b == 99991"},
    {"bounds_of_large", 2, 0, 1e9, "a + b < 0"},
    {"constant", 1, 0, 1, "1 == 2"},
    {"pigeons", 5, 1, 4,
     "a != b and a != c and a != d and a != e and b != c and b != d and b != e and c != d and c != e and d != e"},
};

static void test_empty(void) {
    for (size_t k = 0; k < sizeof empty_row / sizeof *empty_row; k++) {
        hone_space *s = int_space(empty_row[k].n, empty_row[k].lo, empty_row[k].hi, empty_row[k].constraint);
        double x[8] = {-7};
        hone_rc rc = hone_space_sample(s, 1, false, x, &err);
        bool good = rc == HONE_E_EMPTY && strstr(err.text, "is empty (proved)") && x[0] == -7;
        ok(good, "sample/proves_empty_%s", empty_row[k].name);
        if (!good) printf("# %d %s\n", (int)rc, err.text);
        x[0] = 0;
        ok(hone_point_repair(s, 1, x, &err) == HONE_E_EMPTY, "repair/empty_%s", empty_row[k].name);
        hone_count c;
        ok(!hone_space_size(s, 1, &c, &err) && c.n == 0, "count/empty_%s", empty_row[k].name);
        hone_space_free(s);
    }
}

/* Hard for any bounds reasoning: ends, and says that it gave up. */
static void test_almost_empty(void) {
    hone_space *s = int_space(3, 1, 1e6, "a * a * a + b * b * b == c * c * c");
    double x[3];
    ok(hone_space_sample(s, 1, false, x, &err) == HONE_E_EMPTY && strstr(err.text, "almost empty"),
       "sample/gives_up_with_a_word");
    hone_space_free(s);
}

/* Fifty constraints that half of the draws satisfy each: together 1e-15, apart easy. */
static void test_components(void) {
    hone_space *s = new_space();
    char a[16], b[16], text[64];
    for (int k = 0; k < 50; k++) {
        snprintf(a, sizeof a, "a%d", k);
        snprintf(b, sizeof b, "b%d", k);
        add_int(s, a, 0, 9, NULL);
        add_int(s, b, 0, 9, NULL);
        snprintf(text, sizeof text, "%s < %s", a, b);
        hone_space_constrain(s, text, &err);
    }
    double x[100];
    hone_count c;
    ok(!hone_space_seal(s, &err) && s->n_components == 50, "sample/components_are_apart");
    ok(!hone_space_sample(s, 1, false, x, &err) && hone_point_legal(s, x, &err), "sample/many_components");
    ok(!hone_space_size(s, 1, &c, &err) && c.exact && fabs(c.n / pow(45, 50) - 1) < 1e-12, "count/many_components");
    ok(fabs(c.density / pow(0.45, 50) - 1) < 1e-9, "count/density");
    hone_space_free(s);
}

/* Uniform where it is by rejection: chi-squared over the 55 points of a <= b in 0..9, 54 degrees, p = 1e-6. */
static void test_uniform(void) {
    hone_space *s = int_space(2, 0, 9, "a <= b");
    enum { N = 22000 };
    double seen[100] = {0}, x[2], chi = 0;
    for (uint64_t k = 0; k < N; k++)
        if (!hone_space_sample(s, k, false, x, &err)) seen[(size_t)(x[0] * 10 + x[1])]++;
    for (int a = 0; a < 10; a++)
        for (int b = a; b < 10; b++) chi += pow(seen[a * 10 + b] - N / 55.0, 2) / (N / 55.0);
    ok(chi < 120, "sample/uniform_by_rejection");
    printf("# chi-squared %.1f\n", chi);
    hone_space_free(s);
}

static void test_windows(void) {
    hone_space *s = new_space();
    add(s, (hone_param){.name = "f",
                        .kind = HONE_FLOAT,
                        .lo = 0.001,
                        .hi = 1,
                        .log = true,
                        .dflt = 1,
                        .has_seed = true,
                        .seed_lo = 0.01,
                        .seed_hi = 0.2});
    add(s, (hone_param){.name = "i", INT, .lo = 1, .hi = 1000, .log = true, .dflt = 1});
    add(s, (hone_param){.name = "k", .kind = HONE_FLAG, .optional = true, .knockout = 0.9});
    hone_space_seal(s, &err);
    double x[3], low = 0, absent = 0;
    bool inside = true, outside = false;
    for (uint64_t k = 0; k < 2000; k++) {
        hone_space_sample(s, k, true, x, &err);
        inside &= x[0] >= 0.01 && x[0] <= 0.2;
        hone_space_sample(s, k, false, x, &err);
        outside |= x[0] < 0.01 || x[0] > 0.2;
        low += x[1] < 32;
        absent += isnan(x[2]);
    }
    ok(inside && outside, "sample/seed_window_when_initial");
    ok(low > 900 && low < 1200, "sample/log_is_even_over_decades");
    ok(absent > 1720 && absent < 1880, "sample/knockout_rate");
    hone_space_free(s);
}

/* --- counting ------------------------------------------------------------------------------------------------ */

static void test_count(void) {
    hone_count c;
    hone_space *s = point_space();
    ok(!hone_space_size(s, 1, &c, &err) && isinf(c.n) && c.exact, "count/continuous_is_infinite");
    hone_space_free(s);
    s = int_space(3, 1, 200, "a + b + c == 300");
    ok(!hone_space_size(s, 1, &c, &err) && c.exact && c.n == 29998, "count/sum_exact");
    hone_space_free(s);
    s = int_space(6, 1, 1000, "a * b + c * d % 7 <= e * f");
    ok(!hone_space_size(s, 1, &c, &err) && !c.exact && c.lo <= c.n && c.n <= c.hi && c.lo > 0, "count/estimate");
    ok(c.lo > 0.45e18 && c.hi < 0.55e18, "count/estimate_is_near_half");
    hone_count again;
    ok(!hone_space_size(s, 1, &again, &err) && again.n == c.n, "count/estimate_repeats");
    hone_space_free(s);
}

/* Two compilers, each bringing flags under one condition: 2^200 + 3^200 points. */
static void test_conditional(void) {
    static const char *const compilers[] = {"gcc-12", "clang-19"};
    hone_space *s = new_space(), *gcc = new_space(), *clang = new_space();
    char name[32];
    add(s, (hone_param){.name = "compiler", .kind = HONE_CHOICE, .values = compilers, .n_values = 2});
    for (int k = 0; k < 200; k++) {
        snprintf(name, sizeof name, "-f%d", k);
        add_flag(gcc, name, NULL);
        add(clang, (hone_param){.name = name, .kind = HONE_CHOICE, VALUES});
    }
    hone_space_include(s, gcc, "gcc-12", "compiler == 'gcc-12'", &err);
    hone_space_include(s, clang, "clang", "compiler == 'clang-19'", &err);
    hone_count c;
    ok(!hone_space_seal(s, &err) && s->n_conds == 2 && hone_space_find(s, "clang.-f7") == 208, "include/two_compilers");
    ok(!hone_space_size(s, 1, &c, &err) && c.exact && fabs(c.n / pow(3, 200) - 1) < 1e-12, "count/conditional");
    hone_space_free(s);
    hone_space_free(gcc);
    hone_space_free(clang);
}

/* --- including ----------------------------------------------------------------------------------------------- */

static void test_include(void) {
    hone_space *s = new_space(), *part = new_space();
    add_flag(s, "on", NULL);
    add_int(s, "outer", 0, 9, NULL);
    add_int(part, "a", 0, 9, NULL);
    add_int(part, "-b", 0, 9, "a > 3 and outer > 1");
    hone_space_constrain(part, "a == 5 or not defined(`-b`)", &err);
    ok(!hone_space_include(s, part, "x.y", "on", &err), "include/accepts_unsealed");
    is_text(hone_space_param(s, 3)->name, "x.y.-b", "include/prefixes_names");
    is_text(hone_space_param(s, 3)->when, "(on) and (x.y.a > 3 and outer > 1)", "include/prefixes_conditions");
    is_text(hone_space_param(s, 2)->when, "on", "include/adds_condition");
    is_text(hone_space_constraint(s, 0), "not (on) or (x.y.a == 5 or not defined(`x.y.-b`))",
            "include/guards_constraints");
    ok(hone_space_include(s, part, "x.y", "on", &err) == HONE_E_INPUT && hone_space_n_params(s) == 4 &&
           hone_space_n_constraints(s) == 1 && hone_space_find(s, "x.y.a") == 2,
       "include/twice_refused_and_undone");
    ok(hone_space_include(s, part, "z", "on and", &err) == HONE_E_INPUT && hone_space_n_params(s) == 4,
       "include/bad_condition_refused");
    ok(hone_space_include(s, s, "z", NULL, &err) == HONE_E_USAGE, "include/itself_refused");
    ok(!hone_space_include(s, part, NULL, NULL, &err) && hone_space_find(s, "a") == 4, "include/without_prefix");
    ok(!hone_space_seal(s, &err), "include/seals");
    hone_space_free(s);
    hone_space_free(part);
}

/* --- genes --------------------------------------------------------------------------------------------------- */

static void test_genes(void) {
    hone_space *s = point_space();
    double x[16], others[64];
    hone_space_default(s, x);
    ok(hn_gene_levels(s, 0) == 16 && isinf(hn_gene_levels(s, 1)) && hn_gene_levels(s, 5) == 6, "gene/levels");
    ok(hn_gene_level(s, 0, 32) == 3 && hn_gene_value(s, 0, 3) == 32 && hn_gene_value(s, 0, 99) == 128, "gene/level");
    ok(fabs(hn_gene_unit(s, 1, 0.1) - 2.0 / 3) < 1e-12 && fabs(hn_gene_from_unit(s, 1, 2.0 / 3) - 0.1) < 1e-12,
       "gene/unit_is_logarithmic");
    ok(hn_gene_others(s, 0, x, others, 64) == 15 && hn_gene_others(s, 3, x, others, 64) == 2, "gene/others_all");
    ok(hn_gene_others(s, 6, x, others, 64) == 5, "gene/others_of_absent");
    size_t n = hn_gene_others(s, 0, x, others, 4);
    ok(n == 4 && others[0] == 40 && others[1] == 24 && others[2] == 48 && others[3] == 16, "gene/others_nearest");
    n = hn_gene_others(s, 1, x, others, 6);
    bool good = n > 2;
    for (size_t k = 0; k < n; k++) good &= others[k] >= 0.001 && others[k] <= 1 && others[k] != 0.1;
    ok(good, "gene/others_of_float");
    hone_space_free(s);
}

int main(void) {
    test_add();
    test_seal();
    test_many();
    hone_space *s = point_space();
    test_json(s);
    test_text(s);
    test_canon(s);
    hone_space_free(s);
    test_hash();
    test_sparse();
    test_empty();
    test_almost_empty();
    test_components();
    test_uniform();
    test_windows();
    test_count();
    test_conditional();
    test_include();
    test_genes();
    return done_testing();
}
